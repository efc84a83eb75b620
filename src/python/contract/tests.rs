#![allow(clippy::unwrap_used)]

use super::*;
use crate::domain::TaskSpec;
use crate::python::Files;

fn files(all: &[(&str, &str)]) -> Files {
    all.iter()
        .map(|(path, text)| ((*path).to_owned(), text.as_bytes().to_vec()))
        .collect()
}

const CORE: &str = r#"
class Box:
    LIMIT = 4
    def __init__(self, size: int, *, kind="a"):
        self.size = size
        self.inner = Inner()
    @property
    def half(self) -> int:
        return self.size // 2
    def fill(self, n, fast=False) -> "Inner":
        return self.inner
    def all(self) -> list[tuple[str, "Inner"]]:
        return []
    def settle(self):
        return None

class Inner:
    def __init__(self):
        self.depth = 0
    def dig(self, deep=1): ...

class Lid(Box):
    pass

def make(kind="a"):
    made = Lid(3)
    return made
"#;

const TEST: &str = r#"
import numpy as np
import pkg.core
from pkg import Box, make as build
from pkg import core as c
from helper import boxed

def test_one(box, monkeypatch):
    other = build(kind="b")
    other.fill(1, fast=True).dig(deep=2)
    assert other.half == box.half
    for name, inner in other.all():
        assert inner.depth == 0 and name.upper()
    box.size = 9
    monkeypatch.setattr(c, "make", None)
    mock.patch("pkg.core.Inner.dig")
    assert pkg.core.Box.LIMIT == 4
    boxed().settle()
    unknown().settle()
    np.settle()
    with build() as held:
        held.missing

def test_two(kinds=Box):
    return getattr(Box(2), "inner")
"#;

fn spec() -> TaskSpec {
    toml::from_str(
        "schema = 1\nid = \"t\"\ntitle = \"t\"\narea = \"rl\"\nkind = \"feature\"\nrepository = \"t/t\"\n\
         [source]\nbase = \"base\"\n[gold]\npatch = \"gold.patch\"\n[environment]\nkind = \"host\"\npythonpath = [\"src\"]\n\
         [suites.official]\nfrom = \"official\"\ninto = \"tests\"\n",
    )
    .unwrap()
}

fn made() -> Contract {
    let gold = files(&[
        (
            "src/pkg/__init__.py",
            "from .core import Box, make\nfrom . import core\n",
        ),
        ("src/pkg/core.py", CORE),
    ]);
    let base_core = CORE
        .replace(", fast=False", "")
        .replace("    def settle(self):\n        return None\n", "");
    let base = files(&[
        ("src/pkg/__init__.py", "from .core import Box\n"),
        ("src/pkg/core.py", &base_core),
    ]);
    let official = files(&[
        ("tests/test_a.py", TEST),
        (
            "tests/helper.py",
            "from pkg.core import Box\ndef boxed():\n    b = Box(1)\n    return b\n",
        ),
        (
            "tests/conftest.py",
            "import pytest\nfrom pkg import Box\n@pytest.fixture\ndef box():\n    with Box(1, kind='c') as b:\n        yield b\n",
        ),
    ]);
    contract(&ContractInput {
        spec: &spec(),
        base: &base,
        gold: &gold,
        official: &official,
        probes: &Files::new(),
    })
}

/// Lines and ways of the uses in the test.
fn uses(contract: &Contract, name: &str) -> Vec<(usize, How)> {
    let symbol = contract.symbols.iter().find(|s| s.name == name);
    let uses = symbol.map(|s| s.uses.clone()).unwrap_or_default();
    uses.iter()
        .filter(|u| u.path == "tests/test_a.py")
        .map(|u| (u.line, u.how))
        .collect()
}

#[test]
fn names_are_followed_through_imports_calls_fixtures_and_helpers() {
    let made = made();
    let names: Vec<&str> = made.symbols.iter().map(|s| s.name.as_str()).collect();
    assert_eq!(
        names,
        [
            "pkg.Box",
            "pkg.Box.LIMIT",
            "pkg.Box.all",
            "pkg.Box.fill",
            "pkg.Box.half",
            "pkg.Box.inner",
            "pkg.Box.settle",
            "pkg.Box.size",
            "pkg.core.Inner.depth",
            "pkg.core.Inner.dig",
            "pkg.make",
        ]
    );
    assert_eq!(
        uses(&made, "pkg.make"),
        [
            (4, How::Import),
            (9, How::Call),
            (15, How::Patch),
            (21, How::Call)
        ]
    );
    assert_eq!(uses(&made, "pkg.Box.fill"), [(10, How::Call)]);
    assert_eq!(
        uses(&made, "pkg.core.Inner.dig"),
        [(10, How::Call), (16, How::Patch)]
    );
    assert_eq!(uses(&made, "pkg.Box.half"), [(11, How::Read)]);
    assert_eq!(uses(&made, "pkg.core.Inner.depth"), [(13, How::Read)]);
    assert_eq!(uses(&made, "pkg.Box.size"), [(14, How::Patch)]);
    assert_eq!(uses(&made, "pkg.Box.LIMIT"), [(17, How::Read)]);
    assert_eq!(uses(&made, "pkg.Box.inner"), [(25, How::Read)]);
    let settle = made
        .symbols
        .iter()
        .find(|s| s.name == "pkg.Box.settle")
        .unwrap();
    let by_name: Vec<(usize, bool)> = settle.uses.iter().map(|u| (u.line, u.by_name)).collect();
    assert_eq!(by_name, [(18, false), (19, true)]);
}

#[test]
fn each_name_has_its_signature_and_what_base_has_of_it() {
    let made = made();
    let symbol = |name: &str| made.symbols.iter().find(|s| s.name == name).unwrap();
    assert_eq!(symbol("pkg.Box").signature, "(size: int, *, kind=\"a\")");
    assert_eq!(symbol("pkg.Box").state, State::InBase);
    assert_eq!(symbol("pkg.Box").keywords, ["kind"]);
    assert_eq!(
        symbol("pkg.Box.fill").signature,
        "(n, fast=False) -> \"Inner\""
    );
    assert_eq!(symbol("pkg.Box.fill").state, State::Changed);
    assert_eq!(symbol("pkg.Box.fill").keywords, ["fast"]);
    assert_eq!(symbol("pkg.Box.settle").state, State::New);
    assert_eq!(symbol("pkg.Box.half").signature, ": int");
    assert_eq!(symbol("pkg.Box.half").kind, SymbolKind::Property);
    let line = CORE
        .lines()
        .position(|l| l.starts_with("def make"))
        .unwrap()
        + 1;
    assert_eq!(
        symbol("pkg.make").defined,
        format!("src/pkg/core.py:{line}")
    );
    // the value of a variable stays out
    assert_eq!(symbol("pkg.Box.LIMIT").signature, "");
    assert_eq!(symbol("pkg.Box.LIMIT").kind, SymbolKind::Attribute);
}

#[test]
fn the_helper_that_probes_import_is_none_of_the_projects() {
    let gold = files(&[("src/pkg/core.py", "def make():\n    return 1\n")]);
    let probe = "from infradev_probe import plain\nfrom pkg.core import make\ndef test_a():\n    assert plain(make()) == 1\n";
    let made = contract(&ContractInput {
        spec: &spec(),
        base: &Files::new(),
        gold: &gold,
        official: &files(&[("tests/test_a.py", probe)]),
        probes: &Files::new(),
    });
    let names: Vec<&str> = made.symbols.iter().map(|s| s.name.as_str()).collect();
    assert_eq!(names, ["pkg.core.make"]);
}

#[test]
fn a_name_is_new_where_base_cannot_import_it_and_not_where_it_only_moved() {
    let of = |base: &[(&str, &str)], gold: &[(&str, &str)], test: &str| -> Vec<(String, State)> {
        let made = contract(&ContractInput {
            spec: &spec(),
            base: &files(base),
            gold: &files(gold),
            official: &files(&[("tests/test_a.py", test)]),
            probes: &Files::new(),
        });
        let all = made.symbols.into_iter().map(|s| (s.name, s.state));
        all.collect()
    };
    let hidden = "class Hidden:\n    def go(self, a): pass\n";
    let old = [("src/pkg/__init__.py", ""), ("src/pkg/old.py", hidden)];
    let exported = [
        ("src/pkg/__init__.py", "from .old import Hidden\n"),
        ("src/pkg/old.py", hidden),
    ];
    let test = "from pkg import Hidden\ndef test_a():\n    Hidden().go(1)\n";
    let (class, member) = ("pkg.Hidden".to_owned(), "pkg.Hidden.go".to_owned());
    assert_eq!(
        of(&old, &exported, test),
        [(class.clone(), State::New), (member.clone(), State::InBase)]
    );
    // by the name of the module too, in a call, a read and a patch
    for test in [
        "import pkg\ndef test_a():\n    pkg.Hidden()\n",
        "import pkg\ndef test_a():\n    use(pkg.Hidden)\n",
        "def test_a(monkeypatch):\n    monkeypatch.setattr(\"pkg.Hidden\", None)\n",
    ] {
        let found = of(&old, &exported, test);
        assert_eq!(found, [(class.clone(), State::New)], "{test}");
    }
    // an old name beside the new one
    let both = format!("from pkg.old import Hidden as Other\n{test}");
    assert_eq!(of(&old, &exported, &both)[0], (class.clone(), State::New));
    // it moved, and is imported as before
    let moved = [
        ("src/pkg/__init__.py", "from .new import Hidden\n"),
        ("src/pkg/new.py", hidden),
    ];
    assert_eq!(
        of(&exported, &moved, test),
        [(class.clone(), State::InBase), (member, State::InBase)]
    );
    let other = hidden.replace(
        "class Hidden:",
        "class Hidden:\n    def __init__(self, n): pass",
    );
    let changed = [moved[0], ("src/pkg/new.py", other.as_str())];
    assert_eq!(of(&exported, &changed, test)[0], (class, State::Changed));
}

#[test]
fn what_calls_strings_and_special_methods_reach_is_found() {
    let core = "from typing import NamedTuple\n\
        class Point(NamedTuple):\n    x: int\n    y: int = 0\n\
        class Cache:\n    def __len__(self): return 0\n    def __getitem__(self, i): pass\n    def __setitem__(self, i, v): pass\n    \
        def __enter__(self): return self\n    def __exit__(self, *a): pass\n    def __call__(self, x, scale=1): pass\n    \
        def __contains__(self, x): return False\n    def __iter__(self): pass\n    def put(self): pass\n\
        def late(): pass\ndef later(): pass\ndef made(a, *, size=1, depth=2): pass\ndef one(): pass\ndef two(): pass\n";
    let test = "import functools, importlib\nimport pytest\nfrom unittest import mock\n\
        from pkg.core import Cache, Point, made\n\
        new = pytest.importorskip(\"pkg.core\")\n\
        def test_a(mocker):\n    new.late()\n    again = importlib.import_module(\"pkg.core\")\n    again.later()\n    \
        short = functools.partial(made, 1, size=2)\n    short(depth=3)\n    \
        mocker.spy(Cache, \"put\")\n    mock.patch.multiple(\"pkg.core\", one=1, two=2)\n    \
        c = Cache()\n    len(c)\n    c[0]\n    c[0] = 1\n    c(1, scale=2)\n    assert 3 in c\n    \
        with c as d:\n        pass\n    for x in c:\n        pass\n    Point(1)\n";
    let made = contract(&ContractInput {
        spec: &spec(),
        base: &Files::new(),
        gold: &files(&[("src/pkg/core.py", core)]),
        official: &files(&[("tests/test_a.py", test)]),
        probes: &Files::new(),
    });
    let names: Vec<&str> = (made.symbols.iter())
        .map(|s| s.name.strip_prefix("pkg.core.").unwrap())
        .collect();
    assert_eq!(
        names,
        [
            "Cache",
            "Cache.__call__",
            "Cache.__contains__",
            "Cache.__enter__",
            "Cache.__getitem__",
            "Cache.__iter__",
            "Cache.__len__",
            "Cache.__setitem__",
            "Cache.put",
            "Point",
            "late",
            "later",
            "made",
            "one",
            "two",
        ]
    );
    let of = |name: &str| {
        made.symbols
            .iter()
            .find(|s| s.name.ends_with(name))
            .unwrap()
    };
    assert_eq!(of("made").keywords, ["depth", "size"]);
    assert_eq!(of("__call__").keywords, ["scale"]);
    assert_eq!(of("Point").signature, "(x: int, y: int = 0)");
}
