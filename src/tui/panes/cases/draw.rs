//! The list of cases and, beside or below it, why the selected one ended as it did.

use ratatui::layout::Rect;
use ratatui::text::{Line, Span};

use crate::domain::{Stage, Suite};
use crate::tui::backend::{Count, RunStatus};
use crate::tui::layout::{PaneKind, split_left, split_top};
use crate::tui::panes::words;
use crate::tui::state::{App, OpenRun};
use crate::tui::text;
use crate::tui::theme::Role;
use crate::tui::widgets::{Canvas, Title, figures, meter};

use super::state::{CaseRow, Mark, shown_subject};
use super::why;

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
    let title = title(canvas);
    let mut inner = canvas.pane(PaneKind::Cases, title);
    let areas = areas(app, inner.area);
    if let Some((suite, done, total, rate)) = progress(app) {
        draw_progress(&mut inner.part(areas.bar), suite, done, total, rate);
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

fn counts(app: &App, run: &OpenRun, suite: Suite) -> Option<Count> {
    let subject = shown_subject(run, app.target.source.as_ref());
    run.state.suite(subject, suite).map(|state| Count {
        passed: state.passed(),
        collected: state.order.len(),
    })
}

fn title(canvas: &Canvas<'_>) -> Title {
    let app = canvas.app;
    let Some(run) = &app.open else {
        return Title::default();
    };
    let mut left = vec![canvas.span(Role::Title, "cases"), Span::raw("  ")];
    let official = counts(app, run, Suite::Official);
    let probes = counts(app, run, Suite::Probes);
    left.extend(words::pair(app, official, probes, 3));
    if let Some(summary) = app.summary(&run.id) {
        let (word, role) = words::standing(app, summary);
        left.push(Span::raw("  "));
        left.push(canvas.span(role, word));
    }
    left.extend(rerun_words(canvas));
    let mut right = Vec::new();
    if app.cases.only_rejected {
        let (pass, fail) = if app.ui.glyphs.unicode {
            ("✔", "✘")
        } else {
            ("+", "F")
        };
        right.push(canvas.span(Role::Notice, format!("only gold {pass} this {fail}")));
        right.push(Span::raw(" "));
    }
    if let Some(suite) = app.cases.suite {
        right.push(canvas.span(Role::Notice, suite.name()));
        right.push(Span::raw(" "));
    }
    if !app.cases.filter.is_empty() {
        let shown = text::cut(&app.cases.filter, 20, app.ui.glyphs.ellipsis);
        right.push(canvas.span(Role::Notice, format!("/{shown}")));
        right.push(Span::raw(" "));
    }
    if app.cases.filtered() {
        right.push(canvas.dim(format!("{}/{}", app.cases.shown.len(), app.cases.all.len())));
    } else if app.cases.rejected() > 0 {
        right.push(canvas.span(Role::Failed, format!("{} rejected", app.cases.rejected())));
    }
    Title { left, right }
}

/// How the newest rerun of cases stands.
fn rerun_words(canvas: &Canvas<'_>) -> Vec<Span<'static>> {
    let app = canvas.app;
    let Some(summary) = app.rerun.as_ref().and_then(|run| app.summary(&run.id)) else {
        return Vec::new();
    };
    let sign = if app.ui.glyphs.unicode { "↻" } else { "@" };
    let (words, role) = if summary.status == RunStatus::Finished && summary.fault.is_none() {
        let rows = app.cases.all.iter();
        let again: Vec<Mark> = rows
            .map(|row| row.rerun)
            .filter(|mark| matches!(mark, Mark::Done(_)))
            .collect();
        let passed = again
            .iter()
            .filter(|mark| matches!(mark, Mark::Done(outcome) if outcome.passed()));
        (
            format!("{}/{} passed again", passed.count(), again.len()),
            Role::Text,
        )
    } else {
        words::standing(app, summary)
    };
    vec![canvas.dim(format!("  {sign} ")), canvas.span(role, words)]
}

/// The suite that runs now, how far it is, and its rate in cases a second.
fn progress(app: &App) -> Option<(&'static str, usize, usize, f64)> {
    let run = app.open.as_ref().filter(|run| run.status.live())?;
    let (stage, subject) = run.state.stage?;
    let suite = match stage {
        Stage::Official => Suite::Official,
        Stage::Probes => Suite::Probes,
        // gold runs both: the one that is not through
        Stage::Calibrate => Suite::ALL.into_iter().find(|suite| {
            run.state
                .suite(subject, *suite)
                .is_some_and(|state| !state.finished)
        })?,
        _ => return None,
    };
    let state = run.state.suite(subject, suite)?;
    let done = state.results.len();
    let since = run.state.stage_since_s.unwrap_or(app.now_s);
    let rate = done as f64 / (app.now_s - since).max(0.001);
    let name = match (subject, suite) {
        (crate::domain::Subject::Gold, Suite::Official) => "gold off",
        (crate::domain::Subject::Gold, Suite::Probes) => "gold prb",
        (_, Suite::Official) => "official",
        (_, Suite::Probes) => "probes",
    };
    Some((name, done, state.order.len().max(done), rate))
}

fn draw_progress(canvas: &mut Canvas<'_>, name: &str, done: usize, total: usize, rate: f64) {
    let left_s = if rate > 0.0 && done > 0 {
        figures::duration((total - done) as f64 / rate)
    } else {
        canvas.app.ui.glyphs.dash.into()
    };
    let words = format!(" {done}/{total}  {rate:.1}/s  {left_s} left ");
    let cells = canvas.width().saturating_sub(text::width(&words) + 11);
    let mut spans = vec![canvas.span(Role::Running, format!(" {name:<8} "))];
    let part = done as f64 / total.max(1) as f64;
    spans.extend(meter::filled(canvas, part, cells, Role::Running));
    spans.push(canvas.span(Role::Text, words));
    canvas.put(0, &Line::from(spans));
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
        }
        (Some(run), _) if run.loaded => {
            rows.push(Line::from(canvas.dim("this run has no cases")));
            if let Some(fault) = &run.state.fault {
                rows.extend(canvas.block(Role::Fault, fault, room));
            } else if let Some(cause) = run.state.grade.as_ref().and_then(|g| g.cause) {
                let words = format!("cause: {}", cause.name());
                rows.push(Line::from(canvas.span(Role::Rejected, words)));
            }
            rows.push(Line::from(canvas.hint("l", "shows what was said")));
        }
        (Some(_), _) => rows.push(Line::from(canvas.dim("reading the run…"))),
        (None, Some(_)) => {
            rows.push(Line::from(canvas.dim("not graded yet")));
            rows.push(Line::from(
                canvas.hint("g", "grades it: official tests, then probes, beside gold"),
            ));
        }
        (None, None) => {
            rows.push(Line::from(canvas.dim("select a submission, gold or base")));
            rows.push(Line::from(canvas.hint("t", "goes to the tasks")));
        }
    }
    canvas.empty(&rows);
}

fn draw_list(canvas: &mut Canvas<'_>) {
    let app = canvas.app;
    if app.cases.shown.is_empty() {
        let rows = [
            Line::from(canvas.dim("no case passes the filter")),
            Line::from(canvas.hint("esc", "clears it")),
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
    let spare = room.saturating_sub(text::width(&name) + 2);
    let role = if row.rejected() {
        Role::Strong
    } else {
        Role::Text
    };
    left.push(canvas.span(role, name));
    if spare > 8 {
        let file = text::cut_start(file, spare, app.ui.glyphs.ellipsis);
        left.push(canvas.dim(format!("  {file}")));
    }
    canvas.put(at, &Line::from(left));
    canvas.put_right(at, &right);
}

/// A test's name in so many columns; its parameters tell siblings apart and are kept.
fn cut_name(name: &str, room: usize, ellipsis: &str) -> String {
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
fn split_id(id: &str) -> (&str, &str) {
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
