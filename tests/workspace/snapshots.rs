//! Base from a folder and from a repository.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;

use infradev::workspace::{Origin, Snapshot, WorkspaceError, hash_tree};

use crate::kit::{Files, files, git, read, repository, with, write};

fn odd() -> Files {
    with(
        files(&[("a/b/c.py", "x = 1\n"), ("empty", ""), ("a/b.txt", "t\n")]),
        &[
            (b"run", 0o100_755, b"#!/bin/sh\n"),
            (b"link", 0o120_000, b"a/b"),
            (b"dangling", 0o120_000, b"nowhere"),
            (b"\xff\xfe", 0o100_644, b"\xff\r\n\0"),
            ("two words/\u{e9}".as_bytes(), 0o100_644, b"\r\n"),
            (b"new\nline", 0o100_644, b"n"),
        ],
    )
}

fn written(snapshot: &Snapshot, dir: &Path) -> Files {
    snapshot.write_tree(snapshot.tree(), dir).unwrap();
    read(dir)
}

#[test]
fn a_folder_goes_in_and_comes_out_byte_for_byte() {
    let dir = tempfile::tempdir().unwrap();
    let (folder, store) = (dir.path().join("base"), dir.path().join("home/snapshots"));
    write(&folder, &odd());
    // what is never taken
    write(
        &folder,
        &files(&[
            (".git/config", "x"),
            ("a/.git/x", "y"),
            ("a/__pycache__/c.pyc", "z"),
        ]),
    );
    let snapshot = Snapshot::from_dir(&folder, &store).unwrap();
    assert_eq!(written(&snapshot, &dir.path().join("out")), odd());
    assert_eq!(snapshot.key(), hash_tree(&dir.path().join("out")).unwrap());
    let mode = fs::metadata(dir.path().join("out/run"))
        .unwrap()
        .permissions()
        .mode();
    assert_eq!(mode & 0o700, 0o700);
}

#[test]
fn a_second_use_imports_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let (folder, store) = (dir.path().join("base"), dir.path().join("snapshots"));
    write(&folder, &odd());
    let first = Snapshot::from_dir(&folder, &store).unwrap();
    let objects = store.join(first.key()).join("objects");
    let count = |dir: &Path| walk(dir).len();
    let before = count(&objects);
    // times do not count, content does
    fs::write(folder.join("empty"), "").unwrap();
    let second = Snapshot::from_dir(&folder, &store).unwrap();
    assert_eq!((second.tree(), second.key()), (first.tree(), first.key()));
    assert_eq!(count(&objects), before);
    fs::write(folder.join("empty"), "no more").unwrap();
    let third = Snapshot::from_dir(&folder, &store).unwrap();
    assert_ne!(third.key(), first.key());
    // the mode alone makes another base
    fs::set_permissions(folder.join("empty"), fs::Permissions::from_mode(0o755)).unwrap();
    assert_ne!(
        Snapshot::from_dir(&folder, &store).unwrap().key(),
        third.key()
    );
}

fn walk(dir: &Path) -> Vec<std::path::PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(walk(&path));
        } else {
            found.push(path);
        }
    }
    found
}

#[test]
fn nothing_of_a_submission_enters_the_store() {
    let dir = tempfile::tempdir().unwrap();
    let (folder, store) = (dir.path().join("base"), dir.path().join("snapshots"));
    write(&folder, &odd());
    let snapshot = Snapshot::from_dir(&folder, &store).unwrap();
    let before = walk(&store);
    let patch = b"--- /dev/null\n+++ b/new\n@@ -0,0 +1 @@\n+secret\n";
    let applied = infradev::workspace::apply(&snapshot, patch).unwrap();
    assert_eq!(
        snapshot.file(applied.tree, b"new").unwrap().unwrap(),
        b"secret\n"
    );
    assert_eq!(walk(&store), before);
}

#[test]
fn a_killed_import_is_made_again() {
    let dir = tempfile::tempdir().unwrap();
    let (folder, store) = (dir.path().join("base"), dir.path().join("snapshots"));
    write(&folder, &odd());
    let key = hash_tree(&folder).unwrap();
    fs::create_dir_all(store.join(format!("{key}.part/objects"))).unwrap();
    fs::create_dir_all(store.join(&key)).unwrap();
    fs::write(store.join(&key).join("HEAD"), "half").unwrap();
    let snapshot = Snapshot::from_dir(&folder, &store).unwrap();
    assert_eq!(written(&snapshot, &dir.path().join("out")), odd());
    assert!(!store.join(format!("{key}.part")).exists());
}

#[test]
fn workers_that_start_together_share_one_import() {
    let dir = tempfile::tempdir().unwrap();
    let (folder, store) = (dir.path().join("base"), dir.path().join("snapshots"));
    write(&folder, &odd());
    std::thread::scope(|scope| {
        for worker in 0..8 {
            let (dir, folder, store) = (dir.path(), &folder, &store);
            scope.spawn(move || {
                let snapshot = Snapshot::from_dir(folder, store).unwrap();
                assert_eq!(written(&snapshot, &dir.join(format!("out{worker}"))), odd());
            });
        }
    });
}

#[test]
fn a_commit_of_a_repository_and_only_some_of_its_folders() {
    let dir = tempfile::tempdir().unwrap();
    let (clone, store) = (dir.path().join("clone"), dir.path().join("snapshots"));
    fs::create_dir(&clone).unwrap();
    let new = with(odd(), &[(b"pkg/gold.py", 0o100_644, b"gold\n")]);
    repository(&clone, &odd(), &new);
    let commit = |dir: &Path| {
        let id = git(dir, &["rev-parse", "HEAD"]).unwrap();
        String::from_utf8(id).unwrap().trim().to_owned()
    };
    let base = commit(&clone);
    git(&clone, &["commit", "-qm", "gold"]).unwrap();
    let gold = commit(&clone);
    let snapshot = Snapshot::from_git(&Origin::here(&clone), &base, &[], &store).unwrap();
    assert_eq!(written(&snapshot, &dir.path().join("all")), odd());
    // gold is not in the store: it comes from the repository when it is asked for
    let gold_tree = snapshot
        .import_git(&Origin::here(&clone), &gold, &[])
        .unwrap();
    snapshot
        .write_tree(gold_tree, &dir.path().join("gold"))
        .unwrap();
    assert_eq!(read(&dir.path().join("gold")), new);
    let some = Snapshot::from_git(
        &Origin::here(&clone),
        &base,
        &["a/b".into(), "run".into()],
        &store,
    )
    .unwrap();
    let paths: Vec<Vec<u8>> = some
        .files(some.tree())
        .unwrap()
        .into_iter()
        .map(|f| f.0)
        .collect();
    assert_eq!(paths, [b"a/b/c.py".to_vec(), b"run".to_vec()]);
    // the second use needs the repository no more
    fs::rename(&clone, dir.path().join("elsewhere")).unwrap();
    let again = Snapshot::from_git(&Origin::here(&clone), &base, &[], &store).unwrap();
    assert_eq!(written(&again, &dir.path().join("again")), odd());
}

#[test]
fn what_is_missing_is_said_with_the_command_that_gets_it() {
    let dir = tempfile::tempdir().unwrap();
    let (clone, store) = (dir.path().join("clone"), dir.path().join("snapshots"));
    fs::create_dir(&clone).unwrap();
    repository(&clone, &odd(), &odd());
    git(
        &clone,
        &["remote", "add", "origin", "https://example.org/o/r.git"],
    )
    .unwrap();
    let absent = "0123456789012345678901234567890123456789";
    let message = |commit: &str, place: &Path| match Snapshot::from_git(
        &Origin::here(place),
        commit,
        &[],
        &store,
    ) {
        Ok(_) => panic!("{commit} is not there"),
        Err(e) => e.to_string(),
    };
    let said = message(absent, &clone);
    assert!(
        said.contains(&format!(
            "git -C {} fetch https://example.org/o/r.git {absent}",
            clone.display()
        )),
        "{said}"
    );
    // a line to be pasted shows no token, and runs nothing that a clone's owner wrote
    for address in [
        "https://user:s3cret@example.org/o/r.git",
        "https://example.org/o/r.git;touch s3cret",
    ] {
        git(&clone, &["remote", "set-url", "origin", address]).unwrap();
        let said = message(absent, &clone);
        assert!(
            said.contains("fetch <url> ") && !said.contains("s3cret"),
            "{said}"
        );
    }
    assert!(message("HEAD", &clone).contains("full commit id"));
    assert!(message(&absent[..12], &clone).contains("full commit id"));
    assert!(message(absent, dir.path()).contains("no git repository"));
    let head = String::from_utf8(git(&clone, &["rev-parse", "HEAD"]).unwrap()).unwrap();
    assert!(matches!(
        Snapshot::from_git(
            &Origin::here(&clone),
            head.trim(),
            &["nowhere".into()],
            &store
        ),
        Err(WorkspaceError::NotInCommit { .. })
    ));
}

#[test]
fn trees_are_written_into_empty_folders_only() {
    let dir = tempfile::tempdir().unwrap();
    let folder = dir.path().join("base");
    write(&folder, &odd());
    let snapshot = Snapshot::from_dir(&folder, &dir.path().join("snapshots")).unwrap();
    let full = dir.path().join("full");
    fs::create_dir(&full).unwrap();
    symlink("/etc", full.join("a")).unwrap();
    assert!(matches!(
        snapshot.write_tree(snapshot.tree(), &full),
        Err(WorkspaceError::NotEmpty { .. })
    ));
    let socket = folder.join("pipe");
    std::os::unix::net::UnixListener::bind(&socket).unwrap();
    assert!(matches!(
        hash_tree(&folder),
        Err(WorkspaceError::OddFile { .. })
    ));
}
