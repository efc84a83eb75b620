//! What lies over the panes: help, a question, a choice, a line to type in.

pub mod agents;
pub mod draw;
pub mod prompt;

pub use agents::Chooser;
pub use prompt::{Prompt, PromptFor};

use crate::domain::RunId;

#[derive(Clone, Debug, PartialEq)]
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
    /// Which agent is to work on a task.
    Agents(Box<Chooser>),
    Prompt(Prompt),
}
