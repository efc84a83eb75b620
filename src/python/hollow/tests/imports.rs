//! What is found to run at import, and what is not.

use super::*;

/// What keeps its body as it runs at import, in new files.
fn runs(all: &[(&str, &str)]) -> Vec<String> {
    let made = hollow(&Files::new(), &files(all));
    assert_eq!(made.unparsed, []);
    let kept = made.kept.iter().filter(|k| k.why == Why::RunsAtImport);
    kept.map(|k| k.function.clone()).collect()
}

#[test]
fn what_python_calls_unseen_runs_at_import() {
    for (text, expected) in [
        (
            "class Meta(type):\n    def __new__(m, *a):\n        return work(a)\nclass M(metaclass=Meta):\n    x = 1\n",
            "Meta.__new__",
        ),
        (
            "class Meta(type):\n    def __init__(c, *a):\n        work(a)\nclass M(metaclass=Meta):\n    x = 1\nclass N(M):\n    x = 2\n",
            "Meta.__init__",
        ),
        (
            "class A:\n    def __init__(self, n):\n        self.n = n + 1\nclass B(A):\n    pass\nDEFAULT = B(1)\n",
            "A.__init__",
        ),
        (
            "class R(Generic[T]):\n    def __init_subclass__(cls):\n        work(cls)\nclass I(R[int]):\n    pass\n",
            "R.__init_subclass__",
        ),
        (
            "class R:\n    def __init_subclass__(cls):\n        work(cls)\nclass S(R):\n    pass\nclass I(S):\n    pass\n",
            "R.__init_subclass__",
        ),
        (
            "class Field:\n    def __set_name__(self, owner, name):\n        self.name = name + '_'\nclass A:\n    x = Field()\n",
            "Field.__set_name__",
        ),
        (
            "class Quiet:\n    def __exit__(self, *a):\n        work(a)\nwith Quiet():\n    X = 1\n",
            "Quiet.__exit__",
        ),
        (
            "def norm(x):\n    return -x\nALL = sorted([1, 2], key=norm)\n",
            "norm",
        ),
        (
            "def mapped(x):\n    return -x\nALL = list(map(mapped, [1, 2]))\n",
            "mapped",
        ),
        (
            "class Flag:\n    def __or__(self, other):\n        return work(other)\nALL = Flag(1) | Flag(2)\n",
            "Flag.__or__",
        ),
        (
            "class Box:\n    def __getitem__(self, at):\n        return work(at)\nb = Box()\nX = b[0]\n",
            "Box.__getitem__",
        ),
        (
            "class Box:\n    @property\n    def size(self):\n        return work(self)\nX = Box().size\n",
            "Box.size",
        ),
        ("double = lambda x: 2 * x\nX = double(1)\n", "double"),
    ] {
        assert_eq!(runs(&[("m.py", text)]), [expected], "{text}");
    }
}

#[test]
fn what_a_called_function_gives_runs_where_it_is_called_too() {
    let text = "def reg(name):\n    def wrap(f):\n        return check(f)\n    return wrap\n\
                def check(f):\n    return f\n@reg('a')\ndef work():\n    return 1\n";
    assert_eq!(runs(&[("m.py", text)]), ["reg", "check"]);
    // what a decorator puts in a function's place waits for its call
    let text = "def deco(f):\n    def wrap(*a):\n        return later(f)\n    return wrap\n\
                def later(f):\n    return f\n@deco\ndef work():\n    return 1\n";
    assert_eq!(runs(&[("m.py", text)]), ["deco"]);
}

#[test]
fn a_name_alone_is_no_call_of_a_method() {
    let cache = "class Cache:\n    def get(self, k):\n        return k\n    def append(self, k):\n        return k\n    def sort(self):\n        return 1\n";
    let config = "import os\nimport sys\nNAMES = ['b', 'a']\nDEBUG = os.environ.get('DEBUG')\nsys.path.append('/x')\nNAMES.sort()\n";
    let all = [("pkg/cache.py", cache), ("pkg/config.py", config)];
    assert_eq!(runs(&all), Vec::<String>::new());
    // nor is another module's function
    let paths = "from os.path import join\nX = join('a', 'b')\n";
    let own = "def join(a, b):\n    return a + b\n";
    let all = [("pkg/own.py", own), ("pkg/paths.py", paths)];
    assert_eq!(runs(&all), Vec::<String>::new());
}

#[test]
fn an_object_of_the_class_is_known_through_imports() {
    let cache = "class Cache:\n    def get(self, k):\n        return k\n    @classmethod\n    def make(cls):\n        return cls()\nDEFAULT = Cache()\n";
    for user in [
        "from .cache import DEFAULT\nX = DEFAULT.get(1)\n",
        "from pkg.cache import Cache as C\nc = C()\nX = c.get(1)\n",
        "import pkg.cache\nX = pkg.cache.DEFAULT.get(1)\n",
        "from . import cache as c\nX = c.Cache().get(1)\n",
        "from .all import *\nX = DEFAULT.get(1)\n",
    ] {
        let all = [
            ("src/pkg/__init__.py", ""),
            ("src/pkg/cache.py", cache),
            ("src/pkg/all.py", "from .cache import *\n"),
            ("src/pkg/user.py", user),
        ];
        assert_eq!(runs(&all), ["Cache.get"], "{user}");
    }
    let user = "from .cache import Cache\nX = Cache.make()\n";
    let all = [("pkg/cache.py", cache), ("pkg/user.py", user)];
    assert_eq!(runs(&all), ["Cache.make"]);
}

#[test]
fn an_unchanged_function_that_runs_at_import_is_followed() {
    let old = "from . import new\ndef setup():\n    return new.Table().fill()\nTABLE = setup()\n";
    let base = files(&[("pkg/old.py", old)]);
    let new = "class Table:\n    def fill(self):\n        return self.more()\n    def more(self):\n        return 1\n    def rest(self):\n        return 2\n";
    let gold = files(&[("pkg/old.py", old), ("pkg/new.py", new)]);
    let made = hollow(&base, &gold);
    assert_eq!(raised(&made), ["Table.rest"]);
    assert_eq!(made.kept[0].note.as_deref(), Some("pkg/old.py:4"));
}

#[test]
fn what_a_run_told_keeps_its_body_and_what_that_calls() {
    let text = "class A:\n    def run(self):\n        return helper()\ndef helper():\n    return 1\ndef other():\n    return 2\nTABLE = {}\nTABLE['a'] = [A()][0].run()\n";
    let gold = files(&[("m.py", text)]);
    let made = hollow(&Files::new(), &gold);
    assert_eq!(raised(&made), ["A.run", "helper", "other"]);
    // the places that a traceback names, of which one raises
    let line = |words: &str| {
        let hollow = super::text(&made, "m.py");
        hollow.lines().position(|l| l.contains(words)).unwrap() + 1
    };
    let raise = line("def run") + 1;
    let places = [
        ("m.py".to_owned(), line("TABLE['a']")),
        ("m.py".to_owned(), raise),
        ("gone.py".to_owned(), 1),
        ("m.py".to_owned(), 999),
    ];
    let found: Vec<&str> = raised_in(&made, &places)
        .iter()
        .map(|r| r.function.as_str())
        .collect();
    assert_eq!(found, ["A.run"]);
    let works = Works::from([(("m.py".into(), "A.run".into()), "a run told".into())]);
    let made = hollow_but(&Files::new(), &gold, &works);
    assert_eq!(raised(&made), ["other"]);
    assert_eq!(made.kept[0].note.as_deref(), Some("a run told"));
}
