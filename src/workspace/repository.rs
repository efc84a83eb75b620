//! The repository that an agent works in: one commit, and nothing of what came before or after.

use std::collections::{HashMap, HashSet};
use std::fs::{self, File};
use std::path::Path;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, SystemTime};

use git2::{
    Index, IndexEntry, IndexTime, ObjectType, Oid, Repository, RepositoryInitOptions, Signature,
    Time, Tree,
};

use super::pack::Pack;
use super::tree::{FOLDER, SUBMODULE};
use super::write::{self, Beside, Leaf};
use super::{Snapshot, WorkspaceError};

/// What git must be told where the user is not the owner of the repository's folder.
pub const GIT_ENVIRONMENT: [(&str, &str); 3] = [
    ("GIT_CONFIG_COUNT", "1"),
    ("GIT_CONFIG_KEY_0", "safe.directory"),
    ("GIT_CONFIG_VALUE_0", "*"),
];

/// The commit's date, and that of every file: 2024-01-01. Later than nothing that is written, so
/// that git trusts its index.
const DATE: u32 = 1_704_067_200;

/// Names an agent's commits, and keeps git from work behind its back. The index is compared by
/// time and size alone, as a tree changes owner and mount on its way into a sandbox.
const CONFIG: &str = "[core]
\trepositoryformatversion = 0
\tfilemode = true
\tbare = false
\tlogallrefupdates = true
\tautocrlf = false
\tsymlinks = true
\tignorecase = false
\ttrustctime = false
\tcheckStat = minimal
[user]
\tname = agent
\temail = agent@localhost
[gc]
\tauto = 0
[maintenance]
\tauto = false
";

impl Snapshot {
    /// Writes `tree` to `dest` (new or empty) with a fresh `.git`: a single commit on `main`, of a
    /// fixed author and date, and no object, ref, reflog, remote or alternate beside it. All files
    /// are dated as the commit is. A user who does not own `dest` needs [`GIT_ENVIRONMENT`].
    pub fn agent_repository(&self, tree: Oid, dest: &Path) -> Result<(), WorkspaceError> {
        let repo = self.repo();
        write::new_folder(dest)?;
        let git_dir = dest.join(".git");
        let git = || WorkspaceError::git(&git_dir);
        let io = || WorkspaceError::io(&git_dir);
        let mut options = RepositoryInitOptions::new();
        options
            .external_template(false)
            .no_reinit(true)
            .initial_head("main");
        Repository::init_opts(dest, &options).map_err(git())?;
        fs::write(git_dir.join("config"), CONFIG).map_err(io())?;
        let root = repo.find_tree(tree).map_err(git())?;
        let mut all = Objects::default();
        all.add(&repo, &root, &mut Vec::new()).map_err(git())?;
        let pack = git_dir.join("objects/pack");
        let beside = Committing {
            pack: Pack::new(&pack, all.ids.len() + 1).map_err(io())?,
            sizes: Mutex::default(),
        };
        write::write_tree(&repo, tree, dest, &beside)?;
        let odb = repo.odb().map_err(git())?;
        for id in all.trees {
            let object = odb.read(id).map_err(git())?;
            let put = beside.pack.put(id, ObjectType::Tree, object.data());
            put.map_err(io())?;
        }
        let commit = commit_bytes(&repo, &root).map_err(git())?;
        let id = Oid::hash_object(ObjectType::Commit, &commit).map_err(git())?;
        let put = beside.pack.put(id, ObjectType::Commit, &commit);
        put.and_then(|()| beside.pack.finish()).map_err(io())?;
        let heads = git_dir.join("refs/heads");
        fs::create_dir_all(&heads).map_err(io())?;
        fs::write(heads.join("main"), format!("{id}\n")).map_err(io())?;
        let sizes = beside.sizes.into_inner();
        let sizes = sizes.unwrap_or_else(PoisonError::into_inner);
        index(&git_dir, &all.files, &sizes).map_err(git())
    }
}

/// What a tree is made of.
#[derive(Default)]
struct Objects {
    /// Without submodules, whose commits are not here.
    ids: HashSet<Oid>,
    trees: Vec<Oid>,
    /// Path, mode and id of all files, symlinks and submodules, in the index's order.
    files: Vec<(Vec<u8>, i32, Oid)>,
}

impl Objects {
    fn add(
        &mut self,
        repo: &Repository,
        tree: &Tree<'_>,
        path: &mut Vec<u8>,
    ) -> Result<(), git2::Error> {
        if self.ids.insert(tree.id()) {
            self.trees.push(tree.id());
        }
        for entry in tree {
            let length = path.len();
            if length > 0 {
                path.push(b'/');
            }
            path.extend_from_slice(entry.name_bytes());
            let (mode, id) = (entry.filemode(), entry.id());
            if mode == FOLDER {
                self.add(repo, &repo.find_tree(id)?, path)?;
            } else {
                if mode != SUBMODULE {
                    self.ids.insert(id);
                }
                self.files.push((path.clone(), mode, id));
            }
            path.truncate(length);
        }
        Ok(())
    }
}

/// Packs and dates what is written.
struct Committing {
    pack: Pack,
    sizes: Mutex<HashMap<Oid, u32>>,
}

impl Beside for Committing {
    fn written(&self, leaf: &Leaf, bytes: &[u8], file: Option<&File>) -> std::io::Result<()> {
        let size = u32::try_from(bytes.len()).unwrap_or(u32::MAX);
        self.sizes
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .insert(leaf.id, size);
        match file {
            Some(file) => {
                let date = Duration::from_secs(u64::from(DATE));
                file.set_modified(SystemTime::UNIX_EPOCH + date)?;
            }
            None => date_link(&leaf.path)?,
        }
        self.pack.put(leaf.id, ObjectType::Blob, bytes)
    }
}

fn date_link(path: &Path) -> std::io::Result<()> {
    use nix::sys::stat::{UtimensatFlags, utimensat};
    let time = nix::sys::time::TimeSpec::new(i64::from(DATE), 0);
    let flags = UtimensatFlags::NoFollowSymlink;
    utimensat(nix::fcntl::AT_FDCWD, path, &time, &time, flags)?;
    Ok(())
}

/// The commit that an agent's repository of `tree` starts with.
pub(super) fn first_commit(repo: &Repository, tree: Oid) -> Result<Oid, git2::Error> {
    let commit = commit_bytes(repo, &repo.find_tree(tree)?)?;
    Oid::hash_object(ObjectType::Commit, &commit)
}

fn commit_bytes(repo: &Repository, tree: &Tree<'_>) -> Result<Vec<u8>, git2::Error> {
    let when = Time::new(i64::from(DATE), 0);
    let who = Signature::new("infradev", "infradev@localhost", &when)?;
    let commit = repo.commit_create_buffer(&who, &who, "Base\n", tree, &[])?;
    Ok(commit.to_vec())
}

/// Writes the index, of files that are as they were written.
fn index(
    git_dir: &Path,
    files: &[(Vec<u8>, i32, Oid)],
    sizes: &HashMap<Oid, u32>,
) -> Result<(), git2::Error> {
    let mut index = Index::open(&git_dir.join("index"))?;
    let time = IndexTime::new(DATE.cast_signed(), 0);
    for (path, mode, id) in files {
        index.add(&IndexEntry {
            ctime: time,
            mtime: time,
            dev: 0,
            ino: 0,
            mode: mode.cast_unsigned(),
            uid: 0,
            gid: 0,
            file_size: sizes.get(id).copied().unwrap_or_default(),
            id: *id,
            flags: 0,
            flags_extended: 0,
            path: path.clone(),
        })?;
    }
    index.write()
}
