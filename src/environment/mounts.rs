//! What must be visible inside a sandbox for an interpreter to run there.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use super::interpreter::Facts;
use crate::engine::spec::{Access, Mount};

/// Folders that an engine gives every sandbox.
const GIVEN: [&str; 7] = [
    "/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32",
];

/// Collects read-only mounts at the paths where things are on the host.
#[derive(Default)]
pub(super) struct Mounts {
    /// The sandbox has an image's folders instead of the machine's.
    in_image: bool,
    /// Target -> source.
    found: BTreeMap<PathBuf, PathBuf>,
}

impl Mounts {
    /// For a sandbox of an image.
    pub fn in_image() -> Self {
        Self {
            in_image: true,
            ..Self::default()
        }
    }

    /// A folder or file, at its own path and at its real one.
    pub fn add(&mut self, path: &Path) {
        let Ok(real) = path.canonicalize() else {
            return;
        };
        if real == Path::new("/") {
            return;
        }
        for target in [path, real.as_path()] {
            if target.is_absolute() && !self.covers(target) {
                self.found.insert(target.to_path_buf(), real.clone());
            }
        }
    }

    /// An executable and every link on the way to it. Folders on the way may be links as well.
    pub fn add_executable(&mut self, path: &Path) {
        let mut path = path.to_path_buf();
        for _ in 0..40 {
            self.add(&path);
            let Ok(target) = std::fs::read_link(&path) else {
                return;
            };
            path = match path.parent() {
                Some(folder) => folder.join(target),
                None => target,
            };
        }
    }

    /// The interpreter below any virtual environment: its prefixes, and the shared libraries that
    /// lie outside them.
    pub fn add_base(&mut self, facts: &Facts) {
        self.add(&facts.base_prefix);
        self.add(&facts.base_exec_prefix);
        self.add_executable(&facts.base_executable);
        let folders: BTreeSet<&Path> = facts.libraries.iter().filter_map(|l| l.parent()).collect();
        for folder in folders {
            self.add(folder);
        }
    }

    fn covers(&self, target: &Path) -> bool {
        (!self.in_image && given(target))
            || self.found.keys().any(|known| target.starts_with(known))
    }

    /// By target; nothing below another target, which would be mounted over it.
    pub fn into_vec(self) -> Vec<Mount> {
        let mut kept: Vec<(PathBuf, PathBuf)> = Vec::new();
        // in this order a folder comes before what is in it
        for (target, source) in self.found {
            if !kept.iter().any(|(known, _)| target.starts_with(known)) {
                kept.push((target, source));
            }
        }
        kept.into_iter()
            .map(|(target, source)| Mount {
                source,
                target,
                access: Access::ReadOnly,
            })
            .collect()
    }
}

/// Inside a folder that the engine gives, and really there (not through a link to elsewhere).
fn given(target: &Path) -> bool {
    let inside = |path: &Path| GIVEN.iter().any(|folder| path.starts_with(folder));
    inside(target) && target.canonicalize().is_ok_and(|real| inside(&real))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn a_prefix_behind_a_link_is_mounted_at_both_paths_from_the_real_one() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        let real = root.join("3.11.7");
        std::fs::create_dir_all(real.join("bin")).unwrap();
        std::fs::write(real.join("bin/python3.11"), "").unwrap();
        std::os::unix::fs::symlink("python3.11", real.join("bin/python3")).unwrap();
        std::os::unix::fs::symlink("3.11.7", root.join("3.11")).unwrap();
        let mut mounts = Mounts::default();
        mounts.add_executable(&root.join("3.11/bin/python3"));
        mounts.add(&root.join("3.11"));
        mounts.add(Path::new("/usr/bin/env"));
        mounts.add(&root.join("absent"));
        let found: Vec<_> = mounts
            .into_vec()
            .into_iter()
            .map(|m| (m.target, m.source))
            .collect();
        assert_eq!(
            found,
            [
                (root.join("3.11"), real.clone()),
                (root.join("3.11.7"), real)
            ]
        );
    }
}
