//! What a stream tells of the session as a whole, beside its entries.

use schemars::JsonSchema;
use serde::Serialize;

use crate::domain::Usage;

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Facts {
    pub model: Option<String>,
    /// `None`: no end was told.
    pub end: Option<End>,
    /// The log stops inside a line or document.
    pub cut: bool,
    /// Lines that are no JSON object where they should be, a cut last one among them.
    pub unparsed_lines: u64,
    /// Where the stream tells a running total of the cost instead of a difference.
    pub(super) cost_so_far: f64,
    /// The same of tokens and cost (OpenHands).
    pub(super) counted: Count,
}

/// Tokens and cost up to one moment.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Count {
    pub usage: Usage,
    pub cost_usd: Option<f64>,
}

/// How a session ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum End {
    /// The agent said that it was done. A plain text tells no end and counts as this.
    Completed,
    /// It gave up: an error of the service, a limit.
    Error,
    /// It was stopped, or was killed before it told an end.
    Interrupted,
    /// The log itself stops inside a line.
    Truncated,
}
