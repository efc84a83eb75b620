//! The machine beside the GPUs: processors, memory, disks.

use ratatui::text::{Line, Span};

use crate::tui::gpu_view::{DiskView, HostView};
use crate::tui::text;
use crate::tui::theme::Role;
use crate::tui::widgets::{Canvas, figures, meter};

/// Less than this part of a disk, or so many bytes, is marked.
const LOW_PART: f64 = 0.1;
const LOW_BYTES: u64 = 20 << 30;

/// In two rows, or in one where `rows` is less: then the disks go first.
pub fn lines(
    canvas: &Canvas<'_>,
    at_s: f64,
    host: &HostView,
    width: usize,
    rows: usize,
) -> Vec<Line<'static>> {
    let cells = (width.saturating_sub(34) / 2).clamp(4, 24);
    match rows {
        0 => Vec::new(),
        1 => {
            let mut line = processors(canvas, at_s, host, 8);
            line.extend(memory(canvas, host, 6));
            line.extend(disks(canvas, host));
            vec![text::window(line, 0, width)]
        }
        _ => {
            let mut below = memory(canvas, host, cells);
            below.extend(disks(canvas, host));
            vec![
                text::window(processors(canvas, at_s, host, cells), 0, width),
                text::window(below, 0, width),
            ]
        }
    }
}

fn processors(canvas: &Canvas<'_>, at_s: f64, host: &HostView, cells: usize) -> Vec<Span<'static>> {
    let app = canvas.app;
    let glyphs = &app.ui.glyphs;
    let cpu = host.cpu_percent;
    let shown = cpu.map_or_else(|| format!("{:>3}", glyphs.dash), |p| format!("{p:>3.0}"));
    let means = app
        .gpu
        .host
        .means(at_s, app.gpu.span_s(), cells, |s| s.util);
    let mut line = vec![
        canvas.dim(" cpu "),
        canvas.span(
            meter::level(cpu.unwrap_or(0.0) / 100.0),
            meter::curve(glyphs, &means),
        ),
        canvas.span(Role::Text, format!(" {shown} %")),
    ];
    if host.cores > 0 {
        line.push(canvas.dim(format!(" of {} cores", host.cores)));
    }
    if let Some([one, ..]) = host.load {
        line.push(canvas.dim(format!("  load {one:.1}")));
    }
    line
}

fn memory(canvas: &Canvas<'_>, host: &HostView, cells: usize) -> Vec<Span<'static>> {
    let mut line = vec![canvas.dim(" mem ")];
    match (host.memory_used, host.memory_total) {
        (Some(used), Some(total)) => {
            line.extend(meter::bar(canvas, used as f64 / total.max(1) as f64, cells));
            let words = format!(" {}/{} GiB", figures::gib(used), figures::gib(total));
            line.push(canvas.span(Role::Text, words));
        }
        _ => line.push(canvas.dim(canvas.app.ui.glyphs.dash)),
    }
    line
}

/// What is free where the home lies, and where its cache does if that is another disk.
fn disks(canvas: &Canvas<'_>, host: &HostView) -> Vec<Span<'static>> {
    let mut line = disk(canvas, "home", host.home_disk);
    if host.cache_disk != host.home_disk {
        line.extend(disk(canvas, "cache", host.cache_disk));
    }
    line
}

fn disk(canvas: &Canvas<'_>, name: &str, disk: Option<DiskView>) -> Vec<Span<'static>> {
    let mut line = vec![canvas.dim(format!("  {name} "))];
    match disk {
        Some(DiskView { free, total }) => {
            let low = free < LOW_BYTES || (free as f64) < total as f64 * LOW_PART;
            let role = if low { Role::Warn } else { Role::Text };
            line.push(canvas.span(role, format!("{} GiB free", free >> 30)));
            line.push(canvas.dim(format!(" of {}", total >> 30)));
        }
        None => line.push(canvas.dim(canvas.app.ui.glyphs.dash)),
    }
    line
}
