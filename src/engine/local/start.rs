//! The worker's side of a local sandbox: start `__sandbox`, hold its streams, see it end.

use std::collections::BTreeMap;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use tokio::io::AsyncReadExt;
use tokio::process::{Child, ChildStderr, Command};
use tokio::task::JoinHandle;
use tokio::time::timeout;

use super::super::driver::{Fault, Gone, Vessel};
use super::super::frame::encode;
use super::super::ownership::Lent;
use super::super::sandbox::{Answer, Failed, Shape};
use super::super::{
    Access, Begin, EngineError, Isolation, Refusal, RefusalKind, Request, Sandbox, SandboxSpec,
    User,
};
use super::probe;
use super::supervisor::KILLED_OUTSIDE;

/// What standard error of the set-up is kept of.
const STDERR_MAX: u64 = 64 << 10;
/// Name of the folder in the caller's scratch folder that mounts are staged on. It stays empty:
/// what is mounted on it is seen by one sandbox's set-up only.
const STAGE: &str = "stage";

/// How a local sandbox is started.
#[derive(Clone, Debug, Default)]
pub struct LocalOptions {
    /// Our own binary, for `__sandbox` and `__init`; absent: the running one.
    pub binary: Option<PathBuf>,
    /// Run without namespaces where the machine refuses them ([`Isolation::None`]).
    pub allow_unisolated: bool,
    /// Set where that happens: what name spaces would have hidden.
    pub unisolated_env: BTreeMap<String, String>,
}

/// The first frame: what `__sandbox` has to build.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Setup {
    pub spec: SandboxSpec,
    pub binary: PathBuf,
    pub stage: PathBuf,
    pub isolation: Isolation,
}

impl Sandbox {
    /// A sandbox on this machine's namespaces. `scratch` is an existing folder of the caller's
    /// that may be shared by many sandboxes; nothing is written there but an empty folder.
    pub async fn start_local(spec: SandboxSpec, scratch: &Path) -> Result<Self, EngineError> {
        Self::start_local_with(spec, scratch, &LocalOptions::default()).await
    }

    /// As [`Sandbox::start_local`], with another binary or without namespaces.
    pub async fn start_local_with(
        spec: SandboxSpec,
        scratch: &Path,
        options: &LocalOptions,
    ) -> Result<Self, EngineError> {
        if spec.user == User::Worker {
            return Err(EngineError::Start {
                step: "choosing a user".into(),
                message: "only the docker engine runs something as the worker's own user".into(),
            });
        }
        let mut setup = Setup {
            binary: binary(options)?,
            stage: stage(scratch)?,
            isolation: Isolation::Namespaces,
            spec,
        };
        match start(&setup).await {
            Err(EngineError::NamespacesRefused { .. }) if options.allow_unisolated => {
                setup.isolation = Isolation::None;
                setup.spec.env.extend(options.unisolated_env.clone());
                start(&setup).await
            }
            other => other,
        }
    }
}

fn binary(options: &LocalOptions) -> Result<PathBuf, EngineError> {
    match &options.binary {
        Some(path) => Ok(path.clone()),
        None => std::env::current_exe().map_err(|source| EngineError::Io {
            doing: "finding",
            path: "/proc/self/exe".into(),
            source,
        }),
    }
}

fn stage(scratch: &Path) -> Result<PathBuf, EngineError> {
    let io = |doing| {
        move |source| EngineError::Io {
            doing,
            path: scratch.to_owned(),
            source,
        }
    };
    let scratch = scratch.canonicalize().map_err(io("opening"))?;
    let stage = scratch.join(STAGE);
    std::fs::create_dir_all(&stage).map_err(io("making a folder in"))?;
    Ok(stage)
}

async fn start(setup: &Setup) -> Result<Sandbox, EngineError> {
    let begin = Begin {
        env: setup.spec.env.clone(),
        limits: setup.spec.limits,
        isolation: setup.isolation,
        foreign_threads: foreign_threads(setup.isolation),
        memory_group: false,
    };
    let mut first = encode(setup, &[])?;
    first.extend(encode(&Request::Begin(begin), &[])?);

    let lent = lend(&setup.spec).await?;
    let mut child = Command::new(&setup.binary)
        .arg("__sandbox")
        .env_clear()
        .current_dir("/")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        // an interrupt from the terminal is for the worker, which then ends the sandbox
        .process_group(0)
        .kill_on_drop(true)
        .spawn()
        .map_err(|source| EngineError::Io {
            doing: "starting",
            path: setup.binary.clone(),
            source,
        })?;
    let (Some(input), Some(output), Some(stderr)) =
        (child.stdin.take(), child.stdout.take(), child.stderr.take())
    else {
        return Err(EngineError::Ended);
    };
    let vessel = Supervisor {
        child,
        said: tokio::spawn(listen(stderr)),
        lent,
        isolation: setup.isolation,
    };
    let shape = Shape {
        isolation: setup.isolation,
        wall: setup.spec.limits.wall,
        paths: match setup.isolation {
            Isolation::Namespaces => BTreeMap::new(),
            Isolation::None => (setup.spec.mounts.iter())
                .map(|m| (m.target.clone(), m.source.clone()))
                .collect(),
        },
    };
    Sandbox::over(input, output, vessel, first, shape)
        .await
        .map_err(explain)
}

/// Read-write mounts of a root worker are given to the sandbox's user.
async fn lend(spec: &SandboxSpec) -> Result<Option<Lent>, EngineError> {
    let trees: Vec<PathBuf> = (spec.mounts.iter())
        .filter(|m| m.access == Access::ReadWrite)
        .map(|m| m.source.clone())
        .collect();
    let lend = move || Lent::new(&trees, true);
    match tokio::task::spawn_blocking(lend).await {
        Ok(lent) => lent.map(Some),
        Err(_) => Err(EngineError::Ended),
    }
}

fn explain(failed: Failed) -> EngineError {
    let Failed { answer, said, .. } = failed;
    match answer {
        Answer::Refused(mut refusal) => {
            if !said.is_empty() {
                refusal.message = format!("{} ({said})", refusal.message);
            }
            // the last steps of the set-up can only speak on standard error
            if refusal.kind == RefusalKind::Other && probe::names_a_refused_mount(&said) {
                refusal.kind = RefusalKind::Namespaces;
            }
            EngineError::from_refusal(refusal, probe::advice)
        }
        Answer::Silent => {
            let refusal = Refusal {
                kind: RefusalKind::Other,
                step: "setting up".into(),
                message: if said.is_empty() {
                    "it ended without a word".into()
                } else {
                    said
                },
            };
            EngineError::from_refusal(refusal, probe::advice)
        }
        Answer::Broken(error) => EngineError::Protocol(error),
        Answer::Late(seconds) => EngineError::StartTimeout { seconds },
    }
}

/// Threads on this machine now, the fourth field of `/proc/loadavg`, where the kernel counts a
/// user's threads over all sandboxes. In user namespaces, later kernels count each one's own.
fn foreign_threads(isolation: Isolation) -> u64 {
    if isolation == Isolation::Namespaces && kernel() >= (5, 14) {
        return 0;
    }
    std::fs::read_to_string("/proc/loadavg")
        .ok()
        .and_then(|text| {
            let (_, total) = text.split_whitespace().nth(3)?.split_once('/')?;
            total.parse().ok()
        })
        .unwrap_or(0)
}

/// Version and patch level; an unreadable one counts as old.
fn kernel() -> (u32, u32) {
    let release = std::fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    let mut numbers = release
        .split(|c: char| !c.is_ascii_digit())
        .map(|n| n.parse().unwrap_or(0));
    (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0))
}

async fn listen(stderr: ChildStderr) -> String {
    let mut bytes = Vec::new();
    let mut kept = stderr.take(STDERR_MAX);
    kept.read_to_end(&mut bytes).await.ok();
    // what comes after the bound is read and forgotten: nobody may block on it
    tokio::io::copy(&mut kept.into_inner(), &mut tokio::io::sink())
        .await
        .ok();
    String::from_utf8_lossy(&bytes).trim().to_owned()
}

/// `__sandbox`, from the worker's side.
struct Supervisor {
    child: Child,
    said: JoinHandle<String>,
    lent: Option<Lent>,
    isolation: Isolation,
}

impl Vessel for Supervisor {
    async fn gone(mut self, patience: Duration, _asks: bool) -> Gone {
        // its input is closed by now: it ends the sandbox, by force after a moment, and then itself
        let ended = timeout(patience, self.child.wait()).await;
        if ended.is_err() {
            // what it holds dies with it: hakoniwa's process, process 1, and so the namespace
            self.child.start_kill().ok();
            self.child.wait().await.ok();
        }
        // nothing inside reaches `__sandbox`, or could kill process 1
        let fault = ended.ok().and_then(Result::ok).and_then(|status| {
            let killed = status.code() == Some(KILLED_OUTSIDE.into()) || status.signal().is_some();
            (killed && self.isolation == Isolation::Namespaces)
                .then(|| Fault::Machine("the sandbox was killed from outside".into()))
        });
        // the stream ends when the last process that holds it is gone: process 1 among them
        let said = match timeout(Duration::from_secs(5), &mut self.said).await {
            Ok(Ok(said)) => said,
            _ => String::new(),
        };
        if let Some(lent) = self.lent.take() {
            tokio::task::spawn_blocking(move || drop(lent)).await.ok();
        }
        Gone { said, fault }
    }
}
