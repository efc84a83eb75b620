//! Caches and build products that no patch should hold, whatever the project ignores.
//!
//! They are known by what makes them: a name that one tool alone gives, or their own content. A
//! compiled object is left out because it belongs to the machine that built it; a task that needs
//! one builds it from the patch.

use std::ffi::OsStr;
use std::fs;
use std::path::Path;

use super::read::head;

/// Folders that one tool alone makes.
const FOLDERS: &[(&str, &str)] = &[
    ("__pycache__", "bytecode"),
    (".pytest_cache", "pytest's cache"),
    (".mypy_cache", "mypy's cache"),
    (".ruff_cache", "ruff's cache"),
    (".hypothesis", "hypothesis's examples"),
    (".tox", "tox's environments"),
    (".nox", "nox's environments"),
    (".eggs", "setuptools' eggs"),
    (".ipynb_checkpoints", "notebook checkpoints"),
    ("node_modules", "installed packages"),
    ("CMakeFiles", "a CMake build"),
];

/// What makes a folder a cache, whatever its name is.
const MARKS: &[(&str, &str)] = &[
    ("pyvenv.cfg", "a virtual environment"),
    ("CMakeCache.txt", "a CMake build"),
    (".ninja_log", "a ninja build"),
];

const FILES: &[(&str, &str)] = &[
    (".DS_Store", "a file manager's settings"),
    ("Thumbs.db", "a file manager's settings"),
    (".coverage", "coverage data"),
    ("CMakeCache.txt", "a CMake build"),
    (".ninja_log", "a ninja build"),
    (".ninja_deps", "a ninja build"),
];

/// The beginning of a `CACHEDIR.TAG`, by which tools mark their caches for backup programs.
const CACHE_TAG: &[u8] = b"Signature: 8a477f597d28d172789f06886806bc55";

/// Why a folder that base has not is left out as a whole.
pub(super) fn folder(dir: &Path, name: &OsStr) -> Option<&'static str> {
    if let Some(what) = folder_by_name(dir, name) {
        return Some(what);
    }
    let marked = MARKS
        .iter()
        .find(|(mark, _)| fs::symlink_metadata(dir.join(mark)).is_ok_and(|m| m.is_file()));
    if let Some((_, what)) = marked {
        return Some(what);
    }
    if starts(&dir.join("CACHEDIR.TAG"), CACHE_TAG) {
        return Some("a cache, by its own tag");
    }
    // `build/lib` stands beside the folder of the platform
    let inside = |e: std::io::Result<fs::DirEntry>| {
        e.is_ok_and(|e| setuptools(&e.file_name().to_string_lossy()))
    };
    (name == "build" && fs::read_dir(dir).is_ok_and(|mut all| all.any(inside)))
        .then_some("a setuptools build")
}

/// The same where base has the folder: new files in it are left out.
pub(super) fn folder_by_name(dir: &Path, name: &OsStr) -> Option<&'static str> {
    let text = name.to_str()?;
    if let Some((_, what)) = FOLDERS.iter().find(|(known, _)| *known == text) {
        return Some(what);
    }
    if text.ends_with(".egg-info") || text.ends_with(".dist-info") {
        return Some("package metadata of an install");
    }
    let in_build = dir.parent()?.file_name()? == "build";
    (in_build && setuptools(text)).then_some("a setuptools build")
}

/// `lib.linux-x86_64-cpython-311` and its neighbours in a `build`.
fn setuptools(name: &str) -> bool {
    ["lib.", "temp.", "bdist."]
        .iter()
        .any(|kind| name.strip_prefix(kind).is_some_and(|r| r.contains('-')))
}

/// Why a file that base has not is left out.
pub(super) fn file(path: &Path, name: &OsStr) -> Option<&'static str> {
    let text = name.to_string_lossy();
    if let Some((_, what)) = FILES.iter().find(|(known, _)| *known == text) {
        return Some(what);
    }
    let ending = text.rsplit_once('.').map(|(_, ending)| ending);
    match ending {
        Some("pyc" | "pyo") => return Some("bytecode"),
        Some("whl" | "egg") if starts(path, b"PK") => return Some("a built package"),
        Some("a") if starts(path, b"!<arch>\n") => return Some("compiled"),
        Some("pyd" | "dll") if starts(path, b"MZ") => return Some("compiled"),
        Some("dylib") if starts(path, b"\xcf\xfa\xed\xfe") => return Some("compiled"),
        _ => {}
    }
    if text.starts_with(".coverage.") && starts(path, b"SQLite format 3") {
        return Some("coverage data");
    }
    elf(path)
}

fn starts(path: &Path, magic: &[u8]) -> bool {
    head(path, magic.len()).is_some_and(|found| found == magic)
}

/// Objects, libraries, programs and core dumps of Linux.
fn elf(path: &Path) -> Option<&'static str> {
    let head = head(path, 18)?;
    if head.len() < 18 || !head.starts_with(b"\x7fELF") {
        return None;
    }
    let kind = if head[5] == 2 {
        u16::from_be_bytes([head[16], head[17]])
    } else {
        u16::from_le_bytes([head[16], head[17]])
    };
    Some(if kind == 4 { "a core dump" } else { "compiled" })
}
