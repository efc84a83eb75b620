//! Finding and reading adapters.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use super::check::check;
use super::shipped;
use crate::catalog::{Problem, Severity, parse_toml, read_text};
use crate::domain::AgentSpec;

#[derive(Debug, thiserror::Error)]
pub enum AdapterError {
    #[error(
        "no agent {name:?}; known: {known}; another is made by {folder}/{name}.toml",
        folder = .folder.display()
    )]
    Unknown {
        name: String,
        known: String,
        folder: PathBuf,
    },
    #[error("agent {name} cannot be used:\n{}", .problems.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"))]
    Broken {
        name: String,
        problems: Vec<Problem>,
    },
    #[error("{path}: {source}", path = .path.display())]
    Io {
        path: PathBuf,
        source: std::io::Error,
    },
}

/// An adapter that can be used.
#[derive(Clone, Debug, PartialEq)]
pub struct Adapter {
    pub spec: AgentSpec,
    /// The file as it was read.
    pub text: String,
    /// Where it was read; of a shipped one its path in the sources.
    pub file: PathBuf,
    pub shipped: bool,
}

impl Adapter {
    /// The locked requirements that stand beside the adapter; `None`: it installs none.
    pub fn requirements(&self) -> Result<Option<String>, AdapterError> {
        let install = self.spec.install.as_ref();
        let Some(name) = install.and_then(|i| i.requirements.as_deref()) else {
            return Ok(None);
        };
        if self.shipped {
            return Ok(shipped::text(name).map(str::to_owned));
        }
        let path = self.file.with_file_name(name);
        let text = std::fs::read_to_string(&path);
        text.map(Some)
            .map_err(|source| AdapterError::Io { path, source })
    }
}

/// A name with its adapter, or with what is wrong with it.
#[derive(Debug)]
pub struct Listed {
    pub name: String,
    pub shipped: bool,
    /// `None`: it cannot be used.
    pub adapter: Option<Adapter>,
    /// Warnings too.
    pub problems: Vec<Problem>,
}

/// The adapters that can be chosen.
#[derive(Clone, Debug)]
pub struct Adapters {
    folder: PathBuf,
}

impl Adapters {
    /// `folder`: the user's, `<home>/agents`; it need not be there.
    pub fn new(folder: PathBuf) -> Self {
        Self { folder }
    }

    /// All of them, by name.
    pub fn list(&self) -> Result<Vec<Listed>, AdapterError> {
        let names = self.names()?;
        Ok(names.iter().filter_map(|name| self.load(name)).collect())
    }

    /// One that can be used; all its problems in the error where it cannot.
    pub fn find(&self, name: &str) -> Result<Adapter, AdapterError> {
        // a name becomes part of a path
        let plain = !name.contains('/') && !name.starts_with('.');
        match self.load(name).filter(|_| plain) {
            Some(Listed {
                adapter: Some(adapter),
                ..
            }) => Ok(adapter),
            Some(listed) => Err(AdapterError::Broken {
                name: listed.name,
                problems: listed.problems,
            }),
            None => Err(AdapterError::Unknown {
                name: name.into(),
                known: Vec::from_iter(self.names()?).join(", "),
                folder: self.folder.clone(),
            }),
        }
    }

    fn names(&self) -> Result<BTreeSet<String>, AdapterError> {
        let mut names: BTreeSet<String> = shipped::FILES
            .iter()
            .filter_map(|(file, _)| file.strip_suffix(".toml"))
            .map(str::to_owned)
            .collect();
        let entries = match std::fs::read_dir(&self.folder) {
            Ok(entries) => entries,
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(names),
            Err(source) => {
                let path = self.folder.clone();
                return Err(AdapterError::Io { path, source });
            }
        };
        for entry in entries.filter_map(Result::ok) {
            let file = entry.file_name();
            let name = file.to_str().and_then(|f| f.strip_suffix(".toml"));
            if let Some(name) = name.filter(|n| !n.is_empty() && !n.starts_with('.')) {
                names.insert(name.to_owned());
            }
        }
        Ok(names)
    }

    /// `None`: there is none of that name.
    fn load(&self, name: &str) -> Option<Listed> {
        let mut problems = Vec::new();
        let file_name = format!("{name}.toml");
        let own = self.folder.join(&file_name);
        let (file, text, shipped) = if own.symlink_metadata().is_ok() {
            let text = read_text(&own, &mut problems);
            (own, text, false)
        } else {
            let text = shipped::text(&file_name)?.to_owned();
            (
                Path::new(shipped::FOLDER).join(&file_name),
                Some(text),
                true,
            )
        };
        let adapter = text.and_then(|text| {
            let spec = parse_toml::<AgentSpec>(&file, &text, &mut problems)?;
            let adapter = Adapter {
                spec,
                text,
                file,
                shipped,
            };
            check(&adapter, name, &mut problems);
            let broken = problems.iter().any(|p| p.severity == Severity::Error);
            (!broken).then_some(adapter)
        });
        problems.sort_by(|a, b| b.severity.cmp(&a.severity).then(a.line.cmp(&b.line)));
        Some(Listed {
            name: name.to_owned(),
            shipped,
            adapter,
            problems,
        })
    }
}
