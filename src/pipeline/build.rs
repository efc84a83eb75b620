//! The project's build step, on the submission's own sources (DESIGN.md, The judge's mechanics).

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use super::error::Stop;
use super::ground::Ground;
use super::place::{Place, WORKTREE};
use super::run_suites::Subjected;
use super::suite::Sandboxes;
use crate::domain::Subject;
use crate::domain::task::BuildSpec;
use crate::engine::{ProcessSpec, ProcessStatus, Sandbox, SandboxEvent};

/// The end of the build's output that is told with a failure.
const TOLD_BYTES: usize = 600;

/// Where the built tree of a subject lies; suites start from a copy of it.
pub(super) fn built_tree(scratch: &Path, subject: Subject) -> PathBuf {
    scratch.join(format!("{}-built", subject.name()))
}

/// Builds the subject's tree. `Err` inside: the build failed, with the end of what it said.
pub(super) async fn build(
    ground: &Ground,
    subjected: &Subjected,
    spec: &BuildSpec,
    isolated: &Arc<AtomicBool>,
) -> Result<Result<(), String>, Stop> {
    let tree = built_tree(&ground.scratch, subjected.subject);
    let (trees, id, to) = (Arc::clone(&ground.trees), subjected.tree, tree.clone());
    tokio::task::spawn_blocking(move || trees.snapshot.write_tree(id, &to))
        .await
        .map_err(|e| Stop::Fault(format!("build tree: {e}")))?
        .map_err(|e| Stop::Fault(e.to_string()))?;
    let limit = Duration::from_secs_f64(spec.limit_s.max(0.001));
    let mut place = Place::new(ground, &tree, 1, limit + Duration::from_secs(10), isolated);
    let mut sandbox = place
        .start()
        .await
        .map_err(|e| Stop::Fault(e.to_string()))?;
    sandbox
        .spawn(ProcessSpec {
            id: 0,
            argv: spec.command.clone(),
            env: BTreeMap::new(),
            cwd: WORKTREE.into(),
            stdin: Vec::new(),
            channel: false,
        })
        .map_err(|e| Stop::Fault(e.to_string()))?;
    let log = ground
        .run
        .output_dir()
        .join(format!("{}-build.log", subjected.subject.name()));
    let ended = tokio::time::timeout(limit, listen(&mut sandbox, &log)).await;
    sandbox.close().await;
    match ended {
        Err(_) => Ok(Err(format!(
            "the build did not end within its limit of {} s",
            spec.limit_s
        ))),
        Ok(ended) => ended,
    }
}

async fn listen(sandbox: &mut Sandbox, log: &Path) -> Result<Result<(), String>, Stop> {
    let io = |e: std::io::Error| Stop::Fault(format!("{}: {e}", log.display()));
    let mut file = File::create(log).map_err(io)?;
    let mut tail: Vec<u8> = Vec::new();
    while let Some(event) = sandbox.next().await {
        match event {
            SandboxEvent::Output { bytes, .. } => {
                file.write_all(&bytes).map_err(io)?;
                tail.extend_from_slice(&bytes);
                let extra = tail.len().saturating_sub(TOLD_BYTES);
                tail.drain(..extra);
            }
            SandboxEvent::Exited {
                status: ProcessStatus::Exited(0),
                ..
            } => return Ok(Ok(())),
            SandboxEvent::Exited { status, .. } => {
                let how = match status {
                    ProcessStatus::Exited(code) => format!("the build exited with {code}"),
                    ProcessStatus::Signaled(signal) => {
                        format!("the build was ended by signal {signal}")
                    }
                };
                return Ok(Err(format!(
                    "{how}: {}",
                    String::from_utf8_lossy(&tail).trim()
                )));
            }
            SandboxEvent::LimitHit { limit, detail } => {
                return Ok(Err(format!("the build hit its {limit} limit: {detail}")));
            }
            SandboxEvent::Closed { reason } => {
                return Err(Stop::Fault(format!(
                    "the build's sandbox ended: {}",
                    reason.unwrap_or_default()
                )));
            }
            SandboxEvent::NotStarted { message, .. } => {
                return Ok(Err(format!("the build did not start: {message}")));
            }
            _ => {}
        }
    }
    Err(Stop::Fault("the build's sandbox ended".into()))
}
