//! Putting a suite in: a folder of the work tree is replaced as a whole.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Component, Path, PathBuf};

use super::WorkspaceError;
use super::walk::{Found, Kind, content, list, walk};

/// What the submission had in the folder that is not gold's; paths relative to the work tree.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Replaced {
    /// Gold has no such file: deleted.
    pub extras: Vec<PathBuf>,
    /// Gold has it otherwise: the submission's version is dropped.
    pub edits: Vec<PathBuf>,
    /// A symlink or a file stood where a folder belongs, on the way to the folder: removed.
    pub obstacles: Vec<PathBuf>,
}

impl Replaced {
    pub fn extend(&mut self, more: Self) {
        self.extras.extend(more.extras);
        self.edits.extend(more.edits);
        self.obstacles.extend(more.obstacles);
    }
}

/// Replaces the folder `into` of the work tree by the tree `from`. Nothing of the submission is
/// followed: a symlink is removed, never what it points to.
pub fn replace_suite(work: &Path, into: &str, from: &Path) -> Result<Replaced, WorkspaceError> {
    let into = inner_folder(into)?;
    let mut replaced = Replaced::default();
    clear_way(work, &into, &mut replaced)?;
    let target = work.join(&into);
    let wanted: BTreeMap<PathBuf, Kind> = walk(from)?
        .into_iter()
        .map(|f| (f.relative, f.kind))
        .collect();
    if target.is_dir() {
        compare(&target, Path::new(""), from, &wanted, &into, &mut replaced)?;
        fs::remove_dir_all(&target).map_err(WorkspaceError::io(&target))?;
    }
    fs::create_dir_all(&target).map_err(WorkspaceError::io(&target))?;
    for (relative, kind) in &wanted {
        let (source, path) = (from.join(relative), target.join(relative));
        let io = || WorkspaceError::io(&path);
        match kind {
            Kind::Folder => fs::create_dir(&path).map_err(io())?,
            Kind::Link => {
                let link = fs::read_link(&source).map_err(WorkspaceError::io(&source))?;
                symlink(link, &path).map_err(io())?;
            }
            Kind::File { .. } => {
                fs::copy(&source, &path).map_err(io())?;
            }
        }
    }
    Ok(replaced)
}

/// Removes the folder `into` of the work tree, whatever it is, as [`replace_suite`] does.
pub fn remove_suite(work: &Path, into: &str) -> Result<Replaced, WorkspaceError> {
    let path = inner_folder(into)?;
    let mut replaced = Replaced::default();
    let mut way = PathBuf::new();
    for part in path.components() {
        way.push(part);
        match fs::symlink_metadata(work.join(&way)) {
            Ok(meta) if meta.is_dir() => {}
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(replaced),
            // removed where it stands in the place of a folder
            Ok(_) => break,
            Err(e) => return Err(WorkspaceError::io(&work.join(&way))(e)),
        }
    }
    clear_way(work, &path, &mut replaced)?;
    let target = work.join(&path);
    if target.is_dir() {
        let nothing = BTreeMap::new();
        compare(
            &target,
            Path::new(""),
            &target,
            &nothing,
            &path,
            &mut replaced,
        )?;
        fs::remove_dir_all(&target).map_err(WorkspaceError::io(&target))?;
    }
    Ok(replaced)
}

/// Files of the tree `from` that are no longer what [`replace_suite`] laid, by their paths in
/// the work tree. Nothing is followed there, and what cannot be read any more was changed.
pub fn rewritten(work: &Path, into: &str, from: &Path) -> Result<Vec<PathBuf>, WorkspaceError> {
    let into = inner_folder(into)?;
    let is_folder = |path: &Path| fs::symlink_metadata(path).is_ok_and(|m| m.is_dir());
    let is_laid = |here: &Path, laid: &Path, kind| {
        fs::symlink_metadata(here).is_ok_and(|m| m.is_file())
            && same(here, laid, kind).unwrap_or(false)
    };
    let mut changed = Vec::new();
    // of the tree's folders those that are still folders
    let mut kept = BTreeSet::new();
    if into.ancestors().all(|way| is_folder(&work.join(way))) {
        kept.insert(PathBuf::new());
    }
    for Found { relative, kind } in walk(from)? {
        let path = into.join(&relative);
        let here = work.join(&path);
        let reached = relative.parent().is_some_and(|p| kept.contains(p));
        if kind == Kind::Folder {
            if reached && is_folder(&here) {
                kept.insert(relative);
            }
        } else if kind != Kind::Link && !(reached && is_laid(&here, &from.join(&relative), kind)) {
            changed.push(path);
        }
    }
    Ok(changed)
}

/// The folder as a relative path of plain names.
fn inner_folder(into: &str) -> Result<PathBuf, WorkspaceError> {
    let mut clean = PathBuf::new();
    for part in Path::new(into).components() {
        match part {
            Component::Normal(name) => clean.push(name),
            Component::CurDir => {}
            _ => {
                clean.clear();
                break;
            }
        }
    }
    if clean.as_os_str().is_empty() {
        return Err(WorkspaceError::BadFolder { path: into.into() });
    }
    Ok(clean)
}

/// Removes whatever is no real folder on the way to `into`, and makes the way.
fn clear_way(work: &Path, into: &Path, replaced: &mut Replaced) -> Result<(), WorkspaceError> {
    let mut relative = PathBuf::new();
    let mut parts = into.components().peekable();
    while let Some(part) = parts.next() {
        relative.push(part);
        let path = work.join(&relative);
        match fs::symlink_metadata(&path) {
            Ok(meta) if meta.is_dir() => continue,
            Ok(_) => {
                fs::remove_file(&path).map_err(WorkspaceError::io(&path))?;
                replaced.obstacles.push(relative.clone());
            }
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => {}
            Err(e) => return Err(WorkspaceError::io(&path)(e)),
        }
        if parts.peek().is_some() {
            fs::create_dir(&path).map_err(WorkspaceError::io(&path))?;
        }
    }
    Ok(())
}

/// Notes what is below `dir` and not in the wanted tree.
fn compare(
    dir: &Path,
    below: &Path,
    from: &Path,
    wanted: &BTreeMap<PathBuf, Kind>,
    into: &Path,
    replaced: &mut Replaced,
) -> Result<(), WorkspaceError> {
    for (name, kind) in list(&dir.join(below))? {
        let relative = below.join(&name);
        let gold = wanted.get(&relative);
        let shown = into.join(&relative);
        match (kind, gold) {
            (Some(Kind::Folder), None | Some(Kind::Folder)) => {
                compare(dir, &relative, from, wanted, into, replaced)?;
            }
            (_, None) => replaced.extras.push(shown),
            (Some(kind), Some(gold)) if kind == *gold => {
                if !same(&dir.join(&relative), &from.join(&relative), kind)? {
                    replaced.edits.push(shown);
                }
            }
            _ => replaced.edits.push(shown),
        }
    }
    Ok(())
}

fn same(a: &Path, b: &Path, kind: Kind) -> Result<bool, WorkspaceError> {
    let size = |p: &Path| {
        fs::symlink_metadata(p)
            .map(|m| m.len())
            .map_err(WorkspaceError::io(p))
    };
    // a submission's file may be huge
    Ok(size(a)? == size(b)? && content(a, kind)? == content(b, kind)?)
}
