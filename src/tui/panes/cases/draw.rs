//! The list of cases and, beside or below it, why the selected one ended as it did.

use ratatui::layout::Rect;
use ratatui::text::{Line, Span};

use crate::tui::action::Action;
use crate::tui::layout::{PaneKind, split_left, split_top};
use crate::tui::panes::words;
use crate::tui::state::App;
use crate::tui::text;
use crate::tui::theme::Role;
use crate::tui::widgets::{Canvas, figures};

use super::filter::turn_glyph;
use super::progress::{self, progress};
use super::state::{CaseRow, Mark, Turn};
use super::{heat_draw, title, why};

/// Where the list and the story stand inside a pane's border.
pub struct Areas {
    pub bar: Rect,
    pub list: Rect,
    pub why: Option<Rect>,
}

pub fn areas(app: &App, inner: Rect) -> Areas {
    let (bar, rest) = split_top(inner, u16::from(progress(app).is_some()));
    if app.cases.why_open {
        return Areas {
            bar,
            list: Rect::default(),
            why: Some(rest),
        };
    }
    if rest.width >= 96 && rest.height >= 6 {
        let (list, why) = split_left(rest, rest.width * 11 / 20);
        return Areas {
            bar,
            list,
            why: Some(why),
        };
    }
    if rest.height >= 16 && rest.width >= 40 {
        let (list, why) = split_top(rest, rest.height / 2);
        return Areas {
            bar,
            list,
            why: Some(why),
        };
    }
    Areas {
        bar,
        list: rest,
        why: None,
    }
}

pub fn draw(canvas: &mut Canvas<'_>) {
    let app = canvas.app;
    if app.cases.heat.open {
        let title = title::of_the_map(canvas);
        let mut inner = canvas.pane(PaneKind::Cases, title);
        return heat_draw::draw(&mut inner);
    }
    let title = title::title(canvas);
    let mut inner = canvas.pane(PaneKind::Cases, title);
    let areas = areas(app, inner.area);
    if let Some(known) = progress(app) {
        progress::draw(&mut inner.part(areas.bar), &known);
    }
    if app.cases.all.is_empty() {
        draw_empty(&mut inner);
        return;
    }
    draw_list(&mut inner.part(areas.list));
    if let Some(rect) = areas.why {
        let beside = rect.x > areas.list.x && areas.list.width > 0;
        let below = rect.y > areas.list.y && areas.list.height > 0 && !beside;
        let mut part = inner.part(rect);
        why::draw(&mut part, beside, below);
    }
}

fn draw_empty(canvas: &mut Canvas<'_>) {
    let app = canvas.app;
    let mut rows = Vec::new();
    // beside a message stand a word before it and one after it
    let room = canvas.height().saturating_sub(2).max(1);
    match (&app.open, &app.target.source) {
        (Some(run), _) if run.error.is_some() => {
            let words = run.error.clone().unwrap_or_default();
            rows.extend(canvas.block(Role::Bad, &words, canvas.height()));
        }
        (Some(run), _) if run.status.live() => {
            let stage = run
                .state
                .stage
                .map_or("starting", |(stage, _)| stage.name());
            if let Some(why) = &run.state.waiting {
                let words = format!("{} waits for GPUs: {why}", app.ui.glyphs.waiting);
                rows.extend(canvas.block(Role::Dim, &words, room));
            } else {
                rows.push(Line::from(canvas.span(
                    Role::Running,
                    format!("{} {stage}", app.ui.glyphs.running),
                )));
            }
            rows.push(Line::from(canvas.dim("cases appear as they are collected")));
            if let Some(line) = run.state.log.last() {
                let room = canvas.width().saturating_sub(4);
                let said = text::cut(line.text.trim(), room, app.ui.glyphs.ellipsis);
                rows.push(Line::from(canvas.dim(said)));
            }
        }
        (Some(run), _) if run.loaded => {
            rows.push(Line::from(canvas.dim("this run has no cases")));
            if let Some(fault) = &run.state.fault {
                rows.extend(canvas.block(Role::Fault, fault, room));
            } else if let Some(cause) = run.state.grade.as_ref().and_then(|g| g.cause) {
                let words = format!("cause: {}", cause.name());
                rows.push(Line::from(canvas.span(Role::Rejected, words)));
            }
            rows.push(Line::from(
                canvas.key_hint(Action::Pane(PaneKind::Log), "shows what was said"),
            ));
        }
        (Some(_), _) => rows.push(Line::from(canvas.dim("reading the run…"))),
        (None, Some(_)) => {
            rows.push(Line::from(canvas.dim("not graded yet")));
            rows.push(Line::from(canvas.key_hint(
                Action::Grade,
                "grades it: official tests, then probes, beside gold",
            )));
        }
        (None, None) => {
            rows.push(Line::from(canvas.dim("select a submission, gold or base")));
            rows.push(Line::from(
                canvas.key_hint(Action::Pane(PaneKind::Tasks), "goes to the tasks"),
            ));
        }
    }
    canvas.empty(&rows);
}

fn draw_list(canvas: &mut Canvas<'_>) {
    let app = canvas.app;
    if app.cases.shown.is_empty() {
        let rows = [
            Line::from(canvas.dim("no case passes the filter")),
            Line::from(canvas.key_hint(Action::Back, "clears it")),
        ];
        canvas.empty(&rows);
        return;
    }
    let claim_width = app
        .cases
        .all
        .iter()
        .filter_map(|row| row.claim.as_ref())
        .map(|claim| text::width(claim))
        .max()
        .unwrap_or(0)
        .min(8);
    let rows = app.cases.shown.iter().enumerate().skip(app.cases.offset);
    for (at, (index, case)) in rows.take(canvas.height()).enumerate() {
        let Some(row) = app.cases.all.get(*case) else {
            continue;
        };
        draw_case(canvas, at, row, claim_width);
        if index == app.cases.selected {
            let role = if app.focus == PaneKind::Cases {
                Role::Selection
            } else {
                Role::SelectionIdle
            };
            let style = canvas.style(role);
            canvas.paint(at, style);
        }
    }
}

fn draw_case(canvas: &mut Canvas<'_>, at: usize, row: &CaseRow, claim_width: usize) {
    let app = canvas.app;
    let mut left = vec![
        canvas.dim(format!(" {} ", words::suite(row.suite))),
        words::glyph(app, row.gold),
        Span::raw(" "),
        words::glyph(app, row.this),
        Span::raw(" "),
    ];
    if app.rerun.is_some() && row.rerun != Mark::Unknown {
        left.push(canvas.dim(if app.ui.glyphs.unicode { "↻" } else { "@" }));
        left.push(words::glyph(app, row.rerun));
        left.push(Span::raw(" "));
    }
    if let Some(turn) = row.turn() {
        let role = match turn {
            Turn::Fixed => Role::Passed,
            Turn::Broke => Role::Failed,
            Turn::Otherwise => Role::Error,
        };
        left.push(canvas.span(role, format!("{} ", turn_glyph(app, turn))));
    }
    let time = match (row.duration_s, row.running_since_s) {
        (_, Some(since)) => figures::duration(app.now_s - since),
        (Some(seconds), None) => figures::duration(seconds),
        (None, None) => app.ui.glyphs.dash.into(),
    };
    let claim = row.claim.as_deref().unwrap_or("");
    let claim = text::fit(claim, claim_width, app.ui.glyphs.ellipsis);
    let right = Line::from(vec![
        Span::raw(" "),
        canvas.span(Role::Accent, claim),
        canvas.dim(format!(" {time:>6} ")),
    ]);
    let used = Line::from(left.clone()).width();
    let room = canvas.width().saturating_sub(used + right.width());
    let (name, file) = split_id(row.id.as_str());
    let name = cut_name(name, room, app.ui.glyphs.ellipsis);
    let mut spare = room.saturating_sub(text::width(&name) + 2);
    let role = if row.rejected() {
        Role::Strong
    } else {
        Role::Text
    };
    left.push(canvas.span(role, name));
    // on all ranks is what the glyph says
    if let Some((failed, of)) = row.ranks.filter(|(failed, of)| (1..*of).contains(failed)) {
        let words = format!("  {failed}/{of} ranks");
        if words.len() <= spare {
            spare -= words.len();
            left.push(canvas.span(Role::Notice, words));
        }
    }
    if spare > 8 {
        let file = text::cut_start(file, spare, app.ui.glyphs.ellipsis);
        left.push(canvas.dim(format!("  {file}")));
    }
    canvas.put(at, &Line::from(left));
    canvas.put_right(at, &right);
}

/// A test's name in so many columns; its parameters tell siblings apart and are kept.
pub fn cut_name(name: &str, room: usize, ellipsis: &str) -> String {
    if text::width(&text::clean(name)) > room
        && let Some(at) = name.find('[')
    {
        let (function, parameters) = name.split_at(at);
        let wide = text::width(&text::clean(parameters));
        if wide * 2 <= room {
            return text::cut(function, room - wide, ellipsis) + &text::clean(parameters);
        }
    }
    text::cut(name, room, ellipsis)
}

/// The test's name, and the file it stands in.
pub fn split_id(id: &str) -> (&str, &str) {
    match id.split_once("::") {
        Some((file, name)) => (name, file),
        None => (id, ""),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_survive_a_cut() {
        assert_eq!(
            cut_name("test_mean_not_sum[2-6]", 16, "…"),
            "test_mean_…[2-6]"
        );
        assert_eq!(cut_name("test_mean_not_sum", 8, "…"), "test_me…");
        assert_eq!(
            cut_name("test[a very long parameter]", 12, "…"),
            "test[a very…"
        );
    }
}
