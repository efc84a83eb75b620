//! One GPU alone: every figure that the driver tells, and its curves.

use ratatui::text::{Line, Span};

use crate::tui::gpu_view::{Figure, GpuRow, GpuView};
use crate::tui::text;
use crate::tui::theme::Role;
use crate::tui::widgets::{Canvas, figures, meter};

use super::history::{History, Sample};
use super::rows::instance;
use super::state::key;

/// Columns of what a row is called.
const LABEL: usize = 9;
/// Columns of the newest value beside its curve.
const VALUE: usize = 10;
/// Highest curve, in rows.
const HIGH: usize = 5;

/// What is known of it, without its curves.
pub fn facts(
    canvas: &Canvas<'_>,
    view: &GpuView,
    gpu: &GpuRow,
    width: usize,
) -> Vec<Line<'static>> {
    let mut rows: Vec<Line<'static>> = Vec::new();
    let mut put = |label: &str, role: Role, words: String| {
        let spans = vec![
            canvas.dim(format!(" {label:<LABEL$}")),
            canvas.span(role, words),
        ];
        rows.push(text::window(spans, 0, width));
    };
    let clean = |words: &str| text::clean(words).into_owned();
    let more = &gpu.more;
    let dot = format!(" {} ", canvas.app.ui.glyphs.dot);
    let join = |parts: &[String]| parts.join(&dot);
    let mut name = vec![clean(&gpu.name), clean(&gpu.uuid)];
    name.extend(more.bus_id.as_deref().map(clean));
    put(&format!("GPU {}", gpu.index), Role::Strong, join(&name));
    if let Some(since) = gpu.lost_since_s {
        let at = figures::clock(since, canvas.app.ui.utc_offset_s);
        let words =
            format!("LOST {at}: it does not answer any more; what ran on it is a harness fault");
        put("state", Role::Fault, words);
    } else {
        let age_s = (view.at_s - gpu.read_at_s).max(0.0);
        let mut state = vec![said(canvas, gpu.pstate, |p| format!("P{p}"))];
        state.extend(
            more.compute_mode
                .as_deref()
                .map(|mode| format!("compute {}", clean(mode))),
        );
        let kept = |on: bool| format!("persistence {}", if on { "on" } else { "off" });
        state.extend(more.persistence.value().map(kept));
        state.push(format!("read {} ago", figures::duration(age_s)));
        put("state", Role::Text, join(&state));
        put("clocks", Role::Text, join(&clocks(canvas, gpu)));
        let (role, words) = match (gpu.throttle.is_empty(), gpu.throttle_told) {
            (false, _) => (Role::Warn, clean(&gpu.throttle)),
            (true, true) => (Role::Text, "none".into()),
            (true, false) => (Role::Dim, unknown(canvas, &gpu.pstate)),
        };
        put("throttle", role, words);
        put("temp", Role::Text, join(&heat(canvas, gpu)));
        put("power", Role::Text, join(&power(canvas, gpu)));
        put("memory", Role::Text, join(&memory(canvas, gpu)));
        let errors = |value| said(canvas, value, |count: u64| count.to_string());
        let bad = gpu.ecc_errors.value().is_some_and(|count| count > 0);
        let words = format!(
            "{} corrected{dot}{} uncorrected, since the driver was loaded",
            errors(more.ecc_corrected),
            errors(gpu.ecc_errors)
        );
        put("ECC", if bad { Role::Bad } else { Role::Text }, words);
        put("PCIe", Role::Text, join(&pcie(canvas, gpu)));
        put("NVLink", Role::Text, join(&nvlink(canvas, gpu)));
    }
    let lease = more
        .lease
        .as_deref()
        .map_or_else(|| canvas.app.ui.glyphs.dash.to_owned(), clean);
    put("lease", Role::Text, lease);
    for part in &gpu.mig {
        rows.push(text::window(instance(canvas, gpu, part), 0, width));
    }
    rows
}

/// A value, or the word for why there is none.
fn said<T: Copy>(canvas: &Canvas<'_>, value: Figure<T>, show: impl Fn(T) -> String) -> String {
    match value {
        Figure::Value(value) => show(value),
        none => unknown(canvas, &none),
    }
}

fn unknown<T>(canvas: &Canvas<'_>, value: &Figure<T>) -> String {
    let dash = canvas.app.ui.glyphs.dash;
    match value {
        Figure::NoPermission => format!("{dash} (no permission)"),
        _ => format!("{dash} (not told)"),
    }
}

fn clocks(canvas: &Canvas<'_>, gpu: &GpuRow) -> [String; 2] {
    let one = |name: &str, now: Figure<u32>, most: Figure<u32>| {
        let now = said(canvas, now, |mhz| mhz.to_string());
        let most = most
            .value()
            .map_or(String::new(), |mhz| format!(" of {mhz}"));
        format!("{name} {now}{most} MHz")
    };
    let more = &gpu.more;
    [
        one("SM", gpu.sm_mhz, more.sm_max_mhz),
        one("memory", more.memory_mhz, more.memory_max_mhz),
    ]
}

fn heat(canvas: &Canvas<'_>, gpu: &GpuRow) -> Vec<String> {
    let more = &gpu.more;
    let mut parts = vec![said(canvas, gpu.temperature_c, |c| format!("{c} C"))];
    let limit = |words: &str, at: Figure<u32>| at.value().map(|c| format!("{words} at {c}"));
    parts.extend(limit("slowdown", more.slowdown_c));
    parts.extend(limit("shutdown", more.shutdown_c));
    parts.extend(
        more.fan_percent
            .value()
            .map(|percent| format!("fan {percent} %")),
    );
    parts
}

fn power(canvas: &Canvas<'_>, gpu: &GpuRow) -> Vec<String> {
    let watts = |value| said(canvas, value, |w: f64| format!("{w:.0}"));
    let mut parts = vec![format!(
        "{} of {} W",
        watts(gpu.power_w),
        watts(gpu.power_limit_w)
    )];
    let energy = gpu.more.energy_j.value();
    parts.extend(energy.map(|j| format!("{:.1} kWh since the driver was loaded", j / 3.6e6)));
    parts
}

fn memory(canvas: &Canvas<'_>, gpu: &GpuRow) -> Vec<String> {
    let gib = |value| said(canvas, value, figures::gib);
    let busy = said(canvas, gpu.more.memory_busy_percent, |p| format!("{p} %"));
    vec![
        format!("{} of {} GiB", gib(gpu.memory_used), gib(gpu.memory_total)),
        format!("busy {busy} of the time"),
    ]
}

/// What comes in and goes out, as far as it is told.
fn traffic(canvas: &Canvas<'_>, [received, sent]: [Figure<u64>; 2]) -> [String; 2] {
    let rate = |value| said(canvas, value, figures::rate);
    [
        format!("in {}", rate(received)),
        format!("out {}", rate(sent)),
    ]
}

fn pcie(canvas: &Canvas<'_>, gpu: &GpuRow) -> Vec<String> {
    let more = &gpu.more;
    let link = said(canvas, more.pcie_link, |[generation, width]| {
        format!("gen {generation} x{width}")
    });
    let most = more
        .pcie_link_max
        .map_or(String::new(), |[generation, width]| {
            format!(" of gen {generation} x{width}")
        });
    let mut parts = vec![link + &most];
    parts.extend(traffic(canvas, more.pcie));
    parts
}

fn nvlink(canvas: &Canvas<'_>, gpu: &GpuRow) -> Vec<String> {
    let more = &gpu.more;
    let mut parts = vec![said(canvas, more.nvlinks, |[active, links]| {
        format!("{active} of {links} links up")
    })];
    if more.nvlinks.value().is_some() {
        parts.extend(traffic(canvas, more.nvlink));
    }
    parts
}

/// Utilisation, memory, power and temperature over the span, in at most `room` rows, and how far
/// they go back.
pub fn curves(
    canvas: &Canvas<'_>,
    view: &GpuView,
    gpu: &GpuRow,
    width: usize,
    room: usize,
) -> Vec<Line<'static>> {
    let state = &canvas.app.gpu;
    let Some(history) = state.history.get(&key(gpu)) else {
        return Vec::new();
    };
    let limit = gpu.power_limit_w.value().filter(|limit| *limit > 0.0);
    let hottest = gpu.more.slowdown_c.value().unwrap_or(100).max(1);
    let dash = canvas.app.ui.glyphs.dash;
    let percent = |value: Option<f32>| value.map_or(dash.into(), |p| format!("{p:.0} %"));
    let last = history.at(gpu.read_at_s).copied().unwrap_or_default();
    let all = [
        (
            "util",
            percent(last.util),
            1.0,
            (|s| s.util) as fn(&Sample) -> Option<f32>,
        ),
        ("memory", percent(last.memory), 1.0, |s| s.memory),
        (
            "power",
            last.power_w.map_or(dash.into(), |w| format!("{w:.0} W")),
            100.0 / limit.unwrap_or(1000.0),
            |s| s.power_w,
        ),
        (
            "temp",
            last.heat_c.map_or(dash.into(), |c| format!("{c:.0} C")),
            100.0 / f64::from(hottest),
            |s| s.heat_c,
        ),
    ];
    let cells = width.saturating_sub(LABEL + VALUE + 2);
    let high = (room.saturating_sub(1) / all.len()).min(HIGH);
    if high == 0 || cells < 8 {
        return Vec::new();
    }
    let mut rows = Vec::new();
    for (name, value, scale, of) in all {
        let chart = chart(canvas, view, history, [cells, high], scale, of);
        for (at, line) in chart.into_iter().enumerate() {
            let label = if at == 0 { name } else { "" };
            let value = if at == 0 { value.as_str() } else { "" };
            let mut spans = vec![
                canvas.dim(format!(" {label:<LABEL$}")),
                canvas.span(Role::Text, format!("{value:>w$} ", w = VALUE - 1)),
            ];
            spans.push(line);
            rows.push(text::window(spans, 0, width));
        }
    }
    let back = format!("{} ago", figures::duration(state.span_s()));
    let fill = cells.saturating_sub(back.len() + 3);
    let words = format!(
        "{}{back}{}now",
        " ".repeat(LABEL + VALUE + 1),
        " ".repeat(fill)
    );
    rows.push(text::window(vec![canvas.dim(words)], 0, width));
    rows.into_iter().take(room).collect()
}

fn chart(
    canvas: &Canvas<'_>,
    view: &GpuView,
    history: &History,
    [cells, high]: [usize; 2],
    scale: f64,
    of: fn(&Sample) -> Option<f32>,
) -> Vec<Span<'static>> {
    let state = &canvas.app.gpu;
    let means = history.means(view.at_s, state.span_s(), cells, of);
    let percents: Vec<Option<f64>> = means.iter().map(|m| m.map(|m| m * scale)).collect();
    let newest = percents.iter().rev().find_map(|p| *p).unwrap_or(0.0);
    let rows = meter::tall(&canvas.app.ui.glyphs, &percents, high);
    let role = meter::level(newest / 100.0);
    rows.into_iter().map(|row| canvas.span(role, row)).collect()
}
