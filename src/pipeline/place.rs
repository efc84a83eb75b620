//! Sandboxes for one work tree.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use super::ground::Ground;
use super::suite::{Sandboxes, reporter_mount};
use crate::engine::{
    Access, Engine, EngineError, Isolation, Limits, Mount, Network, Sandbox, SandboxSpec, User,
};

/// Where a sandbox sees the work tree.
pub const WORKTREE: &str = "/workspace";

/// Starts sandboxes that share one work tree, one after another.
pub struct Place {
    spec: SandboxSpec,
    engine: Engine,
    scratch: PathBuf,
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
                    cpus: None,
                },
                network: Network::Loopback,
                devices: equipment.devices,
                gpus: equipment.uuids,
                user: User::default(),
            },
            engine: ground.engine(),
            scratch: ground.scratch.clone(),
            isolated: Arc::clone(isolated),
        }
    }
}

impl Sandboxes for Place {
    async fn start(&mut self) -> Result<Sandbox, EngineError> {
        let sandbox = self.engine.start(self.spec.clone(), &self.scratch).await?;
        if sandbox.isolation() == Isolation::None {
            self.isolated.store(false, Ordering::Relaxed);
        }
        Ok(sandbox)
    }
}
