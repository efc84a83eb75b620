//! `infradev score RUNS…`: figures over graded runs.

use std::collections::BTreeMap;
use std::path::Path;

use serde::Deserialize;

use super::super::args::ScoreArgs;
use super::super::context::Context;
use super::super::exit::{Exit, Failure};
use super::super::output;
use super::tables;
use crate::judge::score::{Dimension, RunRead, Weights, score};
use crate::report::score::{FindError, Read, find_runs, read_runs};

pub fn run(context: &Context, args: &ScoreArgs) -> Result<Exit, Failure> {
    let weights = args.weights.as_deref().map(read_weights).transpose()?;
    let home = context.home_path();
    let folders = find_runs(&args.runs, home)?;
    let Read { mut runs, tasks } = read_runs(&folders, home, &context.tasks_dir());
    choose(&mut runs, &args.configurations)?;
    let score = score(&runs, &tasks, weights.as_ref()).map_err(|e| {
        let file = args.weights.as_deref().unwrap_or(Path::new(""));
        Failure::input(format!("{}: {e}", file.display()))
    })?;
    if args.json {
        output::document(&score)?;
    } else {
        for line in tables::lines(&score, args.by) {
            output::line(&line);
        }
    }
    if score.runs.counted > 0 {
        return Ok(Exit::Yes);
    }
    let mend = "grade a submission or run an agent";
    Err(Failure::input(format!(
        "no run counts, of {} that there are; {mend}",
        score.runs.given
    )))
}

impl From<FindError> for Failure {
    fn from(e: FindError) -> Self {
        match e {
            FindError::Store(e) => e.into(),
            e => Self::input(e.to_string()),
        }
    }
}

/// Keeps the runs of configurations that hold one of the texts.
fn choose(runs: &mut Vec<RunRead>, texts: &[String]) -> Result<(), Failure> {
    if texts.is_empty() {
        return Ok(());
    }
    let mut known: Vec<String> = (runs.iter())
        .filter_map(|r| Some(r.configuration.as_ref()?.to_string()))
        .collect();
    known.sort();
    known.dedup();
    if let Some(text) = texts
        .iter()
        .find(|text| known.iter().all(|k| !k.contains(*text)))
    {
        return Err(Failure::input(format!(
            "no configuration holds {text:?}; there are: {}",
            known.join(" | ")
        )));
    }
    runs.retain(|r| {
        let words = r.configuration.as_ref().map(ToString::to_string);
        words.is_some_and(|words| texts.iter().any(|text| words.contains(text)))
    });
    Ok(())
}

/// A file of weights: one table, named by what it weighs.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WeightsFile {
    area: Option<BTreeMap<String, f64>>,
    repository: Option<BTreeMap<String, f64>>,
    kind: Option<BTreeMap<String, f64>>,
    gpus: Option<BTreeMap<String, f64>>,
}

fn read_weights(path: &Path) -> Result<Weights, Failure> {
    let wrong = |what: String| Failure::input(format!("{}: {what}", path.display()));
    let text = std::fs::read_to_string(path).map_err(|e| wrong(e.to_string()))?;
    let mend = "write one table, such as `[area]`, with a number for each value";
    let file: WeightsFile =
        toml::from_str(&text).map_err(|e| wrong(format!("{}; {mend}", e.to_string().trim())))?;
    let tables = [
        (Dimension::Area, file.area),
        (Dimension::Repository, file.repository),
        (Dimension::Kind, file.kind),
        (Dimension::Gpus, file.gpus),
    ];
    let mut tables = (tables.into_iter()).filter_map(|(by, weights)| Some((by, weights?)));
    match (tables.next(), tables.next()) {
        (Some((by, weights)), None) => Ok(Weights { by, weights }),
        (None, _) => Err(wrong(format!("no weights in it; {mend}"))),
        _ => Err(wrong(format!("weights of several kinds; {mend}"))),
    }
}
