//! When an action is possible, and the words that say why it is not.

use super::action::Possible;
use super::layout::PaneKind;
use super::state::App;

fn need(condition: bool, otherwise: &'static str) -> Possible {
    if condition { Ok(()) } else { Err(otherwise) }
}

pub fn always(_: &App) -> Possible {
    Ok(())
}

pub fn has_task(app: &App) -> Possible {
    need(app.target.task.is_some(), "no task is selected")
}

pub fn can_grade(app: &App) -> Possible {
    if super::update::marks_meant(app) {
        return Ok(());
    }
    has_task(app)?;
    need(
        app.target.source.is_some(),
        "select a submission, gold or base first",
    )
}

pub fn can_cancel(app: &App) -> Possible {
    need(
        app.live_run().is_some() || super::update::can_cancel_marked(app),
        "nothing runs here that could be cancelled",
    )
}

pub fn has_run(app: &App) -> Possible {
    need(app.open.is_some(), "no run yet: {grade} grades")
}

pub fn has_cases(app: &App) -> Possible {
    need(!app.cases.all.is_empty(), "no cases yet: {grade} grades")
}

pub fn can_rerun_case(app: &App) -> Possible {
    has_run(app)?;
    need(
        !app.cases.heat.open || app.focus != PaneKind::Cases,
        "{to-diff} goes to the case of the submission under the cursor first",
    )?;
    need(
        app.cases.selected_row().is_some(),
        "select a case first: {cases}",
    )
}

pub fn can_rerun_failing(app: &App) -> Possible {
    if super::update::marks_meant(app) {
        return Ok(());
    }
    has_run(app)?;
    need(
        app.cases
            .all
            .iter()
            .any(super::panes::cases::CaseRow::not_passed),
        "every case that ended has passed",
    )
}

pub fn can_find(app: &App) -> Possible {
    need(!app.focus.author(), "nothing to filter here")
}

pub fn has_gpus(app: &App) -> Possible {
    let any = app
        .gpu
        .view
        .as_ref()
        .is_some_and(|view| !view.gpus.is_empty());
    need(any, "no GPU is seen on this machine")
}

pub fn has_other_log(app: &App) -> Possible {
    need(app.log.sources.len() > 1, "there is only one log here")
}

pub fn searching(app: &App) -> Possible {
    need(app.log.look.search.is_some(), "search first: {find}")
}

pub fn has_log(app: &App) -> Possible {
    need(!app.log.entries.is_empty(), "no log is shown")
}

pub fn tells_times(app: &App) -> Possible {
    has_log(app)?;
    need(app.log.first_s().is_some(), "this log tells no times")
}

pub fn has_structure(app: &App) -> Possible {
    let format = app.log.source().map(super::panes::log::LogSource::format);
    let structured = format.is_some_and(|f| f != crate::domain::submission::LogFormat::Text);
    need(structured, "its lines are shown as they are")
}

pub fn has_earlier_log(app: &App) -> Possible {
    need(
        app.log.earlier.is_some() || super::update::has_earlier_log(app),
        "there was no attempt before this one",
    )
}

pub fn has_files(app: &App) -> Possible {
    need(!app.diff.files.is_empty(), "no file differs")
}

pub fn has_diff(app: &App) -> Possible {
    need(app.diff.file.is_some(), "no file is shown")
}

pub fn has_frames(app: &App) -> Possible {
    need(
        app.cases
            .why
            .as_ref()
            .is_some_and(|why| !why.frames.is_empty()),
        "this case has no traceback",
    )
}

pub fn has_place(app: &App) -> Possible {
    if app.cases.heat.open {
        return need(app.cases.heat.here().is_some(), "the map is empty");
    }
    has_frames(app)
}

pub fn has_before(app: &App) -> Possible {
    has_cases(app)?;
    let before = app.cases.before.as_ref();
    let read = before.is_some_and(|(run, _)| app.cases.known.contains_key(run));
    need(read, "there is no whole run of the same before this one")
}

pub fn has_matrix(app: &App) -> Possible {
    let matrix = app.acceptance.matrix.as_ref();
    let known = matrix.is_some_and(|m| m.acceptance.is_some());
    need(known, "not verified yet: {verify} verifies")
}

pub fn has_cell(app: &App) -> Possible {
    need(app.cell.cases.len() > 1, "the cell has no other case")
}

pub fn has_cell_frames(app: &App) -> Possible {
    need(!app.cell.frames.is_empty(), "this case has no traceback")
}

pub fn can_verify(app: &App) -> Possible {
    has_task(app)?;
    need(
        app.live_verify().is_none(),
        "a verify run of the task is going on and fills the matrix: {cancel} cancels it",
    )
}

pub fn can_verify_row(app: &App) -> Possible {
    has_matrix(app)?;
    can_verify(app)
}

pub fn can_copy(app: &App) -> Possible {
    need(
        super::update::copied(app).is_some(),
        "nothing is selected that could be copied",
    )
}

pub fn has_splits(app: &App) -> Possible {
    need(
        app.plan().panes.len() > 1,
        "one pane is shown: there is nothing to share out",
    )
}

pub fn has_comparison(app: &App) -> Possible {
    need(app.diff.comparison.is_some(), "nothing is compared")
}

pub fn can_note(app: &App) -> Possible {
    has_diff(app)?;
    need(
        app.diff.notes_of.is_some(),
        "notes are kept with a run, and there is none yet",
    )
}
