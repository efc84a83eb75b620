//! Bringing trees in: from a folder, or from a commit of another repository.

use std::collections::BTreeMap;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use git2::{ErrorClass, ErrorCode, Odb, Oid, Repository};

use super::WorkspaceError;
use super::tree::{Edit, EditError, FOLDER, SUBMODULE, edit_tree, find};
use super::walk::{Kind, content, is_left_out, list};

/// What to do about sockets, pipes and devices.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Odd {
    /// Base holds none.
    Refuse,
    /// An agent's processes leave some behind; no patch can hold them.
    Skip,
}

/// Writes the tree of a folder into `repo`; `None` for a folder without files.
pub(super) fn folder(
    repo: &Repository,
    dir: &Path,
    odd: Odd,
) -> Result<Option<Oid>, WorkspaceError> {
    let git = || WorkspaceError::git(repo.path());
    let mut builder = repo.treebuilder(None).map_err(git())?;
    for (name, kind) in list(dir)? {
        if is_left_out(&name) {
            continue;
        }
        let path = dir.join(&name);
        let Some(kind) = kind else {
            if odd == Odd::Skip {
                continue;
            }
            return Err(WorkspaceError::OddFile { path });
        };
        let id = if kind == Kind::Folder {
            folder(repo, &path, odd)?
        } else {
            let bytes = content(&path, kind)?;
            Some(repo.blob(&bytes).map_err(git())?)
        };
        if let Some(id) = id {
            builder
                .insert(name.as_bytes(), id, kind.mode())
                .map_err(WorkspaceError::git(&path))?;
        }
    }
    if builder.is_empty() {
        return Ok(None);
    }
    builder.write().map(Some).map_err(git())
}

/// A commit somewhere else.
pub(super) struct Source {
    repo: Repository,
    place: PathBuf,
    commit: String,
}

impl Source {
    pub(super) fn open(place: &Path, commit: &str) -> Result<Self, WorkspaceError> {
        check_full(commit)?;
        let repo = open_any(place)?;
        Ok(Self {
            repo,
            place: place.to_path_buf(),
            commit: commit.to_ascii_lowercase(),
        })
    }

    /// Where its objects are, for looking up the preimages of a patch.
    pub(super) fn objects(&self) -> PathBuf {
        self.repo.commondir().join("objects")
    }

    fn missing(&self, what: &'static str, id: &str) -> WorkspaceError {
        let remote = self.repo.find_remote("origin").ok();
        let url = remote
            .as_ref()
            .and_then(|r| r.url().ok().map(str::to_owned));
        WorkspaceError::MissingObject {
            repository: self.place.clone(),
            what,
            id: id.to_owned(),
            from: url.unwrap_or_else(|| "<url>".into()),
            commit: self.commit.clone(),
        }
    }

    fn fault(&self, id: Oid) -> impl FnOnce(git2::Error) -> WorkspaceError {
        move |source| {
            if source.code() == ErrorCode::NotFound && source.class() != ErrorClass::Os {
                self.missing("object", &id.to_string())
            } else {
                WorkspaceError::git(&self.place)(source)
            }
        }
    }

    /// Copies the commit's tree into `to`; only the paths of `only`, where there are any.
    pub(super) fn copy(&self, to: &Repository, only: &[String]) -> Result<Oid, WorkspaceError> {
        let id = Oid::from_str(&self.commit).map_err(WorkspaceError::git(&self.place))?;
        let tree = match self.repo.find_commit(id) {
            Ok(commit) => commit.tree_id(),
            Err(e) if e.code() == ErrorCode::NotFound => {
                return Err(self.missing("commit", &self.commit));
            }
            Err(e) => return Err(WorkspaceError::git(&self.place)(e)),
        };
        let from = self.repo.odb().map_err(WorkspaceError::git(&self.place))?;
        let into = to.odb().map_err(WorkspaceError::git(to.path()))?;
        if only.is_empty() {
            self.copy_tree(&from, &into, tree)?;
            return Ok(tree);
        }
        let root = self.repo.find_tree(tree).map_err(self.fault(tree))?;
        let mut edits = BTreeMap::new();
        for path in only {
            let path = path.trim_matches('/');
            let path = path.strip_prefix("./").unwrap_or(path);
            let found = find(&root, path.as_bytes(), &self.repo)
                .map_err(WorkspaceError::git(&self.place))?;
            let Some((mode, id)) = found else { continue };
            if mode == FOLDER {
                self.copy_tree(&from, &into, id)?;
            } else {
                self.copy_object(&from, &into, id)?;
            }
            edits.insert(path.as_bytes().to_vec(), Edit::Put { mode, id });
        }
        if edits.is_empty() {
            return Err(WorkspaceError::NotInCommit {
                repository: self.place.clone(),
                commit: self.commit.clone(),
                path: only.join(", "),
            });
        }
        edit_tree(to, None, &edits).map_err(|e| match e {
            EditError::Git(source) => WorkspaceError::git(to.path())(source),
            EditError::Conflict { path, .. } => WorkspaceError::BadFolder {
                path: String::from_utf8_lossy(&path).into_owned(),
            },
        })
    }

    fn copy_tree(&self, from: &Odb<'_>, into: &Odb<'_>, id: Oid) -> Result<(), WorkspaceError> {
        if into.exists(id) {
            return Ok(());
        }
        let tree = self.repo.find_tree(id).map_err(self.fault(id))?;
        for entry in &tree {
            match entry.filemode() {
                FOLDER => self.copy_tree(from, into, entry.id())?,
                // the other repository's commit: nothing of it is here
                SUBMODULE => {}
                _ => self.copy_object(from, into, entry.id())?,
            }
        }
        // after what it holds: a tree that is there is there with all below it
        self.copy_object(from, into, id)
    }

    fn copy_object(&self, from: &Odb<'_>, into: &Odb<'_>, id: Oid) -> Result<(), WorkspaceError> {
        if into.exists(id) {
            return Ok(());
        }
        let object = from.read(id).map_err(self.fault(id))?;
        into.write(object.kind(), object.data())
            .map_err(WorkspaceError::git(&self.place))?;
        Ok(())
    }
}

fn check_full(commit: &str) -> Result<(), WorkspaceError> {
    if commit.len() == 40 && commit.bytes().all(|b| b.is_ascii_hexdigit()) {
        return Ok(());
    }
    Err(WorkspaceError::NotFull {
        commit: commit.to_owned(),
    })
}

fn open_any(place: &Path) -> Result<Repository, WorkspaceError> {
    let opened = match Repository::open(place) {
        // another user's clone: we only read objects, and run none of its hooks or filters
        Err(e) if e.code() == ErrorCode::Owner => {
            let inner = place.join(".git");
            Repository::open_bare(if inner.is_dir() { &inner } else { place })
        }
        opened => opened,
    };
    opened.map_err(|e| {
        if e.code() == ErrorCode::NotFound {
            WorkspaceError::NoRepository {
                repository: place.to_path_buf(),
            }
        } else {
            WorkspaceError::git(place)(e)
        }
    })
}
