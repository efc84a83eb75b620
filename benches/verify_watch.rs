//! What an author waits for after an edit: `verify --watch` on a copy of each bundled CPU task, warm,
//! and one line more in one probe, in turn over the task's probes. From the write of the file until
//! the round stands in the journal with its rule, all patches and gold three times;
//! `cargo bench --bench verify_watch`, or with `--profile dev`. Goal (DESIGN.md, The judge's
//! mechanics): under 2 s.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::print_stdout)]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant, SystemTime};

use serde_json::Value;

const TASKS: [&str; 3] = ["kv-prefix", "dp-buckets", "sparse-sync"];
const ROUNDS: usize = 7;
const PATIENCE: Duration = Duration::from_secs(600);

fn main() {
    // under `cargo test` a bench target is only built
    if !std::env::args().any(|a| a == "--bench") {
        return;
    }
    let chosen: Vec<String> = std::env::args()
        .skip(1)
        .filter(|a| !a.starts_with('-'))
        .collect();
    for task in TASKS {
        if chosen.is_empty() || chosen.iter().any(|name| name == task) {
            measure(task);
        }
    }
}

fn measure(task: &str) {
    let dir = tempfile::tempdir().unwrap();
    let tasks = dir.path().join("tasks");
    let from = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tasks")
        .join(task);
    copy(&from, &tasks.join(task));
    let mut watched = Watched::start(&tasks, task);
    watched.wait("verified", 1);
    let cells = watched.events("cell_finished");
    let probes = cells.iter().filter(|e| e["suite"] == "probes").count();
    let tests = tests(&tasks.join(task).join("probes"));
    println!(
        "{task}: {probes} cells on the probes, {} probes",
        tests.len()
    );
    let mut all = Vec::new();
    for round in 0..ROUNDS {
        // the ranks of as many sandboxes as there are cells, and one that compiles
        watched.warm(probes * ranks_of(&from) + 1);
        let (file, name) = &tests[round * tests.len() / ROUNDS];
        let edited = edit(&tasks, file, name, round);
        let rounds = watched.wait("round_finished", round + 1);
        let finished = &rounds[round];
        let took = finished["at_s"].as_f64().unwrap() - edited;
        println!(
            "  {:6.2} s  {:>3} ran  {name}",
            took,
            finished["ran"].as_u64().unwrap()
        );
        all.push(took);
    }
    all.sort_by(f64::total_cmp);
    let (p50, most) = (all[all.len() / 2], all[all.len() - 1]);
    let met = all.iter().filter(|took| **took < 2.0).count();
    println!("  p50 {p50:.2} s, most {most:.2} s, {met} of {ROUNDS} under 2 s");
    watched.end();
}

/// A watch, and its journal.
struct Watched {
    child: Child,
    run: PathBuf,
}

impl Watched {
    fn start(tasks: &Path, task: &str) -> Self {
        let home = Path::new(env!("CARGO_TARGET_TMPDIR")).join("bench-home");
        let runs = |home: &Path| -> Vec<PathBuf> {
            let entries = fs::read_dir(home.join("runs")).into_iter().flatten();
            entries.flatten().map(|entry| entry.path()).collect()
        };
        let before = runs(&home);
        let child = Command::new(env!("CARGO_BIN_EXE_infradev"))
            .arg("--home")
            .arg(&home)
            .arg("--tasks")
            .arg(tasks)
            .args([
                "verify", task, "--engine", "local", "--watch", "--idle", "20m",
            ])
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn();
        let mut watched = Self {
            child: child.unwrap(),
            run: PathBuf::new(),
        };
        let from = Instant::now();
        loop {
            if let Some(run) = runs(&home).into_iter().find(|run| !before.contains(run)) {
                watched.run = run;
                return watched;
            }
            assert!(from.elapsed() < PATIENCE, "no run");
            pause();
        }
    }

    fn events(&self, kind: &str) -> Vec<Value> {
        let text = fs::read_to_string(self.run.join("journal.jsonl")).unwrap_or_default();
        let all = text.lines().filter_map(|l| serde_json::from_str(l).ok());
        all.filter(|e: &Value| e["event"] == kind).collect()
    }

    fn wait(&mut self, kind: &str, count: usize) -> Vec<Value> {
        let from = Instant::now();
        loop {
            let all = self.events(kind);
            if all.len() >= count {
                return all;
            }
            let ended = self.child.try_wait().unwrap();
            assert!(ended.is_none(), "the watch ended: {ended:?}");
            assert!(from.elapsed() < PATIENCE, "no {count} {kind}");
            pause();
        }
    }

    /// When so many ranks wait, and the machine has come to rest.
    fn warm(&self, count: usize) {
        let id = self.run.file_name().unwrap().to_string_lossy().into_owned();
        let from = Instant::now();
        while ranks(&id) != count {
            assert!(from.elapsed() < PATIENCE, "{} of {count} wait", ranks(&id));
            pause();
        }
        std::thread::sleep(Duration::from_secs(1));
    }

    fn end(mut self) {
        let pid = nix::unistd::Pid::from_raw(self.child.id().cast_signed());
        nix::sys::signal::kill(pid, nix::sys::signal::Signal::SIGINT).unwrap();
        let status = self.child.wait().unwrap();
        assert_eq!(status.code(), Some(0), "it was accepted");
    }
}

fn pause() {
    std::thread::sleep(Duration::from_millis(20));
}

/// With how many ranks a task's probes run.
fn ranks_of(task: &Path) -> usize {
    let text = fs::read_to_string(task.join("task.toml")).unwrap();
    let (_, suite) = text.split_once("[suites.probes]").unwrap();
    let mut lines = suite
        .lines()
        .skip(1)
        .take_while(|line| !line.starts_with('['));
    let ranks = lines.find_map(|line| line.strip_prefix("ranks = "));
    ranks.map_or(1, |ranks| ranks.parse().unwrap())
}

/// Interpreters of a run.
fn ranks(id: &str) -> usize {
    let wanted = format!("INFRADEV_RUN={id}");
    let has = |path: PathBuf, wanted: &str| {
        let text = fs::read(path).unwrap_or_default();
        text.split(|b| *b == 0).any(|v| v == wanted.as_bytes())
    };
    let processes = fs::read_dir("/proc").unwrap().flatten();
    let ours = processes.filter(|entry| {
        has(entry.path().join("environ"), &wanted)
            && has(entry.path().join("cmdline"), "/infradev/reporter/runner.py")
    });
    ours.count()
}

/// File and name of each test function.
fn tests(probes: &Path) -> Vec<(String, String)> {
    let mut files: Vec<PathBuf> = (fs::read_dir(probes).unwrap().flatten())
        .map(|entry| entry.path())
        .filter(|path| {
            path.file_name()
                .unwrap()
                .to_string_lossy()
                .starts_with("test_")
        })
        .collect();
    files.sort();
    let mut all = Vec::new();
    for path in files {
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        for line in fs::read_to_string(&path).unwrap().lines() {
            if let Some(rest) = line.strip_prefix("def test") {
                let function = rest.split('(').next().unwrap();
                all.push((name.clone(), format!("test{function}")));
            }
        }
    }
    all
}

/// Puts a line in front of a test's body; when that was, in seconds since the epoch.
fn edit(tasks: &Path, file: &str, name: &str, round: usize) -> f64 {
    let task = fs::read_dir(tasks)
        .unwrap()
        .flatten()
        .next()
        .unwrap()
        .path();
    let path = task.join("probes").join(file);
    let mut text = String::new();
    let mut inside = false;
    for line in fs::read_to_string(&path).unwrap().lines() {
        text.push_str(line);
        text.push('\n');
        inside |= line.starts_with(&format!("def {name}("));
        if inside && line.ends_with(':') {
            let line = format!("    edited = {round}\n");
            text.push_str(&line);
            inside = false;
        }
    }
    // in one step, as editors do
    let whole = tasks.parent().unwrap().join("written");
    fs::write(&whole, text).unwrap();
    let from = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    fs::rename(&whole, &path).unwrap();
    from.unwrap().as_secs_f64()
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap().flatten() {
        let to = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy(&entry.path(), &to);
        } else {
            fs::copy(entry.path(), &to).unwrap();
        }
    }
}
