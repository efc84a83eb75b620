//! Symbol edits, as Python runs them, and those of the bundled tasks.

use std::path::Path;
use std::process::Command;

use infradev::python::apply;
use infradev::workspace::{self, Snapshot};

use crate::house::environment;

const GOLD: &str = r#"
import asyncio

class A:
    LIMIT = 3
    def __init__(self): self.seen = []
    def method(self, a, b=LIMIT, *rest, k=2, **kw):
        """Doc."""
        self.seen.append(a)
        return (a, b, rest, k, kw)
    def plain(self): return super().__repr__()[:1]
    @staticmethod
    def still(x, /, *, y=1): return x + y
    @classmethod
    def klass(cls, x): return (cls.__name__, x)
    @property
    def prop(self): return len(self.seen)
    @prop.setter
    def prop(self, value): self.seen = [value]

async def wait(x=1):
    await asyncio.sleep(0)
    return x

def rest(*args, **kwargs): return (args, kwargs)
def count(n):
    for x in range(n):
        yield x
def named(args): return args
"#;

const CHECK: &str = r#"
import asyncio
a = A()
assert A.method.__doc__ == "Doc."
assert a.method(1) == ("wrapped", (1, 3, (), 2, {})), a.method(1)
assert a.method(1, 2, 3, k=4, z=5) == ("wrapped", (1, 2, (3,), 4, {"z": 5}))
assert a.seen == [1, 1]
assert a.plain() == "wrapped <"
assert A.still(1) == -2 and A().still(2, y=3) == -5
assert A.klass(1) == ("wrapped", ("A", 1))
assert a.prop == 102
a.prop = 5
assert a.seen == [6]
assert asyncio.run(wait()) == ("wrapped", 1)
assert rest(1, 2, c=3) == ("wrapped", ((1, 2), {"c": 3}))
assert list(count(3)) == [0, 1, 2, "wrapped"]
assert named(4) == ("wrapped", 4, 0, {})
"#;

#[test]
fn wrappers_of_every_kind_work() {
    let mut toml = "schema = 1\n".to_owned();
    for (symbol, wrap) in [
        ("A.method", "return ('wrapped', _gold(*args, **kwargs))"),
        ("A.plain", "return 'wrapped ' + _gold(*args, **kwargs)"),
        ("A.still", "return -_gold(x, y=y)"),
        ("A.klass", "return ('wrapped', _gold(*args, **kwargs))"),
        ("A.prop", "return _gold(self) + 100"),
        ("A.prop.setter", "_gold(self, value + 1)"),
        ("wait", "return ('wrapped', await _gold())"),
        ("rest", "return ('wrapped', _gold(*args, **kwargs))"),
        (
            "count",
            "yield from _gold(*args, **kwargs)\nyield 'wrapped'",
        ),
        (
            "named",
            "return ('wrapped', _gold(args), len(kwargs), kwargs)",
        ),
    ] {
        toml.push_str("[[edit]]\nfile = 'm.py'\n");
        toml.extend(["symbol = '", symbol, "'\nwrap = '''\n", wrap, "\n'''\n"]);
    }
    let files = apply(&toml, Path::new("x.toml"), |_| Some(GOLD.into())).unwrap();
    let program = format!(
        "{}\n{CHECK}",
        String::from_utf8(files[0].1.clone()).unwrap()
    );
    let python = &environment().python;
    let output = Command::new(python)
        .args(["-c", &program])
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{program}\n{said}");
}

#[test]
fn those_of_the_bundled_tasks_apply_to_gold() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("tasks");
    let store = tempfile::TempDir::new_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let mut applied = 0;
    for task in std::fs::read_dir(root).unwrap() {
        let task = task.unwrap().path();
        if !task.join("base").is_dir() {
            // its sources are elsewhere: `infradev check` applies its edits where a mirror is
            continue;
        }
        let snapshot = Snapshot::from_dir(&task.join("base"), store.path()).unwrap();
        let patch = std::fs::read(task.join("gold.patch")).unwrap();
        let gold = workspace::apply(&snapshot, &patch).unwrap().tree;
        let tree = store.path().join(task.file_name().unwrap());
        snapshot.write_tree(gold, &tree).unwrap();
        for entry in std::fs::read_dir(task.join("adversarial")).unwrap() {
            let file = entry.unwrap().path();
            if file.extension().is_none_or(|e| e != "toml") {
                continue;
            }
            let text = std::fs::read_to_string(&file).unwrap();
            let files = apply(&text, &file, |name| std::fs::read(tree.join(name)).ok()).unwrap();
            for (name, after) in files {
                assert_ne!(std::fs::read(tree.join(&name)).unwrap(), after);
                let mut python = Command::new(&environment().python);
                python.args(["-c", "import ast, sys; ast.parse(sys.argv[1])"]);
                let parsed = python
                    .arg(String::from_utf8(after).unwrap())
                    .output()
                    .unwrap();
                assert!(parsed.status.success(), "{}: {parsed:?}", file.display());
            }
            applied += 1;
        }
    }
    assert!(applied > 0);
}
