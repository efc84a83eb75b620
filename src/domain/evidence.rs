//! Evidence about a suite's reports: where what was collected, what was reported and how the
//! processes ended do not agree (DESIGN.md, The judge's mechanics).

use serde::{Deserialize, Serialize};

use super::CaseId;

/// One contradiction. The cases concerned are `error` already, never passed; what it says about
/// the submission is the judge's business.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Discrepancy {
    pub kind: DiscrepancyKind,
    /// The group of processes, from 1.
    pub group: u32,
    pub rank: u32,
    /// The case that it touches, where it touches one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub case: Option<CaseId>,
    /// What was seen; untrusted text.
    pub detail: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DiscrepancyKind {
    /// Something on the reporter's channel that the reporter did not write.
    ForeignLine,
    /// Lines of the reporter are missing, doubled or out of order.
    Sequence,
    /// A report about a case that was not collected, or not running.
    NotCollected,
    /// A case ran twice in one group.
    ReportedTwice,
    /// A case that was collected, and never reported by a session that ended as if all was well.
    Unreported,
    /// A rank collected other cases, or in another order, than rank 0.
    RanksDiffer,
    /// The exit code tells another story than the reports.
    ExitCode,
}
