//! Must-fail twins of tests (DESIGN.md, The judge's mechanics): the same file, in which every
//! test's body begins with a comparison that fails. A twin that is reported as passed was not run
//! by pytest. The comparison is of numbers that differ from test to test and from run to run, so
//! that neither its message nor its text is one that code could wait for.

use sha2::{Digest, Sha256};

use super::symbols::{Function, Module, ParseError};

/// A test file and its tests.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Twin {
    pub text: String,
    /// Qualified names of the functions that fail now.
    pub functions: Vec<String>,
}

/// Makes every test function and method of a file fail before its first statement; `nonce` decides
/// on which numbers. Lines keep their numbers, but for those after a body that begins with a
/// statement that has a block of its own: such a body grows by a line.
pub fn twin(text: &str, nonce: &str) -> Result<Twin, ParseError> {
    let module = Module::parse(text)?;
    let (mut out, mut at, mut functions) = (String::new(), 0, Vec::new());
    for function in module.functions() {
        if function.nested || !is_test(&function) {
            continue;
        }
        let (place, words) = insertion(&function, &failing(nonce, functions.len()));
        out.push_str(&text[at..place]);
        out.push_str(&words);
        at = place;
        functions.push(function.name);
    }
    out.push_str(&text[at..]);
    Ok(Twin {
        text: out,
        functions,
    })
}

/// As pytest and unittest name tests, and more: a helper that raises makes its tests fail too.
fn is_test(function: &Function) -> bool {
    let name = function.name.rsplit('.').next().unwrap_or_default();
    name.starts_with("test") || name.starts_with("Test")
}

/// A comparison that fails, as a test's own would.
fn failing(nonce: &str, index: usize) -> String {
    let digest = Sha256::digest(format!("{nonce} {index}"));
    let small = u32::from(u16::from_le_bytes([digest[0], digest[1]])) % 1000;
    let large = small + 1 + u32::from(digest[2]) % 97;
    let part = digest[3] % 10;
    match digest[4] % 4 {
        0 => format!("assert {small} == {large}"),
        1 => format!("assert {large}.{part} == {small}.{part}"),
        2 => format!("assert {large} <= {small}"),
        _ => format!("assert {small}.{part} > {large}.{part}"),
    }
}

fn insertion(function: &Function, raise: &str) -> (usize, String) {
    match (&function.docstring, &function.first) {
        (Some(doc), _) => (doc.end, format!("; {raise}")),
        (None, Some(first)) if first.compound => {
            let indent = first.indent.as_deref().unwrap_or_default();
            (first.range.start, format!("{raise}\n{indent}"))
        }
        (None, _) => (function.body.start, format!("{raise}; ")),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_twins_comparison_always_fails() {
        for index in 0..2000 {
            let text = failing("n", index);
            let words: Vec<&str> = text.split(' ').collect();
            let (left, right): (f64, f64) = (words[1].parse().unwrap(), words[3].parse().unwrap());
            let holds = match words[2] {
                "==" => (left - right).abs() < 1e-9,
                "<=" => left <= right,
                _ => left > right,
            };
            assert!(!holds, "{text}");
        }
    }

    #[test]
    fn every_shape_of_a_test() {
        let text = r#"
import pytest
def helper(): return 1
def test_plain():
    assert 1
@pytest.mark.parametrize("x", [1])
async def test_doc(x):
    """Doc
    of two lines."""  # why

    for y in x:
        assert y
def test_one_line(): assert 1; assert 2
def test_only_doc(): "doc"
class TestA:
    class TestB:
        def test_m(
            self,
            x,
        ) -> None:  # comment
            # comment

            with x:
                def test_inner(): pass
    def helper(self): pass
"#;
        let twin = twin(text, "n0").unwrap();
        let r = |index| failing("n0", index);
        let expected = text
            .replace("    assert 1\n@", &format!("    {}; assert 1\n@", r(0)))
            .replace("lines.\"\"\"", &format!("lines.\"\"\"; {}", r(1)))
            .replace(": assert 1;", &format!(": {}; assert 1;", r(2)))
            .replace("\"doc\"", &format!("\"doc\"; {}", r(3)))
            .replace(
                "            with x",
                &format!("            {}\n            with x", r(4)),
            );
        assert_eq!(twin.text, expected);
        assert_eq!(
            twin.functions,
            [
                "test_plain",
                "test_doc",
                "test_one_line",
                "test_only_doc",
                "TestA.TestB.test_m"
            ]
        );
        assert!(Module::parse(&twin.text).is_ok());
    }

    fn body() -> impl Strategy<Value = &'static str> {
        prop::sample::select(vec![
            "pass",
            "\"\"\"doc\"\"\"",
            "'doc'; x = 1",
            "x = 1  # why",
            "# only\nx = '''a\nb'''",
            "if x:\n    pass\nelse: pass",
            "@deco\ndef inner():\n    return 1",
            "def test_inner(): pass",
            "with a as b, c:\n    pass",
            "for x in y: pass",
            "f'''{x}\n'''\nreturn 1",
            "r'doc'\nwhile x:\n    pass",
            "b'no doc'",
            "class Test:\n    def test(self): pass",
            "async with a:\n    pass",
            "\n\n# far\n\nassert (x,\n  y)",
            "try:\n    x\nfinally:\n    y",
            "match x:\n    case 1:\n        pass",
            "'a' 'b'",
            "yield",
        ])
    }

    fn shape() -> impl Strategy<Value = String> {
        let head = prop::sample::select(vec![
            "def test_a(x=1):",
            "async def test_b() -> int:  # c",
            "@d\n@e(1)\ndef test_c(\n    x,\n):",
            "def Test_d():",
            "def help():",
        ]);
        let class = prop::sample::select(vec![0, 1, 2]);
        (head, prop::collection::vec(body(), 1..3), class).prop_map(|(head, bodies, depth)| {
            let inner = super::super::indent::indented(&bodies.join("\n"), "    ").unwrap();
            let mut text = format!("{head}\n{inner}\n");
            for name in ["A", "B"].iter().take(depth) {
                let inner = super::super::indent::indented(&text, "\t").unwrap();
                text = format!("class Test{name}:\n{inner}\n");
            }
            text
        })
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(300))]
        #[test]
        fn a_twin_is_python_and_each_of_its_tests_raises_first(
            parts in prop::collection::vec(shape(), 1..4)
        ) {
            let text = parts.join("\n");
            let twin = twin(&text, "n0").unwrap();
            let module = Module::parse(&twin.text).unwrap();
            let functions = module.functions();
            let tests: Vec<&Function> = functions
                .iter()
                .filter(|f| !f.nested && is_test(f))
                .collect();
            prop_assert_eq!(tests.len(), twin.functions.len());
            for (index, test) in tests.into_iter().enumerate() {
                let first = test.first.as_ref().unwrap();
                let expected = failing("n0", index);
                prop_assert_eq!(&twin.text[first.range.clone()], expected.as_str());
            }
            let original = Module::parse(&text).unwrap().functions().len();
            prop_assert_eq!(functions.len(), original);
        }
    }
}
