//! One row of an entry as it is seen.

use ratatui::style::Style;
use ratatui::text::{Line, Span};

use crate::agent::trace::{Entry, Kind, Progress, Role as Who};
use crate::domain::Level;
use crate::tui::theme::Role;
use crate::tui::widgets::{Canvas, figures};
use crate::tui::{ansi, text};

use super::long::LONG;
use super::parts::{Parts, Sort, changed};
use super::rows::{Row, What, line_width};
use super::source::LogSource;
use super::{level, status};

/// Columns beyond the edge that are looked at, for a match that goes over it.
const BEYOND: usize = 64;

/// Columns of a raw line that is not long.
pub fn columns(raw: &str) -> usize {
    if raw.bytes().all(|b| (b' '..=b'~').contains(&b)) {
        return raw.len();
    }
    text::width(&text::clean(&ansi::plain(raw)))
}

pub fn row(
    canvas: &Canvas<'_>,
    entry: &Entry,
    at: usize,
    row: &Row<'_>,
    width: usize,
) -> Line<'static> {
    match &row.what {
        What::Head => head(canvas, entry, width),
        What::Prose(text) => {
            let span = Span::styled(text.clone(), prose_style(canvas, entry));
            Line::from(marked(canvas, vec![span]))
        }
        What::Line(sort, raw) => log_line(canvas, entry, at, (row, *sort, raw), width),
        What::Folded(count) => {
            let lines = if *count == 1 { "line" } else { "lines" };
            Line::from(canvas.dim(format!("  [+ {count} {lines}]")))
        }
    }
}

/// A line as a program printed it, or as an edit changes it: wrapped, or the columns in sight.
fn log_line(
    canvas: &Canvas<'_>,
    entry: &Entry,
    at: usize,
    (row, sort, raw): (&Row<'_>, Sort, &str),
    width: usize,
) -> Line<'static> {
    let app = canvas.app;
    let log = &app.log;
    let whole = matches!(entry.kind, Kind::Raw { .. });
    let indent = if whole || sort == Sort::Prose { 0 } else { 2 };
    let room = line_width(sort, width);
    let wraps = log.wrap || sort == Sort::Prose;
    let skip = if wraps { row.piece * room } else { log.skip };
    let base = line_style(canvas, entry, sort, raw);
    let mark = |spans| marked(canvas, spans);
    let (mut line, all) = if raw.len() >= LONG {
        let long = log.long.get(at, row.line, raw);
        (long.window(skip, room, mark, base), long.columns())
    } else {
        let hidden = canvas.style(Role::Hidden);
        let upto = skip + room + BEYOND;
        let spans = match sort {
            Sort::Change => text::spans(raw, upto, hidden, |_| base),
            _ => ansi::spans(raw, upto, base, hidden, app.ui.depth),
        };
        let all = spans.iter().map(Span::width).sum();
        (text::window(mark(spans), skip, room), all)
    };
    if !wraps {
        let edge = canvas.style(Role::Notice);
        let [before, after] = edges(canvas);
        if all > skip + room {
            line = text::window(line.spans, 0, room - 1);
            let fill = (room - 1).saturating_sub(line.width());
            line.push_span(Span::raw(" ".repeat(fill)));
            line.push_span(Span::styled(after, edge));
        }
        if skip > 0 && all > 0 {
            line = text::window(line.spans, 1, room);
            line.spans.insert(0, Span::styled(before, edge));
        }
    }
    line.spans.insert(0, Span::raw(" ".repeat(indent)));
    line
}

/// What stands where a line goes on to the left and to the right.
fn edges(canvas: &Canvas<'_>) -> [&'static str; 2] {
    if canvas.app.ui.glyphs.unicode {
        ["«", "»"]
    } else {
        ["<", ">"]
    }
}

/// Lays the search's style over what matches.
fn marked(canvas: &Canvas<'_>, spans: Vec<Span<'static>>) -> Vec<Span<'static>> {
    let Some(search) = &canvas.app.log.look.search else {
        return spans;
    };
    let whole: String = spans.iter().map(|span| span.content.as_ref()).collect();
    let ranges: Vec<_> = search.ranges(&whole).collect();
    text::mark(spans, &ranges, canvas.style(Role::Match))
}

fn line_style(canvas: &Canvas<'_>, entry: &Entry, sort: Sort, raw: &str) -> Style {
    let change = match raw.as_bytes().first() {
        Some(b'+') => Role::Add,
        Some(b'-') => Role::Del,
        Some(b'@') => Role::Hunk,
        _ => Role::Dim,
    };
    let role = match (sort, level::of_line(raw)) {
        (Sort::Prose, _) => return prose_style(canvas, entry),
        (Sort::Change, _) => change,
        (Sort::Input, _) => Role::Text,
        (_, Some(Level::Error)) => Role::Bad,
        (_, Some(Level::Warn)) => Role::Warn,
        (_, Some(Level::Info)) if matches!(entry.kind, Kind::Raw { .. }) => Role::Info,
        _ if canvas.app.log.source().is_some_and(LogSource::is_stderr) => Role::Warn,
        _ if matches!(entry.kind, Kind::Raw { .. }) => Role::Text,
        _ => Role::Dim,
    };
    canvas.style(role)
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
fn head(canvas: &Canvas<'_>, entry: &Entry, width: usize) -> Line<'static> {
    let ellipsis = canvas.app.ui.glyphs.ellipsis;
    let parts = Parts::of(entry);
    let first = parts.head.as_deref().unwrap_or_default();
    let mut right = Vec::new();
    let mut words = first.to_owned();
    let (sign, role) = match &entry.kind {
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
            if command.lines().nth(1).is_some() {
                words = format!("{first} {ellipsis}");
            }
            ("$ ", Role::Strong)
        }
        Kind::Edit {
            detail, progress, ..
        } => {
            if let Some((added, deleted)) =
                changed(detail).filter(|_| *progress != Progress::Failed)
            {
                right.push(canvas.span(Role::Add, format!("+{added}")));
                right.push(canvas.span(Role::Del, format!(" -{deleted} ")));
            }
            right.extend(ending(canvas, *progress, None));
            ("edit ", Role::Accent)
        }
        Kind::Tool { progress, .. } => {
            right.extend(ending(canvas, *progress, None));
            ("", Role::Text)
        }
        Kind::Usage { .. } => ("", Role::Dim),
        _ => ("", Role::Text),
    };
    let right = Line::from(right);
    let room = width.saturating_sub(text::width(sign) + right.width() + 1);
    let words = text::fit(&words, room, ellipsis);
    let mut spans = vec![canvas.dim(sign)];
    spans.extend(marked(canvas, vec![canvas.span(role, words)]));
    spans.push(Span::raw(" "));
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
