//! What a sandbox shows beside its environment: packages of the interpreter below it, of other
//! environments in the same place, of the system, whose folders are there for their programs. An
//! agent could read them.

use std::ffi::OsStr;
use std::fs::DirEntry;
use std::path::{Path, PathBuf};

use super::EnvironmentError;
use super::distributions::{ENDS, named};
use super::image::{self, Asked};
use super::interpreter::Package;
use super::project::Project;
use super::types::{Environment, Progress, Request};

/// Installation prefixes of a system that both engines show.
const SYSTEM: [&str; 2] = ["/usr", "/usr/local"];
/// Deepest folder that is looked into.
const DEEPEST: usize = 64;

/// What is seen, some of it perhaps twice.
#[derive(Clone, Debug, Default)]
pub struct Beside {
    /// By the metadata beside the modules, and by archives that hold a package.
    pub packages: Vec<Package>,
    /// Folders that are packages of the task's own project, whatever they are called when they are
    /// installed.
    pub modules: Vec<PathBuf>,
}

/// All that can be read. On this machine the folders are walked; in an image its interpreter does
/// that. Nothing that is found is executed.
pub fn beside(
    request: &Request,
    environment: &Environment,
    project: &Project,
    progress: &dyn Fn(Progress),
) -> Result<Beside, EnvironmentError> {
    let mut found = Beside::default();
    for mount in &environment.mounts {
        found.look(&mount.source, project, 0);
    }
    match Asked::of(request, &request.home, progress) {
        None => {
            for prefix in SYSTEM {
                for folder in module_folders(Path::new(prefix)) {
                    found.folder(&folder, project);
                }
            }
        }
        Some(asked) => {
            let modules: Vec<&str> = project.modules().collect();
            let seen = image::beside(&asked, &ENDS, &modules)?;
            let names = seen.entries.iter();
            found.packages.extend(names.filter_map(|name| named(name)));
            found.modules.extend(seen.modules);
        }
    }
    Ok(found)
}

impl Beside {
    /// A folder and all below it; links lead to what is looked at by itself, or is not in reach.
    fn look(&mut self, folder: &Path, project: &Project, deep: usize) {
        let here = self.folder(folder, project);
        for entry in here.into_iter().take_while(|_| deep < DEEPEST) {
            if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                self.look(&entry.path(), project, deep + 1);
            }
        }
    }

    /// Only what lies in it; its entries.
    fn folder(&mut self, folder: &Path, project: &Project) -> Vec<DirEntry> {
        let here: Vec<DirEntry> = entries(folder).collect();
        let names: Vec<Package> = (here.iter())
            .filter_map(|entry| named(entry.file_name().to_str()?))
            .collect();
        // modules lie beside metadata, or in a folder that is mounted for them
        let is_for_modules = |name: &OsStr| name == "site-packages" || name == "dist-packages";
        if !names.is_empty() || folder.file_name().is_some_and(is_for_modules) {
            let modules = project.modules().map(|module| folder.join(module));
            self.modules
                .extend(modules.filter(|module| module.join("__init__.py").exists()));
        }
        self.packages.extend(names);
        here
    }
}

/// Where the pythons of a prefix keep their modules.
fn module_folders(prefix: &Path) -> Vec<PathBuf> {
    let libraries = ["lib", "lib64"].map(|name| prefix.join(name));
    let pythons = libraries.iter().flat_map(|lib| {
        let named = |path: &PathBuf| {
            let name = path.file_name().and_then(|n| n.to_str());
            name.is_some_and(|name| name.starts_with("python") || name.starts_with("pypy"))
        };
        entries(lib).map(|entry| entry.path()).filter(named)
    });
    pythons
        .flat_map(|python| ["site-packages", "dist-packages"].map(|name| python.join(name)))
        .collect()
}

fn entries(folder: &Path) -> impl Iterator<Item = DirEntry> + use<> {
    std::fs::read_dir(folder).into_iter().flatten().flatten()
}

/// All that lies in a folder at any depth, sorted: a script may have made a virtual environment, a
/// tool's own store or a cache there.
pub fn packages_below(folder: &Path) -> Vec<Package> {
    let mut found = Beside::default();
    found.look(folder, &Project::default(), 0);
    found.packages.sort();
    found.packages.dedup();
    found.packages
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn make(root: &Path, paths: &[&str]) {
        for path in paths {
            let path = root.join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, "").unwrap();
        }
    }

    fn told(packages: &[Package]) -> Vec<String> {
        let mut told: Vec<String> = (packages.iter())
            .map(|p| format!("{} {}", p.name, p.version))
            .collect();
        told.sort();
        told
    }

    #[test]
    fn what_lies_anywhere_below_a_mount_is_found() {
        let dir = tempfile::tempdir().unwrap();
        let nothing = Project::of(&dir.path().join("absent"));
        make(
            dir.path(),
            &[
                "lib/python3/dist-packages/distro_info-1.1.egg-info",
                "lib/python3.11/site-packages/numpy-2.1.0.dist-info/METADATA",
                "lib64/python3.12/site-packages/old.name-3-py3.12.egg-info/x",
                // another environment, and packages that wait to be unpacked
                "envs/other/lib/python3.12/site-packages/vllm-0.12.0.dist-info/RECORD",
                "pkgs/py-torch-2.9.1-py311_0.conda",
                "pkgs/numpy-1.26.0-py311h_1.tar.bz2",
                "wheels/megatron_core-0.15.0-cp312-cp312-linux_x86_64.whl",
                "share/plain-1.0.txt",
                "lib/python3/dist-packages/linked.egg-info",
            ],
        );
        let mut found = Beside::default();
        found.look(dir.path(), &nothing, 0);
        assert_eq!(
            told(&found.packages),
            [
                "distro_info 1.1",
                "linked (version unknown)",
                "megatron_core 0.15.0",
                "numpy 1.26.0",
                "numpy 2.1.0",
                "old.name 3",
                "py-torch 2.9.1",
                "vllm 0.12.0",
            ]
        );
        // a cache of what was fetched is a mount's like any other, and links lead nowhere
        std::os::unix::fs::symlink(dir.path(), dir.path().join("lib/up")).unwrap();
        let below = packages_below(dir.path());
        assert_eq!(told(&below), told(&found.packages));
        let folders = module_folders(dir.path());
        assert_eq!(folders.len(), 6, "{folders:?}");
    }

    #[test]
    fn a_release_under_another_name_is_found_by_its_packages() {
        let dir = tempfile::tempdir().unwrap();
        let (base, there) = (dir.path().join("base"), dir.path().join("there"));
        make(&base, &["megatron/core/__init__.py", "plain/__init__.py"]);
        let project = Project::of(&base);
        make(
            &there,
            &[
                "site-packages/megatron/core/__init__.py",
                "site-packages/megatron/other/__init__.py",
                "checkout/odd_name-1.egg-info/PKG-INFO",
                "checkout/plain/__init__.py",
                "elsewhere/plain/__init__.py",
            ],
        );
        let mut found = Beside::default();
        found.look(&there, &project, 0);
        found.modules.sort();
        assert_eq!(
            found.modules,
            [
                there.join("checkout/plain"),
                there.join("site-packages/megatron/core")
            ]
        );
    }
}
