//! The diff pane: what is compared, which file is asked for, the way to a frame and back.

use std::sync::Arc;

use ratatui::layout::Rect;

use crate::diff::Side;
use crate::tui::action::Action;
use crate::tui::effect::Effect;
use crate::tui::highlight::Wanted;
use crate::tui::layout::PaneKind;
use crate::tui::msg::Msg;
use crate::tui::panes::cell::state::SIDE;
use crate::tui::panes::diff::entries::{By, Entry};
use crate::tui::panes::diff::state::{Against, Goal};
use crate::tui::panes::diff::{geometry, marks};
use crate::tui::state::App;

use super::go::focus;
use super::target::{load_changes, load_excerpt, load_file};
use super::{notes, picks};

pub fn take(app: &mut App, msg: Msg) {
    match msg {
        Msg::Changes(comparison, answer) => {
            if app.diff.comparison.as_ref() != Some(&comparison) {
                return;
            }
            app.diff.loading = false;
            match answer {
                Ok(listed) => {
                    app.diff.take_files(listed);
                    load_file(app);
                }
                Err(error) => app.diff.error = Some(error.0),
            }
            app.touch(PaneKind::Diff);
        }
        Msg::File(comparison, key, answer) => {
            let shown = app.diff.entry().is_some_and(|entry| entry.key() == key);
            let as_asked = (answer.as_ref()).map_or(true, |file| file.options == app.diff.options);
            if app.diff.comparison.as_ref() != Some(&comparison) || !shown || !as_asked {
                return;
            }
            app.diff.loading = false;
            match answer {
                Ok(file) => {
                    app.diff.take_file(*file);
                    ask_colours(app);
                }
                Err(error) => app.diff.error = Some(error.0),
            }
            app.touch(PaneKind::Diff);
        }
        Msg::Notes(run, answer) => notes::take(app, &run, answer),
        Msg::Colours(piece) if piece.side == SIDE => {
            app.cell.take_colours(piece);
            app.touch(PaneKind::Cell);
        }
        Msg::Colours(piece) => {
            app.diff.take_colours(piece);
            app.touch(PaneKind::Diff);
        }
        _ => {}
    }
}

/// Asks for both sides of the selected file, or for the parts that stand for each other.
pub fn ask_file(app: &mut App) {
    let (Some(comparison), Some(entry)) = (app.diff.comparison.clone(), app.diff.entry()) else {
        return;
    };
    let options = app.diff.options;
    let effect = if entry.part.is_some() {
        Effect::ShowPart {
            comparison,
            trees: Arc::clone(&app.diff.trees),
            entry: Box::new(entry.clone()),
            options,
        }
    } else {
        Effect::LoadFile {
            comparison,
            path: entry.path.clone(),
            old_path: entry.old_path.clone(),
            modes: entry.modes,
            options,
        }
    };
    app.diff.loading = true;
    app.ask(effect);
}

fn ask_colours(app: &mut App) {
    let (Some(shown), Some(entry)) = (&app.diff.file, app.diff.entry()) else {
        return;
    };
    let first = marks::first_seen(shown, app.diff.top);
    let sides = shown.file.sides.iter().zip(first).enumerate();
    let wanted: Vec<Wanted> = sides
        .map(|(side, (text, first))| Wanted {
            ticket: app.diff.ticket,
            side,
            path: entry.path_on(side).to_owned(),
            text: Arc::clone(text),
            first,
        })
        .collect();
    for side in wanted {
        app.ask(Effect::Highlight(side));
    }
}

/// Keeps what is shown in line with the pane's size.
pub fn settle(app: &mut App, block: Rect) {
    app.diff.fit(usize::from(block.width));
    let page = geometry::page(app, block);
    app.diff.settle(page);
}

pub fn perform(app: &mut App, action: Action) {
    match action {
        Action::DiffView => app.diff.toggle_view(),
        Action::DiffAgainst => {
            if let Some(subject) = app.target.source.clone() {
                app.diff.next_against(&subject);
                load_changes(app);
            }
        }
        Action::DiffChoose => picks::choose(app),
        Action::DiffBy => {
            app.diff.by = match app.diff.by {
                By::Path => By::Symbol,
                By::Symbol => By::Path,
            };
            // the reader stays at the line
            app.diff.goal = marks::here(app).map(marks::Place::goal);
            load_changes(app);
        }
        Action::DiffSpace => {
            app.diff.options.ignore_space = !app.diff.options.ignore_space;
            ask_file(app);
        }
        Action::DiffEndings => {
            app.diff.options.ignore_line_endings = !app.diff.options.ignore_line_endings;
            ask_file(app);
        }
        Action::DiffLarge => {
            app.diff.options.max_bytes = usize::MAX;
            ask_file(app);
        }
        Action::NextHunk | Action::PrevHunk => {
            let forward = action == Action::NextHunk;
            if app.diff.search.is_empty() {
                if !app.diff.step_hunk(forward) {
                    app.refuse("no more changes that way: {next-file} is the next file");
                }
            } else if !app.diff.find(forward) {
                app.refuse("nothing matches in this file: {back} ends the search");
            }
        }
        Action::NextFile | Action::PrevFile => step_file(app, action == Action::NextFile),
        Action::Unfold => app.diff.toggle_fold(),
        Action::MoreContext | Action::LessContext => {
            let around = app.diff.grow(action == Action::MoreContext);
            app.say(format!("{around} unchanged lines around changes"));
        }
        Action::ToFrame => to_frame(app),
        Action::Note => notes::write(app),
        Action::Notes => notes::list(app),
        _ => {}
    }
}

/// Shows the line of the selected frame in the diff, where its file differs.
pub fn to_diff(app: &mut App) {
    let Some(why) = &app.cases.why else { return };
    let Some(frame) = why.frames.get(why.frame).cloned() else {
        return;
    };
    let goal = Goal {
        side: Side::New,
        path: frame.path,
        line: frame.line,
    };
    // a frame is of the tree that ran
    let ran = app.target.source.as_ref();
    let shows = |app: &App| {
        let right = app.diff.comparison.as_ref().map(|c| &c.right);
        right == ran
    };
    if !shows(app) {
        app.diff.against = Against::Gold;
        app.diff.goal = Some(goal);
        focus(app, PaneKind::Diff);
        load_changes(app);
        return;
    }
    let holds = |entry: &Entry| entry.holds(&goal);
    let Some(at) = app.diff.files.iter().position(holds) else {
        let differs = |entry: &Entry| entry.path_on(1) == goal.path;
        if app.diff.by == By::Symbol && app.diff.files.iter().any(differs) {
            // neither change touches the part that the line is in: the file has it
            app.diff.by = By::Path;
            app.diff.goal = Some(goal);
            focus(app, PaneKind::Diff);
            load_changes(app);
        } else {
            app.refuse("that file does not differ: choose another frame with {prev-frame} and {next-frame}");
        }
        return;
    };
    focus(app, PaneKind::Diff);
    app.diff.goal = Some(goal);
    if at == app.diff.selected && app.diff.file.is_some() {
        app.diff.settle_goal();
    } else {
        app.diff.selected = at;
        load_file(app);
    }
}

fn step_file(app: &mut App, forward: bool) {
    if app.diff.step_file(forward) {
        load_file(app);
    }
}

/// Opens the fold under the cursor; on a line, back to the frame of the traceback that names it.
fn to_frame(app: &mut App) {
    if app.diff.open_fold() {
        return;
    }
    let frame = app
        .diff
        .line_at(app.diff.cursor)
        .and_then(|(side, line)| marks::frame_on(app, marks::index(side), line));
    let Some(frame) = frame else {
        app.complain("no frame of the selected case's traceback names this line");
        return;
    };
    if let Some(why) = &mut app.cases.why {
        why.frame = frame;
    }
    load_excerpt(app);
    focus(app, PaneKind::Cases);
}
