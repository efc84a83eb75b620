//! The row model and the patch reader, on whole texts and on noise.
#![allow(clippy::unwrap_used, clippy::expect_used)]

use std::fmt::Write;

use infradev::diff::patch::{Body, Change, parse};
use infradev::diff::{
    DiffOptions, FileDiff, Layout, Notice, Open, Row, RowKind, Rows, Side, word_diff,
};
use proptest::prelude::*;

fn numbered(count: usize) -> String {
    (1..=count).fold(String::new(), |mut text, n| {
        writeln!(text, "line {n}").unwrap();
        text
    })
}

fn both(old: &str, new: &str) -> FileDiff {
    FileDiff::new(
        Some(old.as_bytes()),
        Some(new.as_bytes()),
        DiffOptions::default(),
    )
}

/// One letter a row with the line numbers; folds with what they hide.
fn brief(rows: &Rows, diff: &FileDiff) -> Vec<String> {
    (0..rows.len())
        .map(|at| match rows.row(diff, at).unwrap() {
            Row::Fold { hidden, .. } => format!("fold {hidden}"),
            Row::Hunk { index } => format!("hunk {index}"),
            Row::Line {
                kind,
                old,
                new,
                pair,
            } => {
                let no =
                    |s: Option<infradev::diff::Span>| s.map_or("-".into(), |s| s.no.to_string());
                match kind {
                    RowKind::Context => format!("  {} {}", no(old), no(new)),
                    RowKind::Removed => format!("- {} ({})", no(old), no(pair)),
                    RowKind::Added => format!("+ {} ({})", no(new), no(pair)),
                    RowKind::Changed => format!("| {} {}", no(old), no(new)),
                }
            }
        })
        .collect()
}

#[test]
fn unchanged_stretches_fold_and_open() {
    let old = numbered(40);
    let new = old
        .replace("line 10\n", "line ten\n")
        .replace("line 14\n", "")
        .replace("line 30\n", "line 30\nline x\n");
    let diff = both(&old, &new);
    let mut rows = Rows::new(&diff, Layout::Unified, 2);
    assert_eq!(
        brief(&rows, &diff),
        [
            "fold 7",
            "  8 8",
            "  9 9",
            "- 10 (10)",
            "+ 10 (10)",
            "  11 11",
            "  12 12",
            "  13 13",
            "- 14 (-)",
            "  15 14",
            "  16 15",
            "fold 12",
            "  29 28",
            "  30 29",
            "+ 30 (-)",
            "  31 31",
            "  32 32",
            "fold 8",
        ]
    );
    assert_eq!(
        rows.hunks(),
        [3, 14],
        "changes without a fold between them are one hunk"
    );
    assert_eq!(rows.row_of(&diff, Side::New, 10), Some(4));
    assert_eq!(rows.row_of(&diff, Side::Old, 14), Some(8));
    assert_eq!(rows.row_of(&diff, Side::Old, 20), Some(11), "the fold");
    assert_eq!(rows.row_of(&diff, Side::New, 99), None);

    assert!(rows.open(&diff, 2, Open::Top(3)));
    assert_eq!(
        &brief(&rows, &diff)[10..16],
        [
            "  16 15", "  17 16", "  18 17", "  19 18", "fold 9", "  29 28"
        ]
    );
    assert!(rows.open(&diff, 2, Open::Bottom(1)));
    assert_eq!(
        &brief(&rows, &diff)[14..17],
        ["fold 8", "  28 27", "  29 28"]
    );
    assert!(rows.open(&diff, 2, Open::All));
    assert!(!rows.open(&diff, 2, Open::All), "nothing left to open");
    assert_eq!(rows.hunks().len(), 1);
    rows.set_context(&diff, 0);
    assert_eq!(brief(&rows, &diff)[0], "fold 9");

    let row = rows.reveal(&diff, Side::New, 20).unwrap();
    assert_eq!(brief(&rows, &diff)[row], "  21 20");
}

#[test]
fn side_by_side_puts_changed_lines_beside_each_other() {
    let old = "a = 1\ntotal = sum(values) / world\nend\n";
    let new = "a = 1\n# weighted\nweights = [1, 2]\ntotal = sum(values) / weight\nend\n";
    let diff = both(old, new);
    let rows = Rows::new(&diff, Layout::SideBySide, 3);
    assert_eq!(
        brief(&rows, &diff),
        ["  1 1", "| - 2", "| - 3", "| 2 4", "  3 5"]
    );
    let Some(Row::Line {
        old: Some(left),
        new: Some(right),
        ..
    }) = rows.row(&diff, 3)
    else {
        panic!("a pair");
    };
    let words = word_diff(left.text(old.as_bytes()), right.text(new.as_bytes())).unwrap();
    assert_eq!((words.old.len(), words.new.len()), (1, 1));
    let unified = Rows::new(&diff, Layout::Unified, 3);
    assert_eq!(
        brief(&unified, &diff),
        ["  1 1", "- 2 (4)", "+ 2 (-)", "+ 3 (-)", "+ 4 (2)", "  3 5"]
    );
}

#[test]
fn the_same_twice_is_one_fold() {
    let text = numbered(9);
    let diff = both(&text, &text);
    assert!(diff.is_same());
    assert_eq!(
        brief(&Rows::new(&diff, Layout::Unified, 3), &diff),
        ["fold 9"]
    );
    let none = both("", "");
    assert!(Rows::new(&none, Layout::Unified, 3).is_empty());
}

#[test]
fn lf_against_crlf_is_one_notice_and_no_stray_cr() {
    let gold = numbered(5);
    let submission = gold.replace("line 3", "line three").replace('\n', "\r\n");
    let strict = both(&gold, &submission);
    assert_eq!(strict.notices, [Notice::LineEndingsDiffer]);
    assert_eq!((strict.added, strict.removed), (5, 5));
    for span in &strict.new {
        assert!(!span.text(submission.as_bytes()).contains(&b'\r'));
    }
    let options = DiffOptions {
        ignore_line_endings: true,
        ..DiffOptions::default()
    };
    let real = FileDiff::new(Some(gold.as_bytes()), Some(submission.as_bytes()), options);
    assert_eq!((real.added, real.removed), (1, 1));
    assert_eq!(real.notices, [Notice::LineEndingsDiffer]);
}

const PATCH: &str = "\
prose
diff --git a/x b/x
old mode 100644
new mode 100755
index 1..2
--- a/x
+++ b/x
@@ -1,3 +1,3 @@ def f():
 a
-b
+B
 c
@@ -20,2 +20,3 @@
 t
+u
 v
\\ No newline at end of file
diff --git a/bin b/bin
index 1234567..89abcde 100644
Binary files a/bin and b/bin differ
diff --git a/gone b/gone
deleted file mode 100644
--- a/gone
+++ /dev/null
@@ -1 +0,0 @@
-g
";

#[test]
fn a_patch_is_shown_without_its_base() {
    let patch = parse(PATCH.as_bytes());
    assert_eq!(patch.problems, []);
    let diff = FileDiff::from_patch(&patch.files[0], PATCH.as_bytes());
    assert_eq!((diff.added, diff.removed), (2, 1));
    assert_eq!(
        diff.notices,
        [
            Notice::Mode {
                old: 0o100_644,
                new: 0o100_755
            },
            Notice::NoNewlineOld,
            Notice::NoNewlineNew
        ]
    );
    let rows = Rows::new(&diff, Layout::Unified, 3);
    assert_eq!(
        brief(&rows, &diff),
        [
            "hunk 0", "  1 1", "- 2 (2)", "+ 2 (2)", "  3 3", "hunk 1", "  20 20", "+ 21 (-)",
            "  21 22"
        ]
    );
    assert_eq!(rows.hunks(), [2, 7]);
    let section = diff.breaks[0].section.clone();
    assert_eq!(
        &PATCH[section.start as usize..section.end as usize],
        "def f():"
    );
    let side = Rows::new(&diff, Layout::SideBySide, 3);
    assert_eq!(
        &brief(&side, &diff)[..4],
        ["hunk 0", "  1 1", "| 2 2", "  3 3"]
    );

    assert_eq!(
        FileDiff::from_patch(&patch.files[1], PATCH.as_bytes()).notices,
        [Notice::NoData]
    );
    let gone = FileDiff::from_patch(&patch.files[2], PATCH.as_bytes());
    assert_eq!(patch.files[2].change, Change::Delete);
    assert_eq!(
        brief(&Rows::new(&gone, Layout::Unified, 3), &gone),
        ["hunk 0", "- 1 (-)"]
    );
}

#[test]
fn a_damaged_patch_shows_what_is_left_of_it() {
    let cut = &PATCH[..PATCH.find("+u").unwrap()];
    let patch = parse(cut.as_bytes());
    assert_eq!(patch.files.len(), 1);
    assert_eq!(patch.files[0].hunks().len(), 1);
    assert_eq!(patch.problems.len(), 1);
    assert!(
        patch.problems[0]
            .message
            .contains("ends inside the hunk of line 13")
    );
}

proptest! {
    #[test]
    fn noise_is_read_without_a_panic(
        cuts in prop::collection::vec((any::<prop::sample::Index>(), any::<prop::sample::Index>(), any::<u8>()), 0..6),
    ) {
        let mut bytes = PATCH.as_bytes().to_vec();
        for (from, to, byte) in cuts {
            let (from, to) = (from.index(bytes.len()), to.index(bytes.len()));
            if from < to && to - from < 40 {
                bytes.splice(from..to, [byte]);
            } else {
                bytes[from] = byte;
            }
        }
        let patch = parse(&bytes);
        for file in &patch.files {
            prop_assert!(file.range.end <= bytes.len());
            if let Body::Hunks(_) = file.body {
                let diff = FileDiff::from_patch(file, &bytes);
                for layout in [Layout::Unified, Layout::SideBySide] {
                    let rows = Rows::new(&diff, layout, 3);
                    for at in 0..rows.len() {
                        prop_assert!(rows.row(&diff, at).is_some());
                    }
                }
            }
        }
    }

    #[test]
    fn rows_show_every_line_of_both_sides_once(
        old in prop::collection::vec(prop::sample::select(vec!["a\n", "b\n", "c\r\n", "\n", "def f(x):\n", "def f(y):\n"]), 0..40),
        new in prop::collection::vec(prop::sample::select(vec!["a\n", "b\n", "c\n", "\n", "def f(x):\n", "def f(y, z):\n"]), 0..40),
        context in 0u32..5,
        opens in prop::collection::vec((0usize..6, 0u32..9, any::<bool>()), 0..5),
    ) {
        let (old, new) = (old.concat(), new.concat());
        let diff = both(&old, &new);
        for layout in [Layout::Unified, Layout::SideBySide] {
            let mut rows = Rows::new(&diff, layout, context);
            for (gap, lines, top) in &opens {
                rows.open(&diff, *gap, if *top { Open::Top(*lines) } else { Open::Bottom(*lines) });
            }
            let (mut left, mut right) = (1, 1);
            for at in 0..rows.len() {
                match rows.row(&diff, at).unwrap() {
                    Row::Fold { hidden, .. } => {
                        prop_assert!(hidden > 1);
                        for line in 0..hidden {
                            prop_assert_eq!(rows.row_of(&diff, Side::Old, left + line), Some(at));
                        }
                        left += hidden;
                        right += hidden;
                    }
                    Row::Line { old: l, new: r, kind, .. } => {
                        if let Some(l) = l {
                            prop_assert_eq!(l.no, left);
                            prop_assert_eq!(rows.row_of(&diff, Side::Old, left), Some(at));
                            left += 1;
                        }
                        if let Some(r) = r {
                            prop_assert_eq!(r.no, right);
                            prop_assert_eq!(rows.row_of(&diff, Side::New, right), Some(at));
                            right += 1;
                        }
                        if kind == RowKind::Context {
                            prop_assert_eq!(l.unwrap().text(old.as_bytes()), r.unwrap().text(new.as_bytes()));
                        }
                    }
                    Row::Hunk { .. } => prop_assert!(false, "two texts have no hunks"),
                }
            }
            prop_assert_eq!(left as usize - 1, old.lines().count());
            prop_assert_eq!(right as usize - 1, new.lines().count());
            for line in 1..right {
                let row = rows.reveal(&diff, Side::New, line).unwrap();
                let shown = matches!(rows.row(&diff, row), Some(Row::Line { new: Some(s), .. }) if s.no == line);
                prop_assert!(shown, "{}", line);
            }
        }
    }

    #[test]
    fn word_ranges_leave_the_same_rest(old in "[a-c_ =(),é]{0,30}", new in "[a-c_ =(),é]{0,30}") {
        if let Some(words) = word_diff(old.as_bytes(), new.as_bytes()) {
            let rest = |line: &str, ranges: &[std::ops::Range<u32>]| -> String {
                let mut out = String::new();
                let mut at = 0;
                for range in ranges {
                    out.push_str(&line[at..range.start as usize]);
                    at = range.end as usize;
                }
                out.push_str(&line[at..]);
                out.split_whitespace().collect()
            };
            prop_assert_eq!(rest(&old, &words.old), rest(&new, &words.new));
        }
    }
}
