//! The matrix on the screen. The first column, the head and the verdicts stay in place.

use ratatui::text::{Line, Span};

use crate::domain::{Acceptance, Standing};
use crate::report::acceptance::{Freshness, Matrix};
use crate::tui::action::Action;
use crate::tui::layout::PaneKind;
use crate::tui::panes::words;
use crate::tui::text;
use crate::tui::theme::Role;
use crate::tui::widgets::{Canvas, Title, figures, meter};

use super::geometry::Geometry;
use super::row::sign;
use super::{head, row};

pub fn draw(canvas: &mut Canvas<'_>) {
    let app = canvas.app;
    let title = title(canvas);
    let mut inner = canvas.pane(PaneKind::Acceptance, title);
    let Some(matrix) = &app.acceptance.matrix else {
        return draw_empty(&mut inner);
    };
    let g = Geometry::of(app, inner.area);
    let mut at = 0;
    if g.bar {
        draw_progress(&mut inner, matrix);
        at = 1;
    }
    if matrix.acceptance.is_none() {
        return draw_nothing(&mut inner, matrix, at);
    }
    let x = 1 + g.label + 1 + g.claim + usize::from(g.claim > 0);
    if g.words > 0 {
        head::draw(&mut inner, &g, at, x);
        draw_edges(&mut inner, matrix, &g, at, x);
    }
    at += g.head();
    if app.acceptance.shown.is_empty() {
        let words = Line::from(inner.dim(" no row is broken or warned of"));
        inner.put(at, &words);
        let hint = inner.key_hint(Action::Back, "shows all");
        inner.put_at(at + 1, 1, &Line::from(hint));
        return;
    }
    let shown = app.acceptance.shown.iter().enumerate();
    for (place, (index, row)) in shown.skip(app.acceptance.top).take(g.rows).enumerate() {
        if let Some(row) = matrix.rows.get(*row) {
            row::draw(
                &mut inner,
                matrix,
                &g,
                (at + place, x),
                row,
                index == app.acceptance.row,
            );
        }
    }
    draw_foot(&mut inner, matrix, &g);
}

fn title(canvas: &Canvas<'_>) -> Title {
    let app = canvas.app;
    let mut left = vec![canvas.span(Role::Title, "acceptance")];
    let dot = || canvas.dim(format!(" {} ", app.ui.glyphs.dot));
    if let Some(task) = &app.acceptance.task {
        left.push(dot());
        left.push(canvas.span(Role::Text, text::cut(task, 32, app.ui.glyphs.ellipsis)));
    }
    let mut right = Vec::new();
    if let Some(matrix) = &app.acceptance.matrix {
        left.push(dot());
        left.extend(standing(canvas, matrix));
        if app.acceptance.only_broken {
            right.push(canvas.span(Role::Notice, "only broken "));
        }
        let width = |spans: &[Span<'static>]| Line::from(spans.to_vec()).width();
        let used = width(&left) + width(&right) + 10;
        right.extend(stale(canvas, matrix, canvas.width().saturating_sub(used)));
        let rows = app.acceptance.shown.len();
        if right.is_empty() && rows > 0 && matrix.tried.is_empty() {
            right.push(canvas.dim("from the record"));
        }
    }
    Title { left, right }
}

/// `REJECTED: 1 of 7 rules`.
fn standing(canvas: &Canvas<'_>, matrix: &Matrix) -> Vec<Span<'static>> {
    let app = canvas.app;
    let broken = |made: &Acceptance| match made.broken().count() {
        0 => String::new(),
        n => format!(": {n} of {} rules", made.rules.len()),
    };
    if let Some(live) = &matrix.live {
        let words = match (live.rests, live.again) {
            (true, _) => "waits for edits",
            (false, true) => "verifies again",
            (false, false) => "verifies",
        };
        let running = canvas.span(Role::Running, format!("{} {words}", app.ui.glyphs.running));
        if !live.rests {
            return vec![running];
        }
        let mut all = on_record(canvas, matrix, &broken);
        all.push(Span::raw("  "));
        all.push(running);
        return all;
    }
    on_record(canvas, matrix, &broken)
}

fn on_record(
    canvas: &Canvas<'_>,
    matrix: &Matrix,
    broken: &dyn Fn(&Acceptance) -> String,
) -> Vec<Span<'static>> {
    let Some(made) = &matrix.recorded else {
        let words = match matrix.freshness {
            Freshness::Fresh(Standing::Unprobed) => "unprobed",
            _ => "not verified",
        };
        return vec![canvas.dim(words)];
    };
    let role = match made.standing {
        Standing::Accepted => Role::Resolved,
        Standing::Rejected => Role::Rejected,
        Standing::Unprobed => Role::Dim,
    };
    let mut words = format!("{}{}", made.standing.name().to_uppercase(), broken(made));
    if made.provisional.is_some() {
        words.insert_str(0, "provisional: ");
    }
    if matches!(matrix.freshness, Freshness::Edited(_)) {
        words.push_str(" (edited by hand)");
    }
    vec![canvas.span(role, words)]
}

/// What changed since, and what that costs, in so many columns.
fn stale(canvas: &Canvas<'_>, matrix: &Matrix, room: usize) -> Vec<Span<'static>> {
    if !matches!(matrix.freshness, Freshness::Stale(_)) && matrix.changed.is_empty() {
        return Vec::new();
    }
    let app = canvas.app;
    let what = match matrix.changed.as_slice() {
        [] => "the task changed".to_owned(),
        [first, rest @ ..] => {
            let name = text::cut_start(&first.path, 30, app.ui.glyphs.ellipsis);
            match rest.len() {
                0 => format!("{name} changed"),
                n => format!("{name} +{n} changed"),
            }
        }
    };
    let cost = match matrix.reruns {
        0 => "v judges anew".to_owned(),
        n => format!("v reruns {}", words::plural(n, "cell")),
    };
    let mut words = format!("stale: {what}, {cost}");
    if text::width(&words) > room {
        words = format!("stale: {cost}");
    }
    vec![canvas.span(Role::Warn, words)]
}

fn draw_progress(canvas: &mut Canvas<'_>, matrix: &Matrix) {
    let app = canvas.app;
    let Some(live) = &matrix.live else { return };
    let (done, total) = (live.done, live.total.max(live.done));
    let name = if live.again { "again" } else { "verify" };
    let words = if live.again {
        format!(" {} ", words::plural(done, "cell"))
    } else {
        let rate = done as f64 / (app.now_s - live.since_s).max(0.001);
        let left = if done > 0 {
            figures::duration((total - done) as f64 / rate)
        } else {
            app.ui.glyphs.dash.into()
        };
        format!(" {done}/{total} cells  {rate:.1}/s  {left} left ")
    };
    let cells = canvas.width().saturating_sub(text::width(&words) + 11);
    let mut spans = vec![canvas.span(Role::Running, format!(" {name:<8} "))];
    let part = done as f64 / total.max(1) as f64;
    spans.extend(meter::filled(canvas, part, cells, Role::Running));
    spans.push(canvas.span(Role::Text, words));
    canvas.put(0, &Line::from(spans));
}

/// Says how many columns stand to the left and the right of those that are seen.
fn draw_edges(canvas: &mut Canvas<'_>, matrix: &Matrix, g: &Geometry, at: usize, x: usize) {
    let app = canvas.app;
    let hidden_left = app.acceptance.left;
    let hidden_right = matrix.columns.len().saturating_sub(hidden_left + g.columns);
    let (less, more) = if app.ui.glyphs.unicode {
        ("‹", "›")
    } else {
        ("<", ">")
    };
    let row = at + g.head() - 1;
    if hidden_left > 0 {
        let words = format!("{less}{hidden_left} ");
        let line = Line::from(canvas.span(Role::Notice, words.clone()));
        canvas.put_at(row, x.saturating_sub(text::width(&words)), &line);
    }
    let end = x + g.columns * g.column;
    let head = format!("{:>width$}", "off", width = g.official);
    let under = app.acceptance.function().is_none();
    let role = if under { Role::Accent } else { Role::Dim };
    let mut right = vec![canvas.span(role, head)];
    if hidden_right > 0 {
        right.push(canvas.span(Role::Notice, format!(" {hidden_right}{more}")));
    } else if g.verdict > 0 {
        right.push(canvas.dim("  rule"));
    }
    canvas.put_at(row, end + 1, &Line::from(right));
}

/// What is under the cursor, in full.
fn draw_foot(canvas: &mut Canvas<'_>, matrix: &Matrix, g: &Geometry) {
    let app = canvas.app;
    let (Some(row), true) = (app.acceptance.selected(), g.foot > 0) else {
        return;
    };
    let from = canvas.height() - g.foot.min(canvas.height());
    let width = canvas.width().saturating_sub(2);
    let times = if app.ui.glyphs.unicode { " × " } else { " x " };
    let mut first = vec![canvas.span(Role::Strong, text::clean(&row.patch).into_owned())];
    first.push(canvas.dim(times));
    match app
        .acceptance
        .function()
        .and_then(|at| matrix.columns.get(at))
    {
        Some(column) => {
            first.push(canvas.span(Role::Text, text::clean(&column.function).into_owned()));
            let of = if column.guard {
                "guard: must pass on base".to_owned()
            } else if column.claims.is_empty() {
                "of no claim".to_owned()
            } else {
                text::clean(&column.claims.join(", ")).into_owned()
            };
            first.push(canvas.span(Role::Accent, format!("  {of}")));
        }
        None => first.push(canvas.span(Role::Text, "official suite")),
    }
    let first = text::window(first, 0, width);
    if g.foot == 1 {
        // the verdict's words where the row has no room for them
        let mut first = first;
        if g.verdict == 0 && !row.verdict.words.is_empty() {
            let (sign, role) = sign(app, row.verdict.sign);
            let words = text::cut(&row.verdict.words, width / 2, app.ui.glyphs.ellipsis);
            let last = Line::from(canvas.span(role, format!(" {sign} {words} ")));
            first = text::window(first.spans, 0, width.saturating_sub(last.width()));
            canvas.put_right(from, &last);
        }
        return canvas.put_at(from, 1, &first);
    }
    let rule = app.ui.glyphs.rule.repeat(canvas.width());
    let rule = Line::from(canvas.span(Role::Border, rule));
    canvas.put(from, &rule);
    canvas.put_at(from + 1, 1, &first);
    let (sign, role) = sign(app, row.verdict.sign);
    let mut last = vec![canvas.span(role, format!("{sign} {}", text::clean(&row.verdict.words)))];
    let cell = app.cell.cases.first();
    if let Some(message) = cell.and_then(|case| case.result.message.as_ref()) {
        let line = message.lines().next().unwrap_or("");
        last.push(canvas.dim(format!("  {}", text::clean(line))));
    }
    canvas.put_at(from + 2, 1, &text::window(last, 0, width));
}

/// Nothing is known of the task's judge yet.
fn draw_nothing(canvas: &mut Canvas<'_>, matrix: &Matrix, at: usize) {
    let mut rows = Vec::new();
    if at > 0 || matrix.live.is_some() {
        rows.push(Line::from(canvas.dim("cells appear as they are known")));
    } else if matches!(matrix.freshness, Freshness::Fresh(Standing::Unprobed)) {
        rows.push(Line::from(
            canvas.dim("the task has no probes: nothing to accept"),
        ));
        rows.push(Line::from(
            canvas.dim("[suites.probes] in task.toml names them"),
        ));
    } else {
        rows.push(Line::from(canvas.dim("not verified yet")));
        let hint = canvas.hint(
            "v",
            "runs infradev verify: every patch on both suites, gold 3 times",
        );
        rows.push(text::window(hint, 0, canvas.width()));
    }
    canvas.empty(&rows);
}

fn draw_empty(canvas: &mut Canvas<'_>) {
    let app = canvas.app;
    let state = &app.acceptance;
    let mut rows = Vec::new();
    if let Some(error) = &state.error {
        rows.extend(canvas.block(Role::Bad, error, canvas.height().max(1)));
    } else if state.task.is_none() {
        rows.push(Line::from(canvas.dim("no task is selected")));
        rows.push(Line::from(
            canvas.key_hint(Action::Pane(PaneKind::Tasks), "goes to the tasks"),
        ));
    } else {
        rows.push(Line::from(canvas.dim("reading what verify found…")));
    }
    canvas.empty(&rows);
}
