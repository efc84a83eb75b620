//! The GPUs, or the reason why there are none; the machine; the processes. Or one GPU alone.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};

use crate::domain::hardware::short;
use crate::tui::gpu_view::GpuView;
use crate::tui::layout::PaneKind;
use crate::tui::state::App;
use crate::tui::text;
use crate::tui::theme::Role;
use crate::tui::widgets::{Canvas, Title, figures};

use super::processes::{around, table};
use super::state::Item;
use super::{detail, machine, rows};

pub fn draw(canvas: &mut Canvas<'_>) {
    let app = canvas.app;
    let title = title(canvas);
    let mut inner = canvas.pane(PaneKind::Gpu, title);
    let Some(view) = &app.gpu.view else {
        let words = app
            .gpu
            .error
            .clone()
            .unwrap_or_else(|| "first sample in a second".into());
        let wide = inner.width().saturating_sub(2);
        for (at, line) in text::wrap(&words, wide, 4).into_iter().enumerate() {
            let line = Line::from(inner.dim(line));
            inner.put_at(at, 1, &line);
        }
        return;
    };
    let selected = app.gpu.item();
    let focused = app.focus == PaneKind::Gpu && app.overlay.is_none();
    for (at, (item, line)) in body(&inner, view).iter().enumerate() {
        inner.put(at, line);
        if focused && item.is_some() && *item == selected {
            let style = inner.style(Role::Selection);
            inner.paint(at, style);
        }
    }
}

/// What stands on a row inside the border.
pub fn item_at(app: &App, inner: Rect, row: usize) -> Option<Item> {
    let view = app.gpu.view.as_ref()?;
    let mut buf = Buffer::empty(inner);
    let canvas = Canvas::new(app, &mut buf, inner);
    body(&canvas, view).get(row)?.0
}

type Rows = Vec<(Option<Item>, Line<'static>)>;

/// All rows, with what the cursor selects on each.
fn body(canvas: &Canvas<'_>, view: &GpuView) -> Rows {
    let (width, height) = (canvas.width(), canvas.height());
    let app = canvas.app;
    let then = app.time.then_s().and_then(|at_s| app.gpu.then(at_s));
    // who was there then is not kept
    let items = match then {
        Some(_) => Vec::new(),
        None => app.gpu.items(),
    };
    let view = then.as_ref().unwrap_or(view);
    let alone = canvas.app.gpu.alone();
    let mut all: Rows = match alone.and_then(|at| view.gpus.get(at).map(|gpu| (at, gpu))) {
        Some((at, gpu)) => {
            let facts = detail::facts(canvas, view, gpu, width);
            let mut rows: Rows = facts.into_iter().map(|line| (None, line)).collect();
            if let Some(first) = rows.first_mut() {
                first.0 = Some(Item::Gpu(at));
            }
            // a heading and a few processes have their room first
            let listed = items.len().saturating_sub(1).min(4) + 1;
            let room = height.saturating_sub(rows.len() + listed);
            let curves = detail::curves(canvas, view, gpu, width, room);
            rows.extend(curves.into_iter().map(|line| (None, line)));
            rows
        }
        None => list(canvas, view, width, height),
    };
    let room = height.saturating_sub(all.len());
    let (head, processes) = table(canvas, view, &items, width, room);
    all.extend(head.map(|line| (None, line)));
    all.extend(processes.into_iter().map(|(item, line)| (Some(item), line)));
    all
}

/// The GPUs with as much as there is room for, and the machine.
fn list(canvas: &Canvas<'_>, view: &GpuView, width: usize, height: usize) -> Rows {
    let reason = reason(canvas, view, width);
    let busy = view.gpus.iter().any(|gpu| !gpu.processes.is_empty());
    // a heading and a process are worth more than the second rows of GPUs
    let below = 2 + reason.len() + if busy && height >= 12 { 2 } else { 0 };
    let whole = rows::whole(canvas, view, width, height.saturating_sub(below));
    let mut gpus = whole.unwrap_or_else(|| rows::single(canvas, view, width));
    if gpus.len() + reason.len() + 1 > height {
        // every GPU is seen before parts of one are
        gpus.dedup_by_key(|(item, _)| item.gpu());
    }
    let left = height.saturating_sub(gpus.len() + reason.len());
    let host = match left {
        // GPUs first, but the machine is never out of sight where there are a few rows
        0 if height >= 4 => 1,
        left => left.min(2),
    };
    let room = height.saturating_sub(host + reason.len());
    let more = gpus.len().saturating_sub(room);
    let room = if more > 0 {
        room.saturating_sub(1)
    } else {
        room
    };
    let selected = canvas.app.gpu.item().map_or(0, Item::gpu);
    let at = gpus.iter().position(|(item, _)| item.gpu() == selected);
    let first = around(at.unwrap_or(0), room, gpus.len());
    let seen = gpus.into_iter().skip(first).take(room);
    let mut all: Rows = seen.map(|(item, line)| (Some(item), line)).collect();
    if more > 0 {
        let line = canvas.dim(format!(" +{} GPUs, with the cursor", more + 1));
        all.push((None, Line::from(line)));
    }
    let machine = machine::lines(canvas, view.at_s, &view.host, width, host);
    all.extend(machine.into_iter().chain(reason).map(|line| (None, line)));
    all
}

/// Why there are no GPUs, and when they are looked for again.
fn reason(canvas: &Canvas<'_>, view: &GpuView, width: usize) -> Vec<Line<'static>> {
    let Some(reason) = &view.reason else {
        return Vec::new();
    };
    // while nothing is sampled nobody asks
    let retry_at_s = view.retry_at_s.filter(|_| canvas.app.gpu.sampling);
    let words = retry_at_s.map_or_else(
        || reason.clone(),
        |at_s| {
            let at = figures::clock(at_s, canvas.app.ui.utc_offset_s);
            format!("{reason}; asked again at {at}")
        },
    );
    let lines = text::wrap(&words, width.saturating_sub(2), 6);
    lines
        .into_iter()
        .map(|line| Line::from(canvas.dim(format!(" {line}"))))
        .collect()
}

fn title(canvas: &Canvas<'_>) -> Title {
    let app = canvas.app;
    let wide = canvas.width() >= 78;
    let dot = app.ui.glyphs.dot;
    let mut left = Vec::new();
    if let Some(view) = &app.gpu.view {
        left.push(canvas.span(Role::Title, "gpu"));
        let name = |at: usize| view.gpus.get(at).map(|gpu| text::clean(short(&gpu.name)));
        let words = match (app.gpu.alone(), view.gpus.len()) {
            (Some(at), _) => {
                let index = view.gpus.get(at).map_or(0, |gpu| gpu.index);
                format!(
                    " {dot} {index} alone {dot} {}",
                    name(at).unwrap_or_default()
                )
            }
            (None, 0) if view.reason.is_none() => format!(" {dot} asking the driver {dot} machine"),
            (None, 0) => format!(" {dot} none {dot} machine"),
            (None, n) => format!(" {dot} {n}x {}", name(0).unwrap_or_default()),
        };
        left.push(canvas.dim(words));
        // beside the time of a sample there is room for it from here on
        if wide && let Some(driver) = &view.driver {
            left.push(canvas.dim(format!(" {dot} driver {}", text::clean(driver))));
            if let (Some(cuda), true) = (&view.cuda, canvas.width() >= 100) {
                left.push(canvas.dim(format!(" CUDA {}", text::clean(cuda))));
            }
        }
    }
    Title {
        left,
        right: right(canvas, wide),
    }
}

fn right(canvas: &Canvas<'_>, wide: bool) -> Vec<Span<'static>> {
    let app = canvas.app;
    let Some(view) = &app.gpu.view else {
        return Vec::new();
    };
    if let Some(then_s) = app.time.then_s() {
        let at = figures::clock(then_s, app.ui.utc_offset_s);
        let into = app
            .time
            .words()
            .map_or(String::new(), |words| format!(", {words}"));
        return vec![canvas.span(Role::Accent, format!("as of {at}{into}"))];
    }
    if !app.gpu.sampling {
        let at = figures::clock(view.at_s, app.ui.utc_offset_s);
        return vec![canvas.dim(format!("as of {at}, any key samples"))];
    }
    if view.gpus.is_empty() || !wide {
        return Vec::new();
    }
    vec![canvas.dim(format!("curves {}", figures::duration(app.gpu.span_s())))]
}
