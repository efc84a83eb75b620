//! A card about what is selected: the task, where the submission came from, how its run stands.

use ratatui::text::{Line, Span};

use crate::domain::{EngineChoice, EngineKind, Source, Task};
use crate::tui::backend::RunSummary;
use crate::tui::panes::words;
use crate::tui::text;
use crate::tui::theme::Role;
use crate::tui::widgets::{Canvas, figures};

use super::state::Node;
use super::{agent, status};

pub fn draw(canvas: &mut Canvas<'_>) {
    let app = canvas.app;
    let rule = app.ui.glyphs.rule.repeat(canvas.width());
    let line = Line::from(canvas.span(Role::Border, rule));
    canvas.put(0, &line);
    let Some(row) = app.tree.row() else { return };
    let width = canvas.width().saturating_sub(2);
    let mut rows: Vec<Line<'static>> = Vec::new();
    let task = app.task(&row.task);
    match &row.node {
        Node::Problem(message) => {
            rows.extend(canvas.wrapped(Role::Bad, message, width, canvas.height()));
        }
        Node::Task => {
            if let Some(task) = task {
                task_rows(canvas, task, width, &mut rows);
            }
        }
        Node::Source(source) | Node::Run(source, _) => {
            if let Some(task) = task {
                source_rows(canvas, task, source, width, &mut rows);
            }
            let run = app.target.run.as_ref().and_then(|id| app.summary(id));
            if let Some(run) = run {
                run_rows(canvas, run, width, &mut rows);
            }
            if let Source::Agent { run, .. } = source {
                agent::rows(canvas, run, width, &mut rows);
            }
            if let Some(run) = run {
                rows.push(id_row(canvas, run, width));
            }
        }
    }
    // the last row names the run: it stays where there is no room for all
    let room = canvas.height().saturating_sub(1);
    if rows.len() > room {
        let last = rows.pop();
        rows.truncate(room.saturating_sub(1));
        rows.extend(last);
    }
    for (at, line) in rows.iter().enumerate() {
        canvas.put_at(at + 1, 1, line);
    }
}

fn task_rows(canvas: &Canvas<'_>, task: &Task, width: usize, rows: &mut Vec<Line<'static>>) {
    let spec = &task.spec;
    rows.extend(canvas.wrapped(Role::Strong, &spec.title, width, 2));
    let probed = if spec.suites.probes.is_some() {
        format!("{} claims", spec.claims.len())
    } else {
        "unprobed".to_owned()
    };
    let (area, kind) = (spec.area.name(), spec.kind.name());
    let facts = format!(
        "{} · {probed} · {area} {kind}",
        text::clean(&spec.repository)
    );
    rows.push(Line::from(canvas.dim(text::cut(
        &facts,
        width,
        canvas.app.ui.glyphs.ellipsis,
    ))));
    if let Some((word, role)) = status::word(canvas.app, task) {
        let mut line = vec![canvas.span(role, word), Span::raw("  ")];
        line.extend(status::tally(canvas, task));
        rows.push(text::window(line, 0, width));
    }
    if let Some((need, seen)) = words::gpu_need(canvas.app, &spec.hardware) {
        let mut line = vec![canvas.span(Role::Text, format!("needs {need}"))];
        if let Some(here) = &seen {
            let words = here.as_ref().map_or_else(
                || "none here".to_owned(),
                |h| {
                    let name = text::clean(&h.name);
                    format!("here {}x {name}, {} free", h.there, h.free)
                },
            );
            let role = if words::too_few(&spec.hardware, here.as_ref()) {
                Role::Warn
            } else {
                Role::Dim
            };
            let dot = canvas.app.ui.glyphs.dot;
            line.push(canvas.span(role, format!(" {dot} {words}")));
        }
        rows.push(text::window(line, 0, width));
    }
    if let Some(words) = canvas.app.missing.get(&spec.id) {
        let words = format!("{words}: `infradev check {}` says how to get it", spec.id);
        rows.extend(canvas.wrapped(Role::Warn, &words, width, 3));
    }
    // as much as there is room for, and a mark where that is not all
    let room = canvas.height().saturating_sub(rows.len() + 1).clamp(1, 6);
    rows.extend(canvas.wrapped(Role::Text, &spec.summary, width, room));
}

fn source_rows(
    canvas: &Canvas<'_>,
    task: &Task,
    source: &Source,
    width: usize,
    rows: &mut Vec<Line<'static>>,
) {
    let cut = |words: &str| text::cut(words, width, canvas.app.ui.glyphs.ellipsis);
    match source {
        Source::Gold => {
            rows.push(Line::from(canvas.span(Role::Strong, "gold")));
            rows.push(Line::from(canvas.dim(cut(
                "the merged change: the reference that calibrates the task",
            ))));
        }
        Source::Base => {
            rows.push(Line::from(canvas.span(Role::Strong, "base")));
            rows.push(Line::from(
                canvas.dim(cut("the repository just before the change")),
            ));
        }
        Source::Patch { file } => {
            rows.push(Line::from(canvas.span(Role::Strong, "patch")));
            rows.push(Line::from(canvas.dim(text::cut_start(
                &file.display().to_string(),
                width,
                canvas.app.ui.glyphs.ellipsis,
            ))));
        }
        Source::Agent { name, run } => {
            let who = agent::who(canvas, name, run);
            rows.push(Line::from(canvas.span(Role::Strong, cut(&who))));
        }
        Source::Submission { name } => {
            let Some(submission) = task.submission(name) else {
                return;
            };
            let spec = &submission.spec;
            let mut who = format!("{} · {}", spec.agent, spec.model);
            if let Some(effort) = &spec.effort {
                who = format!("{who} · {effort}");
            }
            rows.push(Line::from(canvas.span(Role::Strong, cut(&who))));
            let mut facts = Vec::new();
            if let Some(minutes) = spec.minutes {
                facts.push(figures::duration(minutes * 60.0));
            }
            if let Some(usage) = &spec.usage {
                facts.push(format!(
                    "in {} out {}",
                    figures::tokens(usage.input + usage.cache_read + usage.cache_write),
                    figures::tokens(usage.output + usage.reasoning)
                ));
            }
            if let Some(cost) = spec.cost_usd {
                facts.push(format!("${cost:.2}"));
            }
            if let Some(expected) = spec.expected {
                facts.push(format!("expected {}", expected.name()));
            }
            if !facts.is_empty() {
                rows.push(Line::from(canvas.dim(cut(&facts.join(" · ")))));
            }
            if let Some(note) = &spec.note {
                rows.extend(canvas.wrapped(Role::Dim, note, width, 3));
            }
        }
    }
}

fn run_rows(canvas: &Canvas<'_>, run: &RunSummary, width: usize, rows: &mut Vec<Line<'static>>) {
    let app = canvas.app;
    // an agent's rows are many: its verdict comes first
    if !matches!(run.source, Source::Agent { .. }) {
        rows.push(Line::default());
    }
    let (word, role) = words::standing(app, run);
    let mut first = vec![canvas.span(role, word)];
    for badge in &run.badges {
        first.push(canvas.span(Role::Badge, format!(" {}", badge.name())));
    }
    if let Some(cause) = run.cause {
        first.push(canvas.dim(format!("  cause {}", cause.name())));
    }
    if !run.status.live() {
        first.push(canvas.dim(format!("  {}", words::elapsed(app, run))));
    }
    rows.push(Line::from(first));
    if run.fault.is_none() || run.official.is_some() || run.probes.is_some() {
        let pair = words::pair(app, run.official, run.probes, words::pair_width(app));
        rows.push(Line::from(pair));
    }
    if let Some(fault) = &run.fault {
        // the run's own row below it is kept
        let room = canvas.height().saturating_sub(rows.len() + 2).max(2);
        rows.extend(canvas.wrapped(Role::Fault, fault, width, room));
        let docker = run.engine == Some(EngineKind::Docker)
            || (run.engine.is_none() && app.engine == EngineChoice::Docker);
        if docker && app.engine != EngineChoice::Local {
            let words = app
                .ui
                .keymap
                .fill("{engine} chooses where new runs run: local needs no daemon");
            rows.extend(canvas.wrapped(Role::Dim, &words, width, 2));
        }
    }
}

fn id_row(canvas: &Canvas<'_>, run: &RunSummary, width: usize) -> Line<'static> {
    let engine = run
        .engine
        .map_or_else(String::new, |engine| format!(" · engine {}", engine.name()));
    let room = width.saturating_sub(4 + text::width(&engine));
    let id = text::cut(&run.id.0, room, canvas.app.ui.glyphs.ellipsis);
    Line::from(canvas.dim(format!("run {id}{engine}")))
}
