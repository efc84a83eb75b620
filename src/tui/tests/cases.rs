//! Cases: what is shown of them, the run before, the map of all submissions.

use ratatui::style::Color;

use crate::domain::{Outcome, RunId, Source, Suite, Verdict};
use crate::tui::effect::Effect;
use crate::tui::fixture::{NOW, app, press, run_id, screen, settle, style_of, summary};
use crate::tui::layout::PaneKind;
use crate::tui::msg::Msg;
use crate::tui::panes::cases::state::Turn;
use crate::tui::panes::cases::{CaseRow, Mark, Only};
use crate::tui::state::App;
use crate::tui::update::update;

#[test]
fn maps() {
    for (width, height) in [(80, 24), (120, 40), (200, 60)] {
        let mut app = app(width, height);
        press(&mut app, "c h j j j");
        insta::assert_snapshot!(format!("map_{width}x{height}"), screen(&app));
    }
}

/// A workbench on whose selected submission another run was graded before: one probe passed then.
fn again() -> App {
    let mut app = app(200, 60);
    let mut before = summary(0, "dp-buckets", "gpt-x", Some(Verdict::Failed));
    before.created_s = NOW - 400.0;
    let id = before.id.clone();
    let mut cases = app.cases.known.clone();
    let effects = update(&mut app, Msg::Run(id.clone(), Ok(Some(before))));
    settle(&mut app, effects);
    cases.extend(app.cases.known.clone());
    let mut known = (*cases[&id]).clone();
    for case in &mut known {
        match case.id.function() {
            "probes/test_mean.py::test_unequal" => case.outcome = Outcome::Passed,
            "tests/test_buckets.py::test_names" => case.outcome = Outcome::Failed,
            "probes/test_mean.py::test_mean_not_sum" => case.outcome = Outcome::Error,
            _ => {}
        }
    }
    update(&mut app, Msg::Outcomes(vec![(id, Ok(known))]));
    app
}

#[test]
fn what_changed_since_the_run_before_is_marked_and_can_be_all_that_is_shown() {
    let mut app = again();
    let turns: Vec<_> = app.cases.all.iter().map(CaseRow::turn).collect();
    let (fixed, broke, other) = (Turn::Fixed, Turn::Broke, Turn::Otherwise);
    let wanted = [None, Some(fixed), None, Some(other), Some(broke), None];
    assert_eq!(turns, wanted);
    press(&mut app, "c");
    let shown = screen(&app);
    for words in ["✔ ✔ ↑ test_names", "✔ ✘ ↓ test_unequal", "3 changed"] {
        assert!(shown.contains(words), "{words}\n{shown}");
    }
    press(&mut app, "e");
    let shown = screen(&app);
    assert_eq!(app.cases.shown, [1, 3, 4]);
    assert!(shown.contains("changed since 17:35:30 3/6"), "{shown}");
    press(&mut app, "esc");
    assert_eq!(app.cases.shown.len(), 6);
    // without a run before it, there is nothing that could have changed
    let mut app = crate::tui::fixture::app(200, 60);
    press(&mut app, "c e");
    assert!(!app.cases.only_changed && app.toast.as_ref().unwrap().bad);
}

#[test]
fn cases_that_fail_alike_or_are_of_one_claim_are_chosen_from_a_list() {
    let mut app = app(200, 60);
    press(&mut app, "c b");
    let shown = screen(&app);
    for words in [
        "all  6 cases",
        "assert # == #  2 cases · 2 rejected",
        "claim C1  2 cases · 2 rejected · gradients are means",
    ] {
        assert!(shown.contains(words), "{words}\n{shown}");
    }
    press(&mut app, "j enter");
    assert_eq!(
        app.cases.only,
        Some(Only::Signature("assert # == #".into()))
    );
    assert_eq!(app.cases.shown.len(), 2);
    assert!(
        screen(&app).contains("only assert # == # 2/6"),
        "{}",
        screen(&app)
    );
    press(&mut app, "b j enter");
    assert_eq!(app.cases.only, Some(Only::Claim("C1".into())));
    press(&mut app, "b < enter");
    assert_eq!((app.cases.only.clone(), app.cases.shown.len()), (None, 6));
}

#[test]
fn the_slowest_stand_first_where_that_is_asked_for() {
    let mut app = app(200, 60);
    press(&mut app, "c w");
    let times: Vec<_> = (app.cases.shown.iter())
        .map(|at| app.cases.all[*at].duration_s.unwrap())
        .collect();
    assert!(times.windows(2).all(|pair| pair[0] >= pair[1]), "{times:?}");
    assert!(screen(&app).contains("slowest first"));
}

#[test]
fn expected_and_got_stand_under_each_other_with_what_differs() {
    let mut app = app(200, 60);
    press(&mut app, "c n v");
    let shown = screen(&app);
    assert!(shown.contains("- expected 4.0"), "{shown}");
    assert!(shown.contains("+ got      8.0"), "{shown}");
    assert_eq!(style_of(&app, "- expected").fg, Some(Color::Red));
    assert_eq!(style_of(&app, "+ got").fg, Some(Color::Green));
}

#[test]
fn a_rerun_takes_all_that_the_filters_leave() {
    let mut app = app(200, 60);
    let asked = |effects: &[Effect]| {
        effects.iter().find_map(|effect| match effect {
            Effect::Grade(request) => Some((request.only.len(), request.parent.clone())),
            _ => None,
        })
    };
    let effects = press(&mut app, "c s *");
    assert_eq!(asked(&effects), Some((3, Some(run_id(1)))));
    let mut app = crate::tui::fixture::app(200, 60);
    let effects = press(&mut app, "c *");
    assert_eq!(asked(&effects), Some((6, Some(run_id(1)))));
}

#[test]
fn the_map_reads_each_run_once_and_leads_to_a_submissions_case() {
    let mut app = app(200, 60);
    let read = |effects: &[Effect]| -> Vec<RunId> {
        let all = effects.iter().filter_map(|effect| match effect {
            Effect::LoadOutcomes(runs) => Some(runs.clone()),
            _ => None,
        });
        all.flatten().collect()
    };
    let effects = press(&mut app, "c h");
    // the third was never judged: it is no column
    assert_eq!(read(&effects), [run_id(1), run_id(2)]);
    let heat = &app.cases.heat;
    assert_eq!((heat.rows.len(), heat.columns.len()), (6, 2));
    let row = &heat.rows[0];
    assert_eq!(
        row.cells,
        [Mark::Done(Outcome::Passed), Mark::Done(Outcome::Error)]
    );
    assert_eq!((row.passed, row.ran), (1, 2));
    assert!(read(&press(&mut app, "h h")).is_empty());
    // the hardest first: what none passes
    press(&mut app, "w <");
    assert_eq!(app.cases.heat.rows[0].passed, 0);
    press(&mut app, "w s f");
    let heat = &app.cases.heat;
    assert!(
        heat.rows
            .iter()
            .all(|row| row.suite == Suite::Official && row.passed == 1)
    );
    press(&mut app, "esc < j . enter");
    assert!(!app.cases.heat.open);
    let glm = Source::Submission { name: "glm".into() };
    assert_eq!(app.target.source, Some(glm));
    let row = app.cases.selected_row().unwrap();
    assert!(row.id.as_str().ends_with("test_names"), "{row:?}");
    assert_eq!(app.focus, PaneKind::Cases);
}

#[test]
fn a_map_of_forty_submissions_says_which_of_them_are_seen() {
    let mut app = app(80, 24);
    for n in 10..50 {
        let name = format!("agent-{n}");
        let run = summary(n, "dp-buckets", &name, Some(Verdict::Failed));
        let effects = update(&mut app, Msg::Run(run.id.clone(), Ok(Some(run))));
        settle(&mut app, effects);
    }
    press(&mut app, "c h");
    assert_eq!(app.cases.heat.columns.len(), 42);
    assert!(screen(&app).contains("6 × 42"), "{}", screen(&app));
    for _ in 0..60 {
        press(&mut app, ".");
    }
    let shown = screen(&app);
    assert!(shown.contains("42 agent-10"), "{shown}");
    insta::assert_snapshot!("map_of_forty_80x24", shown);
}

#[test]
fn the_next_submission_is_shown_on_the_same_case() {
    let mut app = app(200, 60);
    press(&mut app, "c < j");
    let case = app.cases.selected_row().unwrap().id.clone();
    press(&mut app, "'");
    let glm = Source::Submission { name: "glm".into() };
    assert_eq!(app.target.source, Some(glm));
    assert_eq!(app.cases.selected_row().unwrap().id, case);
    assert_eq!(app.focus, PaneKind::Cases);
    press(&mut app, "' ; ;");
    assert_eq!(app.target.run, Some(run_id(1)));
    press(&mut app, ";");
    assert!(app.toast.as_ref().unwrap().bad, "gold and base are none");
}

#[test]
fn the_next_failing_case_is_one_that_gold_passes() {
    let mut app = app(200, 60);
    press(&mut app, "c <");
    let failing = |app: &App| -> Vec<usize> {
        let all = app.cases.all.iter().enumerate();
        all.filter(|(_, row)| row.not_passed())
            .map(|(at, _)| at)
            .collect()
    };
    let before = failing(&app);
    assert_eq!(before.len(), 2);
    // a case that gold fails as well says nothing of the submission
    app.cases.all[0].gold = Mark::Done(Outcome::Failed);
    app.cases.all[0].this = Mark::Done(Outcome::Failed);
    app.cases.all[before[0]].gold = Mark::Done(Outcome::Error);
    assert_eq!(failing(&app).len(), 3);
    press(&mut app, "n");
    assert_eq!(app.cases.selected, before[1]);
    press(&mut app, "n");
    assert_eq!(app.cases.selected, before[1]);
    assert!(app.toast.as_ref().unwrap().text.contains("gold passes"));
    press(&mut app, "N");
    assert_eq!(
        app.cases.selected, before[1],
        "nor is gold's failure one on the way back"
    );
}

#[test]
fn in_the_map_the_next_failing_case_is_one_that_gold_passes() {
    let mut app = app(200, 60);
    press(&mut app, "c h <");
    let column = app.cases.heat.column;
    let fails = |row: &crate::tui::panes::cases::heat::HeatRow| matches!(row.cells[column], Mark::Done(o) if !o.passed());
    let all: Vec<usize> = (1..app.cases.heat.rows.len())
        .filter(|at| fails(&app.cases.heat.rows[*at]))
        .collect();
    assert!(all.len() >= 2, "{all:?}");
    app.cases.heat.rows[all[0]].gold = Mark::Done(Outcome::Failed);
    press(&mut app, "n");
    assert_eq!(app.cases.heat.row, all[1]);
}
