//! Which log is shown, and reading it on.

use crate::domain::submission::LogFormat;
use crate::domain::{RunId, Source, Suite};
use crate::tui::action::Action;
use crate::tui::backend::{Answer, LogInfo, LogKey};
use crate::tui::effect::{Effect, LogWish, Place};
use crate::tui::layout::PaneKind;
use crate::tui::msg::LogDelta;
use crate::tui::panes::cases;
use crate::tui::panes::log::{Goal, LogSource};
use crate::tui::reading::LOG_CAP;
use crate::tui::state::{App, OpenRun};

use super::log_scans;
use super::target::load_why;

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
        LogKey::Run { run }
        | LogKey::Attempt { run, .. }
        | LogKey::Beside { run, .. }
        | LogKey::Output { run, .. } => app.open.as_ref().filter(|open| open.id == *run),
        LogKey::Agent { .. } | LogKey::Times { .. } | LogKey::AttemptTimes { .. } => None,
    }
}

/// Whether somebody may still write to a log.
fn grows(app: &App, key: &LogKey) -> bool {
    let over = matches!(key, LogKey::Attempt { .. });
    !over && own_run(app, key).is_some_and(|open| open.status.live())
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
    let chosen = app.log.sources.get(app.log.current).cloned();
    let agent = app.log.agent.clone();
    let agent = agent.map(|(key, format)| LogSource::Agent(key, format));
    let mut sources: Vec<LogSource> = agent.into_iter().collect();
    if app.open.is_some() {
        sources.push(LogSource::Stages);
    }
    let now = |key: &&LogKey| !matches!(key, LogKey::Attempt { .. });
    let outputs = app.log.outputs.iter().filter(now).cloned();
    sources.extend(outputs.map(LogSource::Output));
    app.log.sources = sources;
    let kept = chosen
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

/// Sets the time cursor to what the log's cursor stands on.
pub fn keep_time(app: &mut App) {
    let source = app.log.source();
    let began = match source.and_then(LogSource::key) {
        // a recorded session was another day
        Some(LogKey::Agent { .. }) => app.log.first_s(),
        _ => app.open.as_ref().and_then(|open| open.state.first_at_s),
    };
    app.time.since_s = began.filter(|_| source.is_some());
    let before = app.time.then_s();
    app.time.at_s = app.log.moment();
    if app.time.then_s() != before && app.focus == PaneKind::Log {
        select_case(app);
    }
}

/// Selects the case that ran at the moment that is shown, or ended last before it.
fn select_case(app: &mut App) {
    let (Some(at_s), Some(open)) = (app.time.then_s(), &app.open) else {
        return;
    };
    let subject = cases::state::shown_subject(open, app.target.source.as_ref());
    let near = Suite::ALL.into_iter().filter_map(|suite| {
        let (id, since) = open.state.suite(subject, suite)?.case_at(at_s)?;
        Some((suite, id.clone(), since))
    });
    let Some((suite, id, _)) = near.min_by(|a, b| a.2.total_cmp(&b.2)) else {
        return;
    };
    let own = |at: &usize| {
        let row = app.cases.all.get(*at);
        row.is_some_and(|row| row.suite == suite && row.id == id)
    };
    if let Some(at) = app.cases.shown.iter().position(own) {
        app.cases.selected = at;
        app.cases.moved = true;
        load_why(app);
    }
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
                log_scans::on(app);
            }
        }
        Some(source) => ask(app, &source, Some(Place::Start)),
        None => {}
    }
}

/// Reads another part of the shown log, or the same another way.
pub fn begin(app: &mut App, place: Place) {
    let Some(source) = app.log.source().filter(|s| s.key().is_some()).cloned() else {
        return;
    };
    app.log.clear();
    ask(app, &source, Some(place));
    app.touch(PaneKind::Log);
}

/// Goes to another part of a log of which only a part is held; `false`: the movement stays in it.
pub fn leave_part(app: &mut App, action: Action) -> bool {
    let log = &mut app.log;
    let ends = log.cut && log.size > log.part.1;
    let at_last = Some(log.cursor) == log.last();
    match action {
        Action::Bottom if ends => {
            log.follow = true;
            begin(app, Place::End);
        }
        Action::Top if log.part.0 > 0 || log.base > 0 => {
            log.follow = false;
            begin(app, Place::Start);
        }
        Action::Down | Action::PageDown if ends && at_last && !log.follow => {
            let next = log.part.1;
            begin(app, Place::At(next));
        }
        Action::Up | Action::PageUp if log.part.0 > 0 && Some(log.cursor) == log.first() => {
            let end = log.part.0;
            log.follow = false;
            begin(app, Place::At(end.saturating_sub(LOG_CAP / 2)));
            app.log.place = Some(Goal::Byte(end));
        }
        _ => return false,
    }
    true
}

/// Earlier logs of what the current source shows, newest first.
fn earlier(app: &App) -> Vec<LogSource> {
    let Some(source) = app.log.sources.get(app.log.current) else {
        return Vec::new();
    };
    match source {
        LogSource::Agent(LogKey::Run { run }, format) => {
            let attempts = app.log.outputs.iter().rev();
            let own =
                attempts.filter(|key| matches!(key, LogKey::Attempt { run: r, .. } if r == run));
            own.map(|key| LogSource::Earlier(key.clone(), *format))
                .collect()
        }
        LogSource::Output(LogKey::Output {
            run,
            subject,
            suite,
            rank,
        }) => earlier_runs(app, run)
            .map(|run| LogKey::Output {
                run: run.clone(),
                subject: *subject,
                suite: *suite,
                rank: *rank,
            })
            .map(|key| LogSource::Earlier(key, source.format()))
            .collect(),
        _ => Vec::new(),
    }
}

/// Runs of the same before a run, newest first: its parent is one of them.
fn earlier_runs<'a>(app: &'a App, run: &RunId) -> impl Iterator<Item = &'a RunId> {
    let own = app.summary(run);
    let older = app.runs.iter().filter(move |other| {
        own.is_some_and(|own| {
            (&other.task, &other.source) == (&own.task, &own.source)
                && other.created_s < own.created_s
                && other.work == own.work
        })
    });
    older.map(|other| &other.id)
}

pub fn has_earlier_log(app: &App) -> bool {
    !earlier(app).is_empty()
}

/// Shows the log of the attempt before; after the first one the newest again.
pub fn show_earlier(app: &mut App) {
    let all = earlier(app);
    let shown = app.log.earlier.as_ref();
    let next = shown.map_or(0, |shown| {
        all.iter().position(|s| s == shown).map_or(0, |at| at + 1)
    });
    app.log.earlier = all.get(next).cloned();
    app.log.chosen = true;
    if app.log.earlier.is_none() {
        app.say("the newest attempt again");
    }
    show_source(app);
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
    ask(app, &source, None);
}

fn ask(app: &mut App, source: &LogSource, restart: Option<Place>) {
    let Some(key) = source.key().cloned() else {
        return;
    };
    let grows = grows(app, &key);
    let state = own_run(app, &key).map(|open| &open.state);
    let since_s = match key {
        LogKey::Run { .. } => state.and_then(|state| Some(state.agent.as_ref()?.since_s)),
        // its stamps count from when that agent began
        LogKey::Attempt { attempt, .. } => state.and_then(|state| {
            let before = (attempt as usize).checked_sub(1)?;
            state.agents_began_s.get(before).copied()
        }),
        _ => None,
    };
    app.log.grows = grows;
    app.log.reading = true;
    app.log.ticket += u64::from(restart.is_some());
    app.ask(Effect::ReadLog(LogWish {
        key,
        format: source.format(),
        ticket: app.log.ticket,
        restart,
        raw: app.log.raw && source.format() != LogFormat::Text,
        full: app.log.full,
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
    let ticket = app.log.ticket;
    if answer.as_ref().is_ok_and(|delta| delta.ticket != ticket) {
        // of the reading before; its successor waits for the lane
        return;
    }
    app.log.reading = false;
    let more = match answer {
        Ok(delta) => {
            let more = delta.more;
            let left = delta.size.saturating_sub(delta.to);
            if app.log.follow && more && delta.from == 0 && !delta.cut && left > LOG_CAP {
                // the newest of a log of gigabytes is wanted: not all that comes before it
                return begin(app, Place::End);
            }
            let changed = app.log.take_delta(delta);
            if changed {
                log_scans::on(app);
            }
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
        ask(app, &source, None);
    }
}
