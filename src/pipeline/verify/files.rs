//! The test files of a suite: what of them a cell rests on.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use serde::Serialize;
use sha2::{Digest, Sha256};

use super::keys::hash;
use super::memory::Memory;
use crate::domain::hex;
use crate::pipeline::error::Stop;
use crate::python::{Units, keeps_apart, units};

/// What a cell is of: a suite as a whole, a file of it, or a test in a file.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub(in crate::pipeline) struct Part {
    /// In the work tree.
    pub file: Option<String>,
    pub function: Option<String>,
}

impl Part {
    /// What pytest is given to run it alone.
    pub fn node(&self) -> Option<String> {
        let file = self.file.as_ref()?;
        Some(match &self.function {
            Some(function) => format!("{file}::{function}"),
            None => file.clone(),
        })
    }

    /// Whether a case, or an error of collection, is told in it.
    pub fn holds(&self, id: &str) -> bool {
        let Some(node) = self.node() else {
            return true;
        };
        let rest = id.strip_prefix(&node);
        rest.is_some_and(|rest| {
            rest.is_empty() || rest.starts_with("::") || rest.starts_with(['[', ' '])
        })
    }
}

/// What of a suite is taken as a whole, whatever its text says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(in crate::pipeline) struct Together {
    /// Their tests do not stand for themselves.
    pub files: BTreeSet<String>,
    /// Nor do its files.
    pub suite: bool,
}

/// Of a file whose tests stand for themselves: the hash of what they share, and each with its own.
pub(super) type FileUnits = Option<(String, Vec<(String, String)>)>;

/// A test file: its hash, and its tests where each stands for itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::pipeline) struct TestFile {
    pub digest: String,
    units: FileUnits,
}

/// The test files of a suite, each with its hash; and of all other files together, on which every
/// test may rest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::pipeline) struct SuiteFiles {
    /// By their place in the work tree; empty: the suite is taken as a whole.
    pub tests: BTreeMap<String, TestFile>,
    pub support: String,
    /// Paths of its own choose among the files: then the suite is taken as a whole.
    pub whole: bool,
}

impl SuiteFiles {
    /// `into`: where the suite's folder `dir` goes in the work tree; `apart`: nothing outside of it
    /// binds tests to each other.
    pub fn read(dir: &Path, into: &str, apart: bool, memory: &Memory) -> Result<Self, Stop> {
        let fault = |e: std::io::Error| Stop::Fault(format!("{}: {e}", dir.display()));
        let mut texts = BTreeMap::new();
        let mut others = Vec::new();
        let mut folders = vec![String::new()];
        let mut words = String::new();
        let mut apart = apart;
        while let Some(folder) = folders.pop() {
            for entry in std::fs::read_dir(dir.join(&folder)).map_err(fault)? {
                let entry = entry.map_err(fault)?;
                let name = entry.file_name().to_string_lossy().into_owned();
                let below = match folder.as_str() {
                    "" => name.clone(),
                    folder => format!("{folder}/{name}"),
                };
                let kind = entry.file_type().map_err(fault)?;
                if kind.is_dir() {
                    if name != "__pycache__" {
                        folders.push(below);
                    }
                    continue;
                }
                let bytes = if kind.is_file() {
                    std::fs::read(entry.path()).map_err(fault)?
                } else {
                    // a link: its target is a part of what a test may read
                    let target = std::fs::read_link(entry.path()).unwrap_or_default();
                    target.into_os_string().into_encoded_bytes()
                };
                let digest = hex(&Sha256::digest(&bytes));
                let text = String::from_utf8_lossy(&bytes).into_owned();
                if kind.is_file() && is_test(&name) {
                    words.push_str(&text);
                    words.push('\n');
                    texts.insert(format!("{into}/{below}"), (digest, text));
                } else {
                    apart &= !is_python(&name) || memory.apart(&digest, || keeps_apart(&text));
                    others.push((below, digest));
                }
            }
        }
        let mut tests = BTreeMap::new();
        for (path, (digest, text)) in texts {
            let name = path.rsplit('/').next().unwrap_or(&path);
            // a test file that others speak of is support as well
            let shared = mentions(&words, name.trim_end_matches(".py"));
            if shared {
                others.push((path.clone(), digest.clone()));
            }
            let units = if apart && !shared {
                memory.units(&digest, || units(&text).map(|units| digests(&units)))
            } else {
                None
            };
            tests.insert(path, TestFile { digest, units });
        }
        others.sort();
        let support = hash(&others)?;
        Ok(Self {
            tests,
            support,
            whole: false,
        })
    }

    /// What cells there are, in order. `together`: what turned out not to stand for itself.
    pub fn parts(&self, together: &Together) -> Vec<Part> {
        if self.whole || together.suite || self.tests.is_empty() {
            return vec![Part::default()];
        }
        let mut parts = Vec::new();
        for (path, test) in &self.tests {
            let part = |function: Option<&String>| Part {
                file: Some(path.clone()),
                function: function.cloned(),
            };
            match &test.units {
                Some((_, functions)) if !together.files.contains(path) => {
                    parts.extend(functions.iter().map(|(name, _)| part(Some(name))));
                }
                _ => parts.push(part(None)),
            }
        }
        parts
    }

    /// What a part's own text is, for its key.
    pub fn content(&self, part: &Part) -> Result<Option<String>, Stop> {
        let Some(file) = &part.file else {
            let all = self.tests.iter().map(|(path, test)| (path, &test.digest));
            return hash(&all.collect::<Vec<_>>()).map(Some);
        };
        let test = self.tests.get(file);
        let Some(function) = &part.function else {
            return Ok(test.map(|test| test.digest.clone()));
        };
        let units = test.and_then(|test| test.units.as_ref());
        let own = units.and_then(|(rest, functions)| {
            let own = functions.iter().find(|(name, _)| name == function)?;
            Some((rest, &own.1))
        });
        hash(&own).map(Some)
    }
}

fn digests(units: &Units) -> (String, Vec<(String, String)>) {
    let digest = |text: &str| hex(&Sha256::digest(text));
    let functions = units.functions.iter();
    (
        digest(&units.rest),
        functions
            .map(|(name, text)| (name.clone(), digest(text)))
            .collect(),
    )
}

/// Whether an import of that module stands anywhere.
fn mentions(words: &str, module: &str) -> bool {
    words.lines().any(|line| {
        let line = line.trim_start();
        (line.starts_with("import ") || line.starts_with("from ")) && line.contains(module)
    })
}

fn is_python(name: &str) -> bool {
    Path::new(name).extension().is_some_and(|e| e == "py")
}

/// pytest's own rule.
fn is_test(name: &str) -> bool {
    let python = name.strip_suffix(".py");
    python.is_some_and(|stem| stem.starts_with("test_") || stem.ends_with("_test"))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn a_test_file_is_its_own_and_everything_else_is_everybodys() {
        let (dir, memory) = (tempfile::tempdir().unwrap(), Memory::default());
        let write = |name: &str, text: &str| std::fs::write(dir.path().join(name), text).unwrap();
        std::fs::create_dir(dir.path().join("sub")).unwrap();
        write("test_a.py", "1");
        write("sub/b_test.py", "2");
        write("helpers.py", "3");
        let read = || SuiteFiles::read(dir.path(), "probes", true, &memory).unwrap();
        let before = read();
        let names: Vec<&str> = before.tests.keys().map(String::as_str).collect();
        assert_eq!(names, ["probes/sub/b_test.py", "probes/test_a.py"]);
        write("test_a.py", "1.5");
        let edited = read();
        assert_eq!(edited.support, before.support);
        assert_ne!(
            edited.tests["probes/test_a.py"],
            before.tests["probes/test_a.py"]
        );
        write("helpers.py", "4");
        assert_ne!(read().support, before.support);
        // one that another imports is no longer its own
        write("sub/b_test.py", "from probes.test_a import x");
        let shared = read().support;
        write("test_a.py", "1");
        assert_ne!(read().support, shared);
    }

    #[test]
    fn a_test_is_a_part_of_its_own_until_something_binds_it_to_others() {
        let (dir, memory) = (tempfile::tempdir().unwrap(), Memory::default());
        let write = |name: &str, text: &str| std::fs::write(dir.path().join(name), text).unwrap();
        write(
            "test_a.py",
            "def test_one():\n    pass\n\ndef test_two():\n    pass\n",
        );
        let read = |apart| SuiteFiles::read(dir.path(), "probes", apart, &memory).unwrap();
        let none = Together::default();
        let nodes = |files: &SuiteFiles, together: &Together| -> Vec<String> {
            let parts = files.parts(together);
            parts.iter().filter_map(Part::node).collect()
        };
        let apart = read(true);
        let both = ["probes/test_a.py::test_one", "probes/test_a.py::test_two"];
        let whole = ["probes/test_a.py"];
        assert_eq!(nodes(&apart, &none), both);
        assert_eq!(nodes(&read(false), &none), whole);
        let together = Together {
            files: BTreeSet::from(["probes/test_a.py".to_owned()]),
            suite: false,
        };
        assert_eq!(nodes(&apart, &together), whole);
        let [one, two] = [0, 1].map(|at| apart.parts(&none)[at].clone());
        assert!(one.holds("probes/test_a.py::test_one[1-b]"));
        assert!(one.holds("probes/test_a.py::test_one (2)"));
        assert!(!one.holds("probes/test_a.py::test_one_more"));
        write(
            "test_a.py",
            "def test_one():\n    return\n\ndef test_two():\n    pass\n",
        );
        let edited = read(true);
        assert_ne!(edited.content(&one).unwrap(), apart.content(&one).unwrap());
        assert_eq!(edited.content(&two).unwrap(), apart.content(&two).unwrap());
        write(
            "conftest.py",
            "import pytest\n@pytest.fixture(scope='session')\ndef a(): pass\n",
        );
        assert_eq!(nodes(&read(true), &none), whole);
    }
}
