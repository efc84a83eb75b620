//! A task as it was at one moment: what cells run is a copy, and what they are kept under is made of
//! that copy, whatever is edited meanwhile.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use super::candidates::{Candidate, of_task};
use super::files::{Part, SuiteFiles};
use super::keys::{Stands, acceptance_key, hash, patches_key};
use super::memory::Memory;
use crate::domain::{Suite, Task};
use crate::pipeline::calibrate;
use crate::pipeline::error::Stop;
use crate::pipeline::ground::Ground;
use crate::pipeline::run_suites::Tests;
use crate::python::keeps_apart;
use crate::workspace::replace_suite;

/// Somebody who writes all the time is waited for so often.
pub(super) const TRIES: usize = 50;
const PAUSE: Duration = Duration::from_millis(20);

/// The suites of a task, copied.
#[derive(Clone, Debug)]
pub(in crate::pipeline) struct Suites {
    root: PathBuf,
    pub dirs: BTreeMap<Suite, PathBuf>,
    pub files: BTreeMap<Suite, SuiteFiles>,
    /// Of all of a suite, whatever of it a cell rests on.
    pub digests: BTreeMap<Suite, String>,
}

impl Suites {
    /// Copies those that the task has; `number` tells copies of one run apart. Blocks.
    pub fn copy(ground: &Ground, number: u32, memory: &Memory) -> Result<Self, Stop> {
        let fault = |e: crate::workspace::WorkspaceError| Stop::Fault(e.to_string());
        let root = ground.scratch.join(format!("read-{number}"));
        let _ = std::fs::remove_dir_all(&root);
        let (mut dirs, mut files) = (BTreeMap::new(), BTreeMap::new());
        for suite in Suite::ALL {
            let Some(spec) = ground.task.spec.suites.get(suite) else {
                continue;
            };
            let from = ground
                .trees
                .suite_dir(&ground.task, suite, &ground.scratch)?;
            replace_suite(&root, suite.name(), &from).map_err(fault)?;
            let dir = root.join(suite.name());
            let mut read =
                SuiteFiles::read(&dir, &spec.into, stands_apart(ground, &spec.into)?, memory)?;
            read.whole = !spec.paths.is_empty();
            files.insert(suite, read);
            dirs.insert(suite, dir);
        }
        let digest = |files: &SuiteFiles| {
            let all = files.content(&Part::default())?;
            hash(&(&files.support, all))
        };
        let digests = files
            .iter()
            .map(|(suite, files)| Ok((*suite, digest(files)?)));
        Ok(Self {
            root,
            digests: digests.collect::<Result<_, Stop>>()?,
            dirs,
            files,
        })
    }

    /// What is laid for one of them.
    pub fn tests(&self, suite: Suite) -> Option<Tests> {
        Some(Tests {
            kind: "tree",
            own: self.dirs.get(&suite)?.clone(),
            official: self.dirs.get(&Suite::Official).cloned(),
        })
    }

    /// Of the tests that lie beside a suite's own.
    pub fn beside(&self, suite: Suite) -> Option<&String> {
        let official = self.digests.get(&Suite::Official);
        official.filter(|_| suite == Suite::Probes)
    }

    /// Nothing runs on them any more.
    pub fn remove(&self) {
        let _ = std::fs::remove_dir_all(&self.root);
    }
}

/// Whether nothing outside of a suite's folder binds its tests to each other: a `conftest.py` above
/// it, as gold has it, or a plugin that orders them.
fn stands_apart(ground: &Ground, into: &str) -> Result<bool, Stop> {
    let orders = |name: &str| {
        ["random", "order", "depend", "xdist", "incremental"]
            .iter()
            .any(|word| name.contains(word))
    };
    let plugins = ground.environment.packages.iter();
    let mut plugins = plugins.filter(|p| p.name.starts_with("pytest"));
    if plugins.any(|p| orders(&p.name)) {
        return Ok(false);
    }
    let above = Path::new(into).ancestors().skip(1);
    for folder in above {
        let path = folder.join("conftest.py");
        let bytes = ground
            .trees
            .snapshot
            .file(ground.trees.gold, path.to_string_lossy().as_bytes())
            .map_err(|e| Stop::Fault(e.to_string()))?;
        if bytes.is_some_and(|b| !keeps_apart(&String::from_utf8_lossy(&b))) {
            return Ok(false);
        }
    }
    Ok(true)
}

/// What a round of a verify run rests on.
pub(super) struct Reading {
    pub suites: Suites,
    /// Patches as trees, gold first, none of them built.
    pub candidates: Vec<Candidate>,
    /// Of the acceptance.
    pub key: String,
    /// Of gold's calibrations.
    pub calibrations: BTreeMap<Suite, String>,
}

/// Reads the task until nothing of it was written meanwhile.
pub(super) async fn read(
    ground: &Arc<Ground>,
    runs: u32,
    number: u32,
    memory: &Arc<Memory>,
) -> Result<Reading, Stop> {
    for _ in 0..TRIES {
        let (ground, memory) = (Arc::clone(ground), Arc::clone(memory));
        let once = tokio::task::spawn_blocking(move || once(&ground, runs, number, &memory));
        if let Some(reading) = once.await.map_err(|e| Stop::Fault(e.to_string()))?? {
            return Ok(reading);
        }
        tokio::time::sleep(PAUSE).await;
    }
    Err(Stop::Input(
        "the task's files change all the time, so nothing can be said of them".into(),
    ))
}

/// `None`: something was written meanwhile.
fn once(ground: &Ground, runs: u32, number: u32, memory: &Memory) -> Result<Option<Reading>, Stop> {
    let task: &Task = &ground.task;
    let stands = Stands::on(ground, runs);
    let key = acceptance_key(task, &stands)?;
    let suites = Suites::copy(ground, number, memory)?;
    let made = memory.candidates(|| patches_key(task), || of_task(&ground.trees, task))?;
    let Some(candidates) = made else {
        return Ok(None);
    };
    let mut calibrations = BTreeMap::new();
    for suite in suites.dirs.keys() {
        calibrations.insert(*suite, calibrate::key(ground, *suite)?);
    }
    if acceptance_key(task, &stands)? != key {
        return Ok(None);
    }
    Ok(Some(Reading {
        suites,
        candidates,
        key,
        calibrations,
    }))
}
