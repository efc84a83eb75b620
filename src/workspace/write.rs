//! Writing a tree out as plain files.

use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

use git2::{ErrorCode, Odb, OdbObject, Oid, Repository};

use super::WorkspaceError;
use super::tree::{FOLDER, LINK, SUBMODULE};

/// Files that a thread takes at a time: few enough that none waits for the last, and mostly of one
/// folder, which two threads cannot write into at once.
const SHARE: usize = 32;
/// A tree of 2,800 files costs 0.7 s of one core: more threads than this could save little.
const MOST_THREADS: usize = 8;

/// What is done with a file or a symlink of a tree once it is written.
pub(super) trait Beside: Sync {
    /// `file`: open for writing; `None` for a symlink.
    fn written(&self, leaf: &Leaf, bytes: &[u8], file: Option<&File>) -> std::io::Result<()>;
}

/// Nothing.
pub(super) struct Plain;

impl Beside for Plain {
    fn written(&self, _: &Leaf, _: &[u8], _: Option<&File>) -> std::io::Result<()> {
        Ok(())
    }
}

/// Makes a folder that must be new or empty.
pub(super) fn new_folder(dest: &Path) -> Result<(), WorkspaceError> {
    fs::create_dir_all(dest).map_err(WorkspaceError::io(dest))?;
    let mut there = fs::read_dir(dest).map_err(WorkspaceError::io(dest))?;
    if there.next().is_some() {
        return Err(WorkspaceError::NotEmpty {
            path: dest.to_path_buf(),
        });
    }
    Ok(())
}

/// Every entry is created new (`O_EXCL`), so nothing in `dest` is ever followed or overwritten.
/// Folders come first, then files and symlinks by several threads: no way leads through a symlink
/// of the tree.
pub(super) fn write_tree(
    repo: &Repository,
    tree: Oid,
    dest: &Path,
    beside: &impl Beside,
) -> Result<(), WorkspaceError> {
    let mut leaves = Vec::new();
    folders(repo, tree, dest, &mut leaves)?;
    let odb = repo.odb().map_err(WorkspaceError::git(repo.path()))?;
    let shares: Vec<&[Leaf]> = leaves.chunks(SHARE).collect();
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let threads = cores.min(MOST_THREADS).min(shares.len());
    if threads < 2 {
        return leaves.iter().try_for_each(|leaf| {
            let blob = odb
                .read(leaf.id)
                .map_err(WorkspaceError::git(repo.path()))?;
            leaf.write(&blob, beside)
        });
    }
    let next = AtomicUsize::new(0);
    let place = repo.path();
    let work = || {
        // a handle of its own: reading through one, threads would wait for each other
        let own = Repository::open_bare(place).map_err(WorkspaceError::git(place))?;
        let own = own.odb().map_err(WorkspaceError::git(place))?;
        while let Some(share) = shares.get(next.fetch_add(1, Ordering::Relaxed)) {
            for leaf in *share {
                if let Err(e) = read(&own, &odb, leaf.id)
                    .map_err(WorkspaceError::git(place))
                    .and_then(|blob| leaf.write(&blob, beside))
                {
                    // the others have nothing more to do
                    next.store(shares.len(), Ordering::Relaxed);
                    return Err(e);
                }
            }
        }
        Ok(())
    };
    std::thread::scope(|scope| {
        let others: Vec<_> = (1..threads).map(|_| scope.spawn(work)).collect();
        let mine = work();
        others.into_iter().fold(mine, |so_far, other| {
            let its = other
                .join()
                .unwrap_or_else(|panic| std::panic::resume_unwind(panic));
            so_far.and(its)
        })
    })
}

/// What a submission made is in the memory behind the one handle, all else is on disk.
fn read<'o>(own: &'o Odb<'_>, shared: &'o Odb<'_>, id: Oid) -> Result<OdbObject<'o>, git2::Error> {
    match own.read(id) {
        Err(e) if e.code() == ErrorCode::NotFound => shared.read(id),
        read => read,
    }
}

/// A file or a symlink that is to be made.
pub(super) struct Leaf {
    pub(super) path: PathBuf,
    pub(super) mode: i32,
    pub(super) id: Oid,
}

impl Leaf {
    fn write(&self, blob: &OdbObject<'_>, beside: &impl Beside) -> Result<(), WorkspaceError> {
        let bytes = blob.data();
        self.make(bytes)
            .and_then(|file| beside.written(self, bytes, file.as_ref()))
            .map_err(WorkspaceError::io(&self.path))
    }

    fn make(&self, bytes: &[u8]) -> std::io::Result<Option<File>> {
        if self.mode == LINK {
            let target = std::ffi::OsStr::from_bytes(bytes);
            std::os::unix::fs::symlink(target, &self.path)?;
            return Ok(None);
        }
        let mode = if self.mode & 0o111 == 0 { 0o644 } else { 0o755 };
        let mut file = OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(mode)
            .open(&self.path)?;
        file.write_all(bytes)?;
        Ok(Some(file))
    }
}

/// Makes the folders, and lists what goes into them.
fn folders(
    repo: &Repository,
    tree: Oid,
    dest: &Path,
    leaves: &mut Vec<Leaf>,
) -> Result<(), WorkspaceError> {
    let tree = repo
        .find_tree(tree)
        .map_err(WorkspaceError::git(repo.path()))?;
    for entry in &tree {
        let name = entry.name_bytes();
        check_name(name)?;
        let path = dest.join(std::ffi::OsStr::from_bytes(name));
        match entry.filemode() {
            FOLDER => {
                fs::create_dir(&path).map_err(WorkspaceError::io(&path))?;
                folders(repo, entry.id(), &path, leaves)?;
            }
            // an empty folder, as a clone without its submodules has it
            SUBMODULE => fs::create_dir(&path).map_err(WorkspaceError::io(&path))?,
            mode => leaves.push(Leaf {
                path,
                mode,
                id: entry.id(),
            }),
        }
    }
    Ok(())
}

/// A tree made elsewhere may hold names that no checkout should follow.
fn check_name(name: &[u8]) -> Result<(), WorkspaceError> {
    let bad = name.is_empty()
        || name == b"."
        || name == b".."
        || name.contains(&b'/')
        || name.eq_ignore_ascii_case(b".git");
    if bad {
        return Err(WorkspaceError::BadName {
            name: crate::diff::patch::show(name),
        });
    }
    Ok(())
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use git2::ObjectType;

    use super::*;

    /// More files than one thread takes, in folders of some.
    const MANY: usize = 10 * SHARE;

    fn text(n: usize) -> String {
        format!("file {n}\n").repeat(n + 1)
    }

    fn tree(repo: &Repository, from: usize, to: usize) -> Oid {
        let mut root = repo.treebuilder(None).unwrap();
        for folder in 0..10 {
            let mut inner = repo.treebuilder(None).unwrap();
            for n in (from..to).filter(|n| n % 10 == folder) {
                let id = repo.blob(text(n).as_bytes()).unwrap();
                let mode = if n % 3 == 0 { 0o100_755 } else { 0o100_644 };
                inner.insert(format!("f{n}"), id, mode).unwrap();
            }
            let link = repo.blob(b"../d0").unwrap();
            inner.insert("link", link, LINK).unwrap();
            let name = format!("d{folder}");
            root.insert(name, inner.write().unwrap(), FOLDER).unwrap();
        }
        root.write().unwrap()
    }

    fn all_there(dest: &Path, from: usize, to: usize) {
        use std::os::unix::fs::PermissionsExt;
        for n in from..to {
            let path = dest.join(format!("d{}/f{n}", n % 10));
            assert_eq!(fs::read_to_string(&path).unwrap(), text(n));
            let mode = fs::metadata(&path).unwrap().permissions().mode();
            assert_eq!(mode & 0o100 != 0, n % 3 == 0, "{}", path.display());
        }
        for folder in 0..10 {
            let link = fs::read_link(dest.join(format!("d{folder}/link"))).unwrap();
            assert_eq!(link, Path::new("../d0"));
        }
    }

    #[test]
    fn many_files_are_written_whether_on_disk_or_in_memory() {
        let dir = tempfile::tempdir().unwrap();
        let place = dir.path().join("repo");
        let repo = Repository::init_bare(&place).unwrap();
        tree(&repo, 0, MANY / 2);
        drop(repo);
        let repo = Repository::open_bare(&place).unwrap();
        let memory = repo.odb().unwrap();
        memory.add_new_mempack_backend(1000).unwrap();
        let half = tree(&repo, 0, MANY);
        let other = Repository::open_bare(&place).unwrap();
        assert!(other.find_tree(half).is_err(), "only the one handle has it");
        let dest = dir.path().join("out");
        new_folder(&dest).unwrap();
        write_tree(&repo, half, &dest, &Plain).unwrap();
        assert!(matches!(
            new_folder(&dest),
            Err(WorkspaceError::NotEmpty { .. })
        ));
        all_there(&dest, 0, MANY);
    }

    #[test]
    fn a_lost_object_is_an_error_among_many() {
        let dir = tempfile::tempdir().unwrap();
        let repo = Repository::init_bare(dir.path().join("repo")).unwrap();
        let whole = tree(&repo, 0, MANY);
        let lost = repo.blob(text(MANY / 2).as_bytes()).unwrap().to_string();
        let object = repo
            .path()
            .join("objects")
            .join(&lost[..2])
            .join(&lost[2..]);
        fs::remove_file(object).unwrap();
        let repo = Repository::open_bare(repo.path()).unwrap();
        let dest = dir.path().join("out");
        new_folder(&dest).unwrap();
        let error = write_tree(&repo, whole, &dest, &Plain).unwrap_err();
        assert!(error.to_string().contains(&lost), "{error}");
    }

    #[test]
    fn a_symlink_of_a_folders_name_leads_nothing_out() {
        let dir = tempfile::tempdir().unwrap();
        let outside = dir.path().join("outside");
        fs::create_dir(&outside).unwrap();
        let repo = Repository::init_bare(dir.path().join("repo")).unwrap();
        let odb = repo.odb().unwrap();
        let target = repo.blob(outside.as_os_str().as_bytes()).unwrap();
        let inner = tree(&repo, 0, MANY);
        // no builder makes a tree with one name twice
        for kinds in [
            [("120000", target), ("40000", inner)],
            [("40000", inner), ("120000", target)],
        ] {
            let mut raw = Vec::new();
            for (mode, id) in kinds {
                raw.extend_from_slice(format!("{mode} d\0").as_bytes());
                raw.extend_from_slice(id.as_bytes());
            }
            let twice = odb.write(ObjectType::Tree, &raw).unwrap();
            let dest = tempfile::tempdir_in(dir.path()).unwrap();
            assert!(write_tree(&repo, twice, dest.path(), &Plain).is_err());
            assert_eq!(fs::read_dir(&outside).unwrap().count(), 0);
        }
    }
}
