//! Keys on the help page.

use crossterm::event::KeyCode;

use crate::tui::action::Action;
use crate::tui::effect::Effect;
use crate::tui::keymap::Key;
use crate::tui::overlays::prompt::{self, Typed};
use crate::tui::overlays::{Help, Overlay, help};
use crate::tui::state::App;

/// Rows that a page key goes.
const PAGE: usize = 10;

pub fn key(app: &mut App, key: Key) {
    let Some(Overlay::Help(page)) = &app.overlay else {
        return;
    };
    let mut page = page.clone();
    if page.typing {
        match prompt::edit(&mut page.search, key) {
            Typed::Changed => page.scroll = 0,
            Typed::Accept => page.typing = false,
            Typed::Abort => page = Help::default(),
            Typed::Nothing => {}
        }
        app.overlay = Some(Overlay::Help(page));
        return;
    }
    let last = help::draw::last(app, &page, app.area());
    let at = page.scroll.min(last);
    let action = app.ui.keymap.movement(key);
    page.scroll = match action {
        Some(Action::Up) => at.saturating_sub(1),
        Some(Action::Down) => (at + 1).min(last),
        Some(Action::PageUp) => at.saturating_sub(PAGE),
        Some(Action::PageDown) => (at + PAGE).min(last),
        Some(Action::Top) => 0,
        Some(Action::Bottom) => last,
        _ => at,
    };
    match action {
        _ if key == Key::plain(KeyCode::Char('/')) => page.typing = true,
        Some(Action::Find) => page.typing = true,
        Some(Action::Back) if !page.search.is_empty() => page = Help::default(),
        Some(Action::Help | Action::Back | Action::Quit) => {
            app.overlay = None;
            return;
        }
        Some(Action::Suspend) => app.ask(Effect::Suspend),
        _ => {}
    }
    app.overlay = Some(Overlay::Help(page));
}

/// The wheel over the page.
pub fn wheel(app: &mut App, steps: i16) {
    let Some(Overlay::Help(page)) = &app.overlay else {
        return;
    };
    let last = help::draw::last(app, page, app.area());
    let mut page = page.clone();
    let by = usize::from(steps.unsigned_abs()) * 3;
    let at = page.scroll.min(last);
    page.scroll = if steps < 0 {
        at.saturating_sub(by)
    } else {
        (at + by).min(last)
    };
    app.overlay = Some(Overlay::Help(page));
    app.dirty = true;
}

pub fn paste(app: &mut App, text: &str) {
    if let Some(Overlay::Help(page)) = &mut app.overlay
        && page.typing
    {
        prompt::insert(&mut page.search, text);
        page.scroll = 0;
        app.dirty = true;
    }
}
