//! The author's panes: which matrix is shown, what is asked of it, what opens in the editor.

use std::sync::Arc;

use crate::domain::manifest::Again;
use crate::domain::{RunId, Source, Suite, Work};
use crate::report::acceptance::Matrix;
use crate::tui::action::Action;
use crate::tui::backend::{Answer, RunStatus, RunSummary, VerifyRequest};
use crate::tui::effect::Effect;
use crate::tui::highlight::Wanted;
use crate::tui::layout::PaneKind;
use crate::tui::msg::Msg;
use crate::tui::panes::cell::state::{CellState, SIDE, SourceText};
use crate::tui::panes::claims::{Item, state::items};
use crate::tui::state::App;

use super::answers::{put_summary, runs_changed};
use super::edits::{self, patch_file};

/// Gold's runs where no record says otherwise.
const RUNS: u32 = 3;

const PANES: [PaneKind; 3] = [PaneKind::Acceptance, PaneKind::Claims, PaneKind::Cell];

/// Asks for the matrix of the selected task where it is on the screen and not up to date.
pub fn keep_up(app: &mut App) {
    if app.acceptance.task != app.target.task {
        app.acceptance.turn_to(app.target.task.clone());
        app.cell = CellState::default();
        app.claims = crate::tui::panes::claims::ClaimsState::default();
        touch(app);
    }
    let Some(task) = app.acceptance.task.clone() else {
        return;
    };
    let seen = verify_runs(app, &task);
    if seen != app.acceptance.seen {
        app.acceptance.seen = seen;
        app.acceptance.outdated = true;
    }
    let plan = app.plan();
    let visible = PANES.iter().any(|pane| plan.shows(*pane));
    if visible && app.acceptance.outdated && !app.acceptance.loading && app.task(&task).is_some() {
        app.acceptance.outdated = false;
        app.acceptance.loading = true;
        let runs = app.acceptance.seen.iter().map(|(run, _)| run.clone());
        let runs = runs.collect();
        app.ask(Effect::LoadAcceptance { task, runs });
    }
}

/// Newest first, with where each stands: a new one and an end are both news.
fn verify_runs(app: &App, task: &str) -> Vec<(RunId, RunStatus)> {
    let own = |run: &&RunSummary| run.task == task && matches!(run.work, Work::Verify { .. });
    let runs = app.runs.iter().filter(own);
    runs.map(|run| (run.id.clone(), run.status)).collect()
}

/// A run's folder, or the tasks' changed.
pub fn outdated(app: &mut App, run: Option<&RunId>) {
    let own = |run: &RunId| app.acceptance.seen.iter().any(|(id, _)| id == run);
    if run.is_none_or(own) {
        app.acceptance.outdated = true;
    }
    if run.is_none() {
        // a source that was edited is read again
        app.cell.wanted = None;
    }
}

fn touch(app: &mut App) {
    for pane in PANES {
        app.touch(pane);
    }
}

pub fn take(app: &mut App, msg: Msg) {
    match msg {
        Msg::Acceptance(task, answer) => {
            if app.acceptance.task.as_ref() != Some(&task) {
                return;
            }
            app.acceptance.loading = false;
            match answer {
                Ok(matrix) => {
                    app.acceptance.error = None;
                    app.acceptance.take(matrix);
                    load_cell(app);
                }
                Err(error) => {
                    app.acceptance.matrix = None;
                    app.acceptance.error = Some(error.0);
                }
            }
            let last = items(app).len().saturating_sub(1);
            app.claims.selected = app.claims.selected.min(last);
            touch(app);
        }
        Msg::CellDetail(key, case, answer) => {
            let own = app
                .cell
                .case()
                .is_some_and(|own| own.key.as_ref() == Some(&key) && own.result.id == case);
            if own && app.cell.loading {
                app.cell.take(answer);
                load_source(app);
                touch(app);
            }
        }
        Msg::Source(path, answer) => source(app, path, answer),
        Msg::VerifyStarted(request, answer) => started(app, &request, answer),
        _ => {}
    }
}

/// Shows what is behind the cell under the cursor; what is shown already stays.
pub fn load_cell(app: &mut App) {
    let acceptance = &app.acceptance;
    let (Some(matrix), Some(at)) = (&acceptance.matrix, acceptance.at()) else {
        app.cell = CellState::default();
        return;
    };
    let column = acceptance.function();
    let function = column.and_then(|at| matrix.columns.get(at));
    let of = acceptance
        .selected()
        .map(|row| (row.patch.clone(), function.map(|c| c.function.clone())));
    let cases = matrix.cases(at, column);
    if app.cell.of == of && app.cell.cases == cases {
        load_source(app);
        return;
    }
    let chosen = if app.cell.of == of {
        app.cell.chosen
    } else {
        0
    };
    let ticket = app.cell.ticket;
    let (source, wanted) = (app.cell.source.take(), app.cell.wanted.take());
    app.cell = CellState {
        of,
        chosen: chosen.min(cases.len().saturating_sub(1)),
        cases,
        ticket,
        source,
        wanted,
        ..CellState::default()
    };
    load_case(app);
}

/// Asks for the story of the chosen case, where it left one.
fn load_case(app: &mut App) {
    app.cell.clear_story();
    let asked = app.cell.case().and_then(|case| {
        let key = case.key.clone().filter(|_| !case.result.outcome.passed())?;
        Some((key, case.result.id.clone()))
    });
    if let Some((key, case)) = asked {
        app.cell.loading = true;
        app.ask(Effect::LoadCellDetail { key, case });
    }
    load_source(app);
    touch(app);
}

/// Asks for the file beside the story, where another one is shown.
fn load_source(app: &mut App) {
    let Some((path, _)) = app.cell.place() else {
        app.cell.source = None;
        app.cell.wanted = None;
        return;
    };
    let suite = app.cell.case().map_or(Suite::Probes, |case| case.suite);
    let patch = app.cell.of.as_ref().map(|(patch, _)| patch.clone());
    let tree = patch.and_then(|patch| tree_of(app, &patch));
    // the same path in another patch's tree is another file
    let name = format!("{path}\0{suite}\0{tree:?}");
    if app.cell.wanted.as_ref() == Some(&name) {
        return;
    }
    app.cell.no_source = None;
    if app
        .cell
        .source
        .as_ref()
        .is_some_and(|source| source.path != path)
    {
        app.cell.source = None;
    }
    app.cell.wanted = Some(name);
    if path.starts_with('/') {
        app.cell.source = None;
        app.cell.no_source = Some("a library's file: it is not in the work tree".into());
        return;
    }
    let (Some(task), Some(tree)) = (app.acceptance.task.clone(), tree) else {
        return;
    };
    app.ask(Effect::LoadSource {
        task,
        suite,
        tree,
        path,
    });
}

/// What a patch of the matrix makes of base, as far as its tree can be read.
fn tree_of(app: &App, patch: &str) -> Option<Source> {
    let task = app.acceptance.task.as_deref().and_then(|id| app.task(id))?;
    match patch {
        "base" => return Some(Source::Base),
        "gold" => return Some(Source::Gold),
        _ => {}
    }
    let file = patch_file(task, patch);
    Some(file.map_or(Source::Gold, |file| Source::Patch {
        file: task.path(&file),
    }))
}

fn source(app: &mut App, path: String, answer: Answer<Option<Vec<u8>>>) {
    if app.cell.place().map(|(path, _)| path).as_ref() != Some(&path) {
        return;
    }
    match answer {
        Ok(Some(text)) => {
            let text = SourceText::new(path.clone(), text);
            app.cell.ticket += 1;
            let wanted = Wanted {
                ticket: app.cell.ticket,
                side: SIDE,
                path,
                text: Arc::clone(&text.text),
                first: 0,
            };
            app.cell.source = Some(text);
            app.ask(Effect::Highlight(wanted));
        }
        Ok(None) => {
            app.cell.source = None;
            app.cell.no_source = Some("the file is in neither the suite nor the tree".into());
        }
        Err(error) => {
            app.cell.source = None;
            app.cell.no_source = Some(error.0);
        }
    }
    touch(app);
}

pub fn perform(app: &mut App, action: Action) {
    match action {
        Action::Verify => verify(app, Vec::new()),
        Action::VerifyCell | Action::VerifyRow => {
            if let Some(again) = again(app, action == Action::VerifyRow) {
                verify(app, vec![again]);
            }
        }
        Action::OnlyBroken => {
            app.acceptance.only_broken = !app.acceptance.only_broken;
            app.acceptance.refilter();
            load_cell(app);
        }
        Action::NextBroken | Action::PrevBroken => {
            if app.acceptance.step_broken(action == Action::NextBroken) {
                load_cell(app);
            } else {
                app.complain("no more broken cells that way");
            }
        }
        Action::NextCase | Action::PrevCase => {
            let last = app.cell.cases.len().saturating_sub(1);
            app.cell.chosen = match action {
                Action::NextCase => (app.cell.chosen + 1).min(last),
                _ => app.cell.chosen.saturating_sub(1),
            };
            load_case(app);
        }
        Action::NextFrame | Action::PrevFrame => {
            app.cell.step_frame(action == Action::NextFrame);
            load_source(app);
        }
        Action::EditProbe => edits::edit_probe(app),
        Action::EditPatch => edits::edit_patch(app),
        _ => {}
    }
}

/// Where the selected item of the claims pane leads in the matrix.
pub fn follow_item(app: &mut App) {
    let claim = |app: &App, id: &str| -> (Option<String>, Option<String>) {
        let matrix = app.acceptance.matrix.as_ref();
        let row = matrix.and_then(|m| m.rows.iter().find(|row| row.claim.as_deref() == Some(id)));
        let column = matrix.and_then(|m| {
            let own = |c: &&crate::report::acceptance::Column| c.claims.iter().any(|c| c == id);
            m.columns.iter().find(own)
        });
        (
            row.map(|row| row.patch.clone()),
            column.map(|column| column.function.clone()),
        )
    };
    let (patch, function) = match items(app).get(app.claims.selected) {
        Some(Item::Claim(own)) => claim(app, &own.id.clone()),
        // a subject is a patch, a probe function or a claim
        Some(Item::Revise(finding) | Item::Warning(finding)) => {
            let subject = finding.subject.clone();
            let known = app.task(app.acceptance.task.as_deref().unwrap_or_default());
            let is_claim = known.is_some_and(|t| t.spec.claims.iter().any(|c| c.id == subject));
            if is_claim {
                claim(app, &subject)
            } else {
                (Some(subject.clone()), Some(subject))
            }
        }
        Some(Item::Rule(_)) | None => (None, None),
    };
    if app.acceptance.go_to(patch.as_deref(), function.as_deref()) {
        load_cell(app);
    }
}

/// The cell or the row under the cursor, as an order names it.
fn again(app: &App, row: bool) -> Option<Again> {
    let patch = app.acceptance.selected()?.patch.clone();
    if row {
        return Some(Again {
            patch,
            suite: None,
            file: None,
        });
    }
    let matrix = app.acceptance.matrix.as_ref()?;
    let column = app
        .acceptance
        .function()
        .and_then(|at| matrix.columns.get(at));
    Some(Again {
        patch,
        suite: Some(column.map_or(Suite::Official, |_| Suite::Probes)),
        file: column.map(|column| column.file().to_owned()),
    })
}

fn verify(app: &mut App, again: Vec<Again>) {
    let Some(task) = app.target.task.clone() else {
        return;
    };
    let recorded = |m: &Matrix| m.recorded.as_ref().map(|r| r.runs);
    let runs = app.acceptance.matrix.as_deref().and_then(recorded);
    app.say(match again.first() {
        None => "verifying what is stale or missing…".to_owned(),
        Some(again) => {
            let patch = crate::tui::text::clean(&again.patch).into_owned();
            let what = again.file.as_deref().map(crate::tui::text::clean);
            let what = what.map_or_else(
                || again.suite.map_or("both suites", Suite::name).to_owned(),
                std::borrow::Cow::into_owned,
            );
            format!("running {what} on {patch} again…")
        }
    });
    app.ask(Effect::Verify(VerifyRequest {
        task,
        runs: runs.unwrap_or(RUNS),
        again,
        engine: app.engine,
    }));
}

fn started(app: &mut App, request: &VerifyRequest, answer: Answer<RunId>) {
    let run = match answer {
        Ok(run) => run,
        Err(error) => return app.complain(error.0),
    };
    let mut summary = RunSummary::waiting(run.clone(), &request.task, Source::Gold, app.now_s);
    summary.work = Work::Verify {
        runs: request.runs,
        again: request.again.clone(),
        watch_s: None,
    };
    let summary = app.summary(&run).cloned().unwrap_or(summary);
    put_summary(app, &run, Some(summary));
    app.say(format!("{} verifies", crate::tui::text::clean(&run.0)));
    runs_changed(app);
    app.ask(Effect::LoadRun(run));
}
