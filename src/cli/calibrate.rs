//! `infradev calibrate TASK`: gold several times, recorded with the machine.

use super::args::CalibrateArgs;
use super::context::Context;
use super::exit::{Exit, Failure};
use super::made::{self, Record};
use super::output;
use crate::domain::{
    CalibratedCase, Calibration, CalibrationChoice, Suite, SuiteCalibration, Work,
};
use crate::store::made_calibration;

pub fn run(context: &Context, args: &CalibrateArgs) -> Result<Exit, Failure> {
    if args.running.calibration != CalibrationChoice::Auto {
        return Err(Failure::input(
            "--calibration is for grades; calibrate runs gold",
        ));
    }
    let work = Work::Calibrate { runs: args.runs };
    let record = Record {
        there: |state| state.calibration.is_some(),
        read: made_calibration,
        show,
    };
    made::run(context, &args.task, work, &args.running, &record)
}

fn show(made: &Calibration) {
    for line in lines(made) {
        output::line(&output::safe(&line));
    }
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
        lines.extend(part.cases.iter().map(case));
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

/// A case: what became of it, and how much its time varies between the runs.
fn case(case: &CalibratedCase) -> String {
    let word = if case.flaky() {
        "flaky"
    } else {
        case.outcome.name()
    };
    let (fastest, slowest) = case.spread_s();
    format!("  {word:<8} {fastest:>8.3}–{slowest:.3}s  {}", case.id)
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
