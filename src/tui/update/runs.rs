//! Starting and cancelling runs.

use crate::domain::{CaseId, Source, SuiteChoice};
use crate::tui::backend::GradeRequest;
use crate::tui::effect::Effect;
use crate::tui::overlays::Overlay;
use crate::tui::panes::cases::CaseRow;
use crate::tui::panes::words::plural;
use crate::tui::state::App;

pub fn grade(app: &mut App, source: Option<Source>) {
    let Some(task) = app.target.task.clone() else {
        return;
    };
    let Some(source) = source.or_else(|| app.target.source.clone()) else {
        return;
    };
    let running = app
        .runs
        .iter()
        .any(|run| run.status.live() && run.task == task && run.source == source && run.only == 0);
    if running {
        app.refuse("it is being graded already: {cancel} cancels");
        return;
    }
    app.say("starting…");
    app.ask(Effect::Grade(GradeRequest {
        task,
        source,
        suites: SuiteChoice::All,
        only: Vec::new(),
        parent: None,
        engine: app.engine,
    }));
}

pub fn cancel(app: &mut App) {
    let Some(run) = app.live_run() else { return };
    let what = format!("Cancel the run {} of {}?", run.source.label(), run.task);
    let runs = vec![run.id.clone()];
    let told = vec![
        "It ends where it is, without a verdict. Its log and what it found so far are kept.".into(),
    ];
    app.overlay = Some(Overlay::ConfirmCancel { runs, what, told });
}

pub fn rerun(app: &mut App, only: Vec<CaseId>) {
    let (Some(task), Some(source), Some(open)) = (
        app.target.task.clone(),
        app.target.source.clone(),
        app.open.as_ref(),
    ) else {
        return;
    };
    if only.is_empty() {
        return;
    }
    if app.rerun.as_ref().is_some_and(|run| run.status.live()) {
        app.refuse("a rerun is going on: {cancel} cancels");
        return;
    }
    let suites = suites_of(app.cases.all.iter().filter(|row| only.contains(&row.id)));
    let parent = Some(open.id.clone());
    app.say(format!("running {} again…", plural(only.len(), "case")));
    app.ask(Effect::Grade(GradeRequest {
        task,
        source,
        suites,
        only,
        parent,
        engine: app.engine,
    }));
}

fn suites_of<'a>(rows: impl Iterator<Item = &'a CaseRow>) -> SuiteChoice {
    use crate::domain::Suite;
    let mut official = false;
    let mut probes = false;
    for row in rows {
        match row.suite {
            Suite::Official => official = true,
            Suite::Probes => probes = true,
        }
    }
    match (official, probes) {
        (true, false) => SuiteChoice::Official,
        (false, true) => SuiteChoice::Probes,
        _ => SuiteChoice::All,
    }
}
