//! Finding and reading task folders.

use std::path::{Path, PathBuf};

use serde::de::DeserializeOwned;

use super::check::check_task;
use super::locate::line_at;
use super::problem::{CatalogError, Problem, Severity};
use crate::domain::{Submission, SubmissionSpec, Task, TaskSpec};

/// A folder of tasks.
pub struct Catalog {
    root: PathBuf,
}

/// A task folder after reading: the task where it could be read, and all that is wrong with it.
pub struct Loaded {
    pub id: String,
    pub dir: PathBuf,
    pub task: Option<Task>,
    pub problems: Vec<Problem>,
}

impl Loaded {
    pub fn broken(&self) -> bool {
        self.task.is_none() || self.problems.iter().any(|p| p.severity == Severity::Error)
    }
}

impl Catalog {
    pub fn open(root: &Path) -> Result<Self, CatalogError> {
        if !root.is_dir() {
            return Err(CatalogError::NoTasks {
                path: root.to_path_buf(),
            });
        }
        let root = root.canonicalize().map_err(|source| CatalogError::Io {
            path: root.to_path_buf(),
            source,
        })?;
        Ok(Self { root })
    }

    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Ids of all task folders, sorted.
    pub fn ids(&self) -> Result<Vec<String>, CatalogError> {
        let entries = std::fs::read_dir(&self.root).map_err(|source| CatalogError::Io {
            path: self.root.clone(),
            source,
        })?;
        let mut ids: Vec<String> = entries
            .filter_map(Result::ok)
            .filter(|e| e.path().join("task.toml").is_file())
            .filter_map(|e| e.file_name().into_string().ok())
            .collect();
        ids.sort();
        Ok(ids)
    }

    pub fn load_all(&self) -> Result<Vec<Loaded>, CatalogError> {
        Ok(self
            .ids()?
            .iter()
            .map(|id| load_task(&self.root.join(id)))
            .collect())
    }

    pub fn load(&self, id: &str) -> Result<Loaded, CatalogError> {
        let ids = self.ids()?;
        if !ids.iter().any(|known| known == id) {
            return Err(CatalogError::NoTask {
                id: id.into(),
                path: self.root.clone(),
                known: ids.join(", "),
            });
        }
        Ok(load_task(&self.root.join(id)))
    }

    /// A task that can be used; all its problems in the error where it cannot.
    pub fn usable(&self, id: &str) -> Result<Task, CatalogError> {
        usable(self.load(id)?)
    }
}

/// The task of a loaded folder, if nothing is wrong with it.
fn usable(loaded: Loaded) -> Result<Task, CatalogError> {
    let broken = loaded.broken();
    match loaded.task {
        Some(task) if !broken => Ok(task),
        _ => Err(CatalogError::Broken {
            id: loaded.id,
            problems: loaded.problems,
        }),
    }
}

/// Reads one task folder.
pub fn load_task(dir: &Path) -> Loaded {
    let id = dir
        .file_name()
        .map(|n| n.to_string_lossy().into_owned())
        .unwrap_or_default();
    let mut problems = Vec::new();
    let file = dir.join("task.toml");
    let Some((text, spec)) = read_toml::<TaskSpec>(&file, &mut problems) else {
        return Loaded {
            id,
            dir: dir.to_path_buf(),
            task: None,
            problems,
        };
    };
    let submissions = load_submissions(dir, &mut problems);
    let task = Task {
        spec,
        dir: dir.to_path_buf(),
        submissions,
    };
    check_task(&task, &text, &mut problems);
    problems.sort_by(|a, b| b.severity.cmp(&a.severity).then(a.line.cmp(&b.line)));
    Loaded {
        id,
        dir: dir.to_path_buf(),
        task: Some(task),
        problems,
    }
}

fn load_submissions(dir: &Path, problems: &mut Vec<Problem>) -> Vec<Submission> {
    let root = dir.join("submissions");
    let mut dirs: Vec<PathBuf> = std::fs::read_dir(&root)
        .map(|entries| entries.filter_map(Result::ok).map(|e| e.path()).collect())
        .unwrap_or_default();
    dirs.sort();
    let mut submissions = Vec::new();
    for dir in dirs.into_iter().filter(|d| d.is_dir()) {
        let file = dir.join("submission.toml");
        if !file.is_file() {
            problems.push(Problem {
                severity: Severity::Error,
                file: dir.clone(),
                line: None,
                message: "a submission folder without submission.toml".into(),
                mend: "add submission.toml (schema in assets/schema/submission.json) or remove the folder".into(),
            });
            continue;
        }
        if let Some((text, spec)) = read_toml::<SubmissionSpec>(&file, problems) {
            let submission = Submission { spec, dir };
            super::check::check_submission(&submission, &text, problems);
            submissions.push(submission);
        }
    }
    submissions
}

/// Reads and parses a TOML file; what is wrong becomes a problem with its line.
fn read_toml<T: DeserializeOwned>(file: &Path, problems: &mut Vec<Problem>) -> Option<(String, T)> {
    let text = read_text(file, problems)?;
    let value = parse_toml(file, &text, problems)?;
    Some((text, value))
}

fn add(problems: &mut Vec<Problem>, file: &Path, line: Option<usize>, message: String, mend: &str) {
    problems.push(Problem {
        severity: Severity::Error,
        file: file.to_path_buf(),
        line,
        message,
        mend: mend.into(),
    });
}

/// The text of a file, if it is one.
pub(crate) fn read_text(file: &Path, problems: &mut Vec<Problem>) -> Option<String> {
    let bytes = match std::fs::read(file) {
        Ok(bytes) => bytes,
        Err(e) => {
            add(
                problems,
                file,
                None,
                e.to_string(),
                "make the file readable",
            );
            return None;
        }
    };
    match String::from_utf8(bytes) {
        Ok(text) => Some(text),
        Err(e) => {
            let at = e.utf8_error().valid_up_to();
            let line = memchr::memchr_iter(b'\n', &e.as_bytes()[..at]).count() + 1;
            let mend = "save the file as UTF-8";
            add(problems, file, Some(line), "not UTF-8".into(), mend);
            None
        }
    }
}

/// `file` is for messages.
pub(crate) fn parse_toml<T: DeserializeOwned>(
    file: &Path,
    text: &str,
    problems: &mut Vec<Problem>,
) -> Option<T> {
    match toml::from_str(text) {
        Ok(value) => Some(value),
        Err(e) => {
            let line = e.span().map(|span| line_at(text, span.start));
            let message = e.message().trim().to_string();
            let mend = if message.contains("unknown field") {
                "remove the key or correct its name"
            } else if message.contains("missing field") {
                "add the key"
            } else {
                "see the schema in assets/schema/"
            };
            add(problems, file, line, message, mend);
            None
        }
    }
}
