//! Must-fail twins (DESIGN.md, The judge's mechanics): the tests run again with the same ids, the
//! same ranks and the same limits, and each begins with a `raise`. One that is reported as passed
//! was not run by pytest, or its outcome was made up.

use std::collections::HashSet;
use std::fs;
use std::path::Path;

use sha2::{Digest, Sha256};

use super::files::io;
use super::run::run_suite;
use super::spec::{Sandboxes, SuiteError, SuiteRun};
use crate::domain::{CaseId, Outcome};
use crate::python::{has_twin, twin};

/// Official cases that are sampled.
pub const SAMPLE: usize = 24;

/// A test function that raises in the twins: the file as it stands in ids, and the qualified name,
/// as in [`Twin::functions`](crate::python::Twin).
pub type TwinFunction = (String, String);

/// What became of the twins.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Twins {
    /// Cases that ran.
    pub run: usize,
    /// Those reported as passed, as expected to fail and did not, or so: none is right.
    pub passed: Vec<CaseId>,
}

/// Writes the twins of a suite's tests: a copy of the folder `src` to `dest`, in which every test
/// function raises. `into`: the folder's path in the work tree, for the names in ids. Files that
/// are not Python as far as we can read it are copied as they are, links too are left out.
pub fn twin_tree(
    src: &Path,
    dest: &Path,
    into: &str,
    nonce: &str,
) -> Result<Vec<TwinFunction>, SuiteError> {
    let mut functions = Vec::new();
    folder(src, dest, into.trim_end_matches('/'), nonce, &mut functions)?;
    Ok(functions)
}

fn folder(
    src: &Path,
    dest: &Path,
    name: &str,
    nonce: &str,
    functions: &mut Vec<TwinFunction>,
) -> Result<(), SuiteError> {
    fs::create_dir_all(dest).map_err(|e| io("making", dest, e))?;
    let entries = fs::read_dir(src).and_then(Iterator::collect::<Result<Vec<_>, _>>);
    let mut entries = entries.map_err(|e| io("reading", src, e))?;
    entries.sort_by_key(fs::DirEntry::file_name);
    for entry in entries {
        let (from, to) = (entry.path(), dest.join(entry.file_name()));
        let kind = entry.file_type().map_err(|e| io("reading", &from, e))?;
        let file = entry.file_name().to_string_lossy().into_owned();
        let name = if name.is_empty() || name == "." {
            file
        } else {
            format!("{name}/{file}")
        };
        if kind.is_dir() {
            folder(&from, &to, &name, nonce, functions)?;
        } else if kind.is_file() {
            // the copy keeps the mode
            fs::copy(&from, &to).map_err(|e| io("copying", &from, e))?;
            if from.extension().is_some_and(|e| e == "py") {
                let bytes = fs::read(&from).map_err(|e| io("reading", &from, e))?;
                let made = String::from_utf8(bytes).ok();
                if let Some(made) = made.and_then(|text| twin(&text, nonce).ok()) {
                    fs::write(&to, made.text).map_err(|e| io("writing", &to, e))?;
                    functions.extend(made.functions.into_iter().map(|f| (name.clone(), f)));
                }
            }
        }
    }
    Ok(())
}

/// Runs the twins of the cases that `run` expects, or is asked for. `place` has the twins in its
/// work tree; `functions` are those that raise there. `sample`: the seed of a sample of
/// [`SAMPLE`] cases; none: all of them. Nothing of it is told or kept.
pub async fn run_twins(
    place: &mut impl Sandboxes,
    run: &SuiteRun,
    functions: &[TwinFunction],
    sample: Option<u64>,
) -> Result<Twins, SuiteError> {
    let raising: HashSet<(&str, &str)> = functions
        .iter()
        .map(|(file, function)| (file.as_str(), function.as_str()))
        .collect();
    let known = run.only.as_ref().or(run.expected.as_ref());
    let mut cases: Vec<CaseId> = known
        .into_iter()
        .flatten()
        .filter(|id| {
            let known = |file, name: &str| has_twin(name, |n| raising.contains(&(file, n)));
            function_of(id).is_some_and(|(file, name)| known(file, &name))
        })
        .cloned()
        .collect();
    if let Some(seed) = sample {
        cases = sampled(cases, seed);
    }
    if cases.is_empty() {
        return Ok(Twins::default());
    }
    let mut run = run.clone();
    run.only = Some(cases);
    run.expected = None;
    run.record = None;
    let outcome = run_suite(place, &run, |_| {}).await?;
    let wrong = |o: Outcome| matches!(o, Outcome::Passed | Outcome::Xpassed);
    let passed = outcome.results.iter().filter(|r| wrong(r.outcome));
    Ok(Twins {
        run: outcome.results.len(),
        passed: passed.map(|r| r.id.clone()).collect(),
    })
}

/// [`SAMPLE`] of the cases, in their order; the same ones for the same seed.
fn sampled(cases: Vec<CaseId>, seed: u64) -> Vec<CaseId> {
    let mut order: Vec<(Vec<u8>, usize)> = cases
        .iter()
        .enumerate()
        .map(|(at, id)| {
            let mut hash = Sha256::new();
            hash.update(seed.to_le_bytes());
            hash.update(id.as_str());
            (hash.finalize().to_vec(), at)
        })
        .collect();
    order.sort();
    let chosen: HashSet<usize> = order.iter().take(SAMPLE).map(|(_, at)| *at).collect();
    let kept = cases.into_iter().enumerate();
    kept.filter(|(at, _)| chosen.contains(at))
        .map(|(_, id)| id)
        .collect()
}

/// The file and the qualified function of a case; none where the id is of another kind.
fn function_of(id: &CaseId) -> Option<(&str, String)> {
    let (file, rest) = id.as_str().split_once(".py::")?;
    let file = &id.as_str()[..file.len() + ".py".len()];
    // parameters, then the number of a repeated id
    let name = rest.split('[').next().unwrap_or(rest);
    let name = name.split(" (").next().unwrap_or(name);
    Some((file, name.replace("::", ".")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(text: &str) -> CaseId {
        CaseId(text.into())
    }

    #[test]
    fn ids_lead_to_functions() {
        for (text, expected) in [
            ("tests/t.py::test_a", Some(("tests/t.py", "test_a"))),
            (
                "t.py::A::B::test_a[x::y - [1]]",
                Some(("t.py", "A.B.test_a")),
            ),
            ("t.py::test_a (2)", Some(("t.py", "test_a"))),
            ("t.py::test_a[a.py::b] (2)", Some(("t.py", "test_a"))),
            ("t.txt::doc", None),
        ] {
            let id = id(text);
            let found = function_of(&id);
            let found = found.as_ref().map(|(file, name)| (*file, name.as_str()));
            assert_eq!(found, expected);
        }
    }

    #[test]
    fn a_sample_is_the_same_for_its_seed_and_differs_with_it() {
        let all: Vec<CaseId> = (0..100).map(|n| id(&format!("t.py::test_{n}"))).collect();
        let one = sampled(all.clone(), 1);
        assert_eq!(one.len(), SAMPLE);
        assert_eq!(one, sampled(all.clone(), 1));
        assert_ne!(one, sampled(all.clone(), 2));
        assert_eq!(sampled(all[..3].to_vec(), 1), all[..3]);
    }
}
