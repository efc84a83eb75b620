//! Answers for the diff pane: both sides of a file, their rows, their colours.

use crate::tui::layout::PaneKind;
use crate::tui::msg::Msg;
use crate::tui::state::App;

pub fn take(app: &mut App, msg: Msg) {
    if let Msg::File(comparison, path, answer) = msg {
        let shown = app.diff.files.get(app.diff.selected).map(|file| &file.path);
        if app.diff.comparison.as_ref() != Some(&comparison) || shown != Some(&path) {
            return;
        }
        app.diff.loading = false;
        match answer {
            Ok(pair) => app.diff.take_file(pair),
            Err(error) => app.diff.error = Some(error.0),
        }
        app.touch(PaneKind::Diff);
    }
}
