//! Evidence beside the cases, end to end: a right solution that also changes what decides outcomes
//! is void or suspect, is told why, and a reviewer can clear the latter.

#![allow(clippy::unwrap_used, clippy::expect_used)]

mod common;

use std::fmt::Write as _;
use std::path::PathBuf;

use common::{code, grade, home, infradev, tasks};
use tempfile::TempDir;

const TASK: &str = "kv-prefix";
/// A module of the task that gold does not touch and every test imports.
const MODULE: &str = "pagelm/errors.py";

/// Gold, with code at the end of that module.
fn gold_and(folder: &TempDir, added: &str) -> PathBuf {
    let task = tasks().join(TASK);
    let mut patch = std::fs::read_to_string(task.join("gold.patch")).unwrap();
    assert!(!patch.contains(MODULE));
    let base = std::fs::read_to_string(task.join("base").join(MODULE)).unwrap();
    let (length, last) = (base.lines().count(), base.lines().last().unwrap());
    let more = added.lines().count();
    write!(
        patch,
        "diff --git a/{MODULE} b/{MODULE}\n--- a/{MODULE}\n+++ b/{MODULE}\n@@ -{length},1 +{length},{} @@\n {last}\n",
        more + 1
    )
    .unwrap();
    for line in added.lines() {
        writeln!(patch, "+{line}").unwrap();
    }
    let file = folder.path().join("patch");
    std::fs::write(&file, patch).unwrap();
    file
}

#[test]
fn what_makes_a_report_is_changed_and_the_grade_is_void() {
    let folder = TempDir::new().unwrap();
    let patch = gold_and(
        &folder,
        r#"
from _pytest.runner import CallInfo as _info
_kept = _info.__dict__["from_call"]
def _forged(cls, func, when, reraise=None):
    return _kept.__func__(cls, func, when, reraise)
_info.from_call = classmethod(_forged)
"#,
    );
    let output = infradev(&home(), &tasks())
        .args(["grade", TASK, "--engine", "local", "--patch"])
        .arg(&patch)
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    let noted = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(code(&output), 1, "{said}\n{noted}");
    assert!(said.contains("VOID") && said.contains("tampered"), "{said}");
    for part in [
        "void: _pytest.runner.CallInfo.from_call (pytest) is now _forged at pagelm/errors.py:",
        "suspect: pagelm/errors.py:",
        "uses _pytest: from _pytest.runner import CallInfo as _info",
    ] {
        assert!(noted.contains(part), "no {part:?} in\n{noted}");
    }
}

#[test]
fn what_honest_code_may_do_is_suspect_until_a_reviewer_clears_it() {
    let folder = TempDir::new().unwrap();
    let patch = gold_and(
        &folder,
        r"
import builtins as _names
_kept = _names.sorted
def _sorted(*a, **k):
    return _kept(*a, **k)
vars(_names)['sorted'] = _sorted
",
    );
    let patch = patch.to_str().unwrap();
    let args = ["--engine", "local", "--patch", patch];
    let (exit, document) = grade(&home(), &tasks(), TASK, &args);
    assert_eq!((exit, &document["verdict"]), (0, &"resolved".into()));
    assert_eq!(document["badges"], serde_json::json!(["suspect"]));
    let run = document["run"].as_str().unwrap();
    let clear = infradev(&home(), &tasks())
        .args(["clear", run, "--note", "only a wrapper"])
        .output()
        .unwrap();
    let noted = String::from_utf8_lossy(&clear.stderr);
    assert_eq!(code(&clear), 0, "{noted}");
    let told = "suspect: builtins.sorted (built-in) is now _sorted at pagelm/errors.py:";
    assert!(noted.contains(told), "{noted}");
}

#[test]
fn an_honest_submission_is_neither() {
    let args = ["--engine", "local", "--submission", "right"];
    let (exit, document) = grade(&home(), &tasks(), TASK, &args);
    assert_eq!((exit, &document["verdict"]), (0, &"resolved".into()));
    assert_eq!(document["badges"], serde_json::json!([]));
}
