//! Answers of the backend: each goes to its place, or is dropped where nobody looks any more.

use crate::domain::run_state::RunState;
use crate::domain::{AgentEnd, Badge, Event, NetworkMode, RunId, Source, Subject, Suite, Verdict};
use crate::tui::backend::{AgentTime, Count, JournalChunk, RunStatus, RunSummary};
use crate::tui::effect::Effect;
use crate::tui::layout::PaneKind;
use crate::tui::msg::Msg;
use crate::tui::panes::cases;
use crate::tui::panes::log::LogSource;
use crate::tui::panes::tasks;
use crate::tui::state::{App, OpenRun};

use super::target::{load_captured, load_excerpt, load_why, retarget};
use super::{agents, bulk, heat, log_scans, logs};

pub fn take(app: &mut App, msg: Msg) {
    match msg {
        Msg::Tasks(Ok(list)) => {
            app.tasks = list.tasks;
            app.problems = list.problems;
            app.missing = list.missing;
            app.tasks_loaded = true;
            app.ask(Effect::LoadStandings);
            tree_changed(app);
        }
        Msg::Standings(Ok(standings)) => {
            app.standings = standings;
            tree_changed(app);
        }
        Msg::Runs(Ok(runs)) => {
            app.runs = runs;
            app.runs_loaded = true;
            runs_changed(app);
        }
        Msg::Run(id, Ok(summary)) => {
            put_summary(app, &id, summary);
            runs_changed(app);
        }
        Msg::Journal(run, answer) => journal(app, &run, answer),
        Msg::Calibration(run, Ok(results)) => {
            for open in [app.open.as_mut(), app.rerun.as_mut()]
                .into_iter()
                .flatten()
            {
                if open.id == run {
                    open.learn_gold(&results);
                }
            }
            cases::state::rebuild(app);
            app.touch(PaneKind::Cases);
        }
        Msg::Started(request, Err(error)) => {
            bulk::started(app, &request, None);
            app.complain(error.0);
        }
        Msg::Started(request, Ok(run)) => {
            let batch = bulk::started(app, &request, Some(&run));
            let mut summary = RunSummary::waiting(
                run.clone(),
                &request.task,
                request.source.clone(),
                app.now_s,
            );
            summary.parent.clone_from(&request.parent);
            summary.only = request.only.len();
            if let Some(known) = app.summary(&run) {
                summary = known.clone();
            }
            put_summary(app, &run, Some(summary));
            if request.parent.is_none() && !batch {
                tasks::state::select_source(app, &request.task, &request.source);
                app.log.chosen = false;
                if !app.plan().shows(PaneKind::Cases) {
                    app.focus = PaneKind::Cases;
                }
            }
            if !batch {
                app.say(format!("{} started", crate::tui::text::clean(&run.0)));
            }
            runs_changed(app);
            app.ask(Effect::LoadRun(run));
        }
        Msg::Agents(task, answer) => agents::offered(app, &task, answer),
        Msg::AgentStarted(request, answer) => agents::started(app, &request, answer),
        Msg::Cancelled(run, Ok(())) => {
            app.say("asked the worker to stop");
            app.ask(Effect::LoadRun(run));
        }
        Msg::AgentLog(key, Ok(Some(info))) => logs::found_agent_log(app, key, info),
        Msg::Outputs(run, Ok(found)) => {
            if app.open.as_ref().is_some_and(|open| open.id == run) && app.log.outputs != found {
                app.log.outputs = found;
                logs::set_sources(app);
            }
        }
        Msg::Log(key, answer) => logs::take(app, &key, answer),
        Msg::Detail(run, suite, id, answer) => {
            let here = app.open.as_ref().is_some_and(|open| open.id == run);
            if let Some(why) = &mut app.cases.why
                && here
                && why.suite == suite
                && why.id == id
            {
                let files = &app.diff.files;
                why.take(answer, |path| files.iter().any(|file| file.path == path));
                load_excerpt(app);
                app.touch(PaneKind::Cases);
            }
        }
        Msg::Outcomes(cases) => heat::learn(app, cases),
        Msg::Excerpt(id, frame, answer) => {
            if let Some(why) = &mut app.cases.why
                && why.id == id
                && why.frame == frame
            {
                why.excerpt = answer.ok().flatten();
                app.touch(PaneKind::Cases);
            }
        }
        Msg::Tasks(Err(error))
        | Msg::Runs(Err(error))
        | Msg::Run(_, Err(error))
        | Msg::Calibration(_, Err(error))
        | Msg::Standings(Err(error))
        | Msg::Cancelled(_, Err(error))
        | Msg::Outputs(_, Err(error))
        | Msg::AgentLog(_, Err(error)) => app.complain(error.0),
        msg @ (Msg::Acceptance(..)
        | Msg::CellDetail(..)
        | Msg::Source(..)
        | Msg::VerifyStarted(..)) => super::author::take(app, msg),
        other => super::diffs::take(app, other),
    }
}

fn tree_changed(app: &mut App) {
    let first = app.tree.rows.is_empty();
    tasks::state::rebuild(app);
    if first {
        tasks::state::select_first(app);
    }
    retarget(app);
    heat::keep_up(app);
    heat::load_before(app);
    bulk::feed(app);
    app.touch(PaneKind::Tasks);
}

pub fn runs_changed(app: &mut App) {
    app.runs.sort_by(|a, b| {
        b.created_s
            .total_cmp(&a.created_s)
            .then_with(|| b.id.cmp(&a.id))
    });
    tree_changed(app);
    load_captured(app);
    // a run that ends or dies changes more panes than the tree
    if let Some(open) = &mut app.open
        && let Some(summary) = app.runs.iter().find(|run| run.id == open.id)
        && open.status != summary.status
    {
        open.status = summary.status;
        app.dirty = true;
    }
}

pub fn put_summary(app: &mut App, id: &RunId, summary: Option<RunSummary>) {
    app.runs.retain(|run| run.id != *id);
    app.runs.extend(summary);
}

fn journal(
    app: &mut App,
    run: &RunId,
    answer: Result<JournalChunk, crate::tui::backend::BackendError>,
) {
    let is_open = app.open.as_ref().is_some_and(|open| open.id == *run);
    let slot = if is_open {
        &mut app.open
    } else {
        &mut app.rerun
    };
    let Some(open) = slot.as_mut().filter(|open| open.id == *run) else {
        return;
    };
    open.reading = false;
    let chunk = match answer {
        Ok(chunk) => chunk,
        Err(error) => {
            open.error = Some(error.0.clone());
            app.complain(error.0);
            return;
        }
    };
    let new_output = chunk.records.iter().any(|record| {
        matches!(
            record.event,
            Event::Collected { .. }
                | Event::SuiteFinished { .. }
                | Event::StageStarted { .. }
                | Event::AgentStarted { .. }
                | Event::AgentEnded { .. }
        )
    });
    let keys = open.take(&chunk);
    let (again, from) = (std::mem::take(&mut open.again), open.next);
    if again {
        open.reading = true;
    }
    let status = open.status;
    let mut summary_changed = false;
    if let Some(summary) = app.runs.iter_mut().find(|summary| summary.id == *run)
        && let Some(open) = [app.open.as_ref(), app.rerun.as_ref()]
            .into_iter()
            .flatten()
            .find(|open| open.id == *run)
    {
        summary_changed = refresh(summary, open);
    }
    for key in keys {
        let run = run.clone();
        app.ask(Effect::LoadCalibration { run, key });
    }
    if again {
        let run = run.clone();
        app.ask(Effect::LoadJournal { run, from });
    }
    cases::state::rebuild(app);
    if is_open && !status.live() {
        if !app.cases.moved {
            app.cases.select_rejected();
        }
        // what is not there now is not shown
        app.cases.wanted = None;
    }
    load_why(app);
    if is_open {
        if app.log.source() == Some(&LogSource::Stages)
            && let Some(open) = &app.open
        {
            app.log.take_stages(&open.state);
            log_scans::on(app);
        }
        if new_output {
            app.ask(Effect::LoadOutputs(run.clone()));
        }
        if new_output {
            logs::learn_agent(app, run);
        }
        if !status.live() {
            logs::read_on(app);
        }
    }
    if summary_changed {
        tree_changed(app);
    }
    load_captured(app);
    app.touch(PaneKind::Cases);
    app.touch(PaneKind::Tasks);
}

/// Brings a run's summary in line with its journal; tells whether the tree must look again.
fn refresh(summary: &mut RunSummary, open: &OpenRun) -> bool {
    let state = &open.state;
    let before = summary.status;
    summary.status = open.status;
    summary.started_s = summary.started_s.or(state.first_at_s);
    if state.finished() {
        summary.ended_s = state.last_at_s;
    }
    summary.stage = state.stage;
    summary.engine = state.engine.or(summary.engine);
    summary.agent = working(open);
    summary.waits_for_gpus = state.waiting.is_some();
    if let Some(grade) = &state.grade {
        summary.verdict = Some(grade.verdict);
        summary.cause = grade.cause;
        summary.badges.clone_from(&grade.badges);
    } else if let Some(agent) = &state.agent {
        // known before the verdict is
        let at_limit = agent.end == Some(AgentEnd::Limit);
        let open = agent.network == NetworkMode::Open;
        summary.badges = [(at_limit, Badge::Limit), (open, Badge::CouldReadUpstream)]
            .into_iter()
            .filter_map(|(holds, badge)| holds.then_some(badge))
            .collect();
    }
    summary.fault.clone_from(&state.fault);
    if state.fault.is_some() && state.exit == Some(3) {
        summary.verdict = Some(Verdict::Fault);
    }
    let subject = cases::state::shown_subject(open, Some(&summary.source));
    summary.official = count(state, subject, Suite::Official).or(summary.official);
    summary.probes = count(state, subject, Suite::Probes).or(summary.probes);
    before != summary.status
}

/// The agent's time, while it works.
fn working(open: &OpenRun) -> Option<AgentTime> {
    let agent = open.state.agent.as_ref()?;
    (agent.end.is_none() && open.status.live()).then_some(AgentTime {
        since_s: agent.since_s,
        limit_s: agent.limit_s,
    })
}

fn count(state: &RunState, subject: Subject, suite: Suite) -> Option<Count> {
    state.suite(subject, suite).map(|suite| Count {
        passed: suite.passed(),
        collected: suite.order.len(),
    })
}

impl RunSummary {
    /// A run that was just asked for.
    pub(super) fn waiting(id: RunId, task: &str, source: Source, now_s: f64) -> Self {
        Self {
            id,
            task: task.into(),
            source,
            parent: None,
            only: 0,
            created_s: now_s,
            started_s: None,
            ended_s: None,
            status: RunStatus::Waiting,
            stage: None,
            agent: None,
            engine: None,
            waits_for_gpus: false,
            work: crate::domain::Work::Grade,
            standing: None,
            verdict: None,
            cause: None,
            badges: Vec::new(),
            official: None,
            probes: None,
            fault: None,
        }
    }
}
