//! Makes a built environment immutable, and tells later whether it still is what was built.
//!
//! Files lose their write bits and become readable for every user (a sandbox runs under another
//! one). Root ignores that, and so do writes through another hard link of the same file: mounts are
//! read-only for that reason, and the manifest finds what happened all the same.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs::{self, File, Permissions};
use std::io::Read;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::EnvironmentError;
use super::pool::{Candidate, Pool};
use crate::domain::hex;

/// Name of the manifest beside the sealed folder.
pub(super) const MANIFEST: &str = "manifest.txt";

/// Totals of a sealed tree.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Sealed {
    pub files: u64,
    /// Sum of the files' sizes.
    pub bytes: u64,
    /// Of these, in files that the cache (or another environment) holds as well.
    pub shared_bytes: u64,
    /// Over the manifest's text.
    pub tree_sha256: String,
}

/// A difference between a sealed tree and its manifest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change {
    Added(PathBuf),
    Removed(PathBuf),
    Modified(PathBuf),
}

/// Seals `tree` and writes its manifest into `folder`. Files that have no other link yet are shared
/// through the pool, where there is one.
pub(super) fn seal(
    tree: &Path,
    folder: &Path,
    mut pool: Option<&mut Pool>,
) -> Result<Sealed, EnvironmentError> {
    let mut sealed = Sealed {
        files: 0,
        bytes: 0,
        shared_bytes: 0,
        tree_sha256: String::new(),
    };
    let mut text = String::new();
    for (path, line) in walk(tree, &mut |path, metadata, sha256| {
        let executable = metadata.is_dir() || metadata.mode() & 0o111 != 0;
        let mode = if executable { 0o555 } else { 0o444 };
        fs::set_permissions(path, Permissions::from_mode(mode))?;
        let Some(sha256) = sha256 else {
            return Ok(());
        };
        sealed.files += 1;
        sealed.bytes += metadata.len();
        let is_shared = match &mut pool {
            // with the cache, which keeps its own
            _ if metadata.nlink() > 1 => true,
            Some(pool) if metadata.len() > 0 => pool.share(&Candidate {
                path,
                metadata: &fs::symlink_metadata(path)?,
                sha256,
            }),
            _ => false,
        };
        if is_shared {
            sealed.shared_bytes += metadata.len();
        }
        Ok(())
    })? {
        let _ = writeln!(text, "{line} {}", path.display());
    }
    sealed.tree_sha256 = hex(&Sha256::digest(text.as_bytes()));
    let manifest = folder.join(MANIFEST);
    fs::write(&manifest, text).map_err(EnvironmentError::io(&manifest))?;
    Ok(sealed)
}

/// Whether every file of a sealed environment is there with its size: what a power cut leaves
/// behind is shorter or missing. Content is left to [`verify`].
pub(super) fn is_whole(folder: &Path) -> bool {
    let Ok(text) = fs::read_to_string(folder.join(MANIFEST)) else {
        return false;
    };
    let venv = folder.join("venv");
    text.lines().all(|line| {
        let mut fields = line.splitn(4, ' ');
        let (kind, size) = (fields.next(), fields.next());
        let Some(path) = fields.nth(1).map(|path| venv.join(path)) else {
            return false;
        };
        match fs::symlink_metadata(path) {
            Ok(metadata) if metadata.is_symlink() => kind == Some("link"),
            Ok(metadata) => size == Some(metadata.len().to_string().as_str()),
            Err(_) => false,
        }
    })
}

/// Compares a built `uv` environment of `home` with its manifest, content included: reads it all.
pub fn verify(home: &Path, hash: &str) -> Result<Vec<Change>, EnvironmentError> {
    let folder = home.join("env").join(hash);
    let manifest = folder.join(MANIFEST);
    let text = fs::read_to_string(&manifest).map_err(EnvironmentError::io(&manifest))?;
    let mut known: BTreeMap<PathBuf, String> = BTreeMap::new();
    for line in text.lines() {
        let mut fields = line.splitn(4, ' ');
        let digest: Vec<&str> = fields.by_ref().take(3).collect();
        if let Some(path) = fields.next() {
            known.insert(path.into(), digest.join(" "));
        }
    }
    let mut changes = Vec::new();
    for (path, line) in walk(&folder.join("venv"), &mut |_, _, _| Ok(()))? {
        match known.remove(&path) {
            None => changes.push(Change::Added(path)),
            Some(digest) if digest != line => changes.push(Change::Modified(path)),
            Some(_) => {}
        }
    }
    changes.extend(known.into_keys().map(Change::Removed));
    Ok(changes)
}

/// What is done with a file, whose hash is told, or a folder.
type Each<'a> = dyn FnMut(&Path, &fs::Metadata, Option<&str>) -> std::io::Result<()> + 'a;

/// Relative path -> `kind size sha256` of every file and link below `tree`; calls `each` for every
/// file and folder (not for links), folders after what is in them.
fn walk(tree: &Path, each: &mut Each) -> Result<BTreeMap<PathBuf, String>, EnvironmentError> {
    let mut found = BTreeMap::new();
    walk_folder(tree, Path::new(""), each, &mut found)?;
    Ok(found)
}

fn walk_folder(
    folder: &Path,
    relative: &Path,
    each: &mut Each,
    found: &mut BTreeMap<PathBuf, String>,
) -> Result<(), EnvironmentError> {
    for entry in fs::read_dir(folder).map_err(EnvironmentError::io(folder))? {
        let entry = entry.map_err(EnvironmentError::io(folder))?;
        let path = entry.path();
        let io = EnvironmentError::io(&path);
        let below = relative.join(entry.file_name());
        let metadata = match fs::symlink_metadata(&path) {
            Ok(metadata) => metadata,
            Err(error) => return Err(io(error)),
        };
        if metadata.is_dir() {
            walk_folder(&path, &below, each, found)?;
        } else if metadata.is_symlink() {
            let target = fs::read_link(&path).map_err(io)?;
            let digest = Sha256::digest(target.as_os_str().as_encoded_bytes());
            found.insert(below, format!("link 0 {}", hex(&digest)));
        } else {
            let executable = metadata.mode() & 0o111 != 0;
            let kind = if executable { "program" } else { "file" };
            let file = File::open(&path).map_err(EnvironmentError::io(&path))?;
            let digest = digest(file).map_err(EnvironmentError::io(&path))?;
            found.insert(below, format!("{kind} {} {digest}", metadata.len()));
            each(&path, &metadata, Some(&digest)).map_err(io)?;
        }
    }
    let metadata = fs::metadata(folder).map_err(EnvironmentError::io(folder))?;
    each(folder, &metadata, None).map_err(EnvironmentError::io(folder))
}

/// SHA-256 of all that can be read.
pub(super) fn digest(mut file: File) -> std::io::Result<String> {
    let mut hasher = Sha256::new();
    let mut buffer = vec![0; 256 * 1024];
    loop {
        let read = file.read(&mut buffer)?;
        if read == 0 {
            return Ok(hex(&hasher.finalize()));
        }
        hasher.update(&buffer[..read]);
    }
}

/// Removes a tree (or a file), sealed or not; absent is fine.
pub fn remove_tree(tree: &Path) -> Result<(), EnvironmentError> {
    let removed = match fs::symlink_metadata(tree) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(()),
        Ok(metadata) if metadata.is_dir() => {
            unseal_folders(tree);
            fs::remove_dir_all(tree)
        }
        _ => fs::remove_file(tree),
    };
    removed.map_err(EnvironmentError::io(tree))
}

/// Entries of a folder without write permission cannot be removed. As deep as the tree goes: an
/// agent may have made it.
fn unseal_folders(root: &Path) {
    let mut pending = vec![root.to_path_buf()];
    while let Some(folder) = pending.pop() {
        let _ = fs::set_permissions(&folder, Permissions::from_mode(0o755));
        for entry in fs::read_dir(&folder).into_iter().flatten().flatten() {
            if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                pending.push(entry.path());
            }
        }
    }
}

/// Whether a file in folder `from` can be hard-linked into folder `to`: tried, since being on one
/// device is not enough on every file system.
pub fn links_work(from: &Path, to: &Path) -> bool {
    let name = format!(".link-test-{}", std::process::id());
    let (source, target) = (from.join(&name), to.join(format!("{name}-to")));
    let works = fs::write(&source, b"").is_ok() && fs::hard_link(&source, &target).is_ok();
    let _ = fs::remove_file(&source);
    let _ = fs::remove_file(&target);
    works
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn a_sealed_tree_tells_every_change() {
        let home = tempfile::tempdir().unwrap();
        let folder = home.path().join("env/abc");
        let venv = folder.join("venv");
        fs::create_dir_all(venv.join("lib/a b")).unwrap();
        for (name, text) in [("lib/a b/x.py", "1"), ("lib/y.py", "2"), ("z", "3")] {
            fs::write(venv.join(name), text).unwrap();
        }
        std::os::unix::fs::symlink("lib", venv.join("lib64")).unwrap();
        fs::hard_link(venv.join("z"), home.path().join("z-too")).unwrap();
        let sealed = seal(&venv, &folder, None).unwrap();
        assert_eq!((sealed.files, sealed.bytes, sealed.shared_bytes), (3, 3, 1));
        assert_eq!(fs::metadata(venv.join("z")).unwrap().mode() & 0o777, 0o444);
        assert_eq!(fs::metadata(&venv).unwrap().mode() & 0o777, 0o555);
        assert_eq!(verify(home.path(), "abc").unwrap(), []);
        assert!(is_whole(&folder));

        unseal_folders(&venv);
        // the same size, through the other hard link
        fs::set_permissions(home.path().join("z-too"), Permissions::from_mode(0o644)).unwrap();
        fs::write(home.path().join("z-too"), "4").unwrap();
        fs::remove_file(venv.join("lib/y.py")).unwrap();
        fs::write(venv.join("new.pth"), "").unwrap();
        assert_eq!(
            verify(home.path(), "abc").unwrap(),
            [
                Change::Added("new.pth".into()),
                Change::Modified("z".into()),
                Change::Removed("lib/y.py".into()),
            ]
        );
        seal(&venv, &folder, None).unwrap();
        unseal_folders(&venv);
        fs::set_permissions(venv.join("new.pth"), Permissions::from_mode(0o644)).unwrap();
        fs::write(venv.join("new.pth"), "longer").unwrap();
        assert!(!is_whole(&folder));
        seal(&venv, &folder, None).unwrap();
        assert!(is_whole(&folder));
        remove_tree(&folder).unwrap();
        remove_tree(&folder).unwrap();
        assert!(!folder.exists());
    }

    #[test]
    fn links_are_tried() {
        let folder = tempfile::tempdir().unwrap();
        assert!(links_work(folder.path(), folder.path()));
        assert!(!links_work(folder.path(), Path::new("/proc")));
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
    }
}
