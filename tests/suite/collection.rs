//! Files that cannot be collected cost their own cases.

use std::time::Duration;

use infradev::domain::{Outcome, Phase};
use infradev::pipeline::suite::SuiteError;

use crate::house::{GRACE, House};

const GOOD: &str = "def test_one(): pass\ndef test_two(): pass\n";

fn files(bad: &str) -> Vec<(&str, &str)> {
    vec![("test_a.py", GOOD), ("test_b.py", bad), ("test_c.py", GOOD)]
}

const EXPECTED: [&str; 6] = [
    "tests/test_a.py::test_one",
    "tests/test_a.py::test_two",
    "tests/test_b.py::test_one",
    "tests/test_b.py::test_two",
    "tests/test_c.py::test_one",
    "tests/test_c.py::test_two",
];

/// All of `test_b.py` ends so, with words that begin so; the rest passes.
#[track_caller]
fn assert_costs_its_own(house: &House, outcome: Outcome, words: &str) {
    let ran = house.run();
    for id in EXPECTED {
        let result = ran.case(id);
        if id.contains("test_b") {
            assert_eq!(result.outcome, outcome, "{}", ran.story());
            assert!(ran.message(id).starts_with(words), "{}", ran.story());
            assert_eq!(result.phase, Phase::Collect);
        } else {
            assert!(result.outcome.passed(), "{}", ran.story());
        }
    }
    assert_eq!(ran.outcome.results.len(), EXPECTED.len());
    ran.assert_events();
}

#[test]
fn an_import_error() {
    let house = House::new(&files("import nothing_of_the_kind\n")).expect(&EXPECTED);
    let words = "ModuleNotFoundError: No module named 'nothing_of_the_kind'";
    assert_costs_its_own(&house, Outcome::Error, words);
    let ran = house.run();
    ran.no_discrepancy();
    let detail =
        std::fs::read_to_string(house.path("run/cases/submission-official.jsonl")).unwrap();
    assert!(
        detail.contains("\"path\":\"tests/test_b.py\",\"line\":1"),
        "{detail}"
    );
}

#[test]
fn a_syntax_error() {
    let house = House::new(&files("def test_one(:\n")).expect(&EXPECTED);
    assert_costs_its_own(&house, Outcome::Error, "");
}

#[test]
fn os_exit_at_import() {
    let house = House::new(&files("import os\nos._exit(0)\n")).expect(&EXPECTED);
    let words = "its process exited with status 0 (in its collection)";
    assert_costs_its_own(&house, Outcome::Error, words);
}

#[test]
fn sys_exit_at_import() {
    let house = House::new(&files("import sys\nsys.exit(0)\n")).expect(&EXPECTED);
    assert_costs_its_own(&house, Outcome::Error, "");
}

#[test]
fn pytest_exit_at_import() {
    let house = House::new(&files("import pytest\npytest.exit('no more', 0)\n")).expect(&EXPECTED);
    assert_costs_its_own(&house, Outcome::Error, "_pytest.outcomes.Exit: no more");
}

#[test]
fn a_crash_at_import() {
    let house = House::new(&files("import ctypes\nctypes.string_at(0)\n")).expect(&EXPECTED);
    assert_costs_its_own(&house, Outcome::Error, "its process was killed by SIGSEGV");
}

#[test]
fn a_hang_at_import() {
    let mut house = House::new(&files("import time\ntime.sleep(600)\n")).expect(&EXPECTED);
    house.run.collect_limit = Duration::from_secs(4);
    assert_costs_its_own(
        &house,
        Outcome::Timeout,
        "its collection did not end within 4 s",
    );
    house.run().within(Duration::from_secs(4) + GRACE);
}

#[test]
fn a_skipped_file() {
    let skip = "import pytest\npytest.skip('not on this machine', allow_module_level=True)\n";
    let house = House::new(&files(skip)).expect(&EXPECTED);
    assert_costs_its_own(&house, Outcome::Skipped, "Skipped: not on this machine");
}

#[test]
fn cases_that_are_gone_are_missing() {
    let house = House::new(&files("def test_one(): pass\n")).expect(&EXPECTED);
    let ran = house.run();
    assert_eq!(ran.case("test_b.py::test_two").outcome, Outcome::Missing);
    assert_eq!(ran.message("test_b.py::test_two"), "not collected");
    assert_eq!(ran.outcome.passed(), 5);
}

#[test]
fn a_failed_file_of_which_nothing_is_known_shows_under_its_own_name() {
    let house = House::new(&files("import nothing_of_the_kind\n"));
    let ran = house.run();
    assert_eq!(ran.case("tests/test_b.py").outcome, Outcome::Error);
    assert_eq!(ran.outcome.results.len(), 5);
    assert_eq!(ran.outcome.collected.len(), 4);
}

#[test]
fn every_file_ends_the_process_at_import() {
    let bad = "import pkg\ndef test_one(): pass\n";
    let files = [
        ("test_a.py", bad),
        ("test_b.py", bad),
        ("test_c.py", bad),
        ("./pkg.py", "import os\nos._exit(0)\n"),
    ];
    let ids = [
        "tests/test_a.py::test_one",
        "tests/test_b.py::test_one",
        "tests/test_c.py::test_one",
    ];
    let ran = House::new(&files).expect(&ids).run();
    assert_eq!(ran.outcome.results.len(), 3);
    for id in ids {
        assert_eq!(ran.case(id).outcome, Outcome::Error, "{}", ran.story());
    }
}

#[test]
fn a_conftest_that_does_not_import() {
    let house = House::new(&[
        ("conftest.py", "import nothing_of_the_kind\n"),
        ("test_a.py", GOOD),
    ])
    .expect(&EXPECTED[..2]);
    let ran = house.run();
    for id in &EXPECTED[..2] {
        assert_eq!(ran.case(id).outcome, Outcome::Error, "{}", ran.story());
    }
    let detail = house.detail_of_collection();
    assert!(
        detail.contains("No module named 'nothing_of_the_kind'"),
        "{detail}"
    );
}

#[test]
fn a_suite_without_cases_is_no_success() {
    let ran = House::new(&[]).expect(&EXPECTED).run();
    assert_eq!(ran.outcome.collected.len(), 0);
    assert!(
        ran.outcome
            .results
            .iter()
            .all(|r| r.outcome == Outcome::Missing),
        "{}",
        ran.story()
    );
    assert_eq!(ran.outcome.results.len(), 6);
}

#[test]
fn an_environment_without_pytest_is_not_the_submissions_fault() {
    let mut house = House::new(&[("test_a.py", GOOD)]);
    house.run.python = "/usr/bin/env".into();
    let error = house.try_run().unwrap_err();
    assert!(matches!(error, SuiteError::Environment(_)), "{error}");
    house.run.python = "/nothing/of/the/kind".into();
    let error = house.try_run().unwrap_err();
    assert!(matches!(error, SuiteError::Environment(_)), "{error}");
}
