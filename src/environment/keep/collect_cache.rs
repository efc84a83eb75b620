//! What uv's cache and the pool of equal files hold for no environment: unpacked packages and files
//! without a link, and what killed installations left. Packages that are gone are fetched again
//! when a lock wants them.

use std::path::{Path, PathBuf};

use std::collections::HashSet;

use super::scan::{Inode, inode, walk};
use crate::environment::lock::{Mode, cache_lock_file, is_locked, try_lock};
use crate::environment::{EnvironmentError, pool};

/// What may go, each with the reason, below the home; found under the cache's lock, which is held
/// as long as this lives.
pub(super) struct Unlinked {
    pub entries: Vec<(PathBuf, String)>,
    /// Files of the pool.
    pub pooled: Vec<PathBuf>,
    _lock: std::fs::File,
}

/// `environments`: the folders of those that stay. The inner error says who is in the way.
pub(super) fn unlinked(
    home: &Path,
    environments: &[PathBuf],
) -> Result<Result<Unlinked, String>, EnvironmentError> {
    let cache = Path::new("cache").join("uv");
    let lock_path = cache_lock_file(home);
    let folder = home.join("cache");
    std::fs::create_dir_all(&folder).map_err(EnvironmentError::io(&folder))?;
    let Some(lock) = try_lock(&lock_path, Mode::Alone)? else {
        return Ok(Err(
            "the cache was left alone: an environment is being built".into(),
        ));
    };
    // uv of a worker that was killed holds the lock of what it builds, and still writes
    if names(&home.join("env"))
        .iter()
        .any(|path| path.extension().is_some_and(|e| e == "lock") && is_locked(path))
    {
        return Ok(Err(
            "the cache was left alone: an environment is being built".into(),
        ));
    }
    let mut linked: HashSet<Inode> = HashSet::new();
    for environment in environments {
        walk(environment, &mut |_, metadata| {
            if metadata.is_file() {
                linked.insert(inode(metadata));
            }
        })?;
    }
    let mut entries = Vec::new();
    for path in names(&home.join(&cache)) {
        let Some(name) = path.file_name().and_then(|name| name.to_str()) else {
            continue;
        };
        if name.starts_with(".tmp") {
            let why = "left by an installation that was killed".to_string();
            entries.push((cache.join(name), why));
        } else if name.starts_with("archive-v") {
            for package in names(&path) {
                let mut used = false;
                walk(&package, &mut |_, metadata| {
                    used = used || linked.contains(&inode(metadata));
                })?;
                if !used && let Some(id) = package.file_name() {
                    let why = format!("no environment links {}", title(&package));
                    entries.push((cache.join(name).join(id), why));
                }
            }
        } else if name.starts_with("builds-v") {
            for build in names(&path) {
                if let Some(id) = build.file_name() {
                    let why = "left by a build of a package".to_string();
                    entries.push((cache.join(name).join(id), why));
                }
            }
        }
    }
    let mut pooled = Vec::new();
    walk(&pool::folder(home), &mut |path, metadata| {
        if !metadata.is_dir() && !linked.contains(&inode(metadata)) {
            pooled.push(path.strip_prefix(home).unwrap_or(path).to_path_buf());
        }
    })?;
    Ok(Ok(Unlinked {
        entries,
        pooled,
        _lock: lock,
    }))
}

/// What is in a folder, sorted; nothing where there is none.
fn names(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let mut found: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
    found.sort();
    found
}

/// `numpy-2.2.6`, from the package's own metadata.
fn title(package: &Path) -> String {
    let info = names(package).iter().find_map(|path| {
        Some(
            path.file_name()?
                .to_str()?
                .strip_suffix(".dist-info")?
                .to_string(),
        )
    });
    info.unwrap_or_else(|| "it".into())
}
