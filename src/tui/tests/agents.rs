//! An agent's run: seen while it works, cancelled, captured, graded.

use ratatui::style::Color;

use crate::domain::{AgentEnd, RunId, Source, Stage, Subject, Work};
use crate::tui::backend::{Change, JournalChunk, LogKey, RunStatus};
use crate::tui::effect::Effect;
use crate::tui::fixture::{agent, app, press, screen, settle, style_of};
use crate::tui::layout::PaneKind;
use crate::tui::msg::{LogDelta, Msg};
use crate::tui::overlays::Overlay;
use crate::tui::panes::log::LogSource;
use crate::tui::panes::tasks;
use crate::tui::state::App;
use crate::tui::update::{retarget, update};

/// A workbench that looks at the run in which an agent works.
fn working(width: u16, height: u16) -> App {
    let mut app = app(width, height);
    let run = agent::run();
    let effects = update(&mut app, Msg::Run(run.id.clone(), Ok(Some(run.clone()))));
    settle(&mut app, effects);
    tasks::state::select_source(&mut app, "dp-buckets", &run.source);
    retarget(&mut app);
    let effects = std::mem::take(&mut app.effects);
    settle(&mut app, effects);
    app
}

fn tell(app: &mut App, records: Vec<crate::domain::Record>, status: RunStatus) -> Vec<Effect> {
    let chunk = JournalChunk {
        records,
        next: 2,
        status,
        restarted: false,
    };
    let effects = update(app, Msg::Journal(agent::run().id, Ok(chunk)));
    settle(app, effects)
}

fn asked(effects: &[Effect], name: &str) -> usize {
    let of_name = |effect: &&Effect| format!("{effect:?}").starts_with(name);
    effects.iter().filter(of_name).count()
}

#[test]
fn an_agent_at_work_is_seen_at_every_size() {
    for (width, height) in [(80, 24), (120, 40), (200, 60)] {
        let mut app = working(width, height);
        insta::assert_snapshot!(format!("agent_tasks_{width}x{height}"), screen(&app));
        press(&mut app, "O");
        insta::assert_snapshot!(format!("agent_log_{width}x{height}"), screen(&app));
    }
    let app = working(120, 40);
    assert_eq!(style_of(&app, "refused: pypi").fg, Some(Color::Yellow));
}

#[test]
fn a_graded_run_of_an_agent_says_how_it_ended_and_what_was_left_out() {
    let mut app = working(120, 40);
    tell(&mut app, agent::ending(AgentEnd::Limit), RunStatus::Running);
    press(&mut app, "t");
    let shown = screen(&app);
    for words in [
        "stopped at its time limit after 1h01m",
        "captured 2 files +120 -30",
        "left out: 2 cache, nested-repository",
        "limit could-read-upstream",
        "codex",
    ] {
        assert!(shown.contains(words), "{words}\n{shown}");
    }
    press(&mut app, "l");
    let shown = screen(&app);
    for words in ["1h01m/2h30m limit reached", "2 files +120 -30"] {
        assert!(shown.contains(words), "{words}\n{shown}");
    }
    assert!(!shown.contains("idle"), "{shown}");
}

#[test]
fn its_log_is_followed_until_the_reader_chooses() {
    let mut app = working(120, 40);
    let run = agent::run().id;
    let own = LogKey::Run { run: run.clone() };
    assert_eq!(app.log.source().and_then(LogSource::key), Some(&own));
    assert!(app.log.follow && app.log.grows);
    // a change is read on; another one meanwhile is not lost
    let reads = |effects: &[Effect]| asked(effects, "ReadLog");
    let change = || Msg::Changed(Change::Run(run.clone()));
    assert_eq!(reads(&update(&mut app, change())), 1);
    assert_eq!(reads(&update(&mut app, change())), 0);
    let delta = LogDelta {
        len: app.log.entries.len(),
        ticket: app.log.ticket,
        ..LogDelta::default()
    };
    app.dirty = false;
    let effects = update(&mut app, Msg::Log(own.clone(), Ok(delta)));
    assert_eq!(reads(&effects), 1);
    assert!(!app.dirty, "nothing came: no frame");
    // the other sources are a key away, and a choice stays
    press(&mut app, "l s");
    assert_eq!(app.log.source(), Some(&LogSource::Stages));
    tell(
        &mut app,
        agent::ending(AgentEnd::Exited { code: 0 }),
        RunStatus::Running,
    );
    assert_eq!(app.log.source(), Some(&LogSource::Stages));
    press(&mut app, "s");
    assert!(screen(&app).contains("agent's stderr"), "{}", screen(&app));
}

#[test]
fn a_run_that_is_taken_up_again_begins_its_agent_anew() {
    let mut app = working(120, 40);
    let before = app.log.entries.clone();
    let again = agent::journal()
        .into_iter()
        .map(|mut record| {
            record.at_s += 3725.0;
            if let crate::domain::Event::RunStarted { attempt, .. } = &mut record.event {
                *attempt = 2;
            }
            record
        })
        .collect::<Vec<_>>();
    tell(&mut app, again[..1].to_vec(), RunStatus::Running);
    let summary = app.summary(&agent::run().id).unwrap();
    assert_eq!(summary.agent, None, "the first agent's time is over");
    tell(&mut app, again[1..].to_vec(), RunStatus::Running);
    let since = app.summary(&agent::run().id).unwrap().agent.unwrap();
    assert!(since.since_s > app.now_s, "{since:?}");
    assert!(matches!(app.log.source(), Some(LogSource::Agent(..))));
    assert_eq!(app.log.entries.len(), before.len());
}

#[test]
fn a_log_that_was_rewritten_keeps_the_readers_place() {
    let mut app = working(120, 40);
    press(&mut app, "l < j j");
    let (cursor, top) = (app.log.cursor, app.log.top);
    let held = app.log.entries.iter().map(|entry| (**entry).clone());
    let mut entries: Vec<_> = held.enumerate().collect();
    let key = LogKey::Run {
        run: agent::run().id,
    };
    let anew = |entries: &Vec<_>, app: &App| LogDelta {
        entries: Vec::clone(entries),
        len: entries.iter().map(|(at, _)| at + 1).max().unwrap_or(0),
        replaced: true,
        ticket: app.log.ticket,
        figures: app.log.figures.clone(),
        ..LogDelta::default()
    };
    app.dirty = false;
    let same = anew(&entries, &app);
    update(&mut app, Msg::Log(key.clone(), Ok(same)));
    assert!(!app.dirty, "the same again is no news");
    // the first is completed further on, as a command's output comes after it
    entries.push((entries.len(), entries[0].1.clone()));
    entries.push((0, entries[1].1.clone()));
    let more = anew(&entries, &app);
    update(&mut app, Msg::Log(key.clone(), Ok(more)));
    assert!(app.dirty);
    assert_eq!((app.log.cursor, app.log.top), (cursor, top));
    assert_eq!(app.log.entries.len(), entries.len() - 1);
    assert_eq!(app.log.entries[0], app.log.entries[1]);
    // shorter than where the reader stood
    entries.truncate(1);
    let less = anew(&entries, &app);
    update(&mut app, Msg::Log(key, Ok(less)));
    assert_eq!(app.log.cursor, 0);
    assert!(screen(&app).contains("I read the code first"));
}

#[test]
fn what_its_tree_says_is_shown_while_it_works() {
    let mut app = working(120, 40);
    let mut told = agent::journal();
    let mut last = told.pop().unwrap();
    last.event = crate::domain::Event::AgentChanged {
        files: 3,
        added: 44,
        deleted: 5,
    };
    tell(&mut app, vec![last], RunStatus::Running);
    assert!(screen(&app).contains("changed 3 files +44 -5 so far"));
    press(&mut app, "l");
    assert!(screen(&app).contains("3 files +44 -5"));
}

#[test]
fn the_agent_is_cancelled_like_any_run() {
    let mut app = working(120, 40);
    press(&mut app, "l x");
    assert!(matches!(app.overlay, Some(Overlay::ConfirmCancel { .. })));
    let effects = press(&mut app, "y");
    assert!(effects.contains(&Effect::Cancel(agent::run().id)));
}

#[test]
fn its_changes_are_asked_for_when_they_are_captured() {
    let mut app = working(120, 40);
    press(&mut app, "d");
    assert!(app.diff.awaits && app.diff.files.is_empty());
    assert!(screen(&app).contains("the agent is at work"));
    let ending = agent::ending(AgentEnd::Exited { code: 0 });
    let effects = tell(&mut app, ending[..2].to_vec(), RunStatus::Running);
    assert_eq!(asked(&effects, "LoadChanges"), 0);
    let effects = tell(&mut app, ending[2..3].to_vec(), RunStatus::Running);
    assert_eq!(asked(&effects, "LoadChanges"), 1);
    assert_eq!(app.diff.files.len(), 2);
    let right = app.diff.comparison.as_ref().map(|c| c.right.clone());
    assert_eq!(right, Some(agent::run().source));
    press(&mut app, "b");
    let left = app.diff.comparison.as_ref().map(|c| c.left.clone());
    assert_eq!(left, Some(Source::Base));
    // one that ended without a patch is asked for too: the answer says so
    let mut app = working(120, 40);
    let effects = tell(&mut app, Vec::new(), RunStatus::Interrupted);
    assert_eq!(asked(&effects, "LoadChanges"), 1);
}

#[test]
fn two_runs_of_an_agent_are_two_rows_and_enter_goes_to_what_tells_most() {
    let mut app = working(200, 60);
    let mut other = agent::run();
    other.id = RunId("20261128-090000-0001".into());
    other.source = Source::Agent {
        name: "codex".into(),
        run: other.id.clone(),
    };
    other.created_s -= 86_400.0;
    other.status = RunStatus::Cancelled;
    update(&mut app, Msg::Run(other.id.clone(), Ok(Some(other))));
    let shown = screen(&app);
    assert!(shown.contains("codex 16:40:00"), "{shown}");
    assert!(shown.contains("codex Nov 28 16:40"), "{shown}");
    press(&mut app, "t enter");
    assert_eq!(app.focus, PaneKind::Log);
    tell(
        &mut app,
        agent::ending(AgentEnd::Limit),
        RunStatus::Finished,
    );
    press(&mut app, "t enter");
    assert_eq!(app.focus, PaneKind::Cases);
}

#[test]
fn a_calibration_does_not_hide_golds_verdict() {
    let mut app = app(120, 40);
    let gold = |n, work| {
        let mut run = crate::tui::fixture::summary(n, "dp-buckets", "", None);
        run.source = Source::Gold;
        run.work = work;
        run
    };
    let mut graded = gold(6, Work::Grade);
    graded.verdict = Some(crate::domain::Verdict::Resolved);
    let mut calibrating = gold(7, Work::Calibrate { runs: 3 });
    calibrating.status = RunStatus::Running;
    calibrating.stage = Some((Stage::Official, Subject::Gold));
    for run in [graded, calibrating.clone()] {
        update(&mut app, Msg::Run(run.id.clone(), Ok(Some(run))));
    }
    assert!(screen(&app).contains("◐ official"), "{}", screen(&app));
    calibrating.status = RunStatus::Finished;
    update(
        &mut app,
        Msg::Run(calibrating.id.clone(), Ok(Some(calibrating))),
    );
    assert!(screen(&app).contains("RESOLVED"), "{}", screen(&app));
    // nor does one that was cancelled, or a verify run
    let verify = Work::Verify {
        runs: 3,
        again: Vec::new(),
        watch_s: None,
    };
    for (n, work, status) in [
        (8, Work::Grade, RunStatus::Cancelled),
        (9, verify, RunStatus::Finished),
    ] {
        let mut run = gold(n, work);
        run.status = status;
        run.verdict = None;
        update(&mut app, Msg::Run(run.id.clone(), Ok(Some(run))));
        assert!(screen(&app).contains("RESOLVED"), "{}", screen(&app));
    }
}
