//! The whole screen from the state. Nothing here changes anything.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};
use ratatui::widgets::{Clear, Widget};

use crate::domain::EngineChoice;

use super::hints::{self, Hint};
use super::layout::{self, PaneKind, SizeClass};
use super::overlays::{self, Overlay};
use super::panes;
use super::state::{App, Toast};
use super::text;
use super::theme::Role;
use super::widgets::{Canvas, figures};

pub fn draw(app: &App, buf: &mut Buffer) {
    let area = buf.area;
    if layout::size_class(area.width, area.height) == SizeClass::TooSmall {
        let words = format!(
            "too small ({}x{}; 40x10 is needed)",
            area.width, area.height
        );
        let rows = text::wrap(&words, area.width.into(), area.height.into());
        let mut canvas = Canvas::new(app, buf, area);
        for (at, row) in rows.into_iter().enumerate() {
            canvas.put(at, &Line::from(row));
        }
        return;
    }
    // a buffer of another size than the state's is drawn as that size
    let plan = layout::plan(area, app.wish());
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
            PaneKind::Acceptance => panes::acceptance::draw::draw(&mut canvas),
            PaneKind::Claims => panes::claims::draw::draw(&mut canvas),
            PaneKind::Cell => panes::cell::draw::draw(&mut canvas),
        }
    }
    if let Some(overlay) = &app.overlay {
        overlays::draw::draw(app, overlay, buf, area);
    }
    draw_footer(app, buf, plan.footer);
}

/// The clock runs only while a run lives: an idle screen writes nothing.
pub fn clock(app: &App) -> Vec<Span<'static>> {
    if !app.any_live() {
        return Vec::new();
    }
    let style = |role| app.ui.theme.style(role);
    let live = app.runs.iter().filter(|run| run.status.live()).count();
    let running = format!("{} {live} running", app.ui.glyphs.running);
    let clock = figures::clock(app.now_s, app.ui.utc_offset_s);
    vec![
        Span::styled(running, style(Role::Running)),
        Span::raw("  "),
        Span::styled(clock, style(Role::Text)),
    ]
}

fn put_hints(canvas: &mut Canvas<'_>, hints: Vec<Hint>) {
    for hint in hints {
        canvas.put_at(0, hint.column, &Line::from(hint.spans));
    }
}

fn draw_header(canvas: &mut Canvas<'_>) {
    let app = canvas.app;
    let hints = hints::layouts(app);
    let used = hints.last().map_or(0, |last| last.column + last.width());
    let mut right = clock(app);
    let room = canvas
        .width()
        .saturating_sub(used + Line::from(right.clone()).width() + 6);
    if room > 8 {
        let label = match app.engine {
            EngineChoice::Auto => app.ui.label.clone(),
            engine => format!("engine {} · {}", engine.name(), app.ui.label),
        };
        let label = text::cut(&label, room, app.ui.glyphs.ellipsis);
        let mut all = vec![canvas.dim(label), Span::raw("   ")];
        all.append(&mut right);
        right = all;
    }
    right.push(Span::raw(" "));
    let name = Line::from(canvas.span(Role::Title, "infradev"));
    canvas.put_at(0, 1, &name);
    put_hints(canvas, hints);
    canvas.put_right(0, &Line::from(right));
}

fn draw_tabs(canvas: &mut Canvas<'_>) {
    let app = canvas.app;
    let hints = hints::tab_bar(app, canvas.width());
    let used = hints
        .last()
        .map_or(0, |last| last.column + last.width() + 1);
    let chosen = match app.engine {
        EngineChoice::Auto => Vec::new(),
        engine => vec![Span::styled(
            engine.name(),
            app.ui.theme.style(Role::Notice),
        )],
    };
    let mut right = chosen.clone();
    right.push(Span::raw("  "));
    right.extend(clock(app));
    right.push(Span::raw(" "));
    // an engine that was chosen holds until it is chosen otherwise: of the two it is told
    for right in [right, chosen].map(Line::from) {
        if used + right.width() < canvas.width() {
            canvas.put_right(0, &right);
            break;
        }
    }
    put_hints(canvas, hints);
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
        None => {
            let hints = hints::footer(app, canvas.width());
            if let Some(typed) = hints::chord(app) {
                let line = Line::from(canvas.span(Role::Notice, typed));
                canvas.put_at(0, 1, &line);
            }
            put_hints(&mut canvas, hints);
        }
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
