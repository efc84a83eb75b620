//! The folder that `keymap.toml` and `themes/` lie in, read.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use crate::tui::caps::Depth;
use crate::tui::keymap::{self, Keymap};
use crate::tui::theme::{self, BUNDLED, Theme};

use super::near::nearest;
use super::problem::{ConfigFile, Problem};

/// Longest file that is read, in bytes.
const LONGEST: u64 = 1 << 20;

/// What the user configured, at the terminal's colour depth.
#[derive(Clone, Debug)]
pub struct Config {
    pub keymap: Keymap,
    /// Bundled ones first, then the user's by name; one of the user's with the name of a bundled
    /// one stands in its place.
    pub themes: Vec<Theme>,
    pub problems: Vec<Problem>,
}

impl Config {
    /// Reads a folder; one that is not there holds nothing.
    pub fn read(folder: &Path, depth: Depth) -> Self {
        let mut problems = Vec::new();
        let path = folder.join("keymap.toml");
        let keymap = match text(&path, &mut problems) {
            Some(text) => {
                let file = path.display().to_string();
                let file = ConfigFile {
                    file: &file,
                    text: &text,
                };
                keymap::load(&file, &mut problems)
            }
            None => Keymap::default(),
        };
        let mut themes = bundled(depth, &mut problems);
        for path in themes_in(folder) {
            let Some(text) = text(&path, &mut problems) else {
                continue;
            };
            let name = path.file_stem().unwrap_or_default().to_string_lossy();
            let file = path.display().to_string();
            let file = ConfigFile {
                file: &file,
                text: &text,
            };
            let own = theme::parse(&name, &file, depth, &mut problems);
            match themes.iter_mut().find(|theme| theme.name == own.name) {
                Some(bundled) => *bundled = own,
                None => themes.push(own),
            }
        }
        problems.sort_by(|a, b| (&a.file, a.line).cmp(&(&b.file, b.line)));
        Self {
            keymap,
            themes,
            problems,
        }
    }

    /// What stands where the user configured nothing.
    pub fn standard(depth: Depth) -> Self {
        let mut problems = Vec::new();
        Self {
            keymap: Keymap::default(),
            themes: bundled(depth, &mut problems),
            problems,
        }
    }

    /// The theme of a name, or which there are.
    pub fn theme(&self, name: &str) -> Result<&Theme, String> {
        let found = self.themes.iter().find(|theme| theme.name == name);
        found.ok_or_else(|| {
            let names: Vec<&str> = self.themes.iter().map(|t| t.name.as_str()).collect();
            let near = nearest(name, &names)
                .map_or_else(String::new, |near| format!("; did you mean `{near}`?"));
            format!("no theme `{name}`{near}; there are {}", names.join(", "))
        })
    }
}

fn bundled(depth: Depth, problems: &mut Vec<Problem>) -> Vec<Theme> {
    let read = |(name, text): &(&'static str, &'static str)| {
        let file = ConfigFile { file: name, text };
        theme::parse(name, &file, depth, problems)
    };
    BUNDLED.iter().map(read).collect()
}

/// The user's theme files, by name.
pub fn themes_in(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder.join("themes")).into_iter().flatten();
    let mut all: Vec<PathBuf> = entries
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| path.extension().is_some_and(|e| e == "toml"))
        .collect();
    all.sort();
    all
}

/// A file's text; `None`: it is not there, or cannot be read, which is told.
fn text(path: &Path, problems: &mut Vec<Problem>) -> Option<String> {
    let mut tell = |words: &str, mend: &str| {
        let file = path.display().to_string();
        let name = ConfigFile {
            file: &file,
            text: "",
        };
        problems.push(name.problem(&(0..0), words, mend));
    };
    match fs::metadata(path) {
        Err(e) if e.kind() == ErrorKind::NotFound => return None,
        Ok(meta) if meta.len() > LONGEST || !meta.is_file() => {
            tell("this is no file of settings", "a text file below 1 MiB");
            return None;
        }
        _ => {}
    }
    match fs::read_to_string(path) {
        Ok(text) => Some(text),
        Err(e) => {
            tell(
                &e.to_string(),
                "make it readable, in UTF-8, or take it away",
            );
            None
        }
    }
}
