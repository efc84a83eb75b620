//! infradev: measure whether coding agents can make large changes to AI infrastructure.

pub mod agent;
pub mod catalog;
pub mod cli;
pub mod diff;
pub mod doctor;
pub mod domain;
pub mod engine;
pub mod environment;
pub mod gpu;
pub mod judge;
pub mod launch;
pub mod pipeline;
pub mod python;
pub mod report;
pub mod store;
pub mod tui;
pub mod workspace;
