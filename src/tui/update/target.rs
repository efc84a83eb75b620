//! What the panes look at follows the tree's selection; changes of it ask for what is missing.

use crate::domain::{RunId, Source, Stage, Subject};
use crate::tui::backend::RunStatus;
use crate::tui::effect::Effect;
use crate::tui::layout::PaneKind;
use crate::tui::panes::cases::{self, Why};
use crate::tui::panes::tasks;
use crate::tui::state::{App, OpenRun};

use super::{diffs, heat, logs, notes};

/// Brings the target in line with the selection.
pub fn retarget(app: &mut App) {
    let new = tasks::state::target(app);
    if new == app.target {
        follow_reruns(app);
        return;
    }
    let old = std::mem::replace(&mut app.target, new);
    let other_solution = old.task != app.target.task || old.source != app.target.source;
    let other_run = old.run != app.target.run;
    if other_run {
        open_run(app);
        notes::load(app);
    }
    if other_solution {
        load_changes(app);
        logs::other_solution(app);
    }
    if other_run || other_solution {
        app.log.outputs.clear();
        app.log.earlier = None;
        logs::set_sources(app);
        if other_solution && app.log.source().is_none() {
            app.log.reset(false);
        }
    }
    if other_solution {
        heat::keep_up(app);
    }
    follow_reruns(app);
    app.dirty = true;
}

fn open_run(app: &mut App) {
    app.cases.clear();
    app.rerun = None;
    app.open = None;
    if let Some(run) = app.target.run.clone() {
        app.open = Some(begin_reading(app, run.clone()));
        app.ask(Effect::LoadOutputs(run));
        heat::load_before(app);
    }
}

/// Starts to follow a run's journal.
fn begin_reading(app: &mut App, run: RunId) -> OpenRun {
    let mut open = OpenRun::new(run.clone());
    open.reading = true;
    open.status = app.summary(&run).map_or(RunStatus::Waiting, |s| s.status);
    app.ask(Effect::LoadJournal { run, from: 0 });
    open
}

/// Follows the newest run that reran cases of the open one.
fn follow_reruns(app: &mut App) {
    let Some(open) = &app.open else { return };
    let newest = app
        .runs
        .iter()
        .find(|run| run.parent.as_ref() == Some(&open.id))
        .map(|run| run.id.clone());
    if app.rerun.as_ref().map(|run| &run.id) == newest.as_ref() {
        return;
    }
    app.rerun = newest.map(|run| begin_reading(app, run));
    cases::state::rebuild(app);
}

/// Asks for the list of files that differ, where the comparison is another one.
pub fn load_changes(app: &mut App) {
    let wanted = app.comparison();
    if app.diff.comparison == wanted {
        return;
    }
    app.diff.clear();
    app.diff.comparison.clone_from(&wanted);
    app.diff.awaits = wanted.is_some();
    load_captured(app);
    app.touch(PaneKind::Diff);
}

/// Asks for the files of the comparison once both sides are there: what an agent changes is a
/// patch only when its time has ended.
pub fn load_captured(app: &mut App) {
    let Some(comparison) = app.diff.comparison.clone() else {
        return;
    };
    if app.diff.awaits && !at_work(app, &comparison.right) {
        app.diff.awaits = false;
        app.diff.loading = true;
        app.ask(Effect::LoadChanges(comparison));
        app.touch(PaneKind::Diff);
    }
}

/// Whether an agent's changes are still to come.
fn at_work(app: &App, source: &Source) -> bool {
    let Source::Agent { run, .. } = source else {
        return false;
    };
    let open = app.open.as_ref().filter(|open| open.id == *run);
    if open.is_some_and(|open| open.state.captured.is_some()) {
        return false;
    }
    let Some(summary) = app.summary(run).filter(|run| run.status.live()) else {
        return false;
    };
    // runs of calibration come before, all else after it
    !matches!(
        summary.stage,
        Some((
            Stage::Apply | Stage::Build | Stage::Official | Stage::Probes | Stage::Judge,
            Subject::Submission
        ))
    )
}

/// Asks for both sides of the selected file.
pub fn load_file(app: &mut App) {
    app.diff.clear_file();
    diffs::ask_file(app);
}

/// Asks why the selected case ended as it did, where that is not shown already.
pub fn load_why(app: &mut App) {
    let Some(row) = app.cases.selected_row() else {
        app.cases.why = None;
        return;
    };
    let (suite, id) = (row.suite, row.id.clone());
    if app
        .cases
        .why
        .as_ref()
        .is_some_and(|why| why.suite == suite && why.id == id && (why.loading || why.done))
    {
        return;
    }
    let Some(open) = &app.open else { return };
    let run = open.id.clone();
    let subject = cases::state::shown_subject(open, app.target.source.as_ref());
    let result = open.result(subject, suite, &id).cloned();
    let mut why = Why::new(suite, id);
    if let Some(result) = result {
        why.done = true;
        // what plainly passed left no story
        if !result.outcome.passed() || result.detail_offset.is_some() {
            why.loading = true;
            app.ask(Effect::LoadDetail {
                run,
                subject,
                suite,
                result,
            });
        }
    }
    let plain = why.done && !why.loading;
    app.cases.why = Some(why);
    if plain {
        load_excerpt(app);
    }
}

/// Asks for the lines around the selected frame.
pub fn load_excerpt(app: &mut App) {
    let (Some(task), Some(source)) = (app.target.task.clone(), app.target.source.clone()) else {
        return;
    };
    let Some(why) = &mut app.cases.why else {
        return;
    };
    why.excerpt = None;
    // without a traceback the case's own function is shown
    let place = why.frames.get(why.frame).map(|f| (f.path.clone(), f.line));
    let (path, line) = place.unwrap_or_else(|| (why.id.file().to_owned(), 0));
    let effect = Effect::LoadExcerpt {
        task,
        tree: source,
        suite: why.suite,
        case: why.id.clone(),
        frame: why.frame,
        path,
        line,
    };
    app.ask(effect);
}
