//! Sandboxes for one work tree.

use std::num::NonZeroU32;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use super::ground::Ground;
use super::suite::{
    Sandboxes, SuiteError, SuiteRun, Waiting, WaitsFor, orders_mount, reporter_mount,
};
use crate::engine::{
    Access, Engine, EngineError, Isolation, Limits, Mount, Network, Sandbox, SandboxSpec, User,
};

/// Where a sandbox sees the work tree.
pub const WORKTREE: &str = "/workspace";

/// Sandboxes in which nothing runs any more, to be ended when there is time.
pub(super) type Aside = Arc<Mutex<Vec<Sandbox>>>;

/// Starts sandboxes that share one work tree, one after another.
pub struct Place {
    spec: SandboxSpec,
    engine: Engine,
    scratch: PathBuf,
    /// The first one, where it is there already.
    pub(super) waiting: Option<Waiting>,
    /// Where sandboxes go that are over; none: they are ended at once.
    pub(super) aside: Option<Aside>,
    /// Stays true as long as every sandbox had namespaces of its own.
    isolated: Arc<AtomicBool>,
}

impl Place {
    /// `life`: how long a sandbox may last.
    pub fn new(
        ground: &Ground,
        worktree: &Path,
        ranks: u32,
        life: Duration,
        isolated: &Arc<AtomicBool>,
    ) -> Self {
        let limits = &ground.task.spec.limits;
        let mut mounts = ground.environment.mounts.clone();
        let equipment = ground.equipment();
        mounts.extend(equipment.mounts);
        mounts.push(reporter_mount(&ground.reporter));
        mounts.push(Mount {
            source: worktree.to_path_buf(),
            target: WORKTREE.into(),
            access: Access::ReadWrite,
        });
        Self {
            spec: SandboxSpec {
                label: ground.run.id().0,
                image: ground.image_id().map(str::to_owned),
                mounts,
                env: ground.variables(ranks),
                limits: Limits {
                    wall: life,
                    memory_bytes: limits.memory_mib << 20,
                    processes: limits.processes,
                    file_bytes: limits.file_mib << 20,
                    output_bytes: limits.output_mib << 20,
                    scratch_bytes: limits.scratch_mib << 20,
                    shm_bytes: limits.shm_mib << 20,
                    cpus: limits.cpus.map(NonZeroU32::get),
                },
                network: Network::Loopback,
                devices: equipment.devices,
                gpus: equipment.uuids,
                user: User::default(),
            },
            engine: ground.engine(),
            scratch: ground.scratch.clone(),
            waiting: None,
            aside: None,
            isolated: Arc::clone(isolated),
        }
    }

    /// With one more mount.
    pub fn with(mut self, mount: Mount) -> Self {
        self.spec.mounts.push(mount);
        self
    }
}

impl Place {
    /// A sandbox that waits for its order, which comes out of `orders`. `life`: as long as it may.
    pub(super) async fn wait(
        &mut self,
        run: &SuiteRun,
        orders: &Path,
        waits_for: WaitsFor<'_>,
    ) -> Result<Waiting, SuiteError> {
        self.spec.mounts.push(orders_mount(orders));
        let sandbox = self.start().await?;
        self.spec.mounts.pop();
        let inherited = self.spec.env.get("PYTHONPATH").map(String::as_str);
        Waiting::new(sandbox, run, orders, waits_for, inherited).await
    }
}

impl Sandboxes for Place {
    fn waiting(&mut self) -> Option<Waiting> {
        self.waiting.take()
    }

    async fn over(&mut self, sandbox: Sandbox) {
        match &self.aside {
            Some(aside) => aside
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .push(sandbox),
            None => sandbox.close().await,
        }
    }

    async fn start(&mut self) -> Result<Sandbox, EngineError> {
        let sandbox = self.engine.start(self.spec.clone(), &self.scratch).await?;
        if sandbox.isolation() == Isolation::None {
            self.isolated.store(false, Ordering::Relaxed);
        }
        Ok(sandbox)
    }
}
