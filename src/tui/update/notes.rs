//! Notes on lines: written, listed, gone to, taken away; kept with the run.

use crate::diff::Side;
use crate::domain::RunId;
use crate::domain::notes::{LineNote, Notes};
use crate::tui::backend::Answer;
use crate::tui::effect::Effect;
use crate::tui::layout::PaneKind;
use crate::tui::overlays::pick::{Choice, Pick};
use crate::tui::overlays::{Overlay, PromptFor};
use crate::tui::panes::diff::entries::Entry;
use crate::tui::panes::diff::marks;
use crate::tui::panes::diff::state::Goal;
use crate::tui::state::App;

use super::prompts;
use super::target::load_file;

/// Asks for the notes of the open run, where they are not here.
pub fn load(app: &mut App) {
    let run = app.target.run.clone();
    if app.diff.notes_of == run {
        return;
    }
    app.diff.notes = Notes::default();
    app.diff.notes_of.clone_from(&run);
    if let Some(run) = run {
        app.ask(Effect::LoadNotes(run));
    }
}

pub fn take(app: &mut App, run: &RunId, answer: Answer<Notes>) {
    match answer {
        Ok(notes) if app.diff.notes_of.as_ref() == Some(run) => {
            app.diff.notes = notes;
            app.touch(PaneKind::Diff);
        }
        Ok(_) => {}
        Err(error) => app.complain(error.0),
    }
}

/// Opens the line to type a note in.
pub fn write(app: &mut App) {
    if marks::here(app).is_none() {
        app.complain("no line here: a note stands beside one");
        return;
    }
    prompts::open(app, PromptFor::DiffNote);
}

/// Keeps what was typed beside the cursor's line; nothing takes the note away.
pub fn keep_typed(app: &mut App, text: &str) {
    let Some(place) = marks::here(app) else {
        return;
    };
    let Some(tree) = app.diff.source_on(marks::index(place.side)).cloned() else {
        return;
    };
    let note = LineNote {
        tree,
        path: place.path,
        line: place.line,
        quoted: place.text,
        text: text.trim().to_owned(),
        by: String::new(),
        at_s: app.now_s,
    };
    if note.text.is_empty() && marks::note_here(app).is_none() {
        return;
    }
    keep(app, note);
}

pub fn keep(app: &mut App, note: LineNote) {
    if let Some(run) = app.diff.notes_of.clone() {
        app.ask(Effect::KeepNote(run, Box::new(note)));
    }
}

pub fn list(app: &mut App) {
    let rows: Vec<_> = app
        .diff
        .notes
        .notes
        .iter()
        .map(|note| {
            let place = format!("{}:{}  {}", note.path, note.line, note.text);
            let more = format!("{} · {} · {}", note.tree.label(), note.by, note.quoted);
            (place, more, Choice::Note(Box::new(note.clone())))
        })
        .collect();
    if rows.is_empty() {
        app.refuse("no notes yet: {note} writes one beside the line");
        return;
    }
    app.overlay = Some(Overlay::Pick(Pick {
        title: "notes",
        keys: &[("x", "deletes")],
        rows,
        selected: 0,
    }));
}

/// Shows a note's line, in a comparison that has its tree.
pub fn to_note(app: &mut App, note: &LineNote) {
    let sides = [Side::Old, Side::New];
    let side = sides
        .into_iter()
        .find(|side| app.diff.source_on(marks::index(*side)) == Some(&note.tree));
    let goal = side.map(|side| Goal {
        side,
        path: note.path.clone(),
        line: note.line,
    });
    let holds = |entry: &Entry| goal.as_ref().is_some_and(|goal| entry.holds(goal));
    let Some(at) = app.diff.files.iter().position(holds) else {
        app.complain(
            "none of the files that are compared here has its line: b or B compares others",
        );
        return;
    };
    app.diff.goal = goal;
    if at == app.diff.selected && app.diff.file.is_some() {
        app.diff.settle_goal();
    } else {
        app.diff.selected = at;
        load_file(app);
    }
}
