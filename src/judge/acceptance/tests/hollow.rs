//! What the hollow patch has to be, and what is told of it.

use super::{TASK, about, case, good, judged, patch};
use crate::domain::acceptance::{FindingKind, Role, Rule, Standing};
use crate::domain::case::{CaseDetail, Frame, Phase};
use crate::domain::task::TaskSpec;
use crate::domain::{CaseResult, Outcome, Suite};
use crate::judge::acceptance::{About, HollowStory, accept};

/// A case of a file that could not be imported, as hollow's raise is told.
fn uncollected(id: &str) -> CaseResult {
    CaseResult {
        phase: Phase::Collect,
        ..case(id, Outcome::Error, "NotImplementedError: hollow")
    }
}

#[test]
fn hollow_that_cannot_be_imported_is_rejected_by_no_probe() {
    let spec: TaskSpec = toml::from_str(TASK).unwrap();
    let broken = |suite: Suite, details: Vec<CaseDetail>| {
        let mut patches = good();
        let cases = &mut patches[2].runs.get_mut(&suite).unwrap()[0];
        for case in cases
            .iter_mut()
            .filter(|c| !c.id.as_str().ends_with("guard"))
        {
            *case = uncollected(case.id.as_str());
        }
        let about = About {
            hollow: Some(HollowStory {
                details,
                ..HollowStory::default()
            }),
            ..about()
        };
        let made = accept(&spec, &patches, &about);
        assert_eq!(made.standing, Standing::Rejected);
        let broken: Vec<(Rule, Vec<String>)> = made
            .broken()
            .map(|r| (r.rule, r.evidence.clone()))
            .collect();
        broken
    };
    let detail = CaseDetail {
        id: "probes/test_p.py".into(),
        frames: vec![Frame {
            path: "pkg/inh.py".into(),
            line: 3,
            function: "__init__".into(),
        }],
        ..CaseDetail::default()
    };
    let where_it_broke = "3 cases of probes/test_p.py not collected on hollow: \
                          NotImplementedError: hollow (pkg/inh.py:3 in __init__)";
    let not_run = |name: &str| {
        format!("probes/test_p.py::{name} has not run on hollow (error at collection)")
    };
    assert_eq!(
        broken(Suite::Probes, vec![detail]),
        [
            (
                Rule::HollowCollects,
                vec![format!("probes: {where_it_broke}")]
            ),
            (
                Rule::HollowRejected,
                vec![not_run("test_one"), not_run("test_two")]
            ),
        ]
    );
    // the official suite has to be collected as well
    let line = "official: 3 cases of tests/test_o.py not collected on hollow: \
                NotImplementedError: hollow";
    assert_eq!(
        broken(Suite::Official, Vec::new()),
        [(Rule::HollowCollects, vec![line.to_owned()])]
    );
    // what gold cannot import either, and what had no turn, says nothing of hollow
    let mut patches = good();
    for at in [0, 2] {
        for run in patches[at].runs.get_mut(&Suite::Official).unwrap() {
            run[0] = uncollected("tests/test_o.py::t0");
        }
    }
    let message = Some("not run: the suite's limit of 9 s was reached before it".into());
    patches[2].runs.get_mut(&Suite::Official).unwrap()[0][2] = CaseResult {
        outcome: Outcome::Missing,
        message,
        ..uncollected("tests/test_o.py::t2")
    };
    let made = judged(&patches);
    assert!(made.broken().all(|r| r.rule != Rule::HollowCollects));
}

#[test]
fn a_file_that_hollow_has_as_in_gold_is_a_warning() {
    let spec: TaskSpec = toml::from_str(TASK).unwrap();
    let story = HollowStory {
        unread: vec![("odd.py".into(), "gold: line 1".into())],
        ..HollowStory::default()
    };
    let about = About {
        hollow: Some(story),
        ..about()
    };
    let made = accept(&spec, &good(), &about);
    assert_eq!(made.standing, Standing::Accepted);
    let told: Vec<_> = made
        .warnings
        .iter()
        .map(|w| (w.kind, w.subject.as_str()))
        .collect();
    assert_eq!(told, [(FindingKind::HollowUnread, "odd.py")]);
}

#[test]
fn hollow_that_is_rejected_by_old_behaviour_alone_is_listed() {
    let spec: TaskSpec = toml::from_str(TASK).unwrap();
    let listed = |marks: &str, hollow: HollowStory| -> Vec<(String, String)> {
        let mut patches = good();
        patches[2] = patch(Role::Hollow, "", 1, &[marks]);
        let about = About {
            hollow: Some(hollow),
            ..about()
        };
        let made = accept(&spec, &patches, &about);
        assert_eq!(made.standing, Standing::Accepted);
        let kind = FindingKind::HollowThroughOld;
        let found = made.warnings.into_iter().filter(|w| w.kind == kind);
        found.map(|w| (w.subject, w.detail)).collect()
    };
    let one = "probes/test_p.py::test_one".to_owned();
    let two = "probes/test_p.py::test_two".to_owned();
    // one case of a function that a new function stops is enough
    assert_eq!(listed("HFH.", HollowStory::default()), []);
    let old = (one.clone(), "assertion: assert 1 == 2".to_owned());
    let once = std::slice::from_ref(&old);
    assert_eq!(listed("FFH.", HollowStory::default()), once);
    // what the probe catches is told by the traceback
    let caught = HollowStory {
        changed: false,
        details: vec![CaseDetail {
            id: format!("{one}[b]"),
            traceback: "NotImplementedError: hollow\n\nDuring handling".into(),
            ..CaseDetail::default()
        }],
        ..HollowStory::default()
    };
    assert_eq!(listed("FFH.", caught), []);
    // a change without a new function has old ones only
    let changed = HollowStory {
        changed: true,
        ..HollowStory::default()
    };
    let why = "a changed function raises: the change adds none".to_owned();
    assert_eq!(listed("FFH.", changed), [old, (two, why)]);
}
