//! The worker's side of a sandbox in a container: create it, attach to it, start it.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use bollard::models::ContainerCreateBody;
use bollard::query_parameters::{AttachContainerOptionsBuilder, CreateContainerOptionsBuilder};
use nix::unistd::{getegid, geteuid};

use super::call::{is_missing, refusal};
use super::container::Container;
use super::streams::take_apart;
use super::{CPU_IMAGE, Docker, body, mounts};
use crate::engine::driver::Fault;
use crate::engine::frame::encode;
use crate::engine::local::OUTER_ID;
use crate::engine::ownership::{Lent, drops_root};
use crate::engine::sandbox::{Answer, Failed, Shape};
use crate::engine::{
    Access, Begin, EngineError, Isolation, Refusal, Request, Sandbox, SandboxSpec, User,
};

/// No bound on the threads of a user by process 1: a container has a count of its own.
const NO_BOUND: u64 = 1 << 22;

impl Docker {
    /// A sandbox in a container of the image that `spec` names. `scratch` is an existing folder
    /// that the daemon sees too; a few small files of ours stay there.
    pub async fn start(&self, spec: SandboxSpec, scratch: &Path) -> Result<Sandbox, EngineError> {
        let Some(image) = spec.image.clone() else {
            return Err(EngineError::Start {
                step: "choosing an image".into(),
                message: "none is named, and a container needs one".into(),
            });
        };
        let user = self.user(spec.user);
        let (mounts, lent) = {
            let (spec, scratch, binary) = (spec.clone(), scratch.to_owned(), self.binary()?);
            let away = user == (OUTER_ID, OUTER_ID);
            blocking(move || prepare(&spec, &scratch, &binary, user, away)).await?
        };
        let labels = self.owner.labels(&spec.label);
        let body = body::body(&spec, &image, self.daemon(), user, mounts, labels);
        let container = self.create(&image, body, lent).await?;
        self.begin(&spec, &image, container).await
    }

    async fn create(
        &self,
        image: &str,
        body: ContainerCreateBody,
        lent: Lent,
    ) -> Result<Container, EngineError> {
        const DOING: &str = "creating a container";
        let mut container = Container::new(self.clone(), lent);
        let options = CreateContainerOptionsBuilder::new()
            .name(container.id())
            .build();
        let create = async {
            match self.client.create_container(Some(options), body).await {
                // the daemon's own words are part of the answer
                Err(error) if refusal(&error).is_some() => Ok(Err(error)),
                created => created.map(Ok),
            }
        };
        match self.call(DOING, create).await? {
            Ok(created) => {
                for warning in &created.warnings {
                    tracing::debug!(%warning, "the container engine");
                }
                container.created(created.id);
                Ok(container)
            }
            Err(error) => {
                container.was_refused().await;
                if is_missing(&error) {
                    return Err(missing(image));
                }
                Err(self.explain(DOING, &error).await)
            }
        }
    }

    async fn begin(
        &self,
        spec: &SandboxSpec,
        image: &str,
        mut container: Container,
    ) -> Result<Sandbox, EngineError> {
        let options = AttachContainerOptionsBuilder::new()
            .stream(true)
            .stdin(true)
            .stdout(true)
            .stderr(true)
            .build();
        let attach = self.client.attach_container(container.id(), Some(options));
        // before the start: not a byte is missed
        let attached = match self.call("attaching to a container", attach).await {
            Ok(attached) => attached,
            Err(error) => {
                container.discard().await;
                return Err(error);
            }
        };
        let (output, said) = take_apart(attached.output);
        container.listens(said);
        let start = self.client.start_container(container.id(), None);
        if let Err(error) = self.call("starting a container", start).await {
            drop(attached.input);
            container.discard().await;
            return Err(unfit(image, error));
        }
        let begin = Begin {
            env: spec.env.clone(),
            limits: spec.limits,
            isolation: Isolation::Namespaces,
            foreign_threads: NO_BOUND,
            memory_group: true,
        };
        let shape = Shape {
            isolation: Isolation::Namespaces,
            wall: spec.limits.wall,
            paths: BTreeMap::new(),
        };
        let first = encode(&Request::Begin(begin), &[])?;
        Sandbox::over(attached.input, output, container, first, shape)
            .await
            .map_err(|failed| explain(image, failed))
    }

    /// Who runs in the container, so that nothing there is root outside and nothing that is left
    /// belongs to anybody but the worker's user.
    fn user(&self, asked: User) -> (u32, u32) {
        if self.daemon().rootless {
            // root of a name space whose root is the daemon's user
            return (0, 0);
        }
        if asked == User::Nobody && (geteuid().is_root() || drops_root()) {
            return (OUTER_ID, OUTER_ID);
        }
        (geteuid().as_raw(), getegid().as_raw())
    }

    fn binary(&self) -> Result<PathBuf, EngineError> {
        match &self.binary {
            Some(path) => Ok(path.as_ref().clone()),
            None => std::env::current_exe().map_err(|source| EngineError::Io {
                doing: "finding",
                path: "/proc/self/exe".into(),
                source,
            }),
        }
    }
}

/// What has to be done on the disk before a container can be created.
fn prepare(
    spec: &SandboxSpec,
    scratch: &Path,
    binary: &Path,
    user: (u32, u32),
    away: bool,
) -> Result<(Vec<bollard::models::Mount>, Lent), EngineError> {
    let etc = mounts::etc(scratch, user)?;
    let mounts = mounts::all(spec, binary, &etc)?;
    let trees: Vec<PathBuf> = (spec.mounts.iter())
        .filter(|m| m.access == Access::ReadWrite && spec.user == User::Nobody)
        .map(|m| m.source.clone())
        .collect();
    Ok((mounts, Lent::new(&trees, away)?))
}

async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, EngineError> + Send + 'static,
) -> Result<T, EngineError> {
    match tokio::task::spawn_blocking(work).await {
        Ok(done) => done,
        Err(_) => Err(EngineError::Ended),
    }
}

fn missing(image: &str) -> EngineError {
    let advice = if image == CPU_IMAGE {
        "`infradev image import` makes it".into()
    } else {
        format!("`docker pull {image}` fetches it, where a registry can be reached")
    };
    EngineError::ImageMissing {
        image: image.into(),
        advice,
    }
}

/// The runtime's words for a program that cannot become process 1.
fn unfit(image: &str, error: EngineError) -> EngineError {
    match error {
        EngineError::Daemon { message, .. } if cannot_run(&message) => EngineError::ImageUnfit {
            image: image.into(),
            message,
        },
        other => other,
    }
}

/// Whether this tells of a program that the image cannot load: another libc, an older one, another
/// processor.
fn cannot_run(said: &str) -> bool {
    [
        "exec format error",
        "GLIBC_",
        "error while loading shared libraries",
        "exec /infradev/init",
        "exec: \"/infradev/init\"",
        "exec user process caused",
    ]
    .iter()
    .any(|sign| said.contains(sign))
}

fn explain(image: &str, failed: Failed) -> EngineError {
    let Failed {
        answer,
        said,
        fault,
    } = failed;
    match answer {
        Answer::Refused(Refusal { step, message, .. }) => EngineError::Start { step, message },
        Answer::Silent if cannot_run(&said) => EngineError::ImageUnfit {
            image: image.into(),
            message: super::call::one_line(&said),
        },
        Answer::Silent => EngineError::Start {
            step: "setting up".into(),
            message: match fault {
                Some(Fault::Machine(why) | Fault::Memory(why)) => why,
                None if said.is_empty() => "it ended without a word".into(),
                None => said,
            },
        },
        Answer::Broken(error) => EngineError::Protocol(error),
        Answer::Late(seconds) => EngineError::StartTimeout { seconds },
    }
}
