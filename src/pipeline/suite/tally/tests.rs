#![allow(clippy::unwrap_used)]

use super::*;
use crate::domain::Area;

fn ids(names: &[&str]) -> Vec<CaseId> {
    names.iter().map(|n| CaseId((*n).into())).collect()
}

fn passed(id: &str) -> CaseResult {
    CaseResult {
        id: CaseId(id.into()),
        outcome: Outcome::Passed,
        phase: Phase::Call,
        duration_s: 0.1,
        ranks: Vec::new(),
        message: None,
        detail_offset: None,
    }
}

fn outcomes(tally: &mut Tally) -> Vec<(String, Outcome)> {
    tally.finish();
    tally
        .results()
        .into_iter()
        .map(|r| (r.id.0, r.outcome))
        .collect()
}

#[test]
fn what_never_turns_up_is_missing_and_a_failed_file_costs_its_own_cases() {
    let mut tally = Tally::new(
        Some(ids(&["a.py::x", "a.py::gone", "b.py::y", "bb.py::z"])),
        None,
    );
    tally.node(
        &Node {
            id: "b.py".into(),
            o: "failed".into(),
            m: "ImportError: no".into(),
            ..Node::default()
        },
        "",
        None,
    );
    assert!(tally.collected(&ids(&["a.py::x"])));
    tally.settle(passed("a.py::x"));
    assert_eq!(tally.settle_nodes().len(), 1);
    assert_eq!(tally.plan(), None);
    assert_eq!(
        outcomes(&mut tally),
        [
            ("a.py::x".to_owned(), Outcome::Passed),
            ("a.py::gone".to_owned(), Outcome::Missing),
            ("b.py::y".to_owned(), Outcome::Error),
            ("bb.py::z".to_owned(), Outcome::Missing),
        ]
    );
}

#[test]
fn what_ended_a_collection_is_left_out_of_the_next_group() {
    let mut tally = Tally::new(None, None);
    tally.group_started();
    tally.fatal_node("t/b.py", Outcome::Error, "exited".into(), None);
    let plan = tally.plan().unwrap();
    assert_eq!((plan.only, plan.files), (None, None));
    assert_eq!(plan.ignore, ["t/b.py"]);
    tally.group_started();
    tally.collected(&ids(&["t/a.py::x", "t/c.py::y"]));
    tally.settle(passed("t/a.py::x"));
    let plan = tally.plan().unwrap();
    assert_eq!(plan.only, Some(ids(&["t/c.py::y"])));
    assert_eq!(plan.files, Some(vec!["t/c.py".to_owned()]));
    tally.settle(passed("t/c.py::y"));
    assert_eq!(tally.plan(), None);
    // the file shows under its own name
    assert_eq!(
        outcomes(&mut tally).last(),
        Some(&("t/b.py".to_owned(), Outcome::Error))
    );
}

#[test]
fn a_worse_result_replaces_a_better_one_and_never_the_other_way() {
    let mut tally = Tally::new(None, None);
    tally.collected(&ids(&["a.py::x"]));
    assert!(tally.settle(passed("a.py::x")).is_some());
    assert!(
        tally
            .taint(&CaseId("a.py::x".into()), "ran twice")
            .is_some()
    );
    assert!(tally.settle(passed("a.py::x")).is_none());
    assert_eq!(outcomes(&mut tally)[0].1, Outcome::Error);
}

#[test]
fn groups_are_bounded() {
    let mut tally = Tally::new(None, None);
    tally.collected(&ids(&["a.py::x"]));
    tally.group_started();
    for _ in 0..HANGS {
        assert!(tally.plan().is_some());
        tally.hung();
    }
    assert_eq!(tally.plan(), None);
    assert_eq!(outcomes(&mut tally)[0].1, Outcome::Missing);
}

#[test]
fn only_what_was_asked_for_is_a_target() {
    let mut tally = Tally::new(
        Some(ids(&["a.py::x", "a.py::y"])),
        Some(ids(&["a.py::y", "a.py::new"])),
    );
    assert_eq!(tally.plan().unwrap().files, Some(vec!["a.py".to_owned()]));
    tally.collected(&ids(&["a.py::x", "a.py::y"]));
    tally.settle(passed("a.py::y"));
    assert_eq!(
        outcomes(&mut tally),
        [
            ("a.py::y".to_owned(), Outcome::Passed),
            ("a.py::new".to_owned(), Outcome::Missing)
        ]
    );
}

#[test]
fn noise_crowds_nothing_out() {
    let deviation = |area, place: &str, digest: usize| Deviation {
        area,
        place: place.into(),
        file: "lib.py".into(),
        name: "f".into(),
        line: 1,
        digest: digest.to_string(),
        case: None,
    };
    let mut tally = Tally::new(None, None);
    for at in 0..5000 {
        tally.deviated(deviation(Area::Hook, &format!("hook {at}"), 0));
        tally.deviated(deviation(Area::Testing, "numpy.testing.assert_equal", at));
    }
    let late = [
        deviation(Area::Pytest, "_pytest.runner.CallInfo.from_call", 1),
        deviation(Area::Testing, "numpy.testing.assert_allclose", 1),
    ];
    for one in late.clone() {
        tally.deviated(one);
    }
    for one in &late {
        assert!(tally.deviations.contains(one));
    }
    assert!(tally.deviations.len() < DEVIATIONS + AT_A_PLACE + 3);
    tally.deviated(late[0].clone());
    assert_eq!(
        tally.deviations.iter().filter(|d| **d == late[0]).count(),
        1
    );
}

#[test]
fn covering_is_by_path_part() {
    for (node, id, expected) in [
        ("t/a.py", "t/a.py::x", true),
        ("t/a.py", "t/a.pyx::x", false),
        ("t", "t/a.py::x", true),
        ("t/__init__.py", "t/a.py::x", true),
        (".", "t/a.py::x", true),
        ("t/a.py::K", "t/a.py::K::x", true),
        ("t/a.py::K", "t/a.py::K2::x", false),
    ] {
        assert_eq!(covers(node, &CaseId(id.into())), expected, "{node} {id}");
    }
}
