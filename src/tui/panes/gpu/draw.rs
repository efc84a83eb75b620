//! One row a GPU, or the reason; the machine's CPU and memory always.

use ratatui::text::Line;

use crate::tui::gpu_view::{GpuView, HostView};
use crate::tui::layout::PaneKind;
use crate::tui::text;
use crate::tui::theme::Role;
use crate::tui::widgets::{Canvas, Title, figures, meter};

use super::rows;

pub fn draw(canvas: &mut Canvas<'_>) {
    let app = canvas.app;
    let title = title(canvas);
    let mut inner = canvas.pane(PaneKind::Gpu, title);
    let Some(view) = &app.gpu.view else {
        let words = app
            .gpu
            .error
            .clone()
            .unwrap_or_else(|| "first sample in a second…".into());
        for (at, line) in text::wrap(&words, inner.width().saturating_sub(2), 4)
            .into_iter()
            .enumerate()
        {
            let line = Line::from(inner.dim(line));
            inner.put_at(at, 1, &line);
        }
        return;
    };
    let width = inner.width();
    let mut machine: Vec<Line<'static>> = Vec::new();
    host_rows(&inner, &view.host, width, &mut machine);
    if let Some(reason) = &view.reason {
        for line in text::wrap(reason, width.saturating_sub(2), 6) {
            machine.push(Line::from(inner.dim(format!(" {line}"))));
        }
    }
    let first = app.gpu.offset.min(view.gpus.len().saturating_sub(1));
    let room = inner.height().saturating_sub(machine.len());
    // GPUs come first where there are some: they are what the pane is for
    let mut rows = rows::of_gpus(&inner, view, first, width, room);
    rows.extend(machine);
    for (at, line) in rows.iter().enumerate() {
        inner.put(at, line);
    }
}

fn title(canvas: &Canvas<'_>) -> Title {
    let app = canvas.app;
    let mut left = Vec::new();
    if let Some(GpuView { gpus, .. }) = &app.gpu.view {
        left.push(canvas.span(Role::Title, "gpu"));
        let words = match gpus.len() {
            0 => " · none · machine".to_owned(),
            1 => format!(" · 1x {}", text::clean(&gpus[0].name)),
            n => format!(" · {n}x {}", text::clean(&gpus[0].name)),
        };
        left.push(canvas.dim(words));
    }
    let mut right = Vec::new();
    if let (Some(view), false) = (&app.gpu.view, app.gpu.sampling) {
        let at = figures::clock(view.at_s, app.ui.utc_offset_s);
        right.push(canvas.dim(format!("as of {at}, any key samples")));
    }
    Title { left, right }
}

fn host_rows(canvas: &Canvas<'_>, host: &HostView, width: usize, rows: &mut Vec<Line<'static>>) {
    let app = canvas.app;
    let dash = app.ui.glyphs.dash;
    let cells = (width.saturating_sub(34) / 2).clamp(4, 24);
    let cpu = host.cpu_percent;
    let shown = cpu.map_or_else(|| format!("{dash:>3}"), |p| format!("{p:>3.0}"));
    let mut line = vec![
        canvas.dim(" cpu "),
        canvas.span(
            meter::level(cpu.unwrap_or(0.0) / 100.0),
            meter::curve(&app.ui.glyphs, app.gpu.cpu.iter(), cells),
        ),
        canvas.span(Role::Text, format!(" {shown} %")),
    ];
    if host.cores > 0 {
        line.push(canvas.dim(format!(" of {} cores", host.cores)));
    }
    if let Some([one, ..]) = host.load {
        line.push(canvas.dim(format!("  load {one:.1}")));
    }
    rows.push(text::window(line, 0, width));
    let mut line = vec![canvas.dim(" mem ")];
    match (host.memory_used, host.memory_total) {
        (Some(used), Some(total)) => {
            line.extend(meter::bar(canvas, used as f64 / total.max(1) as f64, cells));
            line.push(canvas.span(
                Role::Text,
                format!(" {}/{} GiB", figures::gib(used), figures::gib(total)),
            ));
        }
        _ => line.push(canvas.dim(dash)),
    }
    rows.push(text::window(line, 0, width));
}
