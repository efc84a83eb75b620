//! GPUs as rows: their figures, who holds them, their processes; as much of it as there is room.

use ratatui::text::{Line, Span};

use crate::domain::hardware::short;
use crate::tui::gpu_view::{Figure, GpuRow, GpuUse, GpuView, MigRow, ProcessRow, UseKind};
use crate::tui::text;
use crate::tui::theme::Role;
use crate::tui::widgets::{Canvas, figures, meter};

use super::state::{Item, key};

/// Columns of the index, where what follows the first row of a GPU begins.
const INDENT: usize = 3;
/// Columns between parts.
const GAP: usize = 2;
/// Columns for those who use a GPU where each has one row.
const SHORT_USES: usize = 20;
/// Degrees below the slowdown that are marked.
const NEAR_SLOWDOWN: u32 = 5;
/// Figures older than this many seconds say so.
const OLD_S: f64 = 3.0;

/// GPUs as they are listed, each with the number of its place.
pub type Rows = Vec<(Item, Line<'static>)>;

/// The GPUs in as many rows as they need, each with all its parts; `None`: that is more than
/// `room`.
pub fn whole(canvas: &Canvas<'_>, view: &GpuView, width: usize, room: usize) -> Option<Rows> {
    let uses = if width > 130 { width / 3 } else { width / 2 };
    let mut rows = Vec::new();
    for (at, gpu) in view.gpus.iter().enumerate() {
        let lines = flow(canvas, parts(canvas, view, gpu, width, uses), width);
        rows.extend(lines.into_iter().map(|line| (Item::Gpu(at), line)));
        rows.extend(instances(canvas, at, gpu, width));
        if rows.len() > room {
            return None;
        }
    }
    Some(rows)
}

/// The GPUs in one row each, and their instances.
pub fn single(canvas: &Canvas<'_>, view: &GpuView, width: usize) -> Rows {
    let short = |gpu| parts(canvas, view, gpu, width, SHORT_USES);
    let lines = squeeze(canvas, view.gpus.iter().map(short).collect(), width);
    let mut rows = Vec::new();
    for ((at, gpu), line) in view.gpus.iter().enumerate().zip(lines) {
        rows.push((Item::Gpu(at), line));
        rows.extend(instances(canvas, at, gpu, width));
    }
    rows
}

fn instances(canvas: &Canvas<'_>, at: usize, gpu: &GpuRow, width: usize) -> Rows {
    let rows = gpu.mig.iter().map(|part| {
        let line = instance(canvas, gpu, part);
        (Item::Gpu(at), text::window(line, 0, width))
    });
    rows.collect()
}

/// An instance under its GPU: what it has, and who is on it.
pub fn instance(canvas: &Canvas<'_>, gpu: &GpuRow, part: &MigRow) -> Vec<Span<'static>> {
    let glyphs = &canvas.app.ui.glyphs;
    let corner = if glyphs.unicode { "└" } else { "`" };
    let used = figure(part.memory_used, glyphs.dash, figures::gib);
    let total = figure(part.memory_total, glyphs.dash, figures::gib);
    let mut spans = vec![
        canvas.dim(format!(
            "{}{corner} MIG {} ",
            " ".repeat(INDENT),
            part.index
        )),
        canvas.span(Role::Strong, text::fit(&part.profile, 10, glyphs.ellipsis)),
        canvas.dim("  mem "),
        canvas.span(Role::Text, format!("{used:>5}/{total} GiB  ")),
    ];
    let here = |process: &&ProcessRow| process.instance == Some(part.index);
    let mut users: Vec<GpuUse> = Vec::new();
    for process in gpu.processes.iter().filter(here) {
        let kind = match process.run {
            Some(_) => UseKind::Run,
            None => UseKind::Other,
        };
        let words = process.who.clone();
        if !users.iter().any(|known| known.words == words) {
            users.push(GpuUse { kind, words });
        }
    }
    spans.extend(uses(canvas, &users, SHORT_USES));
    spans.push(canvas.dim(format!("  {}", text::clean(&part.uuid))));
    spans
}

/// Where room is short the first of these goes first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Keep {
    NoThrottle,
    Bar,
    Curve,
    Clocks,
    Power,
    Heat,
    Throttle,
    Util,
    Memory,
    Users,
    Alarm,
    Always,
}

/// Something that stands together.
struct Part {
    keep: Keep,
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
pub fn figure<T: Copy>(value: Figure<T>, dash: &str, show: impl Fn(T) -> String) -> String {
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
    let name = text::cut(short(&gpu.name), 10, glyphs.ellipsis);
    let mut parts = Vec::new();
    let mut put = |keep, gap, spans| parts.push(Part { keep, gap, spans });
    put(
        Keep::Always,
        GAP,
        vec![
            text(format!(" {} ", gpu.index)),
            canvas.span(Role::Strong, name),
        ],
    );
    if let Some(since) = gpu.lost_since_s {
        let at = figures::clock(since, app.ui.utc_offset_s);
        put(
            Keep::Always,
            GAP,
            vec![canvas.span(Role::Fault, format!("LOST {at}"))],
        );
        if !gpu.uses.is_empty() {
            put(Keep::Users, GAP, uses(canvas, &gpu.uses, room));
        }
        return parts;
    }
    let load = f64::from(gpu.util_percent.value().unwrap_or(0)) / 100.0;
    let cells = if width > 130 { 16 } else { 8 };
    let curve = app.gpu.history.get(&key(gpu)).map_or_else(
        || " ".repeat(cells),
        |history| {
            let means = history.means(view.at_s, app.gpu.span_s(), cells, |s| s.util);
            meter::curve(glyphs, &means)
        },
    );
    let percent = figure(gpu.util_percent, dash, |p| p.to_string());
    put(Keep::Util, GAP, vec![canvas.dim("util")]);
    put(Keep::Curve, 1, vec![canvas.span(meter::level(load), curve)]);
    put(Keep::Util, 1, vec![text(format!("{percent:>3} %"))]);
    let used = figure(gpu.memory_used, dash, figures::gib);
    let total = figure(gpu.memory_total, dash, figures::gib);
    put(
        Keep::Memory,
        GAP,
        vec![canvas.dim("mem "), text(format!("{used:>5}/{total} GiB"))],
    );
    if let (Some(used), Some(total)) = (gpu.memory_used.value(), gpu.memory_total.value()) {
        let cells = if width > 130 { 10 } else { 6 };
        let part = used as f64 / total.max(1) as f64;
        put(Keep::Bar, 1, meter::bar(canvas, part, cells));
    }
    let power = figure(gpu.power_w, dash, |w| format!("{w:.0}"));
    let limit = figure(gpu.power_limit_w, dash, |w| format!("{w:.0}"));
    put(
        Keep::Power,
        GAP,
        vec![text(format!("{power:>4}/{limit} W"))],
    );
    let heat = figure(gpu.temperature_c, dash, |c| c.to_string());
    let degrees = if glyphs.unicode { "°C" } else { "C" };
    // a few degrees below where the hardware slows down by itself
    let hot = (gpu.temperature_c.value().zip(gpu.more.slowdown_c.value()))
        .is_some_and(|(now, slow)| now + NEAR_SLOWDOWN >= slow);
    let role = if hot { Role::Warn } else { Role::Text };
    let heat = canvas.span(role, format!("{heat:>3}{degrees}"));
    put(Keep::Heat, GAP, vec![heat]);
    let clock = figure(gpu.sm_mhz, dash, |m| m.to_string());
    let mut clocks = vec![text(format!("{clock:>4} MHz"))];
    if let Some(state) = gpu.pstate.value() {
        clocks.push(canvas.dim(format!(" P{state}")));
    }
    put(Keep::Clocks, GAP, clocks);
    // the column stays as long as one of them is held down
    let any = view.gpus.iter().any(|gpu| !gpu.throttle.is_empty());
    let throttle = if gpu.throttle.is_empty() {
        canvas.dim(text::fit(dash, 9, ""))
    } else {
        canvas.span(Role::Warn, format!("{:<9}", text::clean(&gpu.throttle)))
    };
    let keep = if any {
        Keep::Throttle
    } else {
        Keep::NoThrottle
    };
    put(keep, GAP, vec![throttle]);
    if let Some(errors @ 1..) = gpu.ecc_errors.value() {
        put(
            Keep::Alarm,
            GAP,
            vec![canvas.span(Role::Bad, format!("{errors} uncorrected ECC"))],
        );
    }
    let age_s = view.at_s - gpu.read_at_s;
    if gpu.read_at_s <= 0.0 {
        put(Keep::Alarm, GAP, vec![canvas.dim("not read yet")]);
    } else if age_s >= OLD_S {
        let words = format!("{} old", figures::duration(age_s));
        put(Keep::Alarm, GAP, vec![canvas.span(Role::Warn, words)]);
    }
    put(Keep::Users, GAP, uses(canvas, &gpu.uses, room));
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
        let Some(least) = least.filter(|least| *least < Keep::Always) else {
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
