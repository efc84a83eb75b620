//! Clicks and the wheel.

use ratatui::layout::Rect;

use crate::tui::effect::Effect;
use crate::tui::fixture::{app, author, press, render, screen, settle};
use crate::tui::layout::{LayoutKind, PaneKind};
use crate::tui::msg::Msg;
use crate::tui::overlays::Overlay;
use crate::tui::state::App;
use crate::tui::update::update;

/// Clicks on the first cell of a text of the screen.
fn click(app: &mut App, text: &str) -> Vec<Effect> {
    let buf = render(app);
    for row in 0..buf.area.height {
        let cells: Vec<&str> = (0..buf.area.width)
            .map(|x| buf[(x, row)].symbol())
            .collect();
        if let Some(at) = cells.concat().find(text) {
            let column = cells.concat()[..at].chars().count() as u16;
            let effects = update(app, Msg::Click { column, row });
            return settle(app, effects);
        }
    }
    panic!("{text:?} is not on the screen:\n{}", screen(app));
}

fn middle(rect: Rect) -> (u16, u16) {
    (rect.x + rect.width / 2, rect.y + rect.height / 2)
}

fn wheel(app: &mut App, pane: PaneKind, steps: i16) {
    let (column, row) = middle(app.plan().of(pane));
    let effects = update(app, Msg::Wheel { column, row, steps });
    settle(app, effects);
}

#[test]
fn a_click_focuses_a_pane_and_selects_the_row_under_it() {
    let mut app = app(120, 40);
    click(&mut app, "test_mean_not_sum");
    assert_eq!(app.focus, PaneKind::Cases);
    let selected = app.cases.selected_row().unwrap().id.0.clone();
    assert!(selected.contains("test_mean_not_sum"), "{selected}");
    click(&mut app, "glm");
    assert_eq!(app.focus, PaneKind::Tasks);
    assert!(format!("{:?}", app.target.source).contains("glm"));
    // once more on a branch closes it
    click(&mut app, "dp-buckets");
    let rows = app.tree.rows.len();
    click(&mut app, "dp-buckets");
    assert!(app.tree.rows.len() < rows);
}

#[test]
fn every_pane_takes_a_click_anywhere() {
    for (width, height) in [(40, 10), (80, 24), (100, 30), (120, 40), (200, 60)] {
        for mut app in [app(width, height), author::app(width, height)] {
            for row in 0..height {
                for column in (0..width).step_by(7) {
                    update(&mut app, Msg::Click { column, row });
                    app.overlay = None;
                }
            }
            render(&app);
        }
    }
}

#[test]
fn a_click_in_the_matrix_goes_to_its_row() {
    let mut app = author::app(120, 40);
    press(&mut app, "C");
    let row = app.acceptance.row;
    click(&mut app, "alt ");
    assert_eq!(app.focus, PaneKind::Acceptance);
    assert_ne!(app.acceptance.row, row);
    let chosen = app.acceptance.selected().unwrap();
    assert_eq!(chosen.role, crate::domain::acceptance::Role::Alternative);
}

#[test]
fn a_click_on_a_hint_does_what_it_says() {
    let mut app = app(120, 40);
    click(&mut app, "? help");
    assert!(matches!(app.overlay, Some(Overlay::Help(_))));
    press(&mut app, "esc");
    let effects = click(&mut app, "grade gold");
    assert!(
        effects
            .iter()
            .any(|effect| matches!(effect, Effect::Grade(_)))
    );
    click(&mut app, "operator");
    assert_eq!(app.layout, LayoutKind::Operator);
    assert_eq!(click(&mut app, "q quit"), [Effect::Quit]);
    let mut app = crate::tui::fixture::app(80, 24);
    click(&mut app, " cases ");
    assert_eq!(app.focus, PaneKind::Cases);
}

#[test]
fn the_wheel_scrolls_what_the_pointer_is_over_and_leaves_the_focus() {
    let mut app = app(120, 40);
    press(&mut app, "d");
    let before = app.cases.selected;
    wheel(&mut app, PaneKind::Cases, 2);
    assert_eq!(
        (app.focus, app.cases.selected),
        (PaneKind::Diff, before + 2)
    );
    wheel(&mut app, PaneKind::Cases, -1);
    assert_eq!(app.cases.selected, before + 1);
    let before = app.log.top;
    assert!(app.log.follow || before == app.log.top);
    wheel(&mut app, PaneKind::Log, -30);
    assert!(!app.log.follow, "scrolling up stops following");
}

#[test]
fn the_palette_takes_clicks_and_a_question_does_not() {
    let mut app = app(120, 40);
    press(&mut app, ": z o o m");
    click(&mut app, "give the whole screen");
    assert!(app.zoom && app.overlay.is_none());
    press(&mut app, ":");
    update(&mut app, Msg::Click { column: 0, row: 0 });
    assert!(app.overlay.is_none(), "a click outside closes it");
    app.overlay = Some(Overlay::ConfirmCancel {
        runs: vec![crate::tui::fixture::run_id(1)],
        what: "x".into(),
        told: Vec::new(),
    });
    assert_eq!(click(&mut app, "cancel it"), []);
    assert!(app.overlay.is_some());
}
