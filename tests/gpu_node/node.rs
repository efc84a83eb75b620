//! A small task that computes on GPUs, made for the purpose, and what its runs left behind.

use std::fmt::Write as _;
use std::fs;
use std::path::PathBuf;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use infradev::domain::{Event, GpuLeft, GpuTaken};
use infradev::gpu::{NvmlSource, Source};
use infradev::store::{Home, RunDir};
use serde_json::Value;

use super::common::grade;

/// The node's GPUs are one test's at a time.
pub fn alone() -> MutexGuard<'static, ()> {
    static ONE: Mutex<()> = Mutex::new(());
    ONE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// UUIDs of this machine's GPUs, in the driver's order.
pub fn uuids() -> Vec<String> {
    let mut source = NvmlSource::new();
    source.open().expect("an NVIDIA driver");
    let count = source.count().expect("GPUs");
    (0..count)
        .map(|i| source.identity(i).expect("a GPU that answers").uuid)
        .collect()
}

/// Pids that compute on a GPU, as the driver's own tool lists them.
pub fn computing() -> Vec<String> {
    let output = Command::new("nvidia-smi")
        .args(["--query-compute-apps=pid", "--format=csv,noheader"])
        .output()
        .expect("nvidia-smi");
    let text = String::from_utf8_lossy(&output.stdout);
    text.lines().map(str::trim).map(str::to_owned).collect()
}

/// Runs `work` while looking at the driver's list: whether it ever named a process.
pub fn seen_computing<T>(work: impl FnOnce() -> T) -> (T, bool) {
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let looker = scope.spawn(|| {
            let mut seen = false;
            while !stop.load(Ordering::Relaxed) {
                seen |= !computing().is_empty();
                std::thread::sleep(Duration::from_millis(200));
            }
            seen
        });
        let done = work();
        stop.store(true, Ordering::Relaxed);
        (done, looker.join().unwrap())
    })
}

/// A task whose gold adds `work.py`; its official tests are `test_work.py`.
pub struct Node {
    dir: tempfile::TempDir,
}

impl Node {
    pub fn new(ranks: u32, gold: &str, tests: &str) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let task = dir.path().join("tasks/node");
        for folder in ["base", "official"] {
            fs::create_dir_all(task.join(folder)).unwrap();
        }
        fs::write(task.join("base/README"), "work\n").unwrap();
        fs::write(task.join("official/test_work.py"), tests).unwrap();
        fs::write(task.join("gold.patch"), adds("work.py", gold)).unwrap();
        fs::write(task.join("prompt.md"), "Work on GPUs.\n").unwrap();
        let toml = format!(
            "schema = 1\nid = \"node\"\ntitle = \"GPU work\"\narea = \"training\"\n\
             kind = \"feature\"\nrepository = \"test/node\"\n\n[source]\nbase = \"base\"\n\n\
             [gold]\npatch = \"gold.patch\"\n\n[environment]\nkind = \"host\"\n\n\
             [hardware]\ngpus = {ranks}\n\n\
             [limits]\nmemory_mib = 65536\nprocesses = 4096\nshm_mib = 4096\n\n\
             [suites.official]\nfrom = \"official\"\ninto = \"tests\"\nranks = {ranks}\n\
             limit_s = 240\ncase_limit_s = 20\n"
        );
        fs::write(task.join("task.toml"), toml).unwrap();
        Self { dir }
    }

    pub fn tasks(&self) -> PathBuf {
        self.dir.path().join("tasks")
    }

    pub fn home(&self) -> PathBuf {
        self.dir.path().join("home")
    }

    pub fn gold(&self) -> Graded {
        self.graded(&["--gold"])
    }

    /// A submission that adds `work.py` with this text.
    pub fn submission(&self, work: &str) -> Graded {
        let patch = self.dir.path().join("submission.patch");
        fs::write(&patch, adds("work.py", work)).unwrap();
        self.graded(&["--patch", patch.to_str().unwrap()])
    }

    fn graded(&self, args: &[&str]) -> Graded {
        let (exit, grade) = grade(&self.home(), &self.tasks(), "node", args);
        let home = Home::open(&self.home()).unwrap();
        let run = home.find(grade["run"].as_str().unwrap()).unwrap();
        Graded { exit, grade, run }
    }
}

/// A grade and its run.
pub struct Graded {
    pub exit: i32,
    pub grade: Value,
    pub run: RunDir,
}

impl Graded {
    pub fn events(&self) -> Vec<Event> {
        let text = fs::read_to_string(self.run.journal_path()).unwrap();
        let records = text.lines().map(|line| {
            let record: infradev::domain::Record = serde_json::from_str(line).unwrap();
            record.event
        });
        records.collect()
    }

    pub fn taken(&self) -> Vec<GpuTaken> {
        let taken = self.events().into_iter().find_map(|event| match event {
            Event::GpusTaken { gpus, .. } => Some(gpus),
            _ => None,
        });
        taken.expect("the journal tells which GPUs the run held")
    }

    pub fn left(&self) -> Vec<GpuLeft> {
        let left = self.events().into_iter().find_map(|event| match event {
            Event::GpusReleased { gpus } => Some(gpus),
            _ => None,
        });
        left.expect("the journal tells what was left on the GPUs")
    }

    /// The case of this name.
    pub fn case(&self, name: &str) -> &Value {
        let cases = self.grade["cases"].as_array().unwrap();
        cases
            .iter()
            .find(|c| c["id"].as_str().unwrap().ends_with(&format!("::{name}")))
            .unwrap_or_else(|| panic!("no case {name}: {:#}", self.grade))
    }

    pub fn passed(&self, names: &[&str]) {
        for name in names {
            assert_eq!(self.case(name)["outcome"], "passed", "{:#}", self.grade);
        }
    }

    /// Nothing computes on the run's GPUs any more, and their memory is as it was.
    pub fn nothing_is_left(&self) {
        for (before, after) in self.taken().iter().zip(self.left()) {
            assert_eq!(after.processes, Some(0), "{after:?}");
            let used = |bytes: Option<u64>| bytes.expect("memory that the driver tells") >> 20;
            assert!(
                used(after.memory_used_bytes) <= used(before.memory_used_bytes) + 64,
                "{before:?} {after:?}"
            );
        }
        assert_eq!(computing(), Vec::<String>::new(), "nvidia-smi agrees");
    }
}

/// A patch that adds one file.
fn adds(path: &str, text: &str) -> String {
    let lines = text.lines().count();
    let mut patch = format!(
        "diff --git a/{path} b/{path}\nnew file mode 100644\n--- /dev/null\n+++ b/{path}\n@@ -0,0 +1,{lines} @@\n"
    );
    for line in text.lines() {
        let _ = writeln!(patch, "+{line}");
    }
    patch
}
