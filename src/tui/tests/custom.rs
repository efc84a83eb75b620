//! What the user configures and changes: keys, themes, shares of the screen, and what is kept.

use crate::domain::Source;
use crate::tui::caps::Depth;
use crate::tui::config::{Config, ConfigFile};
use crate::tui::effect::Effect;
use crate::tui::fixture::{app, author, empty, press, screen, settle};
use crate::tui::keymap;
use crate::tui::layout::{LayoutKind, PaneKind};
use crate::tui::remember::Remembered;
use crate::tui::state::App;
use crate::tui::theme::Role;

/// A workbench with a keymap of the user's.
fn with_keys(text: &str) -> App {
    let mut app = app(120, 40);
    let file = ConfigFile {
        file: "keymap.toml",
        text,
    };
    let mut problems = Vec::new();
    app.ui.keymap = keymap::load(&file, &mut problems);
    assert_eq!(problems, []);
    app
}

fn graded(effects: &[Effect]) -> Vec<&Source> {
    let grades = effects.iter().filter_map(|effect| match effect {
        Effect::Grade(request) => Some(&request.source),
        _ => None,
    });
    grades.collect()
}

#[test]
fn a_chord_of_the_users_does_what_it_says_everywhere_it_is_told() {
    let mut app = with_keys("[everywhere]\ngrade = [\"g g\", \"f5\"]\ngrade-gold = \"g G\"\n");
    // the beginning of a chord does nothing yet, and the footer says how it goes on
    assert_eq!(press(&mut app, "g"), []);
    let footer = screen(&app).lines().last().unwrap().to_owned();
    assert!(
        footer.contains("g …") && footer.contains("g g grade"),
        "{footer}"
    );
    assert!(
        footer.contains("g G grade gold") && !footer.contains("cancel"),
        "{footer}"
    );
    let effects = press(&mut app, "g");
    assert_eq!(graded(&effects).len(), 1);
    let effects = press(&mut app, "g G");
    assert_eq!(graded(&effects), [&Source::Gold]);
    // a chord that leads nowhere says so, and the next key is itself again
    press(&mut app, "g x");
    assert_eq!(app.toast.as_ref().unwrap().text, "`g x` means nothing here");
    press(&mut app, "g esc z");
    assert!(app.toast.is_none() && app.zoom);
    press(&mut app, "z ?");
    assert!(screen(&app).contains("g g, f5"), "{}", screen(&app));
    press(&mut app, "esc :");
    assert!(screen(&app).contains("g g or f5"), "{}", screen(&app));
}

#[test]
fn reasons_and_empty_panes_name_the_users_keys() {
    let mut app = with_keys("[everywhere]\ngrade = \"!\"\ncancel = []\n");
    app.open = None;
    app.cases.clear();
    press(&mut app, "c");
    assert!(screen(&app).contains("! grades it"), "{}", screen(&app));
    press(&mut app, "n");
    assert_eq!(app.toast.as_ref().unwrap().text, "no cases yet: ! grades");
}

#[test]
fn a_key_that_was_taken_away_does_nothing() {
    let mut app = with_keys("[everywhere]\ngrade = []\n");
    assert_eq!(press(&mut app, "g"), []);
    let effects = press(&mut app, ": g r a d e enter");
    assert_eq!(graded(&effects).len(), 1);
}

#[test]
fn panes_grow_by_keys_and_each_layout_keeps_its_own_shares() {
    let mut app = app(120, 40);
    let width = |app: &App| app.plan().of(PaneKind::Tasks).width;
    let before = width(&app);
    press(&mut app, "} }");
    assert_eq!(width(&app), before + 8);
    press(&mut app, "O");
    assert_eq!(width(&app), before);
    press(&mut app, "R t");
    assert_eq!(width(&app), before + 8);
    press(&mut app, "=");
    assert_eq!(width(&app), before);
    // a pane that has the whole screen says why it cannot
    press(&mut app, "z }");
    assert!(
        app.toast
            .as_ref()
            .unwrap()
            .text
            .contains("one pane is shown")
    );
}

#[test]
fn it_comes_back_as_it_was_left() {
    let mut app = app(120, 40);
    press(&mut app, "O d } + T T M z");
    let kept = app.remembered();
    let text = serde_json::to_string(&kept).unwrap();
    let kept: Remembered = serde_json::from_str(&text).unwrap();
    let mut again = empty(120, 40, Depth::Ansi256);
    // as the start does it with the name that is kept
    again.ui.theme = app.ui.theme.clone();
    again.recall(&kept);
    assert_eq!(again.remembered(), kept);
    assert_eq!(
        (again.layout, again.focus),
        (LayoutKind::Operator, PaneKind::Diff)
    );
    assert!(again.zoom && again.mouse);
    assert_eq!(again.ui.theme.name, "light");
    assert_eq!(again.sizes, app.sizes);
    // what an older one wrote, or a hand, leaves the rest as it is
    let kept: Remembered = serde_json::from_str("{\"layout\": \"author\"}").unwrap();
    let mut again = empty(120, 40, Depth::Ansi256);
    let effects = App::first_effects();
    again.recall(&kept);
    settle(&mut again, effects);
    assert_eq!(again.layout, LayoutKind::Author);
    // shares that no screen has
    let kept = "{\"sizes\": [[32767,-32768,9,9,9],[32767,-32768,32767,-32768,1],[-1,-1,-1,-1,-1]]}";
    for (width, height) in [(81, 24), (120, 40), (300, 100)] {
        let mut again = crate::tui::fixture::app(width, height);
        again.recall(&serde_json::from_str(kept).unwrap());
        screen(&again);
    }
}

#[test]
fn a_key_turns_to_the_next_theme_and_round() {
    let mut app = app(120, 40);
    let mut names = Vec::new();
    for _ in Config::standard(Depth::Ansi256).themes {
        names.push(app.ui.theme.name.clone());
        press(&mut app, "T");
    }
    let all = [
        "default",
        "dark",
        "light",
        "high-contrast",
        "colour-blind",
        "monochrome",
    ];
    assert_eq!(names, all);
    assert_eq!(app.ui.theme.name, "default");
}

#[test]
fn every_theme_is_readable_on_every_screen() {
    // text that has the colour of its ground cannot be read
    for depth in [Depth::Ansi16, Depth::Ansi256, Depth::True] {
        for theme in Config::standard(depth).themes {
            for role in Role::ALL {
                let style = theme.style(*role);
                let same = style.fg.is_some() && style.fg == style.bg;
                assert!(!same, "{} {role:?} {depth:?}: {style:?}", theme.name);
            }
        }
    }
}

#[test]
fn pasting_is_switched_on_only_while_a_line_is_typed() {
    let mut app = author::app(120, 40);
    assert!(!app.wants_paste());
    for (opens, closes) in [(":", "esc"), ("t /", "esc"), ("? /", "esc esc")] {
        press(&mut app, opens);
        assert!(app.wants_paste(), "{opens}");
        press(&mut app, closes);
        assert!(!app.wants_paste(), "{opens}");
    }
}

#[test]
fn what_the_cursor_is_on_is_copied() {
    let mut app = app(120, 40);
    let mut copied = |keys: &str| {
        let effects = press(&mut app, keys);
        effects.into_iter().find_map(|effect| match effect {
            Effect::Copy(text) => Some(text),
            _ => None,
        })
    };
    let run = copied("y").unwrap();
    assert!(run.starts_with("20261129"), "{run}");
    assert!(copied("c y").unwrap().contains("test_mean_not_sum"));
    let story = copied("v y").unwrap();
    assert!(story.lines().count() > 2, "{story}");
    assert_eq!(copied("d y").unwrap(), "parallel/buckets.py");
    assert!(!copied("l y").unwrap().is_empty());
    // no GPU is here: it says why
    assert_eq!(copied("u y"), None);
    assert!(
        app.toast
            .as_ref()
            .unwrap()
            .text
            .contains("nothing is selected")
    );
}
