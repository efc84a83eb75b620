//! Lists to choose from: what the diff compares with, notes on lines.

use crossterm::event::KeyCode;

use crate::domain::notes::LineNote;
use crate::domain::{Source, Task};
use crate::tui::action::Action;
use crate::tui::keymap::Key;
use crate::tui::overlays::Overlay;
use crate::tui::overlays::pick::{Choice, Pick};
use crate::tui::panes::diff::state::Against;
use crate::tui::state::App;

use super::filters;
use super::notes::{keep, to_note};
use super::target::load_changes;

/// Where the hollow patch of a task is.
const HOLLOW: &str = "hollow.patch";

/// Everything that a task has to compare with, beside what is selected.
fn others(app: &App, task: &Task, subject: &Source) -> Vec<(String, String, Source)> {
    let mut all = vec![
        (
            "gold".to_owned(),
            "the merged change".to_owned(),
            Source::Gold,
        ),
        (
            "base".to_owned(),
            "before the change".to_owned(),
            Source::Base,
        ),
    ];
    for submission in &task.submissions {
        let name = submission.spec.name.clone();
        let source = Source::Submission { name: name.clone() };
        all.push((name, "submission".to_owned(), source));
    }
    for run in app.runs.iter().filter(|run| run.task == task.id()) {
        if let Source::Agent { name, .. } = &run.source {
            let more = format!("agent, run {}", run.id.0);
            all.push((name.clone(), more, run.source.clone()));
        }
    }
    let hollow = std::iter::once((
        "hollow".to_owned(),
        "gold's interfaces without bodies".to_owned(),
        HOLLOW.to_owned(),
    ));
    let adversarial = task.spec.adversarial.iter();
    let adversarial = adversarial.map(|a| {
        let more = format!("adversarial, against {}", a.claim);
        (a.name.clone(), more, a.patch.clone())
    });
    let alternative = task.spec.alternative.iter();
    let alternative =
        alternative.map(|a| (a.name.clone(), "alternative".to_owned(), a.patch.clone()));
    for (name, more, file) in hollow.chain(adversarial).chain(alternative) {
        let file = task.path(&file);
        all.push((name, more, Source::Patch { file }));
    }
    let mut seen = Vec::new();
    all.retain(|(_, _, source)| {
        let new = source != subject && !seen.contains(source);
        seen.push(source.clone());
        new
    });
    all
}

/// Opens the list of what the selected solution can be compared with.
pub fn choose(app: &mut App) {
    let (Some(id), Some(subject)) = (app.target.task.clone(), app.target.source.clone()) else {
        return;
    };
    let Some(task) = app.task(&id).cloned() else {
        return;
    };
    let rows: Vec<_> = others(app, &task, &subject)
        .into_iter()
        .map(|(name, more, source)| (name, more, Choice::Against(source)))
        .collect();
    let current = app.diff.comparison.as_ref();
    let selected = rows.iter().position(|(_, _, choice)| {
        let Choice::Against(source) = choice else {
            return false;
        };
        current.is_some_and(|c| c.left == *source || c.right == *source)
    });
    app.overlay = Some(Overlay::Pick(Pick {
        title: "compare with",
        keys: &[],
        rows,
        selected: selected.unwrap_or(0),
    }));
}

/// Keys while a list to choose from is open.
pub fn key(app: &mut App, key: Key) {
    let Some(Overlay::Pick(pick)) = &mut app.overlay else {
        return;
    };
    let last = pick.rows.len().saturating_sub(1);
    let chosen = pick.rows.get(pick.selected).map(|row| row.2.clone());
    match (key.code, chosen) {
        (KeyCode::Char('x'), Some(Choice::Note(note))) => {
            pick.rows.remove(pick.selected);
            pick.selected = pick.selected.min(last.saturating_sub(1));
            if pick.rows.is_empty() {
                app.overlay = None;
            }
            keep(
                app,
                LineNote {
                    text: String::new(),
                    ..*note
                },
            );
            return;
        }
        (KeyCode::Enter, Some(choice)) => {
            app.overlay = None;
            return match choice {
                Choice::Against(source) => against(app, source),
                Choice::Note(note) => to_note(app, &note),
                Choice::Alike(only) => filters::alike(app, only),
            };
        }
        _ => {}
    }
    match app.ui.keymap.movement(key) {
        Some(Action::Up) => pick.selected = pick.selected.saturating_sub(1),
        Some(Action::Down) => pick.selected = (pick.selected + 1).min(last),
        Some(Action::PageUp) => pick.selected = pick.selected.saturating_sub(10),
        Some(Action::PageDown) => pick.selected = (pick.selected + 10).min(last),
        Some(Action::Top) => pick.selected = 0,
        Some(Action::Bottom) => pick.selected = last,
        Some(Action::Back | Action::Quit) => app.overlay = None,
        _ => {}
    }
}

fn against(app: &mut App, source: Source) {
    let (Some(task), Some(subject)) = (app.target.task.clone(), &app.target.source) else {
        return;
    };
    app.diff.against = match source {
        Source::Gold if *subject != Source::Base => Against::Gold,
        Source::Base => Against::Base,
        other => Against::Other(task, other),
    };
    load_changes(app);
}
