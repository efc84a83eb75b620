//! Processes on GPUs as a table: as much of each as there is room for.

use ratatui::text::{Line, Span};

use crate::tui::gpu_view::{GpuRow, GpuView, ProcessRow, UseKind};
use crate::tui::text;
use crate::tui::theme::Role;
use crate::tui::widgets::{Canvas, figures};

use super::rows::{Rows, figure};
use super::state::{Item, Sort};

/// Narrower than this, what a process costs the machine is left out; below the next, its user.
const WIDE: usize = 90;
const MIDDLE: usize = 56;

/// A heading and the processes among `items`, in at most `room` rows around the selected one.
pub fn table(
    canvas: &Canvas<'_>,
    view: &GpuView,
    items: &[Item],
    width: usize,
    room: usize,
) -> (Option<Line<'static>>, Rows) {
    let state = &canvas.app.gpu;
    let found: Vec<(Item, &GpuRow, &ProcessRow)> = items
        .iter()
        .filter_map(|item| Some((*item, state.gpu(*item)?, state.process(*item)?)))
        .collect();
    // a single row of many tells less than the users beside the GPUs
    if room <= found.len().min(2) || (found.is_empty() && state.filter.is_empty()) {
        return (None, Vec::new());
    }
    let columns = Columns::of(canvas, view, &found, width);
    let rows = room.saturating_sub(1);
    let selected = state.item();
    let at = found.iter().position(|(item, ..)| Some(*item) == selected);
    let first = around(at.unwrap_or(0), rows, found.len());
    let seen = found.iter().skip(first).take(rows);
    let lines = seen
        .map(|(item, gpu, process)| (*item, columns.line(canvas, gpu, process)))
        .collect();
    let more = figures::part(first, rows, found.len());
    (Some(columns.head(canvas, found.len(), more)), lines)
}

/// The first of `rows` rows of a list that has the selected one in its middle.
pub fn around(selected: usize, rows: usize, len: usize) -> usize {
    let last = len.saturating_sub(rows);
    selected.saturating_sub(rows / 2).min(last)
}

struct Columns {
    at_s: f64,
    width: usize,
    gpu: usize,
    user: usize,
    who: usize,
}

impl Columns {
    fn of(
        canvas: &Canvas<'_>,
        view: &GpuView,
        found: &[(Item, &GpuRow, &ProcessRow)],
        width: usize,
    ) -> Self {
        let wide = |of: fn(&ProcessRow) -> &str, least: usize, most: usize| {
            let all = found
                .iter()
                .map(|(.., row)| text::width(&text::clean(of(row))));
            all.max().unwrap_or(0).clamp(least, most)
        };
        let parts = found.iter().any(|(.., row)| row.instance.is_some());
        // while it stands still, so does what elapses
        let now_s = if canvas.app.gpu.sampling {
            view.at_s.max(canvas.app.now_s)
        } else {
            view.at_s
        };
        Self {
            at_s: now_s,
            width,
            gpu: if parts { 5 } else { 3 },
            user: wide(|row| &row.user, 4, 10),
            who: wide(|row| &row.who, 5, if width < WIDE { 16 } else { 28 }),
        }
    }

    fn head(&self, canvas: &Canvas<'_>, all: usize, part: Option<String>) -> Line<'static> {
        let sort = canvas.app.gpu.sort();
        let mark = |name: &str, by: Sort| {
            if sort == by && by != Sort::Gpu {
                format!(
                    "{name}{}",
                    if canvas.app.ui.glyphs.unicode {
                        "▾"
                    } else {
                        "v"
                    }
                )
            } else {
                name.to_owned()
            }
        };
        let (wide, middle) = (self.width >= WIDE, self.width >= MIDDLE);
        let words: String = [
            Some(format!(" {:<w$} {:>8} ", "GPU", "PID", w = self.gpu)),
            middle.then(|| format!("TYP {:<w$} ", "USER", w = self.user)),
            Some(format!("{:>11} ", mark("GPU-MEM", Sort::Memory))),
            Some(format!("{:>5} ", mark("SM%", Sort::Sm))),
            wide.then(|| format!("{:>6} ", mark("CPU%", Sort::Cpu))),
            middle.then(|| format!("{:>6} ", mark("TIME", Sort::Time))),
            Some(format!(" {:<w$}  COMMAND", "WHOSE", w = self.who)),
        ]
        .into_iter()
        .flatten()
        .collect();
        let filter = text::clean(&canvas.app.gpu.filter).into_owned();
        let said = match (filter.is_empty(), part) {
            (true, None) => String::new(),
            (true, Some(part)) => format!("  {part}"),
            (false, part) => {
                let shown = part.unwrap_or_else(|| all.to_string());
                format!("  {shown} with `{filter}`")
            }
        };
        let mut line = vec![canvas.dim(words)];
        line.push(canvas.span(Role::Accent, said));
        text::window(line, 0, self.width)
    }

    fn line(&self, canvas: &Canvas<'_>, gpu: &GpuRow, process: &ProcessRow) -> Line<'static> {
        let glyphs = &canvas.app.ui.glyphs;
        let dash = glyphs.dash;
        let place = match process.instance {
            Some(part) => format!("{}:{part}", gpu.index),
            None => gpu.index.to_string(),
        };
        let mut spans: Vec<Span<'static>> = vec![
            canvas.dim(format!(" {place:<w$} ", w = self.gpu)),
            canvas.span(Role::Text, format!("{:>8} ", process.pid)),
        ];
        if self.width >= MIDDLE {
            let user = if process.user.is_empty() {
                dash
            } else {
                &process.user
            };
            let user = text::fit(user, self.user, glyphs.ellipsis);
            spans.push(canvas.dim(format!("{:<3} {user} ", process.kind)));
        }
        let memory = figure(process.memory, dash, figures::mib);
        let sm = figure(process.sm_percent, dash, |percent| percent.to_string());
        spans.push(canvas.span(Role::Text, format!("{memory:>11} {sm:>5} ")));
        if self.width >= WIDE {
            let cpu = figure(process.cpu_percent, dash, |percent| format!("{percent:.0}"));
            spans.push(canvas.span(Role::Text, format!("{cpu:>6} ")));
        }
        if self.width >= MIDDLE {
            let since = figure(process.started_s, dash, |at| figures::whole(self.at_s - at));
            spans.push(canvas.span(Role::Text, format!("{since:>6} ")));
        }
        // somebody else on a GPU that a run has leased takes away what it measures
        let leased = |kind| matches!(kind, UseKind::Run | UseKind::Leased);
        let role = match &process.run {
            Some(_) => Role::Accent,
            None if gpu.uses.iter().any(|used| leased(used.kind)) => Role::Warn,
            None => Role::Text,
        };
        let who = text::fit(&process.who, self.who, glyphs.ellipsis);
        spans.push(canvas.span(role, format!(" {who}  ")));
        spans.push(canvas.dim(text::clean(&process.command).into_owned()));
        text::window(spans, 0, self.width)
    }
}
