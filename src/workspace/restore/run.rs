//! The walk over the work tree and over gold.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use git2::Oid;

use super::super::walk::{Kind, content, list};
use super::super::{Snapshot, WorkspaceError};
use super::ini::Sections;
use super::outcome::{Action, Restored};
use super::{files, ini, modules, pyproject};

struct Work<'a> {
    dir: &'a Path,
    snapshot: &'a Snapshot,
    gold: Oid,
    /// Gold's files with their modes, without those of the suites.
    gold_files: BTreeMap<PathBuf, u32>,
    suites: Vec<PathBuf>,
    done: Vec<Restored>,
}

/// Puts the test configuration of a work tree back to gold's. `suites`: the folders that suites
/// replace, which are left alone; `pythonpath`: the folders of the module path, relative to the
/// work tree. To be called after the build step too, which runs the submission's code.
pub fn restore_configuration(
    work: &Path,
    snapshot: &Snapshot,
    gold: Oid,
    suites: &[&str],
    pythonpath: &[&str],
) -> Result<Vec<Restored>, WorkspaceError> {
    let suites: Vec<PathBuf> = suites.iter().map(|s| clean(s)).collect();
    let gold_files = snapshot
        .files(gold)?
        .into_iter()
        .map(|(path, mode)| (PathBuf::from(OsStr::from_bytes(&path)), mode))
        .filter(|(path, _)| !suites.iter().any(|s| path.starts_with(s)))
        .collect();
    let mut state = Work {
        dir: work,
        snapshot,
        gold,
        gold_files,
        suites,
        done: Vec::new(),
    };
    state.folder(Path::new(""))?;
    state.missing()?;
    let mut roots: BTreeSet<PathBuf> = pythonpath.iter().map(|p| clean(p)).collect();
    roots.insert(PathBuf::new());
    for root in roots {
        state.shadows(&root)?;
    }
    Ok(state.done)
}

/// A relative path without `.` and slashes at its end; one that leaves the work tree is its root.
fn clean(path: &str) -> PathBuf {
    use std::path::Component;
    let parts = Path::new(path).components();
    let mut clean = PathBuf::new();
    for part in parts {
        match part {
            Component::Normal(name) => clean.push(name),
            Component::CurDir => {}
            _ => return PathBuf::new(),
        }
    }
    clean
}

impl Work<'_> {
    fn note(&mut self, path: &Path, action: Action, why: &str) {
        self.done.push(Restored {
            path: path.to_path_buf(),
            action,
            why: why.into(),
        });
    }

    fn gold_bytes(&self, path: &Path) -> Result<Option<Vec<u8>>, WorkspaceError> {
        if !self.gold_files.contains_key(path) {
            return Ok(None);
        }
        self.snapshot.file(self.gold, path.as_os_str().as_bytes())
    }

    /// Whether gold has files below the folder.
    fn gold_has_folder(&self, path: &Path) -> bool {
        self.gold_files
            .range(path.to_path_buf()..)
            .next()
            .is_some_and(|(p, _)| p.starts_with(path))
    }

    fn folder(&mut self, below: &Path) -> Result<(), WorkspaceError> {
        for (name, kind) in list(&self.dir.join(below))? {
            let relative = below.join(&name);
            if self.suites.contains(&relative) {
                continue;
            }
            let bytes = name.as_bytes();
            let is_folder = kind == Some(Kind::Folder);
            if files::is_whole(bytes) && !(is_folder && bytes.ends_with(b".pth")) {
                self.whole(&relative, kind)?;
            } else if files::has_sections(bytes) {
                self.sections(&relative, kind)?;
            } else if bytes == b"entry_points.txt"
                && below
                    .file_name()
                    .is_some_and(|n| files::is_metadata(n.as_bytes()))
            {
                self.entry_points(&relative, kind)?;
            } else if bytes == b"__pycache__" && !self.gold_has_folder(&relative) {
                files::remove(&self.dir.join(&relative))?;
                self.note(&relative, Action::Removed, "compiled bytecode");
            } else if is_folder {
                self.folder(&relative)?;
            }
        }
        Ok(())
    }

    /// A file that is gold's or gone.
    fn whole(&mut self, relative: &Path, kind: Option<Kind>) -> Result<(), WorkspaceError> {
        let path = self.dir.join(relative);
        let Some(wanted) = self.gold_bytes(relative)? else {
            files::remove(&path)?;
            self.note(
                relative,
                Action::Removed,
                "test configuration that gold lacks",
            );
            return Ok(());
        };
        let mode = self.gold_files.get(relative).copied().unwrap_or(0o100_644);
        if let Some(kind) = kind
            && kind.mode() as u32 == mode
            && content(&path, kind)? == wanted
        {
            return Ok(());
        }
        self.put(relative, mode, &wanted, "test configuration")
    }

    fn put(
        &mut self,
        relative: &Path,
        mode: u32,
        bytes: &[u8],
        why: &str,
    ) -> Result<(), WorkspaceError> {
        if files::write(self.dir, relative, mode, bytes)? {
            self.note(relative, Action::Restored, why);
        }
        Ok(())
    }

    /// A file whose test sections are gold's.
    fn sections(&mut self, relative: &Path, kind: Option<Kind>) -> Result<(), WorkspaceError> {
        let path = self.dir.join(relative);
        let gold = self.gold_bytes(relative)?;
        let compared = match kind {
            Some(kind @ Kind::File { .. }) => {
                let there = content(&path, kind)?;
                compare_sections(relative, gold.as_deref(), &there)
            }
            // a symlink or a folder in its place
            _ => Sections::Whole,
        };
        match compared {
            Sections::Same => {}
            Sections::Set(text) if text.trim().is_empty() && gold.is_none() => {
                files::remove(&path)?;
                self.note(
                    relative,
                    Action::Removed,
                    "test configuration that gold lacks",
                );
            }
            Sections::Set(text) => {
                let mode = kind.map_or(0o100_644, |k| k.mode() as u32);
                if files::write(self.dir, relative, mode, text.as_bytes())? {
                    self.note(
                        relative,
                        Action::SectionRestored,
                        "test sections are gold's",
                    );
                }
            }
            Sections::Whole => {
                let why = "its test sections could not be told apart safely";
                if let Some(bytes) = gold {
                    let mode = self.gold_files.get(relative).copied().unwrap_or(0o100_644);
                    self.put(relative, mode, &bytes, why)?;
                } else {
                    files::remove(&path)?;
                    self.note(relative, Action::Removed, why);
                }
            }
        }
        Ok(())
    }

    /// Plugins that installed metadata registers.
    fn entry_points(&mut self, relative: &Path, kind: Option<Kind>) -> Result<(), WorkspaceError> {
        let path = self.dir.join(relative);
        let there = match kind {
            Some(kind @ Kind::File { .. }) => content(&path, kind)?,
            _ => b"pytest11".to_vec(),
        };
        let registers = memchr::memmem::find(&there, b"pytest11").is_some();
        let gold = self.gold_bytes(relative)?;
        if !registers || gold.as_deref() == Some(&there) {
            return Ok(());
        }
        let why = "it registers a pytest plugin";
        if let Some(bytes) = gold {
            return self.put(relative, 0o100_644, &bytes, why);
        }
        files::remove(&path)?;
        self.note(relative, Action::Removed, why);
        Ok(())
    }

    /// Gold's configuration that the submission deleted.
    fn missing(&mut self) -> Result<(), WorkspaceError> {
        let wanted: Vec<(PathBuf, u32)> = self
            .gold_files
            .iter()
            .filter(|(path, _)| {
                let name = path.file_name().map(OsStr::as_bytes).unwrap_or_default();
                files::is_whole(name) || files::has_sections(name)
            })
            .filter(|(path, _)| fs::symlink_metadata(self.dir.join(path)).is_err())
            .map(|(path, mode)| (path.clone(), *mode))
            .collect();
        for (path, mode) in wanted {
            let bytes = self.gold_bytes(&path)?.unwrap_or_default();
            let name = path.file_name().map(OsStr::as_bytes).unwrap_or_default();
            // without test sections it is the project's business
            if files::has_sections(name)
                && compare_sections(&path, Some(&bytes), b"") == Sections::Same
            {
                continue;
            }
            self.put(&path, mode, &bytes, "test configuration that was deleted")?;
        }
        Ok(())
    }

    /// Modules of one folder of the module path that stand before what tests import.
    fn shadows(&mut self, root: &Path) -> Result<(), WorkspaceError> {
        let dir = self.dir.join(root);
        // a root may be a symlink of the submission; it must still be inside
        let (Ok(real), Ok(inside)) = (dir.canonicalize(), self.dir.canonicalize()) else {
            return Ok(());
        };
        if !real.starts_with(&inside) || !real.is_dir() {
            return Ok(());
        }
        for (name, kind) in list(&real)? {
            let relative = root.join(&name);
            if self.suites.contains(&relative) {
                continue;
            }
            let module = if is_package(&real.join(&name), kind) {
                name.to_str()
            } else if kind == Some(Kind::Folder) {
                None
            } else {
                modules::module_of_file(&name)
            };
            let Some(module) = module.filter(|m| modules::is_guarded(m)) else {
                continue;
            };
            if self.gold_has_module(root, module) {
                continue;
            }
            let why = format!("it shadows the module {module}");
            files::remove(&real.join(&name))?;
            self.note(&relative, Action::Removed, &why);
        }
        Ok(())
    }

    /// Gold's own module of that name may be changed like any other file of the project.
    fn gold_has_module(&self, root: &Path, module: &str) -> bool {
        self.gold_files.keys().any(|path| {
            let Ok(inner) = path.strip_prefix(root) else {
                return false;
            };
            let mut parts = inner.components();
            let Some(first) = parts.next() else {
                return false;
            };
            let first = first.as_os_str();
            if parts.next().is_some() {
                first == module
            } else {
                modules::module_of_file(first) == Some(module)
            }
        })
    }
}

fn compare_sections(relative: &Path, gold: Option<&[u8]>, there: &[u8]) -> Sections {
    if relative.extension() == Some(OsStr::new("toml")) {
        pyproject::compare(gold, there)
    } else {
        ini::compare(gold, there)
    }
}

/// A folder with an `__init__` wins over later entries of the module path; one without does not.
/// A symlink may lead to one.
fn is_package(path: &Path, kind: Option<Kind>) -> bool {
    match kind {
        Some(Kind::Link) => path.is_dir(),
        Some(Kind::Folder) => fs::read_dir(path).is_ok_and(|entries| {
            entries
                .flatten()
                .any(|e| modules::module_of_file(&e.file_name()) == Some("__init__"))
        }),
        _ => false,
    }
}
