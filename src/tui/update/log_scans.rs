//! Looking through the log: slices go out to worker threads, what they find comes in.

use crate::tui::effect::Effect;
use crate::tui::layout::PaneKind;
use crate::tui::panes::log::scan::{Outcome, Scanned, Wanted};
use crate::tui::panes::log::scroll as rows;
use crate::tui::state::App;

use super::scroll;

/// Asks for the next slice where something is not looked through yet; goes to the first hit once it
/// is there.
pub fn on(app: &mut App) {
    if let Some(scan) = app.log.next_slice() {
        app.ask(Effect::ScanLog(scan));
    }
    if app.log.look.goal.is_some() {
        match app.log.reach_hit() {
            Some(true) => {
                let (width, page) = scroll::inner(app, PaneKind::Log);
                rows::reveal(&mut app.log, width, page);
            }
            Some(false) => app.complain("nothing matches"),
            None => {}
        }
    }
    if app.log.follow {
        app.log.cursor = app.log.last().unwrap_or(0);
    }
    if app.log.first_time_through() && app.log.look.hit.is_none() {
        app.log.stand_on_shown();
    }
    app.touch(PaneKind::Log);
}

/// Goes to the next error or warning, once it is found.
pub fn seek(app: &mut App, forward: bool, wanted: Wanted) {
    match app.log.seek(forward, wanted) {
        Some(scan) => app.ask(Effect::ScanLog(scan)),
        None => none(app, wanted),
    }
}

fn none(app: &mut App, wanted: Wanted) {
    app.complain(match wanted {
        Wanted::Error => "no more errors that way",
        Wanted::Warning => "no more warnings that way",
    });
}

/// A key says what is wanted now: nothing moves by itself any more. Tells whether a seek ended.
pub fn stop(app: &mut App) -> bool {
    app.log.look.goal = None;
    let stopped = app.log.seek.take().is_some();
    if stopped {
        app.touch(PaneKind::Log);
    }
    stopped
}

/// What a slice has come to.
pub fn take(app: &mut App, scanned: Scanned) {
    let wanted = app.log.seek.map(|seek| seek.wanted);
    match app.log.take_scanned(scanned) {
        Outcome::Old => {}
        Outcome::Looked => on(app),
        Outcome::SeekOn => match (app.log.seek_on(), wanted) {
            (Some(scan), _) => app.ask(Effect::ScanLog(scan)),
            (None, Some(wanted)) => none(app, wanted),
            (None, None) => {}
        },
        Outcome::Sought(found) => {
            if let (false, Some(wanted)) = (found, wanted) {
                none(app, wanted);
            }
        }
    }
    app.touch(PaneKind::Log);
}
