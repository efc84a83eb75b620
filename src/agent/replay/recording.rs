//! The folder that is played: `recording.json`, the log, and the bytes of changed files.

use std::ffi::OsStr;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path, PathBuf};

use serde::{Deserialize, Serialize};

/// The log's name in the folder.
pub const LOG: &str = "log";
/// Lines a second of a log without recorded times.
pub const DEFAULT_RATE: f64 = 20.0;
const INDEX: &str = "recording.json";

/// `recording.json`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Recording {
    /// When the log's pieces came: milliseconds since the start, and bytes. Empty: by rate.
    pub pieces: Vec<(u64, u64)>,
    /// Lines a second; wins over `pieces`.
    pub rate: Option<f64>,
    /// In the order in which they are made.
    pub changes: Vec<Change>,
}

/// One file that the recorded run changed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Change {
    /// Bytes of the path, relative to the work tree.
    pub path: Vec<u8>,
    pub content: Content,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Content {
    Gone,
    /// The name of a file beside the log.
    File {
        name: String,
        executable: bool,
    },
    Link {
        target: Vec<u8>,
    },
}

impl Recording {
    pub fn write(&self, folder: &Path) -> io::Result<()> {
        let text = serde_json::to_vec(self)?;
        std::fs::write(folder.join(INDEX), text)
    }

    pub fn read(folder: &Path) -> io::Result<Self> {
        Ok(serde_json::from_slice(&std::fs::read(folder.join(INDEX))?)?)
    }

    /// The lines of `agent.times`.
    pub fn pieces(times: &str) -> Vec<(u64, u64)> {
        let pair = |line: &str| {
            let (at, bytes) = line.split_once(' ')?;
            Some((at.parse().ok()?, bytes.parse().ok()?))
        };
        times.lines().filter_map(pair).collect()
    }
}

impl Change {
    /// Makes it. The folder may be a work tree that somebody else wrote: what is in the way goes.
    pub fn make(&self, folder: &Path, worktree: &Path) -> io::Result<()> {
        let relative = PathBuf::from(OsStr::from_bytes(&self.path));
        let plain = relative
            .components()
            .all(|c| matches!(c, Component::Normal(_)));
        if !plain || relative.as_os_str().is_empty() {
            return Err(io::Error::other("a path that leaves the work tree"));
        }
        let path = worktree.join(&relative);
        match path.symlink_metadata() {
            Ok(metadata) if metadata.is_dir() => std::fs::remove_dir_all(&path)?,
            Ok(_) => std::fs::remove_file(&path)?,
            Err(_) => {}
        }
        if let Some(parent) = path.parent() {
            std::fs::create_dir_all(parent)?;
        }
        match &self.content {
            Content::Gone => Ok(()),
            Content::Link { target } => {
                std::os::unix::fs::symlink(OsStr::from_bytes(target), &path)
            }
            Content::File { name, executable } => {
                use std::os::unix::fs::PermissionsExt;
                std::fs::write(&path, std::fs::read(folder.join(name))?)?;
                let mode = if *executable { 0o755 } else { 0o644 };
                std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode))
            }
        }
    }
}
