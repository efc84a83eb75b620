#![allow(clippy::unwrap_used)]
use super::*;
use crate::domain::case::{CaseDetail, Frame};
use crate::judge::acceptance::asserted;

#[test]
fn what_a_library_asserts_of_itself_is_no_assertion_of_a_probe() {
    let detail = |paths: &[&str]| CaseDetail {
        frames: (paths.iter())
            .map(|path| Frame {
                path: (*path).into(),
                line: 1,
                function: "f".into(),
            })
            .collect(),
        ..CaseDetail::default()
    };
    for (paths, expected) in [
        (&["probes/test_p.py"][..], true),
        (&["probes/test_p.py", "probes/support.py"], true),
        (&["probes/test_p.py", "calc.py"], false),
        (&["probes/test_p.py", "calc.py", "probes/support.py"], true),
        (
            &["probes/test_p.py", "/e/lib/numpy/testing/_private/utils.py"],
            true,
        ),
        (&["probes/test_p.py", "/e/lib/_pytest/outcomes.py"], true),
        (&["probes/test_p.py", "/e/lib/unittest/case.py"], true),
        // called by the project, or named like one of these there
        (
            &[
                "probes/test_p.py",
                "calc.py",
                "/e/lib/numpy/testing/_private/utils.py",
            ],
            false,
        ),
        (&["probes/test_p.py", "lib/_pytest/outcomes.py"], false),
        (
            &["probes/test_p.py", "/e/lib/torch/nn/modules/module.py"],
            false,
        ),
        (&["probes_too/test_p.py"], false),
        (&[], true),
    ] {
        assert_eq!(
            asserted(&detail(paths), &["tests", "probes"]),
            expected,
            "{paths:?}"
        );
    }
    let mut crash = patch(Role::Adversarial, "bad-one", 3, &["F..."]);
    crash.unasserted = BTreeSet::from([CaseId("probes/test_p.py::test_one[a]".into())]);
    let (made, broken) = with(3, crash);
    // attribution only warns
    assert_eq!(
        (broken.as_slice(), made.patches[3].how()),
        (&[][..], Some(How::Error))
    );
    assert_eq!(made.warnings[0].kind, FindingKind::OnlyByCrash);
}

#[test]
fn the_document_has_each_case_of_each_run() {
    let mut patches = good();
    patches[0] = patch(Role::Gold, "", 3, &["....", ".F..", "..s."]);
    let made = judged(&patches);
    assert_eq!(made.cases[&Suite::Probes].len(), 4);
    assert_eq!(
        made.patches[0].outcomes[&Suite::Probes],
        ["....", ".F..", "..s."]
    );
    assert_eq!(
        made.patches[0].outcomes[&Suite::Official],
        ["...", "...", "..."]
    );
    assert_eq!(made.patches[1].outcomes[&Suite::Probes], ["FFF."]);
    assert_eq!(made.patches[1].outcomes[&Suite::Official], ["FFF"]);
}

#[test]
fn fewer_runs_of_gold_than_the_method_asks_for_are_provisional() {
    let spec: TaskSpec = toml::from_str(TASK).unwrap();
    let said = |runs: u32| {
        let mut patches = good();
        patches[0] = patch(Role::Gold, "", 3, &vec!["...."; runs as usize]);
        let about = About {
            run: "r".into(),
            key: "k".into(),
            engine: EngineKind::Local,
            environment: "e".into(),
            image: None,
            gpu_type: None,
            created_s: 0.0,
            runs,
            ranks: None,
            hollow: Some(HollowStory::default()),
        };
        accept(&spec, &patches, &about).provisional
    };
    assert!(said(1).unwrap().contains("1 of 3"));
    assert!(said(2).is_some());
    assert_eq!((said(3), said(4)), (None, None));
}
