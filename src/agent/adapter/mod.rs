//! Adapters: what `agents/<name>.toml` says of an agent, checked, and made into the command, the
//! variables and the allow-list of a run.
//!
//! - [`Adapters`]: the shipped ones and the user's, found by name; a user's file wins
//! - [`Words`]: what stands for `{prompt}` and its like
//! - [`Passed`]: variables passed by name, whose values are shown nowhere
//! - [`Redactor`]: takes those values out of a stream

mod check;
mod load;
mod pass;
mod redact;
mod shipped;
mod words;

pub use load::{Adapter, AdapterError, Adapters, Listed};
pub use pass::{PassError, Passed, allow_list};
pub use redact::Redactor;
pub use words::{WordError, Words, install_script};
