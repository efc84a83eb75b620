//! `infradev resume RUN`: a new worker for a run whose worker died, or whose agent's work is kept from
//! a fault of ours.

use std::time::{Duration, Instant};

use super::args::RunArgs;
use super::context::Context;
use super::exit::{Exit, Failure};
use crate::launch;
use crate::store::RunStatus;

/// A new worker has said so by then.
const START_PATIENCE: Duration = Duration::from_secs(20);

pub fn run(context: &Context, args: &RunArgs) -> Result<Exit, Failure> {
    let (home, run) = context.run(args.run.as_deref())?;
    let (before, status) = run.seen()?;
    if status != RunStatus::Interrupted && !run.fault_goes_on(&before) {
        return Err(Failure::input(format!(
            "run {} is {}, only an interrupted one can be resumed, and one whose agent's work is \
             kept from a fault of ours; `infradev grade` makes a new one",
            run.id(),
            status.name()
        )));
    }
    launch::start_worker(&home, &run)?;
    // until then its journal tells of the earlier end
    let until = Instant::now() + START_PATIENCE;
    while run.state()?.started == before.started {
        if Instant::now() > until {
            return Err(Failure::machinery(format!(
                "no worker took run {} up; {} says why",
                run.id(),
                run.worker_log_path().display()
            )));
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    super::attach::run(
        context,
        &RunArgs {
            run: Some(run.id().0),
            json: args.json,
        },
    )
}
