//! Keys to actions to changes.

use crossterm::event::KeyCode;

use crate::domain::{CaseId, Source, SuiteChoice};
use crate::tui::action::Action;
use crate::tui::backend::GradeRequest;
use crate::tui::effect::Effect;
use crate::tui::keymap::{self, Key};
use crate::tui::layout::PaneKind;
use crate::tui::overlays::{Overlay, PromptFor};
use crate::tui::panes::cases::CaseRow;
use crate::tui::panes::log;
use crate::tui::panes::tasks::{self, state::Node};
use crate::tui::panes::words::plural;
use crate::tui::state::App;

use super::logs::show_source;
use super::target::{load_changes, load_excerpt, load_file, load_why, retarget};
use super::{agents, prompts, scroll};

pub fn key(app: &mut App, key: Key) {
    app.last_key_s = app.now_s;
    app.toast = None;
    app.dirty = true;
    match &mut app.overlay {
        Some(Overlay::Prompt(_)) => return prompts::key(app, key),
        Some(Overlay::Agents(_)) => return agents::key(app, key),
        Some(Overlay::ConfirmCancel { run, .. }) => {
            let run = run.clone();
            match (key.code, key.ctrl) {
                (KeyCode::Char('y'), false) | (KeyCode::Enter, _) => {
                    app.overlay = None;
                    app.ask(Effect::Cancel(run));
                }
                (KeyCode::Char('n' | 'q'), false)
                | (KeyCode::Esc, _)
                | (KeyCode::Char('c'), true) => {
                    app.overlay = None;
                }
                _ => {}
            }
            return;
        }
        Some(Overlay::Help { scroll }) => {
            let action = keymap::lookup(key, PaneKind::Gpu).map(|entry| entry.action);
            match action {
                Some(Action::Up) => *scroll = scroll.saturating_sub(1),
                Some(Action::Down) => *scroll += 1,
                Some(Action::PageUp) => *scroll = scroll.saturating_sub(10),
                Some(Action::PageDown) => *scroll += 10,
                Some(Action::Top) => *scroll = 0,
                Some(Action::Bottom) => *scroll = usize::MAX / 2,
                Some(Action::Help | Action::Back | Action::Quit) => app.overlay = None,
                Some(Action::Suspend) => app.ask(Effect::Suspend),
                _ => {}
            }
            return;
        }
        None => {}
    }
    let Some(entry) = keymap::lookup(key, app.focus) else {
        return;
    };
    match (entry.possible)(app) {
        Ok(()) => perform(app, entry.action),
        Err(reason) => app.complain(reason),
    }
}

fn perform(app: &mut App, action: Action) {
    match action {
        Action::Quit => app.ask(Effect::Quit),
        Action::Suspend => app.ask(Effect::Suspend),
        Action::Redraw => app.ask(Effect::Repaint),
        Action::Help => app.overlay = Some(Overlay::Help { scroll: 0 }),
        Action::Back => back(app),
        Action::Zoom => app.zoom = !app.zoom,
        Action::NextPane => focus(app, app.focus.step(true)),
        Action::PrevPane => focus(app, app.focus.step(false)),
        Action::Pane(pane) => focus(app, pane),
        Action::Layout(layout) => {
            app.layout = layout;
            app.zoom = false;
            focus(app, layout.home());
        }
        Action::Up
        | Action::Down
        | Action::PageUp
        | Action::PageDown
        | Action::Top
        | Action::Bottom => scroll::vertical(app, action),
        Action::Left => scroll::horizontal(app, false),
        Action::Right => scroll::horizontal(app, true),
        Action::Find => prompts::open(
            app,
            match app.focus {
                PaneKind::Tasks | PaneKind::Gpu => PromptFor::TasksFilter,
                PaneKind::Cases => PromptFor::CasesFilter,
                PaneKind::Log => PromptFor::LogSearch,
                PaneKind::Diff => PromptFor::DiffSearch,
            },
        ),
        Action::Open => open(app),
        Action::Grade => grade(app, None),
        Action::GradeGold => grade(app, Some(Source::Gold)),
        Action::RunAgent => agents::open(app),
        Action::Cancel => cancel(app),
        Action::RerunCase => {
            let only = app.cases.selected_row().map(|row| row.id.clone());
            rerun(app, only.into_iter().collect());
        }
        Action::RerunFailing => {
            let failing = app.cases.all.iter().filter(|row| row.not_passed());
            let only = failing.map(|row| row.id.clone()).collect();
            rerun(app, only);
        }
        Action::LogSource => {
            app.log.current = (app.log.current + 1) % app.log.sources.len().max(1);
            app.log.chosen = true;
            show_source(app);
        }
        Action::Follow => {
            app.log.follow = !app.log.follow;
            let page = scroll::page(app, PaneKind::Log);
            log::scroll::settle(&mut app.log, page);
        }
        Action::NextMatch | Action::PrevMatch => {
            let hits = app.log.hits.clone();
            let forward = action == Action::NextMatch;
            let found = app
                .log
                .seek(forward, |at, _| hits.binary_search(&at).is_ok());
            if !found {
                app.complain("no more matches that way");
            }
        }
        Action::NextError | Action::PrevError => {
            let forward = action == Action::NextError;
            if !app.log.seek(forward, |_, entry| entry.bad()) {
                app.complain("no more errors that way");
            }
        }
        Action::DiffView => app.diff.toggle_view(),
        Action::DiffAgainst => {
            app.diff.against_base = !app.diff.against_base;
            load_changes(app);
        }
        Action::NextHunk | Action::PrevHunk => {
            if !app.diff.step_hunk(action == Action::NextHunk) {
                app.complain("no more changes that way: ] is the next file");
            }
        }
        Action::NextFile | Action::PrevFile => {
            if app.diff.step_file(action == Action::NextFile) {
                load_file(app);
            }
        }
        Action::Unfold => app.diff.toggle_fold(),
        Action::OnlyRejected => {
            app.cases.only_rejected = !app.cases.only_rejected;
            app.cases.refilter();
            load_why(app);
        }
        Action::SuiteFilter => {
            use crate::domain::Suite;
            app.cases.suite = match app.cases.suite {
                None => Some(Suite::Official),
                Some(Suite::Official) => Some(Suite::Probes),
                Some(Suite::Probes) => None,
            };
            app.cases.refilter();
            load_why(app);
        }
        Action::NextFailing | Action::PrevFailing => {
            app.cases.moved = true;
            if app.cases.step_failing(action == Action::NextFailing) {
                load_why(app);
            } else {
                app.complain("no more failing cases that way");
            }
        }
        Action::NextFrame | Action::PrevFrame => {
            if let Some(why) = &mut app.cases.why
                && why.step_frame(action == Action::NextFrame)
            {
                load_excerpt(app);
            }
        }
        Action::ToDiff => to_diff(app),
        Action::Why => app.cases.why_open = !app.cases.why_open,
    }
}

fn focus(app: &mut App, pane: PaneKind) {
    app.focus = pane;
    if pane != PaneKind::Tasks {
        app.beside = pane;
    }
}

fn back(app: &mut App) {
    if app.focus == PaneKind::Cases && app.cases.why_open {
        app.cases.why_open = false;
    } else if app.focus == PaneKind::Cases && app.cases.filtered() {
        app.cases.filter.clear();
        app.cases.only_rejected = false;
        app.cases.suite = None;
        app.cases.refilter();
        load_why(app);
    } else if app.focus == PaneKind::Tasks && !app.tree.filter.is_empty() {
        app.tree.filter.clear();
        tasks::state::rebuild(app);
        retarget(app);
    } else if app.focus == PaneKind::Log && !app.log.search.is_empty() {
        app.log.set_search(String::new());
    } else if app.zoom {
        app.zoom = false;
    } else {
        focus(app, PaneKind::Tasks);
    }
}

fn open(app: &mut App) {
    if app.focus == PaneKind::Log {
        let at = app.log.cursor;
        if !app.log.unfolded.remove(&at) {
            app.log.unfolded.insert(at);
        }
        return;
    }
    match app.tree.row().map(|row| row.node.clone()) {
        Some(Node::Run(..)) => focus(app, PaneKind::Cases),
        Some(Node::Source(_)) if app.tree.toggle(None) => {
            tasks::state::rebuild(app);
            retarget(app);
        }
        Some(Node::Source(Source::Agent { .. })) => {
            // at work its log tells most, afterwards the verdict does
            let working = app.live_run().is_some_and(|run| run.agent.is_some());
            focus(
                app,
                if working {
                    PaneKind::Log
                } else {
                    PaneKind::Cases
                },
            );
        }
        Some(Node::Source(_)) => focus(app, PaneKind::Diff),
        Some(Node::Problem(message)) => app.complain(message),
        Some(Node::Task) => {
            app.tree.toggle(None);
            tasks::state::rebuild(app);
            retarget(app);
        }
        None => {}
    }
}

fn grade(app: &mut App, source: Option<Source>) {
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
        app.complain("it is being graded already: x cancels");
        return;
    }
    app.say("starting…");
    app.ask(Effect::Grade(GradeRequest {
        task,
        source,
        suites: SuiteChoice::All,
        only: Vec::new(),
        parent: None,
    }));
}

fn cancel(app: &mut App) {
    let Some(run) = app.live_run() else { return };
    let what = format!("{} of {}", run.source.label(), run.task);
    let run = run.id.clone();
    app.overlay = Some(Overlay::ConfirmCancel { run, what });
}

fn rerun(app: &mut App, only: Vec<CaseId>) {
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
        app.complain("a rerun is going on: x cancels");
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

/// Shows the line of the selected frame in the diff, where its file differs.
fn to_diff(app: &mut App) {
    let Some(why) = &app.cases.why else { return };
    let Some(frame) = why.frames.get(why.frame).cloned() else {
        return;
    };
    let Some(at) = app.diff.files.iter().position(|f| f.path == frame.path) else {
        app.complain("that file does not differ: choose another frame with [ and ]");
        return;
    };
    focus(app, PaneKind::Diff);
    app.diff.goal = Some(frame.line);
    if at == app.diff.selected && app.diff.file.is_some() {
        app.diff.settle_goal();
    } else {
        app.diff.selected = at;
        load_file(app);
    }
}
