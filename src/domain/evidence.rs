//! Evidence about a suite's reports (DESIGN.md, The judge's mechanics): where what was collected,
//! what was reported and how the processes ended do not agree; what was exchanged in the process
//! that reports; what a patch holds that gold's does not.

use std::fmt;

use schemars::JsonSchema;
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

/// What decides an outcome and is not what it was before the work tree was on the module path.
/// All text in it is untrusted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Deviation {
    pub area: Area,
    /// `_pytest.runner.CallInfo.from_call`; of a hook its name.
    pub place: String,
    /// Where the code comes from that stands there now, relative to the work tree, and its
    /// qualified name.
    pub file: String,
    pub name: String,
    pub line: u32,
    /// Of what that code does; empty where it is not Python.
    pub digest: String,
    /// The case that was running or just over when it was seen; none: before the first, and of a
    /// test's file when the suite was over.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub case: Option<CaseId>,
}

impl Deviation {
    /// The same code in the same place, wherever its lines are.
    pub fn same(&self, other: &Self) -> bool {
        (self.area, &self.place, &self.file) == (other.area, &other.place, &other.file)
            && (&self.name, &self.digest) == (&other.name, &other.digest)
    }
}

impl fmt::Display for Deviation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.place, self.area.name())?;
        if self.file.is_empty() {
            write!(f, " is now {}", self.name)?;
        } else if self.line == 0 {
            write!(f, " is now {} of {}", self.name, self.file)?;
        } else {
            write!(f, " is now {} at {}:{}", self.name, self.file, self.line)?;
        }
        match &self.case {
            Some(case) => write!(f, ", seen in {case}"),
            None if self.area == Area::Test => f.write_str(", seen when the suite was over"),
            None => f.write_str(", seen before the first case"),
        }
    }
}

/// What a place belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Area {
    Pytest,
    Pluggy,
    Reporter,
    /// A hook implementation that is not the environment's.
    Hook,
    Builtins,
    Unittest,
    /// Functions of other modules that tests compare with: numpy, torch, math, …
    Testing,
    /// Trace, profile and monitoring functions.
    Trace,
    /// Import hooks.
    Import,
    /// The function of a test, or its file.
    Test,
}

impl Area {
    pub fn name(self) -> &'static str {
        match self {
            Area::Pytest => "pytest",
            Area::Pluggy => "pluggy",
            Area::Reporter => "the reporter",
            Area::Hook => "hook",
            Area::Builtins => "built-in",
            Area::Unittest => "unittest",
            Area::Testing => "testing",
            Area::Trace => "trace",
            Area::Import => "import",
            Area::Test => "test",
        }
    }
}

/// What evidence does to a verdict.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Weight {
    /// The verdict is `void`.
    Void,
    /// The badge `suspect`.
    Suspect,
}

impl Weight {
    pub fn name(self) -> &'static str {
        match self {
            Weight::Void => "void",
            Weight::Suspect => "suspect",
        }
    }
}

/// A deviation that gold does not show.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Evidence {
    pub weight: Weight,
    pub deviation: Deviation,
}

/// Something in a patch that tests have no need of and gold's patch does not have.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub struct Sign {
    pub path: String,
    /// From 1; 0: the file as a whole.
    pub line: u32,
    /// What it is, in our words.
    pub what: String,
    /// The line, shortened; untrusted.
    pub text: String,
}

impl fmt::Display for Sign {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            0 => write!(f, "{}: {}", self.path, self.what),
            line => write!(f, "{}:{line}: {}: {}", self.path, self.what, self.text),
        }
    }
}

/// A reviewer's word that a suspect run is none: `review.json` beside its journal.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Review {
    pub schema: u32,
    pub run: String,
    /// Seconds since the epoch.
    pub at_s: f64,
    pub by: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// Hash of the journal that was looked at; the word holds for no other.
    pub journal: String,
}
