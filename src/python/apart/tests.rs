#![allow(clippy::unwrap_used)]

use super::*;

const FILE: &str = r#"
import numpy as np
import pytest
from pkg import thing

SIZE = 4
KINDS = [1, 2.5, np.float32]


class Spy:
    def __init__(self):
        self.seen = []


@pytest.fixture
def made():
    return Spy()


def test_plain(made):
    made.seen.append(SIZE)
    assert thing(made)


def helper(x):
    return len(KINDS) + x


@pytest.mark.parametrize("kind", KINDS)
def test_kinds(kind, monkeypatch):
    monkeypatch.setattr(thing, "x", 1)
    assert helper(kind)
"#;

fn names(text: &str) -> Vec<String> {
    let found = units(text).unwrap();
    found.functions.into_iter().map(|(name, _)| name).collect()
}

#[test]
fn a_body_is_its_tests_own_and_all_else_is_everybodys() {
    let whole = units(FILE).unwrap();
    assert_eq!(names(FILE), ["test_plain", "test_kinds"]);
    let edit = |from: &str, to: &str| {
        assert!(FILE.contains(from), "{from}");
        units(&FILE.replace(from, to)).unwrap()
    };
    // (edit, the rest is another one, tests that are)
    for (from, to, rest, tests) in [
        ("append(SIZE)", "append(5)", false, vec![true, false]),
        (
            "assert helper(kind)",
            "# why\n    assert helper(kind)",
            false,
            vec![false, true],
        ),
        (
            "x\n\n\n@pytest.mark",
            "x\n\n\n\n@pytest.mark",
            false,
            vec![false, false],
        ),
        ("SIZE = 4", "SIZE = 5", true, vec![false, false]),
        ("+ x", "- x", true, vec![false, false]),
        ("return Spy()", "return None", true, vec![false, false]),
        // what runs at import can fail for all
        ("\"kind\", KINDS", "\"kind\", [1]", true, vec![false, true]),
        (
            "test_plain(made)",
            "test_plain(made=1)",
            true,
            vec![true, false],
        ),
        ("test_plain(made)", "test_plain()", false, vec![true, false]),
    ] {
        let edited = edit(from, to);
        assert_eq!(edited.rest != whole.rest, rest, "{from} -> {to}");
        let other: Vec<bool> = (edited.functions.iter().zip(&whole.functions))
            .map(|(a, b)| a != b)
            .collect();
        assert_eq!(other, tests, "{from} -> {to}");
    }
    // one more test that needs nothing of the file touches no other
    let more = units(&format!("{FILE}\n\ndef test_more():\n    assert 1\n")).unwrap();
    assert_eq!(more.rest, whole.rest);
    assert_eq!(more.functions[..2], whole.functions[..]);
}

#[test]
fn what_lets_tests_see_each_other_keeps_the_file_whole() {
    for (from, to) in [
        ("SIZE = 4", "SIZE = made_at_import()"),
        ("SIZE = 4", "SIZE = [[1], [2]]"),
        ("SIZE = 4", "SIZE = {}\nSIZE['a'] = 1"),
        ("SIZE = 4", "SIZE = 4\nfor x in KINDS: print(x)"),
        ("SIZE = 4", "SIZE = 4\npytest_plugins = ['a']"),
        ("append(SIZE)", "append(KINDS)"),
        ("append(SIZE)", "append(1); KINDS.append(3)"),
        ("append(SIZE)", "append(1); KINDS[0] = 3"),
        ("append(SIZE)", "append(1); thing.cache = {}"),
        ("append(SIZE)", "append(1); Spy.seen = 1"),
        ("append(SIZE)", "append(1); thing.table['a'] += 1"),
        ("append(SIZE)", "append(1); del thing.cache"),
        ("append(SIZE)", "append(1); setattr(thing, 'x', 1)"),
        ("append(SIZE)", "append(1); np.random.seed(0)"),
        ("append(SIZE)", "append(1); torch.manual_seed(0)"),
        (
            "append(SIZE)",
            "append(1); torch.set_default_dtype(torch.float64)",
        ),
        (
            "append(SIZE)",
            "append(1); warnings.filterwarnings('error')",
        ),
        ("append(SIZE)", "append(1); torch.set_num_threads(1)"),
        ("def helper(x):", "def helper(x, seen=[]):"),
        ("append(SIZE)", "append(1)\n    global SIZE\n    SIZE = 3"),
        (
            "append(SIZE)",
            "append(1); import os; os.environ['A'] = '1'",
        ),
        ("append(SIZE)", "append(open(__file__))"),
        ("append(SIZE)", "append(test_kinds)"),
        ("@pytest.fixture\n", "@pytest.fixture(scope='module')\n"),
        ("@pytest.fixture\n", "@pytest.fixture(scope=WIDE)\n"),
        ("class Spy:\n", "class Spy:\n    shared = []\n"),
        ("class Spy:\n", "class TestSpy:\n"),
        ("    def __init__(self):", "    def test_it(self):"),
        ("class Spy:", "class Spy(unittest.TestCase):"),
        ("def helper(x):", "def setup_module(x):"),
        ("def helper(x):", "def pytest_runtest_setup(x):"),
        ("def helper(x):", "def test_plain(x):"),
        (
            "def helper(x):",
            "if SIZE:\n  def test_more(): pass\ndef helper(x):",
        ),
        (
            "@pytest.mark.parametrize(\"kind\", KINDS)",
            "@pytest.mark.order(1)",
        ),
        ("assert helper(kind)", "assert ("),
    ] {
        assert!(FILE.contains(from), "{from}");
        let text = FILE.replacen(from, to, 1);
        assert_eq!(units(&text), None, "{from} -> {to}");
    }
    assert_eq!(units("import x\n"), None);
}

#[test]
fn what_tests_share_leaves_them_apart_or_does_not() {
    for (text, apart) in [
        ("import pytest\n@pytest.fixture\ndef a(): return 1\n", true),
        (
            "import pytest\n@pytest.fixture(scope=\"function\")\ndef a(): return 1\n",
            true,
        ),
        (
            "import pytest\n@pytest.fixture(scope=\"session\")\ndef a(): return 1\n",
            false,
        ),
        (
            "def pytest_collection_modifyitems(items): items.reverse()\n",
            false,
        ),
        ("def pytest_configure(config): pass\n", true),
        ("def (", false),
        // what a helper fills is there for the next test
        ("SEEN = []\ndef use(x): SEEN.append(x)\n", false),
        ("SEEN = {}\ndef use(x): SEEN[x] = 1\n", false),
        ("SEEN = set()\ndef use(x): return fill(SEEN)\n", false),
        (
            "import itertools\nNEXT = itertools.count()\ndef use(): return next(NEXT)\n",
            false,
        ),
        ("N = 0\ndef use():\n    global N\n    N += 1\n", false),
        ("class Kit:\n    seen = []\n", false),
        ("def use(x, seen=[]): seen.append(x)\n", false),
        ("def use(): pass\ndef more(): use.calls = 1\n", false),
        (
            "from pkg import table\ndef use(x): table.entries[x] = 1\n",
            false,
        ),
        (
            "from pkg import table\ndef use(x): table.entries.update(a=x)\n",
            false,
        ),
        ("import os\ndef use(): os.environ['A'] = '1'\n", false),
        (
            "import os\ndef use(): os.environ.setdefault('A', '1')\n",
            false,
        ),
        (
            "from pkg import table\ndef use(x): setattr(table, 'a', x)\n",
            false,
        ),
        ("import os\ndef use(p): os.chdir(p)\n", false),
        ("import torch\ndef use(): torch.manual_seed(0)\n", false),
        (
            "import numpy as np\ndef use(): np.seterr(all='raise')\n",
            false,
        ),
        // and what it only looks at is not, nor what is made anew each time
        (
            "SEEN = [1, 2]\ndef use(x): return x in SEEN and len(SEEN)\n",
            true,
        ),
        (
            "import os\nos.environ['A'] = '1'\ndef use(): return os.environ['A']\n",
            true,
        ),
        (
            "def use(x):\n    seen = []\n    seen.append(x)\n    return seen\n",
            true,
        ),
        (
            "class Kit:\n    __slots__ = ['a']\n    def __init__(self):\n        self.a = []\n",
            true,
        ),
    ] {
        assert_eq!(keeps_apart(text), apart, "{text}");
    }
}

#[test]
fn bundled_probes_come_apart() {
    let tasks = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tasks");
    let mut split = Vec::new();
    for (task, file) in [
        ("kv-prefix", "test_order"),
        ("sparse-sync", "test_delivery"),
        ("dp-buckets", "test_windows"),
    ] {
        let path = tasks.join(task).join("probes").join(format!("{file}.py"));
        let text = std::fs::read_to_string(path).unwrap();
        let count = text.matches("\ndef test_").count();
        assert_eq!(
            units(&text).map_or(0, |u| u.functions.len()),
            count,
            "{task} {file}"
        );
        split.push(count);
    }
    assert!(split.iter().all(|count| *count > 2), "{split:?}");
    for support in [
        "kv-prefix/probes/support.py",
        "sparse-sync/probes/probekit.py",
        "dp-buckets/probes/support.py",
        "dp-buckets/probes/conftest.py",
    ] {
        let text = std::fs::read_to_string(tasks.join(support)).unwrap();
        assert!(keeps_apart(&text), "{support}");
    }
}
