//! The user's keymaps and themes: what loads, and what is told of what does not. Each file of
//! `configs/invalid` says in a line `# error: WORDS | MEND` what is wrong in the line below it.

#![allow(clippy::unwrap_used, clippy::expect_used)]

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use infradev::tui::caps::Depth;
use infradev::tui::config::Config;

const BINARY: &str = env!("CARGO_BIN_EXE_infradev");

fn files(kind: &str) -> Vec<PathBuf> {
    let folder = Path::new("tests/configs").join(kind);
    let entries = std::fs::read_dir(folder).unwrap();
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    files.sort();
    files
}

/// Lays a file where the workbench looks for it; returns the place.
fn lay(folder: &Path, file: &Path) -> PathBuf {
    let name = file.file_name().unwrap();
    let place = if name.to_string_lossy().starts_with("keymap") {
        folder.join("keymap.toml")
    } else {
        std::fs::create_dir_all(folder.join("themes")).unwrap();
        folder.join("themes").join(name)
    };
    std::fs::copy(file, &place).unwrap();
    place
}

#[test]
fn what_is_right_loads() {
    let all = files("valid");
    assert!(all.len() >= 5);
    for file in all {
        let dir = tempfile::tempdir().unwrap();
        lay(dir.path(), &file);
        let config = Config::read(dir.path(), Depth::True);
        let told: Vec<String> = config.problems.iter().map(ToString::to_string).collect();
        assert_eq!(told, Vec::<String>::new(), "{}", file.display());
        let stem = file.file_stem().unwrap().to_string_lossy().into_owned();
        if stem.starts_with("theme") {
            config.theme(&stem).unwrap();
        }
    }
}

#[test]
fn what_is_wrong_is_told_with_its_line_and_the_mend() {
    let all = files("invalid");
    assert!(all.len() >= 30);
    for file in all {
        let text = std::fs::read_to_string(&file).unwrap();
        let expected: Vec<(usize, &str, &str)> = text
            .lines()
            .enumerate()
            .filter_map(|(at, line)| {
                let (words, mend) = line.trim().strip_prefix("# error: ")?.split_once(" | ")?;
                // the line below, counted from 1
                Some((at + 2, words, mend))
            })
            .collect();
        assert!(!expected.is_empty(), "{} expects nothing", file.display());
        let dir = tempfile::tempdir().unwrap();
        let place = lay(dir.path(), &file);
        let config = Config::read(dir.path(), Depth::True);
        let told = &config.problems;
        assert_eq!(told.len(), expected.len(), "{}: {told:#?}", file.display());
        for (problem, (line, words, mend)) in told.iter().zip(expected) {
            let shown = problem.to_string();
            let head = format!("{}:{line}: {words}", place.display());
            // a theme without [meta] is wrong as a whole
            let whole = file.ends_with("theme-no-meta.toml");
            assert!(
                whole || shown.starts_with(&head),
                "{}: {shown}",
                file.display()
            );
            assert!(
                problem.words.starts_with(words),
                "{}: {shown}",
                file.display()
            );
            assert!(problem.mend.contains(mend), "{}: {shown}", file.display());
            assert!(
                !shown.replace('\n', "").contains(char::is_control),
                "{shown:?}"
            );
        }
    }
}

fn infradev(home: &Path, args: &[&str]) -> Output {
    Command::new(BINARY)
        .arg("--home")
        .arg(home)
        .args(args)
        .env_remove("INFRADEV_THEME")
        .output()
        .unwrap()
}

#[test]
fn the_printed_keymap_is_in_order_and_changes_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let printed = infradev(dir.path(), &["--print-keymap"]);
    assert!(printed.status.success());
    std::fs::write(dir.path().join("keymap.toml"), &printed.stdout).unwrap();
    let checked = infradev(dir.path(), &["--check-config"]);
    let told = String::from_utf8(checked.stdout).unwrap();
    assert!(checked.status.success(), "{told}");
    assert!(
        told.contains("keymap.toml: 0 actions have other keys"),
        "{told}"
    );
}

#[test]
fn errors_end_with_2_and_a_folder_of_configuration_stands_for_the_home() {
    let home = tempfile::tempdir().unwrap();
    let other = tempfile::tempdir().unwrap();
    let wrong = "[everywhere]\n\ngarde = \"H\"\nquit = \"hyper-q\"\n";
    std::fs::write(other.path().join("keymap.toml"), wrong).unwrap();
    let config = other.path().display().to_string();
    let checked = infradev(home.path(), &["--check-config"]);
    assert!(checked.status.success());
    for args in [
        &["--check-config", "--config", &config][..],
        // the workbench does not open on what it does not understand
        &["--config", &config][..],
    ] {
        let told = infradev(home.path(), args);
        let words = String::from_utf8(told.stderr).unwrap();
        assert_eq!(told.status.code(), Some(2), "{words}");
        assert!(
            words.contains("keymap.toml:3: [everywhere] has no action"),
            "{words}"
        );
        assert!(
            words.contains("keymap.toml:4: `hyper-q` is no key"),
            "{words}"
        );
    }
    let told = infradev(home.path(), &["--check-config", "--theme", "drak"]);
    let words = String::from_utf8(told.stderr).unwrap();
    assert_eq!(told.status.code(), Some(2));
    assert!(words.contains("did you mean `dark`?"), "{words}");
}
