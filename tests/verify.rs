//! `infradev verify`: the bundled tasks are accepted, and a probe that is broken on purpose makes
//! its task rejected, for the right reason.

#![allow(clippy::unwrap_used, clippy::expect_used)]

mod common;
mod verify {
    pub mod coverage;
    pub mod hollow;
    pub mod mutants;
    pub mod shared;
}

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Once;
use std::time::{Duration, Instant};

use common::{code, home, infradev, tasks};
use serde_json::Value;

const TASK: &str = "kv-prefix";
const FILE: &str = "probes/test_order.py";
const PROBE: &str = "probes/test_order.py::test_at_most_so_many_stay";

/// The bundled tasks, where what is recorded may be written.
fn copy(name: &str) -> PathBuf {
    let to = Path::new(env!("CARGO_TARGET_TMPDIR"))
        .join("verify")
        .join(name);
    let _ = std::fs::remove_dir_all(&to);
    std::fs::create_dir_all(to.parent().unwrap()).unwrap();
    let copied = Command::new("cp")
        .arg("-r")
        .arg(tasks())
        .arg(&to)
        .status()
        .unwrap();
    assert!(copied.success());
    to
}

fn verify(tasks: &Path, task: &str) -> Command {
    let mut command = infradev(&home(), tasks);
    command.args(["verify", task, "--engine", "local", "--json"]);
    command
}

fn document(command: &mut Command) -> (i32, Value) {
    let output = command.output().unwrap();
    let document = serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|e| panic!("{e}: {}", String::from_utf8_lossy(&output.stderr)));
    (code(&output), document)
}

/// Parts of the rule that do not hold, with their evidence.
fn broken(document: &Value) -> Vec<(String, Vec<String>)> {
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let rules = document["rules"].as_array().unwrap();
    rules
        .iter()
        .filter(|r| r["holds"] == false)
        .map(|r| {
            let evidence = r["evidence"].as_array().unwrap();
            (text(&r["rule"]), evidence.iter().map(text).collect())
        })
        .collect()
}

/// The line of a run in lists.
fn status(id: &str) -> String {
    let output = infradev(&home(), &tasks()).arg("runs").output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    text.lines()
        .find(|l| l.contains(id))
        .unwrap_or("")
        .to_owned()
}

/// Puts lines in front of the probe's body, or in its place.
fn edit(tasks: &Path, lines: &str, instead: bool) {
    let path = tasks.join(TASK).join(FILE);
    let source = std::fs::read_to_string(&path).unwrap();
    let name = PROBE.rsplit("::").next().unwrap();
    let head = format!("def {name}(mode):\n");
    let (before, rest) = source.split_once(&head).unwrap();
    let end = rest.find("\n\n\n").map_or(rest.len(), |at| at + 1);
    let (body, after) = rest.split_at(end);
    let body = if instead { "" } else { body };
    std::fs::write(&path, format!("{before}{head}{lines}{body}{after}")).unwrap();
}

/// The cells of the task as it is, once for all tests that change one probe of it.
fn known() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let (code, _) = document(&mut verify(&copy("known"), TASK));
        assert_eq!(code, 0);
    });
}

/// A line that no earlier run of these tests has cells of, in a home that they share.
fn never_seen() -> String {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    format!("    assert '{}'\n", since.unwrap().as_nanos())
}

/// Verifies the task with a broken probe: its standing must be `rejected`.
fn rejected(
    name: &str,
    lines: &str,
    instead: bool,
    env: &[(&str, &str)],
) -> Vec<(String, Vec<String>)> {
    known();
    let tasks = copy(name);
    edit(&tasks, lines, instead);
    let mut command = verify(&tasks, TASK);
    command.envs(env.iter().copied());
    let (code, document) = document(&mut command);
    assert_eq!(
        (code, &document["standing"]),
        (1, &"rejected".into()),
        "{document}"
    );
    broken(&document)
}

#[test]
fn every_bundled_task_is_accepted_and_goes_stale_when_a_probe_changes() {
    let tasks = copy("accepted");
    for task in ["dp-buckets", "sparse-sync", TASK] {
        let (code, document) = document(&mut verify(&tasks, task));
        assert_eq!(broken(&document), []);
        assert_eq!((code, &document["standing"]), (0, &"accepted".into()));
        assert_eq!(document["revise"], Value::Array(vec![]));
        // gold, base and hollow, and what task.toml lists
        let toml = std::fs::read_to_string(tasks.join(task).join("task.toml")).unwrap();
        let listed = toml.matches("\npatch = ").count() - 1;
        assert_eq!(document["patches"].as_array().unwrap().len(), 3 + listed);
        assert_eq!(document["patches"][0]["runs"], 3);
        // each adversarial patch by a probe of its claim, by an assertion
        for kind in ["only_by_crash", "other_claim", "survivor"] {
            assert!(!document.to_string().contains(kind), "{kind} in {task}");
        }
    }
    let (_, document) = document(&mut verify(&tasks, TASK));
    let patches = document["patches"].as_array().unwrap().len();
    let standing = || {
        let output = infradev(&home(), &tasks)
            .args(["tasks", "--json"])
            .output()
            .unwrap();
        let document: Value = serde_json::from_slice(&output.stdout).unwrap();
        let all = document["tasks"].as_array().unwrap();
        let task = all.iter().find(|t| t["id"] == TASK).unwrap();
        task["acceptance"].as_str().unwrap().to_owned()
    };
    assert_eq!(standing(), "accepted");
    edit(&tasks, &never_seen(), false);
    assert_eq!(standing(), "stale");
    // only the cells of the edited file are run again
    let output = infradev(&home(), &tasks)
        .args(["verify", TASK, "--engine", "local"])
        .output()
        .unwrap();
    assert_eq!(code(&output), 0);
    let said = String::from_utf8_lossy(&output.stderr);
    let known = said.lines().filter(|l| l.contains("(known)")).count();
    // all official suites, gold's three times
    assert_eq!(known, patches + 2, "{said}");
    assert_eq!(standing(), "accepted");
    // gold's runs are a calibration: a grade by the edited probes needs no other
    let (code, grade) = common::grade(&home(), &tasks, TASK, &["--gold", "--engine", "local"]);
    assert_eq!(code, 0);
    let run = home().join("runs").join(grade["run"].as_str().unwrap());
    let journal = std::fs::read_to_string(run.join("journal.jsonl")).unwrap();
    assert_eq!(journal.matches("\"fresh\":false").count(), 2, "{journal}");
    assert!(!journal.contains("\"fresh\":true"));
}

#[test]
fn a_probe_that_asserts_nothing_accepts_base_and_hollow() {
    let broken = rejected("nothing", "    pass\n", true, &[]);
    let accepts = |patch: &str| vec![format!("{PROBE} accepts {patch}")];
    assert_eq!(
        broken,
        [
            ("base_rejected".to_owned(), accepts("base")),
            ("hollow_rejected".to_owned(), accepts("hollow")),
        ]
    );
}

#[test]
fn a_probe_that_asserts_a_name_only_accepts_hollow() {
    let lines = "    import pagelm\n    assert hasattr(pagelm.Engine, 'match_prefix')\n";
    let broken = rejected("name", lines, true, &[]);
    let evidence = vec![format!("{PROBE} accepts hollow")];
    assert_eq!(broken, [("hollow_rejected".to_owned(), evidence)]);
}

#[test]
fn a_probe_that_fails_in_golds_third_run_is_not_steady() {
    let lines = "    import os\n    assert os.environ.get('VERIFY_RUN_INDEX') != '3'\n";
    let env = [("INFRADEV_TEST_RUN_INDEX", "1")];
    let broken = rejected("third", lines, false, &env);
    assert_eq!(broken.len(), 1, "{broken:?}");
    assert_eq!(broken[0].0, "gold_passes");
    assert!(!broken[0].1.is_empty());
    for line in &broken[0].1 {
        assert!(line.starts_with(PROBE), "{line}");
        assert!(line.ends_with(": passed, passed, failed"), "{line}");
    }
}

#[test]
fn a_probe_that_demands_golds_private_helper_rejects_the_alternatives() {
    let lines = "    from pagelm.prefix import chain\n    assert chain(b'', [1])\n";
    let broken = rejected("helper", lines, false, &[]);
    assert_eq!(broken.len(), 1, "{broken:?}");
    assert_eq!(broken[0].0, "alternatives_accepted");
    let evidence = ["block-tree", "labelled-queue"]
        .map(|name| format!("{PROBE} rejects alternative/{name} (error)"));
    assert_eq!(broken[0].1, evidence);
}

#[test]
fn a_verify_that_was_killed_resumes_at_the_missing_cells() {
    known();
    let tasks = copy("killed");
    edit(&tasks, &never_seen(), false);
    let mut child = infradev(&home(), &tasks);
    child.args(["verify", TASK, "--engine", "local", "--detach"]);
    let output = child.stderr(Stdio::piped()).output().unwrap();
    let id = String::from_utf8_lossy(&output.stdout).trim().to_owned();
    let journal = home().join("runs").join(&id).join("journal.jsonl");
    let events = |kind: &str| -> Vec<Value> {
        let text = std::fs::read_to_string(&journal).unwrap_or_default();
        text.lines()
            .filter_map(|l| serde_json::from_str::<Value>(l).ok())
            .filter(|e| e["event"] == kind)
            .collect()
    };
    let ran = |all: Vec<Value>| all.iter().filter(|e| e["kept"] == false).count();
    let from = Instant::now();
    while ran(events("cell_finished")) < 3 {
        assert!(
            from.elapsed() < Duration::from_secs(120),
            "no cells: {journal:?}"
        );
        std::thread::sleep(Duration::from_millis(20));
    }
    let pid = events("run_started")[0]["pid"].as_i64().unwrap();
    let pid = nix::unistd::Pid::from_raw(i32::try_from(pid).unwrap());
    nix::sys::signal::kill(pid, nix::sys::signal::Signal::SIGKILL).unwrap();
    assert!(events("verified").is_empty(), "it was over before the kill");
    let before = ran(events("cell_finished"));
    // a dead worker's lock goes with it, in its own time on a busy machine
    while !status(&id).contains("interrupted") {
        assert!(from.elapsed() < Duration::from_secs(180), "{}", status(&id));
        std::thread::sleep(Duration::from_millis(50));
    }
    let resumed = infradev(&home(), &tasks)
        .args(["resume", &id])
        .output()
        .unwrap();
    assert_eq!(
        code(&resumed),
        0,
        "{}",
        String::from_utf8_lossy(&resumed.stderr)
    );
    let all = events("cell_finished");
    let started: Vec<Value> = events("run_started");
    assert_eq!(started.len(), 2);
    // a cell that had finished is run once only
    let again = started[1]["seq"].as_u64().unwrap();
    let second = |e: &&Value| e["seq"].as_u64().unwrap() > again;
    let kept = all
        .iter()
        .filter(second)
        .filter(|e| e["kept"] == true)
        .count();
    let run = all
        .iter()
        .filter(second)
        .filter(|e| e["kept"] == false)
        .count();
    assert!(kept >= before, "{kept} kept of {before}");
    let (_, document) = document(&mut verify(&tasks, TASK));
    let patches = document["patches"].as_array().unwrap().len();
    assert_eq!(kept + run, 2 * (patches + 2));
    assert_eq!(events("verified").len(), 1);
}
