//! Which python an environment is made from.
//!
//! A version manager's shim is a script that may answer differently tomorrow, or not at all: what
//! counts is what the interpreter says about itself (`sys._base_executable`), never the name on
//! `PATH`.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};

use serde::{Deserialize, Serialize};

use super::EnvironmentError;
use super::client::pip_env;
use super::interpreter_cache::InterpreterCache;
use super::lines::plain;

/// Oldest version that is used unasked.
const OLDEST: (u32, u32) = (3, 10);
/// Minor versions looked for by name, best first, where `python3` is none of them.
pub(super) const MINORS: [u32; 5] = [14, 13, 12, 11, 10];
const SCRIPT: &str = include_str!("facts.py");

/// One distribution that is installed.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Package {
    pub name: String,
    pub version: String,
}

/// What an interpreter says about itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Facts {
    pub executable: PathBuf,
    /// The interpreter below a virtual environment; the same outside one.
    pub base_executable: PathBuf,
    pub prefix: PathBuf,
    pub base_prefix: PathBuf,
    pub base_exec_prefix: PathBuf,
    pub implementation: String,
    /// Complete: `3.11.7`, `3.14.0rc1`.
    pub version: String,
    /// `cpython-311-x86_64-linux-gnu`.
    pub abi: String,
    /// `linux-x86_64`.
    pub platform: String,
    /// `glibc-2.36`.
    pub libc: String,
    /// Shared libraries that its extension modules load.
    pub libraries: Vec<PathBuf>,
    #[serde(default)]
    pub path: Vec<PathBuf>,
    #[serde(default)]
    pub user_base: Option<PathBuf>,
    #[serde(default)]
    pub packages: Vec<Package>,
    #[serde(default)]
    pub pytest: bool,
}

impl Facts {
    /// `(3, 11)`.
    pub fn minor(&self) -> (u32, u32) {
        let mut parts = self.version.split('.').map(|p| p.parse().unwrap_or(0));
        (parts.next().unwrap_or(0), parts.next().unwrap_or(0))
    }
}

/// What an interpreter is started with to be asked.
pub(super) fn question(packages: bool) -> Vec<&'static OsStr> {
    // -E: nothing of PYTHON*; without packages also -s, and nothing of the user's
    let mut arguments = vec![if packages { "-E" } else { "-Es" }, "-c", SCRIPT];
    if packages {
        arguments.push("packages");
    }
    arguments.into_iter().map(OsStr::new).collect()
}

/// What it said.
pub(super) fn answer(
    python: &Path,
    status: ExitStatus,
    stdout: &[u8],
    stderr: &[u8],
) -> Result<Facts, EnvironmentError> {
    let refuse = |reason| refused(python, reason);
    if !status.success() {
        let said = String::from_utf8_lossy(stderr);
        let line = said.lines().find(|l| !l.trim().is_empty()).unwrap_or("");
        return Err(refuse(format!("{status}: {}", plain(line))));
    }
    let text = String::from_utf8_lossy(stdout);
    // a noisy sitecustomize may print before us
    let document = text.lines().rev().find(|l| l.starts_with('{'));
    let facts: Facts = serde_json::from_str(document.unwrap_or(""))
        .map_err(|error| refuse(format!("its answer: {error}")))?;
    if facts.executable.as_os_str().is_empty() || facts.base_executable.as_os_str().is_empty() {
        return Err(refuse("it does not know its own path".into()));
    }
    Ok(facts)
}

pub(super) fn refused(python: &Path, reason: String) -> EnvironmentError {
    EnvironmentError::Interpreter {
        python: python.to_path_buf(),
        reason,
    }
}

/// Asks an interpreter; a process of some 50 ms. `packages`: also what is installed.
pub(super) fn ask(
    python: &Path,
    env: &BTreeMap<OsString, OsString>,
    packages: bool,
) -> Result<Facts, EnvironmentError> {
    let output = Command::new(python)
        .args(question(packages))
        .env_clear()
        .envs(env)
        .current_dir("/") // a local version file must not decide
        .stdin(Stdio::null())
        .output()
        .map_err(|error| refused(python, error.to_string()))?;
    answer(python, output.status, &output.stdout, &output.stderr)
}

/// Asks an interpreter about itself, without any cache.
pub fn facts_of(
    python: &Path,
    env: &BTreeMap<OsString, OsString>,
) -> Result<Facts, EnvironmentError> {
    ask(python, &pip_env(env), false)
}

/// The interpreter for `wanted` (a version such as `3.12`, a path, or none: the first that is 3.10
/// or newer).
pub fn find(
    wanted: Option<&str>,
    env: &BTreeMap<OsString, OsString>,
    home: &Path,
) -> Result<Facts, EnvironmentError> {
    let mut cache = InterpreterCache::open(home);
    let mut tried = Vec::new();
    for candidate in candidates(wanted, env) {
        match cache.facts(&candidate, env, false) {
            Ok(facts) if fits(&facts, wanted) => return Ok(facts),
            Ok(facts) => tried.push(format!("{} is {}", candidate.display(), facts.version)),
            Err(error) => tried.push(error.to_string()),
        }
    }
    if tried.is_empty() {
        tried.push("nothing of that name is on PATH".into());
    }
    Err(EnvironmentError::NoInterpreter {
        wanted: described(wanted),
        tried,
    })
}

/// Paths that may be the wanted interpreter, best first; each exists.
pub fn candidates(wanted: Option<&str>, env: &BTreeMap<OsString, OsString>) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut add = |path: PathBuf| {
        if !found.contains(&path) && path.is_file() {
            found.push(path);
        }
    };
    let Some(wanted) = wanted else {
        let names = std::iter::once("python3".to_string())
            .chain(MINORS.iter().map(|m| format!("python3.{m}")));
        for name in names {
            on_path(&name, env).into_iter().for_each(&mut add);
        }
        on_path("python", env).into_iter().for_each(&mut add);
        add("/usr/bin/python3".into());
        return found;
    };
    if wanted.contains('/') {
        add(wanted.into());
        return found;
    }
    if !wanted.starts_with(|c: char| c.is_ascii_digit()) {
        on_path(wanted, env).into_iter().for_each(&mut add);
        return found;
    }
    let minor = wanted.splitn(3, '.').take(2).collect::<Vec<_>>().join(".");
    let named = format!("python{minor}");
    let named_paths = on_path(&named, env);
    named_paths.iter().cloned().for_each(&mut add);
    on_path("python3", env).into_iter().for_each(&mut add);
    for folder in ["/usr/local/bin", "/usr/bin"] {
        add(Path::new(folder).join(&named));
    }
    // a version manager keeps versions that its shims do not give out
    for shim in named_paths {
        let Some(root) = shim.parent().and_then(Path::parent) else {
            continue;
        };
        let mut versions: Vec<PathBuf> = std::fs::read_dir(root.join("versions"))
            .into_iter()
            .flatten()
            .flatten()
            .map(|entry| entry.path().join("bin").join(&named))
            .collect();
        versions.sort();
        versions.into_iter().rev().for_each(&mut add);
    }
    found
}

/// The wish in words.
pub(super) fn described(wanted: Option<&str>) -> String {
    match wanted {
        Some(wanted) => format!("`{wanted}`"),
        None => format!("version {}.{} or newer", OLDEST.0, OLDEST.1),
    }
}

pub(super) fn fits(facts: &Facts, wanted: Option<&str>) -> bool {
    match wanted {
        Some(version) if version.starts_with(|c: char| c.is_ascii_digit()) => {
            facts.version == version || facts.version.starts_with(&format!("{version}."))
        }
        Some(_) => true,
        None => facts.minor() >= OLDEST,
    }
}

/// Every file of that name on `PATH`, in order.
pub(super) fn on_path(name: &str, env: &BTreeMap<OsString, OsString>) -> Vec<PathBuf> {
    use std::os::unix::fs::PermissionsExt;
    let Some(path) = env.get(OsStr::new("PATH")) else {
        return Vec::new();
    };
    std::env::split_paths(path)
        .filter(|folder| folder.is_absolute())
        .map(|folder| folder.join(name))
        .filter(|file| {
            std::fs::metadata(file)
                .is_ok_and(|m| m.is_file() && m.permissions().mode() & 0o111 != 0)
        })
        .collect()
}
