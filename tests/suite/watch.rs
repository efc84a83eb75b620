//! What the reporter sees of changes to what decides outcomes, in real runs of pytest: each of
//! these submissions changes something, and most get a failing case passed.

use infradev::domain::{Area, Deviation, Outcome, Weight};
use infradev::judge::unlike_gold;

use crate::house::{House, Ran};

const TESTS: &str =
    "import lib\ndef test_good(): pass\ndef test_bad(): assert 0\ndef test_after(): pass\n";
/// The first case calls into the library.
const CALLS: &str =
    "import lib\ndef test_good(): lib.go()\ndef test_bad(): assert 0\ndef test_after(): pass\n";

/// Finds the objects of a type that pytest holds, as code under test can.
const FIND: &str = r"
import gc
def find(name):
    gc.unfreeze()
    return [o for o in gc.get_objects() if type(o).__qualname__ == name]
";

fn run(lib: &str, tests: &str) -> Ran {
    House::new(&[("./lib.py", lib), ("./find.py", FIND), ("test_a.py", tests)]).run()
}

/// The one deviation of an area, by its place, with where it was seen first.
#[track_caller]
fn only(ran: &Ran, area: Area) -> &Deviation {
    let of_area: Vec<&Deviation> = (ran.outcome.deviations.iter())
        .filter(|d| d.area == area)
        .collect();
    assert_eq!(
        of_area.len(),
        1,
        "{:#?}\n{}",
        ran.outcome.deviations,
        ran.story()
    );
    of_area[0]
}

fn seen_in(deviation: &Deviation) -> Option<&str> {
    let case = deviation.case.as_ref()?;
    case.as_str().rsplit("::").next()
}

#[track_caller]
fn weights(ran: &Ran) -> Vec<Weight> {
    let evidence = unlike_gold(&ran.outcome.deviations, &[]);
    evidence.into_iter().map(|e| e.weight).collect()
}

#[test]
fn a_report_forged_for_a_chosen_case_and_undone_is_seen() {
    let ran = run(
        r#"
import os
from _pytest.runner import CallInfo
kept = CallInfo.__dict__["from_call"]
def mine(cls, func, when, reraise=None):
    info = kept.__func__(cls, func, when, reraise)
    if "test_bad" in os.environ.get("PYTEST_CURRENT_TEST", "") and when == "call":
        info.excinfo = None
        CallInfo.from_call = kept
    return info
CallInfo.from_call = classmethod(mine)
"#,
        TESTS,
    );
    assert_eq!(
        ran.case("test_bad").outcome,
        Outcome::Passed,
        "it is an attack"
    );
    let seen = only(&ran, Area::Pytest);
    assert_eq!(seen.place, "_pytest.runner.CallInfo.from_call");
    assert_eq!((seen.file.as_str(), seen.name.as_str()), ("lib.py", "mine"));
    assert_eq!(seen_in(seen), None, "before the first case");
    assert_eq!(weights(&ran), [Weight::Void]);
}

#[test]
fn one_that_lasts_for_a_single_phase_is_seen() {
    let ran = run(
        r#"
def go():
    from _pytest.runner import CallInfo
    kept = CallInfo.__dict__["from_call"]
    def mine(cls, func, when, reraise=None):
        if when == "setup":
            return kept.__func__(cls, func, when, reraise)
        CallInfo.from_call = kept
        info = kept.__func__(cls, func, when, reraise)
        info.excinfo = None
        return info
    CallInfo.from_call = classmethod(mine)
"#,
        r"
import lib, pytest
@pytest.fixture
def helped(): lib.go()
def test_good(): pass
def test_bad(helped): assert 0
def test_after(): pass
",
    );
    assert_eq!(
        ran.case("test_bad").outcome,
        Outcome::Passed,
        "it is an attack"
    );
    let seen = only(&ran, Area::Pytest);
    assert_eq!(seen.name, "go.<locals>.mine");
    assert_eq!(seen_in(seen), Some("test_bad"));
}

#[test]
fn other_code_in_the_same_function_is_seen() {
    let ran = run(
        r#"
from _pytest.runner import CallInfo
def mine(cls, func, when, reraise=None):
    try: func()
    except Exception: pass
    return cls(start=0, stop=0, duration=0, when=when, result=None, excinfo=None, _ispytest=True)
CallInfo.__dict__["from_call"].__func__.__code__ = mine.__code__
"#,
        TESTS,
    );
    assert_eq!(
        ran.case("test_bad").outcome,
        Outcome::Passed,
        "it is an attack"
    );
    let seen = only(&ran, Area::Pytest);
    assert_eq!(seen.place, "_pytest.runner.CallInfo.from_call.__code__");
    assert_eq!(weights(&ran), [Weight::Void]);
}

#[test]
fn what_is_done_to_pluggy_the_items_and_the_reporter_is_seen() {
    for (lib, area, place) in [
        (
            r#"
from find import find
for manager in find("PytestPluginManager"):
    kept = manager._inner_hookexec
    def mine(name, impls, kwargs, first):
        try: return kept(name, impls, kwargs, first)
        except AssertionError: return None
    manager._inner_hookexec = mine
def go(): pass
"#,
            Area::Pluggy,
            "PluginManager._inner_hookexec",
        ),
        (
            r#"
from find import find
def go():
    for item in find("Function"):
        if item.name == "test_bad": item.runtest = lambda: None
"#,
            Area::Pytest,
            "item",
        ),
        (
            r#"
from find import find
def go():
    for plugin in find("make_plugin.<locals>.Plugin"):
        report = type(plugin).pytest_runtest_logreport
        cell = report.__closure__[report.__code__.co_freevars.index("send")]
        kept = cell.cell_contents
        def send(kind, **fields):
            if fields.get("o") == "failed":
                fields = {"c": fields["c"], "p": fields["p"], "o": "passed", "d": 0.0}
            kept(kind, **fields)
        cell.cell_contents = send
"#,
            Area::Reporter,
            "Plugin.pytest_runtest_logreport.__closure__",
        ),
    ] {
        let ran = run(lib, CALLS);
        assert_eq!(
            ran.case("test_bad").outcome,
            Outcome::Passed,
            "{place}: it is an attack"
        );
        let found = (ran.outcome.deviations.iter()).any(|d| d.area == area && d.place == place);
        assert!(found, "{place}: {:#?}", ran.outcome.deviations);
        assert!(weights(&ran).contains(&Weight::Void), "{place}");
    }
}

#[test]
fn hooks_from_the_work_tree_and_hooks_that_are_gone_are_told() {
    let ran = run(
        r#"
import pytest
from find import find
class P:
    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_runtest_makereport(self, item, call):
        report = (yield).get_result()
        if report.when == "call": report.outcome, report.longrepr = "passed", None
for manager in find("PytestPluginManager"): manager.register(P())
"#,
        TESTS,
    );
    assert_eq!(
        ran.case("test_bad").outcome,
        Outcome::Passed,
        "it is an attack"
    );
    let seen = only(&ran, Area::Hook);
    assert_eq!(seen.place, "pytest_runtest_makereport");
    assert_eq!(seen.name, "P.pytest_runtest_makereport");
    assert_eq!(weights(&ran), [Weight::Suspect]);

    let ran = run(
        r#"
from find import find
def go():
    for impl in find("HookImpl"):
        if impl.function.__qualname__ == "pytest_pyfunc_call":
            impl.function = lambda pyfuncitem: True
"#,
        CALLS,
    );
    assert_eq!(
        ran.case("test_bad").outcome,
        Outcome::Passed,
        "it is an attack"
    );
    assert_eq!(only(&ran, Area::Pytest).place, "hook.pytest_pyfunc_call");
    assert!(weights(&ran).contains(&Weight::Void));
}

#[test]
fn built_ins_unittest_trace_functions_and_tests_are_for_a_reviewer() {
    for (lib, tests, area, place) in [
        (
            "import builtins\nkept = builtins.all\ndef mine(x): return kept(x)\nbuiltins.all = mine\n",
            "import lib\ndef test_good(): pass\n",
            Area::Builtins,
            "builtins.all",
        ),
        (
            "import unittest\ndef run(self, result=None):\n    result.startTest(self)\n    result.addSuccess(self)\n    result.stopTest(self)\nunittest.TestCase.run = run\n",
            "import lib, unittest\nclass T(unittest.TestCase):\n    def test_good(self): assert 0\n",
            Area::Unittest,
            "unittest.case.TestCase.run",
        ),
        (
            "import numpy.testing as t\ndef near(*a, **k): pass\nt.assert_allclose = near\n",
            "import lib, numpy.testing as t\ndef test_good(): t.assert_allclose(1, 2)\n",
            Area::Testing,
            "numpy.testing.assert_allclose",
        ),
        (
            "import sys\ndef trace(frame, event, arg): return None\nsys.settrace(trace)\n",
            "import lib\ndef test_good(): pass\n",
            Area::Trace,
            "sys.settrace",
        ),
        (
            "import sys\nclass Finder:\n    def find_spec(self, *a): return None\nsys.meta_path.insert(0, Finder())\n",
            "import lib\ndef test_good(): pass\n",
            Area::Import,
            "sys.meta_path",
        ),
        (
            "def go(f): f.__code__ = (lambda: None).__code__\n",
            "import lib\ndef test_first(): lib.go(test_good)\ndef test_good(): assert 0\n",
            Area::Test,
            "function",
        ),
    ] {
        let ran = run(lib, tests);
        assert_eq!(
            ran.case("test_good").outcome,
            Outcome::Passed,
            "{place}: {}",
            ran.story()
        );
        let seen = only(&ran, area);
        assert_eq!((seen.place.as_str(), seen.file.as_str()), (place, "lib.py"));
        assert_eq!(
            weights(&ran),
            [Weight::Suspect],
            "{:#?}",
            ran.outcome.deviations
        );
    }
}

/// What is put in the place of a testing function before anybody looked at it, whatever its code
/// says of where it is from.
#[test]
fn code_that_says_it_is_the_environments_is_seen_all_the_same() {
    const NEAR: &str = "def near(*a, **k): pass";
    let compiled = |name: &str| {
        format!(
            "import numpy.testing as t\nspace = {{}}\nexec(compile('{NEAR}', {name}, 'exec'), space)\nt.assert_allclose = space['near']\n"
        )
    };
    for lib in [
        compiled("'<frozen numpy>'"),
        compiled("'<__array_function__ internals>'"),
        compiled("t.__file__"),
        compiled("__import__('os').__file__"),
        // the real code, which looks up another name than it did
        "import types\nimport numpy.testing as t\nreal = t.assert_allclose\nspace = {**real.__globals__, 'assert_array_compare': lambda *a, **k: None}\nt.assert_allclose = types.FunctionType(real.__code__, space, 'near', real.__defaults__)\nt.assert_allclose.__kwdefaults__ = real.__kwdefaults__\n".into(),
    ] {
        let ran = run(
            &lib,
            "import lib, numpy.testing as t\ndef test_good(): t.assert_allclose(1, 2)\n",
        );
        assert_eq!(ran.case("test_good").outcome, Outcome::Passed, "it is an attack: {lib}");
        assert_eq!(only(&ran, Area::Testing).place, "numpy.testing.assert_allclose");
        assert_eq!(weights(&ran), [Weight::Suspect]);
    }
}

#[test]
fn another_class_under_the_name_of_an_array_is_seen() {
    let ran = run(
        "import numpy as np\nclass ndarray(np.ndarray): __module__ = 'numpy'\nnp.ndarray = ndarray\n",
        "import lib\ndef test_good(): pass\n",
    );
    let seen = only(&ran, Area::Testing);
    assert_eq!(
        (seen.place.as_str(), seen.name.as_str()),
        ("numpy.ndarray", "ndarray")
    );
    assert_eq!(weights(&ran), [Weight::Suspect]);
}

/// Everything that projects honestly do: it must cost an honest submission nothing.
fn honest() -> House {
    House::new(&[
        ("./lib.py", "def two(): return 2\n"),
        (
            "./conftest.py",
            r#"
import pytest
pytest_plugins = ["plug"]
@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item, call):
    yield
@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item): item.seen = True
@pytest.fixture(autouse=True)
def seeded(): yield
"#,
        ),
        (
            "./plug.py",
            "def pytest_collection_modifyitems(items): items.sort(key=lambda i: i.nodeid)\n",
        ),
        (
            "tests/sub/conftest.py",
            "def pytest_runtest_call(item): pass\n",
        ),
        ("tests/sub/test_b.py", "def test_b(): pass\n"),
        (
            "test_a.py",
            r#"
import builtins, os, sys, threading, unittest, warnings
from unittest import mock
import numpy as np
import numpy.testing as npt
import pytest
import lib
def test_monkeypatch(monkeypatch):
    monkeypatch.setattr(builtins, "open", lambda *a: lib.two())
    monkeypatch.setattr(os, "getcwd", lambda: "here")
    monkeypatch.setattr("_pytest.runner.sys", sys)
    assert open("x") == 2
def test_mock_open():
    with mock.patch("builtins.open", mock.mock_open(read_data="x")):
        assert open("q").read() == "x"
@mock.patch("os.getpid", return_value=7)
def test_decorated(pid): assert os.getpid() == 7
def test_numpy(): npt.assert_allclose(np.ones(3), 1)
class Case(unittest.TestCase):
    def setUp(self): self.two = lib.two()
    def test_case(self): self.assertEqual(self.two, 2)
class TestClass:
    def test_capture(self, tmp_path, capsys):
        print(1)
        assert capsys.readouterr().out == "1\n"
    @pytest.mark.skip(reason="later")
    def test_skipped(self): pass
    @pytest.mark.xfail
    def test_expected(self): assert 0
@pytest.mark.parametrize("n", [1, 2])
def test_many(n): assert n
def test_raises():
    with pytest.raises(ValueError): raise ValueError
def test_warns():
    with pytest.warns(UserWarning): warnings.warn("x")
def test_near(): assert 0.1 + 0.2 == pytest.approx(0.3)
def test_thread():
    thread = threading.Thread(target=lib.two)
    thread.start()
    thread.join()
def test_debugged():
    sys.settrace(None)
def test_wrong(): assert lib.two() == 3
"#,
        ),
    ])
}

#[test]
fn honest_projects_show_their_hooks_only_and_the_same_ones_each_time() {
    let gold = honest().run();
    let passed = gold.outcome.results.iter().filter(|r| r.outcome.passed());
    assert_eq!(passed.count(), 14, "{}", gold.story());
    let areas: Vec<Area> = gold.outcome.deviations.iter().map(|d| d.area).collect();
    assert_eq!(areas, [Area::Hook; 4], "{:#?}", gold.outcome.deviations);
    let again = honest().run();
    let evidence = unlike_gold(&again.outcome.deviations, &gold.outcome.deviations);
    assert_eq!(evidence, []);
    gold.no_discrepancy();
}

#[test]
fn every_rank_is_looked_at() {
    let house = House::new(&[
        (
            "./lib.py",
            "import os\nimport _pytest.runner as r\nif os.environ['RANK'] == '1':\n    kept = r.call_and_report\n    r.call_and_report = lambda *a, **k: kept(*a, **k)\n",
        ),
        ("test_a.py", "import lib\ndef test_good(): pass\n"),
    ])
    .ranks(2);
    let ran = house.run();
    assert_eq!(
        only(&ran, Area::Pytest).place,
        "_pytest.runner.call_and_report"
    );
}
