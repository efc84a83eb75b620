//! `infradev env check`: whether environments still are what was sealed, and who else could change
//! them.
//!
//! A hard link makes one file belong to many environments: what is written through one link is
//! written in all. So each file that has links is looked for in the cache, in the pool of equal
//! files and in every environment of this home, and a link that is in none of them is told.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::fs::Metadata;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

use sha2::{Digest, Sha256};

use super::document::{CheckedEnvironment, EnvironmentsChecked, Finding, FindingKind};
use super::scan::{Inode, inode, walk};
use super::shelf::{Entry, entries, real};
use crate::domain::hex;
use crate::environment::lock::Hold;
use crate::environment::seal::{Change, MANIFEST, verify};
use crate::environment::uv::{Ready, recorded_hash};
use crate::environment::{EnvironmentError, pool, uv_build};

/// Reads every file of the named environments (a hash, or the beginning of one; none: all that are
/// finished). `each` is told when one is done.
pub fn check(
    home: &Path,
    hashes: &[String],
    each: &mut dyn FnMut(&CheckedEnvironment),
) -> Result<EnvironmentsChecked, EnvironmentError> {
    let home = real(home)?;
    let all = entries(&home)?;
    let named = named(&home, &all, hashes)?;
    let mut links = Links::of(&home, &all)?;
    let mut checked = Vec::new();
    for (entry, ready) in named {
        // not collected while it is read
        let stop = AtomicBool::new(false);
        let _hold = Hold::look(&home.join("env"), &entry.hash, &stop)?;
        if !entry.folder.is_dir() {
            continue;
        }
        let mut audit = Audit::new(entry, &links);
        audit.read(&home, ready)?;
        if audit.links_are_missing() {
            // a build that goes on beside us makes links after we looked
            links = Links::of(&home, &entries(&home)?)?;
            audit = Audit::new(entry, &links);
            audit.read(&home, ready)?;
        }
        let environment = audit.finish(&home, ready)?;
        each(&environment);
        checked.push(environment);
    }
    Ok(EnvironmentsChecked {
        schema: 1,
        ok: checked.iter().all(|environment| environment.ok),
        environments: checked,
        discarded: Vec::new(),
        kept: Vec::new(),
    })
}

fn named<'a>(
    home: &Path,
    all: &'a [Entry],
    hashes: &[String],
) -> Result<Vec<(&'a Entry, &'a Ready)>, EnvironmentError> {
    let finished = |entry: &'a Entry| Some((entry, entry.ready.as_ref()?));
    if hashes.is_empty() {
        return Ok(all.iter().filter_map(finished).collect());
    }
    let mut found = Vec::new();
    for hash in hashes {
        let refuse = |reason: String| EnvironmentError::NoEnvironment {
            hash: hash.clone(),
            home: home.to_path_buf(),
            reason,
        };
        let mut fitting = all.iter().filter(|entry| entry.hash.starts_with(hash));
        let entry = match (fitting.next(), fitting.count()) {
            _ if hash.is_empty() => return Err(refuse("an empty hash".into())),
            (None, _) => return Err(refuse("no environment has that hash".into())),
            (Some(entry), 0) => entry,
            (_, more) => return Err(refuse(format!("{} have, give more of it", more + 1))),
        };
        let Some(one) = finished(entry) else {
            return Err(refuse("its build was not finished".into()));
        };
        found.push(one);
    }
    Ok(found)
}

/// Who holds which file, of all files of this home's environments and cache that have links.
struct Links {
    /// The cache and the pool have number 0, environments follow.
    owners: Vec<String>,
    by_inode: HashMap<Inode, Vec<u32>>,
}

impl Links {
    fn of(home: &Path, all: &[Entry]) -> Result<Self, EnvironmentError> {
        let mut links = Self {
            owners: vec![String::new()],
            by_inode: HashMap::new(),
        };
        links.add(&cache(home))?;
        links.add(&pool::folder(home))?;
        for entry in all {
            links.owners.push(entry.hash.clone());
            links.add(&entry.folder)?;
        }
        Ok(links)
    }

    fn add(&mut self, root: &Path) -> Result<(), EnvironmentError> {
        let owner = (self.owners.len() - 1) as u32;
        walk(root, &mut |_, metadata| {
            if has_links(metadata) {
                let holders = self.by_inode.entry(inode(metadata)).or_default();
                holders.push(owner);
            }
        })
    }
}

fn cache(home: &Path) -> PathBuf {
    home.join("cache").join("uv")
}

fn has_links(metadata: &Metadata) -> bool {
    metadata.is_file() && metadata.nlink() > 1
}

/// One environment under examination.
struct Audit<'a> {
    entry: &'a Entry,
    links: &'a Links,
    findings: Vec<Finding>,
}

impl<'a> Audit<'a> {
    fn new(entry: &'a Entry, links: &'a Links) -> Self {
        Self {
            entry,
            links,
            findings: Vec::new(),
        }
    }

    fn read(&mut self, home: &Path, ready: &Ready) -> Result<(), EnvironmentError> {
        let folder = &self.entry.folder;
        let manifest = std::fs::read(folder.join(MANIFEST)).unwrap_or_default();
        if hex(&Sha256::digest(&manifest)) != ready.sealed.tree_sha256 {
            self.add(FindingKind::Manifest, MANIFEST.into(), None);
        }
        if recorded_hash(folder, ready).as_ref() != Some(&self.entry.hash) {
            self.add(FindingKind::Manifest, uv_build::LOCK.into(), None);
        }
        let venv = Path::new("venv");
        let mut told = HashSet::new();
        for change in verify(home, &self.entry.hash)? {
            let (kind, path) = match change {
                Change::Added(path) => (FindingKind::Added, path),
                Change::Removed(path) => (FindingKind::Removed, path),
                Change::Modified(path) => (FindingKind::Modified, path),
            };
            let path = venv.join(path);
            let metadata = std::fs::symlink_metadata(folder.join(&path)).ok();
            told.insert(path.clone());
            self.add(kind, path, metadata.as_ref());
        }
        walk(&folder.join(venv), &mut |path, metadata| {
            let path = path.strip_prefix(folder).unwrap_or(path);
            if metadata.is_symlink() || told.contains(path) {
                return;
            }
            if metadata.mode() & 0o222 != 0 {
                self.add(FindingKind::Writable, path.into(), Some(metadata));
            }
            if has_links(metadata) && metadata.nlink() > self.known(metadata) {
                self.add(FindingKind::ForeignLink, path.into(), Some(metadata));
            }
        })
    }

    fn known(&self, metadata: &Metadata) -> u64 {
        let holders = self.links.by_inode.get(&inode(metadata));
        holders.map_or(1, Vec::len) as u64
    }

    fn links_are_missing(&self) -> bool {
        let mut findings = self.findings.iter();
        findings.any(|finding| finding.kind == FindingKind::ForeignLink)
    }

    fn add(&mut self, kind: FindingKind, path: PathBuf, metadata: Option<&Metadata>) {
        let file = metadata.filter(|m| m.is_file());
        let holders = file.and_then(|m| self.links.by_inode.get(&inode(m)));
        let others: BTreeSet<&String> = holders
            .into_iter()
            .flatten()
            .map(|owner| &self.links.owners[*owner as usize])
            .filter(|hash| !hash.is_empty() && **hash != self.entry.hash)
            .collect();
        self.findings.push(Finding {
            kind,
            path,
            shared_with: others.into_iter().cloned().collect(),
            cached: Vec::new(),
            pooled: Vec::new(),
            links: file.map(MetadataExt::nlink),
            known_links: file.map(|m| self.known(m)),
            inode: file.map(MetadataExt::ino),
        });
    }

    /// Looks up where the cache and the pool hold what was found.
    fn finish(
        mut self,
        home: &Path,
        ready: &Ready,
    ) -> Result<CheckedEnvironment, EnvironmentError> {
        let wanted: HashMap<u64, usize> = self
            .findings
            .iter()
            .enumerate()
            .filter(|(_, finding)| finding.links.is_some_and(|links| links > 1))
            .filter_map(|(at, finding)| Some((finding.inode?, at)))
            .collect();
        if !wanted.is_empty() {
            for (root, is_pool) in [(cache(home), false), (pool::folder(home), true)] {
                walk(&root, &mut |path, metadata| {
                    if has_links(metadata)
                        && let Some(at) = wanted.get(&metadata.ino())
                    {
                        let below = path.strip_prefix(&root).unwrap_or(path).to_path_buf();
                        let finding = &mut self.findings[*at];
                        if is_pool {
                            finding.pooled.push(below);
                        } else {
                            finding.cached.push(below);
                        }
                    }
                })?;
            }
        }
        self.findings
            .sort_by(|a, b| (a.kind, &a.path).cmp(&(b.kind, &b.path)));
        let manifest = std::fs::read_to_string(self.entry.folder.join(MANIFEST));
        Ok(CheckedEnvironment {
            hash: self.entry.hash.clone(),
            ok: self.findings.is_empty(),
            tree_sha256: ready.sealed.tree_sha256.clone(),
            files: manifest.map_or(0, |text| text.lines().count() as u64),
            findings: self.findings,
        })
    }
}
