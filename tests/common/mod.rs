//! Shared by the end-to-end tests: the real program, the bundled tasks, one home for all, and the
//! container engine.

#![allow(dead_code, clippy::unwrap_used, clippy::expect_used)]

mod containers;

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::Value;

#[allow(unused_imports)]
pub use containers::docker_is_here;

pub fn tasks() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tasks")
}

/// One home for all tests: environments are built once, calibrations are reused.
pub fn home() -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join("home")
}

pub fn infradev(home: &Path, tasks: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_infradev"));
    command.arg("--home").arg(home).arg("--tasks").arg(tasks);
    command
}

pub fn code(output: &Output) -> i32 {
    output.status.code().expect("an exit code, not a signal")
}

/// Runs `infradev grade TASK … --json`: exit code and document.
pub fn grade(home: &Path, tasks: &Path, task: &str, args: &[&str]) -> (i32, Value) {
    let output = infradev(home, tasks)
        .arg("grade")
        .arg(task)
        .args(args)
        .arg("--json")
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    let document = serde_json::from_str(&text).unwrap_or_else(|e| {
        panic!(
            "grade {task} {args:?}: no document ({e}); exit {:?}\nstdout: {text}\nstderr: {}",
            output.status.code(),
            String::from_utf8_lossy(&output.stderr)
        )
    });
    (code(&output), document)
}

/// Cases of a grade with their outcome, as `suite id outcome` lines, for messages.
pub fn not_passed(grade: &Value) -> Vec<String> {
    grade["cases"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|c| c["outcome"] != "passed")
        .map(|c| {
            format!(
                "{} {} {} {}",
                c["suite"], c["id"], c["outcome"], c["message"]
            )
        })
        .collect()
}
