#![allow(clippy::unwrap_used)]

use super::*;

const TREE: &str = r#"import os

class A:
    LIMIT = 3

    def f(self, a, b=LIMIT, *rest, k=2, **kw):  # kept
        """Doc."""
        # a comment of gold
        text = """one
two"""
        return (self, a, b, rest, k, kw, text)

    def one(self): return 1

    @property
    def p(self):
        return self._p

    @p.setter
    def p(self, value):
        self._p = value

def twice(): return 1
def twice(): return 2

async def wait(x):
    if x:
        x = 0
    x = 0
    return x
"#;

fn run(toml: &str) -> Result<String, EditError> {
    let read = |name: &str| (name == "a.py").then(|| TREE.as_bytes().to_vec());
    let files = apply(toml, Path::new("bad.toml"), read)?;
    assert_eq!(files.len(), 1);
    assert_eq!(files[0].0, "a.py");
    Ok(String::from_utf8(files[0].1.clone()).unwrap())
}

fn edit(symbol: &str, form: &str) -> Result<String, EditError> {
    run(&format!(
        "schema = 1\n[[edit]]\nfile = \"a.py\"\nsymbol = \"{symbol}\"\n{form}\n"
    ))
}

/// What stands between two pieces of the tree afterwards.
#[track_caller]
fn between<'a>(text: &'a str, from: &str, to: &str) -> &'a str {
    let start = text.find(from).unwrap_or_else(|| panic!("{from}: {text}"));
    let end = text[start..]
        .find(to)
        .unwrap_or_else(|| panic!("{to}: {text}"));
    &text[start..start + end]
}

#[test]
fn a_new_body_leaves_signature_and_docstring() {
    let text = edit(
        "A.f",
        "body = '''\nif a:\n    s = \"\"\"x\ny\"\"\"\n\nreturn s\n'''",
    )
    .unwrap();
    assert_eq!(
        between(&text, "    def f", "    def one"),
        r#"    def f(self, a, b=LIMIT, *rest, k=2, **kw):  # kept
        """Doc."""
        if a:
            s = """x
y"""

        return s

"#
    );
    let text = edit("A.one", "body = 'return 2'").unwrap();
    assert_eq!(
        between(&text, "    def one", "    @property"),
        "    def one(self):\n        return 2\n\n"
    );
    let text = edit("A.p.setter", "body = 'pass'").unwrap();
    assert!(text.contains("    @p.setter\n    def p(self, value):\n        pass\n"));
    assert!(text.contains("return self._p"));
}

#[test]
fn a_wrapper_holds_gold() {
    let text = edit(
        "A.f",
        "wrap = '''\nout = _gold(*args, **kwargs)\nreturn out\n'''",
    )
    .unwrap();
    assert_eq!(
        between(&text, "    def f", "    def one"),
        r#"    def f(self, a, b=LIMIT, *rest, k=2, **kw):  # kept
        """Doc."""
        def _gold(self, a, b=b, *rest, k=k, **kw):
            text = """one
two"""
            return (self, a, b, rest, k, kw, text)
        args, kwargs = (self, a, b, *rest, ), {"k": k, **kw}
        out = _gold(*args, **kwargs)
        return out

"#
    );
    let text = edit("wait", "wrap = 'return await _gold(*args, **kwargs)'").unwrap();
    assert!(text.contains("    async def _gold(x):\n        if x:\n            x = 0\n"));
    let text = edit("A.one", "wrap = 'return _gold(self) + 1'").unwrap();
    assert!(text.contains("        def _gold(self):\n            return 1\n"));
}

#[test]
fn one_statement_is_replaced() {
    let module = Module::parse(TREE).unwrap();
    let functions = module.functions();
    let wait = functions.iter().find(|f| f.name == "wait").unwrap();
    let hash = |at: usize| wait.statements[at].hash(TREE)[..12].to_owned();
    let form = |hash: &str, with: &str| {
        format!("replace = {{ statement = \"{hash}\", with = \"{with}\" }}")
    };
    let text = edit(
        "wait",
        &form(&hash(0), "if not x:\\n    x = 5\\nelse:\\n    x = 6"),
    )
    .unwrap();
    assert!(
        text.contains("(x):\n    if not x:\n        x = 5\n    else:\n        x = 6\n    x = 0\n"),
        "{text}"
    );
    let error = edit("wait", &form(&hash(1), "x = 1")).unwrap_err();
    assert!(
        error.message.contains("more than once, in lines 28 and 29"),
        "{error}"
    );
    let error = edit("wait", &form("0123456789", "x = 1")).unwrap_err();
    assert!(
        error
            .message
            .contains(&format!("{} line 30: return x", hash(3))),
        "{error}"
    );
    assert!(edit("wait", &form("01", "x = 1")).is_err());
}

#[test]
fn what_cannot_be_done_names_file_and_line() {
    for (symbol, form, line, message) in [
        ("gone", "body = 'pass'", 4, "a.py has no function gone"),
        ("one", "body = 'pass'", 4, "no function one; there is A.one"),
        (
            "twice",
            "body = 'pass'",
            4,
            "twice more than once, in lines 23 and 24",
        ),
        ("A.one", "body = ''", 5, "there is nothing in it"),
        ("A.one", "body = '  pass'", 5, "left margin"),
        ("A.one", "body = 'return ('", 5, "not Python"),
        ("A.one", "", 2, "exactly one of"),
        ("A.one", "body = 'pass'\nwrap = 'pass'", 2, "exactly one of"),
        ("A.one", "boby = 'pass'", 5, "unknown field `boby`"),
        ("A.one", "body = 1", 5, "invalid type"),
        (
            "A.one",
            "body = 'pass'\n[[edit]]\nfile = 'a.py'\nsymbol = 'A.one'\nbody = '1'",
            8,
            "already",
        ),
        (
            "A.one",
            "body = 'pass'\n[[edit]]\nfile = 'b.py'\nsymbol = 'A.one'\nbody = '1'",
            7,
            "no file b.py",
        ),
        (
            "A.one",
            "body = 'pass'\n[[edit]]\nfile = '../a.py'\nsymbol = 'f'\nbody = '1'",
            7,
            "no path inside",
        ),
        ("A.one", "body = 'pass'\n[more]", 6, "unknown field `more`"),
    ] {
        let error = edit(symbol, form).unwrap_err();
        assert!(error.message.contains(message), "{form}: {error}");
        assert_eq!(error.line, line, "{form}: {error}");
        assert!(error.to_string().starts_with(&format!("bad.toml:{line}: ")));
    }
    assert_eq!(run("schema = 2").unwrap_err().line, 1);
    assert!(
        run("schema = 1")
            .unwrap_err()
            .message
            .contains("no [[edit]]")
    );
    assert!(run("edit = [").is_err());
}

#[test]
fn line_ends_of_windows_stay() {
    let tree = b"def f():\r\n    return 1\r\n\r\nx = 1\r\n".to_vec();
    let toml =
        "schema = 1\n[[edit]]\nfile = 'w.py'\nsymbol = 'f'\nbody = '''\na = 1\nreturn a\n'''\n";
    let files = apply(toml, Path::new("x.toml"), |_| Some(tree.clone())).unwrap();
    assert_eq!(
        String::from_utf8(files[0].1.clone()).unwrap(),
        "def f():\r\n    a = 1\r\n    return a\r\n\r\nx = 1\r\n"
    );
}
