//! The files of a patch, one by one, against base; then the tree.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::Path;

use git2::{ObjectType, Odb, Oid, Repository, Tree};

use super::super::tree::{Edit, EditError, FOLDER, LINK, SUBMODULE, edit_tree, find};
use super::super::{Snapshot, WorkspaceError};
use super::merge::{known_blob, merge};
use super::paths::{canonical_mode, check_path};
use super::text::apply_hunks;
use super::{Applied, AppliedFile, ApplyError, Method, Refused, links};
use crate::diff::patch::{Body, Change, FilePatch, Patch, show};

/// Largest file that a patch may make, and all of them together: a few bytes inflate to
/// gigabytes.
const MAX_FILE: u64 = 512 << 20;
const MAX_TOTAL: u64 = 2 << 30;

/// A file as the patch leaves it.
struct Written {
    mode: i32,
    bytes: Vec<u8>,
}

struct Work<'a> {
    repo: &'a Repository,
    odb: &'a Odb<'a>,
    place: &'a Path,
    base: &'a Tree<'a>,
    patch: &'a [u8],
    /// Paths that some file of the patch deletes or renames away: a new file may take them,
    /// whichever comes first (two files swapping their names).
    leaving: HashSet<&'a [u8]>,
    written: HashMap<Vec<u8>, Written>,
    removed: HashSet<Vec<u8>>,
    /// Paths changed in place so far.
    modified: HashSet<Vec<u8>>,
    /// Where each path is said, for messages about the whole.
    lines: HashMap<Vec<u8>, usize>,
    total: u64,
}

pub(super) fn apply_files(
    snapshot: &Snapshot,
    base: Oid,
    patch: &[u8],
    parsed: &Patch,
) -> Result<Applied, ApplyError> {
    let repo = snapshot.repo();
    let place = snapshot.dir();
    let git = || WorkspaceError::git(place);
    let odb = repo.odb().map_err(git())?;
    let base_tree = repo.find_tree(base).map_err(git())?;
    let leaving = parsed
        .files
        .iter()
        .filter(|f| matches!(f.change, Change::Delete | Change::Rename))
        .map(|f| f.old_path.as_slice())
        .collect();
    let mut work = Work {
        repo: &repo,
        odb: &odb,
        place,
        base: &base_tree,
        patch,
        leaving,
        written: HashMap::new(),
        removed: HashSet::new(),
        modified: HashSet::new(),
        lines: HashMap::new(),
        total: 0,
    };
    let mut files = Vec::with_capacity(parsed.files.len());
    for file in &parsed.files {
        let method = work.one(file)?;
        let (added, removed) = file.counts();
        files.push(AppliedFile {
            path: file.path().to_vec(),
            change: file.change,
            added,
            removed,
            method,
        });
    }
    let tree = work.finish()?;
    Ok(Applied {
        tree,
        method: files
            .iter()
            .map(|f| f.method)
            .max()
            .unwrap_or(Method::Exact),
        files,
    })
}

impl Work<'_> {
    fn one(&mut self, file: &FilePatch) -> Result<Method, ApplyError> {
        let refuse = |message: String| Refused::apply(file.line, message);
        for path in [&file.old_path, &file.new_path] {
            if !path.is_empty() {
                check_path(path).map_err(refuse)?;
                self.lines.insert(path.clone(), file.line);
            }
        }
        for mode in [file.old_mode, file.new_mode].into_iter().flatten() {
            canonical_mode(mode).map_err(|why| refuse(format!("{}: {why}", show(file.path()))))?;
        }
        if file.change == Change::Add {
            self.must_be_free(file)?;
            let mode = file.new_mode.unwrap_or(0o100_644);
            let mode = canonical_mode(mode).map_err(refuse)?;
            let (bytes, _) = self.content(file, &[], Oid::ZERO_SHA1)?;
            self.write(file, mode, bytes)?;
            return Ok(Method::Exact);
        }
        let (old_mode, old_id, old) = self.source(file)?;
        check_type(file, old_mode)?;
        let (bytes, method) = self.content(file, &old, old_id)?;
        let name = show(file.path());
        match file.change {
            Change::Delete => {
                if !bytes.is_empty() {
                    return Err(refuse(format!(
                        "{name} is said to be deleted, but base has lines in it that the patch does not remove"
                    )));
                }
                self.written.remove(&file.old_path);
                self.removed.insert(file.old_path.clone());
                return Ok(method);
            }
            Change::Rename | Change::Copy => self.must_be_free(file)?,
            Change::Modify | Change::Add => {
                self.modified.insert(file.new_path.clone());
            }
        }
        if file.change == Change::Rename {
            self.removed.insert(file.old_path.clone());
        }
        let mode = match file.new_mode {
            Some(mode) => canonical_mode(mode).map_err(refuse)?,
            None => old_mode,
        };
        self.write(file, mode, bytes)?;
        Ok(method)
    }

    /// What the patch changes: mode, id and bytes. Renames and copies read base, whatever the
    /// order of files; all others go on from where an earlier part of the patch left the file.
    fn source(&self, file: &FilePatch) -> Result<(i32, Oid, Vec<u8>), ApplyError> {
        let path = &file.old_path;
        let name = show(path);
        let refuse = |why: &str| Refused::apply(file.line, format!("{name} {why}"));
        let moves = matches!(file.change, Change::Rename | Change::Copy);
        if let Some(written) = self.written.get(path).filter(|_| !moves) {
            let id = Oid::hash_object(ObjectType::Blob, &written.bytes)
                .map_err(WorkspaceError::git(self.place))?;
            return Ok((written.mode, id, written.bytes.clone()));
        }
        if file.change != Change::Copy && self.removed.contains(path) {
            return Err(refuse("was deleted by an earlier part of the patch"));
        }
        if file.change == Change::Rename && self.modified.contains(path) {
            return Err(refuse(
                "is changed by one part of the patch and renamed by another",
            ));
        }
        let found = find(self.base, path, self.repo).map_err(WorkspaceError::git(self.place))?;
        match found {
            None => Err(refuse("is not in base")),
            Some((FOLDER, _)) => Err(refuse("is a folder in base")),
            Some((SUBMODULE, _)) => Err(refuse("is a submodule in base; changing it is refused")),
            Some((mode, id)) => {
                let object = self.odb.read(id).map_err(WorkspaceError::git(self.place))?;
                Ok((mode, id, object.data().to_vec()))
            }
        }
    }

    /// A new name must not be taken.
    fn must_be_free(&self, file: &FilePatch) -> Result<(), ApplyError> {
        let path = &file.new_path;
        let taken = |why: &str| Err(Refused::apply(file.line, format!("{} {why}", show(path))));
        if self.written.contains_key(path) {
            return taken("is made twice by the patch");
        }
        if self.removed.contains(path) || self.leaving.contains(path.as_slice()) {
            return Ok(());
        }
        let found = find(self.base, path, self.repo).map_err(WorkspaceError::git(self.place))?;
        match found {
            // the files of a folder may all be leaving; the tree tells
            None | Some((FOLDER, _)) => Ok(()),
            Some(_) => taken("is in base already, the patch says that it is new"),
        }
    }

    /// The new bytes of a file.
    fn content(
        &self,
        file: &FilePatch,
        old: &[u8],
        old_id: Oid,
    ) -> Result<(Vec<u8>, Method), ApplyError> {
        let name = show(file.path());
        match &file.body {
            Body::None => Ok((old.to_vec(), Method::Exact)),
            Body::Hunks(hunks) => match apply_hunks(old, hunks, self.patch) {
                Ok((bytes, moved)) => {
                    Ok((bytes, if moved { Method::Offset } else { Method::Exact }))
                }
                Err(mismatch) => match self.three_way(file, old)? {
                    Some(bytes) => Ok((bytes, Method::ThreeWay)),
                    None => Err(Refused::apply(
                        mismatch.line,
                        format!("{name}: {}", mismatch.message),
                    )),
                },
            },
            Body::Binary(binary) => {
                let line = binary.forward.line;
                let refuse = |why: String| Refused::apply(line, format!("{name}: {why}"));
                if file.change != Change::Add {
                    let Some(id) = &file.old_id else {
                        return Err(refuse(
                            "a binary patch without an index line: make it with git diff --binary"
                                .into(),
                        ));
                    };
                    if !old_id.to_string().starts_with(id.as_str()) {
                        return Err(refuse(
                            "the binary patch was made against another version of the file".into(),
                        ));
                    }
                }
                let bytes = binary
                    .forward
                    .apply(old, MAX_FILE)
                    .map_err(|e| refuse(e.to_string()))?;
                Ok((bytes, Method::Exact))
            }
            Body::BinaryWithoutData => Err(Refused::apply(
                file.line,
                format!(
                    "{name} is binary and the patch holds no data of it: make it with git diff --binary"
                ),
            )),
        }
    }

    fn three_way(&self, file: &FilePatch, ours: &[u8]) -> Result<Option<Vec<u8>>, ApplyError> {
        let Some(id) = file.old_id.as_deref() else {
            return Ok(None);
        };
        if file.change == Change::Delete {
            return Ok(None);
        }
        let Some(ancestor) = known_blob(self.odb, id, self.place)? else {
            return Ok(None);
        };
        let Ok((theirs, _)) = apply_hunks(&ancestor, file.hunks(), self.patch) else {
            return Ok(None);
        };
        Ok(merge(&ancestor, ours, &theirs).map_err(WorkspaceError::git(self.place))?)
    }

    fn write(&mut self, file: &FilePatch, mode: i32, bytes: Vec<u8>) -> Result<(), ApplyError> {
        self.total += bytes.len() as u64;
        if bytes.len() as u64 > MAX_FILE || self.total > MAX_TOTAL {
            return Err(Refused::apply(
                file.line,
                format!(
                    "{}: the files of the patch would be larger than {MAX_TOTAL} bytes",
                    show(&file.new_path)
                ),
            ));
        }
        self.written
            .insert(file.new_path.clone(), Written { mode, bytes });
        Ok(())
    }

    fn finish(&self) -> Result<Oid, ApplyError> {
        let git = || WorkspaceError::git(self.place);
        let mut edits = BTreeMap::new();
        for path in &self.removed {
            edits.insert(path.clone(), Edit::Remove);
        }
        for (path, file) in &self.written {
            let id = self.repo.blob(&file.bytes).map_err(git())?;
            edits.insert(
                path.clone(),
                Edit::Put {
                    mode: file.mode,
                    id,
                },
            );
        }
        let id = edit_tree(self.repo, Some(self.base), &edits).map_err(|e| match e {
            EditError::Git(source) => git()(source).into(),
            EditError::Conflict { path, why } => {
                Refused::apply(self.line_of(&path), format!("{}: {why}", show(&path)))
            }
        })?;
        let tree = self.repo.find_tree(id).map_err(git())?;
        let escapes = links::escapes(self.repo, self.base, &tree).map_err(git())?;
        if let Some(links::Escape { path, why, .. }) = escapes.first() {
            return Err(Refused::apply(
                self.line_of(path),
                format!("the symlink {} is refused: {why}", show(path)),
            ));
        }
        Ok(id)
    }

    /// The line of a path, or of the first path below it.
    fn line_of(&self, path: &[u8]) -> usize {
        let below = |p: &Vec<u8>| {
            p.strip_prefix(path)
                .is_some_and(|r| r.first() == Some(&b'/'))
        };
        self.lines.get(path).copied().unwrap_or_else(|| {
            self.lines
                .iter()
                .filter(|(p, _)| below(p))
                .map(|(_, line)| *line)
                .min()
                .unwrap_or(1)
        })
    }
}

/// A file does not turn into a symlink without being deleted and made.
fn check_type(file: &FilePatch, there: i32) -> Result<(), ApplyError> {
    for said in [file.old_mode, file.new_mode].into_iter().flatten() {
        let said = canonical_mode(said).map_err(|why| Refused::apply(file.line, why))?;
        if (said == LINK) != (there == LINK) {
            let is = if there == LINK { "a symlink" } else { "a file" };
            return Err(Refused::apply(
                file.line,
                format!(
                    "{} is {is} in base, the patch says mode {said:06o}",
                    show(&file.old_path)
                ),
            ));
        }
    }
    Ok(())
}
