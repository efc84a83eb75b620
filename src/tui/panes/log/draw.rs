//! The visible rows of the shown log.

use ratatui::style::Style;
use ratatui::text::{Line, Span};

use crate::agent::trace::{EditKind, Entry, Kind, Progress, Role as Who};
use crate::domain::{Level, Source, Usage};
use crate::tui::ansi;
use crate::tui::layout::{PaneKind, split_bottom};
use crate::tui::text;
use crate::tui::theme::Role;
use crate::tui::widgets::{Canvas, Title, figures};

use super::rows::{self, Row};
use super::scroll;
use super::state::LogSource;
use super::status;

pub fn draw(canvas: &mut Canvas<'_>) {
    let app = canvas.app;
    let log = &app.log;
    let title = title(canvas);
    let mut whole = canvas.pane(PaneKind::Log, title);
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
    let width = rows::text_width(&log.entries, inner.width());
    let gutter = rows::gutter(&log.entries);
    let seen = scroll::visible(log, width, inner.height());
    let mut built: Option<(usize, Vec<Row<'_>>)> = None;
    for (at, (index, row)) in seen.into_iter().enumerate() {
        let Some(entry) = log.entries.get(index) else {
            continue;
        };
        if built.as_ref().is_none_or(|(of, _)| *of != index) {
            let unfolded = log.unfolded.contains(&index);
            built = Some((index, rows::rows(entry, width, unfolded)));
        }
        let Some(content) = built.as_ref().and_then(|(_, rows)| rows.get(row)) else {
            continue;
        };
        if row == 0 {
            draw_gutter(&mut inner, at, index, entry, gutter);
        }
        let line = row_line(&inner, entry, content, width);
        inner.put_at(at, gutter, &line);
        if log.hits.binary_search(&index).is_ok() && row == 0 {
            let style = inner.style(Role::Match);
            let mark = Line::from(Span::styled(" ", style));
            inner.put_at(at, gutter.saturating_sub(1), &mark);
        }
    }
}

fn title(canvas: &Canvas<'_>) -> Title {
    let app = canvas.app;
    let log = &app.log;
    let mut left = Vec::new();
    if let Some(source) = log.source() {
        left.push(canvas.span(Role::Title, "log"));
        left.push(canvas.dim(format!(" · {}", source.label())));
        if let Some(source) = &app.target.source {
            left.push(canvas.dim(format!(" · {}", text::clean(&source.label()))));
        }
        let model = log.figures.as_ref().and_then(|f| f.model.as_ref());
        let asked = app.open.as_ref().and_then(|open| open.state.agent.as_ref());
        if let Some(model) = model.or(asked.and_then(|agent| agent.model.as_ref()))
            && matches!(log.source(), Some(LogSource::Agent(..)))
        {
            left.push(canvas.dim(format!(" · {}", text::clean(model))));
        }
    }
    let mut right = Vec::new();
    if !log.search.is_empty() {
        let shown = text::cut(&log.search, 20, app.ui.glyphs.ellipsis);
        right.push(canvas.span(Role::Notice, format!("/{shown} {} ", log.hits.len())));
    }
    if log.reading && log.behind {
        right.push(canvas.dim("reading "));
    }
    if log.cut {
        right.push(canvas.span(Role::Notice, "cut "));
    }
    if !log.entries.is_empty() {
        if log.follow {
            right.push(canvas.span(Role::Accent, "follow"));
        } else {
            let place = format!("{}/{}", log.cursor + 1, log.entries.len());
            right.push(canvas.dim(place));
            // what grows says that it is not followed any more
            if log.grows || !matches!(log.source(), Some(LogSource::Agent(..))) {
                right.push(canvas.span(Role::Notice, " paused, > follows"));
            }
        }
    }
    Title { left, right }
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
                canvas.hint("g", "grades it, and the worker talks here"),
            ));
        }
        (None, Some(_)) => {
            rows.push(Line::from(canvas.dim("no run yet")));
            rows.push(Line::from(
                canvas.hint("g", "grades it, and the worker talks here"),
            ));
        }
        (None, None) => {
            rows.push(Line::from(
                canvas.dim("select a submission to read its agent's log"),
            ));
            rows.push(Line::from(canvas.hint("t", "goes to the tasks")));
        }
    }
    canvas.empty(&rows);
}

fn draw_gutter(canvas: &mut Canvas<'_>, at: usize, index: usize, entry: &Entry, gutter: usize) {
    let app = canvas.app;
    if gutter > 2
        && let Some(at_s) = entry.at_s
    {
        let words = figures::clock(at_s, app.ui.utc_offset_s);
        let line = Line::from(canvas.dim(words));
        canvas.put_at(at, 1, &line);
    }
    if index == app.log.cursor && app.focus == PaneKind::Log {
        let line = Line::from(canvas.span(Role::Accent, app.ui.glyphs.cursor));
        canvas.put(at, &line);
    }
}

fn row_line(canvas: &Canvas<'_>, entry: &Entry, row: &Row<'_>, width: usize) -> Line<'static> {
    let app = canvas.app;
    let skip = app.log.skip;
    let hidden = canvas.style(Role::Hidden);
    match row {
        Row::Head(first) => head(canvas, entry, first, width),
        Row::Prose(text) => Line::from(Span::styled(text.clone(), prose_style(canvas, entry))),
        Row::Output(raw) => {
            let (base, indent) = match entry.kind {
                Kind::Raw { .. } => (canvas.style(Role::Text), 0),
                _ => (canvas.style(Role::Dim), 2),
            };
            let spans = ansi::spans(raw, skip + width, base, hidden, app.ui.depth);
            let mut line = text::window(spans, skip, width.saturating_sub(indent));
            line.spans.insert(0, Span::raw(" ".repeat(indent)));
            line
        }
        Row::Change(raw) => {
            let role = match raw.as_bytes().first() {
                Some(b'+') => Role::Add,
                Some(b'-') => Role::Del,
                _ => Role::Text,
            };
            let style = canvas.style(role);
            let spans = text::spans(raw, skip + width, hidden, |_| style);
            let mut line = text::window(spans, skip, width.saturating_sub(2));
            line.spans.insert(0, Span::raw("  "));
            line
        }
        Row::Folded(count) => {
            let lines = if *count == 1 { "line" } else { "lines" };
            Line::from(canvas.dim(format!("  [+ {count} {lines}]")))
        }
    }
}

fn prose_style(canvas: &Canvas<'_>, entry: &Entry) -> Style {
    match &entry.kind {
        Kind::Message {
            role: Who::Agent, ..
        } => canvas.style(Role::Text),
        Kind::Reasoning { .. } => canvas
            .style(Role::Dim)
            .add_modifier(ratatui::style::Modifier::ITALIC),
        Kind::Error { .. } => canvas.style(Role::Bad),
        Kind::Notice { level, .. } => canvas.style(match level {
            Level::Info => Role::Info,
            Level::Warn => Role::Warn,
            Level::Error => Role::Bad,
        }),
        Kind::Wait { .. } => canvas.style(Role::Warn),
        _ => canvas.style(Role::Dim),
    }
}

/// The first row: what was done on the left, how it ended on the right.
fn head(canvas: &Canvas<'_>, entry: &Entry, first: &str, width: usize) -> Line<'static> {
    let ellipsis = canvas.app.ui.glyphs.ellipsis;
    let mut right = Vec::new();
    let (sign, words, role) = match &entry.kind {
        Kind::Command {
            command,
            exit,
            progress,
            duration_s,
            ..
        } => {
            right.extend(ending(canvas, *progress, *exit));
            let so_far = || {
                let at_work = *progress == Progress::Running && status::at_work(canvas.app);
                entry
                    .at_s
                    .filter(|_| at_work)
                    .map(|at_s| canvas.app.now_s - at_s)
            };
            if let Some(seconds) = duration_s {
                right.push(canvas.dim(format!(" {:>6}", figures::duration(*seconds))));
            } else if let Some(seconds) = so_far() {
                right.push(canvas.dim(format!(" {:>6}", figures::whole(seconds))));
            }
            let more = command.lines().nth(1).is_some();
            let words = if more {
                format!("{first} {ellipsis}")
            } else {
                first.to_owned()
            };
            ("$ ", words, Role::Strong)
        }
        Kind::Edit {
            files, progress, ..
        } => {
            right.extend(ending(canvas, *progress, None));
            let words = files
                .iter()
                .map(|(kind, path)| {
                    let mark = match kind {
                        EditKind::Add => "A",
                        EditKind::Delete => "D",
                        EditKind::Update => "M",
                    };
                    format!("{mark} {path}")
                })
                .collect::<Vec<_>>()
                .join("  ");
            ("edit ", words, Role::Accent)
        }
        Kind::Tool { name, progress, .. } => {
            right.extend(ending(canvas, *progress, None));
            ("", format!("{name} {first}"), Role::Text)
        }
        Kind::Usage {
            usage,
            cost_usd,
            total,
        } => ("", usage_words(*usage, *cost_usd, *total), Role::Dim),
        _ => ("", first.to_owned(), Role::Text),
    };
    let right = Line::from(right);
    let room = width.saturating_sub(text::width(sign) + right.width() + 1);
    let words = text::fit(&words, room, ellipsis);
    let mut spans = vec![canvas.dim(sign), canvas.span(role, words), Span::raw(" ")];
    spans.extend(right.spans);
    Line::from(spans)
}

/// `✘ 1`: whether it ended well, and with which code.
fn ending(canvas: &Canvas<'_>, progress: Progress, exit: Option<i64>) -> Vec<Span<'static>> {
    let glyphs = &canvas.app.ui.glyphs;
    let (mark, role) = match (progress, glyphs.unicode) {
        (Progress::Done, true) => ("✔", Role::Passed),
        (Progress::Done, false) => ("+", Role::Passed),
        (Progress::Failed, true) => ("✘", Role::Failed),
        (Progress::Failed, false) => ("F", Role::Failed),
        (Progress::Running, _) if status::at_work(canvas.app) => (glyphs.running, Role::Running),
        // its end is not in the log
        (Progress::Running, _) => (glyphs.dash, Role::Dim),
    };
    let code = match exit {
        Some(0) | None => String::new(),
        Some(code) => format!(" {code}"),
    };
    vec![canvas.span(role, format!("{mark}{code}"))]
}

fn usage_words(usage: Usage, cost_usd: Option<f64>, total: bool) -> String {
    let input = usage.input + usage.cache_read + usage.cache_write;
    let cached = (usage.cache_read * 100)
        .checked_div(input)
        .map_or_else(String::new, |percent| format!(" (cached {percent} %)"));
    let mut words = format!(
        "tokens in {}{cached} out {}",
        figures::tokens(input),
        figures::tokens(usage.output)
    );
    if usage.reasoning > 0 {
        words = format!("{words} reason {}", figures::tokens(usage.reasoning));
    }
    // a cost of nothing is not told by most streams: it is unknown
    match cost_usd {
        Some(cost) if cost >= 0.01 => words = format!("{words} · ${cost:.2}"),
        Some(cost) if cost > 0.0 => words = format!("{words} · ${cost:.4}"),
        _ => {}
    }
    if total {
        words.push_str(" in all");
    }
    words
}
