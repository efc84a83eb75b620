//! Random trees, random edits, random options: what `git apply` makes of git's patch is what we
//! make of it, also on a base that has moved on.

use proptest::prelude::*;

use crate::kit::{Files, diff, git_apply, ours, shown};

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
