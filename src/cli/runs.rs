//! `infradev runs`: every run in the home, oldest first.

use schemars::JsonSchema;
use serde::Serialize;

use super::context::Context;
use super::exit::{Exit, Failure};
use super::output;
use crate::domain::{Standing, Work};
use crate::store::{RunStatus, Summary};

#[derive(Serialize, JsonSchema)]
pub struct RunsDocument {
    pub schema: u32,
    pub runs: Vec<Summary>,
}

pub fn run(context: &Context, json: bool) -> Result<Exit, Failure> {
    let runs = Summary::list(&context.home()?)?;
    if json {
        output::document(&RunsDocument { schema: 1, runs })?;
        return Ok(Exit::Yes);
    }
    if runs.is_empty() {
        output::note("no runs yet; `infradev grade TASK --gold` makes one");
    }
    for run in &runs {
        output::line(&output::safe(&line(run)));
    }
    Ok(Exit::Yes)
}

/// One run as people read it: two judges as a pair, the verdict word, badges after it.
pub fn line(run: &Summary) -> String {
    let pair = |name: &str, p: Option<crate::store::Pair>| match p {
        Some(p) => format!("{name} {}/{}", p.passed, p.collected),
        None => format!("{name} –"),
    };
    let word = match (run.verdict, run.calibrates) {
        (Some(v), _) => v.label().to_string(),
        (None, _) if run.standing.is_some() => run.standing.map_or("", Standing::name).into(),
        (None, Some(_)) if run.status == RunStatus::Finished => "calibrated".into(),
        (None, None) if run.mutants.is_some() => {
            let survive = run.mutants.map_or(0, |m| m.survives);
            format!("{survive} survive")
        }
        // the order was at fault, not the machinery
        (None, _) if run.status == RunStatus::Fault => "refused".into(),
        (None, _) => run.status.name().to_string(),
    };
    let what = match run.work() {
        Work::Calibrate { runs } => format!("{} ×{runs}", run.source.label()),
        Work::Verify { .. } => "verify".into(),
        Work::Mutants => "mutants".into(),
        Work::Grade => run.source.label(),
    };
    let badges: Vec<String> = run
        .badges
        .iter()
        .map(|b| format!(" [{}]", b.name()))
        .collect();
    let badges = badges.concat();
    let cause = run
        .cause
        .map(|c| format!(" ({})", c.name()))
        .unwrap_or_default();
    let only = if run.only > 0 {
        format!("  {} cases only", run.only)
    } else {
        String::new()
    };
    let ranks = run.ranks.map_or(String::new(), |n| format!("  ranks {n}"));
    let stage = match &run.stage {
        _ if run.waits_for_gpus => "  waits for GPUs".into(),
        Some(stage) => format!("  {stage}"),
        None => String::new(),
    };
    let fault = run
        .fault
        .as_ref()
        .map(|f| format!("  {f}"))
        .unwrap_or_default();
    let took = run.duration_s.map_or("–".into(), |s| format!("{s:.1}s"));
    format!(
        "{}  {:<14} {:<22} {:<13} {:<10} {:<10} {took:>8}{badges}{cause}{ranks}{only}{stage}{fault}",
        run.run,
        run.task,
        what,
        word,
        pair("off", run.official),
        pair("prb", run.probes),
    )
}
