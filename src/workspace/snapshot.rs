//! The base snapshot: git objects in a bare repository of the home, keyed by content.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use git2::{ObjectType, Oid, Repository, RepositoryInitOptions};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::hash::hash_tree;
use super::import::{Odd, commit_tree, folder};
use super::lock::lock;
use super::origin::Origin;
use super::tree;
use super::{WorkspaceError, write};
use crate::domain::hex;

const RECORD: &str = "snapshot.json";

/// `<store>/<key>/snapshot.json`: written last, so that a snapshot with it is whole.
#[derive(Debug, Serialize, Deserialize)]
struct Record {
    schema: u32,
    tree: String,
    /// The repository's objects that base came from.
    #[serde(default)]
    objects: Option<String>,
}

/// Base, and the trees that come from it. Objects that are made here (a submission's) stay in
/// memory, so that nothing of a submission enters the shared store. Shared between threads; one
/// operation at a time.
pub struct Snapshot {
    repo: Mutex<Repository>,
    dir: PathBuf,
    key: String,
    tree: Oid,
}

impl Snapshot {
    /// Base from a folder. `store`: `<home>/snapshots`. The key is the folder's content hash: a
    /// second use reads and hashes the folder, and imports nothing.
    pub fn from_dir(dir: &Path, store: &Path) -> Result<Self, WorkspaceError> {
        let key = hash_tree(dir)?;
        Self::cached(store, &key, |repo| {
            let id = match folder(repo, dir, Odd::Refuse)? {
                Some(id) => id,
                None => empty_tree(repo)?,
            };
            Ok((id, None))
        })
    }

    /// Base from a commit of a repository on this machine; of `only` these folders and files,
    /// where there are any. A second use does not even look for the repository.
    pub fn from_git(
        origin: &Origin,
        commit: &str,
        only: &[String],
        store: &Path,
    ) -> Result<Self, WorkspaceError> {
        let key = git_key(commit, only);
        Self::cached(store, &key, |repo| {
            let (id, objects) = commit_tree(origin, commit, only, repo, repo)?;
            Ok((id, Some(objects)))
        })
    }

    fn cached(
        store: &Path,
        key: &str,
        import: impl FnOnce(&Repository) -> Result<(Oid, Option<PathBuf>), WorkspaceError>,
    ) -> Result<Self, WorkspaceError> {
        let dir = store.join(key);
        if !dir.join(RECORD).is_file() {
            fs::create_dir_all(store).map_err(WorkspaceError::io(store))?;
            let _held = lock(&store.join(format!("{key}.lock")))?;
            // another worker may have been faster
            if !dir.join(RECORD).is_file() {
                let part = store.join(format!("{key}.part"));
                fresh(&part)?;
                let repo = init(&part)?;
                let (id, objects) = import(&repo)?;
                let record = Record {
                    schema: 1,
                    tree: id.to_string(),
                    objects: objects.and_then(|o| o.to_str().map(str::to_owned)),
                };
                drop(repo);
                let text =
                    serde_json::to_vec(&record).map_err(|e| WorkspaceError::io(&part)(e.into()))?;
                fs::write(part.join(RECORD), text).map_err(WorkspaceError::io(&part))?;
                fresh(&dir)?;
                fs::remove_dir(&dir).map_err(WorkspaceError::io(&dir))?;
                fs::rename(&part, &dir).map_err(WorkspaceError::io(&dir))?;
            }
        }
        Self::open(dir, key)
    }

    fn open(dir: PathBuf, key: &str) -> Result<Self, WorkspaceError> {
        let path = dir.join(RECORD);
        let text = fs::read(&path).map_err(WorkspaceError::io(&path))?;
        let record: Record =
            serde_json::from_slice(&text).map_err(|e| WorkspaceError::io(&path)(e.into()))?;
        let git = || WorkspaceError::git(&dir);
        let repo = Repository::open_bare(&dir).map_err(git())?;
        let tree = Oid::from_str(&record.tree).map_err(git())?;
        {
            let odb = repo.odb().map_err(git())?;
            // above the stores on disk (1 and 2): all that is written stays in memory
            odb.add_new_mempack_backend(1000).map_err(git())?;
            // preimages of patches that were made against another version; reading only
            if let Some(objects) = record.objects.filter(|o| Path::new(o).is_dir()) {
                odb.add_disk_alternate(&objects).map_err(git())?;
            }
        }
        Ok(Self {
            repo: Mutex::new(repo),
            dir,
            key: key.to_owned(),
            tree,
        })
    }

    pub(super) fn repo(&self) -> MutexGuard<'_, Repository> {
        // libgit2 keeps its own state consistent; a panic between two calls harms nothing
        self.repo.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn dir(&self) -> &Path {
        &self.dir
    }

    /// What names base: its content, or its commit.
    pub fn key(&self) -> &str {
        &self.key
    }

    /// Base.
    pub fn tree(&self) -> Oid {
        self.tree
    }

    /// The tree of a folder as it is now (a work tree, an official suite): files that git would
    /// ignore too; sockets and pipes are left out. Kept in memory.
    pub fn import_dir(&self, dir: &Path) -> Result<Oid, WorkspaceError> {
        let repo = self.repo();
        match folder(&repo, dir, Odd::Skip)? {
            Some(id) => Ok(id),
            None => empty_tree(&repo),
        }
    }

    /// The tree of another commit of base's repository (gold). Kept in memory.
    pub fn import_git(
        &self,
        origin: &Origin,
        commit: &str,
        only: &[String],
    ) -> Result<Oid, WorkspaceError> {
        let own = Repository::open_bare(&self.dir).map_err(WorkspaceError::git(&self.dir))?;
        commit_tree(origin, commit, only, &own, &self.repo()).map(|found| found.0)
    }

    /// Writes a tree out; `dest` must be new or empty.
    pub fn write_tree(&self, tree: Oid, dest: &Path) -> Result<(), WorkspaceError> {
        write::new_folder(dest)?;
        write::write_tree(&self.repo(), tree, dest, &write::Plain)
    }

    /// The folder `path` of a tree.
    pub fn subtree(&self, tree: Oid, path: &str) -> Result<Option<Oid>, WorkspaceError> {
        let found = self.entry(tree, path.trim_matches('/').as_bytes())?;
        Ok(found.filter(|(mode, _)| *mode == tree::FOLDER).map(|f| f.1))
    }

    /// The bytes of a file (of a symlink: its target) in a tree.
    pub fn file(&self, tree: Oid, path: &[u8]) -> Result<Option<Vec<u8>>, WorkspaceError> {
        let Some((mode, id)) = self.entry(tree, path)? else {
            return Ok(None);
        };
        if matches!(mode, tree::FOLDER | tree::SUBMODULE) {
            return Ok(None);
        }
        let repo = self.repo();
        let odb = repo.odb().map_err(WorkspaceError::git(&self.dir))?;
        let object = odb.read(id).map_err(WorkspaceError::git(&self.dir))?;
        Ok((object.kind() == ObjectType::Blob).then(|| object.data().to_vec()))
    }

    /// Paths and modes of all files and symlinks of a tree.
    pub fn files(&self, tree: Oid) -> Result<Vec<(Vec<u8>, u32)>, WorkspaceError> {
        let repo = self.repo();
        let root = repo
            .find_tree(tree)
            .map_err(WorkspaceError::git(&self.dir))?;
        let mut files = Vec::new();
        tree::for_each(&repo, &root, &mut Vec::new(), &mut |path, mode, _| {
            files.push((path.to_vec(), mode as u32));
            Ok::<(), git2::Error>(())
        })
        .map_err(WorkspaceError::git(&self.dir))?;
        Ok(files)
    }

    fn entry(&self, tree: Oid, path: &[u8]) -> Result<Option<(i32, Oid)>, WorkspaceError> {
        let repo = self.repo();
        repo.find_tree(tree)
            .and_then(|root| tree::find(&root, path, &repo))
            .map_err(WorkspaceError::git(&self.dir))
    }
}

fn git_key(commit: &str, only: &[String]) -> String {
    let mut all = Sha256::new();
    all.update(b"git\0");
    all.update(commit.to_ascii_lowercase().as_bytes());
    let mut only: Vec<&str> = only.iter().map(|o| o.trim_matches('/')).collect();
    only.sort_unstable();
    only.dedup();
    for path in only {
        all.update(b"\0");
        all.update(path.as_bytes());
    }
    hex(&all.finalize())
}

fn empty_tree(repo: &Repository) -> Result<Oid, WorkspaceError> {
    repo.treebuilder(None)
        .and_then(|b| b.write())
        .map_err(WorkspaceError::git(repo.path()))
}

/// An empty folder, whatever a killed importer left there.
fn fresh(dir: &Path) -> Result<(), WorkspaceError> {
    match fs::remove_dir_all(dir) {
        Ok(()) => {}
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => {}
        Err(e) => return Err(WorkspaceError::io(dir)(e)),
    }
    fs::create_dir_all(dir).map_err(WorkspaceError::io(dir))
}

fn init(dir: &Path) -> Result<Repository, WorkspaceError> {
    let mut options = RepositoryInitOptions::new();
    options.bare(true).external_template(false).no_reinit(true);
    Repository::init_opts(dir, &options).map_err(WorkspaceError::git(dir))
}
