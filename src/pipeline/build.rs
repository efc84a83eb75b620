//! The project's build step, on the submission's own sources (DESIGN.md, The judge's mechanics).

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use super::error::Stop;
use super::ground::Ground;
use super::one_process::to_its_end;
use super::place::{Place, WORKTREE};
use super::run_suites::Subjected;
use super::suite::Sandboxes;
use crate::domain::task::BuildSpec;
use crate::engine::ProcessSpec;

/// Where the built tree of a subject lies; suites start from a copy of it.
pub(super) fn built_tree(scratch: &Path, subjected: &Subjected) -> PathBuf {
    scratch.join(format!("{}-built", subjected.folder()))
}

/// Builds the subject's tree. `Err` inside: the build failed, with the end of what it said.
pub(super) async fn build(
    ground: &Ground,
    subjected: &Subjected,
    spec: &BuildSpec,
    isolated: &Arc<AtomicBool>,
) -> Result<Result<(), String>, Stop> {
    let tree = built_tree(&ground.scratch, subjected);
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
        .join(format!("{}-build.log", subjected.folder()));
    let ended = tokio::time::timeout(limit, to_its_end(&mut sandbox, "the build", &log)).await;
    sandbox.close().await;
    match ended {
        Err(_) => Ok(Err(format!(
            "the build did not end within its limit of {} s",
            spec.limit_s
        ))),
        Ok(Ok(Ok(()))) => taken(ground, tree).await,
        Ok(ended) => ended,
    }
}

/// Whether suites can start from what was built: what a submission's build leaves is its own doing.
async fn taken(ground: &Ground, tree: PathBuf) -> Result<Result<(), String>, Stop> {
    let trees = Arc::clone(&ground.trees);
    let taken = tokio::task::spawn_blocking(move || trees.snapshot.import_dir(&tree)).await;
    match taken.map_err(|e| Stop::Fault(format!("built tree: {e}")))? {
        Ok(_) => Ok(Ok(())),
        Err(e) if e.is_the_trees() => Ok(Err(format!("the built tree cannot be taken: {e}"))),
        Err(e) => Err(Stop::Fault(e.to_string())),
    }
}
