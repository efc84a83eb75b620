//! Builds a `uv` environment at its final path (a virtual environment holds absolute paths): from
//! nothing each time, sealed, and recorded last. Whoever finds no record starts over. For an image
//! uv runs in a container of it; everything else is the same.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fs::{File, Permissions};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use super::command::{Finished, Invocation, Place};
use super::inside::Inside;
use super::interpreter::{Facts, Package};
use super::pool::Pool;
use super::requirements::Requirement;
use super::rooms::{self, Shared};
use super::seal::{Sealed, remove_tree, seal};
use super::tool::Tool;
use super::types::{Builder, LinkMode, Progress, Request, Step};
use super::uv::{Ready, finish, python};
use super::workshop::{self, Opening, Workshop};
use super::{EnvironmentError, client};
use crate::engine::{Network, User};

/// Packages of several gigabytes on a slow line are usual.
const INSTALL_LIMIT: Duration = Duration::from_secs(2 * 3600);
const SHORT_LIMIT: Duration = Duration::from_secs(5 * 60);
/// Compiles what is installed; its argument is the folder.
const COMPILE: &str = include_str!("bytecode.py");
/// What is installed, beside the virtual environment.
pub(super) const LOCK: &str = "requirements.lock";

pub(super) struct Build<'a> {
    pub request: &'a Request,
    pub folder: PathBuf,
    pub shared: Shared<'a>,
    pub hash: &'a str,
    /// The task's lock file, for messages.
    pub lock: PathBuf,
    pub requirements: &'a [Requirement],
    pub facts: &'a Facts,
    pub link: LinkMode,
    pub tool: &'a Tool,
    /// The lock file that is held.
    pub guard: &'a File,
    pub progress: &'a dyn Fn(Progress),
}

/// Where uv runs.
struct Bench<'a> {
    place: Place<'a>,
    uv: &'a Path,
    env: BTreeMap<OsString, OsString>,
}

impl Build<'_> {
    pub fn run(
        &self,
        record: impl FnOnce(&Path, Vec<Package>, Sealed, f64) -> Ready,
    ) -> Result<Ready, EnvironmentError> {
        let begun = Instant::now();
        let venv = self.folder.join("venv");
        self.say(
            Step::Create,
            format!(
                "building {} with python {} ({}{}) and uv {}",
                self.folder.display(),
                self.facts.version,
                self.facts.base_executable.display(),
                match &self.request.builder {
                    Builder::Here => String::new(),
                    Builder::Image { image, .. } => format!(" of image {}", image.name),
                },
                self.tool.version
            ),
        );
        if let Builder::Image { docker, image } = &self.request.builder {
            workshop::reap(docker, image, &self.purpose())?;
        }
        remove_tree(&self.folder)?;
        std::fs::create_dir_all(&self.folder).map_err(EnvironmentError::io(&self.folder))?;
        // the very text that was hashed is what is installed, not a file that may change meanwhile
        let own = self.folder.join(LOCK);
        let text: String = self.requirements.iter().map(Requirement::alone).collect();
        std::fs::write(&own, &text).map_err(EnvironmentError::io(&own))?;
        if let Err(error) = self.fill(&venv, &own).and_then(|()| self.tidy(&text)) {
            // half of it is of no use, and takes space
            let _ = remove_tree(&self.folder);
            return Err(error);
        }
        let mut pool = Pool::open(self.shared.home, &self.folder)?;
        let sealed = seal(&venv, &self.folder, pool.as_mut())?;
        self.tell_of(pool.as_ref());
        // a sandbox runs under another user, whatever our umask is
        std::fs::set_permissions(&self.folder, Permissions::from_mode(0o755))
            .map_err(EnvironmentError::io(&self.folder))?;
        let packages = installed(&venv);
        let build_s = begun.elapsed().as_secs_f64();
        self.say(
            Step::Seal,
            format!(
                "{} packages, {} files, {:.1} MB, of which {:.1} MB are shared with the cache \
                 or other environments; \
                 {build_s:.1} s",
                packages.len(),
                sealed.files,
                sealed.bytes as f64 / 1e6,
                sealed.shared_bytes as f64 / 1e6
            ),
        );
        let ready = record(&self.folder, packages, sealed, build_s);
        finish(&self.folder, &ready)?;
        Ok(ready)
    }

    /// Makes the virtual environment and installs into it; afterwards nobody writes there any more.
    fn fill(&self, venv: &Path, lock: &Path) -> Result<(), EnvironmentError> {
        let host_env = &self.request.host_env;
        let mut env = client::uv_env(host_env, self.shared.cache);
        let Builder::Image { docker, image } = &self.request.builder else {
            let bench = Bench {
                place: Place::Host,
                uv: &self.tool.path,
                env,
            };
            return self.make(&bench, venv, lock);
        };
        let inside = Inside::new(&env, host_env, &image.env);
        env = inside.env;
        let scratch = rooms::scratch(self.shared.home)?;
        let mut mounts = self.shared.mounts(self.hash, &scratch)?;
        mounts.extend(inside.mounts);
        mounts.push(rooms::uv(&self.tool.path));
        let workshop = Workshop::open(Opening {
            docker,
            image,
            purpose: &self.purpose(),
            mounts,
            network: Network::Host,
            user: User::Worker,
            scratch: &scratch,
        })?;
        let bench = Bench {
            place: Place::Container(&workshop),
            uv: Path::new(rooms::UV),
            env,
        };
        self.make(&bench, venv, lock)
    }

    /// What keeps files from being shared; that of copies was told already.
    fn tell_of(&self, pool: Option<&Pool>) {
        let why = match pool {
            Some(pool) => pool.refused().map(str::to_owned),
            None if self.link == LinkMode::Copy => None,
            None => Some("no hard link can be made from cache/files".into()),
        };
        if let Some(why) = why {
            let text = format!("not every file can be shared with other environments: {why}");
            self.say(Step::Seal, text);
        }
    }

    /// What names this build's containers.
    fn purpose(&self) -> String {
        format!("environment {}", self.hash)
    }

    fn make(&self, bench: &Bench, venv: &Path, lock: &Path) -> Result<(), EnvironmentError> {
        let mut args: Vec<&OsStr> = ["venv", "--quiet", "--no-project", "--no-python-downloads"]
            .map(OsStr::new)
            .to_vec();
        args.extend([
            OsStr::new("--python"),
            self.facts.base_executable.as_os_str(),
        ]);
        args.push(venv.as_os_str());
        let made = self.uv(bench, &args, SHORT_LIMIT, &|line| {
            self.say(Step::Create, line);
        })?;
        if !made.status.success() {
            return Err(self.failed("create the virtual environment", &made));
        }
        self.install(bench, lock)?;
        for site in site_packages(venv) {
            self.compile(bench, &site)?;
        }
        Ok(())
    }

    /// With the interpreter itself, which no package can have replaced, and without `site`, which
    /// would run what packages left there to be run.
    fn compile(&self, bench: &Bench, site: &Path) -> Result<(), EnvironmentError> {
        let mut env = bench.env.clone();
        env.retain(|name, _| !name.as_bytes().starts_with(b"PYTHON"));
        env.insert("PYTHONHASHSEED".into(), "0".into());
        let args = ["-S", "-s", "-B", "-c", COMPILE].map(OsStr::new);
        let compiled = Invocation {
            place: bench.place,
            program: &self.facts.base_executable,
            args: &[&args[..], &[site.as_os_str()]].concat(),
            env: &env,
            lock: Some(self.guard),
            stop: &self.request.stop,
            line: &|_| {},
            limit: INSTALL_LIMIT,
        }
        .run()?;
        if compiled.status.success() {
            return Ok(());
        }
        Err(self.failed("compile the packages", &compiled))
    }

    /// A package's build may have left more here, or something else under our names, which we are
    /// about to follow.
    fn tidy(&self, lock: &str) -> Result<(), EnvironmentError> {
        let strange = |what: &str| EnvironmentError::Strange {
            folder: self.folder.clone(),
            what: what.to_string(),
            lock: self.lock.clone(),
        };
        let is_folder = |path: &Path| path.symlink_metadata().is_ok_and(|m| m.is_dir());
        let venv = self.folder.join("venv");
        if !is_folder(&self.folder) || !is_folder(&venv) {
            return Err(strange("a link instead of a folder"));
        }
        let own = self.folder.join(LOCK);
        if own.is_symlink() || std::fs::read(&own).ok().as_deref() != Some(lock.as_bytes()) {
            return Err(strange("another lock"));
        }
        let io = EnvironmentError::io(&self.folder);
        for entry in std::fs::read_dir(&self.folder).map_err(io)?.flatten() {
            let path = entry.path();
            if path != venv && path != own {
                remove_tree(&path)?;
            }
        }
        Ok(())
    }

    /// From the cache alone where it suffices (that is faster, and works without a network), else
    /// over the network.
    fn install(&self, bench: &Bench, lock: &Path) -> Result<(), EnvironmentError> {
        let quiet = |_: &str| {};
        let offline = self.sync(bench, lock, &["--offline"], &quiet)?;
        if offline.status.success() {
            self.say(Step::Install, "everything was in the cache");
            return Ok(());
        }
        if let Some(error) = self.mismatch(&offline) {
            return Err(error);
        }
        self.say(Step::Install, "not everything is in the cache: downloading");
        let say = |line: &str| self.say(Step::Install, line);
        let online = self.sync(bench, lock, &[], &say)?;
        if online.status.success() {
            return Ok(());
        }
        if let Some(error) = self.mismatch(&online) {
            return Err(error);
        }
        let packages = self.missing(bench)?;
        if packages.is_empty() {
            return Err(self.failed("install the packages", &online));
        }
        Err(EnvironmentError::Missing {
            lock: self.lock.clone(),
            packages,
            cache: self.shared.cache.to_path_buf(),
            reason: online.output,
        })
    }

    /// The packages that the cache alone cannot give, asked one by one.
    fn missing(&self, bench: &Bench) -> Result<Vec<String>, EnvironmentError> {
        let one = self.folder.join("one.lock");
        let mut missing = Vec::new();
        for requirement in self.requirements {
            std::fs::write(&one, requirement.alone()).map_err(EnvironmentError::io(&one))?;
            let answer = self.sync(bench, &one, &["--offline", "--dry-run"], &|_| {})?;
            if !answer.status.success() {
                missing.push(requirement.label().to_string());
            }
        }
        Ok(missing)
    }

    fn sync(
        &self,
        bench: &Bench,
        lock: &Path,
        options: &[&str],
        line: &dyn Fn(&str),
    ) -> Result<Finished, EnvironmentError> {
        let python = python(&self.folder);
        let mut args: Vec<&OsStr> = ["pip", "sync", "--require-hashes"].map(OsStr::new).to_vec();
        args.extend(
            [
                "--allow-empty-requirements",
                "--link-mode",
                self.link.name(),
            ]
            .map(OsStr::new),
        );
        args.extend(options.iter().map(OsStr::new));
        args.extend([OsStr::new("--python"), python.as_os_str(), lock.as_os_str()]);
        self.uv(bench, &args, INSTALL_LIMIT, line)
    }

    fn uv(
        &self,
        bench: &Bench,
        args: &[&OsStr],
        limit: Duration,
        line: &dyn Fn(&str),
    ) -> Result<Finished, EnvironmentError> {
        Invocation {
            place: bench.place,
            program: bench.uv,
            args,
            env: &bench.env,
            lock: Some(self.guard),
            stop: &self.request.stop,
            line,
            limit,
        }
        .run()
    }

    fn mismatch(&self, finished: &Finished) -> Option<EnvironmentError> {
        let (_, after) = finished.output.split_once("Hash mismatch for `")?;
        Some(EnvironmentError::HashMismatch {
            lock: self.lock.clone(),
            package: after.split('`').next().unwrap_or_default().to_string(),
            reason: finished.output.clone(),
        })
    }

    fn failed(&self, step: &str, finished: &Finished) -> EnvironmentError {
        EnvironmentError::Build {
            lock: self.lock.clone(),
            step: step.into(),
            output: format!("{}\n{}", finished.status, finished.output),
        }
    }

    fn say(&self, step: Step, text: impl Into<String>) {
        (self.progress)(Progress::new(step, text));
    }
}

/// Where packages are; nothing that a link leads to.
fn site_packages(venv: &Path) -> Vec<PathBuf> {
    let is_folder = |path: &Path| path.symlink_metadata().is_ok_and(|m| m.is_dir());
    let lib = venv.join("lib");
    if !is_folder(&lib) {
        return Vec::new();
    }
    std::fs::read_dir(lib)
        .into_iter()
        .flatten()
        .flatten()
        .map(|library| library.path())
        .filter(|library| is_folder(library))
        .map(|library| library.join("site-packages"))
        .filter(|site| is_folder(site))
        .collect()
}

/// What is installed, read from the packages' own metadata.
fn installed(venv: &Path) -> Vec<Package> {
    let mut packages = Vec::new();
    for site in site_packages(venv) {
        for entry in std::fs::read_dir(site).into_iter().flatten().flatten() {
            let path = entry.path();
            if path.extension() != Some(OsStr::new("dist-info")) {
                continue;
            }
            let text = std::fs::read_to_string(path.join("METADATA")).unwrap_or_default();
            let header = |name: &str| {
                text.lines()
                    .take_while(|line| !line.is_empty())
                    .find_map(|line| line.strip_prefix(name))
                    .map(|value| value.trim().to_string())
            };
            if let (Some(name), Some(version)) = (header("Name:"), header("Version:")) {
                packages.push(Package { name, version });
            }
        }
    }
    packages.sort();
    packages
}
