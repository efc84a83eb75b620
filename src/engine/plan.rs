//! What a sandbox's root is made of: a plan of bind mounts and links, before anything is mounted.
//!
//! A target below a read-only mount in which it does not exist cannot simply be mounted: its mount
//! point cannot be made. There the plan opens the upper mount up: each of its entries becomes a
//! mount of its own beside the new one, down the path, and the rest of the upper mount stays as it
//! was. Nothing is ever created in a source.

use std::collections::BTreeMap;
use std::path::{Component, Path, PathBuf};

use super::{Access, Mount, Refusal, RefusalKind};

/// Not a mount's target; below them there may be some.
const RESERVED: [&str; 5] = ["/", "/dev", "/dev/shm", "/etc", "/tmp"];
/// No mount's target at all.
const CLOSED: [&str; 1] = ["/proc"];

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Entry {
    Bind(Bind),
    /// A symbolic link with this text.
    Link(PathBuf),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Bind {
    pub source: PathBuf,
    pub writable: bool,
    /// A device node, or a folder of them.
    pub device: bool,
}

/// Entries by their absolute path inside.
#[derive(Clone, Debug, Default)]
pub(super) struct Plan {
    pub entries: BTreeMap<PathBuf, Entry>,
}

impl Plan {
    /// A folder or file of the machine under its own path, when it is there; a link stays a link.
    pub(super) fn own(&mut self, path: &str) {
        let path = PathBuf::from(path);
        let Ok(metadata) = path.symlink_metadata() else {
            return;
        };
        let entry = if metadata.is_symlink() {
            match path.read_link() {
                Ok(text) => Entry::Link(text),
                Err(_) => return,
            }
        } else {
            Entry::Bind(Bind {
                source: path.clone(),
                writable: false,
                device: false,
            })
        };
        self.entries.insert(path, entry);
    }

    /// A file of the machine under its own path with links followed, when it is there.
    pub(super) fn own_file(&mut self, path: &str) {
        if let Ok(source) = Path::new(path).canonicalize() {
            let bind = Bind {
                source,
                writable: false,
                device: false,
            };
            self.entries.insert(path.into(), Entry::Bind(bind));
        }
    }

    /// A mount that was asked for.
    pub(super) fn mount(&mut self, target: &Path, bind: Bind) -> Result<(), Refusal> {
        let target = self.resolve(&clean(target)?);
        if RESERVED.iter().any(|own| target == Path::new(own))
            || CLOSED.iter().any(|own| target.starts_with(own))
        {
            return Err(refused(&target, "the sandbox keeps this place for itself"));
        }
        let directory = match bind.source.metadata() {
            Ok(metadata) => metadata.is_dir(),
            Err(e) => return Err(refused(&bind.source, &format!("mount source: {e}"))),
        };
        self.make_room(&target, directory)?;
        self.entries.insert(target, Entry::Bind(bind));
        Ok(())
    }

    /// The mounts that were asked for; upper ones first, so that a mount inside another one is put
    /// on top of it.
    pub(super) fn mounts(&mut self, mounts: &[Mount]) -> Result<(), Refusal> {
        let mut mounts: Vec<_> = mounts.iter().collect();
        mounts.sort_by(|a, b| a.target.cmp(&b.target));
        for mount in mounts {
            let bind = Bind {
                source: mount.source.clone(),
                writable: mount.access == Access::ReadWrite,
                device: false,
            };
            self.mount(&mount.target, bind)?;
        }
        Ok(())
    }

    /// Follows links of the plan itself (`/lib` to `usr/lib`), so that a target below one lands
    /// where it is looked for.
    fn resolve(&self, target: &Path) -> PathBuf {
        for ancestor in target.ancestors() {
            if let (Some(Entry::Link(text)), Ok(rest)) =
                (self.entries.get(ancestor), target.strip_prefix(ancestor))
            {
                let base = ancestor.parent().unwrap_or(Path::new("/")).join(text);
                return if rest.as_os_str().is_empty() {
                    target.to_owned()
                } else {
                    base.join(rest)
                };
            }
        }
        target.to_owned()
    }

    /// Opens mounts above `target` up until its mount point exists or can be made in the empty
    /// root.
    fn make_room(&mut self, target: &Path, directory: bool) -> Result<(), Refusal> {
        loop {
            let above = target
                .ancestors()
                .skip(1)
                .find_map(|a| match self.entries.get(a) {
                    Some(Entry::Bind(bind)) => Some((a.to_owned(), bind.clone())),
                    _ => None,
                });
            let Some((at, bind)) = above else {
                return Ok(());
            };
            let rest = target.strip_prefix(&at).unwrap_or(Path::new(""));
            if exists_as(&bind.source, rest, directory)
                .map_err(|why| refused(target, &format!("below {}: {why}", at.display())))?
            {
                return Ok(());
            }
            if bind.writable {
                return Err(refused(
                    target,
                    &format!(
                        "it lies below the writable mount {} and does not exist there: make it in {}",
                        at.display(),
                        bind.source.display()
                    ),
                ));
            }
            self.open_up(&at, &bind)?;
        }
    }

    fn open_up(&mut self, at: &Path, bind: &Bind) -> Result<(), Refusal> {
        let failed = |e: std::io::Error| refused(&bind.source, &format!("listing: {e}"));
        self.entries.remove(at);
        for entry in bind.source.read_dir().map_err(failed)? {
            let source = entry.map_err(failed)?.path();
            let Some(name) = source.file_name() else {
                continue;
            };
            let entry = match source.read_link() {
                Ok(text) => Entry::Link(text),
                Err(_) => Entry::Bind(Bind {
                    source: source.clone(),
                    ..bind.clone()
                }),
            };
            // what was already put there stays
            self.entries.entry(at.join(name)).or_insert(entry);
        }
        Ok(())
    }
}

/// Whether `rest` exists below `source` as what is to be mounted on it. A link on the way is an
/// error: a mount through it would land elsewhere.
fn exists_as(source: &Path, rest: &Path, directory: bool) -> Result<bool, String> {
    let mut path = source.to_owned();
    for component in rest.components() {
        path.push(component);
        match path.symlink_metadata() {
            Ok(metadata) if metadata.is_symlink() => {
                return Err(format!("{} is a symbolic link", path.display()));
            }
            Ok(_) => {}
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(false),
            Err(e) => return Err(format!("{}: {e}", path.display())),
        }
    }
    match path.symlink_metadata() {
        Ok(metadata) if metadata.is_dir() == directory => Ok(true),
        Ok(_) => Err(format!(
            "a folder and a file cannot be mounted on each other at {}",
            path.display()
        )),
        Err(e) => Err(format!("{}: {e}", path.display())),
    }
}

/// An absolute path without `.` and `..`.
fn clean(target: &Path) -> Result<PathBuf, Refusal> {
    let plain = |c: &Component<'_>| matches!(c, Component::RootDir | Component::Normal(_));
    if !target.is_absolute() || !target.components().all(|c| plain(&c)) {
        return Err(refused(
            target,
            "a mount target is an absolute path without `..`",
        ));
    }
    if target.to_str().is_none() {
        return Err(refused(target, "a mount target is UTF-8"));
    }
    Ok(target.components().collect())
}

pub(super) fn refused(path: &Path, message: &str) -> Refusal {
    Refusal {
        kind: RefusalKind::Mount,
        step: path.display().to_string(),
        message: message.to_owned(),
    }
}
