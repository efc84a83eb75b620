//! uv: found on `PATH`, else installed once into the home with an interpreter's pip.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use super::command::{Invocation, Place};
use super::inside::Inside;
use super::interpreter::{Facts, on_path};
use super::lock::wait_for_lock;
use super::rooms;
use super::seal::remove_tree;
use super::types::{Builder, Progress, Request, Step};
use super::workshop::{self, Opening, Workshop};
use super::{EnvironmentError, client};
use crate::engine::{Network, User};

/// What is asked of the package index, and the oldest that is taken from `PATH`.
const REQUIREMENT: &str = "uv>=0.5";
const OLDEST: (u32, u32) = (0, 5);

/// A usable uv.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Tool {
    pub path: PathBuf,
    pub version: String,
}

/// The first uv on `PATH` that runs and is recent enough, with its version.
pub fn find_on_path(env: &BTreeMap<OsString, OsString>) -> Option<(PathBuf, String)> {
    on_path("uv", env)
        .into_iter()
        .find_map(|path| version(&path, env).map(|version| (path, version)))
}

/// Whether a file is a program itself, and no script that leads to one.
fn is_program(path: &Path) -> bool {
    let mut magic = [0; 4];
    std::fs::File::open(path)
        .and_then(|mut file| file.read_exact(&mut magic))
        .is_ok()
        && magic == *b"\x7fELF"
}

fn version(uv: &Path, env: &BTreeMap<OsString, OsString>) -> Option<String> {
    let output = Command::new(uv)
        .arg("--version")
        .env_clear()
        .envs(env)
        .current_dir("/")
        .stdin(Stdio::null())
        .output()
        .ok()?;
    let text = String::from_utf8_lossy(&output.stdout);
    let version = text.strip_prefix("uv ")?.split_whitespace().next()?;
    let mut parts = version.split('.').map(|p| p.parse::<u32>().ok());
    let found = (parts.next()??, parts.next()??);
    (output.status.success() && found >= OLDEST).then(|| version.to_string())
}

/// Finds uv or installs it. `packages`: what cannot be installed without it, for the error.
pub(super) fn ensure(
    request: &Request,
    home: &Path,
    python: &Facts,
    packages: &[String],
    progress: &dyn Fn(Progress),
) -> Result<Tool, EnvironmentError> {
    let mut env = client::pip_env(&request.host_env);
    let here = matches!(request.builder, Builder::Here);
    if let Some((path, version)) = find_on_path(&env) {
        // in a container a script would look for the rest of itself
        if here || is_program(&path) {
            return Ok(Tool { path, version });
        }
    }
    let tools = home.join("tools");
    let folder = tools.join("uv");
    let uv = folder.join("bin").join("uv");
    let host_env = env.clone();
    let installed = || {
        version(&uv, &host_env).map(|version| Tool {
            path: uv.clone(),
            version,
        })
    };
    if let Some(tool) = installed() {
        return Ok(tool);
    }
    std::fs::create_dir_all(&tools).map_err(EnvironmentError::io(&tools))?;
    let lock = wait_for_lock(&tools.join("uv.lock"), &request.stop, "uv", progress)?;
    if let Some(tool) = installed() {
        return Ok(tool);
    }
    let temporary = tools.join("uv.new");
    let workshop = match &request.builder {
        Builder::Here => None,
        Builder::Image { docker, image } => {
            const PURPOSE: &str = "uv";
            workshop::reap(docker, image, PURPOSE)?;
            let inside = Inside::new(&env, &request.host_env, &image.env);
            env = inside.env;
            let mut mounts = vec![rooms::writable(&tools)];
            mounts.extend(inside.mounts);
            Some(Workshop::open(Opening {
                docker,
                image,
                purpose: PURPOSE,
                mounts,
                network: Network::Host,
                user: User::Worker,
                scratch: &rooms::scratch(home)?,
            })?)
        }
    };
    let place = workshop.as_ref().map_or(Place::Host, Place::Container);
    remove_tree(&temporary)?;
    let refuse = |reason: String| EnvironmentError::NoTool {
        python: python.base_executable.clone(),
        packages: packages.to_vec(),
        reason,
    };
    let run = |program: &Path, args: &[&OsStr]| {
        Invocation {
            place,
            program,
            args,
            env: &env,
            lock: Some(&lock),
            stop: &request.stop,
            line: &|line| progress(Progress::new(Step::Tool, line)),
            limit: Duration::from_secs(15 * 60),
        }
        .run()
    };
    let mut pip = python.base_executable.clone();
    progress(Progress::new(
        Step::Tool,
        format!("uv is not on PATH: installing it with {}", pip.display()),
    ));
    let has_pip = run(&pip, &["-c", "import pip"].map(OsStr::new))?;
    let bootstrap = tools.join("pip.new");
    if !has_pip.status.success() {
        // a distribution's python often comes without pip; ensurepip carries one
        remove_tree(&bootstrap)?;
        let args = [OsStr::new("-m"), OsStr::new("venv"), bootstrap.as_os_str()];
        let made = run(&pip, &args)?;
        if !made.status.success() {
            return Err(refuse(format!(
                "it has no pip, and no venv: {}",
                made.output
            )));
        }
        pip = bootstrap.join("bin").join("python");
    }
    let mut args: Vec<&OsStr> = ["-m", "pip", "install", "--quiet", "--no-deps"]
        .map(OsStr::new)
        .to_vec();
    args.extend(["--only-binary", ":all:", "--target"].map(OsStr::new));
    args.extend([temporary.as_os_str(), OsStr::new(REQUIREMENT)]);
    let done = run(&pip, &args)?;
    remove_tree(&bootstrap)?;
    if !done.status.success() {
        remove_tree(&temporary)?;
        return Err(refuse(done.output));
    }
    remove_tree(&folder)?;
    std::fs::rename(&temporary, &folder).map_err(EnvironmentError::io(&folder))?;
    installed().ok_or_else(|| refuse("what was installed does not run".into()))
}
