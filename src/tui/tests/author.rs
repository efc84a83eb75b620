//! The author's layout: the matrix, the cell under its cursor, claims, and what keys order.

use ratatui::style::{Color, Modifier};

use crate::domain::manifest::Again;
use crate::domain::{Suite, Work};
use crate::tui::backend::{Change, RunStatus, VerifyRequest};
use crate::tui::caps::Depth;
use crate::tui::effect::{EditAt, EditRequest, Effect};
use crate::tui::fixture::{
    app as plain, author, empty, press, render, run_id, screen, settle, style_of, summary,
};
use crate::tui::layout::PaneKind;
use crate::tui::msg::Msg;
use crate::tui::state::App;
use crate::tui::update::update;

const SIZES: [(u16, u16); 3] = [(80, 24), (120, 40), (200, 60)];

fn verifies(effects: &[Effect]) -> Vec<&VerifyRequest> {
    let orders = effects.iter().filter_map(|effect| match effect {
        Effect::Verify(request) => Some(request),
        _ => None,
    });
    orders.collect()
}

fn edits(effects: &[Effect]) -> Vec<&EditRequest> {
    let orders = effects.iter().filter_map(|effect| match effect {
        Effect::Edit(request) => Some(request),
        _ => None,
    });
    orders.collect()
}

/// The cursor on a patch and the name of a probe function.
fn go(app: &mut App, patch: &str, function: &str) {
    let matrix = app.acceptance.matrix.as_ref().unwrap();
    let found = matrix
        .columns
        .iter()
        .find(|c| c.name() == function)
        .unwrap();
    let function = found.function.clone();
    assert!(app.acceptance.go_to(Some(patch), Some(&function)));
    press(app, ", .");
    assert!(app.acceptance.go_to(Some(patch), Some(&function)));
    // a movement and back: what is under the cursor is asked for
    press(app, "k j");
    assert_eq!(app.acceptance.selected().unwrap().patch, patch);
}

#[test]
fn screens() {
    for (width, height) in SIZES {
        let mut app = author::app(width, height);
        go(&mut app, "adversarial/stale-index", "sequence");
        insta::assert_snapshot!(format!("acceptance_{width}x{height}"), screen(&app));
        press(&mut app, "enter");
        insta::assert_snapshot!(format!("cell_{width}x{height}"), screen(&app));
        press(&mut app, "C j");
        insta::assert_snapshot!(format!("claims_{width}x{height}"), screen(&app));
    }
    let mut app = author::app(60, 12);
    insta::assert_snapshot!("acceptance_60x12", screen(&app));
    press(&mut app, "R m");
    insta::assert_snapshot!("acceptance_60x12_reviewer", screen(&app));
}

#[test]
fn a_run_fills_the_matrix() {
    for (width, height) in SIZES {
        let mut app = author::app(width, height);
        let effects = press(&mut app, "v");
        let asked = verifies(&effects);
        assert_eq!(asked.len(), 1);
        assert_eq!((asked[0].task.as_str(), asked[0].runs), (author::TASK, 3));
        assert!(asked[0].again.is_empty());
        app.toast = None;
        insta::assert_snapshot!(format!("verifying_{width}x{height}"), screen(&app));
    }
}

#[test]
fn colours_tell_what_the_rule_wants() {
    let app = author::app(200, 60);
    assert_eq!(
        style_of(&app, "REJECTED: 1 of 8 rules").fg,
        Some(Color::Red)
    );
    assert_eq!(style_of(&app, "stale: ").fg, Some(Color::Yellow));
    assert_eq!(
        style_of(&app, "✘ flaky: reset failed in run 3").fg,
        Some(Color::Red)
    );
    assert_eq!(
        style_of(&app, "⚠ by C3's own, by error only").fg,
        Some(Color::Yellow)
    );
    assert_eq!(style_of(&app, "✔ accepted").fg, Some(Color::Green));
}

#[test]
fn without_colours_the_cursor_and_stale_cells_are_seen() {
    let mut app = author::app(120, 40);
    app.ui = empty(120, 40, Depth::None).ui;
    let buf = render(&app);
    assert!(
        buf.content
            .iter()
            .all(|c| c.fg == Color::Reset && c.bg == Color::Reset)
    );
    let reversed = |c: &&ratatui::buffer::Cell| c.modifier.contains(Modifier::REVERSED);
    let under: String = buf
        .content
        .iter()
        .filter(reversed)
        .map(ratatui::buffer::Cell::symbol)
        .collect();
    assert!(
        under.contains("gold ×3") && under.contains("✔✔✘~"),
        "{under:?}"
    );
}

#[test]
fn the_cursor_moves_over_cells_and_the_cell_follows() {
    let mut app = author::app(200, 60);
    assert_eq!(
        app.cell.of.as_ref().unwrap().1.as_deref(),
        Some("probes/test_state.py::test_reset")
    );
    // the failing run comes first
    assert_eq!(app.cell.case().unwrap().run, 3);
    let effects = press(&mut app, "j right");
    assert_eq!(app.cell.of.as_ref().unwrap().0, "base");
    let asked = effects
        .iter()
        .filter(|e| matches!(e, Effect::LoadCellDetail { .. }));
    assert_eq!(asked.count(), 2);
    // a case that passed left no story: its source begins at the function
    press(&mut app, "> left left left left left left left");
    assert_eq!(
        app.acceptance.selected().unwrap().patch,
        "alternative/bitmap"
    );
    press(&mut app, "right");
    assert!(app.cell.detail.is_none());
    assert_eq!(app.cell.line(), Some(8));
    // beyond the last probe stands the official suite
    press(&mut app, ". . . . . . . . .");
    assert_eq!(app.acceptance.function(), None);
    assert_eq!(app.cell.cases.len(), 3);
}

#[test]
fn broken_cells_are_found_and_rows_filtered() {
    let mut app = author::app(120, 40);
    let place = |app: &App| {
        let row = app.acceptance.selected().unwrap().patch.clone();
        let column = app.acceptance.function();
        let matrix = app.acceptance.matrix.as_ref().unwrap();
        (
            row,
            column.map_or("official".into(), |at| matrix.columns[at].name()),
        )
    };
    press(&mut app, "> N");
    assert_eq!(
        place(&app),
        ("adversarial/stale-index".into(), "sequence".into())
    );
    press(&mut app, "N");
    assert_eq!(place(&app), ("gold".into(), "reset".into()));
    press(&mut app, "N");
    assert!(app.toast.as_ref().unwrap().bad);
    press(&mut app, "n");
    assert_eq!(
        place(&app),
        ("adversarial/stale-index".into(), "sequence".into())
    );
    press(&mut app, "f");
    let left: Vec<_> = app.acceptance.shown.clone();
    assert_eq!(left.len(), 2, "the flaky gold, and what dies of a crash");
    assert_eq!(place(&app).0, "adversarial/stale-index");
    press(&mut app, "esc");
    assert_eq!(app.acceptance.shown.len(), 6);
}

#[test]
fn a_cell_is_run_again_by_file_and_a_row_as_a_whole() {
    let mut app = author::app(120, 40);
    go(&mut app, "adversarial/stale-index", "sequence");
    let effects = press(&mut app, "r");
    let cell = Again {
        patch: "adversarial/stale-index".into(),
        suite: Some(Suite::Probes),
        file: Some("probes/test_state.py".into()),
    };
    assert_eq!(verifies(&effects)[0].again, std::slice::from_ref(&cell));
    assert!(cell.names(
        "adversarial/stale-index",
        Suite::Probes,
        Some("probes/test_state.py")
    ));
    assert!(!cell.names(
        "adversarial/stale-index",
        Suite::Probes,
        Some("probes/test_sync.py")
    ));
    assert!(!cell.names("adversarial/stale-index", Suite::Official, None));
    assert!(!cell.names("gold", Suite::Probes, Some("probes/test_state.py")));
    // the run that was ordered goes on: not twice
    let effects = press(&mut app, "F");
    assert!(verifies(&effects).is_empty());
    assert!(app.toast.as_ref().unwrap().text.contains("x cancels"));
    let mut app = author::app(120, 40);
    go(&mut app, "alternative/bitmap", "reset");
    let effects = press(&mut app, "F");
    let again = &verifies(&effects)[0].again[0];
    assert_eq!((again.suite, again.file.as_ref()), (None, None));
    assert!(again.names("alternative/bitmap", Suite::Official, None));
}

#[test]
fn x_cancels_the_verify_run_where_an_author_looks() {
    let mut app = author::app(120, 40);
    let mut run = summary(7, author::TASK, "gold", None);
    run.source = crate::domain::Source::Gold;
    run.work = Work::Verify {
        runs: 3,
        again: Vec::new(),
        watch_s: None,
    };
    run.status = RunStatus::Running;
    run.ended_s = None;
    let effects = update(&mut app, Msg::Run(run.id.clone(), Ok(Some(run))));
    settle(&mut app, effects);
    let effects = press(&mut app, "x y");
    assert!(effects.contains(&Effect::Cancel(run_id(7))));
}

#[test]
fn the_editor_opens_probe_and_patch_at_the_line() {
    let mut app = author::app(200, 60);
    go(&mut app, "adversarial/stale-index", "sequence");
    let effects = press(&mut app, "e");
    let path = "/t/delta-sync/probes/test_state.py".into();
    // the frame of the test itself
    assert_eq!(
        *edits(&effects)[0],
        EditRequest {
            path,
            at: EditAt::Line(11)
        }
    );
    let effects = press(&mut app, "E");
    let path = "/t/delta-sync/adversarial/stale-index.patch".into();
    let at = EditAt::Change("delta/sync.py".into(), Some(88));
    assert_eq!(*edits(&effects)[0], EditRequest { path, at });
    // where it passes: at the function
    go(&mut app, "alternative/bitmap", "first_sync");
    let effects = press(&mut app, "e");
    assert_eq!(
        edits(&effects)[0].at,
        EditAt::Function("test_first_sync".into())
    );
    // base and hollow are no files
    for patch in ["base", "hollow"] {
        go(&mut app, patch, "reset");
        assert!(edits(&press(&mut app, "E")).is_empty());
        assert!(app.toast.as_ref().unwrap().bad, "{patch}");
    }
}

#[test]
fn enter_goes_to_the_cell_and_back_and_frames_bring_their_source() {
    let mut app = author::app(80, 24);
    go(&mut app, "adversarial/stale-index", "sequence");
    press(&mut app, "enter");
    assert_eq!(app.focus, PaneKind::Cell);
    // the work tree's frames stand before the library's
    let paths: Vec<&str> = app.cell.frames.iter().map(|f| f.path.as_str()).collect();
    assert_eq!(
        paths[2..],
        ["delta/sync.py", "/usr/lib/python3/functools.py"]
    );
    assert_eq!(app.cell.line(), Some(11));
    let effects = press(&mut app, "] ]");
    let asked = effects.iter().any(|effect| {
        matches!(effect, Effect::LoadSource { path, tree: crate::domain::Source::Patch { file }, .. }
            if path == "delta/sync.py" && file.ends_with("adversarial/stale-index.patch"))
    });
    assert!(asked, "{effects:?}");
    press(&mut app, "]");
    assert!(
        screen(&app).contains("a library's file"),
        "{}",
        screen(&app)
    );
    press(&mut app, "enter");
    assert_eq!(app.focus, PaneKind::Acceptance);
    press(&mut app, "enter esc");
    assert_eq!(app.focus, PaneKind::Acceptance);
}

#[test]
fn a_claim_and_a_finding_lead_into_the_matrix() {
    let mut app = author::app(200, 60);
    press(&mut app, "C j j enter");
    assert_eq!(app.focus, PaneKind::Acceptance);
    assert_eq!(
        app.acceptance.selected().unwrap().patch,
        "adversarial/stale-index"
    );
    press(&mut app, "C >");
    let shown = screen(&app);
    for words in ["warnings", "rejected by no assertion", "single oracle kind"] {
        assert!(shown.contains(words), "{words}\n{shown}");
    }
}

#[test]
fn edits_and_runs_ask_for_the_matrix_again_only_where_it_is_seen() {
    let loads = |effects: &[Effect]| {
        let load = |e: &&Effect| matches!(e, Effect::LoadAcceptance { .. });
        effects.iter().filter(load).count()
    };
    let mut app = author::app(120, 40);
    let effects = update(&mut app, Msg::Changed(Change::Tasks));
    assert_eq!(loads(&effects), 1);
    // one at a time: what changes meanwhile is asked for after it
    let more = update(&mut app, Msg::Changed(Change::Tasks));
    assert_eq!(loads(&more), 0);
    let load = |effect: &Effect| matches!(effect, Effect::LoadAcceptance { .. });
    let own = effects.into_iter().filter(load).collect();
    let all = settle(&mut app, own);
    assert_eq!(loads(&all), 2);
    press(&mut app, "R t");
    let effects = update(&mut app, Msg::Changed(Change::Tasks));
    assert_eq!(loads(&effects), 0);
    let mut app = plain(120, 40);
    assert!(app.acceptance.matrix.is_none());
    let effects = press(&mut app, "A");
    assert_eq!(loads(&effects), 1);
    let shown = screen(&app);
    assert!(shown.contains("not verified yet") && shown.contains("v runs infradev verify"));
}

#[test]
fn a_matrix_that_fills_begins_at_its_first_cell() {
    let mut app = plain(120, 40);
    press(&mut app, "A");
    assert!(app.acceptance.matrix.as_ref().unwrap().columns.is_empty());
    let task = app.acceptance.task.clone().unwrap();
    let full = author::matrix(author::TASK, &[]);
    let effects = update(&mut app, Msg::Acceptance(task, Ok(Box::new(full))));
    settle(&mut app, effects);
    assert_eq!(app.acceptance.function(), Some(0));
}

#[test]
fn the_record_alone_fills_the_matrix() {
    let mut app = author::app(200, 60);
    let task = author::task();
    let known = author::matrix(author::TASK, &[]);
    let matrix = crate::report::acceptance::Matrix::new(
        &task,
        crate::report::acceptance::Known {
            runs: 3,
            tried: std::collections::BTreeMap::new(),
            recorded: known.recorded,
            freshness: crate::report::acceptance::Freshness::Unverified,
            live: None,
            changed: Vec::new(),
        },
    );
    assert_eq!(matrix.columns.len(), 6);
    let effects = update(
        &mut app,
        Msg::Acceptance(author::TASK.into(), Ok(Box::new(matrix))),
    );
    settle(&mut app, effects);
    go(&mut app, "adversarial/stale-index", "sequence");
    let shown = screen(&app);
    for words in [
        "from the record",
        "KeyError: 17",
        "v verifies here",
        "by C3's own, by error only",
    ] {
        assert!(shown.contains(words), "{words}\n{shown}");
    }
}
