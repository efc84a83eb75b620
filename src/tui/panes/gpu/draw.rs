//! One row a GPU, or the reason; the machine's CPU and memory always.

use ratatui::text::{Line, Span};

use crate::tui::gpu_view::{Figure, GpuRow, GpuView, HostView};
use crate::tui::layout::PaneKind;
use crate::tui::text;
use crate::tui::theme::Role;
use crate::tui::widgets::{Canvas, Title, figures, meter};

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
    let mut rows: Vec<Line<'static>> = Vec::new();
    host_rows(&inner, &view.host, width, &mut rows);
    if let Some(reason) = &view.reason {
        for line in text::wrap(reason, width.saturating_sub(2), 6) {
            rows.push(Line::from(inner.dim(format!(" {line}"))));
        }
    }
    let fixed = rows.len();
    let first = app.gpu.offset.min(view.gpus.len().saturating_sub(1));
    rows.extend(
        view.gpus
            .iter()
            .skip(first)
            .map(|gpu| gpu_row(&inner, gpu, width)),
    );
    // GPUs come first where there are some: they are what the pane is for
    if !view.gpus.is_empty() {
        rows.rotate_left(fixed);
    }
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

/// A figure, or `–` for what a device does not tell.
fn figure<T: Copy>(value: Figure<T>, dash: &str, show: impl Fn(T) -> String) -> String {
    match value {
        Figure::Value(value) => show(value),
        _ => dash.to_owned(),
    }
}

fn gpu_row(canvas: &Canvas<'_>, gpu: &GpuRow, width: usize) -> Line<'static> {
    let app = canvas.app;
    let dash = app.ui.glyphs.dash;
    let mut line = vec![
        canvas.span(Role::Text, format!(" {} ", gpu.index)),
        canvas.span(
            Role::Strong,
            text::cut(&gpu.name, 10, app.ui.glyphs.ellipsis),
        ),
        Span::raw("  "),
    ];
    if let Some(lost) = &gpu.lost {
        let words = format!("LOST {}", text::clean(lost));
        line.push(canvas.span(Role::Fault, words));
        return text::window(line, 0, width);
    }
    let util = gpu.util_percent.value();
    let part = f64::from(util.unwrap_or(0)) / 100.0;
    let curve = app
        .gpu
        .util
        .get(&gpu.uuid)
        .map(|values| meter::curve(&app.ui.glyphs, values.iter(), 8))
        .unwrap_or_default();
    line.push(canvas.dim("util "));
    line.push(canvas.span(meter::level(part), curve));
    let percent = figure(gpu.util_percent, dash, |p| p.to_string());
    line.push(canvas.span(Role::Text, format!(" {percent:>3} %  ")));
    line.push(canvas.dim("mem "));
    let used = figure(gpu.memory_used, dash, figures::gib);
    let total = figure(gpu.memory_total, dash, figures::gib);
    line.push(canvas.span(Role::Text, format!("{used:>5}/{total} GiB ")));
    if let (Some(used), Some(total)) = (gpu.memory_used.value(), gpu.memory_total.value()) {
        let cells = if width > 110 { 10 } else { 6 };
        line.extend(meter::bar(canvas, used as f64 / total.max(1) as f64, cells));
    }
    let power = figure(gpu.power_w, dash, |w| format!("{w:.0}"));
    let limit = figure(gpu.power_limit_w, dash, |w| format!("{w:.0}"));
    line.push(canvas.span(Role::Text, format!("  {power:>4}/{limit} W")));
    let heat = figure(gpu.temperature_c, dash, |c| c.to_string());
    let degrees = if app.ui.glyphs.unicode { "°C" } else { "C" };
    line.push(canvas.span(Role::Text, format!("  {heat:>3}{degrees}")));
    let clock = figure(gpu.sm_mhz, dash, |m| m.to_string());
    line.push(canvas.span(Role::Text, format!("  {clock:>4} MHz  ")));
    let throttle = if gpu.throttle.is_empty() {
        canvas.dim(text::fit(dash, 10, ""))
    } else {
        canvas.span(
            Role::Warn,
            text::fit(&gpu.throttle, 10, app.ui.glyphs.ellipsis),
        )
    };
    line.push(throttle);
    line.push(Span::raw(" "));
    line.push(canvas.span(Role::Accent, text::clean(&gpu.user).into_owned()));
    text::window(line, 0, width)
}
