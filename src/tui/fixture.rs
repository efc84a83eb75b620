//! For tests: tasks, a replayed journal, answers to effects from a script, keys as text.

#![allow(clippy::unwrap_used, clippy::expect_used)]

use std::path::PathBuf;
use std::sync::Arc;

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use crate::agent::trace::TraceReader;
use crate::domain::case::{CaseDetail, Frame};
use crate::domain::submission::LogFormat;
use crate::domain::{
    Badge, CaseId, CaseResult, Cause, Event, Level, Outcome, Phase, Record, RunId, Source, Stage,
    Subject, Submission, SubmissionSpec, Suite, Task, TaskSpec, Verdict,
};

use super::backend::{
    ChangeKind, Count, FileChange, FilePair, JournalChunk, LogInfo, LogKey, RunStatus, RunSummary,
    TaskList,
};
use super::caps::{Caps, Depth};
use super::draw::draw;
use super::effect::Effect;
use super::gpu_view::{Figure, GpuRow, GpuView, HostView};
use super::highlight::highlight;
use super::keymap::Key;
use super::msg::{Excerpt, LogDelta, Msg};
use super::panes::diff::state::DiffFile;
use super::state::{App, Ui};
use super::theme::Theme;
use super::update::update;

/// 2026-11-29 17:42:10 UTC.
pub const NOW: f64 = 1_795_974_130.0;

pub fn run_id(n: u32) -> RunId {
    RunId(format!("20261129-1741{n:02}-abcd"))
}

fn task(id: &str, area: &str, submissions: &[(&str, &str)]) -> Arc<Task> {
    let text = format!(
        r#"
schema = 1
id = "{id}"
title = "Gradients travel in flat buckets"
area = "{area}"
kind = "feature"
repository = "bundled/tandem"
summary = "Data-parallel gradients travel in flat buckets while backward runs."
[source]
base = "base"
[gold]
patch = "gold.patch"
[environment]
kind = "uv"
requirements = "requirements.lock"
[suites.official]
from = "official"
into = "tests"
[suites.probes]
from = "probes"
into = "probes"
[[claims]]
id = "C1"
text = "gradients are means over all samples"
kind = "numerics"
probes = ["probes/test_mean.py::test_mean_not_sum", "probes/test_mean.py::test_unequal"]
"#
    );
    let spec: TaskSpec = toml::from_str(&text).unwrap();
    let submissions = submissions
        .iter()
        .map(|(name, agent)| {
            let text = format!(
                "schema = 1\nname = \"{name}\"\nagent = \"{agent}\"\nmodel = \"gpt-x\"\n\
                 patch = \"patch.diff\"\nlog = \"agent.jsonl\"\nlog_format = \"codex\"\n\
                 minutes = 12.4\nexpected = \"official_only\"\n"
            );
            let spec: SubmissionSpec = toml::from_str(&text).unwrap();
            Submission {
                spec,
                dir: PathBuf::from("/t"),
            }
        })
        .collect();
    Arc::new(Task {
        spec,
        dir: PathBuf::from("/t"),
        submissions,
    })
}

pub fn tasks() -> TaskList {
    TaskList {
        dir: PathBuf::from("/t"),
        tasks: vec![
            task(
                "dp-buckets",
                "training",
                &[
                    ("gpt-x", "codex"),
                    ("glm", "opencode"),
                    ("hand", "scripted"),
                ],
            ),
            task("sparse-sync", "rl", &[("gpt-x", "codex")]),
        ],
        problems: Vec::new(),
    }
}

pub fn summary(n: u32, task: &str, name: &str, verdict: Option<Verdict>) -> RunSummary {
    RunSummary {
        id: run_id(n),
        task: task.into(),
        source: Source::Submission { name: name.into() },
        parent: None,
        only: 0,
        created_s: NOW - 60.0 + f64::from(n),
        started_s: Some(NOW - 60.0 + f64::from(n)),
        ended_s: Some(NOW - 20.0),
        status: RunStatus::Finished,
        stage: None,
        verdict,
        cause: (verdict == Some(Verdict::Failed)).then_some(Cause::Cases),
        badges: vec![],
        official: Some(Count {
            passed: 12,
            collected: 12,
        }),
        probes: Some(Count {
            passed: 7,
            collected: 9,
        }),
        fault: None,
    }
}

pub fn runs() -> Vec<RunSummary> {
    let mut interrupted = summary(3, "dp-buckets", "hand", None);
    interrupted.status = RunStatus::Interrupted;
    interrupted.ended_s = None;
    interrupted.probes = None;
    let mut failed = summary(2, "dp-buckets", "glm", Some(Verdict::Failed));
    failed.badges = vec![Badge::Limit];
    failed.official = Some(Count {
        passed: 3,
        collected: 12,
    });
    vec![
        summary(1, "dp-buckets", "gpt-x", Some(Verdict::OfficialOnly)),
        failed,
        interrupted,
    ]
}

pub fn case(file: &str, name: &str, outcome: Outcome, seconds: f64) -> CaseResult {
    CaseResult {
        id: CaseId(format!("{file}::{name}")),
        outcome,
        phase: Phase::Call,
        duration_s: seconds,
        ranks: Vec::new(),
        message: (outcome != Outcome::Passed).then(|| "assert 8.0 == 4.0".to_owned()),
        detail_offset: (outcome != Outcome::Passed).then_some(0),
    }
}

const OFFICIAL: &str = "tests/test_buckets.py";
const PROBES: &str = "probes/test_mean.py";

/// Facts of a run: gold passes all, the submission fails two probes. `upto` cuts it short.
pub fn journal(upto: usize) -> Vec<Record> {
    let mut events = vec![Event::RunStarted {
        pid: 7,
        pid_start: 1,
        host: "h".into(),
        boot: "b".into(),
        version: "0.1.0".into(),
        attempt: 1,
    }];
    let official = ["test_shapes[4]", "test_names", "test_flush"];
    let probes = ["test_mean_not_sum[2-6]", "test_unequal", "test_last_bucket"];
    for subject in [Subject::Gold, Subject::Submission] {
        for (suite, stage, file, names) in [
            (Suite::Official, Stage::Official, OFFICIAL, official),
            (Suite::Probes, Stage::Probes, PROBES, probes),
        ] {
            events.push(Event::StageStarted { stage, subject });
            let cases = names.map(|name| CaseId(format!("{file}::{name}"))).to_vec();
            events.push(Event::Collected {
                subject,
                suite,
                cases,
                group: 1,
            });
            for (at, name) in names.into_iter().enumerate() {
                let bad = subject == Subject::Submission && suite == Suite::Probes && at < 2;
                let outcome = if bad {
                    Outcome::Failed
                } else {
                    Outcome::Passed
                };
                events.push(Event::CaseStarted {
                    subject,
                    suite,
                    id: CaseId(format!("{file}::{name}")),
                    rank: 0,
                });
                events.push(Event::CaseFinished {
                    subject,
                    suite,
                    result: case(file, name, outcome, 0.4 + at as f64),
                });
            }
            events.push(Event::SuiteFinished {
                subject,
                suite,
                collected: 3,
                passed: 3,
                duration_s: 1.2,
                killed: 0,
            });
        }
    }
    events.push(Event::Log {
        level: Level::Warn,
        text: "conftest.py restored".into(),
    });
    events.push(Event::RunFinished { exit: 1 });
    events
        .into_iter()
        .take(upto)
        .enumerate()
        .map(|(at, event)| Record {
            v: 1,
            seq: at as u64,
            at_s: NOW - 40.0 + at as f64 * 0.5,
            event,
        })
        .collect()
}

pub const AGENT_LOG: &str = r#"{"type":"thread.started","thread_id":"t"}
{"type":"item.completed","item":{"id":"i0","type":"agent_message","text":"I read the code first; the last bucket is never flushed when the count is odd."}}
{"type":"item.completed","item":{"id":"i1","type":"command_execution","command":"/bin/bash -lc 'pytest -q tests'","aggregated_output":"F..\n1\n2\n3\n4\n5\n3 failed, 21 passed\n","exit_code":1,"status":"failed"}}
{"type":"item.completed","item":{"id":"i2","type":"file_change","changes":[{"path":"parallel/buckets.py","kind":"update"}],"status":"completed"}}
ERROR codex_core: something not JSON
{"type":"turn.completed","usage":{"input_tokens":1200000,"cached_input_tokens":972000,"output_tokens":59000,"reasoning_output_tokens":21000}}
{"type":"item.comp"#;

fn pair() -> FilePair {
    let gold = "import math\n\n\ndef flush(self):\n    for bucket in self.buckets:\n        \
                if bucket.ready():\n            all_reduce(bucket.flat)\n            \
                bucket.flat /= self.world  # mean\n    return len(self.buckets)\n";
    FilePair {
        left: Some(gold.into()),
        right: Some(
            gold.replace("            bucket.flat /= self.world  # mean\n", "")
                .replace("len(self.buckets)", "len(self.ready)")
                .into(),
        ),
    }
}

/// Answers an effect as a world with the above in it would.
pub fn answer(effect: Effect) -> Vec<Msg> {
    match effect {
        Effect::LoadTasks => vec![Msg::Tasks(Ok(tasks()))],
        Effect::LoadRuns => vec![Msg::Runs(Ok(runs()))],
        Effect::LoadRun(run) => {
            let found = runs().into_iter().find(|summary| summary.id == run);
            vec![Msg::Run(run, Ok(found))]
        }
        Effect::LoadJournal { run, from } => {
            let records = if from == 0 { journal(99) } else { Vec::new() };
            let status = runs()
                .into_iter()
                .find(|summary| summary.id == run)
                .map_or(RunStatus::Finished, |summary| summary.status);
            let chunk = JournalChunk {
                records,
                next: 1,
                status,
                restarted: false,
            };
            vec![Msg::Journal(run, Ok(chunk))]
        }
        Effect::LoadChanges(comparison) => {
            let files = ["parallel/buckets.py", "parallel/flat.py"]
                .into_iter()
                .zip([ChangeKind::Modified, ChangeKind::Added])
                .map(|(path, kind)| FileChange {
                    path: path.into(),
                    old_path: None,
                    kind,
                    added: 1,
                    deleted: 2,
                    binary: false,
                })
                .collect();
            vec![Msg::Changes(comparison, Ok(files))]
        }
        Effect::LoadFile {
            comparison, path, ..
        } => vec![Msg::File(
            comparison,
            path,
            Ok(Box::new(DiffFile::new(pair()))),
        )],
        Effect::Highlight(wanted) => {
            let newest = std::sync::atomic::AtomicU64::new(wanted.ticket);
            let mut out = Vec::new();
            highlight(&wanted, &newest, |piece| out.push(Msg::Colours(piece)));
            out
        }
        Effect::LoadDetail {
            run, suite, result, ..
        } => {
            let frame = |path: &str, line, function: &str| Frame {
                path: path.into(),
                line,
                function: function.into(),
            };
            let detail = CaseDetail {
                id: result.id.0.clone(),
                rank: 0,
                traceback: ">       assert total == 4.0\nE       assert 8.0 == 4.0\n".into(),
                frames: vec![
                    frame("probes/test_mean.py", 41, "test_mean_not_sum"),
                    frame("parallel/buckets.py", 7, "flush"),
                ],
                sections: vec![("stdout".into(), "\u{1b}[32mflushed\u{1b}[0m 3\n".into())],
            };
            vec![Msg::Detail(run, suite, result.id, Ok(Some(detail)))]
        }
        Effect::LoadExcerpt {
            case,
            frame,
            path,
            line,
            ..
        } => {
            let excerpt = Excerpt {
                path,
                from: line - 1,
                lines: vec![
                    "before".into(),
                    "all_reduce(bucket.flat)".into(),
                    "after".into(),
                ],
            };
            vec![Msg::Excerpt(case, frame, Ok(Some(excerpt)))]
        }
        Effect::FindAgentLog(key) => {
            let info = LogInfo {
                format: LogFormat::Codex,
                bytes: AGENT_LOG.len() as u64,
            };
            vec![Msg::AgentLog(key, Ok(Some(info)))]
        }
        Effect::LoadOutputs(run) => {
            let key = LogKey::Output {
                run: run.clone(),
                subject: Subject::Submission,
                suite: Suite::Official,
                rank: 0,
            };
            vec![Msg::Outputs(run, Ok(vec![key]))]
        }
        Effect::ReadLog { key, format, .. } => {
            let mut reader = TraceReader::new(format);
            let mut entries = reader.feed(AGENT_LOG.as_bytes());
            entries.extend(reader.tail());
            let delta = LogDelta {
                entries,
                ..LogDelta::default()
            };
            vec![Msg::Log(key, Ok(delta))]
        }
        Effect::Grade(request) => vec![Msg::Started(request, Ok(run_id(9)))],
        Effect::Cancel(run) => vec![Msg::Cancelled(run, Ok(()))],
        Effect::LoadCalibration { .. } | Effect::Repaint | Effect::Suspend | Effect::Quit => {
            Vec::new()
        }
    }
}

pub fn empty(width: u16, height: u16, depth: Depth) -> App {
    let caps = Caps {
        depth,
        unicode: true,
    };
    let theme = Theme::bundled("default", depth).unwrap();
    let ui = Ui::new(theme, caps, 0, "home /data/infradev · engine local".into());
    App::new(ui, (width, height), NOW)
}

/// Carries effects out, and those that follow from their answers; returns all of them.
pub fn settle(app: &mut App, effects: Vec<Effect>) -> Vec<Effect> {
    let mut all = Vec::new();
    let mut queue = std::collections::VecDeque::from(effects);
    while let Some(effect) = queue.pop_front() {
        all.push(effect.clone());
        for msg in answer(effect) {
            queue.extend(update(app, msg));
        }
        assert!(all.len() < 500, "effects do not settle: {:?}", all.last());
    }
    all
}

/// A workbench on which everything has arrived.
pub fn app(width: u16, height: u16) -> App {
    let mut app = empty(width, height, Depth::Ansi256);
    let first = App::first_effects();
    settle(&mut app, first);
    update(&mut app, Msg::Gpu(gpu(0)));
    app
}

/// A sample with this many GPUs.
pub fn gpu(count: u32) -> GpuView {
    let row = |index| GpuRow {
        index,
        uuid: format!("GPU-{index}"),
        name: "H200".into(),
        util_percent: Figure::Value(97),
        memory_used: Figure::Value(94_600_000_000),
        memory_total: Figure::Value(150_100_000_000),
        power_w: Figure::Value(612.0),
        power_limit_w: Figure::Value(700.0),
        temperature_c: Figure::Value(61),
        sm_mhz: Figure::Unsupported,
        throttle: "power cap".into(),
        user: "run 41 rank 0".into(),
        lost: None,
    };
    GpuView {
        at_s: NOW,
        gpus: (0..count).map(row).collect(),
        reason: (count == 0).then(|| "no GPU: the driver's library is not here".into()),
        host: HostView {
            cores: 8,
            cpu_percent: Some(42.0),
            memory_used: Some(12_000_000_000),
            memory_total: Some(64_000_000_000),
            load: Some([3.2, 2.0, 1.0]),
        },
    }
}

/// Presses keys, each named as the table names it; answers what they ask for.
pub fn press(app: &mut App, keys: &str) -> Vec<Effect> {
    let mut all = Vec::new();
    for name in keys.split_whitespace() {
        let key = Key::parse(name).unwrap();
        let effects = update(app, Msg::Key(key));
        all.extend(settle(app, effects));
    }
    all
}

pub fn render(app: &App) -> Buffer {
    let (width, height) = app.size;
    let mut buf = Buffer::empty(Rect::new(0, 0, width, height));
    draw(app, &mut buf);
    buf
}

/// The screen's text, without trailing blanks.
pub fn screen(app: &App) -> String {
    let buf = render(app);
    let mut out = String::new();
    for y in 0..buf.area.height {
        let mut line = String::new();
        let mut x = 0;
        while x < buf.area.width {
            let symbol = buf[(x, y)].symbol();
            line.push_str(symbol);
            x += super::text::width(symbol).max(1) as u16;
        }
        out.push_str(line.trim_end());
        out.push('\n');
    }
    out
}

/// The style of the first cell of a text on the screen.
pub fn style_of(app: &App, text: &str) -> ratatui::style::Style {
    let buf = render(app);
    for y in 0..buf.area.height {
        let line: Vec<&str> = (0..buf.area.width).map(|x| buf[(x, y)].symbol()).collect();
        let joined = line.concat();
        if let Some(at) = joined.find(text) {
            let cells = joined[..at].chars().count();
            return buf[(cells as u16, y)].style();
        }
    }
    panic!("{text:?} is not on the screen:\n{}", screen(app));
}
