//! `infradev resume RUN`: a new worker for a run whose worker died.

use super::args::RunArgs;
use super::context::Context;
use super::exit::{Exit, Failure};
use crate::launch;
use crate::store::RunStatus;

pub fn run(context: &Context, args: &RunArgs) -> Result<Exit, Failure> {
    let (home, run) = context.run(args.run.as_deref())?;
    let status = run.status(&run.state()?, run.manifest()?.created_s);
    if status != RunStatus::Interrupted {
        return Err(Failure::input(format!(
            "run {} is {}, only an interrupted one can be resumed; `infradev grade` makes a new one",
            run.id(),
            status.name()
        )));
    }
    launch::start_worker(&home, &run)?;
    super::attach::run(
        context,
        &RunArgs {
            run: Some(run.id().0),
            json: args.json,
        },
    )
}
