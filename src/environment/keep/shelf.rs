//! The environments of a home as they lie there, and which of them tasks want.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use super::document::EnvironmentState;
use crate::domain::Task;
use crate::domain::task::EnvironmentKind;
use crate::environment::lock::{is_locked, lock_file, use_file};
use crate::environment::uv::{Plan, READY, Ready};
use crate::environment::{EnvironmentError, Request};

/// One environment's folder.
pub(super) struct Entry {
    pub hash: String,
    pub folder: PathBuf,
    pub ready: Option<Ready>,
    environments: PathBuf,
}

impl Entry {
    pub fn state(&self) -> EnvironmentState {
        match &self.ready {
            Some(ready) if ready.stands(&self.folder) => EnvironmentState::Ready,
            _ if is_locked(&lock_file(&self.environments, &self.hash)) => {
                EnvironmentState::Building
            }
            Some(_) => EnvironmentState::Stale,
            None => EnvironmentState::Unfinished,
        }
    }

    pub fn in_use(&self) -> bool {
        is_locked(&use_file(&self.environments, &self.hash))
    }

    /// When it was last handed out, or else built.
    pub fn last_used(&self) -> Option<SystemTime> {
        let modified = |path: &Path| std::fs::metadata(path).ok()?.modified().ok();
        modified(&use_file(&self.environments, &self.hash))
            .or_else(|| modified(&self.folder.join(READY)))
            .or_else(|| modified(&self.folder))
    }

    pub fn last_used_s(&self) -> Option<f64> {
        let used = self.last_used()?.duration_since(UNIX_EPOCH).ok()?;
        Some(used.as_secs_f64())
    }
}

pub(super) fn is_hash(name: &str) -> bool {
    name.len() == 64 && name.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'))
}

/// The home's real path, to which recorded paths compare.
pub(super) fn real(home: &Path) -> Result<PathBuf, EnvironmentError> {
    home.canonicalize().map_err(EnvironmentError::io(home))
}

/// Every environment's folder, by hash, finished or not; none where there is no folder of them.
pub(super) fn entries(home: &Path) -> Result<Vec<Entry>, EnvironmentError> {
    let environments = home.join("env");
    let names = match std::fs::read_dir(&environments) {
        Ok(names) => names,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(EnvironmentError::io(&environments)(error)),
    };
    let mut found = Vec::new();
    for name in names {
        let name = name.map_err(EnvironmentError::io(&environments))?;
        let Some(hash) = name.file_name().to_str().map(str::to_owned) else {
            continue;
        };
        let folder = name.path();
        if is_hash(&hash) && folder.is_dir() {
            found.push(Entry {
                ready: Ready::read(&folder),
                environments: environments.clone(),
                hash,
                folder,
            });
        }
    }
    found.sort_by(|a, b| a.hash.cmp(&b.hash));
    Ok(found)
}

/// Which environments the tasks of a catalog would use on this machine now.
#[derive(Clone, Debug, Default)]
pub struct Wanted {
    by_hash: BTreeMap<String, Vec<String>>,
    /// Tasks of which that cannot be told, with the reason.
    pub notes: Vec<String>,
}

impl Wanted {
    /// Asks an interpreter where it is not known yet; of images it takes what was built in one.
    pub fn by<'a>(tasks: impl IntoIterator<Item = &'a Task>, home: &Path) -> Self {
        let mut wanted = Self::default();
        // none where they cannot be listed, which whoever needs them is told then
        let entries = real(home)
            .and_then(|home| entries(&home))
            .unwrap_or_default();
        for task in tasks {
            let spec = &task.spec.environment;
            if spec.kind != EnvironmentKind::Uv {
                continue;
            }
            let request = Request::new(spec.clone(), &task.dir, home);
            for ready in entries.iter().filter_map(|entry| entry.ready.as_ref()) {
                if ready.would_do_in_an_image(&request) {
                    let tasks = wanted.by_hash.entry(ready.hash.clone()).or_default();
                    tasks.push(task.id().to_string());
                }
            }
            match Plan::of(&request, home, &|_| {}) {
                Ok(plan) => {
                    for hash in plan.hashes() {
                        let tasks = wanted.by_hash.entry(hash).or_default();
                        tasks.push(task.id().to_string());
                    }
                }
                Err(error) => wanted.notes.push(format!("task {}: {error}", task.id())),
            }
        }
        wanted
    }

    /// Task ids, in the order of the catalog.
    pub fn of(&self, hash: &str) -> &[String] {
        self.by_hash.get(hash).map_or(&[], Vec::as_slice)
    }
}
