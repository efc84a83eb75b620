//! infradev: measure whether coding agents can make large changes to AI infrastructure.

pub mod domain;
pub mod agent;
pub mod engine;
pub mod tui;
