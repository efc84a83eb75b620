//! Movement: each pane moves its own cursor; positions in a log are anchors, not offsets.

use crate::tui::action::Action;
use crate::tui::layout::PaneKind;
use ratatui::layout::Rect;

use crate::tui::panes::log as log_pane;
use crate::tui::panes::{cases, tasks};
use crate::tui::state::App;

use super::target::{load_why, retarget};

/// Rows that a pane shows inside its border.
pub fn page(app: &App, pane: PaneKind) -> usize {
    inner(app, pane).1
}

fn inner(app: &App, pane: PaneKind) -> (usize, usize) {
    let plan = app.plan();
    let rect = plan
        .panes
        .iter()
        .find(|(kind, _)| *kind == pane)
        .map(|(_, rect)| *rect)
        .unwrap_or_default();
    let width = usize::from(rect.width.saturating_sub(2));
    let height = usize::from(rect.height.saturating_sub(2));
    let below = match pane {
        PaneKind::Log => log_pane::status::height(app, width, height),
        _ => 0,
    };
    (width, height - below)
}

/// How far a movement goes in a list of `len` from `at`.
fn step(action: Action, at: usize, len: usize, page: usize) -> usize {
    let last = len.saturating_sub(1);
    match action {
        Action::Up => at.saturating_sub(1),
        Action::Down => (at + 1).min(last),
        Action::PageUp => at.saturating_sub(page.max(2) - 1),
        Action::PageDown => (at + page.max(2) - 1).min(last),
        Action::Top => 0,
        Action::Bottom => last,
        _ => at,
    }
}

pub fn vertical(app: &mut App, action: Action) {
    let page = page(app, app.focus);
    match app.focus {
        PaneKind::Tasks => {
            app.tree.selected = step(action, app.tree.selected, app.tree.rows.len(), page);
            retarget(app);
        }
        PaneKind::Cases if app.cases.why_open => {
            if let Some(why) = &mut app.cases.why {
                // the last row is known when it is drawn
                why.scroll = step(action, why.scroll, why.height.max(1), page);
            }
        }
        PaneKind::Cases => {
            app.cases.selected = step(action, app.cases.selected, app.cases.shown.len(), page);
            app.cases.moved = true;
            load_why(app);
        }
        PaneKind::Log => log(app, action),
        PaneKind::Diff => app.diff.scroll(action, page),
        PaneKind::Gpu => {
            let rows = app.gpu.view.as_ref().map_or(0, |view| view.gpus.len());
            app.gpu.offset = step(action, app.gpu.offset, rows, page);
        }
    }
}

/// Keeps the selected rows of lists in sight.
pub fn settle(app: &mut App) {
    let plan = app.plan();
    for (kind, rect) in &plan.panes {
        let block = Rect {
            x: rect.x.saturating_add(1),
            y: rect.y.saturating_add(1),
            width: rect.width.saturating_sub(2),
            height: rect.height.saturating_sub(2),
        };
        match kind {
            PaneKind::Tasks => {
                let rows = tasks::draw::tree_rows(app, usize::from(block.height));
                app.tree.offset = into_view(app.tree.offset, app.tree.selected, rows);
            }
            PaneKind::Cases => {
                let list = cases::draw::areas(app, block).list;
                let rows = usize::from(list.height);
                let live = app.open.as_ref().is_some_and(|run| run.status.live());
                let target = match app.cases.active() {
                    // what runs now is kept in sight until the reader moves
                    Some(active) if live && !app.cases.moved => active,
                    _ => app.cases.selected,
                };
                app.cases.offset = into_view(app.cases.offset, target, rows);
            }
            PaneKind::Diff => app.diff.fit(usize::from(block.width)),
            _ => {}
        }
    }
}

/// The first row of a list of `rows` that shows the selected one, moved as little as may be.
fn into_view(offset: usize, selected: usize, rows: usize) -> usize {
    offset
        .min(selected)
        .max((selected + 1).saturating_sub(rows.max(1)))
}

fn log(app: &mut App, action: Action) {
    let (width, page) = inner(app, PaneKind::Log);
    log_pane::scroll::scroll(&mut app.log, action, width, page);
}

pub fn horizontal(app: &mut App, right: bool) {
    let shift = |skip: usize| {
        if right {
            (skip + 8).min(100_000)
        } else {
            skip.saturating_sub(8)
        }
    };
    match app.focus {
        PaneKind::Tasks => {
            if app.tree.toggle(Some(right)) {
                tasks::state::rebuild(app);
            } else if !right {
                app.tree.to_parent();
            }
            retarget(app);
        }
        PaneKind::Log => app.log.skip = shift(app.log.skip),
        PaneKind::Diff => app.diff.skip = shift(app.diff.skip),
        PaneKind::Cases => {
            if let Some(why) = &mut app.cases.why {
                why.skip = shift(why.skip);
            }
        }
        PaneKind::Gpu => {}
    }
}
