//! Which log is shown, and reading it on.

use crate::domain::{RunId, Source};
use crate::tui::backend::{Answer, LogInfo, LogKey};
use crate::tui::effect::{Effect, LogWish};
use crate::tui::layout::PaneKind;
use crate::tui::msg::LogDelta;
use crate::tui::panes::log::LogSource;
use crate::tui::state::{App, OpenRun};

/// Where the agent's log of the selection would be.
pub fn agent_key(app: &App) -> Option<LogKey> {
    match (app.target.task.clone()?, app.target.source.clone()?) {
        (task, Source::Submission { name }) => Some(LogKey::Agent {
            task,
            submission: name,
        }),
        (_, Source::Agent { run, .. }) => Some(LogKey::Run { run }),
        _ => None,
    }
}

/// Asks anew for the logs of another solution.
pub fn other_solution(app: &mut App) {
    app.log.chosen = false;
    app.log.agent = None;
    match agent_key(app) {
        // its journal tells what the log is, and since when
        Some(LogKey::Run { run }) if app.target.run.as_ref() == Some(&run) => {}
        Some(key) => app.ask(Effect::FindAgentLog(key)),
        None => {}
    }
}

pub fn found_agent_log(app: &mut App, key: LogKey, info: LogInfo) {
    if agent_key(app).as_ref() == Some(&key) && app.log.agent.is_none() {
        app.log.agent = Some((key, info.format));
        set_sources(app);
    }
}

/// The open run, where the log is of the agent that works or worked in it.
fn own_run<'a>(app: &'a App, key: &LogKey) -> Option<&'a OpenRun> {
    match key {
        LogKey::Run { run } | LogKey::Beside { run, .. } | LogKey::Output { run, .. } => {
            app.open.as_ref().filter(|open| open.id == *run)
        }
        LogKey::Agent { .. } | LogKey::Times { .. } => None,
    }
}

/// Whether somebody may still write to a log.
fn grows(app: &App, key: &LogKey) -> bool {
    own_run(app, key).is_some_and(|open| open.status.live())
}

/// What the journal says of the agent goes before what was found.
pub fn learn_agent(app: &mut App, run: &RunId) {
    let Some(open) = app.open.as_ref().filter(|open| open.id == *run) else {
        return;
    };
    let key = LogKey::Run { run: run.clone() };
    let Some(agent) = &open.state.agent else {
        return;
    };
    let known = Some((key.clone(), agent.format));
    let shown = matches!(app.log.source(), Some(LogSource::Agent(..)));
    if agent_key(app) == Some(key) && (app.log.agent != known || !(shown || app.log.chosen)) {
        app.log.agent = known;
        set_sources(app);
    }
}

/// Sets what logs there are; keeps the one that was chosen, else picks the most telling.
pub fn set_sources(app: &mut App) {
    let shown = app.log.source().cloned();
    let agent = app.log.agent.clone();
    let agent = agent.map(|(key, format)| LogSource::Agent(key, format));
    let mut sources: Vec<LogSource> = agent.into_iter().collect();
    if app.open.is_some() {
        sources.push(LogSource::Stages);
    }
    sources.extend(app.log.outputs.iter().cloned().map(LogSource::Output));
    app.log.sources = sources;
    let kept = shown
        .as_ref()
        .filter(|_| app.log.chosen)
        .and_then(|shown| app.log.sources.iter().position(|s| s == shown));
    app.log.current = kept.unwrap_or_else(|| most_telling(app));
    if app.log.source() != shown.as_ref() || shown == Some(LogSource::Stages) {
        show_source(app);
    }
    app.touch(PaneKind::Log);
}

/// While it works its own agent's log, else what the worker says; afterwards the first.
fn most_telling(app: &App) -> usize {
    let Some(open) = app.open.as_ref().filter(|run| run.status.live()) else {
        return 0;
    };
    let at_work = match app.log.sources.first() {
        Some(LogSource::Agent(key, _)) => own_run(app, key).is_some() && open.state.agent.is_some(),
        _ => false,
    };
    let stages = app.log.sources.iter().position(|s| *s == LogSource::Stages);
    if at_work { 0 } else { stages.unwrap_or(0) }
}

/// Shows the current source from its beginning.
pub fn show_source(app: &mut App) {
    let source = app.log.source().cloned();
    let grows = source
        .as_ref()
        .and_then(LogSource::key)
        .is_some_and(|key| grows(app, key));
    app.log.reset(grows);
    match source {
        Some(LogSource::Stages) => {
            if let Some(open) = &app.open {
                app.log.take_stages(&open.state);
            }
        }
        Some(source) => ask(app, &source, true),
        None => {}
    }
}

/// Reads what was added to the shown log, where it is one of the open run's.
pub fn read_on(app: &mut App) {
    let Some(source) = app.log.source().cloned() else {
        return;
    };
    let Some(key) = source.key() else { return };
    if own_run(app, key).is_none() {
        return;
    }
    if app.log.reading {
        // the answer on its way may lack the newest bytes: look once more after it
        app.log.again = true;
        return;
    }
    ask(app, &source, false);
}

fn ask(app: &mut App, source: &LogSource, restart: bool) {
    let Some(key) = source.key().cloned() else {
        return;
    };
    let grows = grows(app, &key);
    let agent = own_run(app, &key).and_then(|open| open.state.agent.as_ref());
    let since_s = match key {
        LogKey::Run { .. } => agent.map(|agent| agent.since_s),
        _ => None,
    };
    app.log.grows = grows;
    app.log.reading = true;
    app.ask(Effect::ReadLog(LogWish {
        key,
        format: source.format(),
        restart,
        grows,
        since_s,
    }));
}

pub fn take(app: &mut App, key: &LogKey, answer: Answer<LogDelta>) {
    let Some(source) = app.log.source().filter(|source| source.key() == Some(key)) else {
        return;
    };
    let source = source.clone();
    let was_empty = app.log.entries.is_empty();
    app.log.reading = false;
    let more = match answer {
        Ok(delta) => {
            let more = delta.more;
            let changed = app.log.take_delta(delta);
            if changed || was_empty || app.log.error.take().is_some() {
                app.touch(PaneKind::Log);
            }
            more
        }
        Err(error) => {
            app.log.error = Some(error.0);
            app.touch(PaneKind::Log);
            false
        }
    };
    if std::mem::take(&mut app.log.again) || more {
        ask(app, &source, false);
    }
}
