//! infradev: measure whether coding agents can make large changes to AI infrastructure.

pub mod domain;
pub mod engine;
pub mod judge;
pub mod pipeline;
pub mod store;
