//! Kind `uv`: which environment is meant (its hash), and whether it is there.

use std::collections::BTreeMap;
use std::io::Write;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::identity::{FORMAT, hash};
use super::image::{self, Asked};
use super::interpreter::{Facts, Package, find, fits};
use super::lock::{self, Hold, Mode, wait_for_lock};
use super::mounts::Mounts;
use super::requirements::{self, Requirement};
use super::rooms::Shared;
use super::seal::{Sealed, is_whole, links_work};
use super::types::{Builder, Environment, LinkMode, Progress, Request, Step};
use super::{EnvironmentError, client, inside, pool, tool, uv_build};
use crate::domain::task::EnvironmentKind;

/// Written last: an environment without it was never finished.
pub(super) const READY: &str = "ready.json";
/// Boots that are remembered: nodes of a cluster may share a home.
const MOST_BOOTS: usize = 64;

/// What is recorded of a finished build.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Ready {
    pub format: u32,
    pub hash: String,
    /// Where it was built; it cannot be moved.
    pub folder: PathBuf,
    pub interpreter: Facts,
    pub link: LinkMode,
    pub uv_version: String,
    pub packages: Vec<Package>,
    pub sealed: Sealed,
    /// The image in whose container it was built, by what names its content; the interpreter is that
    /// image's then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub image: Option<String>,
    /// Wall time of the build.
    pub build_s: f64,
    /// Boots of machines under which the files are known to be whole: what was written may not
    /// have reached the disk when the power went.
    pub boots: Vec<String>,
}

/// What a task's lock asks for on this machine.
pub(super) struct Plan {
    /// The task's lock file.
    pub lock: PathBuf,
    pub requirements: Vec<Requirement>,
    pub facts: Facts,
    /// Not an interpreter of this machine.
    in_image: bool,
}

impl Plan {
    pub fn of(
        request: &Request,
        home: &Path,
        progress: &dyn Fn(Progress),
    ) -> Result<Self, EnvironmentError> {
        let (lock, requirements) = locked(request)?;
        let wanted = request.spec.python.as_deref();
        let asked = Asked::of(request, home, progress);
        let facts = match &asked {
            None => find(wanted, &client::pip_env(&request.host_env), home)?,
            Some(asked) => image::find(asked, wanted, false)?,
        };
        Ok(Self {
            lock,
            requirements,
            facts,
            in_image: asked.is_some(),
        })
    }

    /// The environments that would do, the preferred one first.
    pub fn hashes(&self) -> [String; 2] {
        [LinkMode::Hardlink, LinkMode::Copy].map(|link| self.hash(link))
    }

    fn hash(&self, link: LinkMode) -> String {
        hash(&self.requirements, &self.facts, link, self.in_image)
    }
}

/// The task's lock file, and what is in it.
fn locked(request: &Request) -> Result<(PathBuf, Vec<Requirement>), EnvironmentError> {
    let Some(relative) = &request.spec.requirements else {
        return Err(EnvironmentError::NoRequirements {
            task_dir: request.task_dir.clone(),
        });
    };
    let lock = request.task_dir.join(relative);
    let text = std::fs::read_to_string(&lock).map_err(EnvironmentError::io(&lock))?;
    let requirements = requirements::parse(&text, &lock)?;
    Ok((lock, requirements))
}

impl Ready {
    /// Whether it was built in an image, and for what the request asks of any image that has that
    /// interpreter.
    pub fn would_do_in_an_image(&self, request: &Request) -> bool {
        let wanted = request.spec.python.as_deref();
        self.image.is_some()
            && fits(&self.interpreter, wanted)
            && locked(request).is_ok_and(|(_, requirements)| {
                hash(&requirements, &self.interpreter, self.link, true) == self.hash
            })
    }

    /// The record of a build that was finished, whether or not it still holds.
    pub fn read(folder: &Path) -> Option<Self> {
        serde_json::from_slice(&std::fs::read(folder.join(READY)).ok()?).ok()
    }

    /// It lies where it was built, and its interpreter is there (where it is this machine's).
    pub fn stands(&self, folder: &Path) -> bool {
        let python = python(folder);
        self.format == FORMAT
            && folder.ends_with(&self.hash)
            && self.folder == folder
            && match self.image {
                None => python.exists(),
                Some(_) => python.is_symlink(),
            }
    }
}

pub(super) fn prepare(
    request: &Request,
    home: &Path,
    progress: &dyn Fn(Progress),
) -> Result<Environment, EnvironmentError> {
    let plan = Plan::of(request, home, progress)?;
    let environments = home.join("env");
    for hash in plan.hashes() {
        if !environments.join(&hash).join(READY).is_file() {
            continue;
        }
        // held before it is looked at: nobody collects it meanwhile
        let hold = Hold::take(&environments, &hash, &request.stop)?;
        if let Some(ready) = finished(&environments, &hash) {
            return Ok(environment(request, &ready, false, hold));
        }
    }
    let cache = home.join("cache").join("uv");
    // a pool that were made while a container builds would not be covered in it
    for folder in [&environments, &cache, &pool::folder(home)] {
        std::fs::create_dir_all(folder).map_err(EnvironmentError::io(folder))?;
    }
    let shared = Shared {
        home,
        environments: &environments,
        cache: &cache,
    };
    let one_mount = matches!(request.builder, Builder::Here) || shared.is_one();
    let link = if one_mount && links_work(&cache, &environments) {
        LinkMode::Hardlink
    } else {
        progress(Progress::new(
            Step::Create,
            format!(
                "no hard link can be made from {} to {}: packages are copied, and take their \
                 space once more",
                cache.display(),
                environments.display()
            ),
        ));
        LinkMode::Copy
    };
    let hash = plan.hash(link);
    let what = format!("environment {}", &hash[..12]);
    let lock_path = lock::lock_file(&environments, &hash);
    let guard = wait_for_lock(&lock_path, &request.stop, &what, progress)?;
    // under the lock nobody collects it
    let hold = Hold::take(&environments, &hash, &request.stop)?;
    if let Some(ready) = finished(&environments, &hash) {
        return Ok(environment(request, &ready, false, hold));
    }
    let cache_lock = lock::cache_lock_file(home);
    let _cached = lock::wait(&cache_lock, Mode::Together, &request.stop, &|| {
        progress(Progress::new(
            Step::Wait,
            "another process collects what the cache no longer needs: waiting for it",
        ));
    })?;
    let Plan {
        lock,
        requirements,
        facts,
        ..
    } = plan;
    let labels: Vec<String> = requirements.iter().map(|r| r.label().to_string()).collect();
    let tool = tool::ensure(request, home, &facts, &labels, progress)?;
    let build = uv_build::Build {
        request,
        folder: environments.join(&hash),
        shared,
        hash: &hash,
        lock,
        requirements: &requirements,
        facts: &facts,
        link,
        tool: &tool,
        guard: &guard,
        progress,
    };
    let ready = build.run(|folder, packages, sealed, build_s| Ready {
        format: FORMAT,
        hash: hash.clone(),
        folder: folder.to_path_buf(),
        interpreter: facts.clone(),
        link,
        uv_version: tool.version.clone(),
        packages,
        sealed,
        image: match &request.builder {
            Builder::Here => None,
            Builder::Image { image, .. } => Some(image.id.clone()),
        },
        build_s,
        boots: boot().into_iter().collect(),
    })?;
    Ok(environment(request, &ready, true, hold))
}

/// The hash of what a build's folder says that it was built from.
pub(super) fn recorded_hash(folder: &Path, ready: &Ready) -> Option<String> {
    let lock = folder.join(uv_build::LOCK);
    let text = std::fs::read_to_string(&lock).ok()?;
    let requirements = requirements::parse(&text, &lock).ok()?;
    let in_image = ready.image.is_some();
    Some(hash(
        &requirements,
        &ready.interpreter,
        ready.link,
        in_image,
    ))
}

/// The record of a finished build that still holds: it lies where it was built, its interpreter is
/// there, and no restart since cut its files short.
fn finished(environments: &Path, hash: &str) -> Option<Ready> {
    let folder = environments.join(hash);
    let mut ready = Ready::read(&folder)?;
    if !ready.stands(&folder) {
        return None;
    }
    if let Some(boot) = boot().filter(|boot| !ready.boots.contains(boot)) {
        // once a restart and machine: sizes only, some milliseconds
        if !is_whole(&folder) {
            return None;
        }
        ready.boots.truncate(MOST_BOOTS - 1);
        ready.boots.insert(0, boot);
        // where that cannot be written it is looked at again
        let _ = finish(&folder, &ready);
    }
    Some(ready)
}

fn boot() -> Option<String> {
    let text = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?;
    Some(text.trim().to_string())
}

/// Makes the build count: whole or not at all, and after everything else.
pub(super) fn finish(folder: &Path, ready: &Ready) -> Result<(), EnvironmentError> {
    let path = folder.join(READY);
    let io = |source| EnvironmentError::Io {
        path: path.clone(),
        source,
    };
    let bytes = serde_json::to_vec_pretty(ready).map_err(|error| io(error.into()))?;
    let temporary = folder.join(format!("ready.{}", std::process::id()));
    let mut file = std::fs::File::create(&temporary).map_err(io)?;
    file.write_all(&bytes).map_err(io)?;
    file.sync_all().map_err(io)?;
    std::fs::rename(&temporary, &path).map_err(io)
}

/// The interpreter of a virtual environment.
pub(super) fn python(folder: &Path) -> PathBuf {
    folder.join("venv").join("bin").join("python")
}

fn environment(request: &Request, ready: &Ready, built: bool, hold: Hold) -> Environment {
    let (mounts, mut env) = match &request.builder {
        Builder::Here => {
            let mut mounts = Mounts::default();
            mounts.add(&ready.folder);
            mounts.add_executable(&python(&ready.folder));
            mounts.add_base(&ready.interpreter);
            let path = "/usr/local/bin:/usr/bin:/bin".to_string();
            (mounts, BTreeMap::from([("PATH".to_string(), path)]))
        }
        Builder::Image { image, .. } => {
            let mut mounts = Mounts::in_image();
            mounts.add(&ready.folder);
            (mounts, inside::without_python(&image.env))
        }
    };
    let venv = ready.folder.join("venv");
    let path = format!("{}:{}", venv.join("bin").display(), env["PATH"]);
    env.extend([
        ("PATH".to_string(), path),
        ("VIRTUAL_ENV".to_string(), venv.display().to_string()),
        ("PYTHONNOUSERSITE".to_string(), "1".to_string()),
    ]);
    env.extend(request.spec.env.clone());
    Environment {
        hash: ready.hash.clone(),
        kind: EnvironmentKind::Uv,
        python: python(&ready.folder),
        mounts: mounts.into_vec(),
        env,
        built,
        python_version: ready.interpreter.version.clone(),
        packages: ready.packages.clone(),
        hold,
    }
}
