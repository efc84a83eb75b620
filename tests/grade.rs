//! The bundled tasks, end to end: gold, base, every adversarial and alternative patch, every
//! submission, graded by the real program in real sandboxes.

#![allow(clippy::unwrap_used, clippy::expect_used)]

mod common;

use common::{grade, home, not_passed, tasks};
use infradev::catalog::Catalog;
use infradev::domain::{Task, Verdict};
use serde_json::Value;

fn load(id: &str) -> Task {
    Catalog::open(&tasks()).unwrap().usable(id).unwrap()
}

fn suite<'a>(document: &'a Value, name: &str) -> (u64, u64, u64) {
    let s: &'a Value = &document["suites"][name];
    let n = |key: &str| s[key].as_u64().unwrap_or_else(|| panic!("no {key} in {s}"));
    (n("collected"), n("gold_passed"), n("passed"))
}

/// Everything that the issue asks of a bundled task.
fn holds(id: &str) {
    let (home, tasks) = (home(), tasks());
    let task = load(id);
    let run = |args: &[&str]| grade(&home, &tasks, id, args);

    let (code, gold) = run(&["--gold"]);
    assert_eq!(code, 0, "gold: {:#?}", not_passed(&gold));
    assert_eq!(gold["verdict"], "resolved");
    assert!(
        gold["resolved_strict"].as_bool().unwrap()
            && gold["resolved_official_strict"].as_bool().unwrap()
    );
    assert_eq!(
        not_passed(&gold),
        Vec::<String>::new(),
        "gold passes every case, none is skipped"
    );
    for name in ["official", "probes"] {
        let (collected, gold_passed, passed) = suite(&gold, name);
        assert!(
            collected > 0 && collected == gold_passed && passed == collected,
            "{name}"
        );
    }

    let (code, base) = run(&["--base"]);
    assert_eq!(code, 1);
    assert!(!base["resolved"].as_bool().unwrap());
    assert!(
        suite(&base, "probes").2 < suite(&base, "probes").1,
        "the probes reject base"
    );

    assert!(task.spec.adversarial.len() >= 3);
    for a in &task.spec.adversarial {
        let path = task.path(&a.patch);
        let (code, bad) = run(&["--patch", path.to_str().unwrap()]);
        assert_eq!(code, 1, "adversarial {}", a.name);
        assert_eq!(
            bad["verdict"],
            "official_only",
            "adversarial {}: {:#?}",
            a.name,
            not_passed(&bad)
        );
        let (_, gold_passed, passed) = suite(&bad, "official");
        assert!(
            passed >= gold_passed,
            "adversarial {}: the official suite must accept it",
            a.name
        );
        let claim = task.spec.claims.iter().find(|c| c.id == a.claim).unwrap();
        let by_own = bad["cases"].as_array().unwrap().iter().any(|c| {
            let function = infradev::domain::CaseId(c["id"].as_str().unwrap().into());
            c["suite"] == "probes"
                && c["outcome"] == "failed"
                && claim.probes.iter().any(|p| p == function.function())
        });
        assert!(
            by_own,
            "adversarial {}: no probe of {} rejects it: {:#?}",
            a.name,
            a.claim,
            not_passed(&bad)
        );
    }

    assert!(!task.spec.alternative.is_empty());
    for a in &task.spec.alternative {
        let path = task.path(&a.patch);
        let (code, good) = run(&["--patch", path.to_str().unwrap()]);
        assert_eq!(
            (code, &good["verdict"]),
            (0, &Value::from("resolved")),
            "alternative {}: {:#?}",
            a.name,
            not_passed(&good)
        );
    }

    let mut verdicts = Vec::new();
    for s in &task.submissions {
        let (code, graded) = run(&["--submission", &s.spec.name]);
        let expected = s
            .spec
            .expected
            .expect("bundled submissions say what they are");
        assert_eq!(
            graded["verdict"],
            expected.name(),
            "submission {}: {:#?}",
            s.spec.name,
            not_passed(&graded)
        );
        assert_eq!(code, i32::from(expected != Verdict::Resolved));
        verdicts.push(expected);
    }
    for kind in [Verdict::Resolved, Verdict::OfficialOnly, Verdict::Failed] {
        assert!(
            verdicts.contains(&kind),
            "{id} has no submission that is {kind}"
        );
    }
}

#[test]
fn dp_buckets_holds() {
    holds("dp-buckets");
}

#[test]
fn sparse_sync_holds() {
    holds("sparse-sync");
}

#[test]
fn kv_prefix_holds() {
    holds("kv-prefix");
}
