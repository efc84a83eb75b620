//! A suite replaces its folder as a whole, whatever the submission made of it.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use infradev::workspace::{Replaced, WorkspaceError, remove_suite, replace_suite, rewritten};

use crate::kit::{Files, files, read, with, write};

fn gold() -> Files {
    with(
        files(&[
            ("test_a.py", "gold a\n"),
            ("sub/test_b.py", "gold b\n"),
            ("conftest.py", "gold\n"),
        ]),
        &[(b"data", 0o120_000, b"sub")],
    )
}

struct Place {
    _dir: tempfile::TempDir,
    work: PathBuf,
    from: PathBuf,
    outside: PathBuf,
}

fn place(work_files: &Files) -> Place {
    let dir = tempfile::tempdir().unwrap();
    let [work, from, outside] = ["work", "from", "outside"].map(|n| dir.path().join(n));
    for folder in [&work, &from, &outside] {
        fs::create_dir(folder).unwrap();
    }
    write(&work, work_files);
    write(&from, &gold());
    write(&outside, &files(&[("precious", "p\n")]));
    Place {
        _dir: dir,
        work,
        from,
        outside,
    }
}

fn below(tree: &Files, folder: &str) -> Files {
    let folder = folder.trim_end_matches('/');
    tree.iter()
        .filter_map(|(path, file)| {
            let inner = path.strip_prefix(folder.as_bytes())?.strip_prefix(b"/")?;
            Some((inner.to_vec(), file.clone()))
        })
        .collect()
}

fn paths(list: &[&str]) -> Vec<PathBuf> {
    list.iter().map(PathBuf::from).collect()
}

fn check(place: &Place, into: &str) -> Replaced {
    let replaced = replace_suite(&place.work, into, &place.from).unwrap();
    assert_eq!(below(&read(&place.work), into), gold());
    assert_eq!(
        read(&place.outside),
        files(&[("precious", "p\n")]),
        "nothing outside is touched"
    );
    replaced
}

#[test]
fn extras_go_and_edits_count_for_nothing() {
    let place = place(&files(&[
        ("src/x.py", "x\n"),
        ("tests/test_a.py", "edited\n"),
        ("tests/sub/test_b.py", "gold b\n"),
        ("tests/sub/extra/deep.py", "e\n"),
        ("tests/data", "a file\n"),
        ("tests/__pycache__/test_a.pyc", "stale\n"),
        ("tests_of_mine/x", "kept\n"),
    ]));
    let replaced = check(&place, "tests");
    assert_eq!(replaced.edits, paths(&["tests/data", "tests/test_a.py"]));
    assert_eq!(
        replaced.extras,
        paths(&["tests/__pycache__/test_a.pyc", "tests/sub/extra/deep.py"])
    );
    assert_eq!(replaced.obstacles, paths(&[]));
    assert!(place.work.join("tests_of_mine/x").exists());
}

#[test]
fn a_symlink_in_its_place_is_removed_not_followed() {
    let place = place(&files(&[("src/x.py", "x\n")]));
    symlink(&place.outside, place.work.join("tests")).unwrap();
    assert_eq!(check(&place, "tests").obstacles, paths(&["tests"]));
}

#[test]
fn a_symlink_on_the_way_is_removed_too() {
    let place = place(&files(&[("src/x.py", "x\n")]));
    symlink(&place.outside, place.work.join("pkg")).unwrap();
    assert_eq!(check(&place, "pkg/inner/tests").obstacles, paths(&["pkg"]));
    assert!(
        fs::symlink_metadata(place.work.join("pkg"))
            .unwrap()
            .is_dir()
    );
}

#[test]
fn symlinks_inside_are_removed_not_followed() {
    let place = place(&files(&[("tests/x", "x\n")]));
    symlink(&place.outside, place.work.join("tests/sub")).unwrap();
    symlink(
        place.outside.join("precious"),
        place.work.join("tests/test_a.py"),
    )
    .unwrap();
    let replaced = check(&place, "tests");
    assert_eq!(replaced.edits, paths(&["tests/sub", "tests/test_a.py"]));
}

#[test]
fn a_file_in_its_place_or_nothing_at_all() {
    let place = place(&files(&[("tests", "a file\n"), ("a", "file\n")]));
    assert_eq!(check(&place, "tests/").obstacles, paths(&["tests"]));
    assert_eq!(check(&place, "probes"), Replaced::default());
    assert_eq!(check(&place, "a/b/c").obstacles, paths(&["a"]));
}

#[test]
fn the_folder_must_be_inside() {
    let place = place(&files(&[("x", "x\n")]));
    for into in ["", ".", "..", "../outside", "/tmp", "a/../.."] {
        let refused = replace_suite(&place.work, into, &place.from);
        assert!(
            matches!(refused, Err(WorkspaceError::BadFolder { .. })),
            "{into}"
        );
    }
    assert_eq!(read(&place.work), files(&[("x", "x\n")]));
    assert!(Path::new(&place.outside).join("precious").exists());
}

#[test]
fn files_that_were_rewritten_since_are_found() {
    let place = place(&files(&[("src/x.py", "x\n")]));
    let found = || rewritten(&place.work, "a/tests", &place.from).unwrap();
    fs::write(place.from.join("golden.json"), "[1]\n").unwrap();
    replace_suite(&place.work, "a/tests", &place.from).unwrap();
    let tests = place.work.join("a/tests");
    fs::write(tests.join("snapshot.json"), "{}").unwrap();
    fs::create_dir(tests.join("__pycache__")).unwrap();
    fs::remove_file(tests.join("data")).unwrap();
    assert_eq!(found(), paths(&[]), "what tests write is theirs");
    fs::write(tests.join("golden.json"), "[2]\n").unwrap();
    assert_eq!(found(), paths(&["a/tests/golden.json"]));
    fs::write(tests.join("golden.json"), "[1]\n").unwrap();
    // as long as before
    fs::write(tests.join("test_a.py"), "bold a\n").unwrap();
    assert_eq!(found(), paths(&["a/tests/test_a.py"]));
    fs::remove_file(tests.join("test_a.py")).unwrap();
    assert_eq!(found(), paths(&["a/tests/test_a.py"]));
    // the same text behind links is not what was laid
    symlink(place.from.join("test_a.py"), tests.join("test_a.py")).unwrap();
    fs::remove_dir_all(tests.join("sub")).unwrap();
    symlink(place.from.join("sub"), tests.join("sub")).unwrap();
    assert_eq!(
        found(),
        paths(&["a/tests/sub/test_b.py", "a/tests/test_a.py"])
    );
    fs::remove_dir_all(place.work.join("a")).unwrap();
    assert_eq!(found().len(), 4);
    symlink(&place.from, place.work.join("a")).unwrap();
    assert_eq!(found().len(), 4);
}

#[test]
fn the_folder_of_another_suite_goes_as_a_whole() {
    let place = place(&files(&[
        ("lib/a.py", "a\n"),
        ("probes/evil.py", "e\n"),
        ("probes/deep/er.py", "e\n"),
    ]));
    symlink(&place.outside, place.work.join("probes/deep/link")).unwrap();
    let replaced = remove_suite(&place.work, "probes").unwrap();
    let expected = paths(&["probes/deep/er.py", "probes/deep/link", "probes/evil.py"]);
    assert_eq!(replaced.extras, expected);
    assert!(!place.work.join("probes").exists());
    assert!(place.outside.join("precious").is_file());
    assert!(place.work.join("lib/a.py").is_file());
    // a second time there is nothing to do, and no folder is made on the way
    let nothing = remove_suite(&place.work, "none/probes").unwrap();
    assert_eq!(nothing, Replaced::default());
    assert!(!place.work.join("none").exists());
}

#[test]
fn a_link_in_the_place_of_another_suite_is_removed_not_followed() {
    let place = place(&files(&[("lib/a.py", "a\n")]));
    symlink(&place.outside, place.work.join("way")).unwrap();
    let replaced = remove_suite(&place.work, "way/probes").unwrap();
    assert_eq!(replaced.obstacles, paths(&["way"]));
    assert!(place.outside.join("precious").is_file());
    assert!(
        fs::symlink_metadata(place.work.join("way"))
            .unwrap()
            .is_dir()
    );
}
