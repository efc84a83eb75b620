//! The whole screen from the state. Nothing here changes anything.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};
use ratatui::widgets::{Clear, Widget};

use super::action::{Action, TABLE};
use super::layout::{self, LayoutKind, PaneKind, SizeClass};
use super::overlays::{self, Overlay};
use super::panes;
use super::state::{App, Toast};
use super::text;
use super::theme::Role;
use super::widgets::{Canvas, figures};

pub fn draw(app: &App, buf: &mut Buffer) {
    let area = buf.area;
    if layout::size_class(area.width, area.height) == SizeClass::TooSmall {
        let words = format!("terminal too small ({}x{})", area.width, area.height);
        Canvas::new(app, buf, area).put(0, &Line::from(words));
        return;
    }
    // a buffer of another size than the state's is drawn as that size
    let plan = layout::plan(
        area,
        layout::Wish {
            layout: app.layout,
            focus: app.focus,
            beside: app.beside,
            zoom: app.zoom,
        },
    );
    match plan.tabs {
        Some(tabs) => draw_tabs(&mut Canvas::new(app, buf, tabs)),
        None => draw_header(&mut Canvas::new(app, buf, plan.header)),
    }
    for (kind, rect) in &plan.panes {
        let mut canvas = Canvas::new(app, buf, *rect);
        match kind {
            PaneKind::Tasks => panes::tasks::draw::draw(&mut canvas),
            PaneKind::Log => panes::log::draw::draw(&mut canvas),
            PaneKind::Diff => panes::diff::draw::draw(&mut canvas),
            PaneKind::Cases => panes::cases::draw::draw(&mut canvas),
            PaneKind::Gpu => panes::gpu::draw::draw(&mut canvas),
        }
    }
    if let Some(overlay) = &app.overlay {
        overlays::draw::draw(app, overlay, buf, area);
    }
    draw_footer(app, buf, plan.footer);
}

/// The clock runs only while a run lives: an idle screen writes nothing.
fn clock(canvas: &Canvas<'_>) -> Vec<Span<'static>> {
    let app = canvas.app;
    if !app.any_live() {
        return Vec::new();
    }
    let live = app.runs.iter().filter(|run| run.status.live()).count();
    vec![
        canvas.span(
            Role::Running,
            format!("{} {live} running", app.ui.glyphs.running),
        ),
        Span::raw("  "),
        canvas.span(Role::Text, figures::clock(app.now_s, app.ui.utc_offset_s)),
    ]
}

fn draw_header(canvas: &mut Canvas<'_>) {
    let app = canvas.app;
    let mut left = vec![
        Span::raw(" "),
        canvas.span(Role::Title, "infradev"),
        Span::raw("  "),
    ];
    for kind in LayoutKind::ALL {
        left.push(Span::raw(" "));
        left.push(canvas.span(Role::Key, kind.key()));
        let role = if kind == app.layout {
            Role::Strong
        } else {
            Role::Dim
        };
        left.push(canvas.span(role, format!(" {}", kind.name())));
        left.push(Span::raw(" "));
    }
    let left = Line::from(left);
    let mut right = clock(canvas);
    let room = canvas
        .width()
        .saturating_sub(left.width() + Line::from(right.clone()).width() + 5);
    if room > 8 {
        let label = text::cut(&app.ui.label, room, app.ui.glyphs.ellipsis);
        let mut all = vec![canvas.dim(label), Span::raw("   ")];
        all.append(&mut right);
        right = all;
    }
    right.push(Span::raw(" "));
    canvas.put(0, &left);
    canvas.put_right(0, &Line::from(right));
}

fn draw_tabs(canvas: &mut Canvas<'_>) {
    let app = canvas.app;
    let mut left = vec![Span::raw(" ")];
    for kind in PaneKind::ALL {
        left.push(canvas.span(Role::Key, kind.number().to_string()));
        let style = if kind == app.focus {
            canvas.style(Role::Selection)
        } else {
            canvas.style(Role::Dim)
        };
        left.push(Span::styled(format!(" {} ", kind.name()), style));
        left.push(Span::raw(" "));
    }
    let left = Line::from(left);
    let mut right = clock(canvas);
    right.push(Span::raw(" "));
    let right = Line::from(right);
    if left.width() + right.width() < canvas.width() {
        canvas.put_right(0, &right);
    }
    canvas.put(0, &left);
}

/// What is possible here, or what was just said.
fn draw_footer(app: &App, buf: &mut Buffer, footer: Rect) {
    if let Some(toast) = &app.toast
        && !matches!(app.overlay, Some(Overlay::Prompt(_)))
    {
        draw_toast(app, toast, buf, footer);
        return;
    }
    let mut canvas = Canvas::new(app, buf, footer);
    match &app.overlay {
        Some(Overlay::Prompt(prompt)) => {
            let line = overlays::draw::prompt_line(&canvas, prompt);
            canvas.put(0, &line);
        }
        // its keys stand in it
        Some(_) => {}
        None => draw_hints(&mut canvas),
    }
}

/// Ends on the footer's row; a long message grows over the panes.
fn draw_toast(app: &App, toast: &Toast, buf: &mut Buffer, footer: Rect) {
    let role = if toast.bad { Role::Notice } else { Role::Info };
    let width = usize::from(footer.width).saturating_sub(2);
    let most = (buf.area.height / 2).max(1);
    let rows = Canvas::new(app, buf, footer).wrapped(role, &toast.text, width, most.into());
    let height = rows.len() as u16;
    let rect = Rect {
        y: footer.bottom().saturating_sub(height),
        height,
        ..footer
    };
    Clear.render(rect.intersection(buf.area), buf);
    let mut canvas = Canvas::new(app, buf, rect);
    for (at, line) in rows.iter().enumerate() {
        canvas.put_at(at, 1, line);
    }
}

fn draw_hints(canvas: &mut Canvas<'_>) {
    let app = canvas.app;
    let tail: Vec<Span<'static>> = [Action::Help, Action::Quit]
        .into_iter()
        .filter_map(super::action::entry)
        .flat_map(|entry| {
            let mut spans = canvas.hint(entry.keys[0], entry.hint.unwrap_or(entry.name));
            spans.push(Span::raw("  "));
            spans
        })
        .collect();
    let tail = Line::from(tail);
    let mut left = vec![Span::raw(" ")];
    let mut used = 1;
    for entry in TABLE {
        let Some(hint) = entry.hint else { continue };
        if !entry.reaches(app.focus)
            || matches!(entry.action, Action::Help | Action::Quit)
            || (entry.possible)(app).is_err()
        {
            continue;
        }
        let wide = text::width(entry.keys[0]) + text::width(hint) + 3;
        if used + wide + tail.width() > canvas.width() {
            break;
        }
        used += wide;
        left.extend(canvas.hint(entry.keys[0], hint));
        left.push(Span::raw("  "));
    }
    canvas.put(0, &Line::from(left));
    canvas.put_right(0, &tail);
}
