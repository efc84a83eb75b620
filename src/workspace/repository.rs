//! The repository that an agent works in: one commit, and nothing of what came before or after.

use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::time::{Duration, SystemTime};

use git2::{
    Index, IndexEntry, IndexTime, ObjectType, Oid, Repository, RepositoryInitOptions, Signature,
    Time, Tree,
};

use super::tree::{LINK, SUBMODULE, for_each};
use super::{Snapshot, WorkspaceError, write};

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
        write::write_tree(&repo, tree, dest)?;
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
        let commit = commit_bytes(&repo, &root).map_err(git())?;
        let id = repo
            .odb()
            .and_then(|odb| odb.write(ObjectType::Commit, &commit))
            .map_err(git())?;
        pack(&repo, id, &git_dir).map_err(git())?;
        let heads = git_dir.join("refs/heads");
        fs::create_dir_all(&heads).map_err(io())?;
        fs::write(heads.join("main"), format!("{id}\n")).map_err(io())?;
        index(&repo, &root, dest)
    }
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

/// One pack with the commit and what is below it.
fn pack(repo: &Repository, commit: Oid, git_dir: &Path) -> Result<(), git2::Error> {
    let mut pack = repo.packbuilder()?;
    pack.insert_commit(commit)?;
    let to = git_dir.join("objects/pack");
    pack.write(&to, 0o444)
}

/// The index of the tree, with the files' dates, which are set here.
fn index(repo: &Repository, root: &Tree<'_>, dest: &Path) -> Result<(), WorkspaceError> {
    let path = dest.join(".git/index");
    let mut index = Index::open(&path).map_err(WorkspaceError::git(&path))?;
    let date = SystemTime::UNIX_EPOCH + Duration::from_secs(u64::from(DATE));
    let mut fault = None;
    for_each(repo, root, &mut Vec::new(), &mut |name, mode, id| {
        let full = dest.join(std::ffi::OsStr::from_bytes(name));
        let mut size = 0;
        if mode != SUBMODULE && fault.is_none() {
            match dated(&full, mode, date) {
                Ok(bytes) => size = bytes,
                Err(e) => fault = Some(WorkspaceError::io(&full)(e)),
            }
        }
        let time = IndexTime::new(DATE.cast_signed(), 0);
        index.add(&IndexEntry {
            ctime: time,
            mtime: time,
            dev: 0,
            ino: 0,
            mode: mode.cast_unsigned(),
            uid: 0,
            gid: 0,
            file_size: size,
            id,
            flags: 0,
            flags_extended: 0,
            path: name.to_vec(),
        })
    })
    .and_then(|()| index.write())
    .map_err(WorkspaceError::git(&path))?;
    fault.map_or(Ok(()), Err)
}

/// Sets a file's date; returns its size.
fn dated(path: &Path, mode: i32, date: SystemTime) -> std::io::Result<u32> {
    if mode == LINK {
        use nix::sys::stat::UtimensatFlags;
        use nix::sys::time::TimeSpec;
        let time = TimeSpec::new(i64::from(DATE), 0);
        nix::sys::stat::utimensat(
            nix::fcntl::AT_FDCWD,
            path,
            &time,
            &time,
            UtimensatFlags::NoFollowSymlink,
        )?;
    } else {
        fs::File::open(path)?.set_modified(date)?;
    }
    let meta = fs::symlink_metadata(path)?;
    Ok(u32::try_from(meta.len()).unwrap_or(u32::MAX))
}
