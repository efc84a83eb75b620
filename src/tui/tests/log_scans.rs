//! Looking through a log never happens in the turn of a key: slices go out, what they find comes in.

use crate::tui::effect::Effect;
use crate::tui::fixture::{press, screen, settle};
use crate::tui::keymap::Key;
use crate::tui::msg::{LogDelta, Msg};
use crate::tui::panes::log::LogSource;
use crate::tui::panes::log::scan::{SLICE, Scan};
use crate::tui::state::App;
use crate::tui::update::update;

use super::log::{more, raw, showing};

/// Entries of the logs here: some slices, and a bit.
const LONG: usize = 3 * SLICE + 100;

/// A log whose one error, and one `needle`, is its last line.
fn long() -> App {
    let line = |n: usize| {
        let words = if n + 1 == LONG {
            "ERROR needle"
        } else {
            "fine"
        };
        raw(format!("{words} {n}"))
    };
    showing((0..LONG).map(line).collect())
}

/// One turn of the loop: a key in, what it asks for out.
fn turn(app: &mut App, key: &str) -> Vec<Effect> {
    update(app, Msg::Key(Key::parse(key).unwrap()))
}

fn scan(effects: &[Effect]) -> Scan {
    let [Effect::ScanLog(scan)] = effects else {
        panic!("not one slice: {} effects", effects.len());
    };
    assert!(scan.size() <= SLICE, "{}", scan.size());
    scan.clone()
}

/// A worker has looked through a slice.
fn scanned(app: &mut App, scan: Scan) -> Vec<Effect> {
    update(app, Msg::LogScanned(scan.run()))
}

/// Types a pattern, up to the key that begins the search.
fn search(app: &mut App, words: &str) -> Vec<Effect> {
    press(app, "/");
    for c in words.chars() {
        press(app, &c.to_string());
    }
    turn(app, "enter")
}

#[test]
fn a_search_looks_at_nothing_in_the_turn_of_its_key_and_says_how_far_it_is() {
    let mut app = long();
    let mut effects = search(&mut app, "needle");
    assert_eq!(
        app.log.look.upto, 0,
        "entries were looked at on the thread that draws"
    );
    assert!(screen(&app).contains("searching… 0 %"), "{}", screen(&app));
    let mut told = Vec::new();
    for slices in 1..=3 {
        effects = scanned(&mut app, scan(&effects));
        assert_eq!(app.log.look.upto, slices * SLICE);
        assert_eq!(app.log.cursor, 0);
        told.push(app.log.progress().unwrap().1);
        assert!(screen(&app).contains(&format!("searching… {} %", told[slices - 1])));
    }
    assert_eq!(told, [33, 66, 99]);
    assert!(scanned(&mut app, scan(&effects)).is_empty());
    assert_eq!((app.log.cursor, app.log.look.hits.len()), (LONG - 1, 1));
    assert!(!screen(&app).contains("searching"));
}

#[test]
fn a_newer_search_lets_go_of_the_one_before_and_a_key_keeps_the_reader_where_he_goes() {
    let mut app = long();
    let old = scan(&search(&mut app, "needle"));
    press(&mut app, "esc");
    let new = search(&mut app, "fine");
    assert!(scanned(&mut app, old).is_empty(), "nobody waits for it");
    assert!(app.log.look.hits.is_empty());
    let rest = scanned(&mut app, scan(&new));
    assert_eq!(app.log.look.hits.len(), SLICE);
    settle(&mut app, rest);
    assert_eq!(app.log.look.hits.len(), LONG - 1);
    // a movement while it is searched: the first hit does not take the reader away from there
    press(&mut app, "esc <");
    let first = search(&mut app, "needle");
    press(&mut app, "j j");
    let rest = scanned(&mut app, scan(&first));
    settle(&mut app, rest);
    assert_eq!((app.log.cursor, app.log.look.hits.len()), (2, 1));
}

#[test]
fn the_next_error_is_sought_in_slices_and_the_next_key_stops_that() {
    let mut app = long();
    let mut effects = turn(&mut app, "e");
    assert_eq!(app.log.cursor, 0, "sought on the thread that draws");
    for _ in 0..3 {
        assert!(
            screen(&app).contains("seeking an error… "),
            "{}",
            screen(&app)
        );
        effects = scanned(&mut app, scan(&effects));
        assert_eq!(app.log.cursor, 0);
    }
    assert!(scanned(&mut app, scan(&effects)).is_empty());
    assert_eq!(app.log.cursor, LONG - 1);
    let effects = turn(&mut app, "e");
    assert!(effects.is_empty());
    assert!(app.toast.as_ref().unwrap().text.contains("no more errors"));
    press(&mut app, "<");
    let late = scan(&turn(&mut app, "e"));
    let focus = app.focus;
    assert!(turn(&mut app, "esc").is_empty());
    assert_eq!(
        app.focus, focus,
        "the key ends the search for it, and that is all"
    );
    assert!(scanned(&mut app, late).is_empty());
    assert!(!screen(&app).contains("seeking") && app.log.cursor == 0);
}

#[test]
fn what_a_rewritten_log_begins_with_is_not_looked_through_again() {
    let mut app = long();
    let effects = search(&mut app, "fine");
    settle(&mut app, effects);
    assert_eq!(app.log.look.upto, LONG);
    let mut all: Vec<_> = app
        .log
        .entries
        .iter()
        .map(|entry| (**entry).clone())
        .collect();
    all[LONG - 1] = raw("fine now");
    all.push(raw("fine too"));
    let key = app.log.source().and_then(LogSource::key).cloned().unwrap();
    let delta = LogDelta {
        len: all.len(),
        entries: all.into_iter().enumerate().collect(),
        replaced: true,
        ticket: app.log.ticket,
        ..LogDelta::default()
    };
    let effects = update(&mut app, Msg::Log(key, Ok(delta)));
    let slice = scan(&effects);
    assert_eq!(slice.size(), 2);
    assert_eq!(app.log.look.upto, LONG - 1);
    scanned(&mut app, slice);
    assert_eq!(app.log.look.hits.len(), LONG + 1);
}

#[test]
fn entries_that_change_while_they_are_looked_through_are_looked_at_again() {
    let mut app = showing((0..10).map(|n| raw(format!("line {n}"))).collect());
    let slice = scan(&search(&mut app, "needle"));
    let key = app.log.source().and_then(LogSource::key).cloned().unwrap();
    let delta = LogDelta {
        len: 10,
        entries: vec![(3, raw("needle"))],
        ticket: app.log.ticket,
        ..LogDelta::default()
    };
    assert!(update(&mut app, Msg::Log(key, Ok(delta))).is_empty());
    let again = scanned(&mut app, slice);
    let slice = scan(&again);
    assert_eq!(slice.size(), 1);
    scanned(&mut app, slice);
    assert_eq!(app.log.look.hits, [(3, 1)]);
    // and what comes is looked at without the rest of it
    more(&mut app, vec![raw("a needle more")]);
    assert_eq!(app.log.look.hits, [(3, 1), (10, 1)]);
}
