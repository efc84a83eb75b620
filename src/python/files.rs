//! Trees as the functions here take them: path to content.

use std::collections::BTreeMap;

/// Files by their path in the work tree, with `/` between its parts.
pub type Files = BTreeMap<String, Vec<u8>>;

pub fn is_python(path: &str) -> bool {
    path.strip_suffix(".py").is_some()
}

/// The Python files of `gold` that `base` does not have or has with another content: what a
/// compile check looks at.
pub fn changed_python(base: &Files, gold: &Files) -> Vec<String> {
    gold.iter()
        .filter(|(path, bytes)| is_python(path) && base.get(*path) != Some(bytes))
        .map(|(path, _)| path.clone())
        .collect()
}
