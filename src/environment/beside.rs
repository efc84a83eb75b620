//! Packages that a sandbox shows beside its environment's: of the interpreter below it and of the
//! system, whose folders are there for their programs. An agent could read them.

use std::path::{Path, PathBuf};

use super::EnvironmentError;
use super::image::{self, Asked};
use super::interpreter::Package;
use super::types::{Environment, Progress, Request};

/// Installation prefixes of a system that both engines show.
const SYSTEM: [&str; 2] = ["/usr", "/usr/local"];

/// All that is found, some of it perhaps twice. On this machine the folders are read; an image's
/// interpreter is asked, as for the kind `image`.
pub fn packages_beside(
    request: &Request,
    environment: &Environment,
    progress: &dyn Fn(Progress),
) -> Result<Vec<Package>, EnvironmentError> {
    let mounted = environment.mounts.iter().map(|m| m.source.clone());
    let mut found: Vec<Package> = mounted.flat_map(|prefix| installed_in(&prefix)).collect();
    match Asked::of(request, &request.home, progress) {
        None => found.extend(SYSTEM.iter().flat_map(|at| installed_in(Path::new(at)))),
        Some(asked) => match image::find(&asked, None, true) {
            Ok(facts) => found.extend(facts.packages),
            // what has no interpreter holds no packages
            Err(EnvironmentError::NoInterpreterInImage { .. }) => {}
            Err(error) => return Err(error),
        },
    }
    Ok(found)
}

/// By the metadata that stands beside the modules of a prefix; nothing is executed.
fn installed_in(prefix: &Path) -> Vec<Package> {
    let libraries = ["lib", "lib64"].map(|name| prefix.join(name));
    let pythons = libraries.iter().flat_map(|lib| {
        let named = |path: &PathBuf| {
            let name = path.file_name().and_then(|n| n.to_str());
            name.is_some_and(|name| name.starts_with("python") || name.starts_with("pypy"))
        };
        entries(lib).filter(named)
    });
    // a folder of modules that is mounted by itself
    let folders = pythons
        .flat_map(|python| ["site-packages", "dist-packages"].map(|name| python.join(name)))
        .chain([prefix.to_path_buf()]);
    folders
        .flat_map(|folder| entries(&folder).collect::<Vec<_>>())
        .filter_map(|path| named(path.file_name()?.to_str()?))
        .collect()
}

fn entries(folder: &Path) -> impl Iterator<Item = PathBuf> + use<> {
    let found = std::fs::read_dir(folder).into_iter().flatten().flatten();
    found.map(|entry| entry.path())
}

/// `name-1.0.dist-info`, `name-1.0-py3.11.egg-info`, `name.egg-info`.
fn named(metadata: &str) -> Option<Package> {
    let stem = (metadata.strip_suffix(".dist-info")).or(metadata.strip_suffix(".egg-info"))?;
    let (name, rest) = stem.split_once('-').unwrap_or((stem, ""));
    Some(Package {
        name: name.into(),
        version: rest.split("-py").next().unwrap_or_default().into(),
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn what_stands_beside_the_modules_of_any_python_is_found() {
        let dir = tempfile::tempdir().unwrap();
        for path in [
            "lib/python3/dist-packages/distro_info-1.1.egg-info",
            "lib/python3.11/site-packages/numpy-2.1.0.dist-info",
            "lib64/python3.12/site-packages/old.name-3-py3.12.egg-info",
            "lib/python3.11/site-packages/numpy",
            "lib/perl5/site-packages/x-1.dist-info",
        ] {
            std::fs::create_dir_all(dir.path().join(path)).unwrap();
        }
        std::fs::write(
            dir.path().join("lib/python3/dist-packages/linked.egg-info"),
            "",
        )
        .unwrap();
        let mut found: Vec<_> = installed_in(dir.path())
            .into_iter()
            .map(|p| format!("{} {}", p.name, p.version))
            .collect();
        found.sort();
        assert_eq!(
            found,
            ["distro_info 1.1", "linked ", "numpy 2.1.0", "old.name 3"]
        );
    }
}
