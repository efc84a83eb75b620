//! `infradev calibrate TASK`: gold several times, recorded with the machine.

use super::args::CalibrateArgs;
use super::context::Context;
use super::exit::{Exit, Failure};
use super::grade::carry_out;
use super::output;
use crate::domain::{Calibration, CaseId, Source, Suite, SuiteCalibration, Work};
use crate::store::made_calibration;

pub fn run(context: &Context, args: &CalibrateArgs) -> Result<Exit, Failure> {
    let task = context.catalog()?.usable(&args.task)?;
    let order = (Source::Gold, Work::Calibrate { runs: args.runs }, None);
    let Some((run, exit, state)) = carry_out(context, &task, order, Vec::new(), &args.running)?
    else {
        return Ok(Exit::Yes);
    };
    if state.calibration.is_some() {
        let made = made_calibration(&run)?;
        if args.running.json {
            output::document(&made)?;
        } else {
            for line in lines(&made) {
                output::line(&output::safe(&line));
            }
        }
    }
    Ok(exit)
}

/// As people read it: the machine, then each suite with what is odd in it.
fn lines(made: &Calibration) -> Vec<String> {
    let m = &made.machine;
    let gpus = match &m.gpu_type {
        Some(kind) => format!(
            "{} × {kind}  driver {}",
            m.gpus,
            m.driver.as_deref().unwrap_or("–")
        ),
        None => "no GPU".into(),
    };
    let torch = m.torch.as_ref().map(|v| format!("  torch {v}"));
    let mut lines = vec![format!(
        "{}  {gpus}{}  Python {}  environment {}",
        made.task,
        torch.unwrap_or_default(),
        m.python,
        made.environment.get(..12).unwrap_or(&made.environment),
    )];
    for (suite, part) in &made.suites {
        lines.push(summary(*suite, part));
        for (word, ids) in [("flaky", part.flaky()), ("skipped", part.skipped())] {
            lines.extend(ids.iter().map(|id: &&CaseId| format!("  {word}  {id}")));
        }
    }
    if let Some(part) = made.suites.values().next() {
        lines.push(format!(
            "a case that was the same in {} runs may still flake up to {:.0} % of the time (95 % confidence)",
            part.runs,
            part.flake_bound() * 100.0
        ));
    }
    lines
}

fn summary(suite: Suite, part: &SuiteCalibration) -> String {
    format!(
        "{:<8}  C {}  G {}  flaky {}  skipped {}  ranks {}  runs {}",
        suite.name(),
        part.cases.len(),
        part.passed(),
        part.flaky().len(),
        part.skipped().len(),
        part.ranks,
        part.runs,
    )
}
