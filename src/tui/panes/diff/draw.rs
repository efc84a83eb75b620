//! The pane: which comparison, the list, the shown file; or why there is nothing to show.

use ratatui::text::Line;

use crate::domain::Source;
use crate::tui::action::Action;
use crate::tui::layout::PaneKind;
use crate::tui::text;
use crate::tui::theme::Role;
use crate::tui::widgets::{Canvas, Title};

use super::entries::By;
use super::geometry::areas;
use super::{files, rows};

pub fn draw(canvas: &mut Canvas<'_>) {
    let app = canvas.app;
    let title = title(canvas);
    let mut inner = canvas.pane(PaneKind::Diff, title);
    if app.diff.files.is_empty() || app.diff.error.is_some() {
        draw_empty(&mut inner);
        return;
    }
    let areas = areas(&app.diff, inner.area);
    if let Some(list) = areas.list {
        files::draw(&mut inner.part(list), areas.beside);
    }
    let mut body = inner.part(areas.file);
    let Some(shown) = &app.diff.file else {
        let line = Line::from(body.dim(" reading…"));
        body.put(0, &line);
        return;
    };
    rows::draw(&mut body, shown);
}

pub fn side_name(source: &Source) -> &'static str {
    match source {
        Source::Gold => "gold",
        Source::Base => "base",
        Source::Submission { .. } => "submission",
        Source::Patch { .. } => "patch",
        Source::Agent { .. } => "agent",
    }
}

fn title(canvas: &Canvas<'_>) -> Title {
    let app = canvas.app;
    let ellipsis = app.ui.glyphs.ellipsis;
    let Some(comparison) = &app.diff.comparison else {
        return Title::default();
    };
    let mut left = vec![canvas.span(Role::Title, "diff")];
    let name = |source: &Source| match source {
        Source::Gold | Source::Base => source.label(),
        other => text::cut(&other.label(), 20, ellipsis),
    };
    let against = format!(
        " · {} vs {}",
        name(&comparison.right),
        name(&comparison.left)
    );
    left.push(canvas.dim(against));
    // what is not as usual is said, before the path takes the room
    let mut ways = Vec::new();
    if comparison.by == By::Symbol {
        ways.push("by symbol");
    }
    if app.diff.options.ignore_space {
        ways.push("spaces aside");
    }
    if app.diff.options.ignore_line_endings {
        ways.push("line ends aside");
    }
    for way in ways {
        left.push(canvas.span(Role::Accent, format!(" · {way}")));
    }
    let mut right = Vec::new();
    if let Some(entry) = app.diff.entry() {
        let name = text::cut_start(entry.name(), canvas.width() / 3, ellipsis);
        left.push(canvas.dim(" · "));
        left.push(canvas.span(Role::Text, name));
        let (hunk, hunks) = app.diff.hunk();
        let files = app.diff.files.len();
        let what = if entry.part.is_some() {
            "parts"
        } else {
            "files"
        };
        let words = format!(
            "{}/{files} {what} · change {hunk}/{hunks}",
            app.diff.selected + 1
        );
        right.push(canvas.dim(words));
    }
    Title { left, right }
}

fn draw_empty(canvas: &mut Canvas<'_>) {
    let app = canvas.app;
    let mut rows = Vec::new();
    match &app.diff.comparison {
        None => {
            rows.push(Line::from(
                canvas.dim("select a submission to see it beside gold"),
            ));
            rows.push(Line::from(
                canvas.key_hint(Action::Pane(PaneKind::Tasks), "goes to the tasks"),
            ));
        }
        Some(_) if app.diff.error.is_some() => {
            let words = app.diff.error.clone().unwrap_or_default();
            rows.extend(canvas.block(Role::Bad, &words, canvas.height()));
        }
        Some(_) if app.diff.awaits => {
            rows.push(Line::from(canvas.dim("the agent is at work")));
            rows.push(Line::from(
                canvas.dim("what it changed is captured when it ends"),
            ));
        }
        Some(_) if app.diff.loading => rows.push(Line::from(canvas.dim("comparing…"))),
        Some(comparison) => {
            let words = format!(
                "{} is the same as {}",
                text::clean(&comparison.right.label()),
                side_name(&comparison.left)
            );
            rows.push(Line::from(canvas.dim(words)));
            rows.push(Line::from(
                canvas.key_hint(Action::DiffAgainst, "compares with base or gold"),
            ));
        }
    }
    canvas.empty(&rows);
}
