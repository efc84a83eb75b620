#![allow(clippy::unwrap_used)]

use super::ParameterKind::{Named, Plain, Rest, Slash};
use super::*;

const TEXT: &str = r#"
import x

@deco(1)
async def f(a, /, b: int = 2, *rest: str, k, d=None, **kw) -> dict[str, int]:  # why
    """Doc
  over lines."""
    return 1

class A(B):
    class In:
        def m(self): return 2
    @property
    def p(self):
        'doc'
    @p.setter
    def p(self, v):
        # first a comment
        if v:
            self.v = v
    @overload
    def o(self): ...
    def o(self, *, k=1):
        def inner(): f"no doc"; return 3
        return inner

if x:
    def late(): b"no doc"
"#;

#[test]
fn names_and_parts() {
    let module = Module::parse(TEXT).unwrap();
    let functions = module.functions();
    let names: Vec<&str> = functions.iter().map(|f| f.name.as_str()).collect();
    let expected = [
        "f",
        "A.In.m",
        "A.p",
        "A.p.setter",
        "A.o",
        "A.o.inner",
        "late",
    ];
    assert_eq!(names, expected);
    let f = &functions[0];
    assert!(f.is_async && !f.nested && f.line == 5);
    assert_eq!(
        &TEXT[f.signature.clone()],
        "async def f(a, /, b: int = 2, *rest: str, k, d=None, **kw) -> dict[str, int]:"
    );
    assert_eq!(
        &TEXT[f.docstring.clone().unwrap()],
        "\"\"\"Doc\n  over lines.\"\"\""
    );
    assert_eq!(&TEXT[f.first.clone().unwrap().range], "return 1");
    let parameters: Vec<(&str, ParameterKind, bool)> = f
        .parameters
        .iter()
        .map(|p| (p.name.as_str(), p.kind, p.has_default))
        .collect();
    assert_eq!(
        parameters,
        [
            ("a", Plain, false),
            ("/", Slash, false),
            ("b", Plain, true),
            ("rest", Rest, false),
            ("k", Plain, false),
            ("d", Plain, true),
            ("kw", Named, false)
        ]
    );
    assert_eq!(functions[1].body_indent, None);
    assert_eq!(functions[2].first, None);
    assert_eq!(functions[3].body_indent.as_deref(), Some("        "));
    assert_eq!(functions[3].statements.len(), 2);
    assert!(functions[3].first.as_ref().unwrap().compound);
    assert_eq!(functions[4].parameters[1].kind, ParameterKind::Star);
    assert!(functions[5].nested && functions[5].docstring.is_none());
    assert!(functions[6].docstring.is_none());
    assert_eq!(module.long_strings().len(), 1);
}

#[test]
fn errors_have_a_line() {
    let error = Module::parse("x = 1\ndef f(:\n    pass\n").err().unwrap();
    assert_eq!(error, ParseError::Syntax { line: 2 });
}

#[test]
fn the_hash_of_a_statement_does_not_depend_on_its_depth() {
    let shallow = "def f():\n    if a:\n        b = 1\n";
    let deep = "class A:\n    def f(self):\n        if a:\n            b = 1\n";
    let hash = |text| {
        let module = Module::parse(text).unwrap();
        module.functions()[0].statements[0].hash(text)
    };
    assert_eq!(hash(shallow), hash(deep));
    assert_eq!(hash(shallow).len(), 64);
}
