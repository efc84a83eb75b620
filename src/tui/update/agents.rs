//! Running an agent: the choice, the start, and what is shown of it.

use crate::domain::{RunId, Source};
use crate::tui::agent_offer::{AgentOffer, AgentRequest};
use crate::tui::backend::{Answer, RunSummary};
use crate::tui::effect::Effect;
use crate::tui::keymap::Key;
use crate::tui::layout::PaneKind;
use crate::tui::overlays::agents::Answered;
use crate::tui::overlays::{Chooser, Overlay};
use crate::tui::panes::tasks;
use crate::tui::state::App;

use super::answers::{put_summary, runs_changed};

/// Opens the chooser for the selected task.
pub fn open(app: &mut App) {
    let Some(task) = app.target.task.clone() else {
        return;
    };
    let chooser = Chooser::new(task.clone(), app.last_agent.clone());
    app.overlay = Some(Overlay::Agents(Box::new(chooser)));
    app.ask(Effect::LoadAgents(task));
}

pub fn key(app: &mut App, key: Key) {
    let Some(Overlay::Agents(chooser)) = &mut app.overlay else {
        return;
    };
    match chooser.key(key, &app.ui.keymap) {
        Answered::Nothing => {}
        Answered::Close => app.overlay = None,
        Answered::Start(request) => {
            let engine = app.engine;
            let request = AgentRequest { engine, ..request };
            app.last_agent = Some(request.clone());
            app.ask(Effect::RunAgent(request));
        }
    }
}

/// What there is to choose from, where the chooser still waits for it.
pub fn offered(app: &mut App, task: &str, answer: Answer<AgentOffer>) {
    let Some(Overlay::Agents(chooser)) = &mut app.overlay else {
        return;
    };
    if chooser.task != task || chooser.offer.is_some() {
        return;
    }
    match answer {
        Ok(offer) => chooser.take(offer),
        Err(error) => chooser.error = Some(error.0),
    }
    app.dirty = true;
}

/// The run began, or why not: then the choice stays open.
pub fn started(app: &mut App, request: &AgentRequest, answer: Answer<RunId>) {
    let waiting = match &mut app.overlay {
        Some(Overlay::Agents(chooser)) if chooser.starting => Some(chooser),
        _ => None,
    };
    let run = match (answer, waiting) {
        (Ok(run), waiting) => {
            if waiting.is_some() {
                app.overlay = None;
            }
            run
        }
        (Err(error), Some(chooser)) => {
            chooser.starting = false;
            chooser.error = Some(error.0);
            app.dirty = true;
            return;
        }
        (Err(error), None) => return app.complain(error.0),
    };
    let source = Source::Agent {
        name: request.agent.clone(),
        run: run.clone(),
    };
    let waiting = RunSummary::waiting(run.clone(), &request.task, source.clone(), app.now_s);
    let summary = app.summary(&run).cloned().unwrap_or(waiting);
    put_summary(app, &run, Some(summary));
    tasks::state::select_source(app, &request.task, &source);
    app.log.chosen = false;
    app.beside = PaneKind::Log;
    if !app.plan().shows(PaneKind::Log) {
        app.focus = PaneKind::Log;
    }
    app.say(format!("{} started", crate::tui::text::clean(&run.0)));
    runs_changed(app);
    app.ask(Effect::LoadRun(run));
}
