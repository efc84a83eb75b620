//! `infradev env gc`: what may go. Never what a live run uses, a build is making, a task of the
//! catalog wants, or somebody used lately.

use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use super::collect_cache;
use super::document::{Collected, CollectedItem, CollectedKind, EnvironmentState, Kept};
use super::scan::Disk;
use super::shelf::{Entry, Wanted, entries, is_hash, real};
use crate::environment::EnvironmentError;
use crate::environment::lock::{Mode, is_locked, lock_file, try_lock, use_file};
use crate::environment::seal::remove_tree;
use crate::environment::uv::READY;

/// A temporary file this old belongs to nobody who still writes it.
const FORGOTTEN: Duration = Duration::from_secs(3600);

/// What is asked for.
#[derive(Clone, Copy, Debug)]
pub struct Collect {
    /// Only looks.
    pub dry_run: bool,
    /// An environment that no task wants goes when it was not used for so many days.
    pub days: u32,
}

/// Removes what may go, or says what would.
pub fn collect(
    home: &Path,
    wanted: &Wanted,
    asked: Collect,
) -> Result<Collected, EnvironmentError> {
    let home = real(home)?;
    let mut collector = Collector {
        removal: Removal {
            home: &home,
            dry_run: asked.dry_run,
        },
        disk: Disk::default(),
        removed: Vec::new(),
        kept: Vec::new(),
    };
    let mut stays = Vec::new();
    for entry in entries(&home)? {
        match reason_to_keep(&entry, wanted, asked.days) {
            Some(why) => {
                collector.keep(&entry.hash, why);
                stays.push(entry.folder);
            }
            None => {
                if !collector.environment(&entry, asked.days)? {
                    stays.push(entry.folder);
                }
            }
        }
    }
    collector.temporary()?;
    let mut notes = wanted.notes.clone();
    match collect_cache::unlinked(&home, &stays)? {
        Ok(unlinked) => {
            for (path, why) in unlinked.entries {
                collector.tree(CollectedKind::Cache, path, why)?;
            }
            collector.pooled(&unlinked.pooled)?;
        }
        Err(busy) => notes.push(busy),
    }
    Ok(Collected {
        schema: 1,
        dry_run: asked.dry_run,
        days: asked.days,
        freed_bytes: collector.disk.freed(),
        removed: collector.removed,
        kept: collector.kept,
        notes,
    })
}

fn reason_to_keep(entry: &Entry, wanted: &Wanted, days: u32) -> Option<String> {
    match entry.state() {
        EnvironmentState::Building => return Some("it is being built".into()),
        EnvironmentState::Unfinished => return None,
        EnvironmentState::Ready | EnvironmentState::Stale => {}
    }
    let tasks = wanted.of(&entry.hash);
    if !tasks.is_empty() {
        return Some(format!("wanted by {}", tasks.join(", ")));
    }
    if entry.in_use() {
        return Some("a live run uses it".into());
    }
    let unused = age(entry.last_used());
    let whole_days = unused.as_secs() / 86_400;
    (whole_days < u64::from(days)).then(|| format!("used {whole_days} days ago, less than {days}"))
}

/// How long ago; a time in the future is now.
fn age(at: Option<SystemTime>) -> Duration {
    let at = at.unwrap_or_else(SystemTime::now);
    at.elapsed().unwrap_or_default()
}

struct Collector<'a> {
    removal: Removal<'a>,
    /// Everything that went, or would go.
    disk: Disk,
    removed: Vec<CollectedItem>,
    kept: Vec<Kept>,
}

impl Collector<'_> {
    /// Whether it went.
    fn environment(&mut self, entry: &Entry, days: u32) -> Result<bool, EnvironmentError> {
        let (kind, why) = if entry.ready.is_some() {
            let why = format!("no task wants it, and nobody used it for {days} days");
            (CollectedKind::Environment, why)
        } else {
            let why = "left by a build that was killed".to_string();
            (CollectedKind::Unfinished, why)
        };
        // counted before it goes; what is kept after all is not counted
        let mut disk = Disk::of(&entry.folder)?;
        match self.removal.environment(&entry.hash)? {
            Removed::Gone(bytes) => {
                self.disk.take(&mut disk);
                self.removed.push(CollectedItem {
                    kind,
                    path: Path::new("env").join(&entry.hash),
                    bytes,
                    why,
                });
                Ok(true)
            }
            Removed::Kept(why) => {
                self.keep(&entry.hash, why);
                Ok(false)
            }
        }
    }

    fn keep(&mut self, hash: &str, why: String) {
        self.kept.push(Kept {
            hash: hash.into(),
            why,
        });
    }

    fn tree(
        &mut self,
        kind: CollectedKind,
        path: PathBuf,
        why: String,
    ) -> Result<(), EnvironmentError> {
        self.disk.add(&self.removal.home.join(&path))?;
        let bytes = self.removal.tree(&path)?;
        self.removed.push(CollectedItem {
            kind,
            path,
            bytes,
            why,
        });
        Ok(())
    }

    /// Thousands, told as one.
    fn pooled(&mut self, files: &[PathBuf]) -> Result<(), EnvironmentError> {
        let mut bytes = 0;
        for path in files {
            self.disk.add(&self.removal.home.join(path))?;
            bytes += self.removal.tree(path)?;
        }
        if !files.is_empty() {
            self.removed.push(CollectedItem {
                kind: CollectedKind::Pool,
                path: Path::new("cache").join("files"),
                bytes,
                why: format!("{} files that no environment links", files.len()),
            });
        }
        Ok(())
    }

    /// What killed processes left beside the environments, and in the folder of tools.
    fn temporary(&mut self) -> Result<(), EnvironmentError> {
        for folder in ["env", "tools"] {
            let folder = Path::new(folder);
            let names = std::fs::read_dir(self.removal.home.join(folder));
            for name in names.into_iter().flatten().flatten() {
                let Ok(file_name) = name.file_name().into_string() else {
                    continue;
                };
                let path = folder.join(&file_name);
                let modified = name.metadata().and_then(|m| m.modified()).ok();
                if is_temporary(&file_name) && age(modified) > FORGOTTEN {
                    let why = "left by a process that was killed".into();
                    self.tree(CollectedKind::Temporary, path, why)?;
                } else if let Some(hash) = lock_of(&file_name)
                    && !self.removal.home.join(folder).join(hash).exists()
                {
                    self.lock_file(path)?;
                }
            }
        }
        Ok(())
    }

    /// Removed only while it is ours: whoever waits for it looks for its name again.
    fn lock_file(&mut self, path: PathBuf) -> Result<(), EnvironmentError> {
        let full = self.removal.home.join(&path);
        let _held = if self.removal.dry_run {
            if is_locked(&full) {
                return Ok(());
            }
            None
        } else {
            match try_lock(&full, Mode::Alone)? {
                Some(held) => Some(held),
                None => return Ok(()),
            }
        };
        let why = "the lock of an environment that is gone".into();
        self.tree(CollectedKind::Temporary, path, why)
    }
}

/// The hash of `<hash>.lock` or `<hash>.use`.
fn lock_of(name: &str) -> Option<&str> {
    let (hash, _) = name
        .rsplit_once('.')
        .filter(|(_, end)| matches!(*end, "lock" | "use"))?;
    is_hash(hash).then_some(hash)
}

/// Names that this version gives to what it is about to rename or to remove.
fn is_temporary(name: &str) -> bool {
    name.starts_with("interpreters.json.")
        || name.starts_with(".link-test-")
        || matches!(name, "uv.new" | "pip.new")
}

pub(super) enum Removed {
    /// With its size.
    Gone(u64),
    /// Nobody may take it just now, for this reason.
    Kept(String),
}

/// Takes things away, or only says how large they are.
pub(super) struct Removal<'a> {
    pub home: &'a Path,
    pub dry_run: bool,
}

impl Removal<'_> {
    /// Under both of its locks: nobody builds it, nobody uses it.
    pub fn environment(&self, hash: &str) -> Result<Removed, EnvironmentError> {
        let environments = self.home.join("env");
        let folder = environments.join(hash);
        let (lock, used) = (
            lock_file(&environments, hash),
            use_file(&environments, hash),
        );
        let bytes = Disk::of(&folder)?.bytes();
        if self.dry_run {
            return Ok(Removed::Gone(bytes));
        }
        let Some(_building) = try_lock(&lock, Mode::Alone)? else {
            return Ok(Removed::Kept("it is being built".into()));
        };
        let Some(_using) = try_lock(&used, Mode::Alone)? else {
            return Ok(Removed::Kept("a live run uses it".into()));
        };
        // first its record: killed after that, we leave an unfinished build
        let ready = folder.join(READY);
        match std::fs::remove_file(&ready) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                return Err(EnvironmentError::io(&ready)(error));
            }
            _ => {}
        }
        remove_tree(&folder)?;
        for path in [used, lock] {
            std::fs::remove_file(&path).map_err(EnvironmentError::io(&path))?;
        }
        Ok(Removed::Gone(bytes))
    }

    /// A file or folder below the home; its size.
    pub fn tree(&self, path: &Path) -> Result<u64, EnvironmentError> {
        let path = self.home.join(path);
        let bytes = Disk::of(&path)?.bytes();
        if !self.dry_run {
            remove_tree(&path)?;
        }
        Ok(bytes)
    }
}
