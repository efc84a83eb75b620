//! What a cell depends on, and what the acceptance as a whole rests on.

use serde::Serialize;
use sha2::{Digest, Sha256};

use super::files::Part;
use super::reading::Suites;
use crate::domain::acceptance::{Acceptance, GOLD_RUNS, Standing};
use crate::domain::cell::CELL_VERSION;
use crate::domain::{EngineKind, Suite, Task, hex};
use crate::environment::FORMAT;
use crate::judge::JUDGE_VERSION;
use crate::pipeline::error::Stop;
use crate::pipeline::ground::Ground;
use crate::pipeline::suite::reporter_hash;
use crate::store::{is_as_written, recorded_acceptance};
use crate::workspace::hash_tree;

/// The key of a cell.
pub(super) fn cell_key(
    ground: &Ground,
    suite: Suite,
    tree: &str,
    run: u32,
    suites: &Suites,
    part: &Part,
    index: Option<u32>,
) -> Result<String, Stop> {
    let spec = &ground.task.spec;
    let files = &suites.files[&suite];
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
        (
            &files.support,
            part,
            files.content(part)?,
            suites.beside(suite),
        ),
    ))
}

pub(super) fn hash(what: &impl Serialize) -> Result<String, Stop> {
    let text = serde_json::to_vec(what).map_err(|e| Stop::Fault(e.to_string()))?;
    Ok(hex(&Sha256::digest(text)))
}

/// Hash of what base, gold and the environment are made of, out of the task's folder: whoever has
/// read them reads them again once it changes.
pub(super) fn trees_key(task: &Task) -> Result<String, Stop> {
    let spec = &task.spec;
    let file = |relative: Option<&str>| {
        let bytes = relative.map(|relative| std::fs::read(task.path(relative)));
        let bytes = bytes.transpose().map_err(|e| Stop::Input(e.to_string()))?;
        Ok::<_, Stop>(bytes.map(|bytes| hex(&Sha256::digest(bytes))))
    };
    let base = spec.source.base.as_deref();
    let base = base.map(|base| hash_tree(&task.path(base))).transpose();
    hash(&(
        (&spec.source, &spec.gold, &spec.environment),
        base.map_err(|e| Stop::Input(e.to_string()))?,
        file(spec.gold.patch.as_deref())?,
        file(spec.environment.requirements.as_deref())?,
    ))
}

/// Hash of what a task's patches are made of, out of its folder.
pub(super) fn patches_key(task: &Task) -> Result<String, Stop> {
    let spec = &task.spec;
    let all = spec.adversarial.iter().map(|a| &a.patch);
    let all = all.chain(spec.alternative.iter().map(|a| &a.patch));
    let texts = all.map(|patch| {
        let path = task.path(patch);
        let bytes = std::fs::read(&path);
        let bytes = bytes.map_err(|e| Stop::Input(format!("{}: {e}", path.display())))?;
        Ok(hex(&Sha256::digest(bytes)))
    });
    let texts = texts.collect::<Result<Vec<_>, Stop>>()?;
    hash(&(
        trees_key(task)?,
        &spec.adversarial,
        &spec.alternative,
        texts,
    ))
}

/// Of what is generated from base and gold for each verify: a new number where the generator makes
/// another patch of the same two.
const HOLLOW_VERSION: u32 = 2;

/// On what a verify ran, as far as what it finds may differ by it.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Stands {
    /// Of gold.
    runs: u32,
    engine: EngineKind,
    environment: String,
    image: Option<String>,
    gpu_type: Option<String>,
}

impl Stands {
    pub fn on(ground: &Ground, runs: u32) -> Self {
        Self {
            runs,
            engine: ground.engine_kind(),
            environment: ground.environment.hash.clone(),
            image: ground.image_id().map(str::to_owned),
            gpu_type: ground.gpu_type().map(str::to_owned),
        }
    }

    /// As it is recorded: this machine may have others, or none.
    fn of(made: &Acceptance) -> Self {
        Self {
            runs: made.runs,
            engine: made.engine,
            environment: made.environment.clone(),
            image: made.image.clone(),
            gpu_type: made.gpu_type.clone(),
        }
    }
}

/// Hash of everything that an acceptance rests on, out of the task's folder and of what it ran on.
pub(super) fn acceptance_key(task: &Task, stands: &Stands) -> Result<String, Stop> {
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
        (CELL_VERSION, JUDGE_VERSION, reporter_hash(), HOLLOW_VERSION),
        (stands, FORMAT, std::env::consts::ARCH),
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
    /// It is not as a verify wrote it.
    Edited(Standing),
}

impl Freshness {
    /// As lists say it.
    pub fn words(self) -> &'static str {
        match self {
            Self::Unverified => "unverified",
            Self::Fresh(standing) => standing.name(),
            Self::Stale(_) => "stale",
            Self::Edited(_) => "edited by hand",
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
    if !recorded.digest.is_empty() && !is_as_written(&recorded) {
        return Freshness::Edited(recorded.standing);
    }
    let mut task = task.clone();
    if let Some(ranks) = recorded.ranks {
        task.spec = task.spec.with_ranks(ranks);
    }
    let counts = recorded.provisional.is_none() && recorded.runs >= GOLD_RUNS;
    match acceptance_key(&task, &Stands::of(&recorded)) {
        // a record from before it had a digest has another key as well
        Ok(key) if key == recorded.key && counts && !recorded.digest.is_empty() => {
            Freshness::Fresh(recorded.standing)
        }
        _ => Freshness::Stale(recorded.standing),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    /// Of the generator's sources when [`HOLLOW_VERSION`] got its number.
    const SOURCES: &str = "d8d77e45c4608562ec18061fc15389b6c3257b5ac0221afd300db890cdfee602";

    #[test]
    fn another_generator_of_hollow_is_another_number() {
        let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("src/python/hollow");
        let mut sources: Vec<_> = std::fs::read_dir(folder).unwrap().flatten().collect();
        let is_test = |name: std::ffi::OsString| name == "tests.rs" || name == "tests";
        sources.retain(|entry| !is_test(entry.file_name()));
        sources.sort_by_key(std::fs::DirEntry::file_name);
        let mut all = Sha256::new();
        for entry in sources {
            all.update(std::fs::read(entry.path()).unwrap());
        }
        assert_eq!(
            hex(&all.finalize()),
            SOURCES,
            "where it makes another patch now, raise HOLLOW_VERSION; put the new hash here"
        );
    }
}
