//! `infradev cancel RUN`: asks the worker to stop, and waits until it has.

use std::time::{Duration, Instant};

use super::args::RunArgs;
use super::context::Context;
use super::exit::{Exit, Failure};
use super::output;
use crate::store::{Request, RunStatus, Summary};

const PATIENCE: Duration = Duration::from_secs(15);

pub fn run(context: &Context, args: &RunArgs) -> Result<Exit, Failure> {
    let (_, run) = context.run(args.run.as_deref())?;
    let created_s = run.manifest()?.created_s;
    let status = |run: &crate::store::RunDir| -> Result<RunStatus, Failure> {
        Ok(run.status(&run.state()?, created_s))
    };
    if status(&run)?.live() {
        run.request(Request::Cancel)?;
        let asked = Instant::now();
        while status(&run)?.live() && asked.elapsed() < PATIENCE {
            std::thread::sleep(Duration::from_millis(20));
        }
    }
    let summary = Summary::of(&run)?;
    if args.json {
        output::document(&super::attach::RunDocument {
            schema: 1,
            run: summary.clone(),
        })?;
    } else {
        output::line(&output::safe(&super::runs::line(&summary)));
    }
    match summary.status {
        RunStatus::Cancelled => Ok(Exit::Yes),
        s if s.live() => Err(Failure::machinery(format!(
            "run {} did not stop within 15 s",
            run.id()
        ))),
        _ => Ok(Exit::No),
    }
}
