//! The rules of the house (README, Architecture): imports go downward, unsafe has one place,
//! mod.rs files hold no logic, generated schemas are up to date.

#![allow(clippy::unwrap_used, clippy::expect_used)]

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// Folders from top to bottom; those on one line do not import each other.
const FLOORS: &[&[&str]] = &[
    &["cli"],
    &["tui"],
    &["report", "doctor"],
    &["pipeline"],
    &["launch"],
    &["environment", "workspace", "agent", "gpu"],
    &["engine"],
    &["store", "catalog"],
    &["python"],
    &["judge", "diff"],
    &["domain"],
];

/// What the workbench never touches: it reads the store and asks launch.
const NOT_FROM_TUI: &[&str] = &["engine", "workspace", "environment", "pipeline"];

/// What pure folders never use.
const NOT_PURE: &[&str] = &[
    "tokio",
    "ratatui",
    "crossterm",
    "bollard",
    "nvml_wrapper",
    "std::fs",
    "std::net",
    "std::process",
    "SystemTime",
    "Instant",
];

fn sources() -> Vec<(PathBuf, String)> {
    let mut found = Vec::new();
    let mut folders = vec![PathBuf::from("src")];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|e| e == "rs") {
                let text = fs::read_to_string(&path).unwrap();
                found.push((path, text));
            }
        }
    }
    assert!(found.len() > 20, "run from the repository's root");
    found
}

/// The text without comments; good enough for imports.
fn code(text: &str) -> String {
    text.lines()
        .map(|l| l.split("//").next().unwrap_or(""))
        .collect::<Vec<_>>()
        .join("\n")
}

fn folder_of(path: &Path) -> Option<String> {
    let inside = path.strip_prefix("src").ok()?;
    (inside.components().count() > 1).then(|| {
        inside
            .components()
            .next()
            .unwrap()
            .as_os_str()
            .to_string_lossy()
            .into_owned()
    })
}

fn floor(folder: &str) -> Option<usize> {
    FLOORS.iter().position(|f| f.contains(&folder))
}

#[test]
fn imports_go_downward() {
    let mut wrong = Vec::new();
    for (path, text) in sources() {
        let Some(folder) = folder_of(&path) else {
            continue;
        };
        let Some(own) = floor(&folder) else {
            wrong.push(format!(
                "{}: folder {folder} has no floor in this test",
                path.display()
            ));
            continue;
        };
        let code = code(&text);
        for (at, _) in code.match_indices("crate::") {
            let rest = &code[at + 7..];
            let names: Vec<String> = if let Some(group) = rest.strip_prefix('{') {
                group
                    .split('}')
                    .next()
                    .unwrap()
                    .split(',')
                    .map(|n| n.trim().split("::").next().unwrap().to_string())
                    .collect()
            } else {
                vec![
                    rest.chars()
                        .take_while(|c| c.is_alphanumeric() || *c == '_')
                        .collect(),
                ]
            };
            for name in names {
                let Some(other) = floor(&name) else { continue };
                if name != folder && other <= own {
                    wrong.push(format!(
                        "{}: {folder} imports {name}, which is not below it",
                        path.display()
                    ));
                }
                if folder == "tui" && NOT_FROM_TUI.contains(&name.as_str()) {
                    wrong.push(format!("{}: tui imports {name}", path.display()));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}

#[test]
fn pure_folders_are_pure() {
    let mut wrong = Vec::new();
    for (path, text) in sources() {
        let Some(folder) = folder_of(&path) else {
            continue;
        };
        if !["domain", "judge", "diff"].contains(&folder.as_str()) {
            continue;
        }
        let code = code(&text);
        for name in NOT_PURE {
            if code.contains(name) {
                wrong.push(format!("{}: uses {name}", path.display()));
            }
        }
    }
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}

#[test]
fn unsafe_has_one_place() {
    for (path, text) in sources() {
        if code(&text).contains("allow(unsafe_code)") {
            assert_eq!(path, Path::new("src/engine/local/sys.rs"));
        }
    }
}

#[test]
fn mod_files_hold_no_logic_and_files_stay_short() {
    let mut wrong = Vec::new();
    for (path, text) in sources() {
        if path.ends_with("mod.rs") && code(&text).contains("fn ") {
            wrong.push(format!("{}: logic in a mod.rs", path.display()));
        }
        // tests beside the code do not make it harder to read
        let lines = text
            .split("\n#[cfg(test)]\nmod tests")
            .next()
            .unwrap()
            .lines()
            .count();
        if lines > 450 {
            wrong.push(format!("{}: {lines} lines; split it", path.display()));
        }
    }
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}

#[test]
fn schemas_in_assets_are_those_of_the_types() {
    let mut expected: BTreeMap<String, String> = BTreeMap::new();
    for (name, schema) in infradev::cli::schema::all() {
        expected.insert(name.into(), infradev::cli::schema::render(&schema).unwrap());
    }
    for (name, text) in expected {
        let kept = fs::read_to_string(format!("assets/schema/{name}")).unwrap_or_default();
        assert_eq!(
            kept, text,
            "assets/schema/{name} is out of date: `cargo run -- schema assets/schema` renews it"
        );
    }
}
