//! The cell on the screen: which case, why, the probe's source and the traceback.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};

use crate::report::acceptance::GridMark;
use crate::tui::action::Action;
use crate::tui::ansi;
use crate::tui::layout::{PaneKind, split_left, split_top};
use crate::tui::panes::acceptance::row::glyph;
use crate::tui::panes::cases::Mark;
use crate::tui::panes::words;
use crate::tui::state::App;
use crate::tui::text;
use crate::tui::theme::Role;
use crate::tui::widgets::{Canvas, Title, figures};

use super::source;

/// Source and story stand beside each other from this width on.
const WIDE: usize = 84;

pub fn draw(canvas: &mut Canvas<'_>) {
    let title = title(canvas);
    let mut inner = canvas.pane(PaneKind::Cell, title);
    let app = inner.app;
    if app.cell.of.is_none() {
        let rows = [
            Line::from(inner.dim("the cell under the matrix' cursor is shown here")),
            Line::from(inner.key_hint(Action::Pane(PaneKind::Acceptance), "goes to the matrix")),
        ];
        return inner.empty(&rows);
    }
    let head = head(&inner);
    for (at, line) in head.iter().enumerate() {
        inner.put(at, line);
    }
    let (_, rest) = split_top(inner.area, head.len().min(usize::from(u16::MAX)) as u16);
    let (code, story) = areas(&inner, rest);
    draw_source(&mut inner.part(code));
    if story.width < rest.width && story.height > 0 {
        let bar = Line::from(inner.span(Role::Border, app.ui.glyphs.split));
        let mut edge = inner.part(Rect {
            x: story.x.saturating_sub(1),
            width: 1,
            ..story
        });
        for row in 0..edge.height() {
            edge.put(row, &bar);
        }
    }
    draw_story(&mut inner.part(story));
}

/// Where source and story stand.
fn areas(canvas: &Canvas<'_>, rest: Rect) -> (Rect, Rect) {
    let told = canvas.app.cell.detail.is_some();
    if !told {
        return (rest, Rect::default());
    }
    if canvas.width() >= WIDE {
        let (code, story) = split_left(rest, rest.width * 11 / 20);
        let (_, story) = split_left(story, 1);
        return (code, story);
    }
    let (code, story) = split_top(rest, (rest.height * 3 / 5).max(rest.height.min(3)));
    (code, story)
}

fn title(canvas: &Canvas<'_>) -> Title {
    let app = canvas.app;
    let mut left = vec![canvas.span(Role::Title, "cell")];
    let mut right = Vec::new();
    if let Some((patch, function)) = &app.cell.of {
        let times = if app.ui.glyphs.unicode { " × " } else { " x " };
        let name = function.as_deref().map_or("official suite", |function| {
            function.split_once("::").map_or(function, |(_, name)| name)
        });
        let dot = app.ui.glyphs.dot;
        left.push(canvas.dim(format!(" {dot} ")));
        left.push(canvas.span(Role::Text, text::cut(patch, 36, app.ui.glyphs.ellipsis)));
        left.push(canvas.dim(times));
        left.push(canvas.span(Role::Text, text::cut(name, 60, app.ui.glyphs.ellipsis)));
        let cases = &app.cell.cases;
        let bad = cases.iter().filter(|c| !c.result.outcome.passed()).count();
        if !cases.is_empty() {
            right.push(canvas.dim(format!("{bad}/{} rejecting", cases.len())));
        }
    }
    Title { left, right }
}

/// Which case, how it ended, and its message.
fn head(canvas: &Canvas<'_>) -> Vec<Line<'static>> {
    let app = canvas.app;
    let cell = &app.cell;
    let width = canvas.width().saturating_sub(2);
    let Some(case) = cell.case() else {
        let words = match (&app.acceptance.matrix, &cell.of) {
            (Some(matrix), Some((_, Some(_)))) if matrix.tried.is_empty() => {
                "on record: no case of it rejects; {verify} verifies here"
            }
            (Some(_), Some((_, None))) => "on record; {verify} verifies here and keeps each case",
            (Some(matrix), _) if matrix.live.is_some() => "it has not run yet",
            _ => "nothing of it is known yet: {verify} verifies",
        };
        let words = app.ui.keymap.fill(words);
        return vec![Line::from(vec![
            Span::raw(" "),
            canvas.dim(text::cut(&words, width, app.ui.glyphs.ellipsis)),
        ])];
    };
    let result = &case.result;
    let id = result.id.as_str();
    let name = id.split_once("::").map_or(id, |(_, name)| name);
    let mut right = Vec::new();
    if app
        .acceptance
        .selected()
        .is_some_and(|row| row.cells.iter().any(|c| c.marks.len() > 1))
    {
        right.push(canvas.dim(format!(" run {}", case.run)));
    }
    let place = format!(" {}/{} ", cell.chosen + 1, cell.cases.len());
    right.push(canvas.dim(place));
    if case.key.is_some() {
        right.push(canvas.dim(figures::duration(result.duration_s)));
    }
    right.push(Span::raw(" "));
    let right = Line::from(right);
    let room = width.saturating_sub(right.width() + 3);
    let mark = mark(canvas);
    let mut first = vec![Span::raw(" "), mark, Span::raw(" ")];
    first.push(canvas.span(Role::Strong, text::fit(name, room, app.ui.glyphs.ellipsis)));
    first.extend(right.spans);
    let mut rows = vec![Line::from(first)];
    let most = if canvas.height() > 12 { 4 } else { 2 };
    if let Some(message) = &result.message {
        for line in canvas.wrapped(Role::Bad, message, width, most) {
            let mut spans = vec![Span::raw(" ")];
            spans.extend(line.spans);
            rows.push(Line::from(spans));
        }
    }
    let note = if let Some(error) = &cell.error {
        Some((Role::Bad, error.clone()))
    } else if cell.loading {
        Some((Role::Dim, "reading…".to_owned()))
    } else if case.key.is_none() {
        let words = "from the record, without traceback: {verify} verifies here";
        Some((Role::Dim, app.ui.keymap.fill(words)))
    } else {
        None
    };
    if let Some((role, words)) = note {
        let words = text::cut(&words, width, app.ui.glyphs.ellipsis);
        rows.push(Line::from(vec![Span::raw(" "), canvas.span(role, words)]));
    }
    rows
}

/// How the chosen case ended: by assertion and by a crash are two things.
fn mark(canvas: &Canvas<'_>) -> Span<'static> {
    let app = canvas.app;
    let Some(case) = app.cell.case() else {
        return Span::raw(" ");
    };
    let outcome = case.result.outcome;
    let plain = words::glyph(app, Mark::Done(outcome));
    let strongest = app.acceptance.function().and_then(|at| {
        let row = app.acceptance.selected()?;
        row.cells
            .get(at)?
            .marks
            .iter()
            .find(|m| **m != GridMark::Passed)
            .copied()
    });
    match strongest {
        // a failed case of the function that the matrix shows as crashed
        Some(told) if outcome == crate::domain::Outcome::Failed => {
            Span::styled(glyph(app, told), plain.style)
        }
        _ => plain,
    }
}

fn draw_source(canvas: &mut Canvas<'_>) {
    let app = canvas.app;
    let cell = &app.cell;
    let head = match cell.place() {
        Some((path, Some(line))) => format!("{path}:{line}"),
        Some((path, None)) => path,
        None => return,
    };
    let head = text::cut_start(
        &head,
        canvas.width().saturating_sub(2),
        app.ui.glyphs.ellipsis,
    );
    let line = Line::from(canvas.dim(format!(" {head}")));
    canvas.put(0, &line);
    let (_, rest) = split_top(canvas.area, 1);
    let mut canvas = canvas.part(rest);
    let Some(text) = &cell.source else {
        let words = cell.no_source.as_deref().unwrap_or("");
        let words = text::cut(
            words,
            canvas.width().saturating_sub(2),
            app.ui.glyphs.ellipsis,
        );
        let line = Line::from(canvas.dim(format!(" {words}")));
        return canvas.put(0, &line);
    };
    let begins = cell.function().and_then(|name| text.definition(name));
    let begins = match cell.frames.get(cell.frame) {
        // elsewhere the test's name says nothing
        Some(frame) if Some(frame.path.as_str()) != cell.case().map(|c| c.result.id.file()) => {
            text.definition(frame.function.rsplit('.').next().unwrap_or(""))
        }
        _ => begins,
    };
    source::draw(&mut canvas, text, cell.line(), begins);
}

/// Rows of the story: frames, traceback, what was captured.
enum Row<'a> {
    Frame(usize),
    Traceback(&'a str),
    Captured(&'a str),
    Rule(&'a str),
    Blank,
}

fn story(app: &App) -> Vec<Row<'_>> {
    let cell = &app.cell;
    let mut rows: Vec<Row<'_>> = (0..cell.frames.len()).map(Row::Frame).collect();
    let Some(detail) = &cell.detail else {
        return rows;
    };
    if !detail.traceback.is_empty() {
        rows.push(Row::Blank);
        rows.extend(detail.traceback.lines().map(Row::Traceback));
    }
    for (name, body) in &detail.sections {
        rows.push(Row::Rule(name));
        rows.extend(body.lines().map(Row::Captured));
    }
    rows
}

/// Keeps the story's last row at the bottom at most.
pub fn settle(app: &mut App, block: Rect) {
    let mut buf = Buffer::empty(block);
    let canvas = Canvas::new(app, &mut buf, block);
    let head = head(&canvas).len().min(usize::from(u16::MAX)) as u16;
    let (_, rest) = split_top(block, head);
    let (_, story) = areas(&canvas, rest);
    let most = story_rows(app).saturating_sub(usize::from(story.height));
    app.cell.scroll = app.cell.scroll.min(most);
}

/// Rows of the whole story: where scrolling ends.
pub fn story_rows(app: &App) -> usize {
    let Some(detail) = &app.cell.detail else {
        return 0;
    };
    let captured = detail
        .sections
        .iter()
        .map(|(_, body)| body.lines().count() + 1);
    app.cell.frames.len() + 1 + detail.traceback.lines().count() + captured.sum::<usize>()
}

fn draw_story(canvas: &mut Canvas<'_>) {
    let app = canvas.app;
    let cell = &app.cell;
    let (width, skip) = (canvas.width().saturating_sub(1), cell.skip);
    let hidden = canvas.style(Role::Hidden);
    let rows = story(app);
    let first = cell.scroll.min(rows.len().saturating_sub(canvas.height()));
    for (at, row) in rows
        .into_iter()
        .skip(first)
        .take(canvas.height())
        .enumerate()
    {
        let raw = |raw: &str, role: Role| {
            let base = canvas.style(role);
            let spans = ansi::spans(raw, skip + width, base, hidden, app.ui.depth);
            text::window(spans, skip, width)
        };
        let line = match row {
            Row::Blank => Line::default(),
            Row::Frame(at) => frame(canvas, at, width),
            Row::Traceback(line) => raw(line, traceback_role(line)),
            Row::Captured(line) => raw(line, Role::Dim),
            Row::Rule(name) => {
                let rule = app.ui.glyphs.rule.repeat(3);
                let words = format!("{rule} captured {} {rule}", text::clean(name));
                Line::from(canvas.dim(words))
            }
        };
        canvas.put_at(at, 1, &line);
    }
}

fn frame(canvas: &Canvas<'_>, at: usize, width: usize) -> Line<'static> {
    let cell = &canvas.app.cell;
    let Some(frame) = cell.frames.get(at) else {
        return Line::default();
    };
    let chosen = at == cell.frame;
    let library = frame.path.starts_with('/');
    let mark = if chosen {
        canvas.app.ui.glyphs.cursor
    } else {
        " "
    };
    let role = match (chosen, library) {
        (true, _) => Role::Strong,
        (false, true) => Role::Dim,
        (false, false) => Role::Text,
    };
    let place = format!("{}:{}", frame.path, frame.line);
    let place = text::cut_start(&place, width * 2 / 3, canvas.app.ui.glyphs.ellipsis);
    let line = vec![
        canvas.span(Role::Accent, format!("{mark} ")),
        canvas.span(role, place),
        canvas.dim(format!(" in {}", text::clean(&frame.function))),
    ];
    text::window(line, 0, width)
}

/// pytest marks the error with `E` and the failing line with `>`.
fn traceback_role(raw: &str) -> Role {
    if raw.starts_with("E ") {
        Role::Bad
    } else if raw.starts_with('>') {
        Role::Strong
    } else {
        Role::Text
    }
}
