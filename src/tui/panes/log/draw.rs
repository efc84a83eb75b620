//! The visible rows of the shown log.

use ratatui::text::{Line, Span};

use crate::agent::trace::Entry;
use crate::domain::Source;
use crate::tui::action::Action;
use crate::tui::layout::{PaneKind, split_bottom};
use crate::tui::theme::Role;
use crate::tui::widgets::{Canvas, figures};

use super::rows::{self, Row};
use super::{line, scroll, status, title};

pub fn draw(canvas: &mut Canvas<'_>) {
    let title = title::title(canvas);
    let below = title::below(canvas);
    draw_log(&mut canvas.pane(PaneKind::Log, title));
    let last = canvas.height().saturating_sub(1);
    if last > 1 {
        canvas.put_at(last, 2, &below);
    }
}

fn draw_log(whole: &mut Canvas<'_>) {
    let app = whole.app;
    let log = &app.log;
    let below = status::height(app, whole.width(), whole.height());
    let (area, foot) = split_bottom(whole.area, below as u16);
    if below > 0 {
        status::draw(&mut whole.part(foot));
    }
    let mut inner = whole.part(area);
    if let Some(error) = &log.error {
        let width = inner.width().saturating_sub(2);
        let rows = inner.wrapped(Role::Bad, error, width, inner.height());
        for (at, line) in rows.iter().enumerate() {
            inner.put_at(at, 1, line);
        }
        return;
    }
    if log.entries.is_empty() {
        draw_empty(&mut inner);
        return;
    }
    if log.last().is_none() {
        let words = "no entry passes the filter";
        let hint = Line::from(inner.key_hint(Action::Back, "takes it away"));
        let rows = [Line::from(inner.dim(words)), hint];
        inner.empty(&rows);
        return;
    }
    let width = rows::text_width(&log.entries, inner.width());
    let gutter = rows::gutter(&log.entries);
    let seen = scroll::visible(log, width, inner.height());
    let mut built: Option<(usize, Vec<Row<'_>>)> = None;
    for (at, (index, row)) in seen.into_iter().enumerate() {
        let Some(entry) = log.entries.get(index) else {
            continue;
        };
        if built.as_ref().is_none_or(|(of, _)| *of != index) {
            let rows = rows::rows(entry, index, log.view(width), log.unfolded(index));
            built = Some((index, rows));
        }
        let Some(content) = built.as_ref().and_then(|(_, rows)| rows.get(row)) else {
            continue;
        };
        // the cursor stands on the line that was gone to, else on the entry's first
        let here = match log.look.hit.filter(|_| index == log.cursor) {
            Some(line) => content.line == line && (row == 0 || content.piece == 0),
            None => index == log.cursor && row == 0,
        };
        draw_gutter(&mut inner, (at, row), here, entry, gutter);
        let line = line::row(&inner, entry, index, content, width);
        inner.put_at(at, gutter, &line);
        let hit = log.look.hits.binary_search_by_key(&index, |hit| hit.0);
        if hit.is_ok() && row == 0 {
            let style = inner.style(Role::Match);
            let mark = Line::from(Span::styled(" ", style));
            inner.put_at(at, gutter.saturating_sub(1), &mark);
        }
    }
}

fn draw_empty(canvas: &mut Canvas<'_>) {
    let app = canvas.app;
    let mut rows = Vec::new();
    match (app.log.source(), &app.target.source) {
        (Some(_), _) if app.log.reading => rows.push(Line::from(canvas.dim("reading…"))),
        (Some(_), _) => rows.push(Line::from(canvas.dim("nothing was written yet"))),
        (None, Some(Source::Submission { .. })) => {
            rows.push(Line::from(
                canvas.dim("the submission brought no agent log"),
            ));
            rows.push(Line::from(
                canvas.key_hint(Action::Grade, "grades it, and the worker talks here"),
            ));
        }
        (None, Some(_)) => {
            rows.push(Line::from(canvas.dim("no run yet")));
            rows.push(Line::from(
                canvas.key_hint(Action::Grade, "grades it, and the worker talks here"),
            ));
        }
        (None, None) => {
            rows.push(Line::from(
                canvas.dim("select a submission to read its agent's log"),
            ));
            rows.push(Line::from(
                canvas.key_hint(Action::Pane(PaneKind::Tasks), "goes to the tasks"),
            ));
        }
    }
    canvas.empty(&rows);
}

fn draw_gutter(
    canvas: &mut Canvas<'_>,
    (at, row): (usize, usize),
    here: bool,
    entry: &Entry,
    gutter: usize,
) {
    let app = canvas.app;
    if gutter > 2
        && row == 0
        && let Some(at_s) = entry.at_s
    {
        let words = figures::clock(at_s, app.ui.utc_offset_s);
        let line = Line::from(canvas.dim(words));
        canvas.put_at(at, 1, &line);
    }
    if here && app.focus == PaneKind::Log {
        let line = Line::from(canvas.span(Role::Accent, app.ui.glyphs.cursor));
        canvas.put(at, &line);
    }
}
