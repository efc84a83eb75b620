//! `infradev verify --watch`: an edit of a task is answered by another round, in which only what it
//! made stale runs, and the answer is what a verify of the same text says.

#![allow(clippy::unwrap_used, clippy::expect_used)]

mod common;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use common::small::{self, NAME};
use common::{home, infradev};
use serde_json::Value;

const PATIENCE: Duration = Duration::from_secs(180);
/// Gold three times, base and hollow.
const SLOTS: usize = 5;

const PROBES: &str = "\
from calc import clip

STAMP = '@'


def test_low():
    assert clip([2], 2, 8) == [2]


def test_high():
    assert clip([8], 2, 8) == [8]
";

/// A watch of the small task, with the lines of its journal.
struct Watched {
    tasks: PathBuf,
    child: Child,
    run: PathBuf,
}

impl Watched {
    /// `idle`: it ends then. Each has texts of its own, so that no other test's cells serve it.
    fn start(folder: &str, idle: &str) -> Self {
        let tasks = small::write(folder, "");
        let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
        let stamp = format!("{folder} {}", since.unwrap().as_nanos());
        write(&tasks, "test_bounds.py", &PROBES.replace('@', &stamp));
        write(
            &tasks,
            "test_more.py",
            "from calc import clip\n\n\ndef test_none():\n    assert clip([], 1, 2) == []\n",
        );
        Self::of(tasks, idle)
    }

    fn of(tasks: PathBuf, idle: &str) -> Self {
        let mut child = infradev(&home(), &tasks)
            .args([
                "verify", NAME, "--engine", "local", "--watch", "--idle", idle, "--json",
            ])
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let run = found(&mut child, &tasks);
        Self { tasks, child, run }
    }

    fn events(&self, kind: &str) -> Vec<Value> {
        events(&self.run, kind)
    }

    /// When so many of this kind are told.
    fn wait(&self, kind: &str, count: usize) -> Vec<Value> {
        let from = Instant::now();
        loop {
            let all = self.events(kind);
            if all.len() >= count {
                return all;
            }
            let log = events(&self.run, "log");
            assert!(from.elapsed() < PATIENCE, "no {count} {kind}: {log:?}");
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// When it says so.
    fn says(&self, words: &str) {
        let from = Instant::now();
        let said = |e: &Value| e["text"].as_str().unwrap_or("").contains(words);
        while !self.events("log").iter().any(said) {
            assert!(
                from.elapsed() < PATIENCE,
                "{words}: {:?}",
                self.events("log")
            );
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    fn edit(&self, file: &str, from: &str, to: &str) {
        let path = self.tasks.join(NAME).join(file);
        let text = fs::read_to_string(&path).unwrap();
        assert!(text.contains(from), "{file}: {from}");
        // in one step: half of a text is an edit, too
        let whole = self.tasks.join("written");
        fs::write(&whole, text.replacen(from, to, 1)).unwrap();
        fs::rename(&whole, &path).unwrap();
    }

    /// Cells of a round that ran for its first answer: patch, suite, run and keys.
    fn ran(&self, round: usize) -> Vec<Value> {
        let (mut at, mut answered) = (1, false);
        let mut of_round = Vec::new();
        for event in all_events(&self.run) {
            match event["event"].as_str().unwrap() {
                "round_started" => (at, answered) = (at + 1, false),
                "provisional" => answered = true,
                "cell_finished" if at == round && !answered && event["kept"] == false => {
                    of_round.push(event);
                }
                _ => {}
            }
        }
        of_round
    }

    /// Ends it by a request when all is answered; the document that it prints.
    fn cancelled(mut self) -> Value {
        let id = self.run.file_name().unwrap().to_string_lossy().into_owned();
        let done = infradev(&home(), &self.tasks)
            .args(["cancel", &id])
            .output()
            .unwrap();
        assert!(done.status.success(), "{done:?}");
        self.output()
    }

    /// What it prints and ends with when it ends: as its last answer says.
    fn output(&mut self) -> Value {
        let mut text = String::new();
        std::io::Read::read_to_string(&mut self.child.stdout.take().unwrap(), &mut text).unwrap();
        let status = self.child.wait().unwrap();
        let document: Value = serde_json::from_str(&text).unwrap();
        let accepted = document["standing"] == "accepted";
        assert_eq!(status.code(), Some(i32::from(!accepted)), "{document}");
        document
    }
}

fn write(tasks: &Path, name: &str, text: &str) {
    fs::write(tasks.join(NAME).join("probes").join(name), text).unwrap();
}

fn all_events(run: &Path) -> Vec<Value> {
    let text = fs::read_to_string(run.join("journal.jsonl")).unwrap_or_default();
    (text.lines())
        .filter_map(|l| serde_json::from_str(l).ok())
        .collect()
}

fn events(run: &Path, kind: &str) -> Vec<Value> {
    let mut all = all_events(run);
    all.retain(|e| e["event"] == kind);
    all
}

/// The run of this task's folder that was made last. (Journals are read of no other: a home that
/// many tests share has hundreds, and an idle watch would have ended by then.)
fn found(child: &mut Child, tasks: &Path) -> PathBuf {
    let folder = tasks.join(NAME);
    let own = |run: &Path| {
        let manifest = fs::read_to_string(run.join("manifest.json"));
        let manifest: Value =
            serde_json::from_str(&manifest.unwrap_or_default()).unwrap_or_default();
        let fresh = manifest["created_s"].as_f64().is_some_and(|s| {
            let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
            now.unwrap().as_secs_f64() - s < 60.0
        });
        fresh
            && manifest["task_dir"] == folder.to_str().unwrap()
            && !events(run, "run_started").is_empty()
    };
    let from = Instant::now();
    loop {
        let ended = child.try_wait().unwrap().is_some();
        let runs = fs::read_dir(home().join("runs")).into_iter().flatten();
        let mut runs = runs.flatten().map(|entry| entry.path());
        if let Some(run) = runs.find(|run| own(run)) {
            return run;
        }
        assert!(!ended && from.elapsed() < PATIENCE, "no run is begun");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Outcomes of a patch's cases, out of the cells that a run's newest round tells.
fn cells(run: &Path) -> BTreeMap<(String, String, u64), Vec<(String, String)>> {
    let mut all = BTreeMap::new();
    for event in events(run, "cell_finished") {
        let text = |name: &str| event[name].as_str().unwrap().to_owned();
        let slot = (text("patch"), text("suite"), event["run"].as_u64().unwrap());
        let mut cases = Vec::new();
        for key in event["cells"].as_array().unwrap() {
            let key = key.as_str().unwrap();
            let path = home()
                .join("cells")
                .join(&key[..2])
                .join(format!("{key}.json"));
            let cell: Value = serde_json::from_slice(&fs::read(path).unwrap()).unwrap();
            for case in cell["results"].as_array().unwrap() {
                let text = |name: &str| case[name].as_str().unwrap_or("").to_owned();
                cases.push((text("id"), text("outcome")));
            }
        }
        cases.sort();
        all.insert(slot, cases);
    }
    all
}

/// What a home that knows nothing says of the same text.
fn cold(tasks: &Path) -> PathBuf {
    let id = {
        let output = infradev(&home(), tasks)
            .args(["verify", NAME, "--engine", "local", "--json"])
            .output()
            .unwrap();
        let document: Value = serde_json::from_slice(&output.stdout).unwrap();
        document["run"].as_str().unwrap().to_owned()
    };
    home().join("runs").join(id)
}

#[test]
fn an_edited_probe_runs_alone_and_its_answer_is_that_of_a_cold_verify() {
    let watched = Watched::start("watch-one", "10m");
    watched.wait("verified", 1);
    watched.says("waiting for edits");
    let running = infradev(&home(), &watched.tasks)
        .arg("runs")
        .output()
        .unwrap();
    let id = watched
        .run
        .file_name()
        .unwrap()
        .to_string_lossy()
        .into_owned();
    let listed = String::from_utf8_lossy(&running.stdout).into_owned();
    let line = listed.lines().find(|l| l.contains(&id)).unwrap_or("");
    // its stage is told as of any run that is live
    assert!(line.contains("verify gold"), "{listed}");
    // a probe that base and hollow pass now, and gold as well
    watched.edit(
        "probes/test_bounds.py",
        "assert clip([8], 2, 8) == [8]",
        "assert clip",
    );
    let rounds = watched.wait("round_finished", 1);
    assert_eq!(
        (&rounds[0]["ran"], &rounds[0]["kept"]),
        (&SLOTS.into(), &SLOTS.into())
    );
    let ran = watched.ran(2);
    assert_eq!(ran.len(), SLOTS);
    for cell in &ran {
        // of three tests in two files one key is new
        let of = |e: &Value| -> Vec<String> {
            let keys = e["cells"].as_array().unwrap().iter();
            keys.map(|k| k.as_str().unwrap().to_owned()).collect()
        };
        let before = watched.events("cell_finished").into_iter().find(|e| {
            e["kept"] == false
                && (&e["patch"], &e["suite"], &e["run"])
                    == (&cell["patch"], &cell["suite"], &cell["run"])
        });
        let before = of(&before.unwrap());
        let new = of(cell).into_iter().filter(|key| !before.contains(key));
        let gold = cell["patch"] == "gold";
        // gold ran as a whole before, of which its parts are known as well
        let expected = if gold { (1, 3) } else { (3, 1) };
        assert_eq!((before.len(), new.count()), expected, "{cell}");
    }
    // the answer was provisional until gold had run as a whole, and is told with its own time
    let told = watched.events("provisional");
    assert_eq!((told.len(), &told[0]["standing"]), (1, &"rejected".into()));
    assert!(told[0]["seq"].as_u64() < watched.events("verified")[1]["seq"].as_u64());
    let (answer, confirmed) = (&rounds[0]["answer_s"], &rounds[0]["confirmed_s"]);
    assert!(answer.as_f64() < confirmed.as_f64(), "{:?}", rounds[0]);
    let started = &watched.events("round_started")[0];
    assert_eq!(
        started["changed"],
        serde_json::json!(["probes/test_bounds.py"])
    );
    assert_eq!(watched.events("verified").len(), 2);
    let tasks = watched.tasks.clone();
    let warm = cells(&watched.run);
    let document = watched.cancelled();
    let recorded = fs::read(tasks.join(NAME).join("acceptance.json")).unwrap();
    let recorded: Value = serde_json::from_slice(&recorded).unwrap();
    assert_eq!(recorded["rules"], document["rules"]);
    // a line in front of the file, and nothing of it is known
    let path = tasks.join(NAME).join("probes/test_bounds.py");
    let text = fs::read_to_string(&path).unwrap();
    fs::write(&path, format!("ANEW = 1\n{text}")).unwrap();
    let run = cold(&tasks);
    assert!(
        events(&run, "cell_finished")
            .iter()
            .any(|e| e["kept"] == false)
    );
    assert_eq!(cells(&run), warm);
}

/// A test that passes only where another one ran before it, by what the project keeps.
const SHARES: &str = "\
import calc
from tools import vars_of

STAMP = '@'


def test_low():
    vars_of(calc)['seen'] = 1
    assert calc.clip([2], 2, 8) == [2]


def test_high():
    assert hasattr(calc, 'seen')
    assert calc.clip([8], 2, 8) == [8]
";

#[test]
fn a_provisional_answer_is_corrected_before_anything_is_recorded() {
    let tasks = small::write("watch-shared", "");
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    let stamp = since.unwrap().as_nanos().to_string();
    write(&tasks, "test_bounds.py", &SHARES.replace('@', &stamp));
    write(
        &tasks,
        "tools.py",
        "def vars_of(module):\n    return module.__dict__\n",
    );
    let watched = Watched::of(tasks, "10m");
    watched.wait("verified", 1);
    watched.says("waiting for edits");
    assert_eq!(watched.events("verified")[0]["standing"], "accepted");
    watched.edit(
        "probes/test_bounds.py",
        "    vars_of(calc)['seen'] = 1\n",
        "",
    );
    watched.wait("round_finished", 1);
    // of test_high the cells of the text before were kept
    assert_eq!(watched.events("provisional")[0]["standing"], "accepted");
    assert_eq!(watched.events("verified")[1]["standing"], "rejected");
    watched.says("its tests share state");
    let path = watched.tasks.join(NAME).join("acceptance.json");
    let recorded: Value = serde_json::from_slice(&fs::read(path).unwrap()).unwrap();
    assert_eq!(recorded["standing"], "rejected");
    // from there on its tests run together: both, and at once for all
    watched.edit(
        "probes/test_bounds.py",
        "    assert hasattr(calc, 'seen')\n",
        "",
    );
    watched.wait("round_finished", 2);
    assert_eq!(watched.events("verified")[2]["standing"], "accepted");
    for cell in watched.ran(3) {
        assert_eq!(cell["cells"].as_array().unwrap().len(), 1, "{cell}");
    }
    watched.cancelled();
}

#[test]
fn a_helper_concerns_all_and_a_broken_text_is_told_and_waited_over() {
    let watched = Watched::start("watch-helper", "10m");
    watched.says("waiting for edits");
    let file = "probes/test_bounds.py";
    // what the file itself says concerns both of its tests, and not those of the other file
    watched.edit(file, "STAMP = ", "STAMP = 'x' ");
    watched.wait("round_finished", 1);
    let new = |round: usize| -> Vec<usize> {
        let known: Vec<Value> = (1..round)
            .flat_map(|r| watched.ran(r))
            .flat_map(|e| e["cells"].as_array().unwrap().clone())
            .collect();
        // gold ran as a whole before, under another key
        let cells = watched.ran(round).into_iter();
        let cells = cells.filter(|e| e["patch"] != "gold");
        cells
            .map(|e| {
                let keys = e["cells"].as_array().unwrap().iter();
                keys.filter(|key| !known.contains(key)).count()
            })
            .collect()
    };
    assert_eq!(new(2), [2, 2]);
    // Python refuses the file, for one test's body: the whole of it says so
    watched.edit(
        file,
        "    assert clip([8], 2, 8) == [8]",
        "    await clip([8], 2, 8)",
    );
    watched.wait("round_finished", 2);
    let gold = &watched.events("verified")[2];
    assert_eq!(gold["standing"], "rejected");
    let gold = cells(&watched.run);
    let outcomes = &gold[&("gold".to_owned(), "probes".to_owned(), 1)];
    assert!(
        outcomes
            .iter()
            .any(|(id, outcome)| id == file && outcome == "error"),
        "{outcomes:?}"
    );
    assert!(
        !outcomes.iter().any(|(id, _)| id.ends_with("test_low")),
        "{outcomes:?}"
    );
    // and nothing of that is left when it is mended
    watched.edit(
        file,
        "    await clip([8], 2, 8)",
        "    assert clip([8], 2, 8) == [8]",
    );
    watched.wait("round_finished", 3);
    let gold = cells(&watched.run);
    let outcomes = &gold[&("gold".to_owned(), "probes".to_owned(), 1)];
    assert_eq!(outcomes.len(), 3);
    assert!(
        outcomes.iter().all(|(_, outcome)| outcome == "passed"),
        "{outcomes:?}"
    );
    // a task that cannot be read is no end
    watched.edit("task.toml", "schema = 1", "schema = ");
    watched.says("task.toml");
    watched.edit("task.toml", "schema = ", "schema = 1");
    watched.edit(file, "clip([8], 2, 8)", "clip([7, 8], 8, 8)");
    watched.wait("round_finished", 4);
    watched.cancelled();
}

#[test]
fn an_edit_during_a_round_is_answered_by_another_one() {
    let watched = Watched::start("watch-during", "10m");
    let file = "probes/test_bounds.py";
    watched.says("beside each other");
    // while the first round goes on
    watched.edit(
        file,
        "    assert clip([8], 2, 8) == [8]",
        "    assert False",
    );
    watched.wait("round_finished", 1);
    let first: Vec<Value> = watched.ran(1);
    let gold = |e: &&Value| e["patch"] == "gold" && e["suite"] == "probes";
    for cell in first.iter().filter(gold) {
        assert_eq!(
            cell["passed"], 3,
            "it ran the text that it is kept under: {cell}"
        );
    }
    for cell in watched.ran(2).iter().filter(gold) {
        assert_eq!(cell["passed"], 2, "{cell}");
    }
    // the old text again: known, and what it was
    watched.edit(
        file,
        "    assert False",
        "    assert clip([8], 2, 8) == [8]",
    );
    watched.wait("round_finished", 2);
    assert_eq!(watched.ran(3), Vec::<Value>::new());
    let gold = &cells(&watched.run)[&("gold".to_owned(), "probes".to_owned(), 1)];
    assert!(
        gold.iter().all(|(_, outcome)| outcome == "passed"),
        "{gold:?}"
    );
    watched.cancelled();
}

#[test]
fn nothing_is_left_of_a_killed_worker_and_an_idle_one_ends() {
    let mut idle = Watched::start("watch-idle", "2s");
    let document = idle.output();
    assert_eq!(document["standing"], "accepted");
    idle.says("the watch ends");
    let watched = Watched::start("watch-killed", "10m");
    watched.says("waiting for edits");
    // sandboxes wait by then, or are being made
    let id = watched
        .run
        .file_name()
        .unwrap()
        .to_string_lossy()
        .into_owned();
    let from = Instant::now();
    while waiting(&id) == 0 {
        assert!(from.elapsed() < PATIENCE, "no sandbox waits");
        std::thread::sleep(Duration::from_millis(50));
    }
    let pid = watched.events("run_started")[0]["pid"].as_i64().unwrap();
    let pid = nix::unistd::Pid::from_raw(i32::try_from(pid).unwrap());
    nix::sys::signal::kill(pid, nix::sys::signal::Signal::SIGKILL).unwrap();
    while waiting(&id) > 0 {
        assert!(from.elapsed() < PATIENCE, "{} are left", waiting(&id));
        std::thread::sleep(Duration::from_millis(50));
    }
    let mut child = watched.child;
    child.wait().unwrap();
}

/// Processes on the machine that belong to a run.
fn waiting(id: &str) -> usize {
    processes(id, |_| true)
}

fn processes(id: &str, wanted: impl Fn(&str) -> bool) -> usize {
    let variable = format!("INFRADEV_RUN={id}");
    let pids = fs::read_dir("/proc").unwrap().flatten();
    pids.filter(|entry| {
        let read = |name: &str| fs::read(entry.path().join(name)).unwrap_or_default();
        let command = String::from_utf8_lossy(&read("cmdline")).into_owned();
        let environment = read("environ");
        let mut variables = environment.split(|b| *b == 0);
        variables.any(|v| v == variable.as_bytes()) && wanted(&command)
    })
    .count()
}

/// What gold becomes by the patch of that test: whoever imports it leaves a trace, and so would
/// everything that an interpreter or pytest runs by itself.
const TRACES: &str = "\
diff --git a/calc.py b/calc.py
--- a/calc.py
+++ b/calc.py
@@ -1,2 +1,11 @@
+import os
+
+open(os.path.join(os.path.dirname(__file__), 'trace-import'), 'w').close()
+
+
 def double(x):
     return x + x
+
+
+def clip(values, low, high):
+    return [v for v in values if v >= low and v <= high]
diff --git a/sitecustomize.py b/sitecustomize.py
new file mode 100644
--- /dev/null
+++ b/sitecustomize.py
@@ -0,0 +1 @@
+open('/workspace/trace-sitecustomize', 'w').close()
diff --git a/early.pth b/early.pth
new file mode 100644
--- /dev/null
+++ b/early.pth
@@ -0,0 +1 @@
+import os; open('/workspace/trace-early', 'w').close()
diff --git a/conftest.py b/conftest.py
new file mode 100644
--- /dev/null
+++ b/conftest.py
@@ -0,0 +1 @@
+open('/workspace/trace-conftest', 'w').close()
diff --git a/numpy.py b/numpy.py
new file mode 100644
--- /dev/null
+++ b/numpy.py
@@ -0,0 +1 @@
+open('/workspace/trace-numpy', 'w').close()
diff --git a/pdb.py b/pdb.py
new file mode 100644
--- /dev/null
+++ b/pdb.py
@@ -0,0 +1 @@
+open('/workspace/trace-pdb', 'w').close()
";

/// Looks before it imports, and again when it runs.
const LOOKS: &str = "\
import os

STAMP = '@'
BEFORE = [name for name in os.listdir('/workspace') if name.startswith('trace')]

from calc import clip


def test_low():
    assert BEFORE == []
    assert clip([2], 2, 8) == [2]
";

#[test]
fn nothing_of_a_patch_runs_while_its_sandbox_waits() {
    let tasks = small::write(
        "watch-early",
        "[[alternative]]\nname = \"traces\"\npatch = \"alternative/traces.patch\"\n",
    );
    let task = tasks.join(NAME);
    fs::create_dir_all(task.join("alternative")).unwrap();
    fs::write(task.join("alternative/traces.patch"), TRACES).unwrap();
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    let stamp = since.unwrap().as_nanos().to_string();
    write(&tasks, "test_bounds.py", &LOOKS.replace('@', &stamp));
    let watched = Watched::of(tasks, "10m");
    watched.says("waiting for edits");
    let id = watched
        .run
        .file_name()
        .unwrap()
        .to_string_lossy()
        .into_owned();
    let from = Instant::now();
    // one a slot, and one that compiles
    while ranks(&id) < SLOTS + 2 {
        assert!(from.elapsed() < PATIENCE, "{} wait", ranks(&id));
        std::thread::sleep(Duration::from_millis(20));
    }
    let named = |entry: fs::DirEntry| {
        (
            entry.file_name().to_string_lossy().into_owned(),
            entry.path(),
        )
    };
    let entries = |dir: &Path| fs::read_dir(dir).unwrap().flatten().map(named);
    // those of cells that are over may be on their way out: their numbers are less
    let waits = |name: &str| {
        let number = name.strip_suffix("-probes-tree")?.rsplit('-').next()?;
        number.parse::<u32>().ok().filter(|n| *n >= 1_000_000_000)
    };
    let trees: Vec<PathBuf> = entries(&watched.run.join("scratch"))
        .filter(|(name, _)| waits(name).is_some())
        .map(|(_, path)| path)
        .collect();
    assert_eq!(trees.len(), SLOTS + 1, "{trees:?}");
    let has_patch = |tree: &PathBuf| {
        let text = fs::read_to_string(tree.join("calc.py")).unwrap();
        text.contains("trace-import")
    };
    assert_eq!(trees.iter().filter(|tree| has_patch(tree)).count(), 1);
    for tree in &trees {
        let traces: Vec<String> = (entries(tree).map(|(name, _)| name))
            .filter(|name| name.starts_with("trace"))
            .collect();
        assert_eq!(traces, Vec::<String>::new(), "{}", tree.display());
    }
    // once it has its order it leaves one, so that the file can see none before, and one after
    watched.edit(
        "probes/test_bounds.py",
        "    assert clip([2], 2, 8) == [2]",
        "    assert os.path.exists('/workspace/trace-import')",
    );
    watched.wait("round_finished", 1);
    let all = cells(&watched.run);
    let outcome = |patch: &str| {
        let slot = (patch.to_owned(), "probes".to_owned(), 1);
        all[&slot]
            .iter()
            .map(|(_, outcome)| outcome.clone())
            .collect::<Vec<_>>()
    };
    assert_eq!(outcome("alternative/traces"), ["passed"]);
    assert_eq!(outcome("gold"), ["failed"]);
    let warm = watched.ran(2).len();
    assert_eq!(warm, SLOTS + 1);
    watched.cancelled();
}

/// Interpreters of a run.
fn ranks(id: &str) -> usize {
    processes(id, |command| {
        command.contains("/infradev/reporter/runner.py")
    })
}

#[test]
fn help_says_what_a_watch_is() {
    let output: std::process::Output = Command::new(env!("CARGO_BIN_EXE_infradev"))
        .args(["verify", NAME, "--idle", "5m"])
        .output()
        .unwrap();
    // without --watch there is nothing to wait for
    assert_eq!(output.status.code(), Some(2));
}
