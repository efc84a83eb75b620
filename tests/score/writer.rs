//! Writes what a worker writes, with the worker's own pieces: task folders, manifests, journals,
//! calibrations, and grades by the judge.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use infradev::domain::grade::Durations;
use infradev::domain::submission::LogFormat;
use infradev::domain::{
    AgentEnd, AgentOrder, CALIBRATION_VERSION, CalibratedCase, Calibration, CalibrationChoice,
    CaseId, CaseResult, CaseRun, Cause, EngineChoice, EngineKind, Event, Grade, Machine, Manifest,
    NetworkMode, Outcome, Phase, RunId, Source, Stage, Subject, Suite, SuiteCalibration,
    SuiteChoice, Work,
};
use infradev::judge::{Observed, judge};
use infradev::store::{Home, Journal, RunDir};

pub struct TaskPlan {
    pub id: String,
    pub area: &'static str,
    pub kind: &'static str,
    pub repository: String,
    pub gpus: u32,
    pub probed: bool,
}

/// A real task folder.
pub fn task_folder(tasks: &Path, plan: &TaskPlan) -> PathBuf {
    let dir = tasks.join(&plan.id);
    for folder in ["base/tests", "official", "probes"] {
        fs::create_dir_all(dir.join(folder)).unwrap();
    }
    let probes = if plan.probed {
        "[suites.probes]\nfrom = \"probes\"\ninto = \"probes\"\n"
    } else {
        ""
    };
    let toml = format!(
        "schema = 1\nid = \"{}\"\ntitle = \"a task\"\narea = \"{}\"\nkind = \"{}\"\n\
         repository = \"{}\"\n[source]\nbase = \"base\"\n[gold]\npatch = \"gold.patch\"\n\
         [environment]\nkind = \"host\"\n[hardware]\ngpus = {}\n[suites.official]\n\
         from = \"official\"\ninto = \"tests\"\n{probes}",
        plan.id, plan.area, plan.kind, plan.repository, plan.gpus
    );
    fs::write(dir.join("task.toml"), toml).unwrap();
    fs::write(dir.join("base/calc.py"), "x = 1\n").unwrap();
    let patch = "diff --git a/calc.py b/calc.py\n--- a/calc.py\n+++ b/calc.py\n@@ -1 +1 @@\n-x = 1\n+x = 2\n";
    fs::write(dir.join("gold.patch"), patch).unwrap();
    fs::write(dir.join("prompt.md"), "Make x 2.\n").unwrap();
    for suite in ["official", "probes"] {
        let test = "import calc\n\ndef test_x():\n    assert calc.x == 2\n";
        fs::write(dir.join(suite).join("test_x.py"), test).unwrap();
    }
    dir
}

pub fn case(suite: Suite, number: usize) -> CaseId {
    let folder = match suite {
        Suite::Official => "tests",
        Suite::Probes => "probes",
    };
    CaseId(format!("{folder}/test_x.py::test_{number}"))
}

/// Gold's runs of each case of a suite, in turn.
pub fn gold(task: &str, suite: Suite, key: &str, runs: &[Vec<Outcome>]) -> Calibration {
    let cases = runs.iter().enumerate().map(|(i, outcomes)| {
        let each = outcomes.iter().map(|outcome| CaseRun {
            outcome: *outcome,
            duration_s: 0.1,
        });
        CalibratedCase::of(case(suite, i), each.collect()).unwrap()
    });
    let part = SuiteCalibration {
        key: key.into(),
        ranks: 1,
        runs: runs.first().map_or(1, Vec::len) as u32,
        cases: cases.collect(),
        duration_s: 1.0,
        deviations: None,
    };
    Calibration {
        schema: CALIBRATION_VERSION,
        task: task.into(),
        created_s: 1.0,
        engine: EngineKind::Local,
        environment: "e".into(),
        machine: Machine::default(),
        isolated: true,
        suites: BTreeMap::from([(suite, part)]),
    }
}

/// How an agent's run was made.
#[derive(Clone, Debug)]
pub struct AgentPlan {
    /// The model that the agent says it uses; the order may name none.
    pub model: Option<String>,
    pub ordered: Option<String>,
    pub prompt: String,
    pub network: NetworkMode,
    pub end: AgentEnd,
}

impl AgentPlan {
    pub fn of(model: &str, prompt: &str) -> Self {
        Self {
            model: Some(model.into()),
            ordered: Some(model.into()),
            prompt: prompt.into(),
            network: NetworkMode::AllowList,
            end: AgentEnd::Exited { code: 0 },
        }
    }
}

/// A run to write.
pub struct RunPlan<'a> {
    pub task: &'a str,
    pub task_dir: &'a Path,
    /// Of an agent its name; the run is the one that is written.
    pub source: Source,
    pub agent: Option<AgentPlan>,
    /// Gold's calibration of each suite that is judged.
    pub gold: Vec<&'a Calibration>,
    /// Outcomes of the submission's cases; absent ones were never collected.
    pub outcomes: BTreeMap<Suite, Vec<(CaseId, Outcome)>>,
    pub refused: Option<Cause>,
    pub twins_passed: bool,
    pub disagreed: bool,
    pub fill: fn(&mut Manifest),
}

impl<'a> RunPlan<'a> {
    pub fn of(task: &'a str, task_dir: &'a Path, source: Source) -> Self {
        Self {
            task,
            task_dir,
            source,
            agent: None,
            gold: Vec::new(),
            outcomes: BTreeMap::new(),
            refused: None,
            twins_passed: false,
            disagreed: false,
            fill: |_| {},
        }
    }
}

/// The run's folder with its manifest, as `launch` makes it.
pub fn create(home: &Home, plan: &RunPlan<'_>) -> (RunDir, Manifest) {
    let run = RunDir::create(home, |id| {
        let mut manifest = Manifest {
            schema: 1,
            run: id.clone(),
            task: plan.task.into(),
            task_dir: plan.task_dir.to_path_buf(),
            source: match &plan.source {
                Source::Agent { name, run } if run.0.is_empty() => Source::Agent {
                    name: name.clone(),
                    run: id,
                },
                other => other.clone(),
            },
            work: Work::Grade,
            agent: plan.agent.as_ref().map(|agent| AgentOrder {
                limit_s: 60.0,
                prompt: agent.prompt.clone(),
                model: agent.ordered.clone(),
                effort: None,
                skill: None,
                network: None,
                replay: None,
            }),
            suites: SuiteChoice::All,
            engine: EngineChoice::Auto,
            ranks: None,
            calibration: CalibrationChoice::Auto,
            only: Vec::new(),
            parent: None,
            created_s: 1.0,
        };
        (plan.fill)(&mut manifest);
        manifest
    })
    .unwrap();
    let manifest = run.manifest().unwrap();
    (run, manifest)
}

/// An agent's source; its run is the one that is written.
pub fn agent(name: &str) -> Source {
    Source::Agent {
        name: name.into(),
        run: RunId(String::new()),
    }
}

pub fn started(attempt: u32) -> Event {
    Event::RunStarted {
        pid: 1,
        pid_start: 1,
        host: "h".into(),
        boot: "b".into(),
        version: "0".into(),
        attempt,
    }
}

/// What a worker says in a run that comes to a grade, from the first fact to the last.
pub fn events(plan: &RunPlan<'_>, manifest: &Manifest, attempt: u32) -> Vec<Event> {
    let subject = Subject::Submission;
    let mut all = vec![
        started(attempt),
        Event::EngineChosen {
            engine: EngineKind::Local,
            image: None,
            why: "asked for".into(),
        },
    ];
    for gold in &plan.gold {
        let (suite, part) = gold.suites.iter().next().unwrap();
        all.push(Event::Calibrated {
            suite: Some(*suite),
            key: part.key.clone(),
            fresh: false,
            collected: gold.collected(),
            passed: gold.passed(),
        });
    }
    if let Some(plan) = &plan.agent {
        all.extend(worked(plan, &manifest.source.label()));
    }
    match plan.refused {
        Some(cause) if cause != Cause::Environment => all.push(Event::PatchRefused {
            cause,
            message: "refused".into(),
        }),
        _ => all.push(Event::PatchApplied {
            subject,
            method: "exact".into(),
            files: Vec::new(),
            tree: None,
        }),
    }
    let mut results = BTreeMap::new();
    for gold in &plan.gold {
        let suite = *gold.suites.keys().next().unwrap();
        let Some(outcomes) = plan.outcomes.get(&suite) else {
            continue;
        };
        let own: Vec<CaseResult> = outcomes.iter().map(|(id, o)| result(id, *o)).collect();
        all.push(Event::Collected {
            subject,
            suite,
            cases: outcomes.iter().map(|(id, _)| id.clone()).collect(),
            group: 1,
        });
        all.extend(own.iter().map(|result| Event::CaseFinished {
            subject,
            suite,
            result: result.clone(),
        }));
        all.push(Event::SuiteFinished {
            subject,
            suite,
            collected: own.len(),
            passed: own.iter().filter(|r| r.outcome.passed()).count(),
            duration_s: 1.0,
            killed: 0,
        });
        if plan.disagreed {
            all.push(Event::Disagreed {
                subject,
                suite,
                rank: 0,
                case: None,
                detail: "exit code".into(),
            });
        }
        all.push(Event::Twins {
            suite,
            run: own.len(),
            passed: plan
                .twins_passed
                .then(|| case(suite, 0))
                .into_iter()
                .collect(),
        });
        results.insert(suite, own);
    }
    let grade = graded(plan, manifest, results);
    let exit = u8::from(!grade.resolved);
    all.push(Event::Graded {
        grade: Box::new(grade),
    });
    all.push(Event::RunFinished { exit });
    all
}

fn worked(plan: &AgentPlan, name: &str) -> [Event; 3] {
    [
        Event::AgentStarted {
            agent: name.to_owned(),
            version: Some("1.0".into()),
            model: plan.model.clone(),
            format: LogFormat::Text,
            limit_s: 60.0,
            network: plan.network,
            hosts: Vec::new(),
            passed: Vec::new(),
            prompt: plan.prompt.clone(),
            prompt_sha256: "0".into(),
        },
        Event::AgentEnded {
            end: plan.end.clone(),
            duration_s: 1.0,
            killed: 0,
            log_bytes: 0,
            dropped_bytes: 0,
        },
        Event::Captured {
            sha256: "0".into(),
            bytes: 1,
            files: Vec::new(),
            notes: Vec::new(),
            more_notes: 0,
        },
    ]
}

fn result(id: &CaseId, outcome: Outcome) -> CaseResult {
    CaseResult {
        id: id.clone(),
        outcome,
        phase: Phase::Call,
        duration_s: 0.1,
        ranks: Vec::new(),
        message: None,
        detail_offset: None,
    }
}

/// The judge's own grade, with the badges that the worker adds.
fn graded(
    plan: &RunPlan<'_>,
    manifest: &Manifest,
    results: BTreeMap<Suite, Vec<CaseResult>>,
) -> Grade {
    let mut suites = BTreeMap::new();
    for gold in &plan.gold {
        suites.extend(gold.suites.clone());
    }
    let calibration = Calibration {
        suites,
        ..plan.gold[0].clone()
    };
    let observed = Observed {
        task: manifest.task.clone(),
        run: manifest.run.0.clone(),
        engine: EngineKind::Local,
        suites: calibration.suites.keys().copied().collect(),
        unprobed: calibration.suites.len() < 2,
        refused: plan.refused.map(|cause| (cause, "refused".into())),
        discrepancies: results.len() * usize::from(plan.disagreed),
        evidence: vec![],
        signs: 0,
        results,
        twins_passed: plan
            .twins_passed
            .then(|| case(Suite::Official, 0))
            .into_iter()
            .collect(),
        isolated: true,
        duration_s: Durations::default(),
    };
    judge(&observed, &calibration)
}

/// A harness fault in the middle of a run.
pub fn fault(message: &str, exit: u8) -> [Event; 2] {
    [
        Event::Fault {
            stage: Some(Stage::Official),
            message: message.into(),
        },
        Event::RunFinished { exit },
    ]
}

/// Appends facts through the journal's own writer.
pub fn append(run: &RunDir, events: impl IntoIterator<Item = Event>) {
    let mut journal = Journal::open(&run.journal_path()).unwrap();
    for event in events {
        journal.append(event).unwrap();
    }
}
