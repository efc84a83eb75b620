//! A shell on what is under the cursor: the words of `infradev shell` for it.

use crate::domain::acceptance::Role;
use crate::domain::{CaseId, Source, Suite};
use crate::tui::effect::Effect;
use crate::tui::state::App;

use super::edits::patch_file;

/// Opens the shell.
pub fn open(app: &mut App) {
    if let Some(words) = words(app) {
        app.ask(Effect::Shell(words));
    }
}

/// Gives the command that does it elsewhere.
pub fn tell(app: &mut App) {
    if let Some(words) = words(app) {
        app.ask(Effect::TellShell(words));
    }
}

/// What is meant, from the target on; says why there is nothing.
fn words(app: &mut App) -> Option<Vec<String>> {
    let found = if app.focus.author() {
        of_cell(app)
    } else {
        of_case(app)
    };
    match found {
        Ok(words) => Some(words),
        Err(why) => {
            app.complain(why);
            None
        }
    }
}

/// The case under the cursor in its run; without a run what is selected in the tree.
fn of_case(app: &App) -> Result<Vec<String>, &'static str> {
    if let Some(open) = &app.open {
        let mut words = vec![open.id.0.clone()];
        if let Some(row) = app.cases.selected_row() {
            words.extend(case(row.suite, &row.id));
        }
        return Ok(words);
    }
    let task = app.target.task.as_ref().ok_or("no task is selected")?;
    let source = app.target.source.as_ref();
    let source = source.ok_or("select a submission, gold or base first")?;
    let mut words = vec![task.clone()];
    match source {
        Source::Gold => words.push("--gold".into()),
        Source::Base => words.push("--base".into()),
        Source::Submission { name } => words.extend(["--submission".into(), name.clone()]),
        Source::Patch { file } => words.extend(["--patch".into(), file.display().to_string()]),
        Source::Agent { run, .. } => words = vec![run.0.clone()],
    }
    Ok(words)
}

/// The patch of the matrix' row, and the case of the cell that is shown, else its column's.
fn of_cell(app: &App) -> Result<Vec<String>, &'static str> {
    let acceptance = &app.acceptance;
    let task = acceptance.task.as_deref().and_then(|id| app.task(id));
    let task = task.ok_or("no task is selected")?;
    let row = acceptance
        .selected()
        .ok_or("select a row of the matrix first")?;
    let mut words = vec![task.id().to_owned()];
    match row.role {
        Role::Gold => words.push("--gold".into()),
        Role::Base => words.push("--base".into()),
        Role::Hollow => words.push("--hollow".into()),
        Role::Mutant => return Err("a mutant is no file of the task"),
        Role::Adversarial | Role::Alternative => {
            let file = patch_file(task, &row.patch).ok_or("the task has no such patch any more")?;
            words.extend(["--patch".into(), task.path(&file).display().to_string()]);
        }
    }
    let column = acceptance.matrix.as_ref();
    let column = column.and_then(|m| acceptance.function().and_then(|at| m.columns.get(at)));
    words.extend(match (app.cell.case(), column) {
        (Some(shown), _) => case(shown.suite, &shown.result.id),
        (None, Some(column)) => case(Suite::Probes, &CaseId(column.function.clone())),
        (None, None) => vec!["--suite".into(), Suite::Official.name().into()],
    });
    Ok(words)
}

fn case(suite: Suite, id: &CaseId) -> Vec<String> {
    vec![
        "--suite".into(),
        suite.name().into(),
        // an id may begin as an option does
        format!("--case={id}"),
    ]
}
