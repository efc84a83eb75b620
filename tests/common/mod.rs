//! Shared by the end-to-end tests: the real program, the bundled tasks, one home for all, and the
//! container engine.

#![allow(dead_code, clippy::unwrap_used, clippy::expect_used)]

mod containers;
pub mod dockerd;
pub mod small;

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

/// Process 1 of the sandbox in which a process with this command line runs, as the machine sees it.
pub fn process_1_of(line: &str) -> Option<i32> {
    let line_of = |pid: i32| {
        let bytes = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        String::from_utf8_lossy(&bytes).replace('\0', " ")
    };
    let pids = std::fs::read_dir("/proc").unwrap().flatten();
    let mut pid = pids
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
        .find(|pid| line_of(*pid).trim() == line)?;
    while !line_of(pid).contains("__init") {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        let (_, rest) = stat.rsplit_once(')')?;
        pid = rest.split_ascii_whitespace().nth(1)?.parse().ok()?;
    }
    Some(pid)
}

/// Leaves a process no descriptors, as its own user may.
pub fn blind(pid: i32) {
    use std::os::unix::process::CommandExt;
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let id = |key: &str| -> u32 {
        let line = status.lines().find_map(|l| l.strip_prefix(key)).unwrap();
        line.split_whitespace().next().unwrap().parse().unwrap()
    };
    let script = format!("import resource as r; r.prlimit({pid}, r.RLIMIT_NOFILE, (0, 0))");
    let mut command = Command::new("python3");
    command.args(["-c", &script]).current_dir("/");
    if nix::unistd::geteuid().is_root() {
        command.uid(id("Uid:")).gid(id("Gid:"));
    }
    assert!(command.status().unwrap().success());
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
