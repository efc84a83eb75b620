//! PURE: the types that everyone speaks, named as METHOD.md section 1 names them.
//!
//! No I/O, no clock, no runtime. What is read from disk is parsed in [`crate::catalog`] and
//! [`crate::store`]; what happened in a run is an [`event::Event`], and a run's state is a fold
//! over its events ([`run_state::RunState`]).

pub mod acceptance;
mod address;
pub mod agent;
pub mod agent_state;
pub mod calibration;
pub mod case;
pub mod cell;
mod claims;
pub mod coverage;
pub mod event;
pub mod evidence;
pub mod grade;
pub mod hardware;
mod hex;
pub mod manifest;
pub mod mutation;
pub mod notes;
pub mod run_state;
mod signature;
pub mod submission;
mod suite_state;
pub mod task;
pub mod verdict;

pub use acceptance::{Acceptance, Role, Standing};
pub use address::{ADDRESS_FORMS, Address};
pub use agent::{AgentEnd, AgentOrder, AgentSpec, CaptureNote, NetworkMode, Replay};
pub use calibration::{
    CALIBRATION_VERSION, CalibratedCase, Calibration, CaseRun, Machine, SuiteCalibration,
};
pub use case::{CaseId, CaseResult, Outcome, Phase, RankOutcome, Subject, Suite};
pub use event::{Event, GpuLeft, GpuTaken, Level, Record, Stage};
pub use evidence::{Area, Deviation, Discrepancy, DiscrepancyKind, Evidence, Review, Sign, Weight};
pub use grade::{Grade, GradedCase, SuiteScore};
pub use hex::hex;
pub use manifest::{
    CalibrationChoice, EngineChoice, EngineKind, Manifest, RunId, SuiteChoice, Work,
};
pub use mutation::{Mutation, MutationCounts};
pub use signature::signature;
pub use submission::{Source, Submission, SubmissionSpec, Usage};
pub use suite_state::SuiteState;
pub use task::{Task, TaskSpec};
pub use verdict::{Badge, Cause, Verdict};
