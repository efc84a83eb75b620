//! The log pane: following, folding, searching, filtering, times, parts, what it leaves on disk.

use ratatui::style::Style;

use crate::agent::trace::{Entry, Kind, Progress, TraceReader};
use crate::domain::Level;
use crate::domain::submission::LogFormat;
use crate::tui::effect::{Effect, LogWish, Place};
use crate::tui::fixture::{agent, app, press, render, screen, settle};
use crate::tui::msg::{LogDelta, Msg};
use crate::tui::panes::log::LogSource;
use crate::tui::panes::tasks;
use crate::tui::state::App;
use crate::tui::theme::Role;
use crate::tui::update::{copied, retarget, update};

pub(super) fn raw(text: impl Into<String>) -> Entry {
    let text = text.into();
    Entry::new(None, Kind::Raw { text })
}

pub(super) fn command(command: &str, output: &str, exit: i64) -> Entry {
    let kind = Kind::Command {
        command: command.into(),
        output: output.into(),
        exit: Some(exit),
        progress: if exit == 0 {
            Progress::Done
        } else {
            Progress::Failed
        },
        duration_s: Some(1.0),
    };
    Entry::new(None, kind)
}

/// A workbench with its log pane alone, and these in it.
pub(super) fn showing(entries: Vec<Entry>) -> App {
    let mut app = app(80, 24);
    press(&mut app, "l");
    take(&mut app, entries);
    press(&mut app, "<");
    app
}

pub(super) fn take(app: &mut App, entries: Vec<Entry>) {
    let key = app.log.source().and_then(LogSource::key).cloned();
    let delta = LogDelta {
        len: entries.len(),
        entries: entries.into_iter().enumerate().collect(),
        replaced: true,
        ticket: app.log.ticket,
        ..LogDelta::default()
    };
    let effects = update(app, Msg::Log(key.unwrap(), Ok(delta)));
    settle(app, effects);
}

/// More of the same log.
pub(super) fn more(app: &mut App, entries: Vec<Entry>) {
    let key = app.log.source().and_then(LogSource::key).cloned();
    let first = app.log.base + app.log.entries.len();
    let delta = LogDelta {
        len: first + entries.len(),
        entries: (first..).zip(entries).collect(),
        ticket: app.log.ticket,
        ..LogDelta::default()
    };
    let effects = update(app, Msg::Log(key.unwrap(), Ok(delta)));
    settle(app, effects);
}

/// The run in which an agent works, its log alone on the screen.
pub(super) fn working() -> App {
    let mut app = app(80, 24);
    let run = agent::run();
    let effects = update(&mut app, Msg::Run(run.id.clone(), Ok(Some(run.clone()))));
    settle(&mut app, effects);
    tasks::state::select_source(&mut app, "dp-buckets", &run.source);
    retarget(&mut app);
    let effects = std::mem::take(&mut app.effects);
    settle(&mut app, effects);
    press(&mut app, "l");
    app
}

pub(super) fn wishes(effects: &[Effect]) -> Vec<&LogWish> {
    let wish = effects.iter().filter_map(|effect| match effect {
        Effect::ReadLog(wish) => Some(wish),
        _ => None,
    });
    wish.collect()
}

/// Types a line into a prompt and ends it.
pub(super) fn typed(app: &mut App, key: &str, words: &str) -> Vec<Effect> {
    press(app, key);
    update(app, Msg::Paste(words.to_owned()));
    press(app, "enter")
}

pub(super) fn rows(app: &App, with: &str) -> Vec<String> {
    let shown = screen(app);
    let rows = shown
        .lines()
        .enumerate()
        .filter(|(_, row)| row.contains(with));
    rows.map(|(at, row)| format!("{at} {row}")).collect()
}

#[test]
fn three_lines_up_in_a_flood_the_same_line_stays_in_its_row_until_old_ones_are_let_go() {
    let mut app = working();
    assert!(app.log.follow && app.log.grows);
    take(
        &mut app,
        (0..2000).map(|n| raw(format!("line {n}"))).collect(),
    );
    assert!(screen(&app).contains("line 1999"));
    press(&mut app, "k k k");
    let before = rows(&app, "line 19");
    assert!(before.len() > 10, "{}", screen(&app));
    for _ in 0..8 {
        more(&mut app, (0..9).map(|_| raw("x".repeat(1 << 20))).collect());
        assert_eq!(rows(&app, "line 19"), before);
    }
    assert!(app.log.base > 1900, "old lines went: {}", app.log.base);
    assert!(app.log.held < 80 << 20 && app.log.full);
    assert!(screen(&app).contains("paused"));
    // the end is not held any more: it is read when it is gone to
    let key = app.log.source().and_then(LogSource::key).cloned().unwrap();
    let delta = LogDelta {
        len: app.log.base + app.log.entries.len(),
        cut: true,
        size: 1 << 30,
        ticket: app.log.ticket,
        ..LogDelta::default()
    };
    update(&mut app, Msg::Log(key, Ok(delta)));
    let effects = press(&mut app, ">");
    assert_eq!(wishes(&effects)[0].restart, Some(Place::End));
    assert!(app.log.follow);
}

#[test]
fn while_it_is_followed_the_newest_are_held_and_the_oldest_go() {
    let mut app = working();
    take(&mut app, vec![raw("the first line")]);
    for n in 0..80 {
        more(&mut app, vec![raw(format!("{n} {}", "x".repeat(1 << 20)))]);
    }
    assert!(
        app.log.held <= 64 << 20 && !app.log.full,
        "{}",
        app.log.held
    );
    assert!(screen(&app).contains("79 xxx"), "{}", screen(&app));
    // an entry that is gone may end all the same
    let len = app.log.base + app.log.entries.len();
    let key = app.log.source().and_then(LogSource::key).cloned().unwrap();
    let delta = LogDelta {
        len,
        entries: vec![(0, raw("it has ended"))],
        ticket: app.log.ticket,
        ..LogDelta::default()
    };
    update(&mut app, Msg::Log(key, Ok(delta)));
    assert_eq!(app.log.base + app.log.entries.len(), len);
    let effects = press(&mut app, "<");
    assert_eq!(wishes(&effects)[0].restart, Some(Place::Start));
}

#[test]
fn what_is_followed_in_a_log_of_a_gigabyte_is_its_end() {
    let mut app = working();
    let key = app.log.source().and_then(LogSource::key).cloned().unwrap();
    let delta = LogDelta {
        entries: vec![(0, raw("first"))],
        len: 1,
        more: true,
        to: 1 << 17,
        size: 1 << 30,
        ticket: app.log.ticket,
        ..LogDelta::default()
    };
    let effects = update(&mut app, Msg::Log(key, Ok(delta)));
    assert_eq!(wishes(&effects)[0].restart, Some(Place::End));
}

#[test]
fn a_log_that_is_longer_than_what_is_held_is_gone_through_part_by_part() {
    let mut app = showing((0..100).map(|n| raw(format!("line {n}"))).collect());
    app.log.full = true;
    app.log.cut = true;
    app.log.part = (1000, 5000);
    app.log.size = 9000;
    assert!(screen(&app).contains("0-0 of 0 MiB"));
    // page after page, and on at the edge
    let mut pages = (0..20).map(|_| press(&mut app, "J"));
    let left = pages.find(|effects| !wishes(effects).is_empty());
    assert_eq!(wishes(&left.unwrap())[0].restart, Some(Place::At(5000)));
    app.log.part = (40 << 20, 50 << 20);
    press(&mut app, "<");
    let mut app = showing(vec![raw("a"), raw("b")]);
    app.log.part = (40 << 20, 50 << 20);
    let effects = press(&mut app, "k");
    assert_eq!(wishes(&effects)[0].restart, Some(Place::At(8 << 20)));
}

#[test]
fn a_line_of_a_hundred_kilobytes_is_one_record_and_parses() {
    let long = format!(r#"{{"msg":"{}","end":1}}"#, "ab ".repeat(33_333));
    let mut reader = TraceReader::new(LogFormat::Text);
    let mut entries = Vec::new();
    for piece in format!("before\n{long}\nafter\n")
        .as_bytes()
        .chunks(16 << 10)
    {
        entries.extend(reader.feed(piece).into_iter().map(|(_, entry)| entry));
    }
    assert_eq!(entries.len(), 3);
    let mut app = showing(entries);
    let shown = screen(&app);
    let at = |words: &str| shown.lines().position(|row| row.contains(words)).unwrap();
    assert_eq!(at("after"), at("before") + 2, "{shown}");
    assert!(shown.contains('»'), "it says that it goes on: {shown}");
    press(&mut app, "j");
    let copy: serde_json::Value = serde_json::from_str(&copied(&app).unwrap()).unwrap();
    assert_eq!(copy["end"], 1);
    // to the right, and new lines do not take that back
    press(&mut app, ". . .");
    assert_eq!(app.log.skip, 24);
    assert!(screen(&app).contains('«') && screen(&app).contains("from column 25"));
    more(&mut app, vec![raw("new")]);
    assert_eq!(app.log.skip, 24);
    press(&mut app, "L");
    let shown = screen(&app);
    assert!(!shown.contains('»') && shown.contains("wrapped"), "{shown}");
    press(&mut app, ">");
    assert!(screen(&app).contains(r#"end":1}"#), "{}", screen(&app));
}

#[test]
fn a_line_of_five_megabytes_is_seen_from_its_beginning_to_its_end() {
    let line = format!("begin {} end-of-it", "é漢 0123456789".repeat(350_000));
    assert!(line.len() > 5 << 20);
    let mut app = showing(vec![raw(line), raw("after")]);
    assert!(screen(&app).contains("begin é漢"));
    assert!(screen(&app).contains("after"));
    app.log.skip = 3_000_000;
    assert!(screen(&app).contains('«') && screen(&app).contains('»'));
    press(&mut app, "L >");
    assert!(screen(&app).contains("end-of-it"), "{}", screen(&app));
    press(&mut app, "L <");
    typed(&mut app, "/", "end-of-it");
    assert!(screen(&app).contains("end-of-it"), "{}", screen(&app));
    assert!(app.log.skip > 4_000_000, "{}", app.log.skip);
}

#[test]
fn nothing_that_drives_a_terminal_comes_out_of_a_log() {
    let nasty = "a\u{1b}]0;t\u{7}b\u{1b}]52;c;aGk=\u{1b}\\c\u{1b}[2J\u{1b}[?1049l\u{1b}Pq#0\u{1b}\\\
                 \u{9b}2Jd\0\u{7}\u{202e}e";
    let mut app = showing(vec![
        raw(nasty),
        command(nasty, &format!("{nasty}\n{}", nasty.repeat(2000)), 1),
        Entry::new(None, Kind::Error { text: nasty.into() }),
    ]);
    for keys in ["o", "U", "L", "v", "."] {
        press(&mut app, keys);
        for cell in &render(&app).content {
            let bad = |c: char| c.is_control() || c == '\u{202e}';
            assert!(!cell.symbol().chars().any(bad), "{:?}", cell.symbol());
        }
    }
    let app = showing(vec![raw(nasty)]);
    assert!(
        screen(&app).contains("abcd^@^G<U+202E>e"),
        "{}",
        screen(&app)
    );
}

/// The style of each cell in which a cluster stands.
fn styles(app: &App, cluster: &str) -> Vec<Style> {
    let cells = render(app).content;
    let own = cells.iter().filter(|cell| cell.symbol() == cluster);
    own.map(ratatui::buffer::Cell::style).collect()
}

#[test]
fn a_hit_inside_a_cluster_marks_all_of_it_and_nothing_beside_it() {
    let mut app = showing(vec![raw("Qe\u{301}Z"), raw("漢字")]);
    let [plain] = styles(&app, "Q")[..] else {
        panic!("{}", screen(&app));
    };
    let hit = plain.patch(app.ui.theme.style(Role::Match));
    assert_ne!(plain, hit);
    typed(&mut app, "/", "e");
    assert_eq!(styles(&app, "e\u{301}"), [hit]);
    assert_eq!([styles(&app, "Q"), styles(&app, "Z")], [[plain], [plain]]);
    typed(&mut app, "esc /", "字");
    // in its line; below it stands once more, as what is looked for
    assert_eq!(styles(&app, "字")[0], hit);
    assert_eq!(styles(&app, "漢"), [plain]);
}

#[test]
fn a_regular_expression_is_found_line_by_line_also_in_what_is_folded() {
    let output: Vec<String> = (0..40).map(|n| format!("row {n}")).collect();
    let output = output.join("\n");
    let mut app = showing(vec![
        raw("row of the beginning"),
        command("make", &output, 0),
        raw("Row 7 again"),
    ]);
    typed(&mut app, "/", r"row (3|17)\b");
    let shown = screen(&app);
    assert!(shown.contains("1/2"), "{shown}");
    assert!(shown.contains("row 3 "), "unfolded to the hit: {shown}");
    press(&mut app, "n");
    assert!(screen(&app).contains("2/2"));
    assert!(rows(&app, "▸").iter().any(|row| row.contains("row 17")));
    press(&mut app, "n");
    assert!(app.toast.as_ref().unwrap().text.contains("no more matches"));
    press(&mut app, "N");
    assert!(screen(&app).contains("1/2"));
    // capitals are asked for by capitals, and what is no pattern says why
    typed(&mut app, "esc /", "Row 7");
    assert!(screen(&app).contains("1/1"), "{}", screen(&app));
    typed(&mut app, "esc /", "(");
    assert!(app.toast.as_ref().unwrap().text.contains("unclosed group"));
    typed(&mut app, "/", "nowhere");
    assert_eq!(app.toast.as_ref().unwrap().text, "nothing matches");
}

#[test]
fn filters_let_in_and_keep_out_and_the_cursor_stays_on_what_is_shown() {
    let line = |n: usize| raw(format!("{} line {n}", ["even", "odd"][n % 2]));
    let mut app = showing((0..100).map(line).collect());
    typed(&mut app, "&", "odd");
    assert!(!screen(&app).contains("even"), "{}", screen(&app));
    assert!(
        screen(&app).contains("only odd · 50 of 100"),
        "{}",
        screen(&app)
    );
    typed(&mut app, "X", "[13579]1$");
    let shown = screen(&app);
    assert!(
        !shown.contains("line 11") && shown.contains("line 13"),
        "{shown}"
    );
    assert_eq!(app.log.cursor, 1);
    press(&mut app, "j");
    assert_eq!(app.log.cursor, 3);
    // what comes is let through or not as well
    more(&mut app, vec![raw("even line 100"), raw("odd line 103")]);
    press(&mut app, ">");
    let shown = screen(&app);
    assert!(
        shown.contains("line 103") && !shown.contains("line 100"),
        "{shown}"
    );
    press(&mut app, "esc");
    assert!(screen(&app).contains("line 100"));
    typed(&mut app, "&", "nothing of this");
    assert!(screen(&app).contains("no entry passes the filter"));
}

#[test]
fn errors_and_warnings_are_a_key_away_also_in_plain_text() {
    let notice = |level| {
        Entry::new(
            None,
            Kind::Notice {
                level,
                text: "n".into(),
            },
        )
    };
    let mut app = showing(vec![
        raw("fine"),
        command("false", "", 1),
        raw("2026 ERROR core: broken"),
        raw("a.py:3: UserWarning: old"),
        notice(Level::Warn),
        raw("fine"),
    ]);
    let mut at = |keys: &str| {
        press(&mut app, keys);
        app.log.cursor
    };
    assert_eq!([at("e"), at("e"), at("e")], [1, 2, 2]);
    assert_eq!(
        [at("w"), at("w"), at("W"), at("E"), at("E")],
        [3, 4, 3, 2, 1]
    );
    let style = crate::tui::fixture::style_of(&app, "2026 ERROR");
    assert_eq!(style.fg, app.ui.theme.style(Role::Bad).fg);
}

#[test]
fn entries_are_unfolded_one_by_one_and_all_at_once() {
    let mut app = showing(vec![
        command("one", "a1\na2\na3\na4\na5\na6\n", 0),
        command("two", "b1\nb2\nb3\nb4\nb5\nb6\n", 0),
    ]);
    assert!(!screen(&app).contains("a1") && !screen(&app).contains("b1"));
    press(&mut app, "enter");
    assert!(screen(&app).contains("a1") && !screen(&app).contains("b1"));
    press(&mut app, "U");
    assert!(screen(&app).contains("a1") && screen(&app).contains("b1"));
    press(&mut app, "enter");
    assert!(!screen(&app).contains("a1") && screen(&app).contains("b1"));
    press(&mut app, "U");
    assert!(!screen(&app).contains("a1") && !screen(&app).contains("b1"));
}
