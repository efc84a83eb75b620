//! Stage `prepare`: the task, its trees, its environment and the engine, made ready.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use super::error::Stop;
use super::recorder::Recorder;
use super::suite::install_reporter;
use super::trees::Trees;
use crate::catalog::load_task;
use crate::domain::{EngineChoice, EngineKind, Event, Level, Manifest, Task};
use crate::environment::{self, Environment, Request};
use crate::store::{Home, RunDir};

/// What the stages after `prepare` stand on.
pub struct Ground {
    pub task: Task,
    pub trees: Arc<Trees>,
    pub environment: Environment,
    pub engine: EngineKind,
    pub run: RunDir,
    pub scratch: PathBuf,
    pub reporter: PathBuf,
}

/// Makes the ground; environment and base at the same time.
pub async fn prepare(
    home: &Home,
    run: &RunDir,
    manifest: &Manifest,
    recorder: &Recorder,
) -> Result<Ground, Stop> {
    if manifest.engine == EngineChoice::Docker {
        return Err(Stop::Input(
            "the docker engine is not part of this version; use the local one".into(),
        ));
    }
    let loaded = load_task(&manifest.task_dir);
    if loaded.broken() {
        let problems: Vec<String> = loaded.problems.iter().map(ToString::to_string).collect();
        return Err(Stop::Input(format!(
            "task {} cannot be used:\n{}",
            manifest.task,
            problems.join("\n")
        )));
    }
    let Some(task) = loaded.task else {
        return Err(Stop::Input(format!(
            "no task in {}",
            manifest.task_dir.display()
        )));
    };
    let scratch = run.scratch_path();
    let reporter = scratch.join("reporter");
    install_reporter(&reporter).map_err(|e| Stop::Fault(e.to_string()))?;

    let stop = Arc::new(StopFlag::default());
    let mut request = Request::new(task.spec.environment.clone(), &task.dir, home.root());
    request.stop = Arc::clone(&stop.0);
    let environment = tokio::task::spawn_blocking({
        let recorder = recorder.clone();
        move || {
            environment::prepare(&request, &|progress| {
                recorder.say(Level::Info, progress.to_string());
            })
        }
    });
    let trees = tokio::task::spawn_blocking({
        let (home, task) = (home.clone(), task.clone());
        move || Trees::open(&home, &task)
    });
    let environment = environment
        .await
        .map_err(|e| Stop::Fault(format!("environment: {e}")))?
        .map_err(|e| {
            if e.is_input() {
                Stop::Input(e.to_string())
            } else {
                Stop::Fault(e.to_string())
            }
        })?;
    let trees = trees
        .await
        .map_err(|e| Stop::Fault(format!("trees: {e}")))??;
    recorder.record(Event::EnvironmentReady {
        hash: environment.hash.clone(),
        built: environment.built,
        python: format!("Python {}", environment.python_version),
    });
    drop(stop);
    Ok(Ground {
        task,
        trees: Arc::new(trees),
        environment,
        engine: EngineKind::Local,
        run: run.clone(),
        scratch,
        reporter,
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
        // joins a process that is seen outside (on a GPU) to its run
        env.insert("INFRADEV_RUN".into(), self.run.id().0);
        env
    }
}
