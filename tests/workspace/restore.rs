//! Test configuration is gold's, whatever the submission did.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use infradev::workspace::{Snapshot, restore_configuration};

use crate::kit::{Files, files, read, with, write};

fn gold() -> Files {
    files(&[
        ("conftest.py", "import gold\n"),
        ("pkg/__init__.py", ""),
        ("pkg/conftest.py", "inner = 1\n"),
        ("pkg/code.py", "x = 1\n"),
        (
            "pyproject.toml",
            "[project]\nname = 'p'\n\n[tool.pytest.ini_options]\naddopts = '-q'\n",
        ),
        ("setup.cfg", "[metadata]\nname = p\n"),
        ("src/types.py", "own = 1\n"),
        ("tests/conftest.py", "of the suite\n"),
        ("p.egg-info/entry_points.txt", "[pytest11]\nx = p.plugin\n"),
    ])
}

struct Place {
    dir: tempfile::TempDir,
    snapshot: Snapshot,
    work: PathBuf,
}

fn place(work: &Files) -> Place {
    let dir = tempfile::tempdir().unwrap();
    let base = dir.path().join("gold");
    write(&base, &gold());
    let snapshot = Snapshot::from_dir(&base, &dir.path().join("snapshots")).unwrap();
    let place = dir.path().join("work");
    fs::create_dir(&place).unwrap();
    write(&place, work);
    Place {
        work: place,
        dir,
        snapshot,
    }
}

fn restore(place: &Place) -> Vec<(String, &'static str)> {
    let mut done: Vec<(String, &'static str)> = restore_configuration(
        &place.work,
        &place.snapshot,
        place.snapshot.tree(),
        &["tests", "probes/"],
        &[".", "src"],
    )
    .unwrap()
    .into_iter()
    .map(|r| {
        assert!(!r.why.is_empty());
        (r.path.to_string_lossy().into_owned(), r.action.name())
    })
    .collect();
    done.sort();
    // what is restored stays restored
    let again = restore_configuration(
        &place.work,
        &place.snapshot,
        place.snapshot.tree(),
        &["tests", "probes"],
        &[".", "src"],
    )
    .unwrap();
    assert_eq!(again, [], "a second time");
    done
}

fn row(path: &str, action: &'static str) -> (String, &'static str) {
    (path.to_owned(), action)
}

#[test]
fn an_honest_submission_is_left_as_it_is() {
    let work = with(
        gold(),
        &[
            (b"pkg/code.py", 0o100_644, b"x = 2\n"),
            (b"pkg/queue.py", 0o100_644, b"not at the top\n"),
            (b"src/new_module.py", 0o100_644, b"fine\n"),
            (b"src/types.py", 0o100_644, b"gold has it too\n"),
            (b"json/data.txt", 0o100_644, b"no package\n"),
            (b"setup.cfg", 0o100_644, b"[metadata]\nname = p\nversion = 2\n"),
            (b"pyproject.toml", 0o100_644, b"[project]\nname = 'p'\nversion = '2'\n[tool.pytest.ini_options]\n# why\naddopts = \"-q\"\n"),
            (b"tests/conftest.py", 0o100_644, b"the suite's business\n"),
            (b"probes/pytest.ini", 0o100_644, b"the suite's business\n"),
        ],
    );
    let place = place(&work);
    assert_eq!(restore(&place), []);
    assert_eq!(read(&place.work), work);
}

#[test]
fn every_way_to_choose_the_tests_is_closed() {
    let mut work = with(
        gold(),
        &[
            (b"conftest.py", 0o100_644, b"import evil\n"),
            (b"other/conftest.py", 0o100_644, b"evil\n"),
            (b"pytest.ini", 0o100_644, b"[pytest]\naddopts = --deselect x\n"),
            (b"a/.pytest.ini", 0o100_644, b""),
            (b"pytest.toml", 0o100_644, b""),
            (b"tox.ini", 0o100_644, b"[tox]\nenvlist = a\n[pytest]\naddopts = -x\n"),
            (b"sub/tox.ini", 0o100_644, b"[pytest]\naddopts = -x\n"),
            (b"setup.cfg", 0o100_644, b"[metadata]\nname = mine\n[tool:pytest]\naddopts = -x\n"),
            (b"pyproject.toml", 0o100_644, b"[project]\nname = 'mine'\n[tool.pytest.ini_options]\naddopts = '--deselect x'\n[tool.ruff]\n"),
            (b"src/pyproject.toml", 0o100_644, b"tool.pytest.ini_options.addopts = '-x'\n"),
            (b"sitecustomize.py", 0o100_644, b"evil\n"),
            (b"src/usercustomize.py", 0o100_644, b"evil\n"),
            (b"src/sitecustomize/__init__.py", 0o100_644, b"evil\n"),
            (b"evil.pth", 0o100_644, b"import evil\n"),
            (b"evil.dist-info/entry_points.txt", 0o100_644, b"[pytest11]\nevil = evil\n"),
            (b"fine.dist-info/entry_points.txt", 0o100_644, b"[console_scripts]\na = b\n"),
            (b"p.egg-info/entry_points.txt", 0o100_644, b"[pytest11]\nx = evil\n"),
            (b"pytest.py", 0o100_644, b"evil\n"),
            (b"numpy/__init__.py", 0o100_644, b"evil\n"),
            (b"src/_pytest/__init__.py", 0o100_644, b"evil\n"),
            (b"src/random.py", 0o100_644, b"evil\n"),
            (b"torch.cpython-312-x86_64-linux-gnu.so", 0o100_644, b"\x7fELF"),
            (b"pkg/__pycache__/code.cpython-312.pyc", 0o100_644, b"stale"),
            (b"infradev_reporter.py", 0o100_644, b"evil\n"),
        ],
    );
    work.remove(&b"pkg/conftest.py"[..]);
    let place = place(&work);
    assert_eq!(
        restore(&place),
        [
            row("a/.pytest.ini", "removed"),
            row("conftest.py", "restored"),
            row("evil.dist-info/entry_points.txt", "removed"),
            row("evil.pth", "removed"),
            row("infradev_reporter.py", "removed"),
            row("numpy", "removed"),
            row("other/conftest.py", "removed"),
            row("p.egg-info/entry_points.txt", "restored"),
            row("pkg/__pycache__", "removed"),
            row("pkg/conftest.py", "restored"),
            row("pyproject.toml", "section restored"),
            row("pytest.ini", "removed"),
            row("pytest.py", "removed"),
            row("pytest.toml", "removed"),
            row("setup.cfg", "section restored"),
            row("sitecustomize.py", "removed"),
            row("src/_pytest", "removed"),
            row("src/pyproject.toml", "removed"),
            row("src/random.py", "removed"),
            row("src/sitecustomize", "removed"),
            row("src/usercustomize.py", "removed"),
            row("sub/tox.ini", "removed"),
            row("torch.cpython-312-x86_64-linux-gnu.so", "removed"),
            row("tox.ini", "section restored"),
        ]
    );
    let left = read(&place.work);
    assert_eq!(left[&b"conftest.py"[..]], gold()[&b"conftest.py"[..]]);
    assert_eq!(
        left[&b"pkg/conftest.py"[..]],
        gold()[&b"pkg/conftest.py"[..]]
    );
    assert_eq!(left[&b"tox.ini"[..]].1, b"[tox]\nenvlist = a\n");
    assert_eq!(left[&b"setup.cfg"[..]].1, b"[metadata]\nname = mine\n");
    assert_eq!(
        left[&b"pyproject.toml"[..]].1,
        b"[project]\nname = 'mine'\n[tool.ruff]\n[tool.pytest.ini_options]\naddopts = '-q'\n"
    );
    assert!(left.contains_key(&b"fine.dist-info/entry_points.txt"[..]));
}

#[test]
fn symlinks_in_their_places_are_removed_not_followed() {
    let mut work = gold();
    for path in [
        "conftest.py",
        "pyproject.toml",
        "pkg/conftest.py",
        "pkg/code.py",
        "pkg/__init__.py",
    ] {
        work.remove(path.as_bytes());
    }
    let place = place(&work);
    let outside = place.dir.path().join("outside");
    write(
        &outside,
        &files(&[
            ("conftest.py", "evil\n"),
            ("numpy/__init__.py", "evil\n"),
            ("p.toml", ""),
        ]),
    );
    let before = read(&outside);
    symlink(outside.join("conftest.py"), place.work.join("conftest.py")).unwrap();
    symlink(outside.join("p.toml"), place.work.join("pyproject.toml")).unwrap();
    symlink(outside.join("numpy"), place.work.join("numpy")).unwrap();
    symlink(&outside, place.work.join("pkg")).unwrap();
    let done = restore(&place);
    assert_eq!(
        done,
        [
            row("conftest.py", "restored"),
            row("numpy", "removed"),
            row("pyproject.toml", "restored")
        ]
    );
    assert_eq!(read(&outside), before, "nothing outside is touched");
    assert!(
        fs::symlink_metadata(place.work.join("conftest.py"))
            .unwrap()
            .is_file()
    );
    assert!(
        Path::new(&place.work).join("pkg").is_symlink(),
        "nothing of gold's is written through it"
    );
}

#[test]
fn deleted_sections_come_back() {
    let mut work = gold();
    work.remove(&b"pyproject.toml"[..]);
    work.remove(&b"setup.cfg"[..]);
    let place = place(&work);
    assert_eq!(
        restore(&place),
        [row("pyproject.toml", "restored")],
        "setup.cfg says nothing of tests"
    );
}
