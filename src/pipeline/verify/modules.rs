//! What of the environment is worth being imported while a rank waits.

use std::path::{Path, PathBuf};

use crate::pipeline::ground::Ground;

/// pytest imports them when it starts.
const ALWAYS: [&str; 3] = ["pdb", "readline", "email.parser"];
/// A package, a module of it, and what a text holds that uses it.
const USED: [(&str, &str, &[&str]); 3] = [
    ("numpy", "numpy", &["import numpy", "from numpy"]),
    ("numpy", "numpy.random", &[".random."]),
    ("numpy", "numpy.testing", &["numpy.testing", "np.testing"]),
];

/// What a text holds that would see it.
const SEES: [&str; 6] = ["sys.modules", "OMP_", "MKL_", "OPENBLAS", "NPY_", "NUMPY_"];

/// Their names: those of the environment that gold's tree, or a suite's folder, uses.
pub(super) fn modules(ground: &Ground, tests: Option<&PathBuf>) -> Vec<String> {
    let mut texts = Vec::new();
    let snapshot = &ground.trees.snapshot;
    for (path, _) in snapshot.files(ground.trees.gold).unwrap_or_default() {
        if path.ends_with(b".py") {
            texts.extend(snapshot.file(ground.trees.gold, &path).ok().flatten());
        }
    }
    texts.extend(tests.into_iter().flat_map(|dir| python(dir)));
    let texts: Vec<String> = texts
        .iter()
        .map(|text| String::from_utf8_lossy(text).into_owned())
        .collect();
    let has = |package: &str| {
        ground
            .environment
            .packages
            .iter()
            .any(|p| p.name == package)
    };
    // what tells whether a module is there, or sets what one reads when it is imported, must find it
    // as in a rank that did not wait
    let tells = |text: &String| SEES.iter().any(|sign| text.contains(sign));
    if texts.iter().any(tells) {
        return ALWAYS.map(str::to_owned).into();
    }
    let uses = |signs: &[&str]| {
        let mut found = texts
            .iter()
            .flat_map(|text| signs.iter().map(|sign| text.contains(sign)));
        found.any(|found| found)
    };
    let used = USED
        .into_iter()
        .filter(|(package, _, signs)| has(package) && uses(signs));
    let names = ALWAYS.into_iter().chain(used.map(|(_, module, _)| module));
    names.map(str::to_owned).collect()
}

/// The Python files right in a folder.
fn python(dir: &Path) -> Vec<Vec<u8>> {
    let entries = std::fs::read_dir(dir).into_iter().flatten().flatten();
    let paths = entries.map(|entry| entry.path());
    let python = paths.filter(|path| path.extension().is_some_and(|e| e == "py"));
    python.filter_map(|path| std::fs::read(path).ok()).collect()
}
