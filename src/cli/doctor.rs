//! `infradev doctor`: what this machine can do.

use super::context::Context;
use super::exit::{Exit, Failure};
use super::output;
use crate::doctor::{Examination, examine};

pub fn run(context: &Context, json: bool) -> Result<Exit, Failure> {
    // the bare path: a home that cannot be written is a finding, not an error
    let found = examine(&Examination::new(context.home_path()));
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
