//! Who may use which GPU: one file by UUID in a folder that all users of a node share, locked by
//! the worker for as long as it lives.
//!
//! A worker that dies loses its lock, whatever its file says: such a lease is stale and simply
//! taken. Other programs know nothing of leases, so a start also looks at the driver's process
//! list ([`super::hold`]). Leases are advisory: they keep peace among willing users.

use std::fs::{DirBuilder, File, OpenOptions, Permissions, TryLockError};
use std::io::{Read, Seek, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use nix::fcntl::OFlag;
use serde::{Deserialize, Serialize};
use thiserror::Error;

/// Where leases lie unless `INFRADEV_LEASES` names another folder.
const FOLDER: &str = "/tmp/infradev-leases";
/// A record is small; more than this is none of ours.
const RECORD_BYTES: u64 = 4096;
/// Tries of 5 ms each before a lock counts as held.
const LOOKS: u32 = 5;

/// Locked by whoever chooses.
const CHOOSING: &str = "choosing";
/// Tries of 5 ms each; choosing among GPUs takes some 20 ms each.
const CHOOSING_LOOKS: u32 = 400;

/// Who holds a GPU.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Holder {
    pub run: String,
    pub pid: u32,
    pub user: String,
    pub host: String,
}

#[derive(Debug, Error)]
pub enum LeaseError {
    #[error("GPU {uuid} is leased by {}", holder.as_ref().map_or_else(
        || "somebody".to_string(), |h| format!("run {} of {} (pid {})", h.run, h.user, h.pid)))]
    Held {
        uuid: String,
        holder: Option<Holder>,
    },
    #[error("{uuid:?} is no GPU's UUID")]
    NoUuid { uuid: String },
    #[error("{path}: {source}; another folder for leases can be named in INFRADEV_LEASES")]
    Io {
        path: PathBuf,
        source: std::io::Error,
    },
}

/// The folder of leases.
#[derive(Clone, Debug)]
pub struct Leases {
    folder: PathBuf,
}

/// A GPU that is ours until this is dropped or the process ends.
#[derive(Debug)]
pub struct Lease {
    pub uuid: String,
    file: File,
}

impl Drop for Lease {
    fn drop(&mut self) {
        // the record goes first: what is free names nobody
        let _ = self.file.set_len(0);
    }
}

/// A lease file as found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LeaseState {
    /// Locked; the record may be unreadable.
    Held(Option<Holder>),
    /// Its worker died without giving it back.
    Stale(Holder),
    Free,
}

impl Leases {
    /// Opens the node's folder (`INFRADEV_LEASES`, else the default), making it where it is
    /// missing.
    pub fn open() -> Result<Self, LeaseError> {
        match std::env::var_os("INFRADEV_LEASES").filter(|folder| !folder.is_empty()) {
            Some(folder) => Self::at(Path::new(&folder)),
            None => Self::at(Path::new(FOLDER)),
        }
    }

    /// The node's folder for one who only looks: nothing is made.
    pub fn look() -> Self {
        let named = std::env::var_os("INFRADEV_LEASES").filter(|folder| !folder.is_empty());
        Self::look_at(&named.map_or_else(|| PathBuf::from(FOLDER), PathBuf::from))
    }

    pub fn look_at(folder: &Path) -> Self {
        Self {
            folder: folder.to_path_buf(),
        }
    }

    pub fn at(folder: &Path) -> Result<Self, LeaseError> {
        let io = |source| LeaseError::Io {
            path: folder.to_path_buf(),
            source,
        };
        match DirBuilder::new().mode(0o1777).create(folder) {
            // against the umask: every user makes files here
            Ok(()) => {
                std::fs::set_permissions(folder, Permissions::from_mode(0o1777)).map_err(io)?;
            }
            Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(io(error)),
        }
        // a link could lead anywhere
        if !std::fs::symlink_metadata(folder).map_err(io)?.is_dir() {
            return Err(io(std::io::Error::other("is not a folder")));
        }
        Ok(Self {
            folder: folder.to_path_buf(),
        })
    }

    /// Takes one GPU.
    pub fn acquire(&self, uuid: &str, holder: &Holder) -> Result<Lease, LeaseError> {
        let path = self.path(uuid)?;
        let io = |source| LeaseError::Io {
            path: path.clone(),
            source,
        };
        let mut file = open(&path).map_err(io)?;
        let mut tries = 0;
        loop {
            match file.try_lock() {
                Ok(()) => break,
                // somebody may only be looking ([`Self::state`]), which is over at once
                Err(TryLockError::WouldBlock) if tries < LOOKS => {
                    tries += 1;
                    std::thread::sleep(Duration::from_millis(5));
                }
                Err(TryLockError::WouldBlock) => {
                    return Err(LeaseError::Held {
                        uuid: uuid.into(),
                        holder: record(&mut file),
                    });
                }
                Err(TryLockError::Error(error)) => return Err(io(error)),
            }
        }
        let text = serde_json::to_string(holder).map_err(|error| io(error.into()))?;
        file.set_len(0).map_err(io)?;
        file.rewind().map_err(io)?;
        file.write_all(text.as_bytes()).map_err(io)?;
        Ok(Lease {
            uuid: uuid.into(),
            file,
        })
    }

    /// The right to choose GPUs, which one at a time has; `None`: others keep it for long.
    pub fn choosing(&self) -> Result<Option<File>, LeaseError> {
        let path = self.folder.join(CHOOSING);
        let io = |source| LeaseError::Io {
            path: path.clone(),
            source,
        };
        let file = open(&path).map_err(io)?;
        for _ in 0..CHOOSING_LOOKS {
            match file.try_lock() {
                Ok(()) => return Ok(Some(file)),
                Err(TryLockError::WouldBlock) => std::thread::sleep(Duration::from_millis(5)),
                Err(TryLockError::Error(error)) => return Err(io(error)),
            }
        }
        Ok(None)
    }

    /// Every lease file, by UUID.
    pub fn list(&self) -> Result<Vec<(String, LeaseState)>, LeaseError> {
        let io = |source| LeaseError::Io {
            path: self.folder.clone(),
            source,
        };
        let mut found = Vec::new();
        for entry in std::fs::read_dir(&self.folder).map_err(io)?.flatten() {
            let name = entry.file_name();
            let uuid = name.to_str().and_then(|n| n.strip_suffix(".lease"));
            if let Some(uuid) = uuid
                && let Ok(state) = self.state(uuid)
            {
                found.push((uuid.to_string(), state));
            }
        }
        found.sort_by(|a, b| a.0.cmp(&b.0));
        Ok(found)
    }

    pub fn state(&self, uuid: &str) -> Result<LeaseState, LeaseError> {
        let path = self.path(uuid)?;
        let mut file = match read_only(&path) {
            Ok(file) => file,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                return Ok(LeaseState::Free);
            }
            Err(source) => return Err(LeaseError::Io { path, source }),
        };
        let holder = record(&mut file);
        // shared, and let go at once: two who look do not take each other for holders
        Ok(match file.try_lock_shared() {
            Ok(()) => holder.map_or(LeaseState::Free, LeaseState::Stale),
            Err(_) => LeaseState::Held(holder),
        })
    }

    fn path(&self, uuid: &str) -> Result<PathBuf, LeaseError> {
        let plain = |c: char| c.is_ascii_alphanumeric() || c == '-';
        if uuid.is_empty() || uuid.len() > 100 || !uuid.chars().all(plain) {
            return Err(LeaseError::NoUuid { uuid: uuid.into() });
        }
        Ok(self.folder.join(format!("{uuid}.lease")))
    }
}

/// Never follows a link, and never waits (the folder is everybody's). An existing file is opened
/// without asking for its creation, which a hardened kernel refuses for another user's file.
fn open(path: &Path) -> std::io::Result<File> {
    let flags = (OFlag::O_NOFOLLOW | OFlag::O_NONBLOCK).bits();
    for _ in 0..3 {
        let existing = OpenOptions::new()
            .read(true)
            .write(true)
            .custom_flags(flags)
            .open(path);
        match existing {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
            other => return other.and_then(regular),
        }
        let made = OpenOptions::new()
            .read(true)
            .write(true)
            .create_new(true)
            .mode(0o666)
            .custom_flags(flags)
            .open(path);
        match made {
            Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error),
            Ok(file) => {
                // against the umask: the next holder may be another user
                file.set_permissions(Permissions::from_mode(0o666))?;
                return Ok(file);
            }
        }
    }
    Err(std::io::Error::other("it comes and goes"))
}

fn read_only(path: &Path) -> std::io::Result<File> {
    OpenOptions::new()
        .read(true)
        .custom_flags((OFlag::O_NOFOLLOW | OFlag::O_NONBLOCK).bits())
        .open(path)
        .and_then(regular)
}

fn regular(file: File) -> std::io::Result<File> {
    if file.metadata()?.is_file() {
        Ok(file)
    } else {
        Err(std::io::Error::other("is not a regular file"))
    }
}

fn record(file: &mut File) -> Option<Holder> {
    let mut text = String::new();
    file.rewind().ok()?;
    file.take(RECORD_BYTES).read_to_string(&mut text).ok()?;
    serde_json::from_str(&text).ok()
}
