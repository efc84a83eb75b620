//! Which engine a run is carried out on (DESIGN.md, Engines).

use std::collections::BTreeMap;

use crate::domain::task::EnvironmentKind;
use crate::domain::{EngineChoice, EngineKind, Event, RunId, Task};
use crate::engine::docker::{CPU_IMAGE, CUDA_IMAGE, Docker, DockerUnavailable, Image, Owner};
use crate::engine::local::LocalOptions;
use crate::engine::{Engine, EngineError};
use crate::environment::Builder;
use crate::pipeline::error::Stop;
use crate::pipeline::recorder::Recorder;
use crate::store::Home;

/// The engine of a run.
#[derive(Clone, Debug)]
pub(super) enum Chosen {
    Local,
    Docker { docker: Docker, image: Image },
}

impl Chosen {
    pub(super) fn kind(&self) -> EngineKind {
        match self {
            Self::Local => EngineKind::Local,
            Self::Docker { .. } => EngineKind::Docker,
        }
    }

    /// What names the image's content.
    pub(super) fn image(&self) -> Option<&Image> {
        match self {
            Self::Local => None,
            Self::Docker { image, .. } => Some(image),
        }
    }
}

/// Why docker is not taken.
enum No {
    /// Somebody has to do something first.
    Input(String),
    Fault(String),
}

/// Chooses, and says what and why. `auto`: docker where a daemon answers and the task's image is
/// there, else local.
pub(super) async fn choose(
    choice: EngineChoice,
    home: &Home,
    run: &RunId,
    task: &Task,
    recorder: &Recorder,
) -> Result<Chosen, Stop> {
    let kind = task.spec.environment.kind;
    let (chosen, why) = match choice {
        EngineChoice::Local => {
            if kind == EnvironmentKind::Image {
                return Err(Stop::Input(format!(
                    "task {} runs in an image, and the local engine has none; use --engine docker",
                    task.id()
                )));
            }
            (Chosen::Local, "as asked".to_owned())
        }
        EngineChoice::Docker => match docker(home, run, task).await {
            Ok(chosen) => (chosen, "as asked".to_owned()),
            Err(No::Input(why)) => return Err(Stop::Input(why)),
            Err(No::Fault(why)) => return Err(Stop::Fault(why)),
        },
        EngineChoice::Auto => match docker(home, run, task).await {
            Ok(chosen) => (chosen, "a daemon answers and the image is here".to_owned()),
            Err(No::Input(why) | No::Fault(why)) if kind == EnvironmentKind::Image => {
                return Err(Stop::Input(why));
            }
            Err(No::Input(why) | No::Fault(why)) => (Chosen::Local, why),
        },
    };
    recorder.record(Event::EngineChosen {
        engine: chosen.kind(),
        image: chosen
            .image()
            .map(|image| format!("{} ({})", image.name, image.id)),
        why,
    });
    Ok(chosen)
}

/// Where the environment of a task is built when no run asks for it; words where it cannot be.
pub async fn builder(choice: EngineChoice, home: &Home, task: &Task) -> Result<Builder, String> {
    if choice == EngineChoice::Local {
        return Ok(Builder::Here);
    }
    match docker(home, &RunId("env build".into()), task).await {
        Ok(chosen) => Ok(chosen.builder()),
        Err(_) if choice == EngineChoice::Auto => Ok(Builder::Here),
        Err(No::Input(why) | No::Fault(why)) => Err(why),
    }
}

async fn docker(home: &Home, run: &RunId, task: &Task) -> Result<Chosen, No> {
    let spec = &task.spec.environment;
    if spec.kind == EnvironmentKind::Host {
        return Err(No::Input(format!(
            "task {} uses an interpreter of this machine, which no image has; use --engine local",
            task.id()
        )));
    }
    let name = spec
        .image
        .as_deref()
        .unwrap_or(if task.spec.hardware.gpus > 0 {
            CUDA_IMAGE
        } else {
            CPU_IMAGE
        });
    let owner = Owner {
        home: home.root().to_path_buf(),
        run: run.0.clone(),
    };
    let docker = Docker::connect(owner)
        .await
        .map_err(|e: DockerUnavailable| No::Input(format!("{e}: {}", e.advice())))?;
    docker.reap_dead_in_background();
    let image = docker
        .image(name)
        .await
        .map_err(|e: EngineError| No::Fault(e.to_string()))?
        .ok_or_else(|| {
            No::Input(format!(
                "image {name} is not here; `infradev image import` makes the base image, docker \
                 pull fetches others"
            ))
        })?;
    if task.spec.hardware.gpus > 0 && !docker.daemon().gpus {
        return Err(No::Input(
            "docker does not know of GPUs here: install the NVIDIA container toolkit, or use \
             --engine local"
                .into(),
        ));
    }
    Ok(Chosen::Docker { docker, image })
}

impl Chosen {
    /// Where an environment is built: here, or in the image that it is for.
    pub(super) fn builder(&self) -> Builder {
        match self {
            Self::Local => Builder::Here,
            Self::Docker { docker, image } => Builder::Image {
                docker: docker.clone(),
                image: image.clone(),
            },
        }
    }

    /// The engine itself. `unisolated_env`: set where the local engine finds no namespaces.
    pub(super) fn engine(&self, unisolated_env: BTreeMap<String, String>) -> Engine {
        match self {
            Self::Local => Engine::Local(LocalOptions {
                binary: None,
                allow_unisolated: true,
                unisolated_env,
            }),
            Self::Docker { docker, .. } => Engine::Docker(docker.clone()),
        }
    }
}
