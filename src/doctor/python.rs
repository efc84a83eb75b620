//! Interpreters, and uv.

use std::path::PathBuf;
use std::process::{Command, Stdio};

use super::document::Check;
use super::examine::Examination;
use crate::environment::{Facts, candidates, facts_of, find_uv};

/// Oldest version that an environment is made from unasked.
const OLDEST: (u32, u32) = (3, 10);

pub(super) fn checks(examination: &Examination<'_>) -> [Check; 2] {
    let mut found: Vec<Facts> = Vec::new();
    for candidate in candidates(None, &examination.env) {
        // one interpreter goes by many names
        if let Ok(facts) = facts_of(&candidate, &examination.env)
            && !found.iter().any(|f| real(f) == real(&facts))
        {
            found.push(facts);
        }
    }
    [python(&found), uv(examination, &found)]
}

fn real(facts: &Facts) -> Option<PathBuf> {
    facts.base_executable.canonicalize().ok()
}

fn python(found: &[Facts]) -> Check {
    const NAME: &str = "python";
    let listed: Vec<String> = found
        .iter()
        .map(|facts| format!("{} ({})", facts.version, facts.base_executable.display()))
        .collect();
    let mend = "install python 3.10 or newer and put it on PATH";
    if found.is_empty() {
        Check::fail(NAME, "none on PATH that runs", mend)
    } else if found.iter().all(|facts| facts.minor() < OLDEST) {
        Check::fail(NAME, listed.join(", "), mend)
    } else {
        Check::ok(NAME, listed.join(", "))
    }
}

fn uv(examination: &Examination<'_>, found: &[Facts]) -> Check {
    const NAME: &str = "uv";
    if let Some((path, version)) = find_uv(&examination.env) {
        return Check::ok(NAME, format!("{version} ({})", path.display()));
    }
    let own = examination.home.join("tools/uv/bin/uv");
    if own.is_file() {
        return Check::ok(NAME, format!("in the home ({})", own.display()));
    }
    let usable = found.iter().find(|facts| facts.minor() >= OLDEST);
    let installs = usable.is_some_and(|facts| {
        ["import pip", "import ensurepip, venv"].iter().any(|code| {
            Command::new(&facts.base_executable)
                .args(["-c", code])
                .env_clear()
                .envs(&examination.env)
                .current_dir("/")
                .stdin(Stdio::null())
                .stdout(Stdio::null())
                .stderr(Stdio::null())
                .status()
                .is_ok_and(|status| status.success())
        })
    });
    if installs {
        Check::ok(
            NAME,
            "not on PATH; installed into the home when it is first needed",
        )
    } else {
        Check::fail(
            NAME,
            "not on PATH, and no python has pip or ensurepip to install it with",
            "install uv 0.5 or newer, or python's pip (python3-pip, python3-venv)",
        )
    }
}
