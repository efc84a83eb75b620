#![allow(clippy::unwrap_used)]

mod bodies;
mod imports;

use proptest::prelude::*;

use super::*;
use crate::python::Files;
use crate::python::symbols::Module;

fn files(all: &[(&str, &str)]) -> Files {
    all.iter()
        .map(|(path, text)| ((*path).to_owned(), text.as_bytes().to_vec()))
        .collect()
}

fn text<'a>(hollow: &'a Hollow, path: &str) -> &'a str {
    std::str::from_utf8(&hollow.files[path]).unwrap()
}

fn raised(hollow: &Hollow) -> Vec<&str> {
    hollow.raised.iter().map(|r| r.function.as_str()).collect()
}

fn kept(hollow: &Hollow) -> Vec<(&str, Why)> {
    hollow
        .kept
        .iter()
        .map(|k| (k.function.as_str(), k.why))
        .collect()
}

const BASE: &str = r"import os

def old(x):
    # stays
    return  x+1   # as it is

def changes(x):
    return x
";

const GOLD: &str = r#"import os
from dataclasses import dataclass, field
from typing import overload, Iterator

LIMIT = 3

def old(x):
    # stays
    return  x+1   # as it is

def changes(x):
    def inner(y):
        return y
    return inner(x) + 1

@dataclass
class Part:
    name: str
    sizes: list[int] = field(default_factory=list)

    @property
    def total(self) -> int:
        """The sum."""
        return sum(self.sizes)

    @total.setter
    def total(self, value):
        self.sizes = [value]

class Store:
    def __init__(self, a, *, b=LIMIT, **rest):
        """Keeps."""
        super().__init__()
        self.a = a
        self.b: int = b
        self.seen = []
        self.count = 0

    @overload
    def get(self, key: int) -> int: ...
    @overload
    def get(self, key: str) -> str: ...
    def get(self, key):
        if key:
            return self.a
        return self.b

    async def wait(self, *, k=2): return k

    def each(self) -> Iterator[int]:
        # a comment

        for x in self.seen:
            yield x

    def declared(self): ...

class Worker(Store):
    def __init__(self, a):
        self.a = a * 2
"#;

#[test]
fn new_functions_raise_and_all_else_is_golds() {
    let hollow = hollow(&files(&[("m.py", BASE)]), &files(&[("m.py", GOLD)]));
    assert_eq!(hollow.rule, Rule::New);
    let body = RAISES;
    let expected = GOLD
        .replace("        return sum(self.sizes)", &format!("        {body}"))
        .replace("        self.sizes = [value]", &format!("        {body}"))
        .replace(
            "        if key:\n            return self.a\n        return self.b",
            &format!("        {body}"),
        )
        .replace(": return k", &format!(": {body}"))
        .replace(
            "        for x in self.seen:\n            yield x",
            &format!("        {body}\n        yield"),
        )
        .replace("        self.a = a * 2", &format!("        {body}"));
    assert_eq!(text(&hollow, "m.py"), expected);
    assert_eq!(
        raised(&hollow),
        [
            "Part.total",
            "Part.total.setter",
            "Store.get",
            "Store.wait",
            "Store.each",
            "Worker.__init__"
        ]
    );
    assert_eq!(
        kept(&hollow),
        [
            ("changes", Why::NotNew),
            ("Store.__init__", Why::OnlyStores),
            ("Store.declared", Why::DeclaresOnly)
        ]
    );
    let line = GOLD.lines().position(|l| l.contains("def total")).unwrap() + 1;
    assert_eq!(hollow.raised[0].line, line);
}

#[test]
fn changed_functions_raise_where_none_is_added() {
    let gold = BASE.replace("return x\n", "return x * 3\n");
    let made = hollow(&files(&[("m.py", BASE)]), &files(&[("m.py", &gold)]));
    assert_eq!(made.rule, Rule::Changed);
    assert_eq!(raised(&made), ["changes"]);
    assert!(text(&made, "m.py").contains("def changes(x):\n    raise"));
    assert!(text(&made, "m.py").contains("return  x+1   # as it is"));
    // a new function that could not raise adds nothing that a probe could miss
    let gold = format!("{gold}\nclass A:\n    def __init__(self, a):\n        self.a = a\n");
    let made = hollow(&files(&[("m.py", BASE)]), &files(&[("m.py", &gold)]));
    assert_eq!((made.rule, raised(&made)), (Rule::Changed, vec!["changes"]));
}

#[test]
fn comments_docstrings_and_layout_change_no_function() {
    let gold = BASE.replace(
        "def changes(x):\n    return x",
        "def changes( x, ):\n    'doc'\n    # why\n    return x  # so",
    );
    let made = hollow(&files(&[("m.py", BASE)]), &files(&[("m.py", &gold)]));
    assert!(made.files.is_empty() && made.raised.is_empty() && made.kept.is_empty());
    assert_eq!(made.changed, ["m.py"]);
}

#[test]
fn what_only_moved_does_its_work() {
    let gold = files(&[
        (
            "new.py",
            "def old(x):\n    return x+1\n\ndef more(): return 1\n",
        ),
        ("m.py", "def changes(x):\n    return x\n"),
    ]);
    let made = hollow(&files(&[("m.py", BASE)]), &gold);
    assert_eq!(raised(&made), ["more"]);
    assert_eq!(kept(&made), [("old", Why::Moved)]);
    assert_eq!(made.kept[0].note.as_deref(), Some("m.py:3"));
}

#[test]
fn what_runs_at_import_does_its_work() {
    let gold = files(&[
        (
            "pkg/reg.py",
            "TABLE = {}\ndef register(name):\n    def wrap(f):\n        TABLE[name] = check(f)\n        return f\n    note(name)\n    return wrap\n\
             def note(name):\n    print(name)\ndef check(f):\n    return f\ndef later():\n    return 1\n\
             class Log:\n    def __init__(self, n):\n        self.n = n + 1\n    def add(self, x):\n        return x\n",
        ),
        (
            "pkg/use.py",
            "from .reg import Log as L, register as reg\nfrom . import reg as r\n@reg('a')\ndef work(x=r.later()):\n    return x\n\
             LOG = L(1)\nif __name__ == '__main__':\n    work()\n",
        ),
    ]);
    let made = hollow(&Files::new(), &gold);
    assert_eq!(raised(&made), ["Log.add", "work"]);
    let names: Vec<&str> = made.kept.iter().map(|k| k.function.as_str()).collect();
    assert_eq!(
        names,
        ["register", "note", "check", "later", "Log.__init__"]
    );
    assert!(made.kept.iter().all(|k| k.why == Why::RunsAtImport));
    assert_eq!(made.kept[3].note.as_deref(), Some("pkg/use.py:4"));
    // a function of a module that is no method of ours
    let gold = files(&[
        (
            "a.py",
            "class A:\n    def device(self):\n        return 1\n",
        ),
        ("b.py", "import torch\nX = torch.device('cpu')\n"),
    ]);
    assert_eq!(raised(&hollow(&Files::new(), &gold)), ["A.device"]);
    // a class that others derive from is not called for that, but told
    let gold = files(&[(
        "a.py",
        "class A:\n    def __init__(self):\n        self.x = f()\n    def __init_subclass__(cls):\n        note(cls)\nclass B(A):\n    pass\n",
    )]);
    let made = hollow(&Files::new(), &gold);
    assert_eq!(raised(&made), ["A.__init__"]);
    assert_eq!(kept(&made), [("A.__init_subclass__", Why::RunsAtImport)]);
    // an unchanged file imports it as well
    let (base, gold) = (
        files(&[
            ("a.py", "def f():\n    return 1\n"),
            ("b.py", "import a\nX = a.f()\n"),
        ]),
        files(&[
            ("a.py", "def f():\n    return 2\n"),
            ("b.py", "import a\nX = a.f()\n"),
        ]),
    );
    let made = hollow(&base, &gold);
    assert_eq!(kept(&made), [("f", Why::RunsAtImport)]);
}

#[test]
fn what_is_no_python_stays_as_in_gold() {
    let base = files(&[("bad.py", "def f(:\n"), ("c.cu", "int a;")]);
    let gold = files(&[
        ("bad.py", "def f():\n    return 1\n"),
        ("c.cu", "int b;"),
        ("odd.py", "x = (\n"),
        ("ok.py", "def g():\r\n    yield 1\r\n"),
    ]);
    let made = hollow(&base, &gold);
    let unparsed: Vec<&str> = made.unparsed.iter().map(|u| u.path.as_str()).collect();
    assert_eq!(unparsed, ["bad.py", "odd.py"]);
    assert!(made.unparsed[0].why.starts_with("base: line 1"));
    assert_eq!(made.files.len(), 1);
    assert_eq!(
        text(&made, "ok.py"),
        format!("def g():\r\n    {RAISES}\r\n    yield\r\n")
    );
}

fn body() -> impl Strategy<Value = &'static str> {
    prop::sample::select(vec![
        "pass",
        "\"\"\"doc\"\"\"",
        "'doc'; x = 1",
        "return 1  # why",
        "# only\nx = '''a\nb'''",
        "if x:\n    yield x\nelse: pass",
        "@deco\ndef inner():\n    yield 1\nreturn inner",
        "with a as b, c:\n    pass",
        "f'''{x}\n'''\nreturn 1",
        "class In:\n    def m(self): return 1",
        "\n\n# far\n\nassert (x,\n  y)",
        "match x:\n    case 1:\n        pass",
        "...",
        "raise NotImplementedError",
        "return (yield)",
        "lambda: (yield)",
    ])
}

/// A definition at the left margin, by its number.
fn definition() -> impl Strategy<Value = (&'static str, Vec<&'static str>)> {
    let head = prop::sample::select(vec![
        "def N(x=1):",
        "async def N() -> int:  # c",
        "@d\n@e(1)\ndef N(\n    x,\n    *, k: int = LIMIT,\n) -> None:",
        "@property\ndef N(self):",
        "def N(a, /, b, *rest, **kw):",
        "@overload\ndef N(self, x: int): ...\ndef N(self, x):",
    ]);
    (head, prop::collection::vec(body(), 1..3))
}

fn module(parts: &[(&str, Vec<&str>, bool)]) -> String {
    let mut out = String::from("import os\nLIMIT = 3\n");
    for (index, (head, bodies, in_class)) in parts.iter().enumerate() {
        let inner = crate::python::indent::indented(&bodies.join("\n"), "    ").unwrap();
        let one = format!("{}\n{inner}\n", head.replace('N', &format!("f{index}")));
        if *in_class {
            let one = crate::python::indent::indented(&one, "    ").unwrap();
            let class = format!("class C{index}(Base):\n    x: int = {index}\n{one}\n");
            out.push_str(&class);
        } else {
            let function = format!("{one}\nV{index} = [\n  {index}]\n");
            out.push_str(&function);
        }
    }
    out
}

/// Signature, decorators and docstring of every function that stands in no other, and the bytes of
/// its body.
fn shape(text: &str) -> Vec<(String, String, String)> {
    let module = Module::parse(text).unwrap();
    let functions = module.functions();
    let outer = functions.iter().filter(|f| !f.nested);
    outer
        .map(|f| {
            let node = module.node_of(f).unwrap();
            let head = format!(
                "{:?} {} {:?}",
                module.decorators(node),
                &text[f.signature.clone()],
                f.docstring.clone().map(|d| &text[d])
            );
            (f.name.clone(), head, text[f.body.clone()].to_owned())
        })
        .collect()
}

/// The names that a module binds by assignment.
fn names(text: &str) -> Vec<String> {
    text.lines()
        .filter(|l| l.starts_with(char::is_uppercase) || l.starts_with("    x: int ="))
        .map(str::to_owned)
        .collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]
    #[test]
    fn a_hollow_module_keeps_all_but_the_bodies_that_raise(
        old in prop::collection::vec((definition(), any::<bool>()), 0..4),
        new in prop::collection::vec((definition(), any::<bool>()), 0..4),
        windows in any::<bool>(),
    ) {
        let flat = |all: &[((&'static str, Vec<&'static str>), bool)]| -> Vec<_> {
            all.iter().map(|((h, b), c)| (*h, b.clone(), *c)).collect()
        };
        let (old, new) = (flat(&old), flat(&new));
        let ends = |text: String| if windows { text.replace('\n', "\r\n") } else { text };
        let base = ends(module(&old));
        let gold = ends(module(&[old.clone(), new].concat()));
        let made = hollow(&files(&[("m.py", &base)]), &files(&[("m.py", &gold)]));
        prop_assert!(made.unparsed.is_empty());
        let hollowed = made.files.get("m.py").map_or(gold.as_str(), |b| std::str::from_utf8(b).unwrap());
        let (before, after) = (shape(&gold), shape(hollowed));
        prop_assert_eq!(before.len(), after.len());
        prop_assert_eq!(names(&gold).len(), names(hollowed).len());
        for ((name, head, body), (name_after, head_after, body_after)) in before.iter().zip(&after) {
            prop_assert_eq!(name, name_after);
            prop_assert_eq!(head, head_after);
            let raises = made.raised.iter().any(|r| r.function == *name);
            prop_assert_eq!(raises, body_after.contains(RAISES), "{}", name);
            if !raises {
                prop_assert_eq!(body, body_after);
            }
        }
        // every function of base is as it was
        let index = |r: &Raised| r.function.rsplit('f').next().unwrap().parse::<usize>().unwrap();
        let only_new = made.raised.iter().all(|r| index(r) >= old.len());
        prop_assert!(only_new);
        // a generator stays one
        let is_generator = |text: &str, name: &str| {
            let module = Module::parse(text).unwrap();
            let found = module.functions().into_iter().find(|f| f.name == name).unwrap();
            body::is_generator(&module, &found)
        };
        for r in &made.raised {
            prop_assert_eq!(is_generator(&gold, &r.function), is_generator(hollowed, &r.function));
        }
        prop_assert_eq!(hollow(&files(&[("m.py", &gold)]), &files(&[("m.py", &gold)])).files.len(), 0);
    }
}
