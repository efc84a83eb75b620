//! What interpreters said about themselves, kept in `env/interpreters.json` of the home, so that a
//! warm start asks nobody.
//!
//! An answer counts as long as the file that was asked, the executable that answered, a version
//! manager's choice and (for package lists) the module folders are as they were.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::EnvironmentError;
use super::interpreter::{Facts, ask};

/// Changes where [`Facts`] or the script behind it change.
const FORMAT: u32 = 1;

#[derive(Default, Serialize, Deserialize)]
struct Document {
    format: u32,
    entries: BTreeMap<String, Entry>,
}

#[derive(Clone, Serialize, Deserialize)]
struct Entry {
    /// State of the file asked, and of what a shim's answer depends on.
    asked: String,
    /// State of what the answer names.
    answered: String,
    facts: Option<Facts>,
    /// Why there are no facts: a shim for a version that is not there stays so.
    refused: Option<String>,
}

pub(super) struct InterpreterCache {
    path: PathBuf,
    document: Document,
}

impl InterpreterCache {
    /// An unreadable cache is an empty one.
    pub fn open(home: &Path) -> Self {
        let path = home.join("env").join("interpreters.json");
        let document = std::fs::read(&path)
            .ok()
            .and_then(|bytes| serde_json::from_slice::<Document>(&bytes).ok())
            .filter(|document| document.format == FORMAT)
            .unwrap_or_default();
        Self { path, document }
    }

    /// Facts of one interpreter, asked only where nothing is known any more.
    pub fn facts(
        &mut self,
        python: &Path,
        env: &BTreeMap<OsString, OsString>,
        packages: bool,
    ) -> Result<Facts, EnvironmentError> {
        let key = format!(
            "{}{}",
            python.display(),
            if packages { " packages" } else { "" }
        );
        let asked = state_asked(python, env);
        if let Some(entry) = self.document.entries.get(&key).filter(|e| e.asked == asked) {
            if let Some(reason) = &entry.refused {
                return Err(EnvironmentError::Interpreter {
                    python: python.to_path_buf(),
                    reason: reason.clone(),
                });
            }
            if let Some(facts) = &entry.facts
                && entry.answered == state_answered(facts)
            {
                return Ok(facts.clone());
            }
        }
        let answer = ask(python, env, packages);
        let entry = match &answer {
            Ok(facts) => Some(Entry {
                asked,
                answered: state_answered(facts),
                facts: Some(facts.clone()),
                refused: None,
            }),
            Err(EnvironmentError::Interpreter { reason, .. }) => Some(Entry {
                asked,
                answered: String::new(),
                facts: None,
                refused: Some(reason.clone()),
            }),
            Err(_) => None,
        };
        if let Some(entry) = entry {
            self.document.format = FORMAT;
            self.document.entries.insert(key, entry);
            self.write();
        }
        answer
    }

    /// What an image's interpreter said; an image does not change.
    pub fn of_image(&self, key: &str) -> Option<Facts> {
        self.document.entries.get(key)?.facts.clone()
    }

    pub fn keep_of_image(&mut self, key: String, facts: &Facts) {
        let entry = Entry {
            asked: String::new(),
            answered: String::new(),
            facts: Some(facts.clone()),
            refused: None,
        };
        self.document.format = FORMAT;
        self.document.entries.insert(key, entry);
        self.write();
    }

    /// Whole or not at all; a home that cannot be written only costs the question again.
    fn write(&self) {
        let Ok(bytes) = serde_json::to_vec_pretty(&self.document) else {
            return;
        };
        let temporary = self
            .path
            .with_extension(format!("json.{}", std::process::id()));
        if let Some(folder) = self.path.parent() {
            let _ = std::fs::create_dir_all(folder);
        }
        if std::fs::write(&temporary, bytes).is_ok() {
            let _ = std::fs::rename(&temporary, &self.path);
        }
    }
}

/// Modification time, size and inode of what a path leads to.
fn state(path: &Path) -> String {
    match std::fs::metadata(path) {
        Ok(m) => format!("{}.{}:{}:{}", m.mtime(), m.mtime_nsec(), m.size(), m.ino()),
        Err(_) => "absent".into(),
    }
}

fn state_asked(python: &Path, env: &BTreeMap<OsString, OsString>) -> String {
    let chosen = env
        .get(OsStr::new("PYENV_VERSION"))
        .map(|v| v.to_string_lossy().into_owned())
        .unwrap_or_default();
    // <root>/shims/python3 answers with what <root>/version says
    let version_file = python
        .parent()
        .and_then(Path::parent)
        .map(|root| state(&root.join("version")))
        .unwrap_or_default();
    format!("{} {version_file} {chosen}", state(python))
}

fn state_answered(facts: &Facts) -> String {
    let mut states = vec![state(&facts.executable), state(&facts.base_executable)];
    // installing or removing a package touches its folder
    states.extend(facts.path.iter().map(|path| state(path)));
    states.join(" ")
}
