//! `infradev calibrate TASK`: gold several times, recorded with the machine.

use super::args::CalibrateArgs;
use super::context::Context;
use super::exit::{Exit, Failure};
use super::grade::{engine_is_here, finished};
use super::output;
use crate::domain::{Calibration, CaseId, Source, Suite, SuiteCalibration, Work};
use crate::launch;
use crate::store::made_calibration;

pub fn run(context: &Context, args: &CalibrateArgs) -> Result<Exit, Failure> {
    engine_is_here(args.engine)?;
    let home = context.home()?;
    let task = context.catalog()?.usable(&args.task)?;
    let order = launch::Order {
        source: Source::Gold,
        work: Work::Calibrate { runs: args.runs },
        suites: args.suite,
        engine: args.engine,
        ranks: args.ranks.ranks,
        only: Vec::new(),
        parent: None,
    };
    let run = launch::start(&home, &task, order)?;
    if args.detach {
        output::line(&run.id().0);
        return Ok(Exit::Yes);
    }
    let (exit, state) = finished(&run)?;
    if state.calibration.is_some() {
        let made = made_calibration(&run)?;
        if args.json {
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
    let mut lines = vec![format!(
        "{}  {} × {}  driver {}  torch {}  Python {}  environment {}",
        made.task,
        m.gpus,
        m.gpu_type.as_deref().unwrap_or("no GPU"),
        m.driver.as_deref().unwrap_or("–"),
        m.torch.as_deref().unwrap_or("–"),
        m.python,
        made.environment.get(..12).unwrap_or(&made.environment),
    )];
    for (suite, part) in &made.suites {
        lines.push(summary(*suite, part));
        for (word, ids) in [("flaky", part.flaky()), ("skipped", part.skipped())] {
            lines.extend(ids.iter().map(|id: &&CaseId| format!("  {word}  {id}")));
        }
    }
    lines
}

fn summary(suite: Suite, part: &SuiteCalibration) -> String {
    format!(
        "{:<8}  C {}  G {}  flaky {}  skipped {}  ranks {}  runs {} (a case that never differed may still flake: at most {:.0} % of the time, with 95 % confidence)",
        suite.name(),
        part.cases.len(),
        part.passed(),
        part.flaky().len(),
        part.skipped().len(),
        part.ranks,
        part.runs,
        part.flake_bound() * 100.0,
    )
}
