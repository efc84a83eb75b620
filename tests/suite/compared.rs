//! What tests compare with: who exchanges it, however, is seen; who uses it as it is meant is not.

use infradev::domain::Area;

use crate::house::{House, Ran};

const TESTS: &str = "import lib\ndef test_first(): lib.go()\ndef test_second(): pass\n";

fn run(lib: &str) -> Ran {
    House::new(&[("./lib.py", lib), ("test_a.py", TESTS)]).run()
}

#[test]
fn what_tests_compare_with_is_watched_in_every_place() {
    for (change, area, place) in [
        (
            "import math; math.isclose = yes",
            Area::Testing,
            "math.isclose",
        ),
        ("import math; math.inf = 1.0", Area::Testing, "math.inf"),
        (
            "import statistics; statistics.fmean = yes",
            Area::Testing,
            "statistics.fmean",
        ),
        (
            "import json; json.JSONEncoder.encode = yes",
            Area::Testing,
            "json.encoder.JSONEncoder.encode",
        ),
        (
            "import copy; copy.deepcopy.__code__ = yes.__code__",
            Area::Testing,
            "copy.deepcopy.__code__",
        ),
        // a method in front of the one that is watched
        (
            "from unittest import mock; mock.Mock.assert_called = yes",
            Area::Unittest,
            "unittest.mock.Mock.assert_called",
        ),
        // a name in front of a built-in one
        (
            "import sys; vars(sys.modules['_pytest.python_api'])['abs'] = yes",
            Area::Pytest,
            "_pytest.python_api.abs",
        ),
        (
            "import unittest.case as case; case.isinstance = yes",
            Area::Unittest,
            "unittest.case.isinstance",
        ),
    ] {
        for lib in [
            format!("def yes(*a, **k): return True\n{change}\ndef go(): pass\n"),
            format!("def yes(*a, **k): return True\ndef go():\n    {change}\n"),
        ] {
            let ran = run(&lib);
            let found =
                (ran.outcome.deviations.iter()).find(|d| d.area == area && d.place == place);
            assert!(found.is_some(), "{lib}: {:#?}", ran.outcome.deviations);
        }
    }
}

#[test]
fn a_module_that_comes_by_another_way_than_an_import_is_told() {
    let ran = run(
        "import sys\nfrom importlib import util\nspec = util.find_spec('statistics')\n\
         made = util.module_from_spec(spec)\nspec.loader.exec_module(made)\n\
         made.fmean = lambda *a: 0\nsys.modules['statistics'] = made\ndef go(): pass\n",
    );
    let places: Vec<&str> = (ran.outcome.deviations.iter())
        .map(|d| d.place.as_str())
        .collect();
    assert_eq!(places, ["statistics"], "{}", ran.story());
    let blinded = run(
        "import importlib._bootstrap as b\nkept = b._find_and_load\n\
         cells = dict(zip(kept.__code__.co_freevars, kept.__closure__))\n\
         b._find_and_load = cells['original'].cell_contents\nimport statistics\nstatistics.fmean = lambda *a: 0\n\
         b._find_and_load = kept\ndef go(): pass\n",
    );
    assert!(
        !blinded.outcome.deviations.is_empty(),
        "{}",
        blinded.story()
    );
}

#[test]
fn honest_use_is_no_deviation() {
    let ran = run(
        "import copy, decimal, fractions, functools, json, math, random, re, statistics, time\n\
         from unittest import mock, TestCase\n\
         math.mine = 1\n\
         class Encoder(json.JSONEncoder):\n    def default(self, o): return 0\n\
         class Mine(mock.MagicMock):\n    def assert_called(self): pass\n\
         def go():\n\
         \x20   random.seed(1)\n\
         \x20   with mock.patch.object(math, 'floor', int), mock.patch('json.dumps') as d:\n\
         \x20       d(1); d.assert_called_once_with(1)\n\
         \x20   m = mock.create_autospec(Encoder); m.default(1); Mine()()\n\
         \x20   functools.singledispatch(go).register(int, go)\n\
         \x20   import unittest.async_case, asyncio\n",
    );
    assert_eq!(ran.outcome.deviations, [], "{}", ran.story());
}
