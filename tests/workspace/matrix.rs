//! The kinds of changes that bit others (CASES.md, "Patch capture/apply").

use infradev::diff::patch::Change;
use infradev::workspace::Method;

use crate::kit::{Files, diff, files, git_apply, goes_in, numbered, ours, with, without};

const OPTIONS: [&[&str]; 7] = [
    &["--binary"],
    &["--binary", "--no-renames"],
    &["--binary", "-M", "--full-index", "-U1"],
    &["--binary", "-C", "--find-copies-harder"],
    &["--binary", "core.quotepath=false"],
    &["--binary", "-B", "-M", "-U0", "--inter-hunk-context=20"],
    &["--binary", "--src-prefix=old/", "--dst-prefix=new/"],
];

/// With all options but -U0, which `git apply` refuses itself.
fn all_options(old: &Files, new: &Files) {
    for options in OPTIONS.iter().filter(|o| !o.contains(&"-U0")) {
        goes_in(old, new, options);
    }
}

#[test]
fn crlf_files_stay_crlf() {
    let old = with(
        Files::new(),
        &[(b"a.py", 0o100_644, b"one\r\ntwo\r\nthree\r\n")],
    );
    let new = with(
        Files::new(),
        &[(b"a.py", 0o100_644, b"one\r\n2\r\nthree\r\n")],
    );
    all_options(&old, &new);
    // the ends alone
    let lf = with(Files::new(), &[(b"a.py", 0o100_644, b"one\ntwo\nthree\n")]);
    all_options(&old, &lf);
    all_options(&lf, &old);
    let mixed = with(Files::new(), &[(b"a.py", 0o100_644, b"one\r\ntwo\nthree")]);
    all_options(&old, &mixed);
    all_options(&mixed, &old);
}

#[test]
fn a_patch_that_went_through_crlf_fits_crlf_files_only() {
    let old = with(
        Files::new(),
        &[(b"d/a.py", 0o100_644, b"one\r\ntwo\r\nthree\r\n")],
    );
    let new = with(
        Files::new(),
        &[
            (b"d/a.py", 0o100_644, b"one\r\n2\r\nthree\r\n"),
            (b"d/b", 0o100_755, b"x\r\n"),
        ],
    );
    let lf = |f: &Files| -> Files {
        f.iter()
            .map(|(p, (m, b))| {
                (
                    p.clone(),
                    (*m, b.iter().filter(|c| **c != b'\r').copied().collect()),
                )
            })
            .collect()
    };
    let patch = diff(&lf(&old), &lf(&new), &["--binary"]);
    let patch: Vec<u8> = patch
        .iter()
        .flat_map(|b| {
            if *b == b'\n' {
                b"\r\n".to_vec()
            } else {
                vec![*b]
            }
        })
        .collect();
    assert_eq!(ours(&old, &patch).unwrap().1, new);
    assert_eq!(git_apply(&old, &patch), Ok(new));
    let refused = ours(&lf(&old), &patch).unwrap_err();
    assert!(
        refused.message.contains("the end of the line differs"),
        "{refused}"
    );
    assert!(git_apply(&lf(&old), &patch).is_err());
}

#[test]
fn the_final_newline_comes_and_goes() {
    let ends = [
        "a\nb\nc",
        "a\nb\nc\n",
        "a\nb\nX",
        "a\nb\nX\n",
        "",
        "\n",
        "c",
    ];
    let (mut before, mut after) = (Files::new(), Files::new());
    for (i, old) in ends.iter().enumerate() {
        for (j, new) in ends.iter().enumerate() {
            if i != j {
                let path = format!("{i}-{j}").into_bytes();
                before.insert(path.clone(), (0o100_644, old.as_bytes().to_vec()));
                after.insert(path, (0o100_644, new.as_bytes().to_vec()));
            }
        }
    }
    all_options(&before, &after);
}

#[test]
fn a_last_line_of_context_without_its_newline_matches_where_git_says_it_does() {
    let patch = b"diff --git a/f b/f\n--- a/f\n+++ b/f\n@@ -1 +1,2 @@\n+x\n a\n\\ No newline at end of file\n";
    let mut said_yes = 0;
    for base in [
        "a", "a\n", "a \t\n", "a\nb\n", "ab\n", "a b\n", "b\na\n", "",
    ] {
        let base = files(&[("f", base)]);
        let git = git_apply(&base, patch);
        said_yes += usize::from(git.is_ok());
        assert_eq!(ours(&base, patch).ok().map(|(_, tree)| tree), git.ok());
    }
    assert_eq!(said_yes, 4);
}

#[test]
fn binary_files_as_literals_and_deltas() {
    let noise: Vec<u8> = (0..20_000u32)
        .map(|n| (n.wrapping_mul(2_654_435_761) >> 13) as u8)
        .collect();
    let mut changed = noise.clone();
    changed.splice(5_000..5_010, *b"\0\0inserted\0\xff");
    let old = with(
        files(&[("keep", "x\n")]),
        &[
            (b"big.bin", 0o100_644, &noise),
            (b"gone.bin", 0o100_644, b"\0\x01\x02"),
            (b"text", 0o100_644, b"t\n"),
        ],
    );
    let new = with(
        files(&[("keep", "x\n")]),
        &[
            (b"big.bin", 0o100_755, &changed),
            (b"new.bin", 0o100_644, b"\0new"),
            (b"empty.bin", 0o100_644, b""),
            (b"text", 0o100_644, b"\0now binary"),
        ],
    );
    let patch = diff(&old, &new, &["--binary"]);
    let text = String::from_utf8_lossy(&patch);
    assert!(
        text.contains("\ndelta ") && text.contains("\nliteral "),
        "both kinds are tried"
    );
    all_options(&old, &new);
    all_options(&new, &old);
}

#[test]
fn renames_copies_and_modes() {
    let text = numbered(40);
    let edited = text.replace("line 20\n", "line twenty\n");
    let old = with(
        files(&[("a", &text), ("dir/b", "bee\n"), ("c", &numbered(30))]),
        &[(b"run.sh", 0o100_644, b"#!/bin/sh\n")],
    );
    let new = with(
        files(&[
            ("moved/deep/a", &edited),
            ("c", &numbered(30)),
            ("c2", &numbered(30)),
            ("b", "bee\n"),
        ]),
        &[(b"run.sh", 0o100_755, b"#!/bin/sh\n")],
    );
    all_options(&old, &new);
    let patch = diff(&old, &new, &["-M"]);
    let (applied, _) = ours(&old, &patch).unwrap();
    let renamed = applied
        .files
        .iter()
        .find(|f| f.path == b"moved/deep/a")
        .unwrap();
    assert_eq!(
        (renamed.change, renamed.added, renamed.removed),
        (Change::Rename, 1, 1)
    );
}

#[test]
fn two_files_swap_their_names() {
    let (a, b) = (numbered(200), numbered(200).replace("line", "row"));
    let old = files(&[("a", &a), ("b", &b)]);
    let new = files(&[("a", &b), ("b", &a)]);
    goes_in(&old, &new, &["-B", "-M"]);
    let patch = diff(&old, &new, &["-B", "-M"]);
    assert!(
        String::from_utf8_lossy(&patch)
            .matches("rename from")
            .count()
            == 2
    );
}

#[test]
fn files_folders_and_symlinks_take_each_others_names() {
    let states = [
        files(&[("x", "file\n"), ("other", "o\n")]),
        files(&[("x/inner", "file\n"), ("other", "o\n")]),
        files(&[("x/inner/deep", "file\n"), ("other", "o\n")]),
        with(files(&[("other", "o\n")]), &[(b"x", 0o120_000, b"other")]),
        files(&[("other", "o\n")]),
    ];
    for old in &states {
        for new in &states {
            if old != new {
                for options in [&["--binary", "--no-renames"][..], &["--binary"]] {
                    let patch = diff(old, new, options);
                    assert_eq!(&ours(old, &patch).unwrap().1, new);
                }
            }
        }
    }
}

#[test]
fn odd_names_in_every_place() {
    let names: [&[u8]; 12] = [
        b"two words.py",
        b"a b/x b/c",
        b"quote\"d",
        b"back\\slash",
        b"tab\there",
        b"new\nline",
        "d\u{e9}j\u{e0}/vu".as_bytes(),
        b"latin\xe9/\xff\xfe",
        b" leading and trailing ",
        b"-dash",
        b"b/a/b/a",
        b"cr\r",
    ];
    let mut old = Files::new();
    let mut new = Files::new();
    for (index, name) in names.iter().enumerate() {
        let path = |suffix: &str| [name, suffix.as_bytes()].concat();
        let text = format!("{index}\n{}", numbered(12));
        let edited = text.replace("line 5\n", "five\n");
        old.insert(path(".modified"), (0o100_644, text.clone().into_bytes()));
        new.insert(path(".modified"), (0o100_644, edited.clone().into_bytes()));
        old.insert(path(".deleted"), (0o100_644, text.clone().into_bytes()));
        new.insert(path(".added"), (0o100_644, text.clone().into_bytes()));
        new.insert(path(".empty"), (0o100_644, Vec::new()));
        old.insert(path(".mode"), (0o100_644, text.clone().into_bytes()));
        new.insert(path(".mode"), (0o100_755, text.clone().into_bytes()));
        old.insert(path(".binary"), (0o100_644, vec![0, 1]));
        new.insert(path(".binary"), (0o100_644, vec![0, 2, 3]));
        old.insert(
            path(".from"),
            (0o100_644, format!("{index}{text}{text}").into_bytes()),
        );
        new.insert(
            path(".to"),
            (0o100_644, format!("{index}{text}{edited}").into_bytes()),
        );
    }
    all_options(&old, &new);
    all_options(&new, &old);
}

#[test]
fn prose_and_signatures_around_a_patch() {
    let old = files(&[("a", &numbered(20)), ("b", "1\n")]);
    let new = files(&[
        ("a", &numbered(20).replace("line 9\n", "nine\n")),
        ("b", "2\n"),
    ]);
    let patch = diff(&old, &new, &[]);
    let at = patch
        .windows(12)
        .rposition(|w| w == b"diff --git a")
        .unwrap();
    let mut wrapped = b"From 0123 Mon Sep 17 00:00:00 2001\nSubject: [PATCH] x\n\nHere is the patch:\n\n---\n a | 2 +-\n 2 files changed\n\n".to_vec();
    wrapped.extend_from_slice(&patch[..at]);
    wrapped.extend_from_slice(b"Index: b\n=====\n");
    wrapped.extend_from_slice(&patch[at..]);
    wrapped.extend_from_slice(b"-- \n2.47.3\n\n");
    assert_eq!(git_apply(&old, &wrapped).as_ref(), Ok(&new));
    assert_eq!(ours(&old, &wrapped).unwrap().1, new);
}

#[test]
fn plain_diff_u_with_and_without_times() {
    let old = files(&[("d/a", &numbered(9)), ("d/gone", "x\n")]);
    let new = files(&[
        ("d/a", &numbered(9).replace("line 5", "five")),
        ("d/made", "y\n"),
    ]);
    let patch = "\
--- old/d/a\t2026-01-01 10:00:00.000000000 +0100
+++ new/d/a\t2026-01-02 10:00:00.000000000 +0100
@@ -2,7 +2,7 @@
 line 2
 line 3
 line 4
-line 5
+five
 line 6
 line 7
 line 8
diff -ruN old/d/gone new/d/gone
--- old/d/gone\t2026-01-01 10:00:00.000000000 +0100
+++ new/d/gone\t1970-01-01 01:00:00.000000000 +0100
@@ -1 +0,0 @@
-x
--- /dev/null
+++ b/d/made
@@ -0,0 +1 @@
+y
";
    assert_eq!(git_apply(&old, patch.as_bytes()).as_ref(), Ok(&new));
    assert_eq!(ours(&old, patch.as_bytes()).unwrap().1, new);
    // without folders there is no prefix to drop
    let flat = files(&[("a.py", "1\n")]);
    let patch = b"--- a.py.orig\n+++ a.py\n@@ -1 +1 @@\n-1\n+2\n";
    assert_eq!(git_apply(&flat, patch), Ok(files(&[("a.py", "2\n")])));
    assert_eq!(ours(&flat, patch).unwrap().1, files(&[("a.py", "2\n")]));
}

#[test]
fn index_lines_are_not_needed_for_text() {
    let old = files(&[("a", &numbered(20))]);
    let new = files(&[
        ("a", &numbered(20).replace("line 9\n", "nine\n")),
        ("b/c", "new\n"),
    ]);
    let patch = String::from_utf8(diff(&old, &new, &[])).unwrap();
    let bare: String = patch
        .split_inclusive('\n')
        .filter(|l| !l.starts_with("index "))
        .collect();
    assert_ne!(bare, patch);
    assert_eq!(ours(&old, bare.as_bytes()).unwrap().1, new);
}

#[test]
fn a_hunk_finds_its_place_in_a_file_that_moved() {
    let old = files(&[("a", &numbered(60))]);
    let new = files(&[("a", &numbered(60).replace("line 40\n", "forty\n"))]);
    let patch = diff(&old, &new, &[]);
    let moved = files(&[("a", &format!("{}{}", "head\n".repeat(7), numbered(60)))]);
    let (applied, tree) = ours(&moved, &patch).unwrap();
    assert_eq!(applied.method, Method::Offset);
    assert_eq!(Ok(tree), git_apply(&moved, &patch));
    assert_eq!(ours(&old, &patch).unwrap().0.method, Method::Exact);
}

#[test]
fn three_way_where_the_preimage_is_known() {
    // the version that the patch was made against is in base under another name
    let preimage = numbered(30);
    let ours_now = preimage
        .replace("line 3\n", "three\n")
        .replace("line 14\n", "fourteen\n");
    let old = files(&[("a", &preimage)]);
    let new = files(&[("a", &preimage.replace("line 16\n", "sixteen\n"))]);
    let patch = diff(&old, &new, &["--full-index"]);
    let base = files(&[("a", &ours_now), ("copy", &preimage)]);
    assert!(git_apply(&base, &patch).is_err(), "context differs");
    let (applied, tree) = ours(&base, &patch).unwrap();
    assert_eq!(applied.method, Method::ThreeWay);
    let wanted = files(&[
        ("a", &ours_now.replace("line 16\n", "sixteen\n")),
        ("copy", &preimage),
    ]);
    assert_eq!(tree, wanted);
    // both sides touch the line: refused, with the hunk
    let clash = files(&[
        ("a", &preimage.replace("line 16\n", "XVI\n")),
        ("copy", &preimage),
    ]);
    let refused = ours(&clash, &patch).unwrap_err();
    assert!(refused.message.contains("a: hunk 1"), "{refused}");
    // the preimage is not known
    let unknown = files(&[("a", &ours_now)]);
    assert!(ours(&unknown, &patch).is_err());
}

#[test]
fn fifty_megabytes() {
    let line = "x = some_function(argument_one, argument_two)  # padding padding padding\n";
    let text = line.repeat((50 << 20) / line.len());
    let old = files(&[("small", "s\n")]);
    let new = files(&[("small", "s\n"), ("large.py", &text)]);
    let patch = diff(&old, &new, &[]);
    assert!(patch.len() > 50 << 20);
    let (applied, tree) = ours(&old, &patch).unwrap();
    assert_eq!(applied.files[0].added, text.lines().count());
    assert_eq!(tree, new);
    // and away again, which matches every line
    let back = diff(&new, &old, &[]);
    assert_eq!(ours(&new, &back).unwrap().1, without(new, &["large.py"]));
}
