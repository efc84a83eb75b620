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

/// What the file makes: its end wraps these.
fn made_of(text: &str) -> Vec<String> {
    let found = twin(text, "n0").unwrap();
    assert!(Module::parse(&found.text).is_ok(), "{}", found.text);
    found.functions
}

#[test]
fn tests_that_no_def_of_the_file_makes_are_wrapped_at_its_end() {
    let text = "from helpers import test_shared, Shared, TestKind as TestAlias\nimport test_tools\n\
        def _make(n):\n    def test_inner():\n        assert n\n    return test_inner\n\
        test_made = _make(3)\nTestMade = type('TestMade', (), {})\n\
        if 1:\n    test_word = lambda: None\ntest_one, (test_two, rest) = a, (b, c)\n\
        for test_turn in []:\n    pass\nlimit = 3\n\
        class Base:\n    def check(self): pass\n    def runTest(self): assert 1\n\
        class TestOf(Shared):\n    pass\nclass TestOwn:\n    test_m = _make(4)\n    class TestIn(Base): pass\n\
        class TestPlain(object):\n    def test_x(self): pass";
    assert_eq!(
        made_of(text),
        [
            "Base.runTest",
            "TestPlain.test_x",
            "test_shared",
            "test_tools",
            "test_made",
            "test_word",
            "test_one",
            "test_two",
            "test_turn",
            "TestAlias.*",
            "TestMade.*",
            "TestOf.*",
            "TestOwn.*",
            "TestOwn.TestIn.*",
        ]
    );
    let made = twin(text, "n0").unwrap().text;
    // lines before the end keep their numbers, and nothing in them names what wraps
    assert!(
        made.lines()
            .zip(text.lines())
            .filter(|(a, b)| a != b)
            .count()
            <= 2
    );
    assert_ne!(
        twin(text, "n1").unwrap().text.lines().last(),
        made.lines().last()
    );
}

#[test]
fn a_name_is_twinned_by_itself_or_by_a_class_around_it() {
    let of = ["test_a", "A.test_m", "B.*", "A.C.*"].map(str::to_owned);
    let known = |name: &str| has_twin(name, |n| of.iter().any(|o| o == n));
    for name in [
        "test_a",
        "A.test_m",
        "B.test_any",
        "B.In.test_x",
        "A.C.test_x",
    ] {
        assert!(known(name), "{name}");
    }
    for name in ["test_b", "A.test_n", "B", "A.D.test_x", "C.test_x"] {
        assert!(!known(name), "{name}");
    }
}

#[test]
fn python_runs_every_twin_and_each_fails() {
    let text = "import unittest\n\
        def _make(n):\n    def made(x=n):\n        assert n\n    return made\n\
        test_made = _make(3)\ntest_word = lambda: None\ntest_data = 3\n\
        class Base:\n    def test_m(self): pass\n    @staticmethod\n    def test_s(): pass\n    @classmethod\n    def test_c(cls): pass\n    test_l = lambda self: None\n\
        class TestOf(Base): pass\n\
        class TestUnit(unittest.TestCase):\n    test_l = lambda self: None\n\
        class TestRun(unittest.TestCase):\n    def runTest(self): pass\n";
    let made = twin(text, "n0").unwrap().text;
    let driver = "\nimport inspect\n\
        def fails(f):\n    try: f()\n    except AssertionError: return\n    raise SystemExit(f'passed: {f}')\n\
        fails(test_made); fails(test_word); assert test_data == 3\n\
        assert str(inspect.signature(test_made)) == '(x=3)'\n\
        one = TestOf()\n\
        for n in ['test_m', 'test_s', 'test_c', 'test_l']: fails(getattr(one, n))\n\
        assert isinstance(inspect.getattr_static(TestOf, 'test_s'), staticmethod)\n\
        for case in [TestUnit('test_l'), TestRun()]:\n    r = unittest.TestResult()\n    case.run(r)\n    assert len(r.failures) == 1, case\n";
    let ran = std::process::Command::new("python3")
        .args(["-c", &format!("{made}{driver}")])
        .output()
        .unwrap();
    assert!(
        ran.status.success(),
        "{}\n{made}",
        String::from_utf8_lossy(&ran.stderr)
    );
}
