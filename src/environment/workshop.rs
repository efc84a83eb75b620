//! A container in which an environment is made, or its interpreter asked.
//!
//! It ends with the worker, whatever becomes of that; what the worker leaves of it is reaped before
//! the same environment is built again.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::ExitStatus;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use tokio::runtime::Runtime;
use tokio::time::{sleep, timeout};

use super::EnvironmentError;
use crate::engine::docker::{Docker, Image};
use crate::engine::{
    EngineError, Limits, Loss, Mount, Network, ProcessSpec, ProcessStatus, Sandbox, SandboxEvent,
    SandboxSpec, Stream, User,
};

/// How often it is looked whether to stop.
const TICK: Duration = Duration::from_millis(50);
/// What the engine may take to remove what a killed worker left.
const REAP_PATIENCE: Duration = Duration::from_secs(30);
/// Packages may be compiled: nothing is held but what would take the machine along.
const LIMITS: Limits = Limits {
    wall: Duration::from_secs(6 * 3600),
    memory_bytes: 1 << 40,
    processes: 1 << 15,
    file_bytes: 1 << 40,
    output_bytes: 64 << 20,
    scratch_bytes: 8 << 30,
    shm_bytes: 64 << 20,
    cpus: None,
};

/// Drives a container from a thread that may block. Not the caller's own runtime, where there is
/// one: it may be shut down while a stopped build still takes its container away.
fn driver() -> Result<Runtime, EnvironmentError> {
    tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .enable_all()
        .build()
        .map_err(EnvironmentError::io(Path::new("a thread")))
}

/// What a container is opened for.
pub(super) struct Opening<'a> {
    pub docker: &'a Docker,
    pub image: &'a Image,
    /// Told apart by it when it is left over.
    pub purpose: &'a str,
    pub mounts: Vec<Mount>,
    pub network: Network,
    pub user: User,
    /// A folder for small files of the engine's.
    pub scratch: &'a Path,
}

/// An open container. Dropping it waits until nothing of it is left.
pub(super) struct Workshop {
    driver: Runtime,
    image: String,
    /// Gone only while it is closed.
    sandbox: RefCell<Option<Sandbox>>,
    processes: Cell<u32>,
}

pub(super) struct Process {
    pub argv: Vec<String>,
    pub env: BTreeMap<String, String>,
    pub limit: Duration,
}

/// How a process ended.
pub(super) struct Ended {
    /// Or why it did not start.
    pub status: Result<ExitStatus, String>,
    /// Its limit was reached.
    pub late: bool,
}

impl Workshop {
    pub fn open(opening: Opening) -> Result<Self, EnvironmentError> {
        let driver = driver()?;
        let spec = SandboxSpec {
            label: opening.purpose.to_owned(),
            mounts: opening.mounts,
            env: BTreeMap::new(),
            limits: LIMITS,
            network: opening.network,
            devices: Vec::new(),
            // not its name, which may mean another one meanwhile
            image: Some(opening.image.id.clone()),
            gpus: Vec::new(),
            user: opening.user,
        };
        let image = opening.image.name.clone();
        // not given up half way: what was created is ours to remove
        let started = driver.block_on(opening.docker.start(spec, opening.scratch));
        let sandbox = started.map_err(|source| failed(&image, source))?;
        Ok(Self {
            driver,
            image,
            sandbox: RefCell::new(Some(sandbox)),
            processes: Cell::new(0),
        })
    }

    /// Runs a process to its end; `each` gets what it prints, as it comes.
    pub fn run(
        &self,
        process: Process,
        stop: &AtomicBool,
        each: &mut dyn FnMut(Stream, &[u8]),
    ) -> Result<Ended, EnvironmentError> {
        let mut sandbox = self.sandbox.borrow_mut();
        let Some(sandbox) = sandbox.as_mut() else {
            return Err(failed(&self.image, EngineError::Ended));
        };
        let own = self.processes.get() + 1;
        self.processes.set(own);
        let failed = |source| failed(&self.image, source);
        let deadline = Instant::now() + process.limit;
        let spec = ProcessSpec {
            id: own,
            argv: process.argv,
            env: process.env,
            cwd: "/".into(),
            stdin: Vec::new(),
            channel: false,
        };
        sandbox.spawn(spec).map_err(failed)?;
        let mut late = false;
        loop {
            let event = (self.driver).block_on(async { timeout(TICK, sandbox.next()).await });
            let ended = match event {
                Ok(Some(SandboxEvent::Output { id, stream, bytes })) if id == own => {
                    each(stream, &bytes);
                    None
                }
                Ok(Some(SandboxEvent::NotStarted { id, message })) if id == own => {
                    Some(Err(message))
                }
                Ok(Some(SandboxEvent::Exited { id, status, .. })) if id == own => {
                    Some(Ok(as_here(status)))
                }
                Ok(Some(SandboxEvent::LimitHit { limit, detail })) => {
                    let told = format!("\nthe {limit} limit was hit: {detail}\n");
                    each(Stream::Stderr, told.as_bytes());
                    None
                }
                Ok(Some(SandboxEvent::Closed { reason })) => {
                    return Err(EnvironmentError::ContainerEnded {
                        image: self.image.clone(),
                        reason: Loss::told(reason),
                    });
                }
                Ok(None) => return Err(failed(EngineError::Ended)),
                Ok(Some(_)) | Err(_) => None,
            };
            if let Some(status) = ended {
                return Ok(Ended { status, late });
            }
            if stop.load(Ordering::Relaxed) {
                // with the workshop everything in it ends
                return Err(EnvironmentError::Stopped);
            }
            if !late && Instant::now() > deadline {
                late = true;
                sandbox.kill_all().map_err(failed)?;
            }
        }
    }
}

impl Drop for Workshop {
    fn drop(&mut self) {
        if let Some(sandbox) = self.sandbox.take() {
            self.driver.block_on(sandbox.close());
        }
    }
}

fn failed(image: &str, source: EngineError) -> EnvironmentError {
    EnvironmentError::Container {
        image: image.to_owned(),
        source: Box::new(source),
    }
}

/// As the kernel tells it of a process of this machine.
fn as_here(status: ProcessStatus) -> ExitStatus {
    ExitStatus::from_raw(match status {
        ProcessStatus::Exited(code) => (code & 0xff) << 8,
        ProcessStatus::Signaled(signal) => signal & 0x7f,
    })
}

/// Ends containers of dead workers of this home that were for `purpose`: they would write beside a
/// new one. Nobody else may open one for it meanwhile.
pub(super) fn reap(docker: &Docker, image: &Image, purpose: &str) -> Result<(), EnvironmentError> {
    let deadline = Instant::now() + REAP_PATIENCE;
    driver()?.block_on(async {
        loop {
            let mut left = docker
                .leftovers()
                .await
                .map_err(|e| failed(&image.name, e))?;
            left.retain(|one| one.of_this_home && one.purpose == purpose);
            let mut refused = None;
            for one in &left {
                // somebody else may be removing it just now
                refused = docker.reap(one).await.err().or(refused);
            }
            match refused {
                _ if left.is_empty() => return Ok(()),
                Some(error) if Instant::now() > deadline => return Err(failed(&image.name, error)),
                _ => sleep(TICK).await,
            }
        }
    })
}
