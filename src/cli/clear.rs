//! `infradev clear RUN`: a reviewer has looked at a suspect run, and it is none.

use super::args::ClearArgs;
use super::context::Context;
use super::exit::{Exit, Failure};
use super::grade::suspicions;
use super::output;
use crate::domain::{Badge, Verdict};
use crate::store::clear_run;

pub fn run(context: &Context, args: ClearArgs) -> Result<Exit, Failure> {
    let (_, run) = context.run(Some(&args.run))?;
    let state = run.state()?;
    let id = run.id();
    let Some(grade) = state.grade.as_ref().filter(|_| state.finished()) else {
        return Err(Failure::input(format!("run {id} has no grade to clear")));
    };
    if grade.verdict == Verdict::Void {
        return Err(Failure::input(format!(
            "run {id} is void, which nobody clears; if the evidence is wrong, mend the judge and grade it again"
        )));
    }
    if !grade.badges.contains(&Badge::Suspect) {
        return Err(Failure::input(format!("run {id} is not suspect")));
    }
    let review = clear_run(&run, crate::cli::context::user(), args.note)?;
    if args.json {
        output::document(&review)?;
    } else {
        for text in suspicions(&state) {
            output::note(&output::safe(&text));
        }
        let said = format!(
            "{id} cleared by {}; `infradev score` counts it as clear",
            review.by
        );
        output::line(&output::safe(&said));
    }
    Ok(Exit::Yes)
}
