//! Ids, phases and outcomes, as pytest gives them.

use infradev::domain::{CaseId, Event, Outcome, Phase};

use crate::house::House;
use Outcome::{Error, Failed, Passed, Skipped, Xfailed, Xpassed};

#[test]
fn every_shape_of_id_comes_out_as_pytest_gives_it() {
    let house = House::new(&[
        (
            "test_ids.py",
            r#"
import pytest

@pytest.mark.parametrize("v", ["a - b", "1::2", "x[y]", "] - [", " sp ", "\x01\n\t", "é", b"\xff",
                               "\ud800", "PASSED", "", "a/b.py::c"])
def test_id(v):
    pass

class TestK:
    class TestInner:
        def test_m(self):
            pass

@pytest.mark.parametrize("v", [pytest.param(1, id="ключ"), pytest.param(2, id="[gw1] PASSED x")])
def test_PASSED_x(v):
    pass
"#,
        ),
        ("./tests/with space/test_ä.py", "def test_x(): pass\n"),
    ]);
    let ran = house.run();
    let ids: Vec<&str> = ran.outcome.collected.iter().map(CaseId::as_str).collect();
    let file = "tests/test_ids.py";
    let expected: Vec<String> = [
        "test_id[a - b]",
        "test_id[1::2]",
        "test_id[x[y]]",
        "test_id[] - []",
        "test_id[ sp ]",
        r"test_id[\x01\n\t]",
        r"test_id[\xe9]",
        r"test_id[\xff]",
        r"test_id[\ud800]",
        "test_id[PASSED]",
        "test_id[]",
        "test_id[a/b.py::c]",
        "TestK::TestInner::test_m",
        r"test_PASSED_x[\u043a\u043b\u044e\u0447]",
        "test_PASSED_x[[gw1] PASSED x]",
    ]
    .iter()
    .map(|name| format!("{file}::{name}"))
    .collect();
    let mut sorted = ids.clone();
    sorted.sort_unstable();
    let mut expected: Vec<&str> = expected.iter().map(String::as_str).collect();
    expected.push("tests/with space/test_ä.py::test_x");
    expected.sort_unstable();
    assert_eq!(sorted, expected);
    assert_eq!(ran.outcome.passed(), ids.len(), "{}", ran.story());
    assert_eq!(ran.outcome.groups, 1);
    ran.no_discrepancy();
    ran.assert_events();
}

#[test]
fn phases_and_kinds_of_outcome() {
    let house = House::new(&[(
        "test_o.py",
        r#"
import os, pytest

@pytest.fixture
def bad_end():
    yield
    raise RuntimeError("left dirty")

@pytest.fixture
def bad_start():
    raise RuntimeError("no start")

def test_pass(): print("said"); assert True
def test_fail(): print("out \ud800\x1b[31m"); assert {"a": 1} == {"a": 2}
def test_setup(bad_start): pass
def test_teardown(bad_end): pass
def test_both(bad_end): assert 0
def test_no_fixture(nothing_of_the_kind): pass
@pytest.mark.skip(reason="not here")
def test_skip(): pass
def test_skip_inside(): pytest.skip("only now")
@pytest.mark.xfail(reason="known")
def test_xfail(): assert 0
@pytest.mark.xfail(run=False, reason="would end it all")
def test_xfail_not_run(): os._exit(0)
@pytest.mark.xfail
def test_xpass(): pass
@pytest.mark.xfail(strict=True, reason="must fail")
def test_xpass_strict(): pass
def test_system_exit(): raise SystemExit(0)
class Broken(Exception):
    def __str__(self): raise ValueError("no words")
    __repr__ = __str__
def test_broken_words(): raise Broken()
def test_no_trace(): pytest.fail("plain words", pytrace=False)
"#,
    )]);
    let ran = house.run();
    ran.assert(&[
        ("test_pass", Passed),
        ("test_fail", Failed),
        ("test_setup", Error),
        ("test_teardown", Error),
        ("test_both", Failed),
        ("test_no_fixture", Error),
        ("test_skip", Skipped),
        ("test_skip_inside", Skipped),
        ("test_xfail", Xfailed),
        ("test_xfail_not_run", Xfailed),
        ("test_xpass", Xpassed),
        ("test_xpass_strict", Failed),
        ("test_system_exit", Failed),
        ("test_broken_words", Failed),
        ("test_no_trace", Failed),
    ]);
    ran.no_discrepancy();
    assert_eq!(ran.case("test_setup").phase, Phase::Setup);
    assert_eq!(ran.case("test_teardown").phase, Phase::Teardown);
    assert_eq!(ran.message("test_teardown"), "RuntimeError: left dirty");
    assert_eq!(
        ran.message("test_fail"),
        "AssertionError: assert {'a': 1} == {'a': 2}"
    );
    assert_eq!(ran.message("test_skip"), "Skipped: not here");
    assert_eq!(
        ran.message("test_xfail_not_run"),
        "[NOTRUN] would end it all"
    );
    assert_eq!(
        ran.message("test_no_fixture"),
        "fixture 'nothing_of_the_kind' not found"
    );
    assert_eq!(ran.message("test_no_trace"), "Failed: plain words");
    assert_eq!(ran.message("test_system_exit"), "SystemExit: 0");
    let detail = house.detail(ran.case("test_fail"));
    let frame = detail.frames.last().unwrap();
    assert_eq!(
        (frame.path.as_str(), frame.line, frame.function.as_str()),
        ("tests/test_o.py", 14, "test_fail")
    );
    assert!(detail.traceback.contains(">       ") || detail.traceback.contains(">   def"));
    assert!(
        detail
            .sections
            .iter()
            .any(|(_, text)| text.contains("out ")),
        "{detail:?}"
    );
    assert!(
        house
            .detail(ran.case("test_no_fixture"))
            .traceback
            .contains("available fixtures")
    );
}

#[test]
fn repeated_ids_are_told_apart() {
    let house = House::new(&[
        (
            "conftest.py",
            r#"
import pytest

class Item(pytest.Item):
    def runtest(self):
        assert self.good

class File(pytest.File):
    def collect(self):
        for good in (True, False, True):
            item = Item.from_parent(self, name="same")
            item.good = good
            yield item

def pytest_collect_file(file_path, parent):
    if file_path.suffix == ".same":
        return File.from_parent(parent, path=file_path)
"#,
        ),
        ("a.same", ""),
    ]);
    let ran = house.run();
    ran.assert(&[("same", Passed), ("same (2)", Failed), ("same (3)", Passed)]);
    ran.no_discrepancy();
}

#[test]
fn only_the_cases_that_are_asked_for_run() {
    let mut house = House::new(&[
        (
            "test_a.py",
            "import pytest\n@pytest.mark.parametrize('v', ['1', '1::2', '12'])\ndef test_x(v): pass\ndef test_y(): assert 0\n",
        ),
        ("test_b.py", "raise RuntimeError('not to be imported')\n"),
    ]);
    let ids = ["tests/test_a.py::test_x[1]", "tests/test_a.py::test_gone"];
    house.run.only = Some(ids.iter().map(|i| CaseId((*i).into())).collect());
    let ran = house.run();
    ran.assert(&[("test_x[1]", Passed), ("test_gone", Outcome::Missing)]);
    ran.no_discrepancy();
    // its siblings are of no concern: nobody waits for them
    let told = ran.events.iter().filter_map(|(_, event)| match event {
        Event::Collected { cases, .. } => Some(cases.as_slice()),
        _ => None,
    });
    let told: Vec<&str> = told.flatten().map(CaseId::as_str).collect();
    assert_eq!(told, ["tests/test_a.py::test_x[1]"]);
}

#[test]
fn outcomes_are_told_while_the_suite_runs() {
    let house = House::new(&[(
        "test_t.py",
        "import time\ndef test_a(): pass\ndef test_b(): time.sleep(1.5)\ndef test_c(): pass\n",
    )]);
    let ran = house.run();
    let at = |name: &str| {
        ran.events
            .iter()
            .find_map(|(at, event)| match event {
                Event::CaseFinished { result, .. } if result.id.0.ends_with(name) => Some(*at),
                _ => None,
            })
            .unwrap()
    };
    assert!((at("test_b") - at("test_a")).as_secs_f64() > 1.4);
    let started = ran.events.iter().find_map(|(at, event)| match event {
        Event::CaseStarted { id, rank: 0, .. } if id.0.ends_with("test_b") => Some(*at),
        _ => None,
    });
    assert!((at("test_b") - started.unwrap()).as_secs_f64() > 1.4);
    let kinds: Vec<&str> = ran
        .events
        .iter()
        .map(|(_, event)| match event {
            Event::Collected { .. } => "collected",
            Event::CaseStarted { .. } => "started",
            Event::CaseFinished { .. } => "finished",
            Event::SuiteFinished { .. } => "end",
            _ => "other",
        })
        .collect();
    assert_eq!(
        kinds,
        [
            "collected",
            "started",
            "finished",
            "started",
            "finished",
            "started",
            "finished",
            "end"
        ]
    );
}
