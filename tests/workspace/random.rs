//! Random trees, random edits, random options: what `git apply` makes of git's patch is what we
//! make of it, also on a base that has moved on.

use std::sync::OnceLock;

use infradev::workspace::{ApplyError, Snapshot, apply};
use proptest::prelude::*;

use crate::kit::{Files, diff, files, git_apply, numbered, ours, shown, snapshot, with};

const NAMES: [&[u8]; 10] = [
    b"a.py",
    b"pkg/b.py",
    b"pkg/sub/c d.py",
    b"pkg/x b/y",
    "\u{e9}/\u{fc}".as_bytes(),
    b"q\"uote\t",
    b"\xff.bin",
    b"a",
    b"pkg/__init__.py",
    b"z/new",
];

const OPTIONS: [&[&str]; 12] = [
    &[],
    &["-M", "-U1"],
    &["-C", "--find-copies-harder"],
    &["--no-renames", "-U0"],
    &["-U10", "--full-index"],
    &["-B", "-M"],
    &["--patience", "core.quotepath=false"],
    &["--inter-hunk-context=3", "-U2"],
    &["-W"],
    &[
        "--minimal",
        "--no-prefix",
        "--src-prefix=x/",
        "--dst-prefix=yy/",
    ],
    &["--histogram", "--irreversible-delete"],
    &["--ignore-space-at-eol", "-U1"],
];

fn text() -> impl Strategy<Value = Vec<u8>> {
    let word = prop::sample::select(vec![
        "",
        "a",
        "b",
        "def f():",
        "    return 1",
        "\u{e9}",
        "x y",
    ]);
    let end = prop::sample::select(vec!["\n", "\n", "\n", "\n", "\r\n"]);
    (prop::collection::vec((word, end), 0..24), any::<bool>()).prop_map(|(lines, last)| {
        let mut text: String = lines.iter().flat_map(|(w, e)| [*w, *e]).collect();
        if last {
            text.push_str("no newline");
        }
        text.into_bytes()
    })
}

fn file() -> impl Strategy<Value = (u32, Vec<u8>)> {
    prop_oneof![
        6 => text().prop_map(|t| (0o100_644, t)),
        1 => text().prop_map(|t| (0o100_755, t)),
        1 => prop::collection::vec(any::<u8>(), 0..600).prop_map(|b| (0o100_644, b)),
        1 => prop::sample::select(vec!["a.py", "pkg", "nowhere"]).prop_map(|t| (0o120_000, t.into())),
    ]
}

pub fn tree() -> impl Strategy<Value = Files> {
    prop::collection::btree_map(
        prop::sample::select(NAMES.to_vec()).prop_map(<[u8]>::to_vec),
        file(),
        1..7,
    )
}

#[derive(Clone, Debug)]
pub enum Edit {
    Lines(usize, usize, usize, Vec<u8>),
    Put(usize, (u32, Vec<u8>)),
    Delete(usize),
    Move(usize, usize),
    Copy(usize, usize),
    Mode(usize),
}

pub fn edit() -> impl Strategy<Value = Edit> {
    let any = || any::<prop::sample::Index>().prop_map(|i| i.index(1000));
    let name = || 0..NAMES.len();
    prop_oneof![
        8 => (any(), any(), 0..3usize, text()).prop_map(|(f, at, cut, mut put)| {
            put.truncate(20);
            Edit::Lines(f, at, cut, put)
        }),
        1 => (name(), file()).prop_map(|(n, f)| Edit::Put(n, f)),
        1 => any().prop_map(Edit::Delete),
        1 => (any(), name()).prop_map(|(f, n)| Edit::Move(f, n)),
        1 => (any(), name()).prop_map(|(f, n)| Edit::Copy(f, n)),
        1 => any().prop_map(Edit::Mode),
    ]
}

pub fn edited(tree: &Files, edits: &[Edit]) -> Files {
    let mut tree = tree.clone();
    for edit in edits {
        let nth = |tree: &Files, n: usize| -> Option<Vec<u8>> {
            tree.keys().nth(n % tree.len().max(1)).cloned()
        };
        match edit {
            Edit::Lines(file, at, cut, put) => {
                let Some(path) = nth(&tree, *file) else {
                    continue;
                };
                let entry = tree.get_mut(&path).unwrap();
                if entry.0 == 0o120_000 {
                    continue;
                }
                let mut lines: Vec<&[u8]> = entry.1.split_inclusive(|b| *b == b'\n').collect();
                let at = at % (lines.len() + 1);
                let end = (at + cut).min(lines.len());
                lines.splice(at..end, [put.as_slice()]);
                entry.1 = lines.concat();
            }
            Edit::Put(name, file) => {
                tree.insert(NAMES[*name].to_vec(), file.clone());
            }
            Edit::Delete(file) => {
                if let Some(path) = nth(&tree, *file) {
                    tree.remove(&path);
                }
            }
            Edit::Move(file, name) => {
                if let Some(path) = nth(&tree, *file) {
                    let moved = tree.remove(&path).unwrap();
                    tree.insert(NAMES[*name].to_vec(), moved);
                }
            }
            Edit::Copy(file, name) => {
                if let Some(path) = nth(&tree, *file) {
                    let copied = tree[&path].clone();
                    tree.insert(NAMES[*name].to_vec(), copied);
                }
            }
            Edit::Mode(file) => {
                if let Some(path) = nth(&tree, *file) {
                    let entry = tree.get_mut(&path).unwrap();
                    if entry.0 != 0o120_000 {
                        entry.0 ^= 0o111;
                    }
                }
            }
        }
    }
    // "a" is a file here and no folder of that name exists among the names
    tree
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 48,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn gits_own_patches_give_gits_trees(
        old in tree(),
        edits in prop::collection::vec(edit(), 1..8),
        options in prop::sample::select(OPTIONS.to_vec()),
    ) {
        let new = edited(&old, &edits);
        let options = [&["--binary"], options].concat();
        let patch = diff(&old, &new, &options);
        prop_assume!(!patch.is_empty());
        let git = git_apply(&old, &patch);
        match ours(&old, &patch) {
            Ok((_, tree)) => {
                prop_assert_eq!(Ok(&tree), git.as_ref(), "{}", shown(&patch));
                // without context a hunk may match elsewhere, for git too
                if !options.contains(&"--ignore-space-at-eol") && !options.contains(&"-U0") {
                    prop_assert_eq!(&tree, &new, "{}", shown(&patch));
                }
            }
            Err(refused) => prop_assert!(git.is_err(), "{refused}\n{}", shown(&patch)),
        }
    }

    #[test]
    fn a_base_that_moved_on_is_matched_as_git_matches_it(
        old in tree(),
        edits in prop::collection::vec(edit(), 1..5),
        drift in prop::collection::vec(edit(), 1..4),
        options in prop::sample::select(OPTIONS.to_vec()),
    ) {
        let new = edited(&old, &edits);
        let base = edited(&old, &drift);
        let options = [&["--binary"], options].concat();
        let patch = diff(&old, &new, &options);
        prop_assume!(!patch.is_empty());
        let git = git_apply(&base, &patch);
        match (ours(&base, &patch), git) {
            (Ok((applied, tree)), Ok(git)) => {
                prop_assert_ne!(applied.method.name(), "three-way");
                prop_assert_eq!(tree, git, "{}", shown(&patch));
            }
            // a known preimage lets us merge where git without --3way does not
            (Ok((applied, _)), Err(git)) => {
                prop_assert_eq!(applied.method.name(), "three-way", "{}\n{}", git, shown(&patch));
            }
            (Err(refused), Ok(git)) => {
                // changes nothing on this base: git says yes to that
                prop_assert!(git == base && refused.cause.name() == "empty", "{refused}\n{}", shown(&patch));
            }
            (Err(_), Err(_)) => {}
        }
    }
}

/// One base and one patch that has everything in it, for all cases.
fn rich() -> &'static (tempfile::TempDir, Snapshot, Vec<u8>) {
    static RICH: OnceLock<(tempfile::TempDir, Snapshot, Vec<u8>)> = OnceLock::new();
    RICH.get_or_init(|| {
        let text = numbered(40);
        let old = with(
            files(&[
                ("a", &text),
                ("b/c", &text),
                ("gone", "g\n"),
                ("moved", &numbered(30)),
            ]),
            &[(b"l", 0o120_000, b"a"), (b"bin", 0o100_644, &[0; 300])],
        );
        let mut bin = vec![0; 300];
        bin[150] = 1;
        let new = with(
            files(&[
                (
                    "a",
                    &text.replace("line 9\n", "nine\n").replace("line 30\n", ""),
                ),
                ("b/c", &text),
                ("b/new", "n"),
                ("to/moved", &numbered(31)),
            ]),
            &[
                (b"l", 0o120_000, b"b/c"),
                (b"bin", 0o100_755, &bin),
                (b"q \"b", 0o100_644, b"x\n"),
            ],
        );
        let dir = tempfile::tempdir().unwrap();
        let snapshot = snapshot(dir.path(), &old);
        (dir, snapshot, diff(&old, &new, &["--binary", "-M"]))
    })
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 512,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn a_damaged_patch_is_refused_or_gives_a_whole_tree_inside(
        cuts in prop::collection::vec((any::<prop::sample::Index>(), 0usize..30, prop::sample::select(b"\n/.+- @a0\x00\"\\".to_vec())), 1..4),
    ) {
        let (dir, snapshot, patch) = rich();
        let mut patch = patch.clone();
        for (at, length, byte) in cuts {
            let at = at.index(patch.len());
            let end = (at + length).min(patch.len());
            patch.splice(at..end, [byte]);
        }
        match apply(snapshot, &patch) {
            Ok(applied) => {
                let out = tempfile::tempdir_in(dir.path()).unwrap();
                snapshot.write_tree(applied.tree, out.path()).unwrap();
                let inside = out.path().canonicalize().unwrap();
                for (path, mode) in snapshot.files(applied.tree).unwrap() {
                    use std::os::unix::ffi::OsStrExt;
                    let path = out.path().join(std::ffi::OsStr::from_bytes(&path));
                    prop_assert!(matches!(mode, 0o100_644 | 0o100_755 | 0o120_000));
                    if let Ok(real) = path.canonicalize() {
                        prop_assert!(real.starts_with(&inside), "{}", shown(&patch));
                    }
                }
            }
            Err(ApplyError::Refused(refused)) => prop_assert!(!refused.message.is_empty()),
            Err(ApplyError::Workspace(fault)) => prop_assert!(false, "{fault}\n{}", shown(&patch)),
        }
    }
}
