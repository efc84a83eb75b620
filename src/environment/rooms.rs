//! What a workshop sees of the home: what it works on, and nothing else.
//!
//! Hard links cannot be made from one mount to another, so the home is mounted once, and everything
//! in it that is not worked on is covered by something empty.

use std::fs;
use std::path::{Path, PathBuf};

use super::EnvironmentError;
use crate::engine::{Access, Mount};

/// Where uv is inside.
pub(super) const UV: &str = "/infradev/uv";
/// What is not to be seen even when it comes while a build goes on.
const COVERED: [&str; 5] = ["agents", "calibration", "mirrors", "runs", "snapshots"];

/// A folder of the home for the engine's small files, and for what covers others.
pub(super) fn scratch(home: &Path) -> Result<PathBuf, EnvironmentError> {
    let folder = home.join("tools").join("builder");
    let (empty, blank) = covers(&folder);
    fs::create_dir_all(&empty).map_err(EnvironmentError::io(&empty))?;
    if !blank.is_file() {
        fs::write(&blank, b"").map_err(EnvironmentError::io(&blank))?;
    }
    Ok(folder)
}

/// What covers a folder, and what a file.
fn covers(scratch: &Path) -> (PathBuf, PathBuf) {
    (scratch.join("empty"), scratch.join("blank"))
}

/// Where an environment and the cache lie.
#[derive(Clone, Copy)]
pub(super) struct Shared<'a> {
    pub home: &'a Path,
    /// `env` and `cache/uv` of the home, which may be links.
    pub environments: &'a Path,
    pub cache: &'a Path,
}

impl Shared<'_> {
    /// Whether one mount holds both.
    pub fn is_one(self) -> bool {
        let own = |path: &Path| path.canonicalize().is_ok_and(|real| real == path);
        own(self.environments) && own(self.cache)
    }

    /// Writable: one environment's folder and the cache.
    pub fn mounts(self, hash: &str, scratch: &Path) -> Result<Vec<Mount>, EnvironmentError> {
        let io = EnvironmentError::io;
        for name in COVERED {
            let folder = self.home.join(name);
            fs::create_dir_all(&folder).map_err(io(&folder))?;
        }
        let mut mounts = vec![writable(self.home)];
        let open = [self.environments.join(hash), self.cache.to_path_buf()];
        cover(self.home, &open, scratch, &mut mounts)?;
        for path in &open {
            // behind a link out of the home
            let real = path.canonicalize().map_err(io(path))?;
            if !real.starts_with(self.home) {
                mounts.push(writable(&real));
            }
        }
        Ok(mounts)
    }
}

/// uv where a workshop looks for it.
pub(super) fn uv(path: &Path) -> Mount {
    Mount {
        source: path.to_path_buf(),
        target: UV.into(),
        access: Access::ReadOnly,
    }
}

/// Writable, at its own path.
pub(super) fn writable(folder: &Path) -> Mount {
    Mount {
        source: folder.to_path_buf(),
        target: folder.to_path_buf(),
        access: Access::ReadWrite,
    }
}

/// Covers what is in `folder`, down to what is to stay `open`.
fn cover(
    folder: &Path,
    open: &[PathBuf],
    scratch: &Path,
    mounts: &mut Vec<Mount>,
) -> Result<(), EnvironmentError> {
    let (empty, blank) = covers(scratch);
    for entry in fs::read_dir(folder).map_err(EnvironmentError::io(folder))? {
        let entry = entry.map_err(EnvironmentError::io(folder))?;
        let path = entry.path();
        let Ok(kind) = entry.file_type() else {
            continue;
        };
        let source = match () {
            () if open.contains(&path) => continue,
            () if kind.is_dir() && open.iter().any(|o| o.starts_with(&path)) => {
                cover(&path, open, scratch, mounts)?;
                continue;
            }
            () if kind.is_dir() => empty.clone(),
            () if kind.is_file() && !is_passing(&path) => blank.clone(),
            // a link leads to what is covered, or to what is not there
            () => continue,
        };
        mounts.push(Mount {
            source,
            target: path,
            access: Access::ReadOnly,
        });
    }
    Ok(())
}

/// Locks, and what is written only to be renamed: empty or soon gone, when there is nothing to
/// cover any more.
fn is_passing(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let ending = name.rsplit('.').next().unwrap_or_default();
    matches!(ending, "lock" | "use")
        || ending.bytes().all(|b| b.is_ascii_digit())
        || name.starts_with(".link-test-")
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn everything_but_what_is_worked_on_is_covered() {
        let place = tempfile::tempdir().unwrap();
        let home = place.path().canonicalize().unwrap();
        for folder in [
            "env/aa/venv",
            "env/bb/venv",
            "cache/uv/x",
            "cache/data",
            "runs/1",
        ] {
            fs::create_dir_all(home.join(folder)).unwrap();
        }
        for file in [
            "env/aa.lock",
            "env/interpreters.json",
            "env/interpreters.json.7",
            "note",
        ] {
            fs::write(home.join(file), "x").unwrap();
        }
        std::os::unix::fs::symlink("/", home.join("away")).unwrap();
        let scratch = scratch(&home).unwrap();
        let (environments, cache) = (home.join("env"), home.join("cache/uv"));
        let shared = Shared {
            home: &home,
            environments: &environments,
            cache: &cache,
        };
        assert!(shared.is_one());
        let mut mounts = shared.mounts("aa", &scratch).unwrap();
        assert_eq!(mounts.remove(0), writable(&home));
        let mut covered: Vec<String> = mounts
            .iter()
            .map(|m| {
                assert_eq!(m.access, Access::ReadOnly);
                let (empty, blank) = covers(&scratch);
                assert_eq!(m.source, if m.target.is_dir() { empty } else { blank });
                let path = m.target.strip_prefix(&home).unwrap();
                path.display().to_string()
            })
            .collect();
        covered.sort();
        assert_eq!(
            covered,
            [
                "agents",
                "cache/data",
                "calibration",
                "env/bb",
                "env/interpreters.json",
                "mirrors",
                "note",
                "runs",
                "snapshots",
                "tools"
            ]
        );
    }

    #[test]
    fn a_cache_elsewhere_is_mounted_there() {
        let place = tempfile::tempdir().unwrap();
        let place = place.path().canonicalize().unwrap();
        let (home, disk) = (place.join("home"), place.join("disk"));
        fs::create_dir_all(home.join("env/aa")).unwrap();
        fs::create_dir_all(disk.join("uv")).unwrap();
        std::os::unix::fs::symlink(&disk, home.join("cache")).unwrap();
        let scratch = scratch(&home).unwrap();
        let (environments, cache) = (home.join("env"), home.join("cache/uv"));
        let shared = Shared {
            home: &home,
            environments: &environments,
            cache: &cache,
        };
        assert!(!shared.is_one());
        let mounts = shared.mounts("aa", &scratch).unwrap();
        assert!(mounts.contains(&writable(&disk.join("uv"))), "{mounts:?}");
    }
}
