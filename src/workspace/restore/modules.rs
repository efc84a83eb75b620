//! Top-level modules that would be imported instead of the standard library's, the test
//! framework's, or the arrays that results are compared with.

use std::collections::HashSet;
use std::ffi::OsStr;
use std::sync::LazyLock;

/// Union over CPython 3.10 to 3.14 of `sys.stdlib_module_names`.
const STDLIB: &str = include_str!("stdlib.txt");

/// pytest with what it imports, numpy, torch, and the hooks of interpreter start.
const GUARDED: &str = "pytest _pytest pluggy iniconfig packaging pygments exceptiongroup tomli py \
    xdist numpy torch sitecustomize usercustomize";

/// Our own reporter's modules begin so.
const OURS: [&str; 2] = ["infradev", "_infradev"];

static NAMES: LazyLock<HashSet<&str>> = LazyLock::new(|| {
    STDLIB
        .split_ascii_whitespace()
        .chain(GUARDED.split_ascii_whitespace())
        .collect()
});

pub(super) fn is_guarded(module: &str) -> bool {
    NAMES.contains(module) || OURS.iter().any(|o| module.starts_with(o))
}

/// The module that a file name makes importable: `x.py`, `x.pyc`, `x.so`, `x.cpython-312-….so`.
pub(super) fn module_of_file(name: &OsStr) -> Option<&str> {
    let name = name.to_str()?;
    let (module, rest) = name.split_once('.')?;
    let suffix = rest.rsplit('.').next()?;
    let importable = match suffix {
        "py" | "pyc" => !rest.contains('.'),
        "so" => true,
        _ => false,
    };
    (importable && !module.is_empty()).then_some(module)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_files() {
        let module = |n: &str| module_of_file(OsStr::new(n)).map(str::to_owned);
        assert_eq!(module("numpy.py").as_deref(), Some("numpy"));
        assert_eq!(module("json.pyc").as_deref(), Some("json"));
        assert_eq!(
            module("torch.cpython-312-x86_64-linux-gnu.so").as_deref(),
            Some("torch")
        );
        assert_eq!(module("a.b.py"), None);
        assert_eq!(module("json.txt"), None);
        assert_eq!(module("json"), None);
        assert_eq!(module(".py"), None);
    }

    #[test]
    fn the_list_is_whole() {
        for name in [
            "json",
            "asyncio",
            "random",
            "typing",
            "imp",
            "tomllib",
            "pytest",
            "_pytest",
            "infradev_reporter",
        ] {
            assert!(is_guarded(name), "{name}");
        }
        for name in ["tests", "engine", "scheduler", "numpy_like"] {
            assert!(!is_guarded(name), "{name}");
        }
    }
}
