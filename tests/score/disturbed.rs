//! 200 stores in which everything went wrong that can: the second scorer (`reference.py`, written
//! from METHOD.md alone) gives the same figures.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write as _;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use infradev::domain::run_state::RunState;
use infradev::domain::{
    AgentEnd, Calibration, CaseId, Cause, Event, Level, Manifest, NetworkMode, Outcome, RunId,
    Source, Subject, Suite, SuiteChoice, Verdict, Work,
};
use infradev::judge::score::{Dimension, LeftOut, Score, Weights};
use infradev::store::{RunDir, keep_calibration, write_calibration};
use serde_json::{Value, json};

use super::store::Store;
use super::writer::{
    AgentPlan, RunPlan, TaskPlan, agent, append, case, create, events, fault, gold, started,
    task_folder,
};

const STORES: u64 = 200;

/// Splitmix64: the same stores each time.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) % sides as u64) as usize
    }

    fn one_in(&mut self, n: usize) -> bool {
        self.roll(n) == 0
    }

    fn pick<T: Clone>(&mut self, of: &[T]) -> T {
        of[self.roll(of.len())].clone()
    }
}

struct Task {
    plan: TaskPlan,
    dir: PathBuf,
    /// Calibrations of each suite; two where tests changed in between.
    golds: Vec<[Calibration; 2]>,
}

/// Gold's runs of a suite: sometimes flaky, sometimes nothing passes.
fn gold_runs(dice: &mut Dice) -> Vec<Vec<Outcome>> {
    let runs = 1 + dice.roll(3);
    let cases = 1 + dice.roll(5);
    let nothing = dice.one_in(25);
    let mut all: Vec<Vec<Outcome>> = (0..cases)
        .map(|_| {
            let steady = dice.pick(&[
                Outcome::Passed,
                Outcome::Passed,
                Outcome::Failed,
                Outcome::Skipped,
            ]);
            let flaky = dice.one_in(5);
            (0..runs)
                .map(|_| {
                    if flaky && dice.one_in(2) {
                        Outcome::Failed
                    } else {
                        steady
                    }
                })
                .collect()
        })
        .collect();
    for outcomes in &mut all {
        if nothing {
            *outcomes = vec![Outcome::Skipped; runs];
        }
    }
    if !nothing && all.iter().all(|c| c.iter().any(|o| !o.passed())) {
        all[0] = vec![Outcome::Passed; runs];
    }
    all
}

fn make_task(dice: &mut Dice, store: &Store, number: usize) -> Task {
    let (area, repository) = dice.pick(&[("training", "a/m"), ("rl", "b/v"), ("inference", "c/l")]);
    let plan = TaskPlan {
        id: format!("t{number}"),
        area,
        kind: dice.pick(&["feature", "performance", "bugfix"]),
        repository: repository.into(),
        gpus: dice.pick(&[0, 1, 8]),
        probed: !dice.one_in(4),
    };
    let dir = task_folder(&store.tasks(), &plan);
    for (name, model, effort) in [("one", "m1", ""), ("two", "m2", "effort = \"high\"\n")] {
        let folder = dir.join("submissions").join(name);
        std::fs::create_dir_all(&folder).unwrap();
        let text =
            format!("schema = 1\nname = \"{name}\"\nagent = \"s\"\nmodel = \"{model}\"\n{effort}");
        std::fs::write(folder.join("submission.toml"), text).unwrap();
    }
    let versions = 1 + usize::from(dice.one_in(4));
    let golds = (0..versions).map(|version| {
        Suite::ALL.map(|suite| {
            let key = format!(
                "{number:x}{version}{}",
                if suite == Suite::Official { "a" } else { "b" }
            );
            let mut made = gold(&plan.id, suite, &key, &gold_runs(dice));
            if dice.one_in(30) {
                // a flaky case on record as passed
                let part = made.suites.get_mut(&suite).unwrap();
                if let Some(case) = part.cases.iter_mut().find(|c| c.flaky()) {
                    case.outcome = Outcome::Passed;
                }
            }
            match dice.roll(12) {
                0 => {} // it is lost
                1..=3 => {
                    let name = format!("{}.json", suite.name());
                    write_calibration(&dir.join("calibration").join(name), &made).unwrap();
                }
                _ => keep_calibration(&store.home, &made).unwrap(),
            }
            made
        })
    });
    let golds = golds.collect();
    Task { plan, dir, golds }
}

/// The submission's outcomes: near gold's, some never collected, some that gold does not know.
fn outcomes(dice: &mut Dice, gold: &Calibration) -> Vec<(CaseId, Outcome)> {
    let (suite, part) = gold.suites.iter().next().unwrap();
    let good = dice.one_in(2);
    let mut all = Vec::new();
    for known in &part.cases {
        let outcome = match dice.roll(if good { 12 } else { 4 }) {
            0 => dice.pick(&Outcome::ALL),
            1 if !good => continue,
            _ => dice.pick(&[Outcome::Passed, known.outcome]),
        };
        all.push((known.id.clone(), outcome));
    }
    if dice.one_in(4) {
        all.push((case(*suite, 90), Outcome::Passed));
    }
    all
}

fn agent_plan(dice: &mut Dice) -> AgentPlan {
    let model = dice.pick(&["m1", "m2"]);
    let mut plan = AgentPlan::of(model, dice.pick(&["full", "full", "original"]));
    match dice.roll(5) {
        0 => plan.model = None,
        1 => plan.ordered = None,
        2 => (plan.model, plan.ordered) = (None, None),
        _ => {}
    }
    plan.end = dice.pick(&[
        AgentEnd::Exited { code: 0 },
        AgentEnd::Exited { code: 1 },
        AgentEnd::Limit,
    ]);
    if dice.one_in(6) {
        plan.network = NetworkMode::Open;
    }
    plan
}

/// Writes one run, whole or disturbed.
fn write_run(dice: &mut Dice, store: &Store, task: &Task, before: &[RunId]) -> RunDir {
    let mut plan = RunPlan::of(&task.plan.id, &task.dir, Source::Base);
    plan.source = match dice.roll(16) {
        0 => Source::Gold,
        1 => Source::Base,
        2 => Source::Patch {
            file: store.path().join(dice.pick(&["a.patch", "b.patch"])),
        },
        3..=6 => Source::Submission {
            name: dice.pick(&["one", "two", "gone"]).into(),
        },
        7 if !before.is_empty() => Source::Agent {
            name: "h".into(),
            run: dice.pick(before),
        },
        _ => agent(dice.pick(&["h", "i"])),
    };
    if matches!(&plan.source, Source::Agent { run, .. } if run.0.is_empty()) {
        plan.agent = Some(agent_plan(dice));
    }
    let version = &task.golds[dice.roll(task.golds.len())];
    let suites = if task.plan.probed { 2 } else { 1 };
    plan.gold = version.iter().take(suites).collect();
    for gold in &plan.gold {
        let suite = *gold.suites.keys().next().unwrap();
        plan.outcomes.insert(suite, outcomes(dice, gold));
    }
    match dice.roll(12) {
        0 => plan.twins_passed = true,
        1 => plan.disagreed = true,
        2 => {
            plan.refused =
                Some(dice.pick(&[Cause::Empty, Cause::Missing, Cause::Apply, Cause::Build]));
            plan.outcomes.clear();
        }
        3 => {
            plan.refused = Some(Cause::Environment);
            plan.outcomes.remove(&Suite::Probes);
        }
        _ => {}
    }
    let fills: [fn(&mut Manifest); 4] = [
        |m| m.only = vec![case(Suite::Official, 0)],
        |m| m.parent = Some(RunId("other".into())),
        |m| m.suites = SuiteChoice::Official,
        |m| m.work = Work::Calibrate { runs: 3 },
    ];
    if dice.one_in(10) {
        plan.fill = dice.pick(&fills);
    }
    let (run, manifest) = create(&store.home, &plan);
    let all = events(&plan, &manifest, 1);
    write_events(dice, &run, all, &plan, &manifest);
    run
}

fn write_events(
    dice: &mut Dice,
    run: &RunDir,
    mut all: Vec<Event>,
    plan: &RunPlan<'_>,
    manifest: &Manifest,
) {
    let cut = dice.roll(all.len());
    match dice.roll(18) {
        // a harness fault, bad input, a request: at any point
        0..=2 => {
            let exit = if dice.one_in(3) { 2 } else { 3 };
            append(
                run,
                all.into_iter()
                    .take(cut)
                    .chain(fault("the disk is full", exit)),
            );
        }
        3 => {
            let by = "request".into();
            let ended = [Event::Cancelled { by }, Event::RunFinished { exit: 3 }];
            append(run, all.into_iter().take(cut).chain(ended));
        }
        // the worker died; sometimes the run is taken up again
        4..=6 => {
            let again = dice.one_in(2);
            append(run, all.into_iter().take(cut));
            if again {
                tear(dice, run);
                let kept = run.state().unwrap();
                let again = events(plan, manifest, 2);
                append(run, again.into_iter().filter(|e| !done(&kept, e)));
            }
        }
        7 => {
            append(run, all);
            tear(dice, run);
        }
        // a line is lost
        8 => {
            append(run, all);
            let text = std::fs::read_to_string(run.journal_path()).unwrap();
            let mut lines: Vec<&str> = text.lines().collect();
            lines[cut] = "x";
            std::fs::write(run.journal_path(), lines.join("\n") + "\n").unwrap();
        }
        // a grade that says something else
        9 => {
            for event in &mut all {
                if let Event::Graded { grade } = event {
                    match dice.roll(4) {
                        0 => grade.resolved = !grade.resolved,
                        1 => grade.verdict = dice.pick(&[Verdict::Void, Verdict::Resolved]),
                        2 => grade.run = "another".into(),
                        _ => grade.suites.values_mut().for_each(|s| s.passed += 1),
                    }
                }
            }
            append(run, all);
        }
        10 => {
            all.retain(|e| !matches!(e, Event::Graded { .. }));
            append(run, all);
        }
        // taken up on an engine that measures anew, with words in between
        11 => {
            let text = "words".into();
            let level = Level::Info;
            append(run, all.into_iter().take(cut));
            append(run, [started(2), Event::Log { level, text }]);
            append(run, events(plan, manifest, 3));
        }
        _ => append(run, all),
    }
}

/// What a worker that takes a run up again does not do twice: the agent's part, suites that were
/// finished with their twins.
fn done(kept: &RunState, event: &Event) -> bool {
    let suite = |suite: &Suite| {
        let own = kept.suite(Subject::Submission, *suite);
        own.is_some_and(|s| s.finished) && kept.twins.contains_key(suite)
    };
    match event {
        Event::AgentStarted { .. } | Event::AgentEnded { .. } | Event::Captured { .. } => {
            kept.captured.is_some()
        }
        Event::Collected { suite: of, .. }
        | Event::CaseFinished { suite: of, .. }
        | Event::SuiteFinished { suite: of, .. }
        | Event::Disagreed { suite: of, .. }
        | Event::Twins { suite: of, .. } => suite(of),
        _ => false,
    }
}

/// Cuts bytes off the end of the journal.
fn tear(dice: &mut Dice, run: &RunDir) {
    let text = std::fs::read(run.journal_path()).unwrap();
    let keep = text.len() - dice.roll(text.len().clamp(1, 400));
    std::fs::write(run.journal_path(), &text[..keep]).unwrap();
}

/// A second folder of the same run, which may say something else.
fn copy(run: &RunDir, differs: bool) {
    let to = run.path().with_file_name(format!("copy-of-{}", run.id()));
    std::fs::create_dir(&to).unwrap();
    for file in ["manifest.json", "journal.jsonl"] {
        if run.path().join(file).is_file() {
            std::fs::copy(run.path().join(file), to.join(file)).unwrap();
        }
    }
    if differs {
        append(&RunDir::at(to), [started(9)]);
    }
}

fn make(seed: u64) -> (Store, Option<Weights>) {
    let mut dice = Dice(seed);
    let store = Store::new();
    let count = 1 + dice.roll(5);
    let tasks: Vec<Task> = (0..count)
        .map(|n| make_task(&mut dice, &store, n))
        .collect();
    let mut runs: Vec<RunId> = Vec::new();
    for _ in 0..3 + dice.roll(12) {
        let task = &tasks[dice.roll(tasks.len())];
        let run = write_run(&mut dice, &store, task, &runs);
        match dice.roll(24) {
            0 => copy(&run, false),
            1 => copy(&run, true),
            2 => std::fs::write(run.manifest_path(), "{").unwrap(),
            _ => {}
        }
        runs.push(run.id());
    }
    if dice.one_in(8) {
        std::fs::remove_file(tasks[0].dir.join("task.toml")).unwrap();
    }
    let score = store.score(None);
    let areas: BTreeSet<Option<String>> = (score.total_slices.area.iter())
        .map(|s| s.value.clone())
        .collect();
    let weigh = !areas.is_empty() && !areas.contains(&None) && dice.one_in(2);
    let weights = weigh.then(|| Weights {
        by: Dimension::Area,
        weights: (areas.into_iter().flatten())
            .enumerate()
            .map(|(at, area)| (area, [1.0, 0.0, 2.5][(at + dice.roll(2)) % 3]))
            .collect(),
    });
    // weights that add up to nothing are refused
    let weights = weights.filter(|w| w.weights.values().sum::<f64>() > 0.0);
    (store, weights)
}

/// Where the reference says something that the document does not: everything it says must hold.
fn differences(at: &str, reference: &Value, document: &Value, out: &mut Vec<String>) {
    match (reference, document) {
        (Value::Object(says), Value::Object(_)) => {
            for (key, value) in says {
                differences(&format!("{at}.{key}"), value, &document[key], out);
            }
        }
        (Value::Array(says), Value::Array(found)) => {
            if says.len() != found.len() {
                out.push(format!("{at}: {} and {} elements", says.len(), found.len()));
            }
            for (i, (value, found)) in says.iter().zip(found).enumerate() {
                differences(&format!("{at}[{i}]"), value, found, out);
            }
        }
        (Value::Number(says), Value::Number(found)) => {
            let (says, found) = (says.as_f64().unwrap(), found.as_f64().unwrap());
            if (says - found).abs() > 1e-9 {
                out.push(format!("{at}: {says} and {found}"));
            }
        }
        (says, found) if says != found => {
            let cut = |value: &Value| value.to_string().chars().take(120).collect::<String>();
            out.push(format!("{at}: {} and {}", cut(says), cut(found)));
        }
        _ => {}
    }
}

fn reference(asked: &[Value]) -> Vec<Value> {
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/score/reference.py");
    let mut python = Command::new("python3")
        .args(["-I", script])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("python3");
    let mut input = python.stdin.take().unwrap();
    input
        .write_all(&serde_json::to_vec(asked).unwrap())
        .unwrap();
    drop(input);
    let output = python.wait_with_output().unwrap();
    assert!(output.status.success(), "the reference scorer failed");
    serde_json::from_slice(&output.stdout).unwrap()
}

/// What all stores together showed: a figure that never moved was not compared.
#[derive(Default)]
struct Seen {
    reasons: BTreeMap<LeftOut, usize>,
    counts: BTreeMap<&'static str, usize>,
}

impl Seen {
    fn note(&mut self, score: &Score) {
        for row in &score.left_out {
            *self.reasons.entry(row.reason).or_default() += 1;
        }
        let total = &score.total;
        let badge = |name: &str| total.badges.get(name).copied().unwrap_or(0);
        let pooled = total
            .all
            .resolved_pooled
            .count
            .abs_diff(total.all.joint.resolved.count);
        for (what, count) in [
            ("counted", score.runs.counted),
            ("faults", score.runs.faults),
            ("resolved", total.verdicts.resolved),
            ("official only", total.verdicts.official_only),
            ("failed", total.verdicts.failed),
            ("void", total.verdicts.void),
            ("suspect", badge("suspect")),
            ("limit", badge("limit")),
            ("could read upstream", badge("could-read-upstream")),
            ("unprobed", badge("unprobed")),
            ("not strict", total.strict_differs.joint.len()),
            ("pooled differs", pooled),
            (
                "refused",
                ["empty", "missing", "apply", "build", "environment"]
                    .iter()
                    .filter(|c| total.causes.contains_key(**c))
                    .count(),
            ),
            (
                "transitions",
                score
                    .comparisons
                    .iter()
                    .map(|c| c.joint.fixed + c.joint.regressed)
                    .sum(),
            ),
            (
                "repeated",
                score
                    .configurations
                    .iter()
                    .map(|c| c.repeats.repeated_tasks)
                    .sum(),
            ),
            (
                "graded again",
                score
                    .configurations
                    .iter()
                    .map(|c| c.repeats.graded_again)
                    .sum(),
            ),
            (
                "several keys",
                score.tasks.iter().filter(|t| t.keys > 1).count(),
            ),
            (
                "unknown area",
                score
                    .tasks
                    .iter()
                    .filter(|t| t.facts.area.is_none())
                    .count(),
            ),
            ("weighted", usize::from(score.weighted.is_some())),
            (
                "order changes",
                usize::from(score.weighted.as_ref().is_some_and(|w| w.ranking_changes)),
            ),
        ] {
            *self.counts.entry(what).or_default() += count;
        }
    }
}

#[test]
fn a_second_scorer_agrees_on_disturbed_stores() {
    let stores: Vec<(Store, Option<Weights>)> = (0..STORES).map(make).collect();
    let asked: Vec<Value> = (stores.iter())
        .map(|(store, weights)| {
            let weights = weights
                .as_ref()
                .map(|w| json!({"by": w.by, "weights": w.weights}));
            json!({"home": store.home.root(), "weights": weights})
        })
        .collect();
    let references = reference(&asked);
    assert_eq!(references.len(), stores.len());
    let mut seen = Seen::default();
    let mut wrong = Vec::new();
    for (seed, ((store, weights), says)) in stores.iter().zip(&references).enumerate() {
        let score = store.score(weights.as_ref());
        seen.note(&score);
        let found = serde_json::to_value(&score).unwrap();
        let mut own = Vec::new();
        differences("", says, &found, &mut own);
        for first in own.iter().take(4) {
            wrong.push(format!("store {seed}, {} differences: {first}", own.len()));
        }
    }
    assert!(
        wrong.is_empty(),
        "{} differences, such as:\n{}",
        wrong.len(),
        wrong[..wrong.len().min(10)].join("\n")
    );
    for (what, count) in &seen.counts {
        assert!(
            *count >= 5,
            "hardly any {what} in all stores: {:?}",
            seen.counts
        );
    }
    assert_eq!(
        seen.reasons.len(),
        14,
        "a reason never came up: {:?}",
        seen.reasons
    );
}
