//! `infradev attach RUN`: follows a run's journal until it ends.

use schemars::JsonSchema;
use serde::Serialize;

use super::args::RunArgs;
use super::context::Context;
use super::exit::{Exit, Failure};
use super::follow::{Ended, follow};
use super::output;
use crate::store::{Summary, made_acceptance, made_mutation};

#[derive(Serialize, JsonSchema)]
pub struct RunDocument {
    pub schema: u32,
    pub run: Summary,
}

pub fn run(context: &Context, args: &RunArgs) -> Result<Exit, Failure> {
    let (_, run) = context.run(args.run.as_deref())?;
    let ended = follow(&run, false)?;
    let summary = Summary::of(&run)?;
    if args.json {
        output::document(&RunDocument {
            schema: 1,
            run: summary,
        })?;
    } else {
        output::line(&output::safe(&super::runs::line(&summary)));
        if summary.standing.is_some() {
            output::line("");
            super::verify::show(&made_acceptance(&run)?);
        }
        if summary.mutants.is_some() {
            output::line("");
            super::mutants_graded::show(&made_mutation(&run)?);
        }
    }
    Ok(match ended {
        Ended::Finished(exit) => exit,
        Ended::Interrupted => Exit::Machinery,
    })
}
