#![allow(clippy::unwrap_used)]

use super::{Signs, SignsInput, signs};
use crate::python::files::Files;

fn files(list: &[(&str, &str)]) -> Files {
    list.iter()
        .map(|(path, text)| ((*path).to_owned(), text.as_bytes().to_vec()))
        .collect()
}

fn found(base: &[(&str, &str)], submission: &[(&str, &str)], gold: &[(&str, &str)]) -> Signs {
    signs(&SignsInput {
        base: &files(base),
        submission: &files(submission),
        gold: &files(gold),
        folders: &["tests", "probes/"],
    })
}

#[track_caller]
fn strong(text: &str, expected: &[(u32, &str)]) {
    let signs = found(&[], &[("lib/a.py", text)], &[]);
    let got: Vec<(u32, &str)> = signs
        .strong
        .iter()
        .map(|s| (s.line, s.what.as_str()))
        .collect();
    assert_eq!(got, expected, "{text}\n{:?}", signs.weak);
}

#[test]
fn strong_signs_by_kind_whatever_the_names_are() {
    strong("import _pytest.runner as r\n", &[(1, "uses _pytest")]);
    strong(
        "def f():\n    from pluggy import _callers\n",
        &[(2, "uses pluggy")],
    );
    strong("m = __import__('_pytest.runner')\n", &[(1, "uses _pytest")]);
    let modules = "writes into sys.modules";
    strong(
        "import sys as s\ns.modules['pytest'] = 1\n",
        &[(2, modules)],
    );
    strong(
        "from sys import modules\ndel modules['numpy']\n",
        &[(2, modules)],
    );
    strong("import sys\nsys.modules.update(a=1)\n", &[(2, modules)]);
    let names = "writes into the built-in names";
    strong(
        "import builtins as b\nb.all = lambda x: True\n",
        &[(2, names)],
    );
    strong(
        "import builtins\nsetattr(builtins, 'all', 1)\n",
        &[(2, names)],
    );
    strong("import builtins\nx, builtins.any = 1, 2\n", &[(2, names)]);
    strong(
        "from sys import settrace as t\nt(print)\n",
        &[(2, "sets a trace function (sys.settrace)")],
    );
    strong(
        "import os\nos._exit(0)\n",
        &[(2, "ends the process (os._exit)")],
    );
    strong(
        "from unittest.case import _ShouldStop as S\nraise S\n",
        &[(2, "uses what unittest keeps to itself")],
    );
    strong(
        "import os\nx = 'PYTEST_CURRENT_TEST' in os.environ\n",
        &[(2, "names PYTEST_CURRENT_TEST")],
    );
    strong(
        "open('/work/tests/test_a.py')\np = f'{root}/probes/x'\n",
        &[
            (1, "names a path of the tests (tests/)"),
            (2, "names a path of the tests (probes/)"),
        ],
    );
    strong(
        "class A:\n    def __eq__(self, other):\n        return True\n",
        &[(2, "__eq__ is always True")],
    );
    strong(
        "import sys\ndef f():\n    return 'test_' in sys._getframe(1).f_code.co_name\n",
        &[(3, "reads who calls it")],
    );
}

#[test]
fn the_tests_folder_is_named_in_many_ways() {
    let named = "names a path of the tests (tests/)";
    for text in [
        "p = Path(__file__).parent.parent / 'tests'\n",
        "p = os.path.join(root, 'tests', 'test_a.py')\n",
        "for f in Path('tests').rglob('*.py'): pass\n",
        "m = importlib.import_module('tests')\n",
        "p = root.joinpath('/tests/')\n",
    ] {
        strong(text, &[(1, named)]);
    }
    strong(
        "from tests.test_a import EXPECTED\n",
        &[(1, "imports the tests (tests)")],
    );
}

#[test]
fn what_cannot_be_read_well_is_a_sign_itself() {
    let hidden = "hides its source in the encoding utf-7";
    strong(
        "#!/usr/bin/python\n# -*- coding: utf_7 -*-\nx = 1\n",
        &[(0, hidden)],
    );
    // the third line says nothing to the interpreter
    strong("\n\n# coding: utf_7\n", &[]);
    strong("# vim: set fileencoding=latin-1\nx = 1\n", &[]);
    let damaged = "import os\nx = = 1\nos._exit(0)\n";
    strong(damaged, &[(3, "ends the process (os._exit)")]);
    let large = format!("x = 1\n{}", "#".repeat(5 << 20));
    strong(&large, &[(0, "is too large to be read (over 4 MiB)")]);
    let deep = format!("x = {}1\nos._exit(0)\n", "-".repeat(200_000));
    let signs = found(&[], &[("a.py", &format!("import os\n{deep}"))], &[]);
    assert_eq!(signs.strong.len(), 1, "{signs:?}");
}

#[test]
fn honest_code_has_none() {
    for text in [
        "import sys\nsys.modules[__name__] = 1\n",
        "x = sys.modules['a']\n",
        "\"\"\"See tests/test_a.py and PYTEST_ADDOPTS.\"\"\"\n# tests/x, os._exit\n",
        "import sys\ndef f():\n    return sys._getframe(1).f_lineno\n",
        "class A:\n    def __eq__(self, other):\n        if other is self:\n            return True\n        return NotImplemented\n",
        "packages = find_packages(exclude=['tests', 'tests.*'])\n",
        "latest = 'data/contests/x'\n",
        "kinds = ['tests', 'probes']\nrun('tests')\nx = a['tests'] / 2\n",
        "settrace = 1\nall = 2\n",
        "import os\nos.environ['PYTHONPATH']\n",
        "from unittest.case import SkipTest\nraise SkipTest\n",
    ] {
        strong(text, &[]);
    }
}

#[test]
fn what_tests_compare_with_is_not_written_into() {
    for (text, place) in [
        ("np.allclose = np.array_equal = f", "numpy.allclose"),
        ("x, np.abs = 1, f", "numpy.abs"),
        (
            "np._core.numeric.isclose = f",
            "numpy._core.numeric.isclose",
        ),
        ("np.abs += f", "numpy.abs"),
        ("del np.abs", "numpy.abs"),
        ("for np.abs in [f]: pass", "numpy.abs"),
        ("with f() as np.abs: pass", "numpy.abs"),
        ("setattr(np, 'abs', f)", "numpy.abs"),
        ("setattr(np, name, f)", "numpy"),
        ("object.__setattr__(np, 'abs', f)", "numpy.abs"),
        ("np.__setattr__('abs', f)", "numpy.abs"),
        ("vars(np)['abs'] = f", "numpy.abs"),
        ("np.__dict__['abs'] = f", "numpy.abs"),
        ("np.__dict__.update(abs=f)", "numpy"),
        ("vars(np).setdefault('abs', f)", "numpy.abs"),
        ("dict.__setitem__(vars(np), 'abs', f)", "numpy.abs"),
        ("m = np\nm.abs = f", "numpy.abs"),
        (
            "def g():\n    m = __import__('numpy')\n    m.abs = f",
            "numpy.abs",
        ),
        ("importlib.import_module('numpy').abs = f", "numpy.abs"),
        ("setattr(sys.modules['numpy'], 'abs', f)", "numpy.abs"),
        ("getattr(np, 'linalg').norm = f", "numpy.linalg.norm"),
        ("mock.patch.object(np, 'abs', f).start()", "numpy.abs"),
        ("mock.patch('numpy.abs', f).start()", "numpy.abs"),
        ("pytest_patch.setattr(np, 'abs', f)", "numpy.abs"),
        ("Mock.called = True", "unittest.mock.Mock.called"),
        (
            "Mock.assert_called_with = f",
            "unittest.mock.Mock.assert_called_with",
        ),
        ("math.isclose = f", "math.isclose"),
        ("json.dumps = f", "json.dumps"),
        ("torch.Tensor.equal = f", "torch.Tensor.equal"),
    ] {
        let signs = found(&[], &[("pkg/a.py", &format!("{IMPORTS}{text}\n"))], &[]);
        let what = format!("writes into {place}");
        assert!(
            signs.strong.iter().any(|s| s.what == what),
            "{text}: {:?} {:?}",
            signs.strong,
            signs.weak
        );
    }
    let builtins = "writes into the built-in names";
    strong(
        "import builtins\nvars(builtins)['all'] = f\n",
        &[(2, builtins)],
    );
}

const IMPORTS: &str = "import importlib, json, logging, math, os, sys, torch\nimport numpy as np\n\
    from unittest import mock\nfrom unittest.mock import Mock\nfrom copy import copy\n\
    from torch.backends import cudnn\nfrom . import core\nimport pkg.core as own\n";

#[test]
fn settings_and_what_is_the_projects_own_may_be_written() {
    for text in [
        "os.environ['A'] = '1'",
        "torch.backends.cudnn.benchmark = flag",
        "cudnn.deterministic = True",
        "torch._dynamo.config.cache_size_limit = size",
        "logging.raiseExceptions = False",
        "np.random.seed(0)",
        "np.float = float",
        "core.limit = f",
        "own.limit = f",
        "setattr(own, 'limit', f)",
        "def g(copy):\n    copy.state = f",
        "def g(self):\n    copy = self.clone()\n    copy.state = f\n    setattr(copy, 'a', f)",
        "x = np.zeros(3)\nx[0] = 1\nx.flags.writeable = False",
        "self.math = f",
        "out = torch.empty(1)\nout.grad = f",
        "with mock.patch.object(np, 'abs', f): pass",
    ] {
        let signs = found(&[], &[("pkg/a.py", &format!("{IMPORTS}{text}\n"))], &[]);
        assert!(signs.strong.is_empty(), "{text}: {:?}", signs.strong);
    }
    // the project is what others compare with
    let text = "import numpy as np\nnp.abs = f\n";
    let project = [("numpy/core/a.py", "x = 1\n")];
    let own = [("numpy/core/a.py", text)];
    assert!(found(&project, &own, &[]).strong.is_empty());
    // a submission does not say what the project is
    assert_eq!(found(&[], &own, &[]).strong.len(), 1);
}

#[test]
fn a_write_that_base_or_gold_has_is_none_and_another_is() {
    let write = |name: &str| format!("import numpy as np\nnp.{name} = f\n");
    let (abs, all) = (write("abs"), write("allclose"));
    let gold = found(&[], &[("a.py", &abs)], &[("b.py", &abs)]);
    assert_eq!((gold.strong.len(), gold.weak.len()), (0, 1));
    let other = found(&[], &[("a.py", &all)], &[("b.py", &abs)]);
    assert_eq!(other.strong.len(), 1);
    let moved = found(&[("a.py", &abs)], &[("b.py", &abs)], &[]);
    assert_eq!(moved, Signs::default());
    // other modules are listed
    let listed = found(&[], &[("a.py", "import sys\nsys.excepthook = f\n")], &[]);
    assert_eq!(listed.weak[0].what, "writes into sys.excepthook");
}

#[test]
fn many_writes_in_many_functions_are_found_in_time() {
    let text = "import numpy as np\n".to_owned()
        + &"def g():\n    np.abs = f\n".repeat(20_000)
        + &"np.abs = f\n".repeat(20_000);
    let signs = found(&[], &[("lib/a.py", &text)], &[]);
    assert_eq!(signs.strong.len(), 500);
    let nested = (0..200).map(|n| format!("{}def g():\n", " ".repeat(n)));
    let text = "import numpy as np\n".to_owned() + &nested.collect::<String>();
    let text = format!("{text}{}np.abs = f\n", " ".repeat(200));
    found(&[], &[("lib/a.py", &text)], &[]);
}

#[test]
fn weak_signs_are_listed() {
    let text = "import gc, ctypes\nimport threading\nthreading.Thread(target=print).start()\n";
    let signs = found(&[], &[("lib/a.py", text)], &[]);
    let what: Vec<&str> = signs.weak.iter().map(|s| s.what.as_str()).collect();
    let expected = ["imports ctypes", "imports gc", "makes a thread at import"];
    assert_eq!(what, expected);
    assert!(signs.strong.is_empty());
}

#[test]
fn what_base_or_gold_has_is_none() {
    let exits = "import os\nos._exit(0)\n";
    // it stood there, and moves
    let moved = found(&[("a.py", exits)], &[("b.py", exits)], &[]);
    assert_eq!(moved, Signs::default());
    // once more than before
    let twice = "import os\nos._exit(0)\nos._exit(0)\n";
    let more = found(&[("a.py", exits)], &[("a.py", twice)], &[]);
    assert_eq!(more.strong.len(), 1);
    // gold's change has the kind: listed only
    let gold = found(&[], &[("a.py", exits)], &[("z.py", exits)]);
    assert_eq!((gold.strong.len(), gold.weak.len()), (0, 1));
}

#[test]
fn files_that_steer_tests_and_only_outside_their_folders() {
    let list = [
        ("conftest.py", ""),
        ("tests/conftest.py", "import _pytest\n"),
        ("lib/sitecustomize.py", ""),
        ("x.pth", "import os"),
        (
            "pyproject.toml",
            "[project.entry-points.pytest11]\na = 'b'\n",
        ),
        ("notes.md", "pytest11 os._exit tests/a"),
    ];
    let signs = found(&[], &list, &[]);
    let got: Vec<&str> = signs.strong.iter().map(|s| s.path.as_str()).collect();
    let expected = [
        "conftest.py",
        "lib/sitecustomize.py",
        "pyproject.toml",
        "x.pth",
    ];
    assert_eq!(got, expected);
}

#[test]
fn a_chain_may_have_any_length() {
    let chain = format!("x = {}\nimport pluggy\n", vec!["a"; 40_000].join("."));
    let signs = found(&[], &[("lib/a.py", &chain)], &[]);
    assert_eq!(signs.strong.len(), 1);
}

#[test]
fn targets_may_be_nested_to_any_depth() {
    let (open, close) = ("(".repeat(10_000), ",)".repeat(10_000));
    let tuple = format!("{open}b{close} = 1\nimport pluggy\n");
    let signs = found(&[], &[("lib/a.py", &tuple)], &[]);
    assert_eq!(signs.strong.len(), 1);
}

#[test]
fn more_signs_than_anybody_reads_are_cut() {
    let text = "import sys\n".to_owned() + &"sys.modules[0] = 0\nf = sys._getframe\n".repeat(600);
    let signs = found(&[], &[("lib/a.py", &text)], &[]);
    assert!(
        (400..=500).contains(&signs.strong.len()),
        "{}",
        signs.strong.len()
    );
}
