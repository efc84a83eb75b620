//! infradev: measure whether coding agents can make large changes to AI infrastructure.

pub mod diff;
pub mod domain;
pub mod engine;
pub mod workspace;
