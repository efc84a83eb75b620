//! Must-fail twins: honest cases fail in them, made-up outcomes do not.

use infradev::domain::CaseId;
use infradev::pipeline::suite::{Twins, run_twins, twin_tree};

use crate::house::{House, Local, block_on, environment};

const TESTS: &str = r#"
import pytest

@pytest.mark.parametrize("v", ["a::b", "c - [d]"])
def test_good(v):
    """Doc."""
    assert v

class TestK:
    def test_m(self):
        for x in range(3):
            assert x < 3

@pytest.mark.xfail
def test_weak():
    pass

def test_same(): pass
"#;

/// Turns every outcome of a case whose name ends so into a pass.
const FORGER: &str = r#"
import pytest
@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item, call):
    outcome = yield
    if item.name.endswith("_same"):
        outcome.get_result().outcome = "passed"
"#;

fn twins(house: &mut House, sample: Option<u64>) -> Twins {
    let ran = house.run();
    house.run.expected = Some(ran.outcome.collected);
    let (tests, twins) = (house.path("project/tests"), house.path("twins"));
    let functions = twin_tree(&tests, &twins, "tests", "0a1b").unwrap();
    std::fs::remove_dir_all(&tests).unwrap();
    std::fs::rename(&twins, &tests).unwrap();
    block_on(run_twins(
        &mut Local { house },
        &house.run,
        &functions,
        sample,
    ))
    .unwrap()
}

#[test]
fn honest_cases_fail_and_a_made_up_pass_is_seen() {
    let mut house = House::new(&[("test_t.py", TESTS)]);
    let honest = twins(&mut house, None);
    assert_eq!((honest.run, honest.passed), (5, vec![]));

    let mut house = House::new(&[("test_t.py", TESTS), ("./conftest.py", FORGER)]);
    let forged = twins(&mut house, None);
    let id = CaseId("tests/test_t.py::test_same".into());
    assert_eq!((forged.run, forged.passed), (5, vec![id]));
}

#[test]
fn official_cases_are_sampled() {
    let many = "import pytest\n@pytest.mark.parametrize('n', range(40))\ndef test_n(n): pass\n";
    let base = "class Base:\n    def test_inherited(self): pass\n";
    let child = "from base import Base\nclass TestChild(Base): pass\n";
    let mut house = House::new(&[
        ("test_n.py", many),
        ("test_c.py", child),
        ("./base.py", base),
    ])
    .ranks(2);
    let ran = twins(&mut house, Some(7));
    assert_eq!((ran.run, ran.passed), (24, vec![]));
}

/// What pytest runs and no `def` of the file makes.
const MADE: &str = r#"
import unittest
import pytest
from base import Base, made as test_shared

def _make(n):
    @pytest.mark.parametrize("v", [1, 2])
    def made(v, tmp_path):
        assert v + n
    return made

test_made = _make(3)
test_word = lambda: None

class TestChild(Base):
    pass

class TestLocal:
    test_m = lambda self: None

class TestRun(unittest.TestCase):
    def runTest(self):
        pass
"#;

#[test]
fn inherited_made_and_imported_tests_fail_too() {
    let base = "class Base:\n    def test_inherited(self): pass\n    @staticmethod\n    def test_static(): pass\ndef made(): pass\n";
    let mut house = House::new(&[("test_m.py", MADE), ("./base.py", base)]);
    let ran = twins(&mut house, None);
    assert_eq!((ran.run, ran.passed), (8, vec![]));
}

/// Python's own parser takes the twin of each of the house's own tests.
#[test]
fn twins_are_python_for_python() {
    let scratch = tempfile::TempDir::new_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let (src, dest) = (scratch.path().join("src"), scratch.path().join("dest"));
    std::fs::create_dir_all(&src).unwrap();
    std::fs::write(src.join("test_t.py"), TESTS).unwrap();
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
    let functions = twin_tree(&src, &dest.join("own"), "own", "0a1b").unwrap();
    assert_eq!(functions.len(), 4);
    for task in std::fs::read_dir(root.join("tasks")).unwrap() {
        let task = task.unwrap();
        for suite in ["official", "probes"] {
            let name = task.file_name().to_string_lossy().into_owned();
            let dest = dest.join(&name).join(suite);
            if suite == "official" && !task.path().join("base").is_dir() {
                continue; // its official tests come with its repository
            }
            let functions = twin_tree(&task.path().join(suite), &dest, suite, "0a1b").unwrap();
            assert!(functions.len() > 5, "{name} {suite}");
        }
    }
    let program = r#"
import ast, pathlib, sys
count = 0
for path in pathlib.Path(sys.argv[1]).rglob("*.py"):
    for node in ast.walk(ast.parse(path.read_text(), str(path))):
        if not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)): continue
        body = node.body[1:] if ast.get_docstring(node) is not None else node.body
        test = body[0].test if body and isinstance(body[0], ast.Assert) else None
        if isinstance(test, ast.Compare) and isinstance(test.left, ast.Constant):
            # what it compares is numbers, and the comparison fails
            assert not eval(compile(ast.Expression(test), str(path), "eval")), ast.dump(test)
            count += 1
print(count)
"#;
    let output = std::process::Command::new(&environment().python)
        .args(["-c", program])
        .arg(&dest)
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
    let count: usize = String::from_utf8(output.stdout)
        .unwrap()
        .trim()
        .parse()
        .unwrap();
    assert!(count > 30, "{count}");
}
