#![allow(clippy::unwrap_used)]

use std::collections::BTreeSet;

use super::*;
use crate::python::Files;
use crate::python::symbols::Module;

const BASE: &str = "import numpy as np\n\ndef old(x, n):\n    if x < n:\n        return x + 1\n    return x\n\nLIMIT = 1\nA = 1\nB = 2\nC = 3\nD = 4\nE = 5\nF = 6\nG = 7\nH = 8\nNAME = 'a'\n";
const NEW: &str = r#"
class Reducer:
    def __init__(self, parts):
        self.parts = list(parts)

    def take(self, rows, start, stop, weighted=False):
        if not rows:
            raise ValueError("none")
        self.count += len(rows)
        self.seen.append(rows[start:stop].copy())
        total = self.group.all_reduce(rows, op="sum").astype(np.float64)
        for i in range(len(rows) - 1):
            if i >= stop and weighted:
                total = total * self.scale
        return [r for r in total if r > 0]
"#;

fn made() -> (String, Mutants) {
    let gold = BASE
        .replace("LIMIT = 1\n", &format!("LIMIT = 1\n{NEW}"))
        .replace("'a'", "'b'");
    let tree = |text: &str| Files::from([("pkg/red.py".to_owned(), text.as_bytes().to_vec())]);
    let made = mutants(&tree(BASE), &tree(&gold));
    (gold, made)
}

#[test]
fn every_operator_works_in_changed_lines_only() {
    let (gold, made) = made();
    let operators: BTreeSet<&str> = made.mutants.iter().map(|m| m.operator.name()).collect();
    let expected = [
        "always-branch",
        "drop-branch",
        "ignore-flag",
        "narrow-type",
        "off-by-one",
        "return-nothing",
        "revert-hunk",
        "send-everything",
        "skip-second-update",
        "skip-statement",
        "stale-reference",
        "swallow-error",
        "swap-arithmetic",
        "swap-sum-mean",
    ];
    assert_eq!(operators.into_iter().collect::<Vec<_>>(), expected);
    let names: BTreeSet<&str> = made.mutants.iter().map(|m| m.name.as_str()).collect();
    let texts: BTreeSet<&str> = made.mutants.iter().map(|m| m.text.as_str()).collect();
    assert_eq!(
        (names.len(), texts.len()),
        (made.mutants.len(), made.mutants.len())
    );
    for mutant in &made.mutants {
        assert!(Module::parse(&mutant.text).is_ok(), "{}", mutant.name);
        assert!(mutant.text != gold && mutant.text != BASE);
        assert!(
            mutant
                .text
                .contains("def old(x, n):\n    if x < n:\n        return x + 1\n")
        );
    }
    assert_eq!((made.hunks, made.bare.len()), (2, 0));
    let has = |part: &str| made.mutants.iter().any(|m| m.text.contains(part));
    for part in [
        "self.parts = parts\n",
        "rows[:].copy()",
        "rows[start:stop - 1].copy()",
        "self.seen.append(rows[start:stop])",
        "op=\"mean\"",
        "np.float32",
        "range(len(rows))",
        "range(len(rows) - 1 - 1)",
        "if i > stop and",
        "if r >= 0]",
        "if True]",
        "total / self.scale",
        "weighted = False\n        if not rows",
        "            pass\n        self.count += len(rows)",
        "        _first_17 = id(self) not in globals().setdefault(\"_once_17\", {})\n        if not rows:\n",
        "if _first_17:\n            globals().setdefault(\"_once_17\", {})[id(self)] = self\n            self.count += len(rows)\n",
        "        return None\n",
    ] {
        assert!(has(part), "{part}");
    }
}

#[test]
fn every_hunk_has_one_and_base_alone_is_none() {
    let of = |all: &[(&str, &str)]| -> Files {
        let one = |(path, text): &(&str, &str)| ((*path).to_owned(), text.as_bytes().to_vec());
        all.iter().map(one).collect()
    };
    let base = of(&[("a.py", "from b import c\n")]);
    let both = of(&[
        ("a.py", "from b import d\n"),
        ("new.py", "from a import d\n"),
    ]);
    let made = mutants(&base, &both);
    let texts: Vec<&str> = made.mutants.iter().map(|m| m.text.as_str()).collect();
    assert_eq!((texts, made.bare.len()), (vec!["from b import c\n", ""], 0));
    let made = mutants(&base, &of(&[("a.py", "from b import d\n")]));
    assert_eq!((made.mutants.len(), made.bare.len(), made.hunks), (0, 1, 1));
}

#[test]
fn names_do_not_change_with_lines_elsewhere() {
    let names = |gold: &str| -> BTreeSet<String> {
        let tree = |text: &str| Files::from([("a.py".to_owned(), text.as_bytes().to_vec())]);
        let made = mutants(&tree(""), &tree(gold));
        made.mutants.into_iter().map(|m| m.name).collect()
    };
    let one = "def f(x):\n    return x + 1\n";
    let found = names(one);
    assert!(found.iter().all(|n| n.contains("-a-f-")), "{found:?}");
    assert!(names(&format!("# a comment\n\n{one}")).is_superset(&found));
}

fn texts(gold: &str) -> Vec<(Operator, String)> {
    let tree = |text: &str| Files::from([("a.py".to_owned(), text.as_bytes().to_vec())]);
    let made = mutants(&tree(""), &tree(gold));
    let all = made.mutants.into_iter();
    all.map(|m| (m.operator, m.text)).collect()
}

#[test]
fn a_bound_is_missed_as_a_whole_and_once() {
    let of = |line: &str| -> Vec<String> {
        let head = "def f(a, n, i, on):\n    ";
        let all = texts(&format!("{head}{line}\n")).into_iter();
        let all = all.filter(|(o, _)| *o == Operator::OffByOne);
        all.map(|(_, t)| t.replace(head, "").trim().to_owned())
            .collect()
    };
    assert_eq!(of("g(a[n or 1:])"), ["g(a[(n or 1) - 1:])"]);
    assert_eq!(
        of("g(range(n if on else 2))"),
        ["g(range((n if on else 2) - 1))"]
    );
    assert_eq!(of("g(range(i + 1))"), ["g(range(i))"]);
    assert_eq!(of("g(a[:i + 1])"), ["g(a[:i])"]);
    assert_eq!(of("g(range(*a))"), [""; 0]);
    assert_eq!(of("g(range(2 * i))"), ["g(range(2 * i - 1))"]);
}

#[test]
fn a_mutant_that_differs_by_a_comment_is_none() {
    let of = |text: &str| {
        let tree = |text: &str| Files::from([("a.py".to_owned(), text.as_bytes().to_vec())]);
        let made = mutants(&tree("X = 1\n# old\n\nY = 2\n"), &tree(text));
        made.mutants.len()
    };
    assert_eq!(of("X = 1\n# new\n\nY = 2\n"), 0);
}

#[test]
fn a_file_that_gold_deletes_is_a_hunk() {
    let base = Files::from([
        ("gone.py".to_owned(), b"X = 1\n".to_vec()),
        ("a.py".to_owned(), b"from gone import X\n".to_vec()),
    ]);
    let gold = Files::from([("a.py".to_owned(), b"X = 2\n".to_vec())]);
    let made = mutants(&base, &gold);
    assert_eq!((made.hunks, made.bare.len()), (2, 0));
    let stays = made.mutants.iter().find(|m| m.path == "gone.py").unwrap();
    assert_eq!((stays.text.as_str(), stays.line), ("X = 1\n", 1));
    let only = mutants(
        &base,
        &Files::from([("a.py".to_owned(), base["a.py"].clone())]),
    );
    assert_eq!((only.hunks, only.bare.len(), only.mutants.len()), (1, 1, 0));
}

#[test]
fn the_second_call_is_skipped_and_no_second_turn_of_a_loop() {
    let gold = "class A:\n    __slots__ = ('seen',)\n    def __init__(self):\n        self.seen = []\n    def take(self, rows):\n        \"\"\"Doc.\"\"\"\n        for r in rows:\n            self.seen.append(\n                r)\n";
    let (_, made) = texts(gold)
        .into_iter()
        .find(|(o, _)| *o == Operator::SkipSecondUpdate)
        .unwrap();
    let driver = "\na, b = A(), A()\nfor x in (a, b):\n    x.take([])\n    x.take([1, 2])\n    x.take([3])\n    assert x.seen == [1, 2], x.seen\n";
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

#[test]
fn another_text_is_another_name_whatever_the_operator() {
    let (_, all) = made();
    let known: BTreeSet<Operator> = all.mutants.iter().map(|m| m.operator).collect();
    assert!(known.contains(&Operator::SkipSecondUpdate), "{known:?}");
    for operator in known {
        let named = |text: &str| {
            let edit = operators::Edit {
                operator,
                line: 3,
                range: 0..6,
                text: text.into(),
                summary: "the same".into(),
            };
            run::name("pkg/a.py", "f", BASE, &edit)
        };
        assert_eq!(named("a = 1"), named("a = 1"));
        // a mark of the one does not excuse the other
        assert_ne!(named("a = 1"), named("a = 2"), "{operator:?}");
    }
}
