//! `infradev doctor`: what this machine can do.

use super::context::Context;
use super::exit::{Exit, Failure};
use super::output;
use crate::doctor::{Examination, examine};

pub fn run(context: &Context, json: bool) -> Result<Exit, Failure> {
    let home = context.home()?;
    let found = examine(&Examination::new(home.root()));
    if json {
        output::document(&found)?;
    } else {
        for line in found.lines() {
            output::line(&output::safe(&line));
        }
    }
    Ok(if found.grading_works() {
        Exit::Yes
    } else {
        Exit::No
    })
}
