//! What holds for any two trees, and what people do to functions.
#![allow(clippy::unwrap_used)]

use std::collections::HashSet;
use std::sync::Arc;

use proptest::prelude::*;

use super::*;
use crate::diff::{DiffOptions, Layout, Row, Rows};

/// A file of functions: name and body, each with a head.
fn file(path: &str, functions: &[(&str, String)]) -> SourceFile {
    let mut text = String::new();
    let mut units = Vec::new();
    let mut line = 0;
    for (name, body) in functions {
        let own = format!("def {name}():\n{body}");
        let count = own.lines().count() as u32;
        units.push(Unit {
            kind: UnitKind::Function,
            name: (*name).to_owned(),
            lines: std::iter::once(line..line + count).collect(),
        });
        line += count;
        text.push_str(&own);
    }
    SourceFile::new(path, Arc::new(text.into_bytes()), units)
}

/// A body that no other seed has.
fn body(seed: usize) -> String {
    let line = |n| format!("    v{seed}_{n} = call_{seed}(a{n}, {})", seed * 7 + n);
    let lines: Vec<String> = (0..8).map(line).collect();
    lines.join("\n") + "\n"
}

fn without_first(text: &str, lines: usize) -> String {
    text.split_inclusive('\n').skip(lines).collect()
}

/// `left name @ path > right name @ path: how, touched`.
fn brief(found: &[Aligned], left: &[SourceFile], right: &[SourceFile]) -> Vec<String> {
    let name = |files: &[SourceFile], at: Option<At>| {
        at.map_or("-".to_owned(), |at| {
            let file = &files[at.file];
            format!("{}@{}", file.units[at.unit].name, file.path)
        })
    };
    let line = |a: &Aligned| {
        let how = match a.how {
            None => "alone",
            Some(How::Place) => "place",
            Some(How::Name) => "name",
            Some(How::Likeness(_)) => "likeness",
        };
        let (l, r) = (name(left, a.left), name(right, a.right));
        format!("{l} > {r}: {how}, {:?}", a.touched)
    };
    found.iter().map(line).collect()
}

#[test]
fn moves_renames_and_what_has_no_counterpart() {
    let base = [
        file(
            "a.py",
            &[("stays", body(1)), ("moved", body(2)), ("gone", body(3))],
        ),
        file("other.py", &[("untouched", body(9))]),
    ];
    let left = [
        file("a.py", &[("stays", body(1) + "    more = 1\n")]),
        file(
            "b.py",
            &[
                ("moved", body(2)),
                ("Flat.add", body(4)),
                ("only_left", body(5)),
            ],
        ),
        file("other.py", &[("untouched", body(9))]),
    ];
    let right = [
        file(
            "a.py",
            &[("stays", body(1)), ("moved", body(2)), ("gone", body(3))],
        ),
        file(
            "c.py",
            &[
                ("Arena.put", body(4).replace("a3", "value")),
                ("only_right", body(6)),
            ],
        ),
        file("other.py", &[("untouched", body(9))]),
    ];
    let found = align(&base, &left, &right);
    assert_eq!(
        brief(&found, &left, &right),
        [
            "stays@a.py > stays@a.py: place, Left",
            "moved@b.py > moved@a.py: name, Left",
            "Flat.add@b.py > Arena.put@c.py: likeness, Both",
            "only_left@b.py > -: alone, Left",
            "- > gone@a.py: alone, Left",
            "- > only_right@c.py: alone, Right",
        ]
    );
    // a pair is rows like any other, and its lines have the numbers of their files
    let pair = found[2];
    let (l, r) = (pair.left.unwrap(), pair.right.unwrap());
    let sides = (&left[l.file], &right[r.file]);
    let options = DiffOptions::default();
    let diff = SourceFile::diff(Some((sides.0, l.unit)), Some((sides.1, r.unit)), options);
    assert_eq!((diff.added, diff.removed), (2, 2), "the head and one line");
    let rows = Rows::new(&diff, Layout::SideBySide, 3);
    let Some(Row::Line {
        old: Some(old),
        new: Some(new),
        ..
    }) = rows.row(&diff, 0)
    else {
        panic!("the heads stand beside each other");
    };
    assert_eq!((old.no, new.no), (10, 1));
    assert_eq!(old.text(&sides.0.text), b"def Flat.add():");
}

#[test]
fn a_removed_file_is_found_under_its_new_path() {
    let whole = |path: &str, seed: usize| {
        SourceFile::whole(path, Arc::new((body(seed) + &body(seed + 1)).into_bytes()))
    };
    let removed = [whole("a.py", 1), whole("b.py", 5)];
    let added = [whole("x.py", 20), whole("y.py", 5)];
    assert_eq!(renames(&removed, &added), [(1, 1)]);
}

#[test]
fn lines_that_are_not_there_are_left_out() {
    let unit = Unit {
        kind: UnitKind::Class,
        name: "A".into(),
        lines: vec![7..9, 1..2, 0..50, 1..1],
    };
    let file = SourceFile::new("a", Arc::new(b"one\ntwo\n".to_vec()), vec![unit]);
    assert_eq!(file.lines_of(0).count(), 2);
    assert_eq!(file.lines_of(7).count(), 0);
    let binary = SourceFile::whole("b", Arc::new(b"a\0b".to_vec()));
    let diff = SourceFile::diff(
        Some((&binary, 0)),
        Some((&binary, 0)),
        DiffOptions::default(),
    );
    assert!(diff.notices[0].hides_rows());
}

/// Any tree: few names and bodies, so that all ways to pair are taken.
fn tree() -> impl Strategy<Value = Vec<SourceFile>> {
    let functions = proptest::collection::vec((0..6_usize, 0..6_usize, 0..3_usize), 0..6);
    proptest::collection::vec(functions, 0..4).prop_map(|files| {
        let names = ["f", "g", "A.f", "A.__init__", "B.g", "h"];
        let mut out = Vec::new();
        for (at, functions) in files.into_iter().enumerate() {
            let functions: Vec<(&str, String)> = functions
                .into_iter()
                .map(|(name, seed, cut)| {
                    let text = without_first(&body(seed), cut * 2);
                    (names[name], text)
                })
                .collect();
            out.push(file(["a.py", "b.py", "c.py", "a.py"][at], &functions));
        }
        out
    })
}

fn ends(found: &[Aligned], side: impl Fn(&Aligned) -> Option<At>) -> Vec<At> {
    found.iter().filter_map(side).collect()
}

proptest! {
    #[test]
    fn pairs_are_one_to_one_and_complete(base in tree(), left in tree(), right in tree()) {
        let found = align(&base, &left, &right);
        for all in [ends(&found, |a| a.left), ends(&found, |a| a.right)] {
            let distinct: HashSet<&At> = all.iter().collect();
            prop_assert_eq!(distinct.len(), all.len());
        }
        // with nothing in base, everything is touched: every part is somewhere
        let all = align(&[], &left, &right);
        let parts = |files: &[SourceFile]| files.iter().map(|f| f.units.len()).sum::<usize>();
        prop_assert_eq!(ends(&all, |a| a.left).len(), parts(&left));
        prop_assert_eq!(ends(&all, |a| a.right).len(), parts(&right));
        for pair in &all {
            prop_assert_eq!(pair.how.is_some(), pair.left.is_some() && pair.right.is_some());
        }
    }

    #[test]
    fn a_tree_beside_itself_is_itself(base in tree(), one in tree()) {
        for pair in align(&base, &one, &one) {
            prop_assert_eq!(pair.left, pair.right);
            prop_assert_eq!(pair.how, Some(How::Place));
            prop_assert_eq!(pair.touched, Touched::Both);
        }
        prop_assert!(align(&one, &one, &one).is_empty());
    }

    #[test]
    fn swapped_sides_give_the_same_pairs(base in tree(), left in tree(), right in tree()) {
        let there: HashSet<_> = align(&base, &left, &right)
            .into_iter()
            .map(|a| (a.left, a.right, a.how, a.touched))
            .collect();
        let back: HashSet<_> = align(&base, &right, &left)
            .into_iter()
            .map(|a| (a.right, a.left, a.how, a.touched.swapped()))
            .collect();
        prop_assert_eq!(there, back);
    }

    #[test]
    fn a_moved_function_and_a_renamed_file_are_found(
        count in 2..8_usize,
        which in 0..8_usize,
        cut in 0..3_usize,
    ) {
        let which = which % count;
        let names: Vec<String> = (0..count).map(|n| format!("f{n}")).collect();
        let all: Vec<(&str, String)> = names.iter().enumerate().map(|(n, name)| (name.as_str(), body(n))).collect();
        let before = [file("old/name.py", &all)];
        // the whole file under another path, one function of it in yet another file under
        // another name, with some lines less
        let mut kept = all.clone();
        let (_, text) = kept.remove(which);
        let text = without_first(&text, cut);
        let after = [
            file("new/place.py", &kept),
            file("new/more.py", &[("renamed", text)]),
        ];
        let found = align(&[], &before, &after);
        prop_assert_eq!(found.len(), count);
        for pair in &found {
            let (l, r) = (pair.left.unwrap(), pair.right.unwrap());
            let name = &after[r.file].units[r.unit].name;
            let expected = if l.unit == which { "renamed" } else { names[l.unit].as_str() };
            prop_assert_eq!(name.as_str(), expected);
        }
    }

    #[test]
    fn noise_does_not_panic(
        texts in proptest::collection::vec(proptest::collection::vec(any::<u8>(), 0..200), 2..4),
        cuts in proptest::collection::vec((0..40_u32, 0..40_u32), 0..6),
    ) {
        let files: Vec<SourceFile> = texts
            .into_iter()
            .map(|text| {
                let units = cuts.iter().map(|(a, b)| Unit {
                    kind: UnitKind::Function,
                    name: format!("f{a}"),
                    lines: vec![*a..*b, *b..*a],
                });
                SourceFile::new("x", Arc::new(text), units.collect())
            })
            .collect();
        let (left, right) = files.split_at(1);
        for pair in align(&files, left, right) {
            let part = |side: &[SourceFile], at: Option<At>| at.map(|at| (side[at.file].clone(), at.unit));
            let (l, r) = (part(left, pair.left), part(right, pair.right));
            let old = l.as_ref().map(|(f, u)| (f, *u));
            let new = r.as_ref().map(|(f, u)| (f, *u));
            let diff = SourceFile::diff(old, new, DiffOptions::default());
            for layout in [Layout::Unified, Layout::SideBySide] {
                let rows = Rows::new(&diff, layout, 1);
                for row in 0..rows.len() {
                    prop_assert!(rows.row(&diff, row).is_some());
                }
            }
        }
    }
}
