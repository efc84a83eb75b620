//! Keys in the palette, and what choosing does.

use crossterm::event::KeyCode;

use crate::tui::action::TABLE;
use crate::tui::effect::Effect;
use crate::tui::keymap::Key;
use crate::tui::layout::PaneKind;
use crate::tui::overlays::Overlay;
use crate::tui::overlays::palette::{Goal, draw::areas};
use crate::tui::overlays::prompt::{self, Typed};
use crate::tui::panes::tasks;
use crate::tui::state::App;

use super::target::retarget;
use super::{go, keys};

pub fn key(app: &mut App, key: Key) {
    let rows = rows(app);
    let Some(Overlay::Palette(palette)) = &mut app.overlay else {
        return;
    };
    let at = palette.selected;
    let page = rows.max(2) - 1;
    // letters are typed: what moves is no letter
    match (key.code, key.ctrl) {
        (KeyCode::Up | KeyCode::BackTab, _) | (KeyCode::Char('p'), true) => {
            palette.go_to(at.saturating_sub(1), rows);
        }
        (KeyCode::Down | KeyCode::Tab, _) | (KeyCode::Char('n'), true) => {
            palette.go_to(at + 1, rows);
        }
        (KeyCode::PageUp, _) => palette.go_to(at.saturating_sub(page), rows),
        (KeyCode::PageDown, _) => palette.go_to(at + page, rows),
        (KeyCode::Home, _) => palette.go_to(0, rows),
        (KeyCode::End, _) => palette.go_to(usize::MAX - 1, rows),
        (KeyCode::Char('z'), true) => app.ask(Effect::Suspend),
        // nothing is left to take away
        (KeyCode::Backspace, _) if palette.text.is_empty() => app.overlay = None,
        _ => match prompt::edit(&mut palette.text, key) {
            Typed::Changed => palette.filter(),
            Typed::Accept => choose(app),
            Typed::Abort => app.overlay = None,
            Typed::Nothing => {}
        },
    }
}

pub fn paste(app: &mut App, text: &str) {
    if let Some(Overlay::Palette(palette)) = &mut app.overlay {
        prompt::insert(&mut palette.text, text);
        palette.filter();
        app.dirty = true;
    }
}

fn rows(app: &App) -> usize {
    areas(app.area()).1.height.into()
}

/// The wheel over the list.
pub fn wheel(app: &mut App, steps: i16) {
    let rows = rows(app);
    if let Some(Overlay::Palette(palette)) = &mut app.overlay {
        let by = usize::from(steps.unsigned_abs());
        let to = if steps < 0 {
            palette.selected.saturating_sub(by)
        } else {
            palette.selected.saturating_add(by)
        };
        palette.go_to(to, rows);
        app.dirty = true;
    }
}

/// A click: on a row it chooses it, outside it closes.
pub fn click(app: &mut App, column: u16, row: u16) {
    let (rect, list) = areas(app.area());
    let at = ratatui::layout::Position::new(column, row);
    let Some(Overlay::Palette(palette)) = &mut app.overlay else {
        return;
    };
    if !rect.contains(at) {
        app.overlay = None;
    } else if list.contains(at) {
        let place = palette.top + usize::from(row - list.y);
        if place < palette.shown.len() {
            palette.go_to(place, list.height.into());
            choose(app);
        }
    }
}

fn choose(app: &mut App) {
    let Some(Overlay::Palette(palette)) = &app.overlay else {
        return;
    };
    let Some(item) = palette.item() else {
        return app.complain("nothing is called so");
    };
    if let Some(reason) = &item.refused {
        let reason = reason.clone();
        return app.complain(reason);
    }
    let goal = item.goal.clone();
    app.overlay = None;
    match goal {
        Goal::Action(at) => {
            if let Some(entry) = TABLE.get(at) {
                keys::act(app, entry);
            }
        }
        Goal::Task(task) => arrive(app, |app| tasks::state::select_task(app, &task)),
        Goal::Source(task, source) => {
            arrive(app, |app| tasks::state::select_source(app, &task, &source));
        }
        Goal::Run(run) => arrive(app, |app| tasks::state::select_run(app, &run)),
    }
}

/// Selects something in the tree; where the panes of this layout do not show what it is, the tree
/// itself has the focus.
fn arrive(app: &mut App, select: impl FnOnce(&mut App)) {
    select(app);
    retarget(app);
    if app.plan().tabs.is_some() && app.focus == PaneKind::Gpu {
        go::focus(app, PaneKind::Tasks);
    }
}
