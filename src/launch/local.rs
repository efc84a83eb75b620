//! A detached worker process here.

use std::fs::OpenOptions;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use crate::store::{Home, RunDir};

#[derive(Debug, thiserror::Error)]
#[error("the worker of run {run} did not start: {program}: {source}")]
pub struct LaunchError {
    run: String,
    program: PathBuf,
    source: std::io::Error,
}

/// Starts `infradev worker RUN_DIR`; it outlives its starter. Its own words go to `worker.log`.
pub fn start_worker(home: &Home, run: &RunDir) -> Result<(), LaunchError> {
    let program = std::env::current_exe().unwrap_or_else(|_| PathBuf::from("infradev"));
    let fail = |source| LaunchError {
        run: run.id().0,
        program: program.clone(),
        source,
    };
    let log = OpenOptions::new()
        .create(true)
        .append(true)
        .open(run.worker_log_path())
        .map_err(fail)?;
    let errors = log.try_clone().map_err(fail)?;
    let mut child = Command::new(&program)
        .arg("--home")
        .arg(home.root())
        .arg("worker")
        .arg(run.path())
        .stdin(Stdio::null())
        .stdout(log)
        .stderr(errors)
        .spawn()
        .map_err(fail)?;
    // the worker makes itself a session of its own first thing; a thread reaps it while we live,
    // so that it never stays behind as a zombie of a workbench
    std::thread::spawn(move || child.wait());
    Ok(())
}
