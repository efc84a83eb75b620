//! `infradev cancel RUN`: asks the worker to stop, and waits until it has.

use std::time::{Duration, Instant};

use super::args::RunArgs;
use super::context::Context;
use super::exit::{Exit, Failure};
use super::output;
use crate::store::{Request, RunDir, RunStatus, Summary};

const PATIENCE: Duration = Duration::from_secs(15);

pub fn run(context: &Context, args: &RunArgs) -> Result<Exit, Failure> {
    let run = match &args.run {
        Some(id) => context.run(Some(id))?.1,
        None => newest_live(context)?,
    };
    let status = |run: &RunDir| -> Result<RunStatus, Failure> { Ok(run.seen()?.1) };
    let live = status(&run)?.live();
    if live {
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
        // it keeps its answer
        RunStatus::Finished if live && run.manifest()?.work.is_watch() => Ok(Exit::Yes),
        s if s.live() => Err(Failure::machinery(format!(
            "run {} did not stop within 15 s",
            run.id()
        ))),
        _ => {
            output::note(&format!(
                "run {} had ended before; nothing was cancelled",
                run.id()
            ));
            Ok(Exit::No)
        }
    }
}

/// Without an id, the newest of those that can be cancelled.
fn newest_live(context: &Context) -> Result<RunDir, Failure> {
    let home = context.home()?;
    let live = Summary::list(&home)?
        .into_iter()
        .filter(|r| r.status.live());
    let newest = live.max_by(|a, b| a.created_s.total_cmp(&b.created_s));
    newest
        .map(|r| home.run(&r.run))
        .ok_or_else(|| Failure::input("no run is live; `infradev runs` lists them all"))
}
