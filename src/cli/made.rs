//! Commands whose run leaves a record: what gold, or every patch of a task, was found to do.

use serde::Serialize;

use super::args::Running;
use super::context::Context;
use super::exit::{Exit, Failure};
use super::grade::carry_out;
use super::output;
use crate::domain::run_state::RunState;
use crate::domain::{Source, Work};
use crate::store::{RunDir, StoreError};

/// How a record is found and shown.
pub(super) struct Record<T> {
    /// Whether the run has one.
    pub there: fn(&RunState) -> bool,
    pub read: fn(&RunDir) -> Result<T, StoreError>,
    pub show: fn(&T),
}

/// Carries out `work` on a task and tells its record.
pub(super) fn run<T: Serialize>(
    context: &Context,
    task: &str,
    work: Work,
    running: &Running,
    record: &Record<T>,
) -> Result<Exit, Failure> {
    let task = context.catalog()?.usable(task)?;
    let order = (Source::Gold, work, None);
    let Some((run, exit, state)) = carry_out(context, &task, order, Vec::new(), running)? else {
        return Ok(Exit::Yes);
    };
    if (record.there)(&state) {
        let made = (record.read)(&run)?;
        if running.json {
            output::document(&made)?;
        } else {
            (record.show)(&made);
        }
    }
    Ok(exit)
}
