//! Task folders and homes of their own, and uv installed once for all tests.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Mutex, OnceLock};

use infradev::domain::task::{EnvironmentKind, EnvironmentSpec};
use infradev::environment::{Environment, Progress, Request, prepare};

pub const FULL: &str = include_str!("../fixtures/requirements.lock");
pub const SMALL: &str = include_str!("../fixtures/small.lock");

/// The bundled lock without its largest package, for tests that need pytest alone.
pub fn without_numpy() -> String {
    let (before, rest) = FULL.split_once("numpy==").unwrap();
    let (_, after) = rest.split_once("packaging==").unwrap();
    format!("{before}packaging=={after}")
}

/// A task folder and a home of its own.
pub struct Place {
    pub folder: tempfile::TempDir,
}

impl Place {
    pub fn new(lock: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("task")).unwrap();
        fs::write(folder.path().join("task/requirements.lock"), lock).unwrap();
        Self { folder }
    }

    pub fn home(&self) -> PathBuf {
        self.folder.path().canonicalize().unwrap().join("home")
    }

    pub fn request(&self) -> Request {
        request(self.folder.path())
    }

    /// The folders of environments, finished or not.
    pub fn environments(&self) -> Vec<PathBuf> {
        let mut found: Vec<PathBuf> = fs::read_dir(self.home().join("env"))
            .into_iter()
            .flatten()
            .flatten()
            .map(|e| e.path())
            .filter(|p| p.is_dir())
            .collect();
        found.sort();
        found
    }
}

impl Drop for Place {
    /// Sealed folders cannot be removed by a user other than root.
    fn drop(&mut self) {
        let _ = Command::new("chmod")
            .args(["-R", "u+w"])
            .arg(self.folder.path())
            .output();
    }
}

pub fn request(folder: &Path) -> Request {
    let mut request = request_without_uv(folder);
    put_first_on_path(&mut request, &shared_uv());
    request
}

pub fn put_first_on_path(request: &mut Request, folder: &Path) {
    let path = request.host_env.remove(&OsString::from("PATH")).unwrap();
    let mut joined = OsString::from(folder);
    joined.push(":");
    joined.push(path);
    request.host_env.insert("PATH".into(), joined);
}

/// A folder with uv, installed by the bootstrap itself, once for all tests: the first of them to
/// come also tests that.
pub fn shared_uv() -> PathBuf {
    static FOLDER: OnceLock<PathBuf> = OnceLock::new();
    FOLDER
        .get_or_init(|| {
            let home = Path::new(env!("CARGO_TARGET_TMPDIR")).join("uv-home");
            let task = home.join("task");
            fs::create_dir_all(&task).unwrap();
            // nothing to install: only the tool
            fs::write(task.join("requirements.lock"), "").unwrap();
            let mut request = request_without_uv(&home);
            request.home.clone_from(&home);
            let _ = prepare(&request, &|_| {}).unwrap();
            let bin = home.join("tools/uv/bin");
            if bin.join("uv").exists() {
                bin
            } else {
                // uv was on PATH already
                infradev::environment::find_uv(&request.host_env)
                    .expect("uv is neither on PATH nor installed")
                    .0
                    .parent()
                    .unwrap()
                    .to_path_buf()
            }
        })
        .clone()
}

pub fn request_without_uv(folder: &Path) -> Request {
    let spec = EnvironmentSpec {
        kind: EnvironmentKind::Uv,
        requirements: Some("requirements.lock".into()),
        python: None,
        image: None,
        pythonpath: vec![".".into()],
        env: BTreeMap::from([("TASK_SETS".into(), "this".into())]),
        data: Vec::new(),
    };
    Request::new(spec, &folder.join("task"), &folder.join("home"))
}

pub fn build(request: &Request) -> (Environment, Vec<Progress>) {
    let said = Mutex::new(Vec::new());
    let made = prepare(request, &|p| said.lock().unwrap().push(p)).unwrap();
    (made, said.into_inner().unwrap())
}

/// Runs the environment's python under its own variables.
pub fn python(environment: &Environment, code: &str) -> String {
    let output = Command::new(&environment.python)
        .args(["-c", code])
        .env_clear()
        .envs(&environment.env)
        .output()
        .unwrap();
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    String::from_utf8(output.stdout).unwrap()
}

pub fn files(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let entry = entry.unwrap();
        if entry.file_type().unwrap().is_dir() {
            found.extend(files(&entry.path()));
        } else if entry.file_type().unwrap().is_file() {
            found.push(entry.path());
        }
    }
    found
}

/// A folder of scripts that note their start in a log and then run the real program.
pub fn noting(folder: &Path, programs: &[(&str, &Path)]) -> (PathBuf, PathBuf) {
    let bin = folder.join("noting");
    let log = folder.join("started.log");
    fs::create_dir_all(&bin).unwrap();
    for (name, program) in programs {
        let script = format!(
            "#!/bin/sh\necho {name} >> '{}'\nexec '{}' \"$@\"\n",
            log.display(),
            program.display()
        );
        fs::write(bin.join(name), script).unwrap();
        fs::set_permissions(bin.join(name), fs::Permissions::from_mode(0o755)).unwrap();
    }
    (bin, log)
}

/// Another process that builds the same.
pub fn spawn(request: &Request) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args([
            "--exact",
            "faults::a_killed_build_leaves_nothing_half_usable",
        ])
        .env("ENVIRONMENT_TEST_BUILD", request.home.parent().unwrap())
        .env("PATH", &request.host_env[&OsString::from("PATH")])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap()
}
