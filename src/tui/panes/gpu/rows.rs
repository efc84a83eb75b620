//! GPUs as rows: their figures, who holds them, their processes; as much of it as there is room.

use ratatui::text::{Line, Span};

use crate::tui::gpu_view::{Figure, GpuRow, GpuUse, GpuView, ProcessRow, UseKind};
use crate::tui::text;
use crate::tui::theme::Role;
use crate::tui::widgets::{Canvas, figures, meter};

/// Columns of the index, where what follows the first row of a GPU begins.
const INDENT: usize = 3;
/// What is left out before a figure is.
const BAR: u8 = 1;
/// Columns between parts.
const GAP: usize = 2;
/// Columns for those who use a GPU where each has one row.
const SHORT_USES: usize = 20;
/// Figures older than this many seconds say so.
const OLD_S: f64 = 3.0;

/// The GPUs from `first` on in at most `room` rows: each with all its parts if all have that
/// much room, else each in one row.
pub fn of_gpus(
    canvas: &Canvas<'_>,
    view: &GpuView,
    first: usize,
    width: usize,
    room: usize,
) -> Vec<Line<'static>> {
    let gpus = view.gpus.get(first..).unwrap_or_default();
    let uses = if width > 130 { width / 3 } else { width / 2 };
    let whole: Vec<Vec<Line<'static>>> = gpus
        .iter()
        .map(|gpu| flow(canvas, parts(canvas, view, gpu, width, uses), width))
        .collect();
    let needed: usize = whole.iter().map(Vec::len).sum();
    if needed > room {
        let short = |gpu| parts(canvas, view, gpu, width, SHORT_USES);
        return squeeze(canvas, gpus.iter().map(short).collect(), width);
    }
    let mut spare = room - needed;
    let mut rows = Vec::new();
    for (at, (gpu, lines)) in gpus.iter().zip(whole).enumerate() {
        rows.extend(lines);
        // what a GPU leaves is the next ones' to use
        let share = spare / (gpus.len() - at);
        let listed = processes(canvas, &gpu.processes, width, share);
        spare -= listed.len();
        rows.extend(listed);
    }
    rows
}

/// Something that stands together; the least `keep` goes first where room is short.
struct Part {
    keep: u8,
    /// Columns before it.
    gap: usize,
    spans: Vec<Span<'static>>,
}

impl Part {
    fn width(&self) -> usize {
        self.spans.iter().map(Span::width).sum()
    }
}

/// A figure, or `–` for what a device does not tell.
fn figure<T: Copy>(value: Figure<T>, dash: &str, show: impl Fn(T) -> String) -> String {
    value.value().map_or_else(|| dash.to_owned(), show)
}

fn parts(
    canvas: &Canvas<'_>,
    view: &GpuView,
    gpu: &GpuRow,
    width: usize,
    room: usize,
) -> Vec<Part> {
    let app = canvas.app;
    let glyphs = &app.ui.glyphs;
    let dash = glyphs.dash;
    let text = |words: String| canvas.span(Role::Text, words);
    let name = text::cut(&gpu.name, 10, glyphs.ellipsis);
    let mut parts = Vec::new();
    let mut add = |keep: u8, spans: Vec<Span<'static>>| {
        parts.push(Part {
            keep,
            // a bar belongs to the figure before it
            gap: if keep == BAR { 1 } else { GAP },
            spans,
        });
    };
    add(
        u8::MAX,
        vec![
            text(format!(" {} ", gpu.index)),
            canvas.span(Role::Strong, name),
        ],
    );
    if let Some(since) = gpu.lost_since_s {
        let at = figures::clock(since, app.ui.utc_offset_s);
        add(
            u8::MAX,
            vec![canvas.span(Role::Fault, format!("LOST {at}"))],
        );
        if !gpu.uses.is_empty() {
            add(9, uses(canvas, &gpu.uses, room));
        }
        return parts;
    }
    let load = f64::from(gpu.util_percent.value().unwrap_or(0)) / 100.0;
    let curve = app
        .gpu
        .util
        .get(&gpu.uuid)
        .map_or_else(String::new, |values| meter::curve(glyphs, values.iter(), 8));
    let percent = figure(gpu.util_percent, dash, |p| p.to_string());
    add(
        2,
        vec![
            canvas.dim("util "),
            canvas.span(meter::level(load), curve),
            text(format!(" {percent:>3} %")),
        ],
    );
    let used = figure(gpu.memory_used, dash, figures::gib);
    let total = figure(gpu.memory_total, dash, figures::gib);
    add(
        8,
        vec![canvas.dim("mem "), text(format!("{used:>5}/{total} GiB"))],
    );
    if let (Some(used), Some(total)) = (gpu.memory_used.value(), gpu.memory_total.value()) {
        let cells = if width > 130 { 10 } else { 6 };
        let part = used as f64 / total.max(1) as f64;
        add(BAR, meter::bar(canvas, part, cells));
    }
    let power = figure(gpu.power_w, dash, |w| format!("{w:.0}"));
    let limit = figure(gpu.power_limit_w, dash, |w| format!("{w:.0}"));
    add(5, vec![text(format!("{power:>4}/{limit} W"))]);
    let heat = figure(gpu.temperature_c, dash, |c| c.to_string());
    let degrees = if glyphs.unicode { "°C" } else { "C" };
    add(6, vec![text(format!("{heat:>3}{degrees}"))]);
    let clock = figure(gpu.sm_mhz, dash, |m| m.to_string());
    let mut clocks = vec![text(format!("{clock:>4} MHz"))];
    if let Some(state) = gpu.pstate.value() {
        clocks.push(canvas.dim(format!(" P{state}")));
    }
    add(4, clocks);
    add(
        if gpu.throttle.is_empty() { 0 } else { 7 },
        vec![if gpu.throttle.is_empty() {
            canvas.dim(text::fit(dash, 9, ""))
        } else {
            canvas.span(Role::Warn, format!("{:<9}", text::clean(&gpu.throttle)))
        }],
    );
    if let Some(errors @ 1..) = gpu.ecc_errors.value() {
        add(
            10,
            vec![canvas.span(Role::Bad, format!("{errors} ECC errors"))],
        );
    }
    let age_s = view.at_s - gpu.read_at_s;
    if gpu.read_at_s > 0.0 && age_s >= OLD_S {
        let words = format!("{} old", figures::duration(age_s));
        add(11, vec![canvas.span(Role::Warn, words)]);
    }
    add(9, uses(canvas, &gpu.uses, room));
    parts
}

/// Those who fit, then how many more; at least the first, cut.
fn uses(canvas: &Canvas<'_>, uses: &[GpuUse], room: usize) -> Vec<Span<'static>> {
    let glyphs = &canvas.app.ui.glyphs;
    let Some((first, others)) = uses.split_first() else {
        return vec![canvas.dim(glyphs.dash)];
    };
    let styled = |found: &GpuUse, words: String| {
        let role = match found.kind {
            UseKind::Free => Role::Dim,
            UseKind::Run | UseKind::Leased => Role::Accent,
            UseKind::Stale => Role::Warn,
            UseKind::Other => Role::Text,
        };
        canvas.span(role, words)
    };
    let mut taken = text::width(&first.words).min(room);
    let mut spans = vec![styled(
        first,
        text::cut(&first.words, room, glyphs.ellipsis),
    )];
    for (at, found) in others.iter().enumerate() {
        let words = format!(", {}", text::clean(&found.words));
        let left = others.len() - at;
        // the number of the rest needs room too, unless this is the last
        let reserve = if left > 1 { 5 } else { 0 };
        if taken + text::width(&words) + reserve > room {
            spans.push(canvas.dim(format!(" +{left}")));
            break;
        }
        taken += text::width(&words);
        spans.push(styled(found, words));
    }
    spans
}

/// Parts in order, in as many rows as they need.
fn flow(canvas: &Canvas<'_>, parts: Vec<Part>, width: usize) -> Vec<Line<'static>> {
    let mut lines: Vec<Vec<Span<'static>>> = vec![Vec::new()];
    let mut column = 0;
    for part in parts {
        let wide = part.width();
        if column > 0 && column + part.gap + wide > width {
            lines.push(vec![Span::raw(" ".repeat(INDENT))]);
            column = INDENT;
        } else if column > 0 {
            let gap = canvas.dim(" ".repeat(part.gap));
            column += part.gap;
            if let Some(line) = lines.last_mut() {
                line.push(gap);
            }
        }
        column += wide;
        if let Some(line) = lines.last_mut() {
            line.extend(part.spans);
        }
    }
    lines
        .into_iter()
        .map(|line| text::window(line, 0, width))
        .collect()
}

/// One row each: the same parts are left out of all until every row fits, so that they stand in
/// columns.
fn squeeze(canvas: &Canvas<'_>, mut gpus: Vec<Vec<Part>>, width: usize) -> Vec<Line<'static>> {
    let wide = |parts: &Vec<Part>| {
        parts
            .iter()
            .map(|part| part.width() + part.gap)
            .sum::<usize>()
    };
    while gpus.iter().any(|parts| wide(parts) > width + GAP) {
        let least = gpus.iter().flatten().map(|part| part.keep).min();
        let Some(least) = least.filter(|least| *least < u8::MAX) else {
            break;
        };
        for parts in &mut gpus {
            parts.retain(|part| part.keep > least);
        }
    }
    gpus.into_iter()
        .map(|parts| {
            let lines = flow(canvas, parts, usize::MAX / 2);
            let spans = lines.into_iter().flat_map(|line| line.spans).collect();
            text::window(spans, 0, width)
        })
        .collect()
}

/// At most `room` rows; the last counts those that did not fit.
fn processes(
    canvas: &Canvas<'_>,
    found: &[ProcessRow],
    width: usize,
    room: usize,
) -> Vec<Line<'static>> {
    let shown = if found.len() > room {
        room.saturating_sub(1)
    } else {
        found.len()
    };
    let dash = canvas.app.ui.glyphs.dash;
    let ellipsis = canvas.app.ui.glyphs.ellipsis;
    let wide = |of: fn(&ProcessRow) -> &str, most: usize| {
        let longest = found.iter().map(|row| text::width(&text::clean(of(row))));
        longest.max().unwrap_or(0).min(most)
    };
    let (who, user) = (wide(|row| &row.who, 28), wide(|row| &row.user, 12));
    let mut lines: Vec<Line<'static>> = found
        .iter()
        .take(shown)
        .map(|row| {
            let memory = figure(row.memory, dash, figures::mib);
            let spans = vec![
                canvas.dim(format!(
                    "{}pid {:>7} {:<3}",
                    " ".repeat(INDENT),
                    row.pid,
                    row.kind
                )),
                canvas.span(Role::Text, format!(" {memory:>10}  ")),
                canvas.span(Role::Text, text::fit(&row.who, who, ellipsis)),
                canvas.dim(format!("  {}  ", text::fit(&row.user, user, ellipsis))),
                canvas.dim(text::clean(&row.command).into_owned()),
            ];
            text::window(spans, 0, width)
        })
        .collect();
    if shown < found.len() && room > 0 {
        let more = format!("{}+{} processes", " ".repeat(INDENT), found.len() - shown);
        lines.push(Line::from(canvas.dim(more)));
    }
    lines
}
