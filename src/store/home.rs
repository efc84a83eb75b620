//! The home: everything the product writes outside a task lies here.

use std::io;
use std::path::{Path, PathBuf};

use super::run::RunDir;
use crate::domain::RunId;

#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    #[error("{path}: {source}")]
    Io { path: PathBuf, source: io::Error },
    #[error("{path}:{line}: {message}")]
    Malformed {
        path: PathBuf,
        line: usize,
        message: String,
    },
    #[error("no run {id} in {home}; `infradev runs` lists them")]
    NoRun { id: String, home: PathBuf },
    #[error("{id} names several runs: {matches}; give more of the id")]
    Ambiguous { id: String, matches: String },
    #[error("run {id} has a worker already (pid lock is held)")]
    Busy { id: String },
}

impl StoreError {
    pub(crate) fn io(path: &Path) -> impl FnOnce(io::Error) -> Self + '_ {
        move |source| Self::Io {
            path: path.to_path_buf(),
            source,
        }
    }
}

/// Folder layout of the home (DESIGN.md, On disk).
#[derive(Clone, Debug)]
pub struct Home {
    root: PathBuf,
}

impl Home {
    /// Opens a home, making its folders where they are missing.
    pub fn open(root: &Path) -> Result<Self, StoreError> {
        std::fs::create_dir_all(root.join("runs")).map_err(StoreError::io(root))?;
        let root = root.canonicalize().map_err(StoreError::io(root))?;
        let ignore = root.join(".gitignore");
        if !ignore.exists() {
            std::fs::write(&ignore, "*\n").map_err(StoreError::io(&ignore))?;
        }
        Ok(Self { root })
    }

    /// A home that is there already; nothing is made.
    pub fn there(root: &Path) -> Option<Self> {
        let root = root.canonicalize().ok()?;
        root.is_dir().then_some(Self { root })
    }

    pub fn root(&self) -> &Path {
        &self.root
    }

    pub fn runs(&self) -> PathBuf {
        self.root.join("runs")
    }

    pub fn environments(&self) -> PathBuf {
        self.root.join("env")
    }

    pub fn cache(&self) -> PathBuf {
        self.root.join("cache")
    }

    pub fn tools(&self) -> PathBuf {
        self.root.join("tools")
    }

    pub fn snapshots(&self) -> PathBuf {
        self.root.join("snapshots")
    }

    /// Shells that are open, a folder each.
    pub fn shells(&self) -> PathBuf {
        self.root.join("shells")
    }

    /// Adapters of agents that somebody adds, and what agents install.
    pub fn agents(&self) -> PathBuf {
        self.root.join("agents")
    }

    /// Clones of repositories that tasks name by URL.
    pub fn mirrors(&self) -> PathBuf {
        self.root.join("mirrors")
    }

    /// The calibration kept under a key; the key is hexadecimal.
    pub fn calibration(&self, key: &str) -> PathBuf {
        self.root.join("calibration").join(format!("{key}.json"))
    }

    /// A cell of an acceptance matrix.
    pub fn cell(&self, key: &str) -> PathBuf {
        let folder = key.get(..2).unwrap_or(key);
        self.root
            .join("cells")
            .join(folder)
            .join(format!("{key}.json"))
    }

    pub fn run(&self, id: &RunId) -> RunDir {
        RunDir::at(self.runs().join(&id.0))
    }

    /// All runs, oldest first.
    pub fn list(&self) -> Result<Vec<RunDir>, StoreError> {
        let runs = self.runs();
        let mut dirs: Vec<PathBuf> = std::fs::read_dir(&runs)
            .map_err(StoreError::io(&runs))?
            .filter_map(Result::ok)
            .map(|e| e.path())
            .filter(|p| p.join("manifest.json").is_file())
            .collect();
        dirs.sort();
        Ok(dirs.into_iter().map(RunDir::at).collect())
    }

    /// The run whose id is, starts with, or ends with `id`.
    pub fn find(&self, id: &str) -> Result<RunDir, StoreError> {
        let mut found: Vec<RunDir> = Vec::new();
        for run in self.list()? {
            if run.id().0 == id {
                return Ok(run);
            }
            if !id.is_empty() && (run.id().0.starts_with(id) || run.id().0.ends_with(id)) {
                found.push(run);
            }
        }
        match found.len() {
            0 => Err(StoreError::NoRun {
                id: id.into(),
                home: self.root.clone(),
            }),
            1 => Ok(found.remove(0)),
            _ => {
                let matches: Vec<String> = found.iter().map(|r| r.id().0).collect();
                Err(StoreError::Ambiguous {
                    id: id.into(),
                    matches: matches.join(", "),
                })
            }
        }
    }
}
