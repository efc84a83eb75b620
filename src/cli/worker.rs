//! `infradev worker RUN_DIR`: executes one run. Started detached; never by hand.

use std::path::Path;

use super::context::Context;
use super::exit::{Exit, Failure};
use crate::pipeline;
use crate::store::RunDir;

pub fn run(context: &Context, run_dir: &Path) -> Result<Exit, Failure> {
    let run_dir = run_dir
        .canonicalize()
        .map_err(|e| Failure::input(format!("{}: {e}", run_dir.display())))?;
    let code = pipeline::work(&context.home()?, &RunDir::at(run_dir))
        .map_err(|e| Failure::machinery(e.to_string()))?;
    Ok(Exit::from_code(code))
}
