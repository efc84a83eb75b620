//! The agent log in time: moments, its own lines, attempts before, what is saved.

use crate::agent::trace::{Entry, Kind, Progress};
use crate::tui::backend::LogKey;
use crate::tui::effect::Effect;
use crate::tui::fixture::{NOW, agent, app, press, run_id, screen};
use crate::tui::layout::PaneKind;
use crate::tui::msg::{LogDelta, Msg};
use crate::tui::panes::log::LogSource;
use crate::tui::state::App;
use crate::tui::theme::Role;
use crate::tui::update::update;

use super::log::{command, raw, rows, showing, take, typed, wishes, working};

/// A line a minute from the run's beginning on.
fn timed() -> App {
    let line = |n: u32| Entry {
        at_s: Some(NOW - 3600.0 + f64::from(n) * 60.0),
        ..raw(format!("minute {n}"))
    };
    showing((0..60).map(line).collect())
}

#[test]
fn a_time_is_gone_to_by_the_clock_by_steps_and_into_the_run() {
    let mut app = timed();
    // NOW is 17:42:10, the first line is of 16:42:10
    typed(&mut app, "h", "17:00");
    assert!(rows(&app, "▸")[0].contains("17:00:10"), "{}", screen(&app));
    typed(&mut app, "h", "+10m");
    assert_eq!(app.log.cursor, 28);
    typed(&mut app, "h", "-5m");
    assert_eq!(app.log.cursor, 23);
    typed(&mut app, "@", "41m");
    assert_eq!(app.log.cursor, 41);
    assert!(screen(&app).contains("17:23:10, 41m00s into the run"));
    typed(&mut app, "h", "18:30");
    assert_eq!(app.log.cursor, 59);
    assert!(
        app.toast
            .as_ref()
            .unwrap()
            .text
            .contains("ends at 17:41:10")
    );
    typed(&mut app, "h", "soon");
    assert!(app.toast.as_ref().unwrap().text.contains("a time is"));
    let mut app = showing(vec![raw("no time")]);
    press(&mut app, "h");
    assert_eq!(app.toast.as_ref().unwrap().text, "this log tells no times");
}

#[test]
fn the_time_cursor_ties_the_cases_to_the_log() {
    let mut app = timed();
    assert_eq!(app.time.then_s(), None);
    let results = app.open.as_ref().unwrap().state.suites.values();
    let mut ends: Vec<f64> = results
        .flat_map(|s| s.times.values().filter_map(|t| t.1))
        .collect();
    ends.sort_by(f64::total_cmp);
    assert_eq!(ends.len(), 12, "gold's and the submission's");
    // entries at the moments at which the submission's cases ended
    let line = |at_s: &f64| Entry {
        at_s: Some(*at_s),
        ..raw("x")
    };
    take(&mut app, ends[6..].iter().map(line).collect());
    press(&mut app, "< b");
    let mut cases = Vec::new();
    for _ in 6..12 {
        assert_eq!(app.time.then_s(), app.log.moment());
        cases.push(app.cases.selected_row().unwrap().id.clone());
        press(&mut app, "j");
    }
    cases.dedup();
    assert_eq!(cases.len(), 6, "{cases:?}");
    assert!(cases[5].0.contains("test_last_bucket"), "{cases:?}");
    assert!(
        screen(&app).contains("cases and GPUs of then"),
        "{}",
        screen(&app)
    );
    press(&mut app, "b");
    assert_eq!(app.time.then_s(), None);
}

#[test]
fn the_logs_own_lines_are_shown_in_place_of_what_they_say() {
    let mut app = app(120, 40);
    press(&mut app, "l");
    let effects = press(&mut app, "v");
    assert!(wishes(&effects)[0].raw);
    let shown = screen(&app);
    assert!(shown.contains(r#"{"type":"thread.started""#), "{shown}");
    assert!(
        shown.contains("1 command 1 failed"),
        "figures stay: {shown}"
    );
    let effects = press(&mut app, "v");
    assert!(!wishes(&effects)[0].raw);
    assert!(screen(&app).contains("$ pytest -q tests"));
    // an answer to a wish that another one followed is nobody's
    let key = app.log.source().and_then(LogSource::key).cloned().unwrap();
    let stale = LogDelta {
        entries: vec![(0, raw("of another wish"))],
        len: 1,
        ticket: app.log.ticket - 1,
        ..LogDelta::default()
    };
    update(&mut app, Msg::Log(key, Ok(stale)));
    assert!(!screen(&app).contains("of another wish"));
}

#[test]
fn the_attempt_before_is_a_key_away_and_the_newest_again() {
    let mut app = working();
    press(&mut app, "P");
    assert!(
        app.toast
            .as_ref()
            .unwrap()
            .text
            .contains("no attempt before")
    );
    let run = agent::run().id;
    let attempt = |attempt| LogKey::Attempt {
        run: run.clone(),
        attempt,
    };
    let found = vec![attempt(1), attempt(2)];
    update(&mut app, Msg::Outputs(run.clone(), Ok(found)));
    assert!(!app.log.sources.contains(&LogSource::Output(attempt(1))));
    let mut keys = Vec::new();
    for _ in 0..3 {
        let effects = press(&mut app, "P");
        keys.push(wishes(&effects)[0].key.clone());
    }
    assert_eq!(
        keys,
        [attempt(2), attempt(1), LogKey::Run { run: run.clone() }]
    );
    press(&mut app, "P");
    assert!(screen(&app).contains("attempt 2"), "{}", screen(&app));
    assert!(!app.log.grows);
}

#[test]
fn an_earlier_runs_output_stands_behind_that_of_the_newest() {
    let mut app = app(120, 40);
    press(&mut app, "l s s");
    assert!(matches!(app.log.source(), Some(LogSource::Output(_))));
    let mut older = app.summary(&run_id(1)).unwrap().clone();
    older.id = run_id(0);
    older.created_s -= 100.0;
    update(&mut app, Msg::Run(older.id.clone(), Ok(Some(older))));
    let effects = press(&mut app, "P");
    assert!(matches!(&wishes(&effects)[0].key, LogKey::Output { run, .. } if *run == run_id(0)));
    assert!(
        screen(&app).contains("earlier official output"),
        "{}",
        screen(&app)
    );
}

#[test]
fn what_is_shown_is_saved_unfolded_and_without_sequences() {
    let mut app = showing(vec![
        command("make", "\u{1b}[31mred\u{1b}[0m\n2\n3\n4\n5\n6\n", 0),
        raw("noise"),
    ]);
    typed(&mut app, "X", "noise");
    let effects = press(&mut app, "D");
    let Some(Effect::Save { name, text }) = effects.first() else {
        panic!("{effects:?}");
    };
    assert_eq!(name, "dp-buckets-gpt-x-agent-codex");
    let lines: Vec<&str> = text.lines().map(str::trim).collect();
    assert_eq!(lines, ["make", "red", "2", "3", "4", "5", "6"]);
}

#[test]
fn an_edit_is_a_small_diff() {
    let kind = Kind::Edit {
        files: vec![(crate::agent::trace::EditKind::Update, "a.py".into())],
        detail: " def f():\n-    return 1\n+    return 2\n+    # done".into(),
        progress: Progress::Done,
    };
    let app = showing(vec![Entry::new(None, kind)]);
    let shown = screen(&app);
    assert!(
        shown.contains("edit M a.py") && shown.contains("+2 -1 ✔"),
        "{shown}"
    );
    let style = |text| crate::tui::fixture::style_of(&app, text).fg;
    assert_eq!(style("+    return 2"), app.ui.theme.style(Role::Add).fg);
    assert_eq!(style("-    return 1"), app.ui.theme.style(Role::Del).fg);
    assert_eq!(app.focus, PaneKind::Log);
}
