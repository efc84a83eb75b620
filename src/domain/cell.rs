//! A cell of the acceptance matrix: one patch, one run, one test of a suite, or a file of them where
//! its tests cannot be told apart.

use serde::{Deserialize, Serialize};

use super::case::CaseDetail;
use super::{CaseResult, Deviation, Suite};

/// Version of [`Cell`]'s shape.
pub const CELL_VERSION: u32 = 2;

/// What a test, or a file of them, makes of a patch, kept by the hash of everything that it depends on.
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
    /// The test function, with all its parameter sets; none: all of the file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub function: Option<String>,
    pub results: Vec<CaseResult>,
    /// The stories of cases that did not plainly pass.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub details: Vec<CaseDetail>,
    /// What was exchanged in the process that reported, in the run that it was a part of.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub deviations: Vec<Deviation>,
    /// Of the run that it was a part of.
    pub duration_s: f64,
    pub isolated: bool,
}
