//! What a capture leaves out: by base's rules, with git as the oracle, and by ours.

use std::fs;

use infradev::workspace::Capture;
use proptest::prelude::*;

use crate::bench::{Bench, note};
use crate::kit::{Files, files, git, with, write};

fn kinds(captured: &Capture) -> Vec<(&str, &str, &str)> {
    captured
        .notes
        .iter()
        .map(|n| (n.path.as_str(), n.kind.as_str(), n.detail.as_str()))
        .collect()
}

#[test]
fn what_base_ignores_is_left_out_unless_base_has_it() {
    let bench = Bench::new(&files(&[
        (".gitignore", "*.log\n/out/\n!kept.log\n"),
        ("sub/.gitignore", "local\n"),
        ("old.log", "tracked\n"),
        ("out/tracked", "t\n"),
        ("a", "a\n"),
    ]));
    bench.put(&[
        ("old.log", "edited\n"),
        ("out/tracked", "edited\n"),
        ("out/new", "12345"),
        ("out/deep/er", "67"),
        ("new.log", "n\n"),
        ("kept.log", "k\n"),
        ("sub/local", "l\n"),
        ("local", "not there\n"),
        // the agent's own rules hide nothing, and un-hide nothing
        ("sub2/.gitignore", "*\n"),
        ("sub2/code.py", "c\n"),
    ]);
    fs::write(bench.work.join(".gitignore"), "!new.log\na\nsub*\n").unwrap();
    fs::create_dir_all(bench.work.join(".git/info")).unwrap();
    fs::write(bench.work.join(".git/info/exclude"), "*\n").unwrap();
    let captured = bench.capture();
    assert_eq!(
        Bench::brief(&captured),
        [
            "M .gitignore",
            "A kept.log",
            "A local",
            "M old.log",
            "M out/tracked",
            "A sub2/.gitignore",
            "A sub2/code.py"
        ]
    );
    assert_eq!(
        kinds(&captured),
        [
            ("new.log", "ignored", "base's .gitignore has *.log: 2 bytes"),
            (
                "out/deep",
                "ignored",
                "base's .gitignore has /out/: 1 file, 2 bytes"
            ),
            ("out/new", "ignored", "base's .gitignore has /out/: 5 bytes"),
            (
                "sub/local",
                "ignored",
                "base's .gitignore has local: 2 bytes"
            ),
        ]
    );
}

#[test]
fn caches_and_build_products_are_left_out_and_listed() {
    let elf = |kind: u8| {
        let mut bytes = b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0".to_vec();
        bytes.extend_from_slice(&[kind, 0, 62, 0]);
        bytes
    };
    let bench = Bench::new(&with(
        files(&[("pkg/a.py", "a\n"), ("pkg.egg-info/PKG-INFO", "1\n")]),
        &[(b"vendored.so", 0o100_755, &elf(3))],
    ));
    bench.put(&[
        ("pkg/__pycache__/a.cpython-311.pyc", "x"),
        (".pytest_cache/v/cache/lastfailed", "{}"),
        ("web/node_modules/x/index.js", "1"),
        ("my_env/pyvenv.cfg", "home = /usr/bin\n"),
        ("my_env/bin/tool", "t"),
        (
            "cached/CACHEDIR.TAG",
            "Signature: 8a477f597d28d172789f06886806bc55\n",
        ),
        ("cached/x", "x"),
        ("build/lib.linux-x86_64-cpython-311/p/a.py", "a\n"),
        ("build/lib/p/a.py", "a\n"),
        ("out/CMakeCache.txt", "x"),
        ("pkg.egg-info/SOURCES.txt", "new in a folder of base\n"),
        ("pkg.egg-info/PKG-INFO", "2\n"),
        (".coverage", "x"),
        (".DS_Store", "x"),
        ("old.pyc", "x"),
        // none of these is one
        ("build_tools/lib/a.py", "a\n"),
        ("tools/build/lib/a.py", "a\n"),
        ("core", "prose about the core\n"),
        ("notes.a", "text\n"),
        ("venv.md", "v\n"),
        (".env", "E=1\n"),
        (
            "CACHEDIR.TAG",
            "Signature: 8a477f597d28d172789f06886806bc55\n",
        ),
    ]);
    for (name, kind) in [("ext.so", 3), ("a.o", 1), ("prog", 2), ("core.77", 4)] {
        fs::write(bench.work.join(name), elf(kind)).unwrap();
    }
    fs::write(bench.work.join("vendored.so"), [elf(3), vec![1]].concat()).unwrap();
    let captured = bench.capture();
    assert_eq!(
        Bench::brief(&captured),
        [
            "A .env",
            "A CACHEDIR.TAG",
            "A build_tools/lib/a.py",
            "A core",
            "A notes.a",
            "M pkg.egg-info/PKG-INFO",
            "A tools/build/lib/a.py",
            "M vendored.so",
            "A venv.md",
        ]
    );
    assert_eq!(
        kinds(&captured),
        [
            (".DS_Store", "cache", "a file manager's settings: 1 byte"),
            (".coverage", "cache", "coverage data: 1 byte"),
            (".pytest_cache", "cache", "pytest's cache: 1 file, 2 bytes"),
            ("a.o", "cache", "compiled: 20 bytes"),
            ("build", "cache", "a setuptools build: 2 files, 4 bytes"),
            (
                "cached",
                "cache",
                "a cache, by its own tag: 2 files, 45 bytes"
            ),
            ("core.77", "cache", "a core dump: 20 bytes"),
            ("ext.so", "cache", "compiled: 20 bytes"),
            (
                "my_env",
                "cache",
                "a virtual environment: 2 files, 17 bytes"
            ),
            ("old.pyc", "cache", "bytecode: 1 byte"),
            ("out", "cache", "a CMake build: 1 file, 1 byte"),
            (
                "pkg.egg-info/SOURCES.txt",
                "cache",
                "package metadata of an install: 24 bytes"
            ),
            ("pkg/__pycache__", "cache", "bytecode: 1 file, 1 byte"),
            ("prog", "cache", "compiled: 20 bytes"),
            (
                "web/node_modules",
                "cache",
                "installed packages: 1 file, 1 byte"
            ),
        ]
    );
}

#[test]
fn many_places_of_one_rule_are_one_note_and_notes_are_bounded() {
    let bench = Bench::new(&files(&[(".gitignore", "*.log\n")]));
    for n in 0..300 {
        bench.put(&[
            (&format!("p{n:03}/__pycache__/a.pyc"), "12"),
            (&format!("p{n:03}/x.log"), "123"),
        ]);
        let nested = bench.work.join(format!("n{n:03}"));
        fs::create_dir_all(nested.join(".git")).unwrap();
    }
    let captured = bench.capture();
    assert_eq!((captured.notes.len(), captured.more_notes), (200, 102));
    assert!(captured.notes.iter().all(|n| n.kind == "nested-repository"));
    for n in 0..300 {
        fs::remove_dir_all(bench.work.join(format!("n{n:03}"))).unwrap();
    }
    assert_eq!(
        kinds(&bench.capture()),
        [
            (
                "p000/x.log, …",
                "ignored",
                "base's .gitignore has *.log: 300 places, 300 files, 900 bytes"
            ),
            (
                "p000/__pycache__, …",
                "cache",
                "bytecode: 300 places, 300 files, 600 bytes"
            ),
        ]
    );
}

#[test]
fn a_gigantic_cache_is_not_counted_to_its_end() {
    let bench = Bench::new(&files(&[("a", "a\n")]));
    let cache = bench.work.join("node_modules");
    for folder in 0..101 {
        let folder = cache.join(folder.to_string());
        fs::create_dir_all(&folder).unwrap();
        let first = folder.join("0");
        fs::write(&first, "x").unwrap();
        for n in 1..1000 {
            fs::hard_link(&first, folder.join(n.to_string())).unwrap();
        }
    }
    let captured = bench.capture();
    let detail = &note(&captured, "node_modules").detail;
    assert!(detail.contains("more than"), "{detail}");
}

const NAMES: [&str; 14] = [
    "a", "b", "ab", "a.py", "b.py", "foo", "foobar", "a b", "x]", "*", "\\", "A", "!a", "#a",
];
const PIECES: [&str; 26] = [
    "*",
    "**",
    "?",
    "/",
    "a",
    "b",
    "foo",
    ".py",
    "[ab]",
    "[!a]",
    "[a-",
    "]",
    "\\",
    "!",
    "#",
    " ",
    "[[:alpha:]]",
    "[^b]",
    "x",
    "/**/",
    "**/",
    "/**",
    "\\ ",
    "bar",
    "A",
    "[a-c]",
];

fn path() -> impl Strategy<Value = String> {
    prop::collection::vec(prop::sample::select(NAMES.to_vec()), 1..4).prop_map(|p| p.join("/"))
}

fn rule() -> impl Strategy<Value = String> {
    prop::collection::vec(prop::sample::select(PIECES.to_vec()), 1..5).prop_map(|p| p.concat())
}

/// Which of `paths` git calls ignored, by the rules of `base` and nothing else.
fn oracle(base: &Files, paths: &Files) -> Vec<Vec<u8>> {
    let dir = tempfile::tempdir().unwrap();
    git(dir.path(), &["init", "-q"]).unwrap();
    write(dir.path(), base);
    git(dir.path(), &["add", "-Af"]).unwrap();
    write(dir.path(), paths);
    let out = git(
        dir.path(),
        &[
            "ls-files",
            "-z",
            "--others",
            "--ignored",
            "--exclude-per-directory=.gitignore",
        ],
    );
    let out = out.unwrap();
    out.split(|&b| b == 0)
        .filter(|p| !p.is_empty())
        .map(<[u8]>::to_vec)
        .collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 192, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn the_rules_are_gits(
        root in prop::collection::vec(rule(), 1..5),
        inner in prop::collection::vec(rule(), 0..4),
        paths in prop::collection::btree_set(path(), 1..12),
    ) {
        // no path is the folder of another
        let paths: Vec<&String> = paths
            .iter()
            .filter(|p| !paths.iter().any(|q| q.starts_with(&format!("{p}/"))))
            .filter(|p| **p != "a" && **p != "foo")
            .collect();
        let base = files(&[
            (".gitignore", &root.join("\n")),
            ("foo/.gitignore", &format!("{}\r\n", inner.join("\r\n"))),
            ("a/tracked", "t\n"),
        ]);
        let new: Files = paths
            .iter()
            .map(|p| (p.as_bytes().to_vec(), (0o100_644, b"x\n".to_vec())))
            .collect();
        let ignored = oracle(&base, &new);
        let bench = Bench::new(&base);
        write(&bench.work, &new);
        let captured = bench.capture();
        let got: Vec<Vec<u8>> = captured.files.iter().map(|f| f.path.clone()).collect();
        let wanted: Vec<Vec<u8>> = new.keys().filter(|p| !ignored.contains(p)).cloned().collect();
        prop_assert_eq!(got, wanted, "{:?} {:?}", root, inner);
    }
}
