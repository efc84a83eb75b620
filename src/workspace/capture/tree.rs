//! The walk over a work tree and over base beside it.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::Path;

use git2::{ObjectType, Odb, Oid, Repository, Tree};

use super::super::WorkspaceError;
use super::super::apply::check_path;
use super::super::tree::{Edit, FOLDER, SUBMODULE, find_name, for_each};
use super::super::walk::{Kind, content};
use super::ignore::{Rules, ignored};
use super::leftout::{Size, bytes};
use super::notes::Notes;
use super::read::{entries, whole};
use super::rules;
use crate::diff::patch::show;

/// Bytes of all changed files together: a patch of them, and base beside it, fit into memory.
const MOST_BYTES: u64 = 512 << 20;
/// Files that base has not.
const MOST_NEW: usize = 100_000;
/// Folders within folders.
const MOST_DEPTH: usize = 200;
/// A `.gitignore` that is read.
const MOST_RULES: usize = 1 << 20;

/// Why what base has not is left out.
#[derive(Clone)]
struct Why {
    kind: &'static str,
    rule: String,
}

/// A file that may be changed.
struct Candidate {
    path: Vec<u8>,
    kind: Kind,
    bytes: u64,
    /// What base has there, if that is a file or a symlink.
    base: Option<(i32, Oid)>,
}

pub(super) struct Walk<'a> {
    pub(super) repo: &'a Repository,
    pub(super) odb: &'a Odb<'a>,
    pub(super) place: &'a Path,
    pub(super) work: &'a Path,
    pub(super) notes: Notes,
    rules: Vec<Rules>,
    candidates: Vec<Candidate>,
    edits: BTreeMap<Vec<u8>, Edit>,
    new: usize,
}

impl<'a> Walk<'a> {
    pub(super) fn new(
        repo: &'a Repository,
        odb: &'a Odb<'a>,
        place: &'a Path,
        work: &'a Path,
    ) -> Self {
        Self {
            repo,
            odb,
            place,
            work,
            notes: Notes::default(),
            rules: Vec::new(),
            candidates: Vec::new(),
            edits: BTreeMap::new(),
            new: 0,
        }
    }

    /// What makes the work tree of base.
    pub(super) fn edits(
        mut self,
        base: &Tree<'_>,
    ) -> Result<(BTreeMap<Vec<u8>, Edit>, Notes), WorkspaceError> {
        self.folder(&mut Vec::new(), Some(base), None, 0)?;
        if self.new > MOST_NEW {
            let detail = format!(
                "{} new files; those beyond the first {MOST_NEW} are not in the patch",
                self.new
            );
            self.notes.add(b"", "large", detail);
        }
        self.bound();
        for candidate in std::mem::take(&mut self.candidates) {
            self.read(candidate)?;
        }
        Ok((self.edits, self.notes))
    }

    fn git(&self) -> impl FnOnce(git2::Error) -> WorkspaceError + use<'a> {
        WorkspaceError::git(self.place)
    }

    /// `left`: base has files in here, all others are left out.
    fn folder(
        &mut self,
        path: &mut Vec<u8>,
        base: Option<&Tree<'_>>,
        left: Option<&Why>,
        depth: usize,
    ) -> Result<(), WorkspaceError> {
        let dir = self.work.join(OsStr::from_bytes(path));
        let rules = match base.and_then(|tree| find_name(tree, b".gitignore")) {
            Some((0o100_644 | 0o100_755, id)) => self.rules_of(id, path)?,
            _ => Rules::default(),
        };
        self.rules.push(rules);
        let found = entries(&dir);
        // nothing is known of a work tree that cannot be listed itself
        let Some(found) = (if path.is_empty() {
            Some(found?)
        } else {
            self.or_told(path, found)?
        }) else {
            self.rules.pop();
            return Ok(());
        };
        if let Some(tree) = base {
            let there = |name: &[u8]| {
                found
                    .binary_search_by(|(known, _)| known.as_bytes().cmp(name))
                    .is_ok()
            };
            for entry in tree {
                if !there(entry.name_bytes()) {
                    let length = enter(path, entry.name_bytes());
                    self.gone(path, entry.filemode(), entry.id())?;
                    path.truncate(length);
                }
            }
        }
        for (name, kind) in found {
            let name = name.into_vec();
            if name.eq_ignore_ascii_case(b".git") {
                if !path.is_empty() {
                    self.notes.add(
                        path,
                        "nested-repository",
                        "its files are in the patch, its history is not".into(),
                    );
                }
                continue;
            }
            let there = base.and_then(|tree| find_name(tree, &name));
            let length = enter(path, &name);
            self.entry(path, kind, there, left, depth)?;
            path.truncate(length);
        }
        self.rules.pop();
        Ok(())
    }

    /// An entry that cannot be read is told, and base's version stays: what an agent left is never a
    /// fault.
    fn or_told<T>(
        &mut self,
        path: &[u8],
        read: Result<T, WorkspaceError>,
    ) -> Result<Option<T>, WorkspaceError> {
        match read {
            Err(error) if error.is_the_trees() => {
                let why = match error {
                    WorkspaceError::Io { source, .. } => source.to_string(),
                    other => other.to_string(),
                };
                let detail = format!("left out: it cannot be read: {why}");
                self.notes.add(path, "odd", detail);
                Ok(None)
            }
            read => read.map(Some),
        }
    }

    fn rules_of(&self, id: Oid, folder: &[u8]) -> Result<Rules, WorkspaceError> {
        let blob = self.odb.read(id).map_err(self.git())?;
        let text = blob.data();
        Ok(Rules::parse(&text[..text.len().min(MOST_RULES)], folder))
    }

    /// Base has it, the work tree has not.
    fn gone(&mut self, path: &mut Vec<u8>, mode: i32, id: Oid) -> Result<(), WorkspaceError> {
        match mode {
            // a folder that is empty in every clone
            SUBMODULE => {}
            FOLDER => {
                let tree = self.repo.find_tree(id).map_err(self.git())?;
                let edits = &mut self.edits;
                for_each(self.repo, &tree, path, &mut |path, mode, _| {
                    if mode != SUBMODULE {
                        edits.insert(path.to_vec(), Edit::Remove);
                    }
                    Ok::<(), git2::Error>(())
                })
                .map_err(WorkspaceError::git(self.place))?;
            }
            _ => {
                self.edits.insert(path.clone(), Edit::Remove);
            }
        }
        Ok(())
    }

    fn entry(
        &mut self,
        path: &mut Vec<u8>,
        kind: Option<Kind>,
        there: Option<(i32, Oid)>,
        left: Option<&Why>,
        depth: usize,
    ) -> Result<(), WorkspaceError> {
        let is_folder = kind == Some(Kind::Folder);
        if let Some((mode, id)) = there {
            match (mode, kind) {
                (FOLDER, Some(Kind::Folder)) => {
                    let tree = self.repo.find_tree(id).map_err(self.git())?;
                    let why = match left {
                        Some(why) => Some(why.clone()),
                        None => self.why_ignored(path, true).or_else(|| {
                            let at = self.work.join(OsStr::from_bytes(path));
                            cache(rules::folder_by_name(&at, name_of(path)))
                        }),
                    };
                    return self.folder(path, Some(&tree), why.as_ref(), depth + 1);
                }
                (SUBMODULE, Some(Kind::Folder)) => {
                    self.submodule(path);
                    return Ok(());
                }
                (SUBMODULE, _) => {
                    let detail = "base has a submodule of that name, which stays".into();
                    self.notes.add(path, "odd", detail);
                    return Ok(());
                }
                (FOLDER, _) | (_, None | Some(Kind::Folder)) => self.gone(path, mode, id)?,
                (_, Some(kind)) => return self.candidate(path, kind, Some((mode, id))),
            }
        }
        let Some(kind) = kind else {
            let detail = "a socket, a pipe or a device; no patch can hold it".into();
            self.notes.add(path, "odd", detail);
            return Ok(());
        };
        let full = self.work.join(OsStr::from_bytes(path));
        let why = left
            .cloned()
            .or_else(|| self.why_ignored(path, is_folder))
            .or_else(|| match kind {
                Kind::Folder => cache(rules::folder(&full, name_of(path))),
                Kind::File { .. } => cache(rules::file(&full, name_of(path))),
                Kind::Link => None,
            });
        if let Some(Why { kind: word, rule }) = why {
            let size = self.size(path, kind);
            self.notes.left_out(word, &rule, path, is_folder, size);
            return Ok(());
        }
        if let Err(reason) = check_path(path) {
            self.notes.add(path, "odd", format!("left out: {reason}"));
            return Ok(());
        }
        if is_folder {
            if depth >= MOST_DEPTH {
                let size = self.size(path, kind).words();
                let detail = format!("left out: more than {MOST_DEPTH} folders deep; {size}");
                self.notes.add(path, "odd", detail);
                return Ok(());
            }
            return self.folder(path, None, None, depth + 1);
        }
        self.new += 1;
        if self.new > MOST_NEW {
            return Ok(());
        }
        self.candidate(path, kind, None)
    }

    fn why_ignored(&self, path: &[u8], is_folder: bool) -> Option<Why> {
        let line = ignored(&self.rules, path, is_folder)?;
        Some(Why {
            kind: "ignored",
            rule: format!("base's .gitignore has {}", show(line)),
        })
    }

    fn submodule(&mut self, path: &[u8]) {
        let size = self.size(path, Kind::Folder);
        if size.files > 0 {
            let detail = format!(
                "a submodule of base; what was put in is not in the patch: {}",
                size.words()
            );
            self.notes.add(path, "nested-repository", detail);
        }
    }

    fn size(&self, path: &[u8], kind: Kind) -> Size {
        let full = self.work.join(OsStr::from_bytes(path));
        if kind == Kind::Folder {
            return Size::of_folder(&full);
        }
        Size::of_file(fs::symlink_metadata(&full).map_or(0, |m| m.len()))
    }

    fn candidate(
        &mut self,
        path: &[u8],
        kind: Kind,
        base: Option<(i32, Oid)>,
    ) -> Result<(), WorkspaceError> {
        let full = self.work.join(OsStr::from_bytes(path));
        let meta = fs::symlink_metadata(&full).map_err(WorkspaceError::io(&full));
        if let Some(meta) = self.or_told(path, meta)? {
            self.candidates.push(Candidate {
                path: path.to_vec(),
                kind,
                bytes: meta.len(),
                base,
            });
        }
        Ok(())
    }

    /// Drops the largest changed files until the rest fits.
    fn bound(&mut self) {
        let changed = |c: &Candidate| match c.base {
            None => true,
            Some((_, id)) => {
                c.bytes > MOST_BYTES
                    || self
                        .odb
                        .read_header(id)
                        .map_or(true, |h| h.0 as u64 != c.bytes)
            }
        };
        // as rarely as possible: a header costs as much as a small file
        let sum = |all: &[Candidate]| all.iter().map(|c| c.bytes).fold(0, u64::saturating_add);
        if sum(&self.candidates) <= MOST_BYTES {
            return;
        }
        let mut sizes: Vec<(u64, usize)> = self
            .candidates
            .iter()
            .enumerate()
            .filter(|(_, c)| changed(c))
            .map(|(index, c)| (c.bytes, index))
            .collect();
        sizes.sort_unstable();
        let mut total: u64 = sizes.iter().map(|s| s.0).fold(0, u64::saturating_add);
        let mut dropped = vec![false; self.candidates.len()];
        while total > MOST_BYTES
            && let Some((size, index)) = sizes.pop()
        {
            total -= size;
            dropped[index] = true;
        }
        let all = std::mem::take(&mut self.candidates);
        for (candidate, dropped) in all.into_iter().zip(dropped) {
            if !dropped {
                self.candidates.push(candidate);
                continue;
            }
            self.too_large(&candidate);
        }
    }

    fn too_large(&mut self, candidate: &Candidate) {
        let stays = if candidate.base.is_some() {
            "; base's version stays"
        } else {
            ""
        };
        let detail = format!(
            "{}: all changed files together may be {}{stays}",
            bytes(candidate.bytes),
            bytes(MOST_BYTES)
        );
        self.notes.add(&candidate.path, "large", detail);
    }

    fn read(&mut self, candidate: Candidate) -> Result<(), WorkspaceError> {
        let full = self.work.join(OsStr::from_bytes(&candidate.path));
        let read = match candidate.kind {
            Kind::Link => content(&full, candidate.kind).map(Some),
            _ => whole(&full, MOST_BYTES),
        };
        let bytes = match self.or_told(&candidate.path, read)? {
            Some(Some(bytes)) => bytes,
            Some(None) => {
                self.too_large(&candidate);
                return Ok(());
            }
            None => return Ok(()),
        };
        let mode = candidate.kind.mode();
        let id = Oid::hash_object(ObjectType::Blob, &bytes).map_err(self.git())?;
        if candidate.base == Some((mode, id)) {
            return Ok(());
        }
        self.odb
            .write(ObjectType::Blob, &bytes)
            .map_err(self.git())?;
        self.edits.insert(candidate.path, Edit::Put { mode, id });
        Ok(())
    }
}

fn cache(what: Option<&'static str>) -> Option<Why> {
    what.map(|what| Why {
        kind: "cache",
        rule: what.into(),
    })
}

/// Appends a name to a path; returns its length before.
fn enter(path: &mut Vec<u8>, name: &[u8]) -> usize {
    let length = path.len();
    if length > 0 {
        path.push(b'/');
    }
    path.extend_from_slice(name);
    length
}

fn name_of(path: &[u8]) -> &OsStr {
    OsStr::from_bytes(path.rsplit(|&b| b == b'/').next().unwrap_or(path))
}
