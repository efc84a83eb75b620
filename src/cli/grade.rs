//! `infradev grade TASK …`: one run, from a patch to a verdict.

use super::args::{GradeArgs, Running, What};
use super::context::Context;
use super::exit::{Exit, Failure};
use super::follow::{Ended, follow};
use super::output;
use crate::domain::run_state::RunState;
use crate::domain::{CaseId, Cause, Grade, GradedCase, Source, Task, Weight, Work};
use crate::launch::{self, AgentLaunch};
use crate::store::{RunDir, Summary};

/// Failing cases that are listed below a grade.
const SHOWN_CASES: usize = 10;
/// Evidence and signs that are listed above them.
const SHOWN_SIGNS: usize = 12;
/// Characters of what each of them said.
const SHOWN_MESSAGE: usize = 100;

pub fn run(context: &Context, args: GradeArgs) -> Result<Exit, Failure> {
    let task = context.catalog()?.usable(&args.task)?;
    let source = source(&task, &args.what)?;
    let only = args.cases.into_iter().map(CaseId).collect();
    let order = (source, Work::Grade, None);
    match carry_out(context, &task, order, only, &args.running)? {
        Some(done) => show(&done, args.running.json),
        None => Ok(Exit::Yes),
    }
}

/// A finished grade, as a line or as its document.
pub(super) fn show((run, exit, state): &Done, json: bool) -> Result<Exit, Failure> {
    if let Some(grade) = &state.grade {
        if json {
            output::document(grade)?;
        } else {
            let summary = Summary::of(run)?;
            for text in suspicions(state) {
                output::note(&output::safe(&text));
            }
            for text in failures(grade) {
                output::note(&output::safe(&text));
            }
            output::line(&output::safe(&super::runs::line(&summary)));
        }
    }
    Ok(*exit)
}

/// What was found beside the cases, up to a number: what makes a run void or suspect first.
pub(super) fn suspicions(state: &RunState) -> Vec<String> {
    let (strong, weak) = &state.signs;
    let mut found: Vec<(Weight, String)> = (state.evidence.values().flatten())
        .map(|e| (e.weight, format!("{}: {}", e.weight.name(), e.deviation)))
        .collect();
    found.extend(
        strong
            .iter()
            .map(|s| (Weight::Suspect, format!("suspect: {s}"))),
    );
    found.sort_by_key(|(weight, text)| (*weight != Weight::Void, text.clone()));
    let mut lines: Vec<String> = found.into_iter().map(|(_, text)| text).collect();
    lines.extend(weak.iter().map(|s| format!("listed: {s}")));
    let more = lines.len().saturating_sub(SHOWN_SIGNS);
    lines.truncate(SHOWN_SIGNS);
    if more > 0 {
        lines.push(format!("… and {more} more in the run's log"));
    }
    lines
}

/// Cases that gold passes and the submission does not, with what they said, up to a number.
fn failures(grade: &Grade) -> Vec<String> {
    let failed = |case: &&GradedCase| case.gold.passed() && !case.outcome.passed();
    // a refused patch has one cause, told already
    let of_cases = grade.cause == Some(Cause::Cases);
    let all: Vec<&GradedCase> = grade.cases.iter().filter(failed).collect();
    if !of_cases {
        return Vec::new();
    }
    let words = |case: &&GradedCase| {
        let message = case.message.as_deref().unwrap_or_default();
        let first = message.lines().next().unwrap_or_default();
        let short: String = first.chars().take(SHOWN_MESSAGE).collect();
        format!("{:<8} {}  {short}", case.outcome.name(), case.id)
    };
    let mut lines: Vec<String> = all.iter().take(SHOWN_CASES).map(words).collect();
    if all.len() > SHOWN_CASES {
        let rest = all.len() - SHOWN_CASES;
        lines.push(format!(
            "… and {rest} more: the workbench or --json has them all"
        ));
    }
    lines
}

/// A run that came to its end.
pub(super) type Done = (RunDir, Exit, RunState);

/// Starts a run and follows it to its end; `None`: it was only to be started.
pub(super) fn carry_out(
    context: &Context,
    task: &Task,
    (source, work, agent): (Source, Work, Option<AgentLaunch>),
    only: Vec<CaseId>,
    running: &Running,
) -> Result<Option<Done>, Failure> {
    let order = launch::Order {
        source,
        work,
        agent,
        suites: running.suite,
        engine: running.engine,
        ranks: running.ranks,
        calibration: running.calibration,
        only,
        parent: None,
    };
    let run = launch::start(&context.home()?, task, order)?;
    if running.detach {
        output::line(&run.id().0);
        return Ok(None);
    }
    let (exit, state) = finished(&run)?;
    Ok(Some((run, exit, state)))
}

/// Follows a run that we started to its end. One that was cancelled, or whose machinery failed, is
/// a failure with the run's own words.
fn finished(run: &RunDir) -> Result<(Exit, RunState), Failure> {
    let ended = follow(run, true)?;
    let state = run.state()?;
    let exit = match ended {
        Ended::Interrupted => {
            return Err(Failure::machinery(format!(
                "the worker of run {} died; `infradev resume {}` takes it up, its own words are in {}",
                run.id(),
                run.id(),
                run.worker_log_path().display()
            )));
        }
        Ended::Finished(exit) => exit,
    };
    let message = if state.grade.is_some() || (state.cancelled && state.standing.is_some()) {
        // a watch is ended so: what it came to stands
        return Ok((exit, state));
    } else if let Some(fault) = &state.fault {
        fault.clone()
    } else if state.cancelled {
        format!("run {} was cancelled", run.id())
    } else {
        return Ok((exit, state));
    };
    Err(Failure { exit, message })
}

fn source(task: &Task, what: &What) -> Result<Source, Failure> {
    if let Some(file) = &what.patch {
        let file = file.canonicalize().map_err(|e| {
            Failure::input(format!(
                "{}: {e}; give an existing patch file",
                file.display()
            ))
        })?;
        return Ok(Source::Patch { file });
    }
    if let Some(name) = &what.submission {
        if task.submission(name).is_none() {
            let known: Vec<&str> = task
                .submissions
                .iter()
                .map(|s| s.spec.name.as_str())
                .collect();
            return Err(crate::catalog::CatalogError::NoSubmission {
                task: task.id().into(),
                name: name.clone(),
                known: known.join(", "),
            }
            .into());
        }
        return Ok(Source::Submission { name: name.clone() });
    }
    Ok(if what.gold {
        Source::Gold
    } else {
        Source::Base
    })
}
