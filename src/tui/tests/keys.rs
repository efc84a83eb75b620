//! Keys in, effects out.

use crate::domain::{RunId, Source, SuiteChoice};
use crate::tui::action::TABLE;
use crate::tui::backend::{BackendError, Change, GradeRequest, JournalChunk, RunStatus};
use crate::tui::caps::Depth;
use crate::tui::effect::Effect;
use crate::tui::fixture::{
    NOW, app, empty, gpu, journal, press, render, run_id, screen, settle, summary, tasks,
};
use crate::tui::layout::PaneKind;
use crate::tui::msg::Msg;
use crate::tui::overlays::Overlay;
use crate::tui::state::App;
use crate::tui::update::update;

fn grades(effects: &[Effect]) -> Vec<&GradeRequest> {
    effects
        .iter()
        .filter_map(|effect| match effect {
            Effect::Grade(request) => Some(request),
            _ => None,
        })
        .collect()
}

#[test]
fn the_first_submission_is_selected_and_everything_about_it_is_asked_for() {
    let mut app = empty(200, 60, Depth::Ansi16);
    let effects = settle(&mut app, App::first_effects());
    let source = Source::Submission {
        name: "gpt-x".into(),
    };
    assert_eq!(app.target.source, Some(source));
    assert_eq!(app.target.run, Some(run_id(1)));
    for wanted in [
        "LoadJournal",
        "LoadChanges",
        "LoadFile",
        "FindAgentLog",
        "LoadDetail",
    ] {
        let found = effects.iter().any(|e| format!("{e:?}").starts_with(wanted));
        assert!(found, "{wanted}");
    }
    assert_eq!(app.cases.all.len(), 6);
    assert_eq!(app.cases.rejected(), 2);
    assert!(!app.log.entries.is_empty());
}

#[test]
fn keys_open_a_shell_on_the_case_under_the_cursor_and_tell_its_line() {
    let mut app = app(120, 40);
    press(&mut app, "c");
    let row = app.cases.selected_row().unwrap();
    let run = app.open.as_ref().unwrap().id.0.clone();
    let (suite, case) = (row.suite.name().to_owned(), format!("--case={}", row.id));
    let words = vec![run, "--suite".into(), suite, case];
    assert_eq!(press(&mut app, "S"), [Effect::Shell(words.clone())]);
    assert_eq!(press(&mut app, "Y"), [Effect::TellShell(words)]);
    // nothing has run: what is selected in the tree
    app.open = None;
    let words = app.target.task.iter().cloned();
    let name = ["--submission".to_owned(), "gpt-x".into()];
    let words: Vec<String> = words.chain(name).collect();
    assert_eq!(press(&mut app, "S"), [Effect::Shell(words)]);
}

#[test]
fn a_key_grades_what_is_selected_and_another_gold() {
    let mut app = app(120, 40);
    let effects = press(&mut app, "g");
    let asked = grades(&effects);
    assert_eq!(asked.len(), 1);
    assert_eq!(asked[0].task, "dp-buckets");
    assert_eq!(asked[0].suites, SuiteChoice::All);
    assert!(asked[0].only.is_empty() && asked[0].parent.is_none());
    assert_eq!(app.target.run, Some(run_id(9)), "the new run is shown");
    let effects = press(&mut app, "G");
    assert_eq!(grades(&effects)[0].source, Source::Gold);
}

#[test]
fn what_is_graded_already_is_not_started_twice() {
    let mut app = app(120, 40);
    let mut live = summary(8, "dp-buckets", "gpt-x", None);
    live.status = RunStatus::Running;
    update(&mut app, Msg::Run(live.id.clone(), Ok(Some(live))));
    assert!(grades(&press(&mut app, "g")).is_empty());
    assert!(app.toast.as_ref().unwrap().text.contains("x cancels"));
}

#[test]
fn on_a_single_pane_grading_shows_the_cases() {
    let mut app = app(80, 24);
    assert_eq!(app.focus, PaneKind::Tasks);
    press(&mut app, "g");
    assert_eq!(app.focus, PaneKind::Cases);
}

#[test]
fn cancel_asks_first() {
    let mut app = app(120, 40);
    press(&mut app, "x");
    assert!(app.overlay.is_none(), "nothing runs");
    assert!(app.toast.as_ref().unwrap().bad);
    let mut live = summary(8, "dp-buckets", "gpt-x", None);
    live.status = RunStatus::Running;
    let effects = update(&mut app, Msg::Run(live.id.clone(), Ok(Some(live))));
    settle(&mut app, effects);
    // the journal of the fixture says that it has ended: it runs again
    app.runs
        .iter_mut()
        .find(|r| r.id == run_id(8))
        .unwrap()
        .status = RunStatus::Running;
    let asked = press(&mut app, "x");
    assert!(asked.is_empty());
    assert!(matches!(app.overlay, Some(Overlay::ConfirmCancel { .. })));
    for words in [
        "Cancel the run gpt-x of dp-buckets?",
        "without a verdict",
        "are kept",
    ] {
        assert!(screen(&app).contains(words), "{words}\n{}", screen(&app));
    }
    assert!(press(&mut app, "n").is_empty());
    let asked = press(&mut app, "x y");
    assert!(asked.contains(&Effect::Cancel(run_id(8))));
}

#[test]
fn reruns_name_their_cases_and_their_parent() {
    let mut app = app(120, 40);
    let effects = press(&mut app, "F");
    let asked = grades(&effects);
    assert_eq!(asked[0].only.len(), 2);
    assert_eq!(asked[0].suites, SuiteChoice::Probes);
    assert_eq!(asked[0].parent, Some(run_id(1)));
    assert_eq!(app.target.run, Some(run_id(1)), "the parent stays in sight");
    let mut app = crate::tui::fixture::app(120, 40);
    let effects = press(&mut app, "c r");
    let asked = grades(&effects);
    assert_eq!(asked[0].only.len(), 1);
    assert!(asked[0].only[0].0.contains("test_mean_not_sum"));
}

#[test]
fn filters_narrow_and_escape_widens() {
    let mut app = app(200, 60);
    press(&mut app, "c f");
    assert_eq!(app.cases.shown.len(), 2);
    press(&mut app, "esc");
    assert_eq!(app.cases.shown.len(), 6);
    press(&mut app, "/ u n e q enter");
    assert_eq!(app.cases.shown.len(), 1);
    assert!(app.cases.why.as_ref().unwrap().id.0.contains("unequal"));
    press(&mut app, "esc s");
    assert_eq!(app.cases.shown.len(), 3);
    press(&mut app, "t / s p a r");
    assert!(app.tree.rows.iter().all(|row| row.task == "sparse-sync"));
    press(&mut app, "esc");
    assert!(app.tree.rows.iter().any(|row| row.task == "dp-buckets"));
}

#[test]
fn a_failing_frame_leads_to_its_line_in_the_diff() {
    let mut app = app(200, 60);
    press(&mut app, "c n");
    let why = app.cases.why.as_ref().unwrap();
    assert_eq!(why.frames[why.frame].path, "parallel/buckets.py");
    press(&mut app, "o");
    assert_eq!(app.focus, PaneKind::Diff);
    assert_eq!(app.diff.marked, Some(7));
    // a test's own file is not in the diff: it says so and stays
    press(&mut app, "c [ o");
    assert_eq!(app.focus, PaneKind::Cases);
    assert!(app.toast.as_ref().unwrap().text.contains("does not differ"));
}

#[test]
fn reads_of_a_journal_never_overlap() {
    let mut app = app(120, 40);
    let change = || Msg::Changed(Change::Run(run_id(1)));
    let reads = |effects: &[Effect]| {
        effects
            .iter()
            .filter(|e| matches!(e, Effect::LoadJournal { .. }))
            .count()
    };
    assert_eq!(reads(&update(&mut app, change())), 1);
    assert_eq!(reads(&update(&mut app, change())), 0);
    assert_eq!(reads(&update(&mut app, change())), 0);
    let chunk = JournalChunk {
        next: 5,
        ..JournalChunk::default()
    };
    let effects = update(&mut app, Msg::Journal(run_id(1), Ok(chunk)));
    let from = effects.iter().find_map(|e| match e {
        Effect::LoadJournal { from, .. } => Some(*from),
        _ => None,
    });
    assert_eq!(from, Some(5), "one more, from where the first ended");
}

#[test]
fn answers_to_what_is_no_longer_selected_are_dropped() {
    let mut app = app(120, 40);
    let before = app.cases.all.len();
    let chunk = JournalChunk {
        records: journal(99),
        ..JournalChunk::default()
    };
    update(&mut app, Msg::Journal(RunId("other".into()), Ok(chunk)));
    assert_eq!(app.cases.all.len(), before);
    let stale = app.diff.comparison.clone().map(|mut c| {
        c.task = "other".into();
        c
    });
    let nothing = Ok(crate::tui::panes::diff::entries::Listed::default());
    update(&mut app, Msg::Changes(stale.unwrap(), nothing));
    assert!(!app.diff.files.is_empty());
}

#[test]
fn a_run_is_watched_case_by_case() {
    let mut app = empty(120, 40, Depth::Ansi256);
    update(&mut app, Msg::Tasks(Ok(tasks())));
    let mut live = summary(1, "dp-buckets", "gpt-x", None);
    live.status = RunStatus::Running;
    live.ended_s = None;
    update(&mut app, Msg::Runs(Ok(vec![live])));
    let mut seen = Vec::new();
    let all = journal(99);
    for (at, record) in all.iter().enumerate() {
        let last = at + 1 == all.len();
        let chunk = JournalChunk {
            records: vec![record.clone()],
            next: at as u64 + 1,
            status: if last {
                RunStatus::Finished
            } else {
                RunStatus::Running
            },
            restarted: false,
        };
        update(&mut app, Msg::Journal(run_id(1), Ok(chunk)));
        seen.push(
            app.cases
                .all
                .iter()
                .filter(|r| r.this != crate::tui::panes::cases::Mark::NotRun)
                .count(),
        );
    }
    assert!(seen.windows(2).all(|w| w[0] <= w[1]), "{seen:?}");
    assert_eq!(seen.last(), Some(&6));
    assert!(!app.any_live());
}

#[test]
fn nothing_off_the_screen_makes_a_frame() {
    let mut app = app(80, 24);
    app.dirty = false;
    update(&mut app, Msg::Gpu(gpu(2)));
    assert!(!app.dirty, "the gpu pane is not seen");
    update(&mut app, Msg::Tick);
    assert!(!app.dirty, "nothing runs: no clock");
    press(&mut app, "u");
    app.dirty = false;
    update(&mut app, Msg::Gpu(gpu(2)));
    assert!(app.dirty);
}

#[test]
fn sampling_ends_ten_seconds_after_a_key_unless_something_runs() {
    let mut app = app(120, 40);
    press(&mut app, "j");
    app.now_s = NOW + 9.0;
    assert!(app.wants_samples());
    app.now_s = NOW + 11.0;
    assert!(!app.wants_samples() && !app.wants_tick());
    app.runs[0].status = RunStatus::Running;
    assert!(app.wants_samples() && app.wants_tick());
}

#[test]
fn an_impossible_key_says_why_and_a_failed_request_too() {
    let mut app = empty(120, 40, Depth::Ansi16);
    press(&mut app, "g");
    assert_eq!(app.toast.as_ref().unwrap().text, "no task is selected");
    let failed = Err(BackendError::new("disk full"));
    update(&mut app, Msg::Runs(failed));
    assert!(screen(&app).contains("disk full"));
}

#[test]
fn quitting_is_one_key_everywhere_but_in_a_prompt() {
    for pane in ["t", "l", "d", "c", "u"] {
        let mut app = app(120, 40);
        press(&mut app, pane);
        assert_eq!(press(&mut app, "q"), [Effect::Quit]);
    }
    let mut app = app(120, 40);
    assert!(!press(&mut app, "/ q").contains(&Effect::Quit));
    assert!(!press(&mut app, "esc ? q").contains(&Effect::Quit));
}

#[test]
fn every_action_of_the_table_can_be_pressed_in_every_pane() {
    for pane in ["t", "l", "d", "c", "u"] {
        for entry in TABLE {
            for key in entry.keys {
                let mut app = app(140, 35);
                press(&mut app, pane);
                press(&mut app, key);
                render(&app);
            }
        }
    }
}

#[test]
fn help_lists_every_key() {
    let mut app = app(120, 200);
    press(&mut app, "?");
    let shown = screen(&app);
    for entry in TABLE {
        assert!(shown.contains(entry.keys[0]), "{}", entry.name);
    }
}
