//! When an action is possible, and the words that say why it is not.

use super::action::Possible;
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
    has_task(app)?;
    need(
        app.target.source.is_some(),
        "select a submission, gold or base first",
    )
}

pub fn can_cancel(app: &App) -> Possible {
    need(
        app.live_run().is_some(),
        "nothing runs here that could be cancelled",
    )
}

pub fn has_run(app: &App) -> Possible {
    need(app.open.is_some(), "no run yet: g grades")
}

pub fn has_cases(app: &App) -> Possible {
    need(!app.cases.all.is_empty(), "no cases yet: g grades")
}

pub fn can_rerun_case(app: &App) -> Possible {
    has_run(app)?;
    need(
        app.cases.selected_row().is_some(),
        "select a case first (4 or c)",
    )
}

pub fn can_rerun_failing(app: &App) -> Possible {
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
    need(
        app.focus != super::layout::PaneKind::Gpu,
        "nothing to filter among GPUs",
    )
}

pub fn has_other_log(app: &App) -> Possible {
    need(app.log.sources.len() > 1, "there is only one log here")
}

pub fn searching(app: &App) -> Possible {
    need(!app.log.search.is_empty(), "search first: /")
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
