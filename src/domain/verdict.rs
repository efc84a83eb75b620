//! Verdicts, badges and causes: the closed lists of METHOD.md section 1.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What a submission is worth.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    Resolved,
    /// Passes the official suite, the probes reject it.
    OfficialOnly,
    Failed,
    /// Tampered: score 0, in the denominator, counted apart.
    Void,
    /// Harness fault: excluded and counted; never the submission's score.
    Fault,
}

impl Verdict {
    pub fn name(self) -> &'static str {
        match self {
            Verdict::Resolved => "resolved",
            Verdict::OfficialOnly => "official_only",
            Verdict::Failed => "failed",
            Verdict::Void => "void",
            Verdict::Fault => "fault",
        }
    }

    /// As screens say it (SCREENS.md, Language).
    pub fn label(self) -> &'static str {
        match self {
            Verdict::Resolved => "RESOLVED",
            Verdict::OfficialOnly => "OFFICIAL ONLY",
            Verdict::Failed => "FAILED",
            Verdict::Void => "VOID",
            Verdict::Fault => "FAULT",
        }
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Said beside a verdict, never instead of one.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum Badge {
    Limit,
    Uncalibrated,
    Unprobed,
    Unisolated,
    Suspect,
    CouldReadUpstream,
    Extended,
}

impl Badge {
    pub fn name(self) -> &'static str {
        match self {
            Badge::Limit => "limit",
            Badge::Uncalibrated => "uncalibrated",
            Badge::Unprobed => "unprobed",
            Badge::Unisolated => "unisolated",
            Badge::Suspect => "suspect",
            Badge::CouldReadUpstream => "could-read-upstream",
            Badge::Extended => "extended",
        }
    }
}

/// Why a submission failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Cause {
    /// A patch of no bytes, of white space, or one that changes nothing.
    Empty,
    /// No patch at all.
    Missing,
    /// A patch that does not apply to base, or that reaches outside the work tree.
    Apply,
    /// The project's build step failed on the submission's sources.
    Build,
    /// The environment could not be used by this submission.
    Environment,
    /// Expected cases were never collected.
    Collection,
    /// Cases that gold passes and the submission does not.
    Cases,
    /// Evidence of tampering.
    Tampered,
}

impl Cause {
    pub fn name(self) -> &'static str {
        match self {
            Cause::Empty => "empty",
            Cause::Missing => "missing",
            Cause::Apply => "apply",
            Cause::Build => "build",
            Cause::Environment => "environment",
            Cause::Collection => "collection",
            Cause::Cases => "cases",
            Cause::Tampered => "tampered",
        }
    }
}
