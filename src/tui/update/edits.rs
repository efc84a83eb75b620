//! What opens in the user's editor: the probe under the cursor, the row's patch.

use crate::domain::acceptance::Role;
use crate::domain::{Suite, Task};
use crate::report::acceptance::Row;
use crate::tui::effect::{EditAt, EditRequest, Effect};
use crate::tui::state::App;

/// In the task's folder.
pub fn patch_file(task: &Task, patch: &str) -> Option<String> {
    let spec = &task.spec;
    if patch == "gold" {
        return spec.gold.patch.clone();
    }
    let adversarial = spec.adversarial.iter();
    let adversarial = adversarial.map(|a| (Role::Adversarial.label(&a.name), &a.patch));
    let alternative = spec.alternative.iter();
    let alternative = alternative.map(|a| (Role::Alternative.label(&a.name), &a.patch));
    let mut all = adversarial.chain(alternative);
    all.find(|(label, _)| label == patch)
        .map(|(_, file)| file.clone())
}

/// Opens the test file of the cell: at the frame's line where one is shown of it, else where the
/// function begins.
pub fn edit_probe(app: &mut App) {
    let acceptance = &app.acceptance;
    let Some(task) = acceptance
        .task
        .as_deref()
        .and_then(|id| app.task(id))
        .cloned()
    else {
        return;
    };
    let column = (acceptance.matrix.as_ref())
        .and_then(|m| acceptance.function().and_then(|at| m.columns.get(at)));
    let own = app.cell.case().map(|case| case.result.id.file().to_owned());
    let suite = column.map_or(Suite::Official, |_| Suite::Probes);
    let Some(file) = own.or_else(|| column.map(|column| column.file().to_owned())) else {
        return app.complain("no test file is under the cursor: select a cell first");
    };
    let frame = app
        .cell
        .frames
        .get(app.cell.frame)
        .filter(|frame| frame.path == file);
    let at = match (frame, app.cell.function()) {
        (Some(frame), _) => EditAt::Line(frame.line),
        (None, Some(function)) => EditAt::Function(function.to_owned()),
        (None, None) => EditAt::Start,
    };
    let spec = task.spec.suites.get(suite);
    let inside = spec.and_then(|spec| {
        let below = file.strip_prefix(&spec.into)?.trim_start_matches('/');
        let from = spec.from.as_ref()?;
        crate::domain::task::stays_inside(below).then(|| task.path(from).join(below))
    });
    match inside {
        Some(path) => app.ask(Effect::Edit(EditRequest { path, at })),
        None => app.complain("the suite comes with the task's repository: it is not edited here"),
    }
}

/// Opens the row's patch, where it changes the file of the chosen frame.
pub fn edit_patch(app: &mut App) {
    let Some(task) = (app.acceptance.task.as_deref())
        .and_then(|id| app.task(id))
        .cloned()
    else {
        return;
    };
    let Some(Row { patch, role, .. }) = app.acceptance.selected().cloned() else {
        return;
    };
    let file = match (role, patch_file(&task, &patch)) {
        (_, Some(file)) => file,
        (Role::Base, None) => {
            return app.complain("base is no patch: it is the repository before the change");
        }
        (Role::Hollow, None) => {
            return app.complain("hollow is made anew from base and gold each time");
        }
        (_, None) => return app.complain("the patch comes from the task's repository"),
    };
    let frame = app.cell.frames.get(app.cell.frame);
    // the test's own frame stands above the one in what the patch changes
    let own = app.cell.frames.iter().rfind(|frame| {
        let test = app.cell.case().map(|case| case.result.id.file());
        !frame.path.starts_with('/') && Some(frame.path.as_str()) != test
    });
    let test = app.cell.case().map(|case| case.result.id.file());
    let frame = frame
        .filter(|frame| Some(frame.path.as_str()) != test)
        .or(own);
    let at = frame.map_or(EditAt::Start, |frame| {
        EditAt::Change(frame.path.clone(), Some(frame.line))
    });
    let path = task.path(&file);
    app.ask(Effect::Edit(EditRequest { path, at }));
}
