#![allow(clippy::unwrap_used)]

use super::*;
use crate::domain::{Suite, TaskSpec};
use crate::python::Files;

fn files(all: &[(&str, &str)]) -> Files {
    all.iter()
        .map(|(path, text)| ((*path).to_owned(), text.as_bytes().to_vec()))
        .collect()
}

const SUPPORT: &str = r"
from contextlib import contextmanager
import numpy as np

def plain(x):
    assert type(x) is np.ndarray
    return x

def same(a, b, tolerance):
    assert sorted(a) == sorted(b)
    for x, y in zip(a, b):
        off = np.abs(x - y).max()
        assert off <= tolerance

def alike(a, b):
    return np.array_equal(a, b)

class Rig:
    def check(self, sent):
        same(sent, [], 1)

@contextmanager
def refused(*kinds):
    caught = []
    try:
        yield caught
    except Exception as err:
        caught.append(err)
    assert caught
";

/// Each assertion of a test with the class that stands behind it in the text.
const TESTS: &str = r#"
import numpy as np
import pytest
import torch
from unittest import TestCase
from support import Rig, alike, plain, refused, same

def test_all(model, group, mocked):
    out = model(1)
    assert out == 3  # functional
    assert model.samples() == 4 * group.size, "message"  # functional
    assert out.shape == (1, 2)  # structural
    assert len(out) == 2 and isinstance(out, list)  # structural
    assert model.grad is None  # structural
    assert (out == 1).all()  # numerical
    assert out == pytest.approx(2)  # numerical
    assert np.allclose(out, 1)  # numerical
    assert abs(out - 1) < 3  # numerical
    assert out.mean() > 0.5  # numerical
    torch.testing.assert_close(out, out)  # numerical
    np.testing.assert_array_equal(out, out)  # numerical
    assert alike(out, out)  # numerical
    assert group.stats.collectives == 0  # resource
    spent = torch.cuda.max_memory_allocated()
    assert 0 < spent < 10  # resource
    peak, rest = model.measure(), 1
    limit = 2 * peak
    assert limit < 10  # resource
    assert rest == 1  # functional
    made = model(bucket_bytes=limit)
    assert made.ok is True  # functional
    assert out.tobytes() == bytes(3)  # functional
    with pytest.raises(ValueError, match="x") as error:  # error-path
        model(-1)
    assert "x" in str(error.value)  # error-path
    with refused(ValueError):  # error-path
        model(-1)
    same(out, out, 1)  # numerical
    Rig().check(out)  # numerical
    x = plain(out)
    group.close()
    mocked.assert_called_once_with(3)  # functional
    try:
        model(-2)
        pytest.fail("no error")  # error-path
    except KeyError:
        pass

class TestThing(TestCase):
    def test_unit(self):
        self.assertEqual(1, 1)  # functional
        self.assertEqual(x.dtype, y.dtype)  # structural
        self.assertAlmostEqual(1, 2)  # numerical
        self.assertIsNone(x)  # structural
        self.assertLess(x.nbytes, 4)  # resource
        with self.assertRaises(ValueError):  # error-path
            f()
        self.fail()  # functional

def test_guarded():
    x = plain(1)  # structural

def test_nothing():
    pass

def helper_only():
    assert 1
"#;

fn suite() -> Files {
    files(&[("tests/support.py", SUPPORT), ("tests/test_a.py", TESTS)])
}

#[test]
fn every_assertion_has_its_class_and_line() {
    let found = assertions(&suite());
    let expected: Vec<(usize, &str)> = TESTS
        .lines()
        .enumerate()
        .filter_map(|(index, line)| Some((index + 1, line.split_once("  # ")?.1)))
        .collect();
    let lines: Vec<(usize, &str)> = found
        .assertions
        .iter()
        .map(|a| (a.line, a.class.name()))
        .collect();
    for (found, expected) in lines.iter().zip(&expected) {
        assert_eq!(found, expected);
    }
    assert_eq!(lines.len(), expected.len());
    assert!(
        found
            .assertions
            .iter()
            .all(|a| !a.why.is_empty() && !a.text.is_empty())
    );
    let tests: Vec<&str> = found.tests.iter().map(|t| t.1.as_str()).collect();
    assert_eq!(
        tests,
        [
            "test_all",
            "TestThing.test_unit",
            "test_guarded",
            "test_nothing"
        ]
    );
    let same = found.helpers.iter().find(|h| h.function == "same").unwrap();
    assert_eq!(same.class, Class::Numerical);
    assert!(same.classes.contains(&Class::Functional));
    assert_eq!(same.why, "line 13: has a tolerance (`tolerance`)");
    assert!(
        found
            .helpers
            .iter()
            .any(|h| h.function == "plain" && h.gives_a_value)
    );
}

fn spec(kind: &str, claim: &str) -> TaskSpec {
    toml::from_str(&format!(
        "schema = 1\nid = \"t\"\ntitle = \"t\"\narea = \"rl\"\nkind = \"{kind}\"\nrepository = \"t/t\"\n\
         [source]\nbase = \"base\"\n[gold]\npatch = \"gold.patch\"\n[environment]\nkind = \"host\"\n\
         [suites.official]\nfrom = \"official\"\ninto = \"tests\"\n[suites.probes]\nfrom = \"probes\"\ninto = \"probes\"\n{claim}"
    ))
    .unwrap()
}

const CLAIM: &str = "[[claims]]\nid = \"C1\"\ntext = \"half the bytes\"\nkind = \"resource\"\nprobes = [\"probes/test_p.py::test_saves\"]\n";

#[test]
fn flags_look_at_the_tests_that_came_with_the_change() {
    let old =
        "def test_old(x):\n    assert abs(x) < 1\ndef test_both(x):\n    assert x.nbytes == 4\n";
    let new = format!(
        "{}def test_new(x):\n    assert x == 1\n",
        old.replace("nbytes == 4", "shape")
    );
    let official = files(&[("tests/test_a.py", &new)]);
    let base_tests = files(&[("tests/test_a.py", old)]);
    let probes = files(&[(
        "probes/test_p.py",
        "def test_saves(x):\n    assert x.nbytes == 3\ndef test_value(x):\n    assert x == 0.5\n",
    )]);
    let look = |spec: &TaskSpec, probes: &Files| {
        audit(&AuditInput {
            spec,
            official: &official,
            probes,
            base_tests: &base_tests,
        })
    };
    let found = look(&spec("feature", CLAIM), &probes);
    let flags: Vec<(FlagKind, Suite)> = found.flags.iter().map(|f| (f.flag, f.suite)).collect();
    assert_eq!(
        flags,
        [
            (FlagKind::NoNumericalAssertion, Suite::Official),
            (FlagKind::PromisedSavingUnmeasured, Suite::Official)
        ]
    );
    assert_eq!(found.savings[0].measured_by, ["probes/test_p.py:2"]);
    let official_counts = &found.suites[0];
    assert_eq!(
        (
            official_counts.all.tests,
            official_counts.of_the_change.tests
        ),
        (3, 2)
    );
    assert_eq!(official_counts.all.of(Class::Numerical), 1);
    assert_eq!(official_counts.of_the_change.of(Class::Numerical), 0);
    // the saving of a performance change needs no claim; a probe that is mapped must measure
    let found = look(&spec("performance", ""), &probes);
    assert!(
        found
            .flags
            .iter()
            .any(|f| f.flag == FlagKind::PromisedSavingUnmeasured)
    );
    let blind = files(&[(
        "probes/test_p.py",
        "def test_saves(x):\n    assert x == 0.5\n",
    )]);
    let found = look(&spec("feature", CLAIM), &blind);
    assert!(
        found
            .flags
            .iter()
            .any(|f| f.suite == Suite::Probes && f.why.contains("C1"))
    );
    let bound = files(&[(
        "probes/test_p.py",
        "def test_saves(x):\n    assert x.held() <= 1.5 * x.all\n",
    )]);
    let found = look(&spec("feature", CLAIM), &bound);
    assert_eq!(found.savings[0].measured_by, ["probes/test_p.py:2"]);
    let found = look(&spec("feature", ""), &probes);
    assert_eq!(found.flags.len(), 1);
}

/// The class of each assertion of a test's body, by its lines.
fn classes(imports: &str, body: &str) -> Vec<(String, &'static str)> {
    let lines: Vec<String> = body.lines().map(|l| format!("    {l}\n")).collect();
    let indented = lines.concat();
    let text = format!("{imports}\ndef test_a(self, a, b, limit, model, t0):\n{indented}");
    let found = assertions(&files(&[("tests/test_a.py", &text)]));
    assert!(found.unparsed.is_empty(), "{text}");
    let all = found.assertions.into_iter();
    all.map(|a| (a.text, a.class.name())).collect()
}

#[test]
fn assertions_are_seen_under_other_names_and_in_other_forms() {
    let imports = "import pytest as pt\nimport numpy as n\nfrom numpy.testing import assert_allclose as close\nfrom numpy import allclose as near\n";
    let body = "with pt.raises(ValueError):\n    a()\nclose(a, b)\nif not n.allclose(a, b):\n    raise AssertionError\nif a > limit:\n    raise AssertionError(\"much\")\na.assert_has_calls([])\nassert near(a, b)\nif a:\n    raise ValueError\n";
    let found: Vec<&str> = classes(imports, body).iter().map(|c| c.1).collect();
    assert_eq!(
        found,
        [
            "error-path",
            "numerical",
            "numerical",
            "functional",
            "functional",
            "numerical"
        ]
    );
}

#[test]
fn each_is_of_the_class_of_what_is_compared() {
    let imports = "import time\nimport torch\nimport numpy as np\n";
    for (line, class) in [
        ("assert np.all(a == b)", "numerical"),
        ("assert torch.all(a == b)", "numerical"),
        ("assert all(x == 1 for x in a)", "functional"),
        ("assert a.equal(b)", "numerical"),
        ("np.testing.assert_raises(ValueError, a)", "error-path"),
        ("self.assertLogs()", "error-path"),
        ("assert time.perf_counter() - t0 < limit", "resource"),
        ("assert a.element_size() * a.numel() <= limit", "resource"),
        ("assert model.device_map.lookup(3) == 7", "functional"),
        ("assert device_map.lookup(3) == 7", "functional"),
        ("assert a.device == b", "structural"),
        ("assert a.dtype.kind == 'f'", "structural"),
        ("assert type(a).__name__ == 'A'", "structural"),
        ("assert timeout == 0.5", "functional"),
        ("assert model.config.rate != 0.25", "functional"),
        ("assert model(1) == 0.5", "numerical"),
        // a name alone measures nothing
        ("assert memory", "functional"),
        ("assert memory == b", "functional"),
        ("assert memory.load(3) == 7", "functional"),
        ("assert model.run(memory) == 7", "functional"),
        ("assert a.cells[peak] == 7", "functional"),
        ("assert memory <= limit", "resource"),
        ("assert a.stats.bytes == 64", "resource"),
        ("assert a.stats.bytes == 4 * b", "resource"),
        ("assert a.nbytes == b.nbytes", "resource"),
        ("assert sum(a.sent_bytes) < b", "resource"),
        ("assert a.entries.sum() < b", "resource"),
        ("self.assertEqual(memory, b)", "functional"),
        ("self.assertEqual(a.nbytes, 4)", "resource"),
        ("self.assertLessEqual(a.nbytes, limit)", "resource"),
        ("spent = a.peak\nassert spent == b", "functional"),
        ("spent = a.peak\nassert spent < b", "resource"),
    ] {
        let found = classes(imports, line);
        assert_eq!(found.len(), 1, "{line}");
        assert_eq!(found[0].1, class, "{line}");
    }
}

#[test]
fn a_variable_that_is_called_memory_is_no_measurement() {
    let of = |body: &str| {
        let probes = files(&[("probes/test_p.py", body)]);
        let found = audit(&AuditInput {
            spec: &spec("feature", CLAIM),
            official: &Files::new(),
            probes: &probes,
            base_tests: &Files::new(),
        });
        found.savings[0].measured_by.len()
    };
    assert_eq!(
        of("def test_saves(memory):\n    assert memory.read() == 1\n"),
        0
    );
    assert_eq!(
        of("def test_saves(memory):\n    assert memory is not None\n"),
        0
    );
    assert_eq!(of("def test_saves(memory):\n    assert memory < 9\n"), 1);
}
