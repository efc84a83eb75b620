//! The difference of two trees goes in by git's hands and by ours.

use std::fs;

use infradev::workspace::apply;
use proptest::prelude::*;

use crate::kit::{Files, files, git_apply, shown, snapshot, with, write};
use crate::random::{edit, edited, tree};

fn there_and_back(old: &Files, new: &Files) -> Result<(), TestCaseError> {
    let dir = tempfile::tempdir().unwrap();
    let base = snapshot(dir.path(), old);
    let work = dir.path().join("work");
    fs::create_dir(&work).unwrap();
    write(&work, new);
    let now = base.import_dir(&work).unwrap();
    let captured = base.diff_trees(base.tree(), now).unwrap();
    if old == new {
        prop_assert!(captured.patch.is_empty() && captured.files.is_empty());
        return Ok(());
    }
    let text = shown(&captured.patch);
    let git = git_apply(old, &captured.patch);
    prop_assert_eq!(git.as_ref(), Ok(new), "git: {}", text);
    let applied = apply(&base, &captured.patch).unwrap();
    prop_assert_eq!(applied.tree, now, "ours: {}", text);
    for (stat, file) in captured.files.iter().zip(&applied.files) {
        prop_assert_eq!(&stat.path, &file.path);
        prop_assert_eq!(stat.change, file.change);
        prop_assert_eq!((stat.added, stat.removed), (file.added, file.removed));
    }
    prop_assert_eq!(captured.files.len(), applied.files.len());
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_difference_goes_in_again(old in tree(), edits in prop::collection::vec(edit(), 0..8)) {
        let new = edited(&old, &edits);
        there_and_back(&old, &new)?;
    }
}

#[test]
fn odd_names_and_kinds_differ() {
    let old = with(
        files(&[("a", "1\n"), ("x", "file\n"), ("gone", "g\n")]),
        &[
            (b"t\tb", 0o100_644, b"t\n"),
            (b"bin", 0o100_644, &[0, 1, 2]),
        ],
    );
    let new = with(
        files(&[
            ("a", "1"),
            ("dir/deep/new", "n\n"),
            ("empty", ""),
            (".gitignore", "*\n"),
        ]),
        &[
            (b"t\tb", 0o100_755, b"t\n"),
            (b"x", 0o120_000, b"a"),
            (b"bin", 0o100_644, &[0, 9]),
            ("\u{e9} b/\"q\"\n".as_bytes(), 0o100_644, b"q\r\n"),
            (b"\xff", 0o100_644, b"\xfe\n"),
        ],
    );
    there_and_back(&old, &new).unwrap();
    there_and_back(&new, &old).unwrap();
}
