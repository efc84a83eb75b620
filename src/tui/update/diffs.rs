//! Answers for the diff pane: both sides of a file, their colours.

use std::sync::Arc;

use crate::tui::effect::Effect;
use crate::tui::highlight::Wanted;
use crate::tui::layout::PaneKind;
use crate::tui::msg::Msg;
use crate::tui::state::App;

pub fn take(app: &mut App, msg: Msg) {
    match msg {
        Msg::File(comparison, path, answer) => {
            let shown = app.diff.files.get(app.diff.selected).map(|file| &file.path);
            if app.diff.comparison.as_ref() != Some(&comparison) || shown != Some(&path) {
                return;
            }
            app.diff.loading = false;
            match answer {
                Ok(file) => {
                    app.diff.take_file(*file);
                    ask_colours(app, &path);
                }
                Err(error) => app.diff.error = Some(error.0),
            }
            app.touch(PaneKind::Diff);
        }
        Msg::Colours(piece) => {
            app.diff.take_colours(piece);
            app.touch(PaneKind::Diff);
        }
        _ => {}
    }
}

fn ask_colours(app: &mut App, path: &str) {
    let Some(shown) = &app.diff.file else { return };
    let wanted: Vec<Wanted> = shown
        .file
        .sides
        .iter()
        .enumerate()
        .map(|(side, text)| Wanted {
            ticket: app.diff.ticket,
            side,
            path: path.to_owned(),
            text: Arc::clone(text),
        })
        .collect();
    for side in wanted {
        app.ask(Effect::Highlight(side));
    }
}
