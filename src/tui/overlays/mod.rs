//! What lies over the panes: help, the palette, a question, a choice, a line to type in.

pub mod agents;
pub mod draw;
pub mod help;
pub mod palette;
pub mod pick;
pub mod prompt;

pub use agents::Chooser;
pub use help::Help;
pub use palette::Palette;
pub use prompt::{Prompt, PromptFor};

use crate::domain::RunId;

#[derive(Clone, Debug, PartialEq)]
pub enum Overlay {
    Help(Help),
    Palette(Box<Palette>),
    /// Cancelling asks first.
    ConfirmCancel {
        runs: Vec<RunId>,
        /// The question.
        what: String,
        /// What ends, what never begins and what stays, a sentence or two each.
        told: Vec<String>,
    },
    /// Which agent is to work on a task.
    Agents(Box<Chooser>),
    Prompt(Prompt),
    /// A short list to choose from.
    Pick(pick::Pick),
}
