//! What the agent's `.git` says of stashes, commits and branches. It is the agent's to write: a few
//! plain files of it are read, bounded, and only for notes.

use std::fs;
use std::path::Path;

use super::notes::Notes;
use super::read::head;
use crate::diff::patch::show;

/// Bytes of a log or of `packed-refs` that are looked at.
const MOST_BYTES: usize = 1 << 20;
/// Branches and tags that are looked at, and that a note names.
const MOST_REFS: usize = 1000;
const NAMED: usize = 5;
const MOST_DEPTH: usize = 8;
/// Characters of a message.
const MOST_TEXT: usize = 120;

/// `start`: the commit that the agent was given.
pub(super) fn look(work: &Path, start: &str, notes: &mut Notes) {
    let git = work.join(".git");
    let Ok(meta) = fs::symlink_metadata(&git) else {
        return;
    };
    if !meta.is_dir() {
        let detail = "is no folder any more; what it names was not looked at";
        notes.add(b".git", "odd", detail.into());
        return;
    }
    let mut refs = Refs::default();
    refs.packed(&git);
    refs.loose(&git, b"refs", 0);
    stash(&git, &refs, notes);
    commits(&git, start, &refs, notes);
}

/// Names (`refs/heads/main`) with their ids.
#[derive(Default)]
struct Refs(Vec<(Vec<u8>, Vec<u8>)>);

impl Refs {
    fn put(&mut self, name: Vec<u8>, id: &[u8]) {
        let id = id.trim_ascii().to_vec();
        if let Some(known) = self.0.iter_mut().find(|(known, _)| *known == name) {
            known.1 = id;
        } else if self.0.len() < MOST_REFS {
            self.0.push((name, id));
        }
    }

    fn packed(&mut self, git: &Path) {
        for line in text(git, "packed-refs").split(|&b| b == b'\n') {
            if let Some((id, name)) = split(line)
                && name.starts_with(b"refs/")
            {
                self.put(name.to_vec(), id);
            }
        }
    }

    /// A loose one is newer than a packed one of its name.
    fn loose(&mut self, git: &Path, name: &[u8], depth: usize) {
        use std::os::unix::ffi::OsStrExt;
        let dir = git.join(std::ffi::OsStr::from_bytes(name));
        // a symlink would lead out of the folder
        if !fs::symlink_metadata(&dir).is_ok_and(|m| m.is_dir()) || depth > MOST_DEPTH {
            return;
        }
        for entry in fs::read_dir(&dir).into_iter().flatten().take(MOST_REFS) {
            let Ok(entry) = entry else { continue };
            let name = [name, b"/", entry.file_name().as_bytes()].concat();
            match entry.file_type() {
                Ok(kind) if kind.is_dir() => self.loose(git, &name, depth + 1),
                Ok(kind) if kind.is_file() => {
                    if let Some(id) = head(&entry.path(), 64) {
                        self.put(name, &id);
                    }
                }
                _ => {}
            }
        }
    }
}

fn stash(git: &Path, refs: &Refs, notes: &mut Notes) {
    if !refs.0.iter().any(|(name, _)| name == b"refs/stash") {
        return;
    }
    let log = text(git, "logs/refs/stash");
    let messages: Vec<&[u8]> = lines(&log).filter_map(message).collect();
    let count = messages.len().max(1);
    let entries = if count == 1 { "entry" } else { "entries" };
    let last = messages.last().map(|m| format!("; the last: {}", cut(m)));
    let detail = format!(
        "{count} {entries} put aside and not in the patch{}",
        last.unwrap_or_default()
    );
    notes.add(b".git", "stash", detail);
}

fn commits(git: &Path, start: &str, refs: &Refs, notes: &mut Notes) {
    let at = text(git, "HEAD");
    let at = at.trim_ascii();
    let (here, branch) = match at.strip_prefix(b"ref: ") {
        Some(name) => {
            let name = name.trim_ascii();
            let id = refs.0.iter().find(|(known, _)| known == name);
            (id.map(|f| f.1.as_slice()).unwrap_or_default(), Some(name))
        }
        None => (at, None),
    };
    let log = text(git, "logs/HEAD");
    let made = lines(&log)
        .filter_map(message)
        .filter(|m| m.starts_with(b"commit"))
        .count();
    let mut said = Vec::new();
    if made > 0 {
        said.push(format!("{made} made"));
    }
    match branch {
        Some(b"refs/heads/main") => {}
        Some(name) => said.push(format!("on branch {}", short(name))),
        None => said.push("on no branch".into()),
    }
    // what is not checked out is no part of the tree
    let elsewhere: Vec<String> = refs
        .0
        .iter()
        .filter(|(name, id)| {
            name != b"refs/stash" && id != here && id != start.as_bytes() && id.len() >= 40
        })
        .map(|(name, _)| short(name))
        .collect();
    if !elsewhere.is_empty() {
        let more = elsewhere.len().saturating_sub(NAMED);
        let more = if more > 0 {
            format!(" and {more} more")
        } else {
            String::new()
        };
        let names = elsewhere[..elsewhere.len().min(NAMED)].join(", ");
        said.push(format!(
            "not checked out, so not in the patch: {names}{more}"
        ));
    }
    if !said.is_empty() {
        notes.add(b".git", "commits", said.join("; "));
    }
}

/// A file below `git`, with no symlink on the way.
fn text(git: &Path, name: &str) -> Vec<u8> {
    let mut path = git.to_path_buf();
    let mut parts = name.split('/').peekable();
    while let Some(part) = parts.next() {
        path.push(part);
        let Ok(meta) = fs::symlink_metadata(&path) else {
            return Vec::new();
        };
        if parts.peek().is_some() && !meta.is_dir() {
            return Vec::new();
        }
    }
    head(&path, MOST_BYTES).unwrap_or_default()
}

fn lines(text: &[u8]) -> impl Iterator<Item = &[u8]> {
    text.split(|&b| b == b'\n').filter(|line| !line.is_empty())
}

fn split(line: &[u8]) -> Option<(&[u8], &[u8])> {
    let at = line.iter().position(|&b| b == b' ')?;
    Some((&line[..at], &line[at + 1..]))
}

/// Of a reflog's line.
fn message(line: &[u8]) -> Option<&[u8]> {
    let at = line.iter().position(|&b| b == b'\t')?;
    Some(&line[at + 1..])
}

fn short(name: &[u8]) -> String {
    let name = name.strip_prefix(b"refs/heads/").unwrap_or(name);
    cut(name)
}

fn cut(text: &[u8]) -> String {
    show(text).chars().take(MOST_TEXT).collect()
}
