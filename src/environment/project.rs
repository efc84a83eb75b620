//! Whether an environment holds the very project that a task is about: a release of it, earlier or
//! later, shows an agent how others did it, and could be tested in the submission's place.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use super::interpreter::Package;

/// Files of a project's root that name it.
const METADATA: [&str; 3] = ["pyproject.toml", "setup.cfg", "setup.py"];

/// Folders of a repository that its packages may lie in.
const ROOTS: [&str; 4] = ["", "src", "python", "lib"];
/// Names that packages of many projects have for what is not theirs to import.
const COMMON: [&str; 21] = [
    "benchmark",
    "benchmarks",
    "build",
    "ci",
    "common",
    "config",
    "configs",
    "data",
    "dist",
    "doc",
    "docs",
    "example",
    "examples",
    "experiments",
    "models",
    "scripts",
    "src",
    "test",
    "tests",
    "tools",
    "utils",
];

/// What a task's own project is known by.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Project {
    /// Normalised name -> the file of base that has it, relative to base.
    names: BTreeMap<String, PathBuf>,
    /// `pkg`, or `space/pkg` where `space` is no package itself.
    modules: BTreeSet<String>,
}

/// What is installed of the task's own project.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Held {
    pub package: Package,
    /// The file of base that has the name, relative to base.
    pub named_in: PathBuf,
}

impl Project {
    /// By the names that base's metadata gives (in its root or one folder down), and by its
    /// packages. Nothing is executed: of a `setup.py` only a name that stands there as a literal
    /// counts.
    pub fn of(base: &Path) -> Self {
        Self {
            names: project_names(base),
            modules: (ROOTS.iter())
                .flat_map(|root| modules(&base.join(root)))
                .collect(),
        }
    }

    /// Nothing tells a release of it from other packages.
    pub fn is_unknown(&self) -> bool {
        self.names.is_empty() && self.modules.is_empty()
    }

    /// Folders, with slashes, that an installed release of it would have.
    pub fn modules(&self) -> impl Iterator<Item = &str> {
        self.modules.iter().map(String::as_str)
    }

    /// The first installed package that is this project.
    pub fn held(&self, packages: &[Package]) -> Option<Held> {
        packages.iter().find_map(|package| {
            let named_in = self.names.get(&normalised(&package.name))?;
            Some(Held {
                package: package.clone(),
                named_in: named_in.clone(),
            })
        })
    }
}

/// Packages in a folder, those of namespaces with the namespace's name.
fn modules(root: &Path) -> Vec<String> {
    let package = |folder: &Path| folder.join("__init__.py").is_file();
    let folders = |of: &Path| -> Vec<String> {
        entries(of)
            .filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()))
            .filter_map(|entry| entry.file_name().into_string().ok())
            .filter(|name| !name.starts_with('.'))
            .collect()
    };
    let mut found = Vec::new();
    for name in folders(root) {
        let folder = root.join(&name);
        if COMMON.contains(&name.as_str()) || ROOTS.contains(&name.as_str()) {
            continue;
        }
        if package(&folder) {
            found.push(name);
            continue;
        }
        let below = folders(&folder).into_iter();
        let below = below.filter(|inner| package(&folder.join(inner)));
        found.extend(below.map(|inner| format!("{name}/{inner}")));
    }
    found
}

/// Normalised name -> the file that has it.
fn project_names(base: &Path) -> BTreeMap<String, PathBuf> {
    let mut folders = vec![PathBuf::new()];
    let mut below: Vec<PathBuf> = entries(base)
        .filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()))
        .map(|entry| PathBuf::from(entry.file_name()))
        .collect();
    below.sort();
    folders.extend(below);
    let mut names = BTreeMap::new();
    for folder in folders {
        let mut files: Vec<PathBuf> = METADATA.iter().map(|file| folder.join(file)).collect();
        if folder.extension().is_some_and(|end| end == "egg-info") {
            files.push(folder.join("PKG-INFO"));
        }
        for file in files {
            let Ok(bytes) = std::fs::read(base.join(&file)) else {
                continue;
            };
            for name in names_in(&file, &String::from_utf8_lossy(&bytes)) {
                names.entry(normalised(&name)).or_insert(file.clone());
            }
        }
    }
    names
}

fn entries(folder: &Path) -> impl Iterator<Item = std::fs::DirEntry> {
    std::fs::read_dir(folder).into_iter().flatten().flatten()
}

fn names_in(file: &Path, text: &str) -> Vec<String> {
    let name = match file.file_name().and_then(|name| name.to_str()) {
        Some("pyproject.toml") => declared(text),
        Some("setup.cfg") => setting(text),
        Some("setup.py") => return literals(text),
        _ => text
            .lines()
            .take_while(|line| !line.is_empty())
            .find_map(|line| Some(line.strip_prefix("Name:")?.trim().to_string())),
    };
    name.into_iter().collect()
}

/// The name in a `pyproject.toml`, as the usual build systems have it.
fn declared(text: &str) -> Option<String> {
    let document: toml::Table = text.parse().ok()?;
    let name = |path: &[&str]| {
        let (last, tables) = path.split_last()?;
        let table = tables
            .iter()
            .try_fold(&document, |table, key| table.get(*key)?.as_table())?;
        Some(table.get(*last)?.as_str()?.to_string())
    };
    name(&["project", "name"])
        .or_else(|| name(&["tool", "poetry", "name"]))
        .or_else(|| name(&["tool", "flit", "metadata", "dist-name"]))
        .or_else(|| name(&["tool", "flit", "metadata", "module"]))
}

/// `name` of `[metadata]`.
fn setting(text: &str) -> Option<String> {
    let mut ours = false;
    for line in text.lines() {
        if let Some(section) = line.trim().strip_prefix('[') {
            ours = section.trim_end_matches(']').trim() == "metadata";
        } else if ours
            && let Some((key, value)) = line.split_once(['=', ':'])
            && key.trim_end() == "name"
        {
            return Some(value.trim().to_string());
        }
    }
    None
}

/// Every `name="…"` from the call of `setup` on: an extension may come before the project's own.
fn literals(text: &str) -> Vec<String> {
    let Some(call) = regex::Regex::new(r"\bsetup\s*\(")
        .ok()
        .and_then(|r| r.find(text))
    else {
        return Vec::new();
    };
    let Ok(pattern) = regex::Regex::new(r#"\bname\s*=\s*["']([^"'{}]+)["']"#) else {
        return Vec::new();
    };
    let found = pattern.captures_iter(&text[call.end()..]);
    found.map(|found| found[1].to_string()).collect()
}

/// As package indexes compare names: `Megatron.Core` is `megatron-core`.
fn normalised(name: &str) -> String {
    let parts = name.split(['-', '_', '.']).filter(|part| !part.is_empty());
    parts.collect::<Vec<_>>().join("-").to_lowercase()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn held(files: &[(&str, &str)], installed: &[&str]) -> Vec<(String, String)> {
        let base = tempfile::tempdir().unwrap();
        for (path, text) in files {
            let path = base.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        let packages: Vec<Package> = installed
            .iter()
            .map(|name| Package {
                name: (*name).into(),
                version: "1".into(),
            })
            .collect();
        (Project::of(base.path()).held(&packages).into_iter())
            .map(|held| (held.package.name, held.named_in.display().to_string()))
            .collect()
    }

    fn one(name: &str, file: &str) -> Vec<(String, String)> {
        vec![(name.into(), file.into())]
    }

    #[test]
    fn each_kind_of_metadata_names_the_project() {
        for (file, text) in [
            ("pyproject.toml", "[project]\nname = \"Megatron.Core\"\n"),
            ("pyproject.toml", "[tool.poetry]\nname = 'megatron_core'\n"),
            (
                "setup.cfg",
                "[options]\nname = no\n[metadata]\nname = megatron-core\n",
            ),
            (
                "setup.py",
                "from setuptools import setup\nsetup(\n    ext_modules=[Extension(name='a.b')],\n    name = 'megatron--core',\n)\n",
            ),
            (
                "python/pyproject.toml",
                "[project]\nname = \"megatron-core\"\n",
            ),
            (
                "x.egg-info/PKG-INFO",
                "Metadata-Version: 2\nName: megatron-core\n\nName: other\n",
            ),
        ] {
            let found = held(&[(file, text)], &["numpy", "Megatron_core"]);
            assert_eq!(found, one("Megatron_core", file), "{file}: {text}");
        }
    }

    #[test]
    fn its_packages_are_known_where_its_name_is_not() {
        let base = tempfile::tempdir().unwrap();
        for path in [
            "megatron/core/__init__.py",
            "megatron/core/inner/__init__.py",
            "megatron/notes.txt",
            "src/plain/__init__.py",
            "tests/__init__.py",
            "examples/multi/__init__.py",
            ".venv/pip/__init__.py",
            "setup.py",
        ] {
            let path = base.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, "setup(name=__package_name__)").unwrap();
        }
        let project = Project::of(base.path());
        let modules: Vec<&str> = project.modules().collect();
        assert_eq!(modules, ["megatron/core", "plain"]);
        assert!(project.names.is_empty() && !project.is_unknown());
        let empty = tempfile::tempdir().unwrap();
        assert!(Project::of(empty.path()).is_unknown());
    }

    #[test]
    fn what_does_not_name_the_project_does_not_count() {
        for (file, text) in [
            (
                "pyproject.toml",
                "[project]\nname = \"other\"\n[tool.x]\nname = \"numpy\"\n",
            ),
            ("pyproject.toml", "not toml, name = numpy"),
            ("setup.cfg", "[flake8]\nname = numpy\n"),
            ("setup.py", "name = 'numpy'\n"),
            (
                "third_party/numpy/pyproject.toml",
                "[project]\nname = \"numpy\"\n",
            ),
            ("requirements.txt", "numpy\n"),
        ] {
            assert_eq!(held(&[(file, text)], &["numpy"]), [], "{file}: {text}");
        }
    }
}
