//! What the pane's border says: both judges' counts, how reruns stand, which filters are on.

use ratatui::layout::Margin;
use ratatui::text::Span;

use crate::domain::Suite;
use crate::tui::backend::{Count, RunStatus};
use crate::tui::panes::words;
use crate::tui::state::{App, OpenRun};
use crate::tui::text;
use crate::tui::theme::Role;
use crate::tui::widgets::{Canvas, Title, figures};

use super::draw::areas;
use super::heat_draw::Grid;
use super::state::{Mark, shown_subject};

fn counts(app: &App, run: &OpenRun, suite: Suite) -> Option<Count> {
    let subject = shown_subject(run, app.target.source.as_ref());
    run.state.suite(subject, suite).map(|state| Count {
        passed: state.passed(),
        collected: state.order.len(),
    })
}

pub fn title(canvas: &Canvas<'_>) -> Title {
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
    let inner = canvas.area.inner(Margin::new(1, 1));
    let rows = usize::from(areas(app, inner).list.height);
    let mut last = Vec::new();
    if app.cases.filtered() {
        last.push(canvas.dim(format!("{}/{}", app.cases.shown.len(), app.cases.all.len())));
    } else if app.cases.rejected() > 0 {
        last.push(canvas.span(Role::Failed, format!("{} rejected", app.cases.rejected())));
    }
    let changed = app.cases.changed();
    if changed > 0 && !app.cases.only_changed {
        last.push(canvas.dim(format!("  {changed} changed")));
    }
    if let Some(part) = figures::part(app.cases.offset, rows, app.cases.shown.len()) {
        last.push(canvas.dim(format!("  {part}")));
    }
    fitted(canvas, left, filters(canvas), last)
}

/// The title of the map of all submissions.
pub fn of_the_map(canvas: &Canvas<'_>) -> Title {
    let app = canvas.app;
    let heat = &app.cases.heat;
    let mut left = vec![canvas.span(Role::Title, "cases")];
    let times = if app.ui.glyphs.unicode { "×" } else { "x" };
    left.push(canvas.dim(format!(" {times} submissions")));
    if let Some(task) = &app.target.task {
        let task = text::cut(task, 24, app.ui.glyphs.ellipsis);
        left.push(canvas.dim(format!(" {} ", app.ui.glyphs.dot)));
        left.push(canvas.span(Role::Text, task));
    }
    let mut on = filters(canvas);
    if heat.hardest_first {
        on.push(canvas.span(Role::Notice, "hardest first "));
    }
    let shown = heat.rows.len();
    let mut last = vec![canvas.dim(if shown == heat.cases {
        format!("{shown} {times} {}", heat.columns.len())
    } else {
        format!("{shown}/{} {times} {}", heat.cases, heat.columns.len())
    })];
    let inner = canvas.area.inner(Margin::new(1, 1));
    let grid = Grid::of(app, inner);
    if let Some(part) = figures::part(heat.top, grid.rows, shown) {
        last.push(canvas.dim(format!("  {part}")));
    }
    fitted(canvas, left, on, last)
}

/// The filters are said before anything else: without room the counts on the left give way.
fn fitted(
    canvas: &Canvas<'_>,
    left: Vec<Span<'static>>,
    on: Vec<Span<'static>>,
    last: Vec<Span<'static>>,
) -> Title {
    let width = |spans: &[Span<'static>]| spans.iter().map(Span::width).sum::<usize>();
    let room = canvas.width().saturating_sub(9);
    let named = left.iter().take(1).cloned().collect::<Vec<_>>();
    let right: Vec<Span<'static>> = on.iter().chain(&last).cloned().collect();
    if width(&left) + width(&right) <= room {
        return Title { left, right };
    }
    if on.is_empty() {
        return Title { left, right: last };
    }
    if width(&named) + width(&right) <= room {
        let short = room - width(&right);
        let left = text::window(left, 0, short).spans;
        return Title { left, right };
    }
    let short = room.saturating_sub(width(&named));
    let right = text::window(on, 0, short).spans;
    Title { left: named, right }
}

/// Which filters are on, and in what order the cases stand.
fn filters(canvas: &Canvas<'_>) -> Vec<Span<'static>> {
    let app = canvas.app;
    let cases = &app.cases;
    let ellipsis = app.ui.glyphs.ellipsis;
    let mut words: Vec<String> = Vec::new();
    if cases.only_rejected {
        let (pass, fail) = if app.ui.glyphs.unicode {
            ("✔", "✘")
        } else {
            ("+", "F")
        };
        let which = if cases.heat.open { "some" } else { "this" };
        words.push(format!("only gold {pass} {which} {fail}"));
    }
    if let Some(suite) = cases.suite {
        words.push(suite.name().to_owned());
    }
    if let Some(only) = &cases.only {
        words.push(format!("only {}", text::cut(only.words(), 28, ellipsis)));
    }
    if !cases.heat.open {
        if cases.only_changed {
            let since = cases.before.as_ref().map_or_else(String::new, |(_, at_s)| {
                let when = figures::moment(*at_s, app.now_s, app.ui.utc_offset_s);
                format!(" since {when}")
            });
            words.push(format!("changed{since}"));
        }
        if cases.slowest_first {
            words.push("slowest first".to_owned());
        }
    }
    if !cases.filter.is_empty() {
        words.push(format!("/{}", text::cut(&cases.filter, 20, ellipsis)));
    }
    let mut out = Vec::new();
    for word in words {
        out.push(canvas.span(Role::Notice, word));
        out.push(Span::raw(" "));
    }
    out
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
