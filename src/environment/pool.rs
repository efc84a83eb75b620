//! One file for all that have the same content: a sealed file becomes a hard link of an equal one of
//! another environment, found under its content's hash.
//!
//! Nobody is believed: what lies under a name is linked only after all of it was read and found to
//! have that hash, in the very file that is linked. So whoever writes into the pool can at most
//! make it share less.

use std::fs::{self, File, Metadata, OpenOptions};
use std::io::{self, ErrorKind};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use nix::errno::Errno;
use nix::fcntl::OFlag;

use super::EnvironmentError;
use super::seal::{digest, links_work};

/// Others may put and take the same file at the same time.
const ATTEMPTS: u32 = 4;

/// Where a home keeps it; hard links are made from here into environments.
pub(super) fn folder(home: &Path) -> PathBuf {
    home.join("cache").join("files")
}

pub(super) struct Pool {
    folder: PathBuf,
    /// A name for a link until it is known to be a good one; in the environment's folder, and not
    /// in the tree that is sealed.
    spare: PathBuf,
    /// Why a file could not be shared, of the first one.
    refused: Option<String>,
}

/// A sealed file.
pub(super) struct Candidate<'a> {
    pub path: &'a Path,
    /// With the mode that it was given.
    pub metadata: &'a Metadata,
    pub sha256: &'a str,
}

impl Pool {
    /// For the environment in `environment`; `None` where no hard link can be made into it.
    pub fn open(home: &Path, environment: &Path) -> Result<Option<Self>, EnvironmentError> {
        let folder = folder(home);
        fs::create_dir_all(&folder).map_err(EnvironmentError::io(&folder))?;
        Ok(links_work(&folder, environment).then(|| Self {
            folder,
            spare: environment.join(format!("link.{}", std::process::id())),
            refused: None,
        }))
    }

    /// Whether `file` takes no space of its own any more. Else it is what others will be linked to,
    /// or stays alone, where links are refused.
    pub fn share(&mut self, file: &Candidate) -> bool {
        let shared = self.try_share(file);
        let _ = fs::remove_file(&self.spare);
        shared.unwrap_or_else(|error| {
            (self.refused).get_or_insert_with(|| format!("{}: {error}", file.path.display()));
            false
        })
    }

    pub fn refused(&self) -> Option<&str> {
        self.refused.as_deref()
    }

    fn try_share(&self, file: &Candidate) -> io::Result<bool> {
        let entry = self.entry(file)?;
        for _ in 0..ATTEMPTS {
            match fs::hard_link(&entry, &self.spare) {
                Ok(()) if is_equal(&self.spare, file)? => {
                    fs::rename(&self.spare, file.path)?;
                    return Ok(true);
                }
                // damaged, or something else under that name: its other links are not ours to judge
                Ok(()) => {
                    fs::remove_file(&self.spare)?;
                    remove(&entry)?;
                }
                // as many links as the file system allows: this one begins anew
                Err(error) if is_full(&error) => remove(&entry)?,
                Err(error) if error.kind() == ErrorKind::NotFound => {}
                Err(error) => return Err(error),
            }
            match fs::hard_link(file.path, &entry) {
                Ok(()) => return Ok(false),
                // somebody was faster
                Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
                Err(error) => return Err(error),
            }
        }
        Ok(false)
    }

    /// The name of its content, in a folder that is there.
    fn entry(&self, file: &Candidate) -> io::Result<PathBuf> {
        let (first, rest) = file.sha256.split_at(2);
        let folder = self.folder.join(first);
        match fs::symlink_metadata(&folder) {
            Ok(metadata) if metadata.is_dir() => {}
            // a link would lead out of the pool
            Ok(_) => return Err(ErrorKind::NotADirectory.into()),
            Err(_) => fs::create_dir_all(&folder)?,
        }
        let kind = if file.metadata.mode() & 0o111 == 0 {
            ""
        } else {
            "-x"
        };
        Ok(folder.join(format!("{rest}{kind}")))
    }
}

/// Whether a link is to a file that may stand for `file`: of the same owner and mode, and all of its
/// content has the hash.
fn is_equal(link: &Path, file: &Candidate) -> io::Result<bool> {
    let opened = OpenOptions::new()
        .read(true)
        .custom_flags((OFlag::O_NOFOLLOW | OFlag::O_NONBLOCK).bits())
        .open(link);
    let opened: File = match opened {
        Ok(opened) => opened,
        // a link, or nothing that can be read
        Err(_) => return Ok(false),
    };
    let found = opened.metadata()?;
    let traits = |m: &Metadata| (m.dev(), m.uid(), m.gid(), m.mode(), m.len());
    Ok(traits(&found) == traits(file.metadata) && digest(opened)? == file.sha256)
}

fn remove(entry: &Path) -> io::Result<()> {
    match fs::remove_file(entry) {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

fn is_full(error: &io::Error) -> bool {
    error.raw_os_error() == Some(Errno::EMLINK as i32)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use std::fs::Permissions;
    use std::os::unix::fs::PermissionsExt;

    use sha2::{Digest, Sha256};

    use super::*;
    use crate::domain::hex;

    fn share(pool: &mut Pool, path: &Path, text: &str) -> bool {
        let (mode, sha256) = (0o444, hex(&Sha256::digest(text)));
        fs::write(path, text).unwrap();
        fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
        pool.share(&Candidate {
            path,
            metadata: &fs::symlink_metadata(path).unwrap(),
            sha256: &sha256,
        })
    }

    #[test]
    fn equal_files_become_one_until_it_has_as_many_links_as_can_be() {
        let place = tempfile::tempdir().unwrap();
        let mut pool = Pool::open(place.path(), place.path()).unwrap().unwrap();
        let at = |name: &str| place.path().join(name);
        assert!(!share(&mut pool, &at("a"), "text"));
        assert!(share(&mut pool, &at("b"), "text"));
        assert!(!share(&mut pool, &at("c"), "other"));
        let inode = |name: &str| fs::metadata(at(name)).unwrap().ino();
        assert_eq!(inode("a"), inode("b"));

        // 65000 on ext4; where there are more, the rest is not to be had here
        let links = at("links");
        fs::create_dir(&links).unwrap();
        let full = (0..70_000).any(|n| {
            let made = fs::hard_link(at("a"), links.join(n.to_string()));
            made.is_err_and(|error| is_full(&error))
        });
        let shared = share(&mut pool, &at("d"), "text");
        assert_eq!(shared, !full);
        assert!(share(&mut pool, &at("e"), "text"));
        assert_eq!(inode("d"), inode("e"));
        assert_eq!(pool.refused(), None);
        assert!(!pool.spare.exists());

        // a folder of the pool that leads elsewhere is not followed
        let first = &hex(&Sha256::digest("away"))[..2];
        std::os::unix::fs::symlink(&links, folder(place.path()).join(first)).unwrap();
        assert!(!share(&mut pool, &at("f"), "away"));
        assert!(pool.refused().is_some());
    }
}
