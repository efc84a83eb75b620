//! `infradev env check --discard`: takes away what the check found to be other than it was sealed,
//! and what the cache and the pool hold of that, so that the next run builds it anew.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use super::collect::{Removal, Removed};
use super::document::{CollectedItem, CollectedKind, EnvironmentsChecked, Kept};
use super::shelf::real;
use crate::environment::EnvironmentError;
use crate::environment::lock::{Mode, cache_lock_file, try_lock};

/// Adds to the document what was discarded, and what could not be.
pub fn discard(home: &Path, checked: &mut EnvironmentsChecked) -> Result<(), EnvironmentError> {
    let home = real(home)?;
    let damaged = checked.environments.iter().filter(|e| !e.ok);
    let mut packages: BTreeSet<PathBuf> = BTreeSet::new();
    let mut pooled: BTreeSet<&PathBuf> = BTreeSet::new();
    let mut hashes: BTreeSet<&str> = BTreeSet::new();
    for environment in damaged {
        hashes.insert(&environment.hash);
        for finding in &environment.findings {
            hashes.extend(finding.shared_with.iter().map(String::as_str));
            packages.extend(finding.cached.iter().map(|path| package(path)));
            pooled.extend(finding.pooled.iter());
        }
    }
    let removal = Removal {
        home: &home,
        dry_run: false,
    };
    let (mut discarded, mut kept) = (Vec::new(), Vec::new());
    let Some(_cache) = try_lock(&cache_lock_file(&home), Mode::Alone)? else {
        let why = "an environment is being built; try again when it is";
        checked.kept = hashes
            .into_iter()
            .map(|hash| Kept {
                hash: hash.into(),
                why: why.into(),
            })
            .collect();
        return Ok(());
    };
    // the cache first: an environment that were built in between would get the same files
    let packages = packages.into_iter().map(|path| Path::new("uv").join(path));
    let pooled = pooled.into_iter().map(|path| Path::new("files").join(path));
    let held = (packages.map(|path| (CollectedKind::Cache, path)))
        .chain(pooled.map(|path| (CollectedKind::Pool, path)));
    for (kind, path) in held {
        let path = Path::new("cache").join(path);
        let why = "holds a file that the check found changed or exposed";
        let bytes = removal.tree(&path)?;
        discarded.push(CollectedItem {
            kind,
            path,
            bytes,
            why: why.into(),
        });
    }
    for hash in hashes {
        match removal.environment(hash)? {
            Removed::Gone(bytes) => discarded.push(CollectedItem {
                kind: CollectedKind::Environment,
                path: Path::new("env").join(hash),
                bytes,
                why: "is not what was sealed, or shares a file with one that is not".into(),
            }),
            Removed::Kept(why) => kept.push(Kept {
                hash: hash.into(),
                why,
            }),
        }
    }
    checked.discarded = discarded;
    checked.kept = kept;
    Ok(())
}

/// The unpacked package that a path of the cache belongs to: `archive-v0/<id>`.
fn package(path: &Path) -> PathBuf {
    path.iter().take(2).collect()
}
