//! What these tests share: an adapter of their own in the home, a run, and its journal.

use std::path::{Path, PathBuf};
use std::process::Output;
use std::sync::LazyLock;

use serde_json::Value;

use crate::common::small;
use crate::common::{home, infradev, tasks};

/// The task of the tests that are about the agent, not about its grade: that takes seconds.
pub const SMALL: &str = small::NAME;

/// The folder in which it stands.
pub fn small_tasks() -> PathBuf {
    static WRITTEN: LazyLock<PathBuf> = LazyLock::new(|| small::write("agent-runs", ""));
    WRITTEN.clone()
}

/// Writes `<home>/agents/<name>.toml`.
pub fn adapter(name: &str, rest: &str) {
    let folder = home().join("agents");
    std::fs::create_dir_all(&folder).unwrap();
    let told = "[env.set]\nPROMPT_FILE = \"{prompt_file}\"\n";
    let text = format!("schema = 1\nname = \"{name}\"\n{rest}{told}");
    std::fs::write(folder.join(format!("{name}.toml")), text).unwrap();
}

/// An adapter that is one shell script; its output is the log.
pub fn scripted(name: &str, script: &str) {
    let script = toml_text(script);
    adapter(
        name,
        &format!(
            "format = \"text\"\ncommand = [\"/bin/bash\", \"-c\", {script}]\n[network]\nmode = \"none\"\n"
        ),
    );
}

/// A TOML string of any text.
pub fn toml_text(text: &str) -> String {
    serde_json::to_string(text).unwrap()
}

/// What `infradev run` did.
pub struct Ran {
    pub output: Output,
    pub grade: Value,
    pub run: PathBuf,
}

impl Ran {
    pub fn events(&self, kind: &str) -> Vec<Value> {
        events(&self.run, kind)
    }

    pub fn log(&self) -> String {
        let bytes = std::fs::read(self.run.join("agent.log")).unwrap();
        String::from_utf8_lossy(&bytes).into_owned()
    }

    pub fn patch(&self) -> String {
        let bytes = std::fs::read(self.run.join("submission.patch")).unwrap();
        String::from_utf8_lossy(&bytes).into_owned()
    }

    #[track_caller]
    pub fn verdict(&self) -> &str {
        self.grade["verdict"].as_str().unwrap_or_else(|| {
            panic!(
                "no verdict: {}\n{}",
                String::from_utf8_lossy(&self.output.stderr),
                self.grade
            )
        })
    }

    pub fn badges(&self) -> Vec<&str> {
        let badges = self.grade["badges"].as_array().unwrap();
        badges.iter().map(|b| b.as_str().unwrap()).collect()
    }
}

pub fn events(run: &Path, kind: &str) -> Vec<Value> {
    let text = std::fs::read_to_string(run.join("journal.jsonl")).unwrap();
    text.lines()
        .filter_map(|line| serde_json::from_str::<Value>(line).ok())
        .filter(|event| event["event"] == kind)
        .collect()
}

/// `infradev run TASK --agent NAME … --json`, to its end.
pub fn run(task: &str, agent: &str, args: &[&str]) -> Ran {
    run_with(task, agent, args, &[])
}

pub fn run_with(task: &str, agent: &str, args: &[&str], env: &[(&str, &str)]) -> Ran {
    let all = if task == SMALL {
        small_tasks()
    } else {
        tasks()
    };
    let output = infradev(&home(), &all)
        .args(["run", task, "--agent", agent])
        .args(args)
        .arg("--json")
        .envs(env.iter().copied())
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    let grade: Value = serde_json::from_str(&text).unwrap_or_else(|e| {
        panic!(
            "run {task} --agent {agent} {args:?}: no document ({e}); exit {:?}\n{text}\n{}",
            output.status.code(),
            String::from_utf8_lossy(&output.stderr)
        )
    });
    let run = home().join("runs").join(grade["run"].as_str().unwrap());
    Ran { output, grade, run }
}

/// The command lines of this machine's processes that hold `mark`.
pub fn alive(mark: &str) -> Vec<String> {
    let own = std::process::id().to_string();
    std::fs::read_dir("/proc")
        .unwrap()
        .flatten()
        .filter(|entry| *entry.file_name() != *own)
        .filter_map(|entry| std::fs::read(entry.path().join("cmdline")).ok())
        .map(|line| String::from_utf8_lossy(&line).replace('\0', " "))
        .filter(|line| line.contains(mark))
        .collect()
}

/// The same test on both engines.
#[macro_export]
macro_rules! on_both_engines {
    ($($name:ident),+ $(,)?) => {
        mod local { $(#[test] fn $name() { super::$name("local"); })+ }
        mod docker { $(#[test] fn $name() {
            if $crate::common::docker_is_here() { super::$name("docker"); }
        })+ }
    };
}
