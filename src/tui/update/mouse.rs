//! Clicks and the wheel: a click focuses a pane and selects a row, or does what a hint says; the
//! wheel scrolls what the pointer is over.

use ratatui::layout::{Position, Rect};

use crate::tui::action::Action;
use crate::tui::hints::{self, Bar};
use crate::tui::layout::PaneKind;
use crate::tui::overlays::Overlay;
use crate::tui::panes::acceptance::geometry::Geometry;
use crate::tui::panes::cases::heat_draw::Grid;
use crate::tui::panes::{cases, claims, gpu, log as log_pane, tasks};
use crate::tui::state::App;

use super::target::{load_why, retarget};
use super::{author, go, gpus, help, keys, log_scans, palette, scroll};

pub fn click(app: &mut App, column: u16, row: u16) {
    app.last_key_s = app.now_s;
    app.toast = None;
    app.chord.clear();
    app.dirty = true;
    match &app.overlay {
        Some(Overlay::Palette(_)) => return palette::click(app, column, row),
        // what asks is answered by keys: a slip of the hand decides nothing
        Some(_) => return,
        None => {}
    }
    let plan = app.plan();
    let at = Position::new(column, row);
    for (bar, rect) in [
        (Bar::Footer, plan.footer),
        (Bar::Header, plan.tabs.unwrap_or(plan.header)),
    ] {
        if rect.contains(at) {
            let column = usize::from(column - rect.x);
            if let Some(entry) = hints::at(app, bar, rect, column) {
                keys::act(app, entry);
            }
            return;
        }
    }
    let Some((pane, rect)) = plan.panes.iter().find(|(_, rect)| rect.contains(at)) else {
        return;
    };
    let (pane, rect) = (*pane, *rect);
    let focused = app.focus == pane;
    go::focus(app, pane);
    // what stands inside may look otherwise with the focus: rows are those that were seen
    let inner = scroll::block(rect);
    if inner.contains(at) {
        select(app, pane, inner, row, focused);
    }
}

/// Selects the row under the pointer; once more on the selected one opens it.
fn select(app: &mut App, pane: PaneKind, inner: Rect, row: u16, focused: bool) {
    let below = usize::from(row - inner.y);
    match pane {
        PaneKind::Tasks => {
            let at = app.tree.offset + below;
            if below >= tasks::draw::tree_rows(app, inner.height.into())
                || at >= app.tree.rows.len()
            {
                return;
            }
            if focused && app.tree.selected == at {
                return go::open(app);
            }
            app.tree.selected = at;
            retarget(app);
        }
        PaneKind::Cases if app.cases.heat.open => {
            let grid = Grid::of(app, inner);
            let at = app.cases.heat.top + below.saturating_sub(grid.head);
            if (grid.head..grid.head + grid.rows).contains(&below) && at < app.cases.heat.rows.len()
            {
                app.cases.heat.row = at;
            }
        }
        PaneKind::Cases => {
            let list = cases::draw::areas(app, inner).list;
            let at = app.cases.offset + usize::from(row.saturating_sub(list.y));
            if row >= list.y && row < list.bottom() && at < app.cases.shown.len() {
                app.cases.selected = at;
                app.cases.moved = true;
                load_why(app);
            }
        }
        PaneKind::Log => {
            let (width, page) = scroll::inner(app, PaneKind::Log);
            let width = log_pane::rows::text_width(&app.log.entries, width);
            let seen = log_pane::scroll::visible(&app.log, width, page);
            if let Some((entry, _)) = seen.get(below) {
                let entry = *entry;
                log_scans::stop(app);
                app.log.cursor = entry;
                app.log.look.hit = None;
            }
        }
        PaneKind::Acceptance => {
            let g = Geometry::of(app, inner);
            let above = usize::from(g.bar) + g.head();
            let Some(place) = below.checked_sub(above).filter(|place| *place < g.rows) else {
                return;
            };
            let at = app.acceptance.top + place;
            if at < app.acceptance.shown.len() {
                app.acceptance.row = at;
                author::load_cell(app);
            }
        }
        PaneKind::Claims => {
            if let Some(item) = claims::draw::item_at(app, inner, below) {
                app.claims.selected = item;
            }
        }
        PaneKind::Gpu => {
            let Some(item) = gpu::draw::item_at(app, inner, below) else {
                return;
            };
            if focused && app.gpu.item() == Some(item) {
                return gpus::open(app);
            }
            if let Some(at) = app.gpu.items().iter().position(|of| *of == item) {
                app.gpu.select(at);
            }
        }
        PaneKind::Diff | PaneKind::Cell => {}
    }
}

pub fn wheel(app: &mut App, column: u16, row: u16, steps: i16) {
    app.last_key_s = app.now_s;
    match &app.overlay {
        Some(Overlay::Palette(_)) => return palette::wheel(app, steps),
        Some(Overlay::Help(_)) => return help::wheel(app, steps),
        Some(_) => return,
        None => {}
    }
    let at = Position::new(column, row);
    let plan = app.plan();
    let Some((pane, _)) = plan.panes.iter().find(|(_, rect)| rect.contains(at)) else {
        return;
    };
    let action = if steps < 0 { Action::Up } else { Action::Down };
    // a list goes row by row, a text three rows a notch
    let rows = match pane {
        PaneKind::Log | PaneKind::Diff | PaneKind::Cell => 3,
        _ => 1,
    };
    let rows = u32::from(steps.unsigned_abs()) * rows;
    for _ in 0..rows.min(200) {
        scroll::vertical(app, *pane, action);
    }
    app.dirty = true;
}
