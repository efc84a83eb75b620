//! Files of a task by the time of their last change, and what each touches.

use std::path::Path;
use std::time::UNIX_EPOCH;

use crate::domain::acceptance::Role;
use crate::domain::{Suite, Task};

/// What rests on a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Touches {
    /// A test file, by its place in the work tree.
    Test(Suite, String),
    /// What all tests of a suite may rest on.
    Suite(Suite),
    /// `adversarial/NAME`.
    Patch(String),
    Everything,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Changed {
    /// In the task's folder.
    pub path: String,
    pub at_s: f64,
    pub touches: Touches,
}

impl Changed {
    /// Whether a patch on a suite, or on one test file of it, rests on the file.
    pub fn touches(&self, patch: &str, suite: Suite, file: Option<&str>) -> bool {
        match &self.touches {
            Touches::Test(own, changed) => *own == suite && file.is_none_or(|file| file == changed),
            Touches::Suite(own) => *own == suite,
            Touches::Patch(label) => label == patch,
            Touches::Everything => true,
        }
    }
}

/// Entries of a folder that are looked at: a base tree may be large.
const MOST: usize = 20_000;

/// The files of a task that cells rest on and that changed after `since_s`, newest first.
pub fn changed_since(task: &Task, since_s: f64) -> Vec<Changed> {
    let spec = &task.spec;
    let mut all = Vec::new();
    for suite in Suite::ALL {
        let Some((own, from)) = (spec.suites.get(suite)).and_then(|s| Some((s, s.from.as_ref()?)))
        else {
            continue;
        };
        for (below, at_s) in files(&task.path(from)) {
            let name = below.rsplit('/').next().unwrap_or(&below);
            let touches = if is_test(name) {
                Touches::Test(suite, format!("{}/{below}", own.into))
            } else {
                Touches::Suite(suite)
            };
            all.push(Changed {
                path: format!("{from}/{below}"),
                at_s,
                touches,
            });
        }
    }
    let adversarial =
        (spec.adversarial.iter()).map(|a| (Role::Adversarial.label(&a.name), &a.patch));
    let alternative =
        (spec.alternative.iter()).map(|a| (Role::Alternative.label(&a.name), &a.patch));
    for (label, path) in adversarial.chain(alternative) {
        all.extend(one(task, path, Touches::Patch(label)));
    }
    let rest = [
        spec.gold.patch.as_ref(),
        spec.environment.requirements.as_ref(),
    ];
    for path in rest.into_iter().flatten() {
        all.extend(one(task, path, Touches::Everything));
    }
    if let Some(base) = &spec.source.base {
        for (below, at_s) in files(&task.path(base)) {
            all.push(Changed {
                path: format!("{base}/{below}"),
                at_s,
                touches: Touches::Everything,
            });
        }
    }
    all.retain(|changed| changed.at_s > since_s);
    all.sort_by(|a, b| b.at_s.total_cmp(&a.at_s));
    all
}

fn one(task: &Task, path: &str, touches: Touches) -> Option<Changed> {
    Some(Changed {
        path: path.to_owned(),
        at_s: written_s(&task.path(path))?,
        touches,
    })
}

fn written_s(path: &Path) -> Option<f64> {
    let at = std::fs::metadata(path).ok()?.modified().ok()?;
    at.duration_since(UNIX_EPOCH).ok().map(|d| d.as_secs_f64())
}

/// All files below a folder, by their path in it.
fn files(dir: &Path) -> Vec<(String, f64)> {
    let mut all = Vec::new();
    let mut folders = vec![String::new()];
    while let Some(folder) = folders.pop() {
        let Ok(entries) = std::fs::read_dir(dir.join(&folder)) else {
            continue;
        };
        for entry in entries.flatten() {
            let name = entry.file_name().to_string_lossy().into_owned();
            let below = match folder.as_str() {
                "" => name.clone(),
                folder => format!("{folder}/{name}"),
            };
            if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                if name != "__pycache__" && name != ".git" {
                    folders.push(below);
                }
            } else if let Some(at_s) = written_s(&entry.path()) {
                all.push((below, at_s));
            }
            if all.len() >= MOST {
                return all;
            }
        }
    }
    all
}

/// pytest's own rule.
fn is_test(name: &str) -> bool {
    let python = name.strip_suffix(".py");
    python.is_some_and(|stem| stem.starts_with("test_") || stem.ends_with("_test"))
}
