//! What the panes look at follows the tree's selection; changes of it ask for what is missing.

use crate::domain::{RunId, Source};
use crate::tui::backend::{LogKey, RunStatus};
use crate::tui::effect::Effect;
use crate::tui::layout::PaneKind;
use crate::tui::panes::cases::{self, Why};
use crate::tui::panes::log::LogSource;
use crate::tui::panes::tasks;
use crate::tui::state::{App, OpenRun};

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
    }
    if other_solution {
        load_changes(app);
        app.log.chosen = false;
        app.log.sources.clear();
        if let (Some(task), Some(Source::Submission { name })) =
            (app.target.task.clone(), app.target.source.clone())
        {
            app.ask(Effect::FindAgentLog(LogKey::Agent {
                task,
                submission: name,
            }));
        }
    }
    if other_run || other_solution {
        let agent = app
            .log
            .sources
            .iter()
            .find(|s| matches!(s, LogSource::Agent(..)));
        let agent = agent.cloned();
        set_sources(app, agent, Vec::new());
        if other_solution && app.log.source().is_none() {
            app.log.reset();
        }
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
    if let Some(comparison) = wanted {
        app.diff.loading = true;
        app.ask(Effect::LoadChanges(comparison));
    }
    app.touch(PaneKind::Diff);
}

/// Asks for both sides of the selected file.
pub fn load_file(app: &mut App) {
    app.diff.clear_file();
    let (Some(comparison), Some(change)) = (
        app.diff.comparison.clone(),
        app.diff.files.get(app.diff.selected),
    ) else {
        return;
    };
    let path = change.path.clone();
    let old_path = change.old_path.clone();
    app.diff.loading = true;
    app.ask(Effect::LoadFile {
        comparison,
        path,
        old_path,
    });
}

/// Sets what logs there are; keeps the one that is shown, else picks the most telling.
pub fn set_sources(app: &mut App, agent: Option<LogSource>, outputs: Vec<LogKey>) {
    let shown = app.log.source().cloned();
    let mut sources: Vec<LogSource> = agent.into_iter().collect();
    if app.open.is_some() {
        sources.push(LogSource::Stages);
    }
    sources.extend(outputs.into_iter().map(LogSource::Output));
    app.log.sources = sources;
    let kept = shown
        .as_ref()
        .filter(|_| app.log.chosen)
        .and_then(|shown| app.log.sources.iter().position(|s| s == shown));
    let live = app.open.as_ref().is_some_and(|run| run.status.live());
    let stages = app.log.sources.iter().position(|s| *s == LogSource::Stages);
    let first = if live { stages.unwrap_or(0) } else { 0 };
    app.log.current = kept.unwrap_or(first);
    if app.log.source() != shown.as_ref() || shown == Some(LogSource::Stages) {
        show_source(app);
    }
    app.touch(PaneKind::Log);
}

/// Shows the current source from its beginning.
pub fn show_source(app: &mut App) {
    app.log.reset();
    match app.log.source().cloned() {
        Some(LogSource::Stages) => {
            if let Some(open) = &app.open {
                app.log.take_stages(&open.state);
            }
        }
        Some(source) => {
            let format = source.format();
            if let Some(key) = source.key().cloned() {
                app.log.reading = true;
                app.ask(Effect::ReadLog {
                    key,
                    format,
                    restart: true,
                });
            }
        }
        None => {}
    }
}

/// Reads what was added to the shown output, and finds outputs that are new.
pub fn read_on(app: &mut App) {
    if let Some(source @ LogSource::Output(key)) = app.log.source()
        && !app.log.reading
    {
        let (key, format) = (key.clone(), source.format());
        app.log.reading = true;
        app.ask(Effect::ReadLog {
            key,
            format,
            restart: false,
        });
    }
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
    app.cases.why = Some(why);
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
    let Some(frame) = why.frames.get(why.frame).cloned() else {
        return;
    };
    let effect = Effect::LoadExcerpt {
        comparison: crate::tui::state::Comparison {
            task,
            left: Source::Gold,
            right: source,
        },
        suite: why.suite,
        case: why.id.clone(),
        frame: why.frame,
        path: frame.path,
        line: frame.line,
    };
    app.ask(effect);
}
