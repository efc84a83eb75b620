//! A cell of the acceptance matrix: one patch, one run, one test file of a suite.

use serde::{Deserialize, Serialize};

use super::case::CaseDetail;
use super::{CaseResult, Suite};

/// Version of [`Cell`]'s shape.
pub const CELL_VERSION: u32 = 1;

/// What a test file makes of a patch, kept by the hash of everything that it depends on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Cell {
    pub schema: u32,
    /// 64 hexadecimal digits.
    pub key: String,
    /// `adversarial/NAME`.
    pub patch: String,
    pub suite: Suite,
    /// From 1.
    pub run: u32,
    /// In the work tree; none: the whole suite.
    pub file: Option<String>,
    pub results: Vec<CaseResult>,
    /// The stories of cases that did not plainly pass.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub details: Vec<CaseDetail>,
    /// Of the run that it was a part of.
    pub duration_s: f64,
    pub isolated: bool,
}
