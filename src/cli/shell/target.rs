//! From a person's words to an order: which tree, which suite, which case.

use std::path::Path;

use super::args::{ShellArgs, ShellWhat};
use crate::catalog::{CatalogError, load_task};
use crate::cli::context::Context;
use crate::cli::exit::Failure;
use crate::domain::run_state::RunState;
use crate::domain::{
    self, CaseId, EngineChoice, EngineKind, GradedCase, Source, Suite, Task, Work,
};
use crate::pipeline::shell::{Order, Subject};
use crate::store::RunDir;

/// Cases that are named where one is looked for.
const NAMED: usize = 8;

/// An order, and what it is about by its full name.
pub(super) fn order(context: &Context, args: &ShellArgs) -> Result<(Order, String), Failure> {
    let catalog = context.catalog();
    let known = catalog
        .as_ref()
        .is_ok_and(|c| c.ids().is_ok_and(|ids| ids.contains(&args.target)));
    if known {
        let task = catalog?.usable(&args.target)?;
        return Ok((of_task(&task, args)?, args.target.clone()));
    }
    let (_, run) = context.run(Some(&args.target)).map_err(|failure| Failure {
        message: format!("{}, and there is no task of that name", failure.message),
        ..failure
    })?;
    Ok((of_run(&run, args)?, run.id().0))
}

fn of_task(task: &Task, args: &ShellArgs) -> Result<Order, Failure> {
    let subject = subject(task, &args.what)?.ok_or_else(|| {
        Failure::input(format!(
            "say what of {} to look into: --submission NAME, --patch FILE, --gold, --base or --hollow",
            task.id()
        ))
    })?;
    let case = args.case.clone().map(CaseId);
    let suite = match (args.suite, &case) {
        (Some(suite), _) => suite,
        (None, Some(case)) => suite_of(task, case),
        (None, None) => Suite::Official,
    };
    Ok(Order {
        task: task.id().into(),
        task_dir: task.dir.clone(),
        subject,
        run: None,
        suite,
        case,
        outcome: None,
        ranks: args.ranks,
        engine: args.engine.unwrap_or_default(),
        command: args.command.clone(),
        terminal: None,
        terminal_type: None,
        keep_patch: args.keep_patch.is_some(),
    })
}

fn of_run(run: &RunDir, args: &ShellArgs) -> Result<Order, Failure> {
    let manifest = run.manifest()?;
    let task = load_task(&manifest.task_dir).task.ok_or_else(|| {
        let folder = manifest.task_dir.display();
        Failure::input(format!(
            "the task of run {} is not in {folder} any more",
            run.id()
        ))
    })?;
    let state = run.state()?;
    let own = manifest.work == Work::Grade;
    let subject = match subject(&task, &args.what)? {
        Some(subject) => subject,
        None if own => Subject::Run(run.id()),
        None => {
            return Err(Failure::input(format!(
                "run {} is no grade of one patch: say which to look into: --submission NAME, \
                 --patch FILE, --gold, --base or --hollow",
                run.id()
            )));
        }
    };
    let of_its_patch = matches!(subject, Subject::Run(_));
    let graded = state.grade.as_ref().map_or(&[][..], |grade| &grade.cases);
    let chosen = match &args.case {
        // of a run without a grade the ids are not known
        Some(name) if own && !graded.is_empty() => Some(named(graded, args.suite, name)?),
        None if of_its_patch => first_failing(graded, args.suite),
        _ => None,
    };
    let case = match (chosen, &args.case) {
        (Some(found), _) => Some(found.id.clone()),
        (None, name) => name.clone().map(CaseId),
    };
    let suite = match (args.suite, chosen, &case) {
        (Some(suite), _, _) => suite,
        (None, Some(found), _) => found.suite,
        (None, None, Some(case)) => suite_of(&task, case),
        (None, None, None) if manifest.suites.includes(Suite::Official) => Suite::Official,
        (None, None, None) => Suite::Probes,
    };
    Ok(Order {
        task: manifest.task,
        task_dir: manifest.task_dir,
        subject,
        run: own.then(|| run.id()),
        suite,
        outcome: chosen.filter(|_| of_its_patch).map(outcome),
        case,
        ranks: args.ranks.or(manifest.ranks),
        engine: args
            .engine
            .unwrap_or_else(|| engine(&state).unwrap_or(manifest.engine)),
        command: args.command.clone(),
        terminal: None,
        terminal_type: None,
        keep_patch: args.keep_patch.is_some(),
    })
}

/// The engine that the run really had.
fn engine(state: &RunState) -> Option<EngineChoice> {
    Some(match state.engine? {
        EngineKind::Local => EngineChoice::Local,
        EngineKind::Docker => EngineChoice::Docker,
    })
}

fn outcome(case: &GradedCase) -> String {
    let message = case.message.as_deref().and_then(|m| m.lines().next());
    let name = case.outcome.name();
    message.map_or_else(|| name.into(), |message| format!("{name}: {message}"))
}

fn first_failing(graded: &[GradedCase], suite: Option<Suite>) -> Option<&GradedCase> {
    graded
        .iter()
        .filter(|case| suite.is_none_or(|suite| case.suite == suite))
        .find(|case| case.gold.passed() && !case.outcome.passed())
}

/// A case of the run, by its id or by the end of it.
fn named<'a>(
    graded: &'a [GradedCase],
    suite: Option<Suite>,
    name: &str,
) -> Result<&'a GradedCase, Failure> {
    let of_suite = |case: &&GradedCase| suite.is_none_or(|suite| case.suite == suite);
    let all: Vec<&GradedCase> = graded.iter().filter(of_suite).collect();
    if let Some(exact) = all.iter().find(|case| case.id.as_str() == name) {
        return Ok(exact);
    }
    let end = format!("::{name}");
    let ends = |case: &&&GradedCase| {
        case.id.as_str().ends_with(&end) || case.id.function().ends_with(&end)
    };
    let found: Vec<&GradedCase> = all.iter().filter(ends).copied().collect();
    match found[..] {
        [one] => Ok(one),
        [] => Err(Failure::input(format!(
            "the run has no case {name}; `infradev grade … --json` and the workbench list them"
        ))),
        _ => {
            let ids: Vec<&str> = found.iter().take(NAMED).map(|c| c.id.as_str()).collect();
            Err(Failure::input(format!(
                "{name} names several cases: {}",
                ids.join(", ")
            )))
        }
    }
}

/// By the folder that the suite lies in.
fn suite_of(task: &Task, case: &CaseId) -> Suite {
    let inside = |suite: &Suite| {
        let spec = task.spec.suites.get(*suite);
        spec.is_some_and(|spec| Path::new(case.file()).starts_with(&spec.into))
    };
    Suite::ALL
        .into_iter()
        .find(inside)
        .unwrap_or(Suite::Official)
}

fn subject(task: &Task, what: &ShellWhat) -> Result<Option<Subject>, Failure> {
    if what.hollow {
        return Ok(Some(Subject::Hollow));
    }
    if let Some(file) = &what.patch {
        let file = file.canonicalize().map_err(|e| {
            let file = file.display();
            Failure::input(format!("{file}: {e}; give an existing patch file"))
        })?;
        return Ok(Some(Subject::Source(Source::Patch { file })));
    }
    if let Some(name) = &what.submission {
        if task.submission(name).is_none() {
            let known: Vec<&str> = (task.submissions.iter())
                .map(|s: &domain::Submission| s.spec.name.as_str())
                .collect();
            return Err(CatalogError::NoSubmission {
                task: task.id().into(),
                name: name.clone(),
                known: known.join(", "),
            }
            .into());
        }
        return Ok(Some(Subject::Source(Source::Submission {
            name: name.clone(),
        })));
    }
    Ok(match (what.gold, what.base) {
        (true, _) => Some(Subject::Source(Source::Gold)),
        (_, true) => Some(Subject::Source(Source::Base)),
        _ => None,
    })
}
