//! The document of `infradev doctor --json`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Version 1.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DoctorDocument {
    pub schema: u32,
    pub checks: Vec<Check>,
}

impl DoctorDocument {
    /// A submission can be graded on this machine.
    pub fn grading_works(&self) -> bool {
        self.checks.iter().all(|check| check.status != Status::Fail)
    }

    /// For people: one line a check, its mend below it, and the conclusion.
    pub fn lines(&self) -> Vec<String> {
        let width = self.checks.iter().map(|c| c.name.len()).max().unwrap_or(0);
        let mut lines = Vec::new();
        for check in &self.checks {
            let (status, name) = (check.status.name(), &check.name);
            lines.push(format!("{status:<4}  {name:<width$}  {}", check.found));
            if let Some(mend) = &check.mend {
                lines.push(format!("{:<4}  {:<width$}  -> {mend}", "", ""));
            }
        }
        let failed = self.checks.iter().filter(|c| c.status == Status::Fail);
        lines.push(match failed.count() {
            0 => "grading works on this machine".into(),
            1 => "grading does not work on this machine: 1 check failed".into(),
            n => format!("grading does not work on this machine: {n} checks failed"),
        });
        lines
    }

    pub fn check(&self, name: &str) -> Option<&Check> {
        self.checks.iter().find(|check| check.name == name)
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Check {
    pub name: String,
    pub status: Status,
    /// What was found; free of control characters.
    pub found: String,
    /// What to install or do.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mend: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    Ok,
    /// Grading works; something is missing or slower.
    Warn,
    /// Nothing can be graded here.
    Fail,
}

impl Status {
    pub fn name(self) -> &'static str {
        match self {
            Status::Ok => "ok",
            Status::Warn => "warn",
            Status::Fail => "fail",
        }
    }
}

impl Check {
    pub(super) fn ok(name: &str, found: impl Into<String>) -> Self {
        Self::new(name, Status::Ok, found.into(), None)
    }

    pub(super) fn warn(name: &str, found: impl Into<String>, mend: impl Into<String>) -> Self {
        Self::new(name, Status::Warn, found.into(), Some(mend.into()))
    }

    pub(super) fn fail(name: &str, found: impl Into<String>, mend: impl Into<String>) -> Self {
        Self::new(name, Status::Fail, found.into(), Some(mend.into()))
    }

    fn new(name: &str, status: Status, found: String, mend: Option<String>) -> Self {
        // names of files, versions and answers of daemons are others' text
        let plain = |text: String| text.chars().filter(|c| !c.is_control()).collect();
        Self {
            name: name.into(),
            status,
            found: plain(found),
            mend: mend.map(plain),
        }
    }
}
