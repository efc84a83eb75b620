//! Walks folders by inode: hard links make one file appear in many places.

use std::collections::HashMap;
use std::fs::{self, Metadata};
use std::io::ErrorKind;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use crate::environment::EnvironmentError;

/// Device and inode.
pub(super) type Inode = (u64, u64);

pub(super) fn inode(metadata: &Metadata) -> Inode {
    (metadata.dev(), metadata.ino())
}

/// What a file takes on disk.
pub(super) fn allocated(metadata: &Metadata) -> u64 {
    metadata.blocks() * 512
}

/// Calls `each` for `root` and everything below it, links not followed. What goes away meanwhile
/// (a build beside us) is passed over, and so is a root that is not there.
pub(super) fn walk(
    root: &Path,
    each: &mut dyn FnMut(&Path, &Metadata),
) -> Result<(), EnvironmentError> {
    let gone = |error: &std::io::Error| error.kind() == ErrorKind::NotFound;
    let metadata = match fs::symlink_metadata(root) {
        Ok(metadata) => metadata,
        Err(error) if gone(&error) => return Ok(()),
        Err(error) => return Err(EnvironmentError::io(root)(error)),
    };
    each(root, &metadata);
    if !metadata.is_dir() {
        return Ok(());
    }
    let entries = match fs::read_dir(root) {
        Ok(entries) => entries,
        Err(error) if gone(&error) => return Ok(()),
        Err(error) => return Err(EnvironmentError::io(root)(error)),
    };
    for entry in entries {
        let entry = entry.map_err(EnvironmentError::io(root))?;
        walk(&entry.path(), each)?;
    }
    Ok(())
}

/// Bytes on disk of some trees together, each inode once.
#[derive(Default)]
pub(super) struct Disk {
    found: HashMap<Inode, Held>,
}

#[derive(Clone, Copy)]
pub(super) struct Held {
    pub bytes: u64,
    /// Links that the file has anywhere; 1 for a folder, which counts as itself.
    pub links: u64,
    /// Links that were walked over.
    pub seen: u64,
}

impl Disk {
    pub fn of(root: &Path) -> Result<Self, EnvironmentError> {
        let mut disk = Self::default();
        disk.add(root)?;
        Ok(disk)
    }

    pub fn add(&mut self, root: &Path) -> Result<(), EnvironmentError> {
        walk(root, &mut |_, metadata| {
            let held = self.found.entry(inode(metadata)).or_insert(Held {
                bytes: allocated(metadata),
                links: if metadata.is_dir() {
                    1
                } else {
                    metadata.nlink()
                },
                seen: 0,
            });
            held.seen += 1;
        })
    }

    /// Everything of the other as well, which is empty then.
    pub fn take(&mut self, other: &mut Self) {
        for (inode, held) in other.found.drain() {
            let own = self.found.entry(inode).or_insert(Held { seen: 0, ..held });
            own.seen += held.seen;
        }
    }

    pub fn bytes(&self) -> u64 {
        self.found.values().map(|held| held.bytes).sum()
    }

    /// What the disk would get back if all of this were removed.
    pub fn freed(&self) -> u64 {
        let last = self.found.values().filter(|held| held.seen >= held.links);
        last.map(|held| held.bytes).sum()
    }

    pub fn holds(&self, inode: &Inode) -> bool {
        self.found.contains_key(inode)
    }

    pub fn iter(&self) -> impl Iterator<Item = (&Inode, &Held)> {
        self.found.iter()
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn an_inode_counts_once_and_is_freed_with_its_last_link() {
        let folder = tempfile::tempdir().unwrap();
        let (a, b) = (folder.path().join("a"), folder.path().join("b"));
        fs::create_dir_all(&a).unwrap();
        fs::create_dir_all(&b).unwrap();
        fs::write(a.join("x"), vec![1; 10_000]).unwrap();
        fs::hard_link(a.join("x"), b.join("x")).unwrap();
        let size = |path: &Path| allocated(&fs::symlink_metadata(path).unwrap());
        let (file, a_dir, b_dir) = (size(&a.join("x")), size(&a), size(&b));
        let mut both = Disk::of(&a).unwrap();
        assert_eq!((both.bytes(), both.freed()), (file + a_dir, a_dir));
        both.add(&b).unwrap();
        assert_eq!(both.bytes(), file + a_dir + b_dir);
        assert_eq!(both.freed(), both.bytes());
        assert_eq!(Disk::of(&folder.path().join("absent")).unwrap().bytes(), 0);
    }
}
