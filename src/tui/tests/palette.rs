//! The palette and the help page.

use ratatui::style::Modifier;

use crate::domain::Source;
use crate::tui::action::TABLE;
use crate::tui::effect::Effect;
use crate::tui::fixture::{app, author, press, run_id, screen, style_of};
use crate::tui::layout::{LayoutKind, PaneKind};
use crate::tui::msg::Msg;
use crate::tui::overlays::{Overlay, Palette};
use crate::tui::state::App;
use crate::tui::update::update;

fn palette(app: &App) -> &Palette {
    match &app.overlay {
        Some(Overlay::Palette(palette)) => palette,
        other => panic!("no palette: {other:?}"),
    }
}

/// Types a word into the palette, which opens it first.
fn ask(app: &mut App, word: &str) {
    press(app, ":");
    update(app, Msg::Paste(word.into()));
}

#[test]
fn palettes() {
    for (width, height) in [(40, 10), (80, 24), (120, 40)] {
        let mut app = app(width, height);
        press(&mut app, "c");
        ask(&mut app, "fail");
        insta::assert_snapshot!(format!("palette_{width}x{height}"), screen(&app));
        press(&mut app, "esc ?");
        insta::assert_snapshot!(format!("help_{width}x{height}"), screen(&app));
    }
}

#[test]
fn a_few_letters_find_an_action_and_enter_does_it() {
    let mut app = app(120, 40);
    press(&mut app, "p z o o m");
    assert_eq!(palette(&app).item().unwrap().name, "zoom");
    press(&mut app, "enter");
    assert!(app.zoom && app.overlay.is_none());
    ask(&mut app, "gradegold");
    let effects = press(&mut app, "enter");
    let gold = |effect: &Effect| matches!(effect, Effect::Grade(r) if r.source == Source::Gold);
    assert!(effects.iter().any(gold));
    ask(&mut app, "operator");
    press(&mut app, "enter");
    assert_eq!(app.layout, LayoutKind::Operator);
    // words about an action find it as well
    ask(&mut app, "traceback in place");
    assert_eq!(palette(&app).item().unwrap().name, "why");
}

#[test]
fn every_action_is_offered_with_its_keys() {
    let mut app = app(120, 40);
    press(&mut app, ":");
    for entry in TABLE {
        let item = palette(&app)
            .items
            .iter()
            .find(|item| item.name == entry.name);
        let keys = app.ui.keymap.keys(entry).join(" or ");
        assert_eq!(item.unwrap().key, keys, "{}", entry.name);
    }
}

#[test]
fn what_is_not_possible_stands_last_and_dim_and_says_why() {
    let mut app = app(120, 40);
    ask(&mut app, "cancel");
    assert!(palette(&app).item().unwrap().refused.is_some());
    assert!(
        screen(&app).contains("not now: nothing runs here"),
        "{}",
        screen(&app)
    );
    assert_eq!(press(&mut app, "enter"), []);
    assert!(app.overlay.is_some(), "it stays open");
    assert!(
        app.toast
            .as_ref()
            .unwrap()
            .text
            .contains("nothing runs here")
    );
    press(&mut app, "ctrl-u h u n k");
    assert!(screen(&app).contains("works in diff"), "{}", screen(&app));
    let fg = |app: &App, text: &str| style_of(app, text).fg;
    assert_eq!(
        fg(&app, "works in diff"),
        Some(ratatui::style::Color::DarkGray)
    );
    press(&mut app, "ctrl-u");
    let refused = palette(&app).shown.iter().map(|shown| {
        let item = &palette(&app).items[shown.item];
        item.refused.is_some()
    });
    let refused: Vec<bool> = refused.collect();
    assert!(
        refused.is_sorted() && refused.contains(&true),
        "{refused:?}"
    );
}

#[test]
fn matched_letters_and_the_selected_row_are_seen() {
    let mut app = app(120, 40);
    ask(&mut app, "zoo");
    assert!(
        style_of(&app, "zoom")
            .add_modifier
            .contains(Modifier::REVERSED)
    );
    assert_eq!(
        style_of(&app, "zoom").bg,
        Some(ratatui::style::Color::Yellow)
    );
}

#[test]
fn it_goes_to_tasks_submissions_and_runs() {
    let mut app = app(120, 40);
    ask(&mut app, "sparse-sync");
    press(&mut app, "enter");
    assert_eq!(app.target.task.as_deref(), Some("sparse-sync"));
    ask(&mut app, "dp-buckets glm");
    press(&mut app, "enter");
    let glm = Source::Submission { name: "glm".into() };
    assert_eq!(app.target.source, Some(glm));
    let run = app
        .runs
        .iter()
        .find(|run| run.id == run_id(1))
        .unwrap()
        .clone();
    ask(&mut app, &run.id.0);
    press(&mut app, "enter");
    assert_eq!(app.target.run, Some(run.id), "{}", screen(&app));
}

#[test]
fn letters_are_typed_and_arrows_move() {
    let mut app = app(120, 40);
    press(&mut app, ": q j k");
    assert_eq!(palette(&app).text, "qjk");
    press(&mut app, "backspace backspace backspace down down up");
    assert_eq!(palette(&app).selected, 1);
    press(&mut app, "end");
    assert_eq!(palette(&app).selected, palette(&app).shown.len() - 1);
    let shown = screen(&app);
    let last = &palette(&app).items[palette(&app).shown.last().unwrap().item];
    assert!(shown.contains(&last.name), "{shown}");
    press(&mut app, "backspace");
    assert!(app.overlay.is_none());
    press(&mut app, ": x y z z y enter");
    assert_eq!(app.toast.as_ref().unwrap().text, "nothing is called so");
}

#[test]
fn help_is_searched_and_scrolls_to_its_end() {
    let mut app = author::app(80, 24);
    press(&mut app, "m ? / m o u s e enter");
    let shown = screen(&app);
    assert!(
        shown.contains("take the mouse") && !shown.contains("grade gold"),
        "{shown}"
    );
    press(&mut app, "esc");
    assert!(screen(&app).contains("in acceptance"), "{}", screen(&app));
    // a key is found by itself
    press(&mut app, "/ G enter");
    assert!(
        screen(&app).contains("grade the task's gold patch"),
        "{}",
        screen(&app)
    );
    press(&mut app, "esc end");
    let end = screen(&app);
    press(&mut app, "k");
    assert_ne!(screen(&app), end, "one row up from the end is seen at once");
    press(&mut app, "/ x y z z y enter");
    assert!(screen(&app).contains("no key does that"));
    press(&mut app, "q");
    assert!(app.overlay.is_none());
    assert_eq!(app.focus, PaneKind::Acceptance);
}
