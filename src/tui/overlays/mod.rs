//! What lies over the panes: help, a question, a line to type in.

pub mod draw;
pub mod prompt;

pub use prompt::{Prompt, PromptFor};

use crate::domain::RunId;

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Overlay {
    Help {
        scroll: usize,
    },
    /// Cancelling a run asks first.
    ConfirmCancel {
        run: RunId,
        /// What runs, in words.
        what: String,
    },
    Prompt(Prompt),
}
