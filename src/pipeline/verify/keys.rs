//! What a cell depends on, and what the acceptance as a whole rests on.

use std::collections::BTreeMap;
use std::path::Path;

use serde::Serialize;
use sha2::{Digest, Sha256};

use crate::domain::acceptance::Standing;
use crate::domain::cell::CELL_VERSION;
use crate::domain::{Suite, Task, hex};
use crate::judge::JUDGE_VERSION;
use crate::pipeline::error::Stop;
use crate::pipeline::ground::Ground;
use crate::pipeline::suite::reporter_hash;
use crate::store::recorded_acceptance;
use crate::workspace::hash_tree;

/// The test files of a suite, each with its hash; and of all other files together, on which every
/// test may rest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct SuiteFiles {
    /// By their place in the work tree; empty: the suite is taken as a whole.
    pub tests: BTreeMap<String, String>,
    pub support: String,
}

impl SuiteFiles {
    /// `into`: where the suite's folder `dir` goes in the work tree.
    pub fn read(dir: &Path, into: &str) -> Result<Self, Stop> {
        let fault = |e: std::io::Error| Stop::Fault(format!("{}: {e}", dir.display()));
        let mut tests = BTreeMap::new();
        let mut others = Vec::new();
        let mut folders = vec![String::new()];
        let mut words = String::new();
        while let Some(folder) = folders.pop() {
            for entry in std::fs::read_dir(dir.join(&folder)).map_err(fault)? {
                let entry = entry.map_err(fault)?;
                let name = entry.file_name().to_string_lossy().into_owned();
                let below = match folder.as_str() {
                    "" => name.clone(),
                    folder => format!("{folder}/{name}"),
                };
                let kind = entry.file_type().map_err(fault)?;
                if kind.is_dir() {
                    if name != "__pycache__" {
                        folders.push(below);
                    }
                    continue;
                }
                let bytes = if kind.is_file() {
                    std::fs::read(entry.path()).map_err(fault)?
                } else {
                    // a link: its target is a part of what a test may read
                    let target = std::fs::read_link(entry.path()).unwrap_or_default();
                    target.into_os_string().into_encoded_bytes()
                };
                let digest = hex(&Sha256::digest(&bytes));
                if kind.is_file() && is_test(&name) {
                    words.push_str(&String::from_utf8_lossy(&bytes));
                    words.push('\n');
                    tests.insert(format!("{into}/{below}"), digest);
                } else {
                    others.push((below, digest));
                }
            }
        }
        // a test file that others speak of is support as well
        for (path, digest) in &tests {
            let stem = path
                .rsplit('/')
                .next()
                .unwrap_or(path)
                .trim_end_matches(".py");
            if mentions(&words, stem) {
                others.push((path.clone(), digest.clone()));
            }
        }
        others.sort();
        let support = hash(&others)?;
        Ok(Self { tests, support })
    }
}

/// Whether an import of that module stands anywhere.
fn mentions(words: &str, module: &str) -> bool {
    words.lines().any(|line| {
        let line = line.trim_start();
        (line.starts_with("import ") || line.starts_with("from ")) && line.contains(module)
    })
}

/// pytest's own rule.
fn is_test(name: &str) -> bool {
    let python = name.strip_suffix(".py");
    python.is_some_and(|stem| stem.starts_with("test_") || stem.ends_with("_test"))
}

fn hash(what: &impl Serialize) -> Result<String, Stop> {
    let text = serde_json::to_vec(what).map_err(|e| Stop::Fault(e.to_string()))?;
    Ok(hex(&Sha256::digest(text)))
}

/// The key of a cell.
pub(super) fn cell_key(
    ground: &Ground,
    suite: Suite,
    tree: &str,
    run: u32,
    files: &SuiteFiles,
    file: Option<&str>,
    index: Option<u32>,
) -> Result<String, Stop> {
    let spec = &ground.task.spec;
    let content = match file {
        Some(file) => files.tests.get(file).cloned(),
        None => Some(hash(&files.tests)?),
    };
    hash(&(
        (
            CELL_VERSION,
            JUDGE_VERSION,
            reporter_hash(),
            suite,
            tree,
            run,
            index,
        ),
        (
            spec.suites.get(suite),
            &spec.environment,
            &spec.limits,
            &spec.hardware,
        ),
        (
            &ground.environment.hash,
            ground.engine_kind(),
            ground.image_id(),
        ),
        (ground.gpu_type(), ground.settings()),
        (&files.support, file, content),
    ))
}

/// Hash of everything that an acceptance rests on, out of the task's folder. `runs`: of gold.
pub(super) fn acceptance_key(task: &Task, runs: u32) -> Result<String, Stop> {
    let spec = &task.spec;
    let folder =
        |relative: &str| hash_tree(&task.path(relative)).map_err(|e| Stop::Input(e.to_string()));
    let file = |relative: &str| {
        let path = task.path(relative);
        std::fs::read(&path)
            .map(|bytes| hex(&Sha256::digest(bytes)))
            .map_err(|e| Stop::Input(format!("{}: {e}", path.display())))
    };
    let optional = |of: &dyn Fn(&str) -> Result<String, Stop>, relative: Option<&str>| {
        relative.map(of).transpose()
    };
    let suites: Vec<Option<String>> = Suite::ALL
        .iter()
        .map(|suite| {
            let from = spec.suites.get(*suite).and_then(|s| s.from.as_deref());
            optional(&folder, from)
        })
        .collect::<Result<_, _>>()?;
    let patches: Vec<(&str, &str, String)> = spec
        .adversarial
        .iter()
        .map(|a| Ok((a.name.as_str(), a.claim.as_str(), file(&a.patch)?)))
        .chain((spec.alternative.iter()).map(|a| Ok((a.name.as_str(), "", file(&a.patch)?))))
        .collect::<Result<_, Stop>>()?;
    let claims: Vec<_> = spec
        .claims
        .iter()
        .map(|c| (&c.id, &c.probes, &c.oracles, c.unmeasured.is_some()))
        .collect();
    let guards: Vec<&str> = spec.guards.iter().map(|g| g.probe.as_str()).collect();
    hash(&(
        (CELL_VERSION, JUDGE_VERSION, reporter_hash(), runs),
        (&spec.source, &spec.gold, &spec.environment, &spec.hardware),
        (&spec.limits, &spec.build, &spec.suites),
        (
            optional(&folder, spec.source.base.as_deref())?,
            optional(&file, spec.gold.patch.as_deref())?,
            optional(&file, spec.environment.requirements.as_deref())?,
        ),
        (suites, patches, claims, guards),
    ))
}

/// How a task's recorded acceptance stands to its folder as it is now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Freshness {
    /// Nothing is recorded.
    Unverified,
    Fresh(Standing),
    /// Something that it rests on has changed since.
    Stale(Standing),
}

impl Freshness {
    /// As lists say it.
    pub fn words(self) -> &'static str {
        match self {
            Self::Unverified => "unverified",
            Self::Fresh(standing) => standing.name(),
            Self::Stale(_) => "stale",
        }
    }
}

/// Reads the task's folder: its base, tests and patches.
pub fn freshness(task: &Task) -> Freshness {
    if task.spec.suites.probes.is_none() {
        return Freshness::Fresh(Standing::Unprobed);
    }
    let Some(recorded) = recorded_acceptance(task) else {
        return Freshness::Unverified;
    };
    match acceptance_key(task, recorded.runs) {
        Ok(key) if key == recorded.key => Freshness::Fresh(recorded.standing),
        _ => Freshness::Stale(recorded.standing),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn a_test_file_is_its_own_and_everything_else_is_everybodys() {
        let dir = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| std::fs::write(dir.path().join(name), text).unwrap();
        std::fs::create_dir(dir.path().join("sub")).unwrap();
        write("test_a.py", "1");
        write("sub/b_test.py", "2");
        write("helpers.py", "3");
        let read = || SuiteFiles::read(dir.path(), "probes").unwrap();
        let before = read();
        let names: Vec<&str> = before.tests.keys().map(String::as_str).collect();
        assert_eq!(names, ["probes/sub/b_test.py", "probes/test_a.py"]);
        write("test_a.py", "1.5");
        let edited = read();
        assert_eq!(edited.support, before.support);
        assert_ne!(
            edited.tests["probes/test_a.py"],
            before.tests["probes/test_a.py"]
        );
        write("helpers.py", "4");
        assert_ne!(read().support, before.support);
        // one that another imports is no longer its own
        write("sub/b_test.py", "from probes.test_a import x");
        let shared = read().support;
        write("test_a.py", "1");
        assert_ne!(read().support, shared);
    }
}
