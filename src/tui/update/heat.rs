//! The map of all submissions, and what else needs the cases of runs that are not open.

use std::sync::Arc;

use crate::domain::{GradedCase, RunId, Work};
use crate::tui::backend::Answer;
use crate::tui::effect::Effect;
use crate::tui::layout::PaneKind;
use crate::tui::panes::cases::{self, heat};
use crate::tui::panes::tasks;
use crate::tui::state::App;

use super::bulk;
use super::target::{load_why, retarget};

pub fn toggle(app: &mut App) {
    app.cases.heat.open = !app.cases.heat.open;
    app.cases.why_open = false;
    let case = app.cases.selected_row();
    let case = case.map(|row| (row.suite, row.id.clone()));
    // the cursor begins on the case and the submission that are shown
    app.cases.heat.wanted = case.zip(app.target.source.clone());
    keep_up(app);
}

/// Makes the map anew where it is open, and asks for what it lacks.
pub fn keep_up(app: &mut App) {
    if !app.cases.heat.open {
        return;
    }
    heat::rebuild(app);
    ask(app);
    app.touch(PaneKind::Cases);
}

/// Asks for all cases that are not read yet: a newer request takes an older one's place.
fn ask(app: &mut App) {
    let mut missing = heat::missing(app);
    let before = app.cases.before.iter().map(|(run, _)| run);
    missing.extend(
        before
            .filter(|run| !app.cases.known.contains_key(*run))
            .cloned(),
    );
    if !missing.is_empty() {
        app.ask(Effect::LoadOutcomes(missing));
    }
}

/// Finds the whole run of the same before the open one, and asks for its cases.
pub fn load_before(app: &mut App) {
    let of = app.open.as_ref().and_then(|open| app.summary(&open.id));
    let before = of.and_then(|of| {
        let mut runs = app.runs.iter();
        runs.find(|run| {
            run.task == of.task
                && run.source == of.source
                && run.created_s < of.created_s
                && run.only == 0
                && run.work == Work::Grade
                && run.verdict.is_some()
        })
    });
    let before = before.map(|run| (run.id.clone(), run.created_s));
    if app.cases.before == before {
        return;
    }
    app.cases.before = before;
    ask(app);
    cases::state::rebuild(app);
}

pub fn learn(app: &mut App, cases: Vec<(RunId, Answer<Vec<GradedCase>>)>) {
    for (run, cases) in cases {
        // what cannot be read is not asked for again and again, and is not taken for no cases
        let cases = cases.unwrap_or_else(|_| {
            app.cases.unread.insert(run.clone());
            Vec::new()
        });
        app.cases.known.insert(run, Arc::new(cases));
    }
    cases::state::rebuild(app);
    load_why(app);
    keep_up(app);
    if let Some(of) = app.bulk.rerun.take() {
        bulk::rerun_failing_of(app, of);
    }
    app.touch(PaneKind::Cases);
}

/// Goes to the case under the cursor, of the submission under it.
pub fn go(app: &mut App) {
    let Some((row, column)) = app.cases.heat.here() else {
        return;
    };
    let wanted = (row.suite, row.id.clone());
    let source = column.source.clone();
    let Some(task) = app.target.task.clone() else {
        return;
    };
    app.cases.heat.open = false;
    app.cases.wanted = Some(wanted);
    tasks::state::select_source(app, &task, &source);
    retarget(app);
    // the same submission as before: its cases are there
    app.cases.select_wanted();
    load_why(app);
}
