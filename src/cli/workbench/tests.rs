//! The workbench's seam on the bundled tasks: real trees, laid beside each other.
#![allow(clippy::unwrap_used)]

use std::path::Path;

use crate::diff::align::{How, Touched};
use crate::domain::notes::LineNote;
use crate::domain::{RunId, Source};
use crate::python::is_python;
use crate::store::Home;
use crate::tui::backend::{Backend, ChangeKind};
use crate::tui::panes::diff::entries::{By, Entry, Listed};
use crate::tui::panes::diff::load::list;
use crate::tui::panes::diff::state::DiffState;

use super::backend::Store;

fn tasks() -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tasks")
}

fn patch(task: &str, file: &str) -> Source {
    Source::Patch {
        file: tasks().join(task).join(file),
    }
}

/// Gold beside another patch of its task.
fn beside_gold(store: &Store, task: &str, file: &str, by: By) -> Listed {
    let mut comparison = DiffState::default().wanted(task, &patch(task, file));
    comparison.by = by;
    list(store, &comparison).unwrap()
}

fn find<'a>(listed: &'a Listed, name: &str) -> &'a Entry {
    let found = listed.entries.iter().find(|e| e.name() == name);
    found.unwrap_or_else(|| panic!("{name} is not among {:?}", names(listed)))
}

fn names(listed: &Listed) -> Vec<&str> {
    listed.entries.iter().map(Entry::name).collect()
}

#[test]
fn alternatives_are_beside_gold_by_path_and_by_symbol() {
    let folder = tempfile::tempdir().unwrap();
    let home = Home::open(folder.path()).unwrap();
    let store = Store::new(home, tasks());
    for (task, file) in [
        ("dp-buckets", "alternative/arena.patch"),
        ("dp-buckets", "alternative/passes.patch"),
        ("kv-prefix", "alternative/block-tree.patch"),
        ("kv-prefix", "alternative/labelled-queue.patch"),
        ("sparse-sync", "alternative/digest-and-gaps.patch"),
        ("sparse-sync", "alternative/leases-and-ledgers.patch"),
        ("sparse-sync", "hollow.patch"),
    ] {
        let by_path = beside_gold(&store, task, file, By::Path);
        assert!(
            by_path.entries.iter().all(|e| e.touched.is_some()),
            "{task} {file}"
        );
        let by_symbol = beside_gold(&store, task, file, By::Symbol);
        let parts = || by_symbol.entries.iter().filter_map(|e| e.part.as_ref());
        let paired: Vec<_> = parts().filter(|p| p.pair.how.is_some()).collect();
        assert!(paired.len() >= 3, "{task} {file}: {:?}", names(&by_symbol));
        // each file that both have and that differs has a part that tells so
        for entry in by_path
            .entries
            .iter()
            .filter(|e| e.kind == ChangeKind::Modified && is_python(&e.path))
        {
            let told = by_symbol.entries.iter().any(|e| {
                (e.path_on(0) == entry.path || e.path == entry.path) && e.kind != ChangeKind::Same
            });
            assert!(told, "{task} {file}: {}", entry.path);
        }
    }
    // a hollow patch keeps every name: nothing of it is without counterpart
    let hollow = beside_gold(&store, "sparse-sync", "hollow.patch", By::Symbol);
    assert!(
        hollow.entries.iter().all(|e| !e.alone()),
        "{:?}",
        names(&hollow)
    );
    // gold against base, with the submission aside: its touch is marked all the same
    let subject = patch("dp-buckets", "alternative/arena.patch");
    let mut state = DiffState::default();
    state.against = crate::tui::panes::diff::state::Against::GoldAndBase;
    let comparison = state.wanted("dp-buckets", &subject);
    let listed = list(&store, &comparison).unwrap();
    assert!(
        listed
            .entries
            .iter()
            .any(|e| e.touched == Some(Touched::Both))
    );
    assert!(
        listed
            .entries
            .iter()
            .all(|e| e.touched != Some(Touched::Right))
    );
    // the same patch on both sides is the same, by place
    let mut comparison = state.wanted("dp-buckets", &Source::Gold);
    comparison.left = Source::Gold;
    comparison.by = By::Symbol;
    let listed = list(&store, &comparison).unwrap();
    assert!(!listed.entries.is_empty());
    assert!(listed.entries.iter().all(|e| e.kind == ChangeKind::Same));
    let place = |e: &Entry| e.part.as_ref().map(|p| p.pair.how) == Some(Some(How::Place));
    assert!(listed.entries.iter().all(place));
    let _ = find(&listed, "module code");
}

#[test]
fn notes_are_kept_in_the_runs_folder_under_the_users_name() {
    let folder = tempfile::tempdir().unwrap();
    let home = Home::open(folder.path()).unwrap();
    let run = RunId("20261129-174101-abcd".into());
    std::fs::create_dir_all(home.run(&run).notes_path().parent().unwrap()).unwrap();
    let store = Store::new(home.clone(), tasks());
    let note = LineNote {
        tree: Source::Gold,
        path: "a.py".into(),
        line: 3,
        quoted: "x".into(),
        text: "why".into(),
        by: String::new(),
        at_s: 1.0,
    };
    let kept = store.keep_note(&run, &note).unwrap();
    assert_eq!(store.notes(&run).unwrap(), kept);
    assert!(!kept.notes[0].by.is_empty());
    assert!(home.run(&run).notes_path().is_file());
    let kept = store
        .keep_note(
            &run,
            &LineNote {
                text: String::new(),
                ..note
            },
        )
        .unwrap();
    assert!(kept.notes.is_empty());
}
