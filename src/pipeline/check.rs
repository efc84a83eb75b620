//! What `infradev check` can only tell with trees at hand: whether every patch of a task applies;
//! and whether its calibrations can be believed.

use std::path::PathBuf;

use super::error::Stop;
use super::mutants::mutants_of;
use super::trees::{NoTrees, Patch, Trees, Unchanged};
use crate::catalog::{Problem, Severity, Step, line_of};
use crate::diff::added_line_share;
use crate::domain::Task;
use crate::store::{Home, task_calibrations};
use crate::workspace::Absent;

/// What the patches of a task are.
pub struct Applies {
    pub problems: Vec<Problem>,
    /// By alternative: the share of its added lines that stand in gold.
    pub shares: Vec<(String, f64)>,
}

/// Applies every patch of a task to base, in memory.
pub fn check_patches(home: &Home, task: &Task) -> Result<Applies, String> {
    let mend = "correct the source or gold of the task";
    let found = match Trees::find(home, task) {
        Ok(trees) => Ok(trees),
        Err(NoTrees::Absent(absent)) => Err(not_here(task, &absent)),
        Err(NoTrees::Stop(Stop::Input(message))) => {
            Err(problem(task.path("task.toml"), message, mend))
        }
        Err(NoTrees::Stop(Stop::Fault(message))) => return Err(message),
        Err(NoTrees::Stop(Stop::Cancelled)) => return Err("cancelled".into()),
    };
    let trees = match found {
        Ok(trees) => trees,
        Err(problem) => {
            let mut problems = vec![problem];
            problems.extend(calibrations(task));
            return Ok(Applies {
                problems,
                shares: Vec::new(),
            });
        }
    };
    let mut problems = calibrations(task);
    problems.extend(marks(&trees, task)?);
    let adversarial = task.spec.adversarial.iter().map(|a| task.path(&a.patch));
    let alternative = task.spec.alternative.iter().map(|a| task.path(&a.patch));
    for file in adversarial.chain(alternative) {
        if let Err(message) = applies(&trees, &file) {
            problems.push(problem(
                file,
                message,
                "make the patch against the task's base",
            ));
        }
    }
    // a submission's patch may be anything: only what gold needs is the task's duty
    let gold = task
        .spec
        .gold
        .patch
        .as_ref()
        .and_then(|p| std::fs::read(task.path(p)).ok());
    let mut shares = Vec::new();
    for a in &task.spec.alternative {
        if let (Some(gold), Ok(bytes)) = (&gold, std::fs::read(task.path(&a.patch))) {
            shares.push((a.name.clone(), added_line_share(&bytes, gold)));
        }
    }
    Ok(Applies { problems, shares })
}

/// Calibration files that no grade would believe.
fn calibrations(task: &Task) -> Vec<Problem> {
    let bad = task_calibrations(&task.dir)
        .into_iter()
        .filter_map(|(file, read)| {
            let why = match read {
                Ok(known) if known.task != task.id() => format!("it is of task {}", known.task),
                Ok(known) => known.sound().err()?,
                Err(e) => e.to_string(),
            };
            let mend = "make it again with `infradev calibrate`, or delete it";
            Some(problem(file, why, mend))
        });
    bad.collect()
}

/// Marks of mutants that gold does not have.
fn marks(trees: &Trees, task: &Task) -> Result<Vec<Problem>, String> {
    let marks = &task.spec.equivalent;
    if marks.is_empty() {
        return Ok(Vec::new());
    }
    let all = mutants_of(trees, task).map_err(|stop| match stop {
        Stop::Input(message) | Stop::Fault(message) => message,
        Stop::Cancelled => "cancelled".into(),
    })?;
    let file = task.path("task.toml");
    let text = std::fs::read_to_string(&file).unwrap_or_default();
    let unknown = marks
        .iter()
        .enumerate()
        .filter(|(_, mark)| !all.iter().any(|m| m.name == mark.mutant));
    let problems = unknown.map(|(i, mark)| {
        let at = [Step::Key("equivalent"), Step::Index(i), Step::Key("mutant")];
        let message = format!("gold has no mutant {:?}", mark.mutant);
        let mend = "take a name of `infradev mutants`, or remove the mark: where gold's line changed, so did the name";
        Problem {
            line: line_of(&text, &at),
            ..problem(file.clone(), message, mend)
        }
    });
    Ok(problems.collect())
}

/// What a machine lacks is no error of a task that names its repository by URL.
fn not_here(task: &Task, absent: &Absent) -> Problem {
    let mend = format!("run:\n        {}", absent.commands.join("\n        "));
    let file = task.path("task.toml");
    if !absent.elsewhere {
        return problem(file, absent.what.clone(), &mend);
    }
    let message = format!("patches and gold were not checked: {}", absent.what);
    Problem {
        severity: Severity::Note,
        ..problem(file, message, &mend)
    }
}

fn problem(file: PathBuf, message: String, mend: &str) -> Problem {
    Problem {
        severity: Severity::Error,
        file,
        line: None,
        message,
        mend: mend.into(),
    }
}

fn applies(trees: &Trees, file: &std::path::Path) -> Result<(), String> {
    let patch = match Patch::read(file) {
        Ok(patch) => patch,
        Err(Stop::Input(message) | Stop::Fault(message)) => return Err(message),
        Err(Stop::Cancelled) => return Err("cancelled".into()),
    };
    match trees.change(&patch) {
        Ok(_) => Ok(()),
        Err(Unchanged::Refused(refused)) => Err(refused.message),
        Err(Unchanged::Stop(Stop::Input(message) | Stop::Fault(message))) => Err(message),
        Err(Unchanged::Stop(Stop::Cancelled)) => Err("cancelled".into()),
    }
}
