//! Keys to actions to changes.

use crossterm::event::KeyCode;

use crate::domain::{EngineChoice, Source, Subject};
use crate::tui::action::{Action, Entry};
use crate::tui::effect::Effect;
use crate::tui::keymap::{Found, Key, written};
use crate::tui::layout::{self, PaneKind, Way};
use crate::tui::overlays::{Help, Overlay, Palette, PromptFor};
use crate::tui::panes::{cases, tasks};
use crate::tui::state::App;

use super::go::{self, back, focus, open};
use super::runs::{cancel, grade, rerun};
use super::target::{load_excerpt, load_why, retarget};
use super::{
    agents, author, bulk, copy, diffs, filters, gpus, heat, help, log_keys, log_scans, palette,
    picks, prompts, scroll, shells,
};

pub fn key(app: &mut App, key: Key) {
    app.last_key_s = app.now_s;
    app.toast = None;
    app.dirty = true;
    match &mut app.overlay {
        Some(Overlay::Prompt(_)) => return prompts::key(app, key),
        Some(Overlay::Palette(_)) => return palette::key(app, key),
        Some(Overlay::Agents(_)) => return agents::key(app, key),
        Some(Overlay::Help(_)) => return help::key(app, key),
        Some(Overlay::Pick(_)) => return picks::key(app, key),
        Some(Overlay::ConfirmCancel { runs, .. }) => {
            let runs = runs.clone();
            match (key.code, key.ctrl) {
                (KeyCode::Char('y'), false) | (KeyCode::Enter, _) => {
                    app.overlay = None;
                    for run in runs {
                        app.ask(Effect::Cancel(run));
                    }
                    bulk::drop_waiting(app);
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
        None => {}
    }
    app.chord.push(key);
    match app.ui.keymap.find(&app.chord, app.focus) {
        Found::Entry(entry) => {
            app.chord.clear();
            act(app, entry);
        }
        // the footer says what was typed so far
        Found::More => {}
        Found::Nothing => {
            let typed = std::mem::take(&mut app.chord);
            if typed.len() > 1 && key.code != KeyCode::Esc {
                app.complain(format!("`{}` means nothing here", written(&typed)));
            }
        }
    }
}

/// Does what an entry says, or says why not.
pub fn act(app: &mut App, entry: &Entry) {
    match (entry.possible)(app) {
        Ok(()) => perform(app, entry.action),
        Err(reason) => app.refuse(reason),
    }
}

fn perform(app: &mut App, action: Action) {
    let stopped = log_scans::stop(app);
    match action {
        // what was on its way stays where it is
        Action::Back if stopped => {}
        Action::Quit if bulk::holds_back(app) => {}
        Action::Quit => app.ask(Effect::Quit),
        Action::Suspend => app.ask(Effect::Suspend),
        Action::Redraw => app.ask(Effect::Repaint),
        Action::Help => app.overlay = Some(Overlay::Help(Help::default())),
        Action::Palette => app.overlay = Some(Overlay::Palette(Box::new(Palette::new(app)))),
        Action::Copy => copy::copy(app),
        Action::Narrower => resize(app, Way::Narrower),
        Action::Wider => resize(app, Way::Wider),
        Action::Lower => resize(app, Way::Lower),
        Action::Higher => resize(app, Way::Higher),
        Action::EvenSizes => app.sizes[app.layout as usize] = layout::Sizes::default(),
        Action::NextTheme => next_theme(app),
        Action::Engine => next_engine(app),
        Action::Mouse => {
            app.mouse = !app.mouse;
            app.mouse_chosen = true;
            app.say(if app.mouse {
                "the mouse selects and scrolls here; with shift the terminal has it"
            } else {
                "the mouse is the terminal's"
            });
        }
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
        | Action::Bottom => scroll::vertical(app, app.focus, action),
        Action::Left => scroll::horizontal(app, false),
        Action::Right => scroll::horizontal(app, true),
        Action::Find => prompts::open(
            app,
            match app.focus {
                PaneKind::Gpu => PromptFor::GpuFilter,
                PaneKind::Tasks | PaneKind::Acceptance | PaneKind::Claims | PaneKind::Cell => {
                    PromptFor::TasksFilter
                }
                PaneKind::Cases => PromptFor::CasesFilter,
                PaneKind::Log => PromptFor::LogSearch,
                PaneKind::Diff => PromptFor::DiffSearch,
            },
        ),
        Action::Open => open(app),
        Action::NextSubmission => go::submission(app, true),
        Action::PrevSubmission => go::submission(app, false),
        Action::Mark => {
            app.tree.mark_here();
            retarget(app);
        }
        Action::MarkAll => app.tree.mark_all(),
        Action::TasksOrder => {
            app.tree.order = app.tree.order.next();
            tasks::state::rebuild(app);
            retarget(app);
        }
        Action::TasksStatus => go::next_status(app),
        Action::Grade if bulk::meant(app) => bulk::grade(app),
        Action::Grade => grade(app, None),
        Action::GradeGold => grade(app, Some(Source::Gold)),
        Action::RunAgent => agents::open(app),
        Action::Cancel if bulk::can_cancel(app) => bulk::cancel(app),
        Action::Cancel => cancel(app),
        Action::RerunCase => {
            let only = app.cases.selected_row().map(|row| row.id.clone());
            rerun(app, only.into_iter().collect());
        }
        Action::RerunFailing if bulk::meant(app) => bulk::rerun_failing(app),
        Action::RerunFailing => {
            let failing = app.cases.all.iter().filter(|row| row.not_passed());
            let only = failing.map(|row| row.id.clone()).collect();
            rerun(app, only);
        }
        Action::RerunShown => {
            let shown = app.cases.shown.iter();
            let rows = shown.filter_map(|at| app.cases.all.get(*at));
            let only = rows.map(|row| row.id.clone()).collect();
            rerun(app, only);
        }
        Action::LogSource
        | Action::Follow
        | Action::NextMatch
        | Action::PrevMatch
        | Action::NextError
        | Action::PrevError
        | Action::NextWarning
        | Action::PrevWarning
        | Action::UnfoldAll
        | Action::WrapLines
        | Action::RawLog
        | Action::OnlyMatching
        | Action::HideMatching
        | Action::ToTime
        | Action::Tie
        | Action::EarlierLog
        | Action::SaveLog => log_keys::perform(app, action),
        Action::DiffView
        | Action::DiffAgainst
        | Action::DiffChoose
        | Action::DiffBy
        | Action::DiffSpace
        | Action::DiffEndings
        | Action::DiffLarge
        | Action::NextHunk
        | Action::PrevHunk
        | Action::NextFile
        | Action::PrevFile
        | Action::Unfold
        | Action::MoreContext
        | Action::LessContext
        | Action::ToFrame
        | Action::Note
        | Action::Notes => diffs::perform(app, action),
        Action::OnlyRejected
        | Action::OnlyChanged
        | Action::OnlyAlike
        | Action::CasesOrder
        | Action::SuiteFilter => filters::perform(app, action),
        Action::Heat => heat::toggle(app),
        Action::NextFailing | Action::PrevFailing if app.cases.heat.open => {
            if !app.cases.heat.step_failing(action == Action::NextFailing) {
                app.complain("no more cases that way that gold passes and this fails");
            }
        }
        Action::NextFailing | Action::PrevFailing => {
            app.cases.moved = true;
            let source = app.target.source.as_ref();
            let open = app.open.as_ref();
            let shown = open.map(|run| cases::state::shown_subject(run, source));
            let shown = shown.unwrap_or(Subject::Submission);
            if app.cases.step_failing(action == Action::NextFailing, shown) {
                load_why(app);
            } else if shown == Subject::Gold {
                app.complain("no more cases that way that gold fails");
            } else {
                app.complain("no more cases that way that gold passes and this fails");
            }
        }
        Action::NextFrame | Action::PrevFrame if app.focus == PaneKind::Cell => {
            author::perform(app, action);
        }
        Action::NextFrame | Action::PrevFrame => {
            if let Some(why) = &mut app.cases.why
                && why.step_frame(action == Action::NextFrame)
            {
                load_excerpt(app);
            }
        }
        Action::ToDiff if app.cases.heat.open => heat::go(app),
        Action::ToDiff => diffs::to_diff(app),
        Action::Why => app.cases.why_open = !app.cases.why_open,
        Action::ToCell => focus(app, PaneKind::Cell),
        Action::ToMatrix => {
            if app.focus == PaneKind::Claims {
                author::follow_item(app);
            }
            focus(app, PaneKind::Acceptance);
        }
        Action::GpuOpen | Action::GpuSort | Action::GpuSpan => gpus::perform(app, action),
        Action::Shell => shells::open(app),
        Action::TellShell => shells::tell(app),
        Action::Verify
        | Action::VerifyCell
        | Action::VerifyRow
        | Action::OnlyBroken
        | Action::NextBroken
        | Action::PrevBroken
        | Action::NextCase
        | Action::PrevCase
        | Action::EditProbe
        | Action::EditPatch => author::perform(app, action),
    }
}

fn resize(app: &mut App, way: Way) {
    let (area, wish) = (app.area(), app.wish());
    let sizes = &mut app.sizes[app.layout as usize];
    if !layout::resize(area, wish, way, sizes) {
        app.complain("nothing beside it can give way");
    }
}

fn next_engine(app: &mut App) {
    app.engine = app.engine.next();
    app.say(match app.engine {
        EngineChoice::Auto => "new runs: docker where it answers and has the image, else local",
        EngineChoice::Docker => "new runs: docker, and a fault where it does not answer",
        EngineChoice::Local => "new runs: local, without a daemon",
    });
}

fn next_theme(app: &mut App) {
    let ui = &mut app.ui;
    let at = ui.themes.iter().position(|t| t.name == ui.theme.name);
    let next = at.map_or(0, |at| at + 1) % ui.themes.len().max(1);
    let Some(theme) = ui.themes.get(next).cloned() else {
        return;
    };
    app.say(format!("theme: {}", crate::tui::text::clean(&theme.name)));
    app.ui.theme = theme;
    app.theme_chosen = true;
}
