#![allow(clippy::unwrap_used)]

use std::collections::{HashMap, HashSet};

use super::*;
use crate::tui::action::{Action, TABLE, entry};
use crate::tui::config::ConfigFile;
use crate::tui::layout::PaneKind;

fn read(text: &str) -> (Keymap, Vec<String>) {
    let file = ConfigFile {
        file: "keymap.toml",
        text,
    };
    let mut problems = Vec::new();
    let keymap = load(&file, &mut problems);
    (keymap, problems.iter().map(ToString::to_string).collect())
}

#[test]
fn every_key_of_the_table_can_be_read_and_names_are_one_each() {
    let mut names = HashSet::new();
    for entry in TABLE {
        for key in entry.keys {
            let read = chord(key).unwrap();
            assert_eq!(written(&read), *key, "{}", entry.name);
            assert_eq!(read[0].unsent(), None);
        }
        assert!(names.insert(entry.name), "{}", entry.name);
    }
}

#[test]
fn no_key_means_two_things_and_no_pane_shadows_a_key_that_works_everywhere() {
    for pane in PaneKind::ALL {
        let mut seen: HashMap<Vec<Key>, &str> = HashMap::new();
        for entry in TABLE.iter().filter(|entry| entry.reaches(pane)) {
            for key in entry.keys.iter().filter_map(|k| chord(k)) {
                if let Some(other) = seen.insert(key.clone(), entry.name) {
                    panic!("{pane:?}: {key:?} means {other} and {}", entry.name);
                }
            }
        }
    }
}

#[test]
fn every_action_has_a_plain_key_except_job_control() {
    // tmux and SSH eat the rest; esc, tab and enter are plain everywhere
    for entry in TABLE {
        let plain = entry.keys.iter().any(|key| !key.starts_with("ctrl-"));
        let job_control = matches!(entry.name, "redraw" | "suspend");
        assert!(plain || job_control, "{}", entry.name);
        assert!(entry.keys.iter().all(|key| !key.starts_with("alt-")));
    }
}

#[test]
fn keys_that_multiplexers_take_are_not_used() {
    for entry in TABLE {
        for key in entry.keys {
            assert!(
                ![
                    "ctrl-a", "ctrl-b", "ctrl-h", "ctrl-j", "ctrl-k", "ctrl-i", "ctrl-m", "ctrl-s",
                    "ctrl-q"
                ]
                .contains(key),
                "{}",
                entry.name
            );
        }
    }
}

#[test]
fn keys_are_read_as_they_are_written() {
    for name in [
        "g", "G", "?", "f12", "ctrl-z", "alt-x", "space", "delete", "{", "f", "-", "é",
    ] {
        assert_eq!(Key::parse(name).unwrap().to_string(), name);
    }
    for name in [
        "",
        " ",
        "gg",
        "f13",
        "f0",
        "ctrl-",
        "ctrl-ctrl-a",
        "hyper-x",
        "\u{1b}",
    ] {
        assert_eq!(Key::parse(name), None, "{name:?}");
    }
    assert_eq!(chord("g g").unwrap().len(), 2);
    assert_eq!(chord("  "), None);
}

#[test]
fn what_is_printed_loads_again_to_the_same() {
    let standard = Keymap::default();
    let (again, problems) = read(&print(&standard));
    assert_eq!(problems, Vec::<String>::new());
    assert_eq!(again, standard);
    let (own, problems) =
        read("[everywhere]\ntop = [\"g g\", \"\\\"\"]\ngrade = \"!\"\ncopy = []\n");
    assert_eq!(problems, Vec::<String>::new());
    let (again, problems) = read(&print(&own));
    assert_eq!(problems, Vec::<String>::new());
    assert_eq!(again, own);
}

#[test]
fn only_what_is_overridden_changes() {
    let (keymap, problems) = read("[everywhere]\ngrade = \"f5\"\n");
    assert_eq!(problems, Vec::<String>::new());
    let means = |key: &str| match keymap.find(&chord(key).unwrap(), PaneKind::Tasks) {
        Found::Entry(entry) => entry.name,
        Found::More => "more",
        Found::Nothing => "nothing",
    };
    assert_eq!(
        (means("f5"), means("g"), means("G")),
        ("grade", "nothing", "grade-gold")
    );
    assert_eq!(keymap.of(Action::Grade), "f5");
    assert_eq!(
        keymap.fill("no run yet: {grade} grades {x}"),
        "no run yet: f5 grades {x}"
    );
}

#[test]
fn an_action_without_a_key_is_told_by_the_palette() {
    let (keymap, problems) = read("[everywhere]\ngrade = []\n");
    assert_eq!(problems, Vec::<String>::new());
    assert_eq!(keymap.first(entry(Action::Grade).unwrap()), None);
    assert_eq!(keymap.of(Action::Grade), ": grade");
}

/// Every word in braces of the table is an action's name.
#[test]
fn reasons_name_keys_that_exist() {
    let standard = Keymap::default();
    let app = crate::tui::fixture::empty(120, 40, crate::tui::caps::Depth::None);
    for entry in TABLE {
        let reason = (entry.possible)(&app).err().unwrap_or_default();
        for words in [entry.help, reason] {
            assert!(
                !standard.fill(words).contains('{'),
                "{}: {words}",
                entry.name
            );
        }
    }
}
