//! Stage `prepare`: the task, its trees, its environment and the engine, made ready.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use super::disk::Disk;
use super::engines::{Chosen, choose};
use super::error::Stop;
use super::gpus::{self, Gpus};
use super::recorder::Recorder;
use super::suite::install_reporter;
use super::trees::Trees;
use crate::catalog::load_task;
use crate::domain::task::EnvironmentSpec;
use crate::domain::{EngineKind, Event, Level, Machine, Manifest, Suite, Task};
use crate::engine::Engine;
use crate::environment::{self, Beside, Environment, Project, Request};
use crate::gpu::Equipment;
use crate::store::{Home, RunDir};

/// What the stages after `prepare` stand on.
pub struct Ground {
    /// As the run wants it: with its number of ranks.
    pub task: Task,
    pub trees: Arc<Trees>,
    pub environment: Environment,
    pub chosen: Chosen,
    pub run: RunDir,
    pub scratch: PathBuf,
    pub reporter: PathBuf,
    /// Taken last, given back by [`Ground::end`] or with the ground.
    gpus: Option<Gpus>,
}

/// Makes the ground; environment and base at the same time.
pub async fn prepare(
    home: &Home,
    run: &RunDir,
    manifest: &Manifest,
    recorder: &Recorder,
) -> Result<Ground, Stop> {
    let loaded = load_task(&manifest.task_dir);
    if loaded.broken() {
        let problems: Vec<String> = loaded.problems.iter().map(ToString::to_string).collect();
        return Err(Stop::Input(format!(
            "task {} cannot be used:\n{}",
            manifest.task,
            problems.join("\n")
        )));
    }
    let Some(mut task) = loaded.task else {
        return Err(Stop::Input(format!(
            "no task in {}",
            manifest.task_dir.display()
        )));
    };
    if let Some(ranks) = manifest.ranks {
        task.spec = task.spec.with_ranks(ranks);
    }
    gpus::possible(&task).await?;
    let chosen = choose(manifest.engine, home, &run.id(), &task, recorder).await?;
    if let Some(why) = Disk::too_full(run.path()) {
        return Err(Stop::Input(why));
    }
    let scratch = run.scratch_path();
    let reporter = scratch.join("reporter");
    install_reporter(&reporter).map_err(|e| Stop::Fault(e.to_string()))?;

    let wanted = task.spec.environment.clone();
    let environment = build_environment(home, &chosen, wanted, &task.dir, recorder);
    let trees = tokio::task::spawn_blocking({
        let (home, task) = (home.clone(), task.clone());
        move || Trees::open(&home, &task)
    });
    // first: a repository that is not here is told before an environment is built
    let trees = trees
        .await
        .map_err(|e| Stop::Fault(format!("trees: {e}")))??;
    let environment = environment.await?;
    recorder.record(Event::EnvironmentReady {
        hash: environment.hash.clone(),
        built: environment.built,
        python: format!("Python {}", environment.python_version),
    });
    let gpus = gpus::take(&task, &run.id(), recorder).await?;
    Ok(Ground {
        task,
        trees: Arc::new(trees),
        environment,
        chosen,
        run: run.clone(),
        scratch,
        reporter,
        gpus,
    })
}

/// What a sandbox shows beside its environment ([`environment::beside`]).
pub(super) async fn beside(
    home: &Home,
    ground: &Ground,
    project: &Project,
    recorder: &Recorder,
) -> Result<Beside, Stop> {
    let stop = StopFlag::default();
    let spec = ground.task.spec.environment.clone();
    let mut request = Request::new(spec, &ground.task.dir, home.root());
    request.stop = Arc::clone(&stop.0);
    request.builder = ground.chosen.builder();
    let (environment, recorder) = (ground.environment.clone(), recorder.clone());
    let project = project.clone();
    let found = tokio::task::spawn_blocking(move || {
        environment::beside(&request, &environment, &project, &|progress| {
            recorder.say(Level::Info, progress.to_string());
        })
    });
    let found = found.await.map_err(|e| Stop::Fault(e.to_string()))?;
    found.map_err(|e| Stop::Fault(e.to_string()))
}

/// Finds or builds an environment, on a thread of its own; its progress is told in the journal.
pub(super) async fn build_environment(
    home: &Home,
    chosen: &Chosen,
    wanted: EnvironmentSpec,
    folder: &Path,
    recorder: &Recorder,
) -> Result<Environment, Stop> {
    let stop = StopFlag::default();
    let mut request = Request::new(wanted, folder, home.root());
    request.stop = Arc::clone(&stop.0);
    request.builder = chosen.builder();
    let recorder = recorder.clone();
    let built = tokio::task::spawn_blocking(move || {
        environment::prepare(&request, &|progress| {
            recorder.say(Level::Info, progress.to_string());
        })
    });
    let built = built
        .await
        .map_err(|e| Stop::Fault(format!("environment: {e}")))?;
    drop(stop);
    built.map_err(|e| {
        if e.is_input() {
            Stop::Input(e.to_string())
        } else {
            Stop::Fault(e.to_string())
        }
    })
}

/// Raised when the run is cancelled while blocking work goes on: dropping it tells that work.
#[derive(Default)]
struct StopFlag(Arc<AtomicBool>);

impl Drop for StopFlag {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

impl Ground {
    /// The engine that sandboxes are started on.
    pub fn engine(&self) -> Engine {
        self.chosen.engine(self.equipment().unisolated_env)
    }

    pub fn engine_kind(&self) -> EngineKind {
        self.chosen.kind()
    }

    /// The image that sandboxes are made of, by what names its content.
    pub fn image_id(&self) -> Option<&str> {
        self.chosen.image().map(|image| image.id.as_str())
    }

    /// Another environment on the same engine (an agent's own).
    pub async fn environment(
        &self,
        home: &Home,
        wanted: EnvironmentSpec,
        folder: &Path,
        recorder: &Recorder,
    ) -> Result<Environment, Stop> {
        build_environment(home, &self.chosen, wanted, folder, recorder).await
    }

    /// The suites that are asked for and that the task has.
    pub fn suites(&self, manifest: &Manifest) -> Result<Vec<Suite>, Stop> {
        let suites: Vec<Suite> = Suite::ALL
            .into_iter()
            .filter(|s| manifest.suites.includes(*s) && self.task.spec.suites.get(*s).is_some())
            .collect();
        if suites.is_empty() {
            return Err(Stop::Input(format!(
                "task {} has no such suite",
                manifest.task
            )));
        }
        Ok(suites)
    }

    /// What the GPUs are that the run holds; they are all of one type.
    pub fn gpu_type(&self) -> Option<&str> {
        let first = self.gpus.as_ref()?.held.gpus.first()?;
        Some(&first.name)
    }

    /// What a sandbox needs for the GPUs; nothing where there are none.
    pub fn equipment(&self) -> Equipment {
        let gpus = self.gpus.as_ref();
        let mut equipment = gpus.map(|g| g.equipment.clone()).unwrap_or_default();
        if self.engine_kind() == EngineKind::Docker {
            // its runtime puts nodes and libraries in, by UUID
            equipment.devices.clear();
            equipment.mounts.clear();
            equipment
                .env
                .retain(|name, _| equipment.settings.contains_key(name));
        }
        equipment
    }

    /// A fault where a GPU of the run does not answer any more. Asked before anything that was
    /// measured is kept beyond the run.
    pub async fn gpus_answer(&self) -> Result<(), Stop> {
        match &self.gpus {
            Some(gpus) => gpus.answer().await,
            None => Ok(()),
        }
    }

    /// How long the run waited for others' GPUs.
    pub fn waited(&self) -> Duration {
        self.gpus.as_ref().map(|g| g.waited).unwrap_or_default()
    }

    /// The work's end: GPUs are given back once nothing runs on them any more, whatever came of
    /// the work. A GPU that went is a fault before all else.
    pub async fn end<T>(self, work: Result<T, Stop>, recorder: &Recorder) -> Result<T, Stop> {
        match self.gpus {
            Some(gpus) => gpus::release(gpus, recorder).await.and(work),
            None => work,
        }
    }

    /// Settings of the node that hold inside the sandboxes.
    pub fn settings(&self) -> BTreeMap<String, String> {
        self.equipment().settings
    }

    /// Where this runs, for a calibration.
    pub fn machine(&self) -> Machine {
        let gpus = self.gpus.as_ref().map(|g| &g.held);
        let packages = &self.environment.packages;
        let torch = packages.iter().find(|p| p.name == "torch");
        Machine {
            gpu_type: self.gpu_type().map(str::to_owned),
            gpus: gpus.map_or(0, |g| g.gpus.len() as u32),
            driver: gpus.map(|g| g.driver.clone()),
            settings: self.settings(),
            kernel: nix::sys::utsname::uname()
                .ok()
                .map(|u| u.release().to_string_lossy().into_owned()),
            python: self.environment.python_version.clone(),
            torch: torch.map(|p| p.version.clone()),
        }
    }

    /// Environment of every process in a sandbox of this run.
    pub fn variables(&self, ranks: u32) -> BTreeMap<String, String> {
        let mut env: BTreeMap<String, String> = [
            ("HOME", "/tmp"),
            ("TMPDIR", "/tmp"),
            ("LANG", "C.UTF-8"),
            ("PYTHONDONTWRITEBYTECODE", "1"),
            ("PYTHONNOUSERSITE", "1"),
        ]
        .into_iter()
        .map(|(k, v)| (k.to_string(), v.to_string()))
        .collect();
        if ranks > 1 {
            // as torchrun does: ranks share the cores
            env.insert("OMP_NUM_THREADS".into(), "1".into());
            env.insert("OPENBLAS_NUM_THREADS".into(), "1".into());
        }
        env.extend(self.environment.env.clone());
        for (name, value) in self.equipment().env {
            match env.get_mut(&name) {
                // the driver's own libraries before anything else of their name
                Some(set) if name == "LD_LIBRARY_PATH" => *set = format!("{value}:{set}"),
                Some(_) => {}
                None => {
                    env.insert(name, value);
                }
            }
        }
        // joins a process that is seen outside (on a GPU) to its run
        env.insert("INFRADEV_RUN".into(), self.run.id().0);
        env
    }
}
