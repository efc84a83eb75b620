//! Bringing trees in: from a folder, or from a commit of another repository.

use std::collections::BTreeMap;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use git2::{ErrorClass, ErrorCode, Odb, Oid, Repository};

use super::WorkspaceError;
use super::origin::{Lacks, Origin};
use super::tree::{Edit, EditError, FOLDER, SUBMODULE, edit_tree, find};
use super::walk::{Kind, content, is_left_out, list};
use crate::diff::patch::show;
use crate::domain::Address;

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

/// Brings a commit's tree into `to`, from the first place of `origin` that holds all of it; of
/// `only` these paths, where there are any. What `own` has is whole, and not copied. Returns the
/// tree, and where that place's objects are (for looking up the preimages of a patch).
pub(super) fn commit_tree(
    origin: &Origin,
    commit: &str,
    only: &[String],
    own: &Repository,
    to: &Repository,
) -> Result<(Oid, PathBuf), WorkspaceError> {
    check_full(commit)?;
    let commit = commit.to_ascii_lowercase();
    let mut first = None;
    for place in origin.places() {
        let brought = Source::open(origin, &place, &commit)
            .and_then(|source| Ok((source.copy(own, to, only)?, source.objects())));
        match brought {
            Ok(found) => return Ok(found),
            // another mirror may have what this one lacks
            Err(e) => first = first.or(Some(e)),
        }
    }
    Err(first.unwrap_or_else(|| origin.no_mirror(&commit).into()))
}

/// A commit somewhere else.
struct Source<'a> {
    repo: Repository,
    /// The folder with `objects` in it.
    git_dir: PathBuf,
    place: &'a Path,
    origin: &'a Origin,
    commit: &'a str,
}

impl<'a> Source<'a> {
    fn open(origin: &'a Origin, place: &'a Path, commit: &'a str) -> Result<Self, WorkspaceError> {
        let (repo, git_dir) = open_any(place)?;
        Ok(Self {
            repo,
            git_dir,
            place,
            origin,
            commit,
        })
    }

    fn objects(&self) -> PathBuf {
        self.git_dir.join("objects")
    }

    fn missing(&self, object: Option<&str>) -> WorkspaceError {
        let remote = self.repo.find_remote("origin").ok();
        // printed, and meant to be pasted: an address that holds a token or more than an address
        // is nothing to show
        let url = remote
            .as_ref()
            .and_then(|r| r.url().ok().map(str::to_owned))
            .filter(|url| matches!(Address::parse(url), Some(Ok(_))));
        let lacks = Lacks {
            commit: self.commit,
            object,
            shallow: self.git_dir.join("shallow").exists() || self.repo.is_empty().unwrap_or(false),
        };
        self.origin
            .lacking(self.place, url.as_deref().unwrap_or("<url>"), &lacks)
            .into()
    }

    /// An object that cannot be had: `what` is "tree" or "file".
    fn fault(
        &self,
        what: &'static str,
        id: Oid,
        path: &[u8],
    ) -> impl FnOnce(git2::Error) -> WorkspaceError {
        move |source| {
            if source.code() == ErrorCode::NotFound && source.class() != ErrorClass::Os {
                self.missing(Some(&format!("{what} {} (object {id})", show(path))))
            } else {
                WorkspaceError::git(self.place)(source)
            }
        }
    }

    /// Copies the commit's tree into `to`; only the paths of `only`, where there are any.
    fn copy(
        &self,
        own: &Repository,
        to: &Repository,
        only: &[String],
    ) -> Result<Oid, WorkspaceError> {
        let id = Oid::from_str(self.commit).map_err(WorkspaceError::git(self.place))?;
        let tree = match self.repo.find_commit(id) {
            Ok(commit) => commit.tree_id(),
            Err(e) if e.code() == ErrorCode::NotFound => return Err(self.missing(None)),
            Err(e) => return Err(WorkspaceError::git(self.place)(e)),
        };
        let from = self.repo.odb().map_err(WorkspaceError::git(self.place))?;
        let into = to.odb().map_err(WorkspaceError::git(to.path()))?;
        let own = own.odb().map_err(WorkspaceError::git(own.path()))?;
        let copying = Copying {
            source: self,
            own: &own,
            from: &from,
            into: &into,
        };
        if only.is_empty() {
            copying.tree(tree, &mut Vec::new())?;
            return Ok(tree);
        }
        let root = self
            .repo
            .find_tree(tree)
            .map_err(self.fault("tree", tree, b""))?;
        let mut edits = BTreeMap::new();
        for path in only {
            let path = path.trim_matches('/');
            let path = path.strip_prefix("./").unwrap_or(path).as_bytes();
            let found = find(&root, path, &self.repo).map_err(self.fault("tree", tree, path))?;
            let Some((mode, id)) = found else { continue };
            let mut path = path.to_vec();
            if mode == FOLDER {
                copying.tree(id, &mut path)?;
            } else {
                copying.object(id, "file", &path)?;
            }
            edits.insert(path, Edit::Put { mode, id });
        }
        if edits.is_empty() {
            return Err(WorkspaceError::NotInCommit {
                repository: self.place.to_path_buf(),
                commit: self.commit.to_owned(),
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
}

struct Copying<'a> {
    source: &'a Source<'a>,
    /// Not `into`, which may look into the source as well.
    own: &'a Odb<'a>,
    from: &'a Odb<'a>,
    into: &'a Odb<'a>,
}

impl Copying<'_> {
    /// `path`: where the tree stands in the commit, for messages.
    fn tree(&self, id: Oid, path: &mut Vec<u8>) -> Result<(), WorkspaceError> {
        if self.own.exists(id) {
            return Ok(());
        }
        let tree = self.source.repo.find_tree(id);
        let tree = tree.map_err(self.source.fault("tree", id, path))?;
        for entry in &tree {
            let length = path.len();
            if length > 0 {
                path.push(b'/');
            }
            path.extend_from_slice(entry.name_bytes());
            match entry.filemode() {
                FOLDER => self.tree(entry.id(), path)?,
                // the other repository's commit: nothing of it is here
                SUBMODULE => {}
                _ => self.object(entry.id(), "file", path)?,
            }
            path.truncate(length);
        }
        // after what it holds: a tree that is there is there with all below it
        self.object(id, "tree", path)
    }

    fn object(&self, id: Oid, what: &'static str, path: &[u8]) -> Result<(), WorkspaceError> {
        if self.own.exists(id) {
            return Ok(());
        }
        let object = self
            .from
            .read(id)
            .map_err(self.source.fault(what, id, path))?;
        self.into
            .write(object.kind(), object.data())
            .map_err(WorkspaceError::git(self.source.place))?;
        Ok(())
    }
}

pub(super) fn check_full(commit: &str) -> Result<(), WorkspaceError> {
    if commit.len() == 40 && commit.bytes().all(|b| b.is_ascii_hexdigit()) {
        return Ok(());
    }
    Err(WorkspaceError::NotFull {
        commit: commit.to_owned(),
    })
}

/// The repository at `place`, and its folder with the objects.
pub(super) fn open_any(place: &Path) -> Result<(Repository, PathBuf), WorkspaceError> {
    let inner = place.join(".git");
    let inner = if inner.is_dir() { &*inner } else { place };
    let opened = match Repository::open(place) {
        // another user's clone: we only read objects, and run none of its hooks or filters
        Err(e) if e.code() == ErrorCode::Owner => Repository::open_bare(inner),
        opened => opened,
    };
    match opened {
        Ok(repo) => {
            let git_dir = repo.commondir().to_path_buf();
            Ok((repo, git_dir))
        }
        // libgit2 does not open a partial clone, but reads its objects
        Err(e) if e.message().contains("partialclone") => {
            let objects = inner.join("objects");
            let bare = || {
                let odb = Odb::new()?;
                odb.add_disk_alternate(&objects.to_string_lossy())?;
                Repository::from_odb(odb)
            };
            let repo = bare().map_err(WorkspaceError::git(place))?;
            Ok((repo, inner.to_path_buf()))
        }
        Err(e) if e.code() == ErrorCode::NotFound => Err(WorkspaceError::NoRepository {
            repository: place.to_path_buf(),
        }),
        Err(e) => Err(WorkspaceError::git(place)(e)),
    }
}
