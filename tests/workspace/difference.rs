//! The difference of two trees goes in by git's hands and by ours.

use std::fs;

use infradev::diff::patch::Change;
use infradev::workspace::{Snapshot, apply};
use proptest::prelude::*;

use crate::kit::{Files, files, git, git_apply, read, shown, snapshot, with, write};
use crate::random::{edit, edited, tree};

fn there_and_back(old: &Files, new: &Files) -> Result<(), TestCaseError> {
    let dir = tempfile::tempdir().unwrap();
    let base = snapshot(dir.path(), old);
    let work = dir.path().join("work");
    fs::create_dir(&work).unwrap();
    write(&work, new);
    let captured = base.capture(&work).unwrap();
    if old == new {
        prop_assert!(captured.patch.is_empty() && captured.files.is_empty());
        return Ok(());
    }
    let text = shown(&captured.patch);
    let git = git_apply(old, &captured.patch);
    prop_assert_eq!(git.as_ref(), Ok(new), "git: {}", text);
    let applied = apply(&base, &captured.patch).unwrap();
    prop_assert_eq!(
        applied.tree,
        base.import_dir(&work).unwrap(),
        "ours: {}",
        text
    );
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
    fn what_is_captured_goes_in_again(old in tree(), edits in prop::collection::vec(edit(), 0..8)) {
        let new = edited(&old, &edits);
        there_and_back(&old, &new)?;
    }
}

#[test]
fn odd_names_and_kinds_are_captured() {
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

#[test]
fn whatever_state_git_is_in_the_work_tree_is_captured() {
    let old = files(&[
        ("kept", "k\n"),
        ("edited", "1\n"),
        ("moved", "a\nb\nc\n"),
        ("gone", "g\n"),
    ]);
    let dir = tempfile::tempdir().unwrap();
    let base = snapshot(dir.path(), &old);
    let work = dir.path().join("work");
    base.write_tree(base.tree(), &work).unwrap();
    git(&work, &["init", "-q"]).unwrap();
    git(&work, &["add", "-A"]).unwrap();
    git(&work, &["commit", "-qm", "base"]).unwrap();
    // committed on another branch, staged, untracked, ignored, in a repository inside
    git(&work, &["checkout", "-qb", "mine"]).unwrap();
    write(
        &work,
        &files(&[("committed", "c\n"), (".gitignore", "ignored\n")]),
    );
    git(&work, &["add", "-A"]).unwrap();
    git(&work, &["commit", "-qm", "work"]).unwrap();
    write(&work, &files(&[("staged", "s\n"), ("edited", "2\n")]));
    git(&work, &["add", "staged"]).unwrap();
    git(&work, &["mv", "moved", "renamed"]).unwrap();
    write(
        &work,
        &files(&[
            ("untracked", "u\n"),
            ("ignored", "i\n"),
            ("nested/file", "n\n"),
        ]),
    );
    git(&work.join("nested"), &["init", "-q"]).unwrap();
    fs::remove_file(work.join("gone")).unwrap();
    // a server that the agent started
    let _socket = std::os::unix::net::UnixListener::bind(work.join("socket")).unwrap();
    let captured = base.capture(&work).unwrap();
    let brief: Vec<(String, char)> = captured
        .files
        .iter()
        .map(|f| {
            (
                String::from_utf8(f.path.clone()).unwrap(),
                f.change.letter(),
            )
        })
        .collect();
    let row = |path: &str, letter| (path.to_owned(), letter);
    assert_eq!(
        brief,
        [
            row(".gitignore", 'A'),
            row("committed", 'A'),
            row("edited", 'M'),
            row("gone", 'D'),
            row("ignored", 'A'),
            row("moved", 'D'),
            row("nested/file", 'A'),
            row("renamed", 'A'),
            row("staged", 'A'),
            row("untracked", 'A'),
        ]
    );
    assert_eq!(captured.files[2].change, Change::Modify);
    let applied = apply(&base, &captured.patch).unwrap();
    let out = dir.path().join("out");
    base.write_tree(applied.tree, &out).unwrap();
    fs::remove_file(work.join("socket")).unwrap();
    let mut wanted = read(&work);
    wanted.retain(|path, _| !path.windows(5).any(|w| w == b".git/"));
    assert_eq!(read(&out), wanted);
}

#[test]
fn eight_captures_at_once_keep_apart() {
    let old = files(&[("a", "0\n"), ("b", "b\n")]);
    let dir = tempfile::tempdir().unwrap();
    let shared = snapshot(dir.path(), &old);
    let store = dir.path().join("snapshots");
    std::thread::scope(|scope| {
        for worker in 0..8 {
            let (shared, store, old) = (&shared, &store, &old);
            let dir = dir.path();
            scope.spawn(move || {
                let own = Snapshot::from_dir(&dir.join("base"), store).unwrap();
                let work = dir.join(format!("work{worker}"));
                fs::create_dir(&work).unwrap();
                let new = with(
                    old.clone(),
                    &[(b"a", 0o100_644, format!("{worker}+\n").as_bytes())],
                );
                write(&work, &new);
                for base in [shared, &own] {
                    let patch = base.capture(&work).unwrap().patch;
                    let text = shown(&patch);
                    assert!(text.contains(&format!("\n+{worker}+\n")), "{text}");
                    let applied = apply(base, &patch).unwrap();
                    assert_eq!(
                        base.file(applied.tree, b"a").unwrap().unwrap(),
                        format!("{worker}+\n").as_bytes()
                    );
                }
            });
        }
    });
}
