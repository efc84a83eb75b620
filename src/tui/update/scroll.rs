//! Movement: each pane moves its own cursor; positions in a log are anchors, not offsets.

use crate::tui::action::Action;
use crate::tui::layout::PaneKind;
use ratatui::layout::Rect;

use crate::tui::panes::acceptance::geometry::Geometry;
use crate::tui::panes::cases::heat_draw::Grid;
use crate::tui::panes::log as log_pane;
use crate::tui::panes::{cases, cell, claims, tasks};
use crate::tui::state::App;

use super::target::{load_why, retarget};
use super::{author, diffs};

/// Rows that a pane shows inside its border.
pub fn page(app: &App, pane: PaneKind) -> usize {
    inner(app, pane).1
}

/// What stands inside a pane's border.
pub fn block(rect: Rect) -> Rect {
    Rect {
        x: rect.x.saturating_add(1),
        y: rect.y.saturating_add(1),
        width: rect.width.saturating_sub(2),
        height: rect.height.saturating_sub(2),
    }
}

/// Columns and rows of a pane's own lines.
pub fn inner(app: &App, pane: PaneKind) -> (usize, usize) {
    let block = block(app.plan().of(pane));
    let (width, height) = (usize::from(block.width), usize::from(block.height));
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

pub fn vertical(app: &mut App, pane: PaneKind, action: Action) {
    let page = page(app, pane);
    match pane {
        PaneKind::Tasks => {
            app.tree.selected = step(action, app.tree.selected, app.tree.rows.len(), page);
            app.cases.wanted = None;
            retarget(app);
        }
        PaneKind::Cases if app.cases.heat.open => {
            let heat = &mut app.cases.heat;
            heat.row = step(action, heat.row, heat.rows.len(), page.div_ceil(2));
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
            app.cases.wanted = None;
            load_why(app);
        }
        PaneKind::Log => log(app, action),
        PaneKind::Diff => app.diff.scroll(action),
        PaneKind::Gpu => {
            let items = app.gpu.items().len();
            let to = step(action, app.gpu.selected, items, page.div_ceil(2));
            app.gpu.select(to);
        }
        PaneKind::Acceptance => {
            let rows = app.acceptance.shown.len();
            app.acceptance.row = step(action, app.acceptance.row, rows, page.div_ceil(2));
            author::load_cell(app);
        }
        PaneKind::Claims => {
            let count = claims::state::items(app).len();
            app.claims.selected = step(action, app.claims.selected, count, page.div_ceil(2));
        }
        PaneKind::Cell => {
            let rows = cell::draw::story_rows(app);
            app.cell.scroll = step(action, app.cell.scroll, rows, page.div_ceil(2));
        }
    }
}

/// Keeps the selected rows of lists in sight.
pub fn settle(app: &mut App) {
    let plan = app.plan();
    for (kind, rect) in &plan.panes {
        let block = block(*rect);
        match kind {
            PaneKind::Tasks => {
                let rows = tasks::draw::tree_rows(app, usize::from(block.height));
                app.tree.offset = into_view(app.tree.offset, app.tree.selected, rows);
            }
            PaneKind::Cases if app.cases.heat.open => {
                let grid = Grid::of(app, block);
                let heat = &mut app.cases.heat;
                heat.top = into_view(heat.top, heat.row, grid.rows);
                heat.top = heat.top.min(heat.rows.len().saturating_sub(grid.rows));
                heat.left = into_view(heat.left, heat.column, grid.columns);
                let most = heat.columns.len().saturating_sub(grid.columns);
                heat.left = heat.left.min(most);
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
            PaneKind::Diff => diffs::settle(app, block),
            PaneKind::Acceptance => {
                let g = Geometry::of(app, block);
                let matrix = &mut app.acceptance;
                matrix.top = into_view(matrix.top, matrix.row, g.rows);
                // the official suite always stands at the end
                let functions = matrix.matrix.as_ref().map_or(0, |m| m.columns.len());
                let column = matrix.column.min(functions.saturating_sub(1));
                matrix.left = into_view(matrix.left, column, g.columns);
                matrix.left = matrix.left.min(functions.saturating_sub(g.columns));
            }
            PaneKind::Claims => claims::draw::settle(app, block),
            PaneKind::Cell => cell::draw::settle(app, block),
            _ => {}
        }
    }
}

/// The first row of a list of `rows` that shows the selected one, moved as little as may be.
pub fn into_view(offset: usize, selected: usize, rows: usize) -> usize {
    offset
        .min(selected)
        .max((selected + 1).saturating_sub(rows.max(1)))
}

fn log(app: &mut App, action: Action) {
    if super::logs::leave_part(app, action) {
        return;
    }
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
        PaneKind::Log if app.log.wrap => {
            app.refuse("long lines are wrapped: {wrap} cuts them at the edge");
        }
        PaneKind::Log => app.log.skip = shift(app.log.skip),
        PaneKind::Diff => app.diff.skip = shift(app.diff.skip),
        PaneKind::Cases if app.cases.heat.open => app.cases.heat.step_column(right),
        PaneKind::Cases => {
            if let Some(why) = &mut app.cases.why {
                why.skip = shift(why.skip);
            }
        }
        PaneKind::Gpu | PaneKind::Claims => {}
        PaneKind::Acceptance => {
            app.acceptance.step_column(right);
            author::load_cell(app);
        }
        PaneKind::Cell => app.cell.skip = shift(app.cell.skip),
    }
}
