//! `infradev score` as people call it: what it reads, what it shows, its exit codes.

use std::process::{Command, Output};

use infradev::domain::{Outcome, Source, Suite};
use infradev::store::keep_calibration;
use serde_json::Value;
use unicode_width::UnicodeWidthStr;

use super::store::{Store, first};
use super::writer::{
    AgentPlan, RunPlan, TaskPlan, agent, append, create, events, fault, gold, task_folder,
};

fn score(store: &Store, args: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_infradev"));
    command.arg("--home").arg(store.home.root());
    command.arg("--tasks").arg(store.tasks());
    command.arg("score").args(args).output().unwrap()
}

fn code(output: &Output) -> i32 {
    output.status.code().unwrap()
}

fn words(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn complaint(output: &Output) -> String {
    assert_eq!(code(output), 2, "{}", words(output));
    String::from_utf8_lossy(&output.stderr).into_owned()
}

fn document(store: &Store, args: &[&str]) -> Value {
    let args: Vec<&str> = args.iter().copied().chain(["--json"]).collect();
    let output = score(store, &args);
    assert_eq!(
        code(&output),
        0,
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    serde_json::from_slice(&output.stdout).unwrap()
}

/// Two configurations on three tasks, with repeats, a fault, a void, a suspect and a gold run. One
/// of the agents has a name that tries the terminal.
fn filled() -> (Store, Vec<String>) {
    let store = Store::new();
    let mut ids = Vec::new();
    for at in 0..3 {
        let plan = TaskPlan {
            id: format!("task-with-a-long-name-{at}"),
            area: ["training", "rl", "inference"][at],
            kind: "feature",
            repository: "a/b".into(),
            gpus: 0,
            probed: at != 2,
        };
        let dir = task_folder(&store.tasks(), &plan);
        let suites = &Suite::ALL[..if plan.probed { 2 } else { 1 }];
        let golds: Vec<_> = (suites.iter())
            .map(|suite| {
                let key = format!("{at}{}", suite.name().len());
                let made = gold(&plan.id, *suite, &key, &vec![vec![Outcome::Passed]; 4]);
                keep_calibration(&store.home, &made).unwrap();
                made
            })
            .collect();
        for (name, model, passed) in [
            ("one", "m", [4, 4]),
            ("one", "m", [4, 3]),
            (
                "two\u{1b}[31m\u{202e}",
                "a model with a very long name \u{4e16}\u{754c}",
                [4, 4 - at],
            ),
        ] {
            let mut run = RunPlan::of(&plan.id, &dir, agent(name));
            run.agent = Some(AgentPlan::of(model, "full"));
            run.gold = golds.iter().collect();
            run.twins_passed = name != "one" && at == 0;
            run.disagreed = name != "one" && at == 1;
            for (gold, passed) in golds.iter().zip(passed) {
                let suite = *gold.suites.keys().next().unwrap();
                run.outcomes.insert(suite, first(gold, passed));
            }
            let (folder, manifest) = create(&store.home, &run);
            append(&folder, events(&run, &manifest, 1));
            ids.push(folder.id().0);
        }
        let reference = RunPlan::of(&plan.id, &dir, Source::Gold);
        append(&create(&store.home, &reference).0, fault("gold", 3));
        let mut broken = RunPlan::of(&plan.id, &dir, agent("one"));
        broken.agent = Some(AgentPlan::of("m", "full"));
        append(
            &create(&store.home, &broken).0,
            fault("the \u{1b}]0;disk is full", 3),
        );
    }
    (store, ids)
}

#[test]
fn tables_name_their_figures_and_fit_the_screen() {
    let (store, _) = filled();
    let weights = store.path().join("weights.toml");
    std::fs::write(&weights, "[area]\ntraining = 1\nrl = 2\ninference = 0.5\n").unwrap();
    let weights = weights.to_str().unwrap();
    for by in ["area", "repository", "kind", "gpus"] {
        let output = score(&store, &["--by", by, "--weights", weights]);
        assert_eq!(code(&output), 0);
        let text = words(&output);
        for line in text.lines() {
            assert!(line.width() <= 100, "{} columns: {line}", line.width());
            assert!(!line.chars().any(char::is_control), "{line:?}");
            assert!(!line.contains('\u{202e}'));
        }
        for part in [
            "9 of 15 runs count",
            "3 harness faults are excluded",
            "more discriminating",
            "95 % Wilson",
            "exact McNemar",
            "pass@k",
            "without suspects",
            "over probed tasks",
            "effort, skill unknown",
            "left out: gold or base 3",
            "points",
            "With weights by area",
        ] {
            assert!(text.contains(part), "no {part:?} in\n{text}");
        }
        assert!(!text.to_lowercase().contains("reliab"));
    }
}

#[test]
fn runs_are_named_by_id_by_folder_or_not_at_all() {
    let (store, ids) = filled();
    let all = document(&store, &[]);
    assert_eq!(all["runs"]["counted"], 9);
    assert_eq!(all["total"]["verdicts"]["void"], 1);
    let folder = store.home.runs();
    let by_folder = document(&store, &[folder.to_str().unwrap()]);
    assert_eq!(by_folder, all);
    let two = document(&store, &[&ids[0], folder.join(&ids[1]).to_str().unwrap()]);
    assert_eq!(two["runs"]["given"], 2);
    assert_eq!(two["configurations"][0]["repeats"]["most"], 2);
    // the runs of another home, from one that is not there
    let elsewhere = Command::new(env!("CARGO_BIN_EXE_infradev"))
        .args(["--home", "/nonexistent/home", "score", "--json"])
        .arg(store.home.root())
        .output()
        .unwrap();
    assert_eq!(code(&elsewhere), 0);
    let elsewhere: Value = serde_json::from_slice(&elsewhere.stdout).unwrap();
    assert_eq!(elsewhere["total"], all["total"]);
    let one = document(&store, &["--configuration", "agent one"]);
    assert_eq!(one["configurations"].as_array().unwrap().len(), 1);
    assert_eq!(one["runs"]["counted"], 6);
}

#[test]
fn bad_input_is_named_with_its_mend() {
    let (store, _) = filled();
    let weights = store.path().join("weights.toml");
    let bad = |text: &str| {
        std::fs::write(&weights, text).unwrap();
        complaint(&score(&store, &["--weights", weights.to_str().unwrap()]))
    };
    assert!(bad("[area]\ntraining = 1\n").contains("inference has counted tasks and no weight"));
    assert!(bad("[aera]\ntraining = 1\n").contains("unknown field"));
    assert!(bad("").contains("one table"));
    assert!(bad("[area]\ntraining = \"x\"\n").contains("weights.toml"));
    assert!(bad("[area]\ntraining = nan\nrl = 1\ninference = 1\n").contains("0 or more"));
    assert!(bad("[area]\nmoon = 1\ntraining = 1\nrl = 1\ninference = 1\n").contains("moon"));
    let unknown = complaint(&score(&store, &["20990101"]));
    assert!(
        unknown.contains("20990101") && unknown.contains("infradev runs"),
        "{unknown}"
    );
    let nothing = complaint(&score(
        &store,
        &[store.path().join("tasks").to_str().unwrap()],
    ));
    assert!(nothing.contains("manifest.json"), "{nothing}");
    let configuration = complaint(&score(&store, &["--configuration", "three"]));
    assert!(configuration.contains("agent one"), "{configuration}");
    // a home in which no submission was graded: the document still says what there is
    let empty = Store::new();
    assert!(complaint(&score(&empty, &[])).contains("no run counts"));
    let output = score(&empty, &["--json"]);
    assert_eq!(code(&output), 2);
    let found: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(found["runs"]["given"], 0);
}

#[test]
fn a_suspect_run_that_a_reviewer_cleared_counts_as_clear_and_says_so() {
    let (store, ids) = filled();
    let clear = |id: &str| {
        Command::new(env!("CARGO_BIN_EXE_infradev"))
            .arg("--home")
            .arg(store.home.root())
            .args(["clear", id, "--note", "a \u{1b}[31mlogger"])
            .output()
            .unwrap()
    };
    let clear_runs = |document: &Value| document["total"]["without_suspects"]["runs"].clone();
    assert_eq!(clear_runs(&document(&store, &[])), 8);
    let honest = clear(&ids[0]);
    assert_eq!(code(&honest), 2);
    assert!(complaint(&honest).contains("is not suspect"));
    let void = clear(&ids[2]);
    assert_eq!(code(&void), 2);
    assert!(complaint(&void).contains("is void"));

    assert_eq!(code(&clear(&ids[5])), 0);
    let after = document(&store, &[]);
    assert_eq!(clear_runs(&after), 9);
    let badges = &after["total"]["badges"]["suspect"];
    assert_eq!(*badges, 1, "the badge stays");
    let text = words(&score(&store, &[]));
    assert!(
        text.contains(&format!("suspect, cleared: {}", ids[5])),
        "{text}"
    );
    assert!(!text.contains('\u{1b}'));

    // what was looked at is the journal as it was
    let journal = store.home.runs().join(&ids[5]).join("journal.jsonl");
    let mut lines = std::fs::read(&journal).unwrap();
    lines.extend_from_slice(b"\n");
    std::fs::write(&journal, lines).unwrap();
    let again = document(&store, &[]);
    assert!(clear_runs(&again) != 9);
}
