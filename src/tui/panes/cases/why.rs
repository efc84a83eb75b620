//! The story of one case: message, frames with the source line, traceback, captured output.

use std::ops::Range;

use ratatui::style::Style;
use ratatui::text::{Line, Span};

use crate::diff::word_diff;
use crate::domain::Outcome;
use crate::tui::action::Action;
use crate::tui::ansi;
use crate::tui::panes::words;
use crate::tui::text;
use crate::tui::theme::Role;
use crate::tui::widgets::Canvas;

use super::sides::{Sides, sides};
use super::state::{Mark, Why, shown_result};

/// Draws the story; `beside` and `below` say where the list stands, for the dividing line.
pub fn draw(canvas: &mut Canvas<'_>, beside: bool, below: bool) {
    let app = canvas.app;
    let glyphs = &app.ui.glyphs;
    let mut area = canvas.area;
    if beside {
        let bar = Line::from(canvas.span(Role::Border, glyphs.split));
        for row in 0..canvas.height() {
            canvas.put(row, &bar);
        }
        area.x += 2.min(area.width);
        area.width = area.width.saturating_sub(2);
    } else if below {
        let rule = Line::from(canvas.span(Role::Border, glyphs.rule.repeat(canvas.width())));
        canvas.put(0, &rule);
        area.y += 1.min(area.height);
        area.height = area.height.saturating_sub(1);
        area.x += 1.min(area.width);
        area.width = area.width.saturating_sub(1);
    }
    let mut canvas = canvas.part(area);
    let Some(why) = &app.cases.why else {
        let line = Line::from(canvas.dim("select a case to see why it ended as it did"));
        canvas.put(0, &line);
        return;
    };
    let rows = rows(&canvas, why);
    let first = why.scroll.min(rows.len().saturating_sub(canvas.height()));
    for (at, row) in rows
        .into_iter()
        .skip(first)
        .take(canvas.height())
        .enumerate()
    {
        let line = build(&canvas, why, row);
        canvas.put(at, &line);
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Side {
    Expected,
    Got,
}

/// A row before it is built: only those on the screen are.
enum Row<'a> {
    Built(Line<'static>),
    /// What was wanted, and what it got instead.
    Side(Side, String, Vec<Range<u32>>),
    Traceback(&'a str),
    Captured(&'a str),
    Source(u32, &'a str, bool),
}

fn rows<'a>(canvas: &Canvas<'_>, why: &'a Why) -> Vec<Row<'a>> {
    let app = canvas.app;
    let width = canvas.width();
    let mut rows = Vec::new();
    let mut say = |line: Line<'static>| rows.push(Row::Built(line));
    let result = shown_result(app, why.suite, &why.id);
    let mark = result.map_or(Mark::NotRun, |result| Mark::Done(result.outcome));
    let name = text::cut(
        why.id.as_str(),
        width.saturating_sub(2),
        app.ui.glyphs.ellipsis,
    );
    say(Line::from(vec![
        words::glyph(app, mark),
        Span::raw(" "),
        canvas.span(Role::Strong, name),
    ]));
    let Some(result) = result else {
        say(Line::from(canvas.dim("it has not run yet")));
        return rows;
    };
    if let Some(message) = &result.message {
        for line in text::wrap(message, width, 6) {
            say(Line::from(canvas.span(Role::Bad, line)));
        }
    }
    for rank in &result.ranks {
        let words = rank.message.as_deref().unwrap_or("");
        let line = vec![
            canvas.dim(format!("rank {} ", rank.rank)),
            words::glyph(app, Mark::Done(rank.outcome)),
            Span::raw(" "),
            canvas.span(
                Role::Text,
                text::cut(words, width.saturating_sub(10), app.ui.glyphs.ellipsis),
            ),
        ];
        say(Line::from(line));
    }
    if why.loading {
        say(Line::from(canvas.dim("reading…")));
    }
    if let Some(error) = &why.error {
        for line in text::wrap(error, width, 4) {
            say(Line::from(canvas.span(Role::Bad, line)));
        }
    }
    let traceback = why.detail.as_ref().map_or("", |d| d.traceback.as_str());
    if !result.outcome.passed()
        && let Some(found) = sides(traceback, result.message.as_deref())
    {
        rows.push(Row::Built(Line::default()));
        rows.extend(compared(found));
    }
    let mut say = |line: Line<'static>| rows.push(Row::Built(line));
    let Some(detail) = &why.detail else {
        if result.outcome == Outcome::Passed {
            say(Line::from(canvas.dim("passed; nothing more was kept")));
        }
        rows.extend(source(why));
        return rows;
    };
    if !why.frames.is_empty() {
        say(Line::default());
    }
    for (at, frame) in why.frames.iter().enumerate() {
        if at == why.project {
            let rule = app.ui.glyphs.rule.repeat(3);
            say(Line::from(
                canvas.dim(format!("{rule} in libraries {rule}")),
            ));
        }
        let chosen = at == why.frame;
        let mark = if chosen { app.ui.glyphs.cursor } else { " " };
        let place = format!("{}:{}", frame.path, frame.line);
        let differs = app.diff.files.iter().any(|file| file.path == frame.path);
        let role = match (chosen, at < why.project) {
            (true, _) => Role::Strong,
            (false, true) => Role::Text,
            (false, false) => Role::Dim,
        };
        let mut line = vec![
            canvas.span(Role::Accent, format!("{mark} ")),
            canvas.span(role, text::clean(&place).into_owned()),
            canvas.dim(format!(" in {}", text::clean(&frame.function))),
        ];
        if chosen && differs {
            line.push(Span::raw("  "));
            line.extend(canvas.key_hint(Action::ToDiff, "to diff"));
        }
        say(text::window(line, 0, width));
    }
    rows.extend(source(why));
    if !detail.traceback.is_empty() {
        rows.push(Row::Built(Line::default()));
        rows.extend(detail.traceback.lines().map(Row::Traceback));
    }
    for (name, body) in &detail.sections {
        let rule = app.ui.glyphs.rule.repeat(3);
        let words = format!("{rule} captured {} {rule}", text::clean(name));
        rows.push(Row::Built(Line::from(canvas.dim(words))));
        rows.extend(body.lines().map(Row::Captured));
    }
    rows
}

/// The lines around the chosen frame, or the case's own function.
fn source(why: &Why) -> impl Iterator<Item = Row<'_>> {
    let wanted = why.frames.get(why.frame).map_or(0, |frame| frame.line);
    why.excerpt.iter().flat_map(move |excerpt| {
        let lines = (excerpt.from..).zip(&excerpt.lines);
        lines.map(move |(number, line)| Row::Source(number, line, number == wanted))
    })
}

/// Both sides of a comparison with the words that differ.
fn compared(found: Sides) -> [Row<'static>; 2] {
    let (old, new) = (found.expected.as_bytes(), found.got.as_bytes());
    let words = word_diff(old, new).unwrap_or_default();
    let relation = found.relation.len() as u32;
    let moved = |words: Vec<Range<u32>>| {
        let by = words.into_iter();
        by.map(|w| w.start + relation..w.end + relation).collect()
    };
    let expected = format!("{}{}", found.relation, found.expected);
    [
        Row::Side(Side::Expected, expected, moved(words.old)),
        Row::Side(Side::Got, found.got, words.new),
    ]
}

/// A side is longer than the pane as often as not: it begins shortly before what differs.
fn side(
    canvas: &Canvas<'_>,
    why: &Why,
    side: Side,
    text: &str,
    words: &[Range<u32>],
) -> Line<'static> {
    let (sign, name, base, emph) = match side {
        Side::Expected => ("- ", "expected ", Role::Del, Role::DelEmph),
        Side::Got => ("+ ", "got      ", Role::Add, Role::AddEmph),
    };
    let ellipsis = canvas.app.ui.glyphs.ellipsis;
    let room = canvas.width().saturating_sub(11);
    let first = words.first().map_or(0, |w| w.start as usize);
    let before = text.get(..first).map_or(0, text::width);
    let skip = if text::width(text) > room && before + 8 > room {
        before.saturating_sub(room / 3)
    } else {
        0
    };
    let (base, emph) = (canvas.style(base), canvas.style(emph));
    let hidden = canvas.style(Role::Hidden);
    let style_of = |at: usize| {
        let changed = words
            .iter()
            .any(|w| (w.start as usize..w.end as usize).contains(&at));
        if changed { base.patch(emph) } else { base }
    };
    let skip = skip + why.skip;
    let cut = skip > 0;
    let mut line = vec![
        Span::styled(sign, base),
        canvas.dim(name),
        Span::styled(if cut { ellipsis } else { "" }, base),
    ];
    let room = room.saturating_sub(usize::from(cut) * text::width(ellipsis));
    let spans = text::spans(text, skip + room, hidden, style_of);
    line.extend(text::window(spans, skip, room).spans);
    Line::from(line)
}

fn build(canvas: &Canvas<'_>, why: &Why, row: Row<'_>) -> Line<'static> {
    let width = canvas.width();
    let columns = why.skip + width;
    let hidden = canvas.style(Role::Hidden);
    let depth = canvas.app.ui.depth;
    match row {
        Row::Built(line) => line,
        Row::Side(which, text, words) => side(canvas, why, which, &text, &words),
        Row::Captured(raw) => {
            let base = canvas.style(Role::Dim);
            text::window(
                ansi::spans(raw, columns, base, hidden, depth),
                why.skip,
                width,
            )
        }
        Row::Traceback(raw) => {
            let base = traceback_style(canvas, raw);
            text::window(
                ansi::spans(raw, columns, base, hidden, depth),
                why.skip,
                width,
            )
        }
        Row::Source(number, raw, here) => {
            let mark = if here {
                canvas.app.ui.glyphs.cursor
            } else {
                " "
            };
            let role = if here { Role::Strong } else { Role::Text };
            let base = canvas.style(role);
            let mut line = vec![
                canvas.span(Role::Accent, format!("{mark} ")),
                canvas.span(Role::LineNo, format!("{number:>5} ")),
            ];
            let code = text::spans(raw, columns, hidden, |_| base);
            line.extend(text::window(code, why.skip, width.saturating_sub(8)).spans);
            Line::from(line)
        }
    }
}

/// pytest marks the error with `E` and the failing line with `>`; behind an `E` it may stand a
/// diff, in which `-` is what was expected.
fn traceback_style(canvas: &Canvas<'_>, raw: &str) -> Style {
    let role = if let Some(said) = raw.strip_prefix("E ") {
        match said.trim_start().get(..2) {
            Some("- ") => Role::Del,
            // `+  where` tells where a value is from
            Some("+ ") if !said.trim_start().starts_with("+  ") => Role::Add,
            _ => Role::Bad,
        }
    } else if raw.starts_with('>') {
        Role::Strong
    } else {
        Role::Text
    };
    canvas.style(role)
}
