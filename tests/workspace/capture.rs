//! The capture: whatever state an agent left its tree in, the patch is what it changed.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::os::unix::process::CommandExt;
use std::path::Path;

use infradev::workspace::{Origin, Snapshot};
use proptest::prelude::*;

use crate::bench::{Bench, note};
use crate::kit::{Files, files, git, numbered, read, shown, snapshot, with, write};
use crate::random::{edit, edited, tree};

fn base() -> Files {
    files(&[
        ("kept", "k\n"),
        ("edited", "1\n"),
        ("moved", "a\nb\nc\n"),
        ("gone", "g\n"),
    ])
}

#[test]
fn nothing_changed_is_an_empty_patch_without_notes() {
    let bench = Bench::new(&base());
    let captured = bench.capture();
    assert!(captured.patch.is_empty() && captured.notes.is_empty());
    // an empty folder is nothing, as for git
    fs::create_dir_all(bench.work.join("made/empty")).unwrap();
    bench.git(&["status"]);
    assert_eq!(bench.capture(), captured);
}

#[test]
fn whatever_state_git_is_in_the_work_tree_is_captured() {
    let bench = Bench::new(&base());
    // committed on another branch, staged, untracked, in a repository inside
    bench.git(&["checkout", "-qb", "mine"]);
    bench.put(&[("committed", "c\n"), (".gitignore", "hidden*\n")]);
    bench.git(&["add", "-A"]);
    bench.git(&["commit", "-qm", "work"]);
    bench.put(&[("staged", "s\n"), ("edited", "2\n")]);
    bench.git(&["add", "staged"]);
    bench.git(&["mv", "moved", "renamed"]);
    bench.put(&[
        ("untracked", "u\n"),
        ("hidden.py", "by a rule of its own\n"),
        ("nested/file", "n\n"),
    ]);
    git(&bench.work.join("nested"), &["init", "-q"]).unwrap();
    git(&bench.work.join("nested"), &["add", "-A"]).unwrap();
    git(&bench.work.join("nested"), &["commit", "-qm", "n"]).unwrap();
    fs::remove_file(bench.work.join("gone")).unwrap();
    let captured = bench.capture();
    assert_eq!(
        Bench::brief(&captured),
        [
            "A .gitignore",
            "A committed",
            "M edited",
            "D gone",
            "A hidden.py",
            "D moved",
            "A nested/file",
            "A renamed",
            "A staged",
            "A untracked",
        ]
    );
    let mut wanted = read(&bench.work);
    wanted.retain(|path, _| !path.starts_with(b"nested/.git/"));
    assert_eq!(bench.tree(&captured), wanted);
    assert_eq!(note(&captured, "nested").kind, "nested-repository");
    let commits = note(&captured, ".git");
    assert_eq!(
        (commits.kind.as_str(), commits.detail.as_str()),
        ("commits", "1 made; on branch mine")
    );
    assert_eq!(captured.notes.len(), 2);
}

#[test]
fn a_stash_and_other_branches_are_told_and_not_captured() {
    let bench = Bench::new(&base());
    bench.git(&["checkout", "-qb", "left"]);
    bench.put(&[("on_left", "l\n")]);
    bench.git(&["add", "-A"]);
    bench.git(&["commit", "-qm", "left behind"]);
    bench.git(&["checkout", "-q", "main"]);
    bench.put(&[("edited", "stashed\n")]);
    bench.git(&["stash", "push", "-qm", "later \u{1b}[31m"]);
    bench.put(&[("edited", "kept\n")]);
    // also where git has packed its refs
    for packed in [false, true] {
        if packed {
            bench.git(&["pack-refs", "--all"]);
        }
        let captured = bench.capture();
        assert_eq!(Bench::brief(&captured), ["M edited"]);
        let kinds: Vec<&str> = captured.notes.iter().map(|n| n.kind.as_str()).collect();
        assert_eq!(kinds, ["stash", "commits"]);
        let stash = &captured.notes[0].detail;
        assert!(
            stash.starts_with("1 entry") && stash.contains("later \\033[31m"),
            "{stash}"
        );
        assert_eq!(
            captured.notes[1].detail,
            "1 made; not checked out, so not in the patch: left"
        );
    }
}

#[test]
fn a_git_folder_that_lies_leads_nowhere() {
    let bench = Bench::new(&base());
    let git_dir = bench.work.join(".git");
    let secret = bench.dir.path().join("secret");
    fs::create_dir_all(secret.join("refs")).unwrap();
    fs::write(secret.join("stash"), "0 0 a <a> 1 +0\tSECRET\n").unwrap();
    fs::write(git_dir.join("refs/stash"), "x\n").unwrap();
    fs::remove_dir_all(git_dir.join("logs")).ok();
    symlink(&secret, git_dir.join("logs")).unwrap();
    symlink("refs", git_dir.join("refs/loop")).unwrap();
    fs::write(git_dir.join("config"), "[core]\n\tworktree = /\n").unwrap();
    fs::write(git_dir.join("packed-refs"), vec![b'#'; 3 << 20]).unwrap();
    fs::remove_file(git_dir.join("HEAD")).unwrap();
    nix::unistd::mkfifo(&git_dir.join("HEAD"), nix::sys::stat::Mode::S_IRWXU).unwrap();
    bench.put(&[("edited", "2\n")]);
    let captured = bench.base.capture(&bench.work, bench.base.tree()).unwrap();
    assert_eq!(Bench::brief(&captured), ["M edited"]);
    assert!(!format!("{captured:?}").contains("SECRET"));
    // and where there is none, or a link in its place
    fs::remove_dir_all(&git_dir).unwrap();
    assert!(bench.capture().notes.is_empty());
    symlink(&secret, &git_dir).unwrap();
    assert_eq!(note(&bench.capture(), ".git").kind, "odd");
}

#[test]
fn kinds_bytes_and_names_are_kept_as_they_are() {
    let old = with(
        files(&[("crlf", "a\r\nb\r\n"), ("dir/in", "i\n"), ("x", "file\n")]),
        &[
            (b"bin", 0o100_644, &[0, 1, 2]),
            (b"run", 0o100_644, b"#!/bin/sh\n"),
            (b"l", 0o120_000, b"x"),
        ],
    );
    let bench = Bench::new(&old);
    let new = with(
        files(&[("crlf", "a\r\nB\r\n"), ("no newline", "end"), ("empty", "")]),
        &[
            (b"bin", 0o100_644, &[0, 9, 0xff]),
            (b"run", 0o100_755, b"#!/bin/sh\n"),
            (b"latin", 0o100_644, b"caf\xe9\n"),
            (b"l", 0o100_644, b"now a file\n"),
            (b"dir", 0o120_000, b"x"),
            (b"x", 0o120_000, b"nowhere"),
            (b"q\"uote\\ \t\n.py", 0o100_644, b"q\n"),
            (b"\xff\xfe", 0o100_644, b"\0"),
            ("\u{e9} b/-x".as_bytes(), 0o100_644, b"d\n"),
        ],
    );
    for path in ["crlf", "dir/in", "x", "bin", "run", "l"] {
        fs::remove_file(bench.work.join(path)).unwrap();
    }
    fs::remove_dir(bench.work.join("dir")).unwrap();
    write(&bench.work, &new);
    let captured = bench.capture();
    assert_eq!(bench.tree(&captured), new);
    assert!(captured.notes.is_empty(), "{:?}", captured.notes);
}

#[test]
fn what_no_patch_can_hold_is_told() {
    let bench = Bench::new(&base());
    let _socket = std::os::unix::net::UnixListener::bind(bench.work.join("socket")).unwrap();
    let mode = nix::sys::stat::Mode::S_IRWXU;
    nix::unistd::mkfifo(&bench.work.join("pipe"), mode).unwrap();
    // in the place of a file of base
    fs::remove_file(bench.work.join("gone")).unwrap();
    nix::unistd::mkfifo(&bench.work.join("gone"), mode).unwrap();
    // names that some file system would take for a repository
    bench.put(&[("git~1/x", "x\n"), (".g\u{200c}it", "x\n"), ("ok", "o\n")]);
    let deep = "d/".repeat(260);
    let mut at = bench.work.join("deep");
    for part in deep.split_terminator('/') {
        at.push(part);
    }
    fs::create_dir_all(&at).unwrap();
    fs::write(at.join("file"), "f\n").unwrap();
    let captured = bench.capture();
    assert_eq!(Bench::brief(&captured), ["D gone", "A ok"]);
    let odd: Vec<&str> = captured.notes.iter().map(|n| n.path.as_str()).collect();
    assert_eq!(odd[..3], [".g\u{200c}it", odd[1], "git~1"]);
    assert!(odd[1].starts_with("deep/d/"), "{odd:?}");
    assert_eq!(odd[3..], ["gone", "pipe", "socket"]);
    assert!(captured.notes.iter().all(|n| n.kind == "odd"));
}

#[test]
fn what_was_left_without_rights_is_captured() {
    let bench = Bench::new(&base());
    bench.put(&[
        ("shut/in/file", "f\n"),
        ("secret", "s\n"),
        ("listed/in/file", "f\n"),
    ]);
    symlink("in/file", bench.work.join("listed/link")).unwrap();
    for (path, mode) in [
        ("secret", 0o000),
        ("edited", 0o000),
        ("shut/in", 0o000),
        ("shut", 0o000),
        // its entries and their kinds can be read, and nothing of them
        ("listed", 0o400),
    ] {
        let mode = fs::Permissions::from_mode(mode);
        fs::set_permissions(bench.work.join(path), mode).unwrap();
    }
    let captured = bench.base.capture(&bench.work, bench.base.tree()).unwrap();
    assert_eq!(
        Bench::brief(&captured),
        [
            "A listed/in/file",
            "A listed/link",
            "A secret",
            "A shut/in/file"
        ]
    );
    for path in ["shut", "shut/in"] {
        let all = fs::Permissions::from_mode(0o700);
        fs::set_permissions(bench.work.join(path), all).unwrap();
    }
}

/// A path that a patch may hold, below a folder that makes it longer than the kernel takes: it can be
/// made step by step.
#[test]
fn what_cannot_be_read_is_told() {
    let dir = tempfile::tempdir().unwrap();
    let base = snapshot(dir.path(), &base());
    let mut work = dir.path().to_path_buf();
    work.extend(std::iter::repeat_n("w".repeat(250), 5));
    fs::create_dir_all(work.parent().unwrap()).unwrap();
    base.agent_repository(base.tree(), &work).unwrap();
    write(&work, &files(&[("edited", "2\n"), ("long/ok", "o\n")]));
    let name = "n".repeat(250);
    let step = "import os, sys\nos.chdir('long')\nfor _ in range(11):\n\
                \x20   os.mkdir(sys.argv[1])\n    os.chdir(sys.argv[1])\n\
                open('f' * 200, 'w').close()";
    let made = std::process::Command::new("python3")
        .args(["-c", step, &name])
        .current_dir(&work)
        .status();
    assert!(made.unwrap().success());
    let captured = base.capture(&work, base.tree()).unwrap();
    assert_eq!(Bench::brief(&captured), ["M edited", "A long/ok"]);
    let notes = &captured.notes;
    assert_eq!(notes.len(), 1, "{notes:?}");
    assert_eq!(notes[0].kind, "odd");
    assert!(notes[0].detail.contains("cannot be read"), "{notes:?}");
}

#[test]
fn a_file_in_the_place_of_a_folder_with_a_submodule_is_left_out() {
    let dir = tempfile::tempdir().unwrap();
    let (repo, work) = (dir.path().join("repo"), dir.path().join("work"));
    write(&repo, &files(&[("libs/own.py", "o\n"), ("kept", "k\n")]));
    git(&repo, &["init", "-q"]).unwrap();
    git(&repo, &["add", "-A"]).unwrap();
    let module = format!("160000,{},libs/module", "1".repeat(40));
    git(&repo, &["update-index", "--add", "--cacheinfo", &module]).unwrap();
    git(&repo, &["commit", "-qm", "base"]).unwrap();
    let commit = git(&repo, &["rev-parse", "HEAD"]).unwrap();
    let commit = String::from_utf8(commit).unwrap();
    let origin = Origin::here(&repo);
    let base = Snapshot::from_git(&origin, commit.trim(), &[], &dir.path().join("store")).unwrap();
    base.agent_repository(base.tree(), &work).unwrap();
    fs::remove_dir_all(work.join("libs")).unwrap();
    write(&work, &files(&[("libs", "a file\n"), ("kept", "mine\n")]));
    let captured = base.capture(&work, base.tree()).unwrap();
    assert_eq!(Bench::brief(&captured), ["M kept", "D libs/own.py"]);
    let odd = note(&captured, "libs");
    assert_eq!(odd.kind, "odd");
    assert!(odd.detail.contains("a file and a folder"), "{odd:?}");
}

/// Root reads everything: the test above proves something as another user only.
#[test]
fn what_was_left_without_rights_is_captured_by_a_user_too() {
    if !nix::unistd::geteuid().is_root() {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let all = fs::Permissions::from_mode(0o777);
    fs::set_permissions(dir.path(), all).unwrap();
    let program = dir.path().join("tests");
    fs::copy(std::env::current_exe().unwrap(), &program).unwrap();
    let output = std::process::Command::new(&program)
        .args([
            "capture::what_was_left_without_rights_is_captured",
            "--exact",
        ])
        .env("TMPDIR", dir.path())
        .env("HOME", dir.path())
        .current_dir(dir.path())
        .uid(65534)
        .gid(65534)
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(
        output.status.success() && said.contains("1 passed"),
        "{said}"
    );
}

#[test]
fn gigabytes_are_told_and_not_read() {
    let bench = Bench::new(&base());
    for (name, bytes) in [("core.img", 3_u64 << 40), ("edited", 1 << 30)] {
        let file = fs::File::create(bench.work.join(name)).unwrap();
        file.set_len(bytes).unwrap();
    }
    bench.put(&[("small", "s\n")]);
    let captured = bench.capture();
    assert_eq!(Bench::brief(&captured), ["A small"]);
    for (name, words) in [("core.img", "3.0 TiB"), ("edited", "base's version stays")] {
        let note = note(&captured, name);
        assert_eq!(note.kind, "large");
        assert!(note.detail.contains(words), "{}", note.detail);
    }
}

#[test]
fn fifty_megabytes() {
    let line = "x = some_function(argument_one, argument_two)  # padding padding padding\n";
    let old = with(
        files(&[("small", "s\n"), ("edited.py", &numbered(700_000))]),
        &[],
    );
    let bench = Bench::new(&old);
    let noise: Vec<u8> = (0..8_000_000_u32)
        .map(|n| (n.wrapping_mul(2_654_435_761) >> 13) as u8)
        .collect();
    fs::write(
        bench.work.join("large.py"),
        line.repeat((42 << 20) / line.len()),
    )
    .unwrap();
    fs::write(bench.work.join("noise.bin"), &noise).unwrap();
    let edited = numbered(700_000).replace("7\n", "seven\n");
    fs::write(bench.work.join("edited.py"), edited).unwrap();
    let started = std::time::Instant::now();
    let captured = bench.base.capture(&bench.work, bench.base.tree()).unwrap();
    assert!(captured.patch.len() > 50 << 20, "{}", captured.patch.len());
    assert_eq!(captured.files.len(), 3);
    assert!(
        started.elapsed().as_secs() < 60,
        "{:?} unoptimised",
        started.elapsed()
    );
    assert_eq!(bench.tree(&captured), {
        let mut now = read(&bench.work);
        now.retain(|path, _| !path.starts_with(b".git/"));
        now
    });
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
                let text = format!("{worker}+\n");
                write(
                    &work,
                    &with(old.clone(), &[(b"a", 0o100_644, text.as_bytes())]),
                );
                for base in [shared, &own] {
                    let captured = base.capture(&work, base.tree()).unwrap();
                    let patch = shown(&captured.patch);
                    assert!(patch.contains(&format!("\n+{worker}+\n")), "{patch}");
                    let file = base.file(captured.tree, b"a").unwrap().unwrap();
                    assert_eq!(file, text.as_bytes());
                }
            });
        }
    });
}

/// Everything that is in `old` leaves, everything of `new` comes.
fn replace(work: &Path, old: &Files, new: &Files) {
    for path in old.keys() {
        fs::remove_file(work.join(OsStr::from_bytes(path))).unwrap();
    }
    for entry in fs::read_dir(work).unwrap() {
        let entry = entry.unwrap();
        if entry.file_name() != ".git" {
            fs::remove_dir_all(entry.path()).unwrap();
        }
    }
    write(work, new);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_change_is_captured_whole(old in tree(), edits in prop::collection::vec(edit(), 0..8)) {
        let new = edited(&old, &edits);
        let bench = Bench::new(&old);
        replace(&bench.work, &old, &new);
        let captured = bench.capture();
        prop_assert_eq!(bench.tree(&captured), new);
        prop_assert!(captured.notes.is_empty(), "{:?}", captured.notes);
        prop_assert_eq!(bench.base.import_dir(&bench.work).unwrap(), captured.tree);
    }
}
