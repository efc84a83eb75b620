//! Homes to look at: many runs, and one whose agent is at work, written by the real writer.

use std::fs::File;
use std::io::Write;
use std::path::Path;

use infradev::domain::submission::LogFormat;
use infradev::domain::{
    AgentOrder, Event, Level, Manifest, NetworkMode, RunId, Source, Stage, Subject,
};
use infradev::store::{Home, Journal, Lock, RunDir, Summary};

fn manifest(id: &RunId, task: &Path, source: &serde_json::Value) -> Manifest {
    serde_json::from_value(serde_json::json!({
        "schema": 1, "run": id, "task": task.file_name().unwrap().to_str(), "task_dir": task,
        "source": source, "suites": "all", "engine": "auto", "created_s": infradev::store::now_s(),
    }))
    .unwrap()
}

fn started() -> Event {
    Event::RunStarted {
        pid: std::process::id(),
        pid_start: 0,
        host: "bench".into(),
        boot: String::new(),
        version: "bench".into(),
        attempt: 1,
    }
}

/// Ended runs of the tasks, in turn.
pub fn ended(home: &Home, tasks: &[&Path], count: usize) {
    for at in 0..count {
        let source = serde_json::json!({ "kind": "base" });
        let run =
            RunDir::create(home, |id| manifest(&id, tasks[at % tasks.len()], &source)).unwrap();
        let mut journal = Journal::open(&run.journal_path()).unwrap();
        journal.append(started()).unwrap();
        for line in 0..50 {
            let (level, text) = (Level::Info, format!("line {line} of a run that is over"));
            journal.append(Event::Log { level, text }).unwrap();
        }
        journal.append(Event::RunFinished { exit: 1 }).unwrap();
        drop(journal);
        Summary::keep(&run).unwrap();
    }
}

/// A run whose agent is at work for as long as this lives.
pub struct Live {
    pub run: RunDir,
    log: File,
    _journal: Journal,
    _lock: Lock,
    lines: u64,
}

impl Live {
    pub fn start(home: &Home, task: &Path) -> Self {
        let run = RunDir::create(home, |id| {
            let source = Source::Agent {
                name: "bench".into(),
                run: id.clone(),
            };
            let mut manifest = manifest(&id, task, &serde_json::to_value(source).unwrap());
            manifest.agent = Some(AgentOrder {
                limit_s: 9000.0,
                prompt: "full".into(),
                model: None,
                effort: None,
                skill: None,
                network: None,
                replay: None,
            });
            manifest
        })
        .unwrap();
        let lock = Lock::try_take(&run.lock_path()).unwrap().unwrap();
        let mut journal = Journal::open(&run.journal_path()).unwrap();
        let log = File::create(run.agent_log_path()).unwrap();
        for event in [
            started(),
            Event::StageStarted {
                stage: Stage::Agent,
                subject: Subject::Submission,
            },
            Event::AgentStarted {
                agent: "bench".into(),
                version: None,
                model: None,
                format: LogFormat::Codex,
                limit_s: 9000.0,
                network: NetworkMode::None,
                hosts: Vec::new(),
                passed: Vec::new(),
                prompt: "full".into(),
                prompt_sha256: String::new(),
            },
        ] {
            journal.append(event).unwrap();
        }
        Self {
            run,
            log,
            _journal: journal,
            _lock: lock,
            lines: 0,
        }
    }

    /// More of the agent's stream.
    pub fn write(&mut self, lines: u64) {
        let mut text = Vec::new();
        for _ in 0..lines {
            text.extend(line(self.lines));
            self.lines += 1;
        }
        self.log.write_all(&text).unwrap();
    }

    /// One message of the agent.
    pub fn message(&mut self, text: &str) {
        let item = serde_json::json!({ "id": "long", "type": "agent_message", "text": text });
        let event = serde_json::json!({ "type": "item.completed", "item": item });
        writeln!(self.log, "{event}").unwrap();
    }
}

/// One event of a codex stream; in turn a message and a command with its output.
fn line(at: u64) -> Vec<u8> {
    let item = if at.is_multiple_of(2) {
        serde_json::json!({ "id": format!("item_{at}"), "type": "agent_message",
            "text": format!("step {at}: the bucket is looked at again") })
    } else {
        serde_json::json!({ "id": format!("item_{at}"), "type": "command_execution",
            "command": format!("sed -n {at},+5p parallel/buckets.py"), "exit_code": 0,
            "aggregated_output": "    for bucket in self.buckets:\n        bucket.flush()\n".repeat(2),
            "status": "completed" })
    };
    let mut text =
        serde_json::to_vec(&serde_json::json!({ "type": "item.completed", "item": item })).unwrap();
    text.push(b'\n');
    text
}

/// An agent's log of at least so many bytes.
pub fn large_log(path: &Path, bytes: u64) {
    let text: Vec<u8> = (0..100_000).flat_map(line).collect();
    let mut file = File::create(path).unwrap();
    let mut written = 0;
    while written < bytes {
        file.write_all(&text).unwrap();
        written += text.len() as u64;
    }
}
