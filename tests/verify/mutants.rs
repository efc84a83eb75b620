//! `infradev mutants --grade`: the official suite first, then the probes; what an author marks.

use std::path::Path;

use serde_json::Value;

use crate::common::small::{NAME, write};
use crate::common::{code, home, infradev};
use crate::document;

fn graded(tasks: &Path) -> (i32, Value) {
    let mut command = infradev(&home(), tasks);
    command.args(["mutants", NAME, "--grade", "--engine", "local", "--json"]);
    document(&mut command)
}

/// The mutant whose summary holds this, as graded.
fn about<'v>(made: &'v Value, words: &str) -> &'v Value {
    let all = made["mutants"].as_array().unwrap();
    let told = |m: &&Value| m["summary"].as_str().unwrap().contains(words);
    let mut found = all.iter().filter(told);
    let first = found.next().unwrap_or_else(|| panic!("{words}: {made}"));
    assert!(found.next().is_none(), "{words} is not one");
    first
}

#[test]
fn mutants_are_killed_survive_or_are_marked() {
    let tasks = write("mutants", "");
    let (exit, made) = graded(&tasks);
    let result = |words: &str| about(&made, words)["result"].as_str().unwrap();
    // `not values` is never looked at where there are none
    assert_eq!(result("`not values` is `False`"), "survives");
    assert_eq!(result("`not values` is `True`"), "official_rejects");
    // one bound is probed, the other not
    let low = about(&made, "compares with `>`");
    assert_eq!((exit, &low["result"]), (1, &"killed".into()), "{made}");
    let killer = &low["killed_by"][0];
    assert_eq!(killer["function"], "probes/test_bounds.py::test_low");
    assert_eq!(killer["how"], "assertion");
    let counts = &made["counts"];
    let all: u64 = ["official_rejects", "killed", "survives", "equivalent"]
        .iter()
        .map(|name| counts[name].as_u64().unwrap())
        .sum();
    assert_eq!(all as usize, made["mutants"].as_array().unwrap().len());
    assert!(made["score"].as_f64().unwrap() < 1.0);

    // what survives is marked, and a mark too much is a warning
    let survivors: Vec<&str> = made["mutants"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|m| m["result"] == "survives")
        .map(|m| m["name"].as_str().unwrap())
        .collect();
    let killed = low["name"].as_str().unwrap();
    let mark =
        |name: &str| format!("[[equivalent]]\nmutant = \"{name}\"\nwhy = \"no case tells\"\n");
    let marks: String = survivors.iter().chain([&killed]).map(|n| mark(n)).collect();
    let tasks = write("mutants", &marks);
    let (exit, made) = graded(&tasks);
    assert_eq!(exit, 0, "{made}");
    assert_eq!(made["counts"]["equivalent"], survivors.len());
    assert_eq!(made["score"], 1.0);
    assert_eq!(made["wrong_marks"].as_array().unwrap().len(), 1);
    assert_eq!(made["wrong_marks"][0]["mutant"], killed);

    // another line of gold, another name
    let tasks = write("mutants", &marks.replace(survivors[0], "gone-a-000000"));
    let checked = infradev(&home(), &tasks)
        .args(["check", NAME])
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&checked.stdout);
    let line = said.lines().find(|l| l.contains("gone-a-000000")).unwrap();
    assert_eq!(code(&checked), 1);
    assert!(line.contains("task.toml:3"), "{line}");
    assert!(said.contains("mend: take a name of `infradev mutants`"));
}

#[test]
fn a_grade_of_mutants_is_a_run_like_others() {
    let tasks = write("mutants-run", "");
    let start = infradev(&home(), &tasks)
        .args(["mutants", NAME, "--grade", "--engine", "local", "--detach"])
        .output()
        .unwrap();
    assert_eq!(code(&start), 0);
    let id = String::from_utf8_lossy(&start.stdout).trim().to_owned();
    let attached = infradev(&home(), &tasks)
        .args(["attach", &id])
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&attached.stdout);
    assert_eq!(code(&attached), 1, "{said}");
    for words in ["mutants", "survive", "calc.py:6", "mutation score"] {
        assert!(said.contains(words), "{words}: {said}");
    }
    for line in said.lines().skip(1) {
        assert!(line.chars().count() <= 100, "{line}");
    }
}
