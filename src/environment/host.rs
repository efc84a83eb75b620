//! Kind `host`: an interpreter of this machine as it stands, recorded by its package list.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

use super::interpreter::{Facts, candidates};
use super::interpreter_cache::InterpreterCache;
use super::lock::Hold;
use super::mounts::Mounts;
use super::types::{Environment, Request};
use super::{EnvironmentError, client};
use crate::domain::hex;
use crate::domain::task::EnvironmentKind;

pub(super) fn prepare(request: &Request, home: &Path) -> Result<Environment, EnvironmentError> {
    let env = client::pip_env(&request.host_env);
    let wanted = request.spec.python.as_deref().unwrap_or("python3");
    let wanted = if wanted.contains('/') {
        // relative to the task, or absolute
        request.task_dir.join(wanted).display().to_string()
    } else {
        wanted.to_string()
    };
    let mut cache = InterpreterCache::open(home);
    let mut tried = Vec::new();
    let mut without_pytest: Option<PathBuf> = None;
    for candidate in candidates(Some(&wanted), &env) {
        match cache.facts(&candidate, &env, true) {
            Ok(facts) if facts.pytest => return Ok(environment(request, &facts)),
            Ok(facts) => {
                without_pytest.get_or_insert(facts.executable);
            }
            Err(error) => tried.push(error.to_string()),
        }
    }
    if let Some(python) = without_pytest {
        return Err(EnvironmentError::NoPytest { python });
    }
    if tried.is_empty() {
        tried.push("nothing of that name is there".into());
    }
    Err(EnvironmentError::NoInterpreter {
        wanted: format!("`{wanted}`"),
        tried,
    })
}

fn environment(request: &Request, facts: &Facts) -> Environment {
    let mut mounts = Mounts::default();
    mounts.add(&facts.prefix);
    mounts.add_base(facts);
    mounts.add_executable(&facts.executable);
    // module folders that lie elsewhere: of the user, of an editable installation
    for path in &facts.path {
        mounts.add(path);
    }
    let mut env = BTreeMap::new();
    if let Some(bin) = facts.executable.parent() {
        let path = format!("{}:/usr/local/bin:/usr/bin:/bin", bin.display());
        env.insert("PATH".to_string(), path);
    }
    if facts.prefix != facts.base_prefix {
        env.insert("VIRTUAL_ENV".into(), facts.prefix.display().to_string());
    }
    // a sandbox has another home folder
    if let Some(base) = &facts.user_base {
        env.insert("PYTHONUSERBASE".into(), base.display().to_string());
    }
    env.extend(request.spec.env.clone());
    Environment {
        hash: hash(facts),
        kind: EnvironmentKind::Host,
        python: facts.executable.clone(),
        mounts: mounts.into_vec(),
        env,
        built: false,
        python_version: facts.version.clone(),
        packages: facts.packages.clone(),
        hold: Hold::default(),
    }
}

/// Over the interpreter and its package list.
fn hash(facts: &Facts) -> String {
    let mut hasher = Sha256::new();
    let mut add = |part: &str| {
        hasher.update(part.len().to_le_bytes());
        hasher.update(part.as_bytes());
    };
    for part in [
        "infradev host environment 1",
        &facts.implementation,
        &facts.version,
        &facts.abi,
        &facts.platform,
        &facts.libc,
        &facts.executable.to_string_lossy(),
    ] {
        add(part);
    }
    for package in &facts.packages {
        add(&package.name);
        add(&package.version);
    }
    hex(&hasher.finalize())
}
