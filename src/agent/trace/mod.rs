//! An agent's log as one list of [`Entry`], whatever program wrote it.
//!
//! The readers are tolerant: unknown events and lines that are not JSON are kept as they are, a
//! cut last line is normal, and nothing is an error. Shapes: codex `exec --json`, Claude Code
//! `stream-json`, opencode `run --format json`, mini-swe-agent `traj.json`,
//! SWE-agent `.traj`, OpenHands events, ATIF, plain text.

mod atif;
mod claude;
mod codex;
mod detect;
mod document;
mod edit;
mod entry;
mod facts;
mod hosted;
mod json;
mod lossy;
mod mini;
mod opencode;
mod openhands;
mod openhands_sdk;
mod openhands_v0;
mod reader;
mod rollout;
mod shell;
mod stream;
mod summary;
mod sweagent;

pub use detect::{HEAD, detect};
pub use entry::{EditKind, Entry, Kind, Progress, Role};
pub use facts::{End, Facts};
pub use hosted::hosted_searches;
pub use reader::TraceReader;
pub use rollout::{codex_session, rollout_usage};
pub use stream::read;
pub use summary::{Summary, TraceCommand, TraceDocument, TraceEdit, TraceUsage};
