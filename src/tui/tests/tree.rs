//! The tree of tasks: order, filters, marks, and what is done to all that are marked.

use crate::domain::{Source, Verdict};
use crate::tui::backend::{BackendError, GradeRequest, RunStatus};
use crate::tui::effect::Effect;
use crate::tui::fixture::{NOW, app, press, run_id, screen, settle, summary};
use crate::tui::msg::Msg;
use crate::tui::overlays::Overlay;
use crate::tui::panes::tasks::state::Node;
use crate::tui::state::App;
use crate::tui::update::update;

/// Names of the submissions that are shown, each with its task's first letter.
fn shown(app: &App) -> Vec<String> {
    let rows = app.tree.rows.iter();
    rows.filter_map(|row| match &row.node {
        Node::Source(source) => Some(format!("{} {}", &row.task[..1], source.label())),
        _ => None,
    })
    .collect()
}

fn graded(effects: &[Effect]) -> Vec<&GradeRequest> {
    let all = effects.iter().filter_map(|effect| match effect {
        Effect::Grade(request) => Some(request),
        _ => None,
    });
    all.collect()
}

#[test]
fn a_filter_knows_area_kind_repository_and_status_and_finds_names_by_their_letters() {
    for (typed, wanted) in [
        ("area:rl", "s gold, s base, s gpt-x"),
        ("kind:feat repo:tandem status:failed", "d glm"),
        ("status:official", "d gpt-x"),
        ("status:unresolved", "d gpt-x, d glm"),
        ("status:stale gx", "s gpt-x"),
        ("dpb gx", "d gpt-x"),
        ("is:interrupted", "d hand"),
        ("badge", ""),
        ("limit", ""),
        ("is:limit", "d glm"),
    ] {
        let mut app = app(120, 40);
        let keys: Vec<String> = typed
            .chars()
            .map(|c| match c {
                ' ' => "space".to_owned(),
                c => c.to_string(),
            })
            .collect();
        press(&mut app, &format!("/ {} enter", keys.join(" ")));
        assert_eq!(shown(&app).join(", "), wanted, "{typed}");
    }
}

#[test]
fn a_key_narrows_the_tree_to_what_needs_work() {
    let mut app = app(120, 40);
    let mut seen = Vec::new();
    for _ in 0..4 {
        press(&mut app, "f");
        seen.push((app.tree.filter.clone(), shown(&app).len()));
    }
    let wanted = [
        ("status:live", 0),
        ("status:unresolved", 2),
        ("status:ungraded", 5),
        ("", 8),
    ];
    assert_eq!(
        seen,
        wanted.map(|(filter, count)| (filter.to_owned(), count))
    );
    // what else was typed stays
    press(&mut app, "/ r l enter f");
    assert_eq!(app.tree.filter, "rl status:live");
}

#[test]
fn the_tree_is_put_in_order_and_says_so() {
    let mut app = app(120, 40);
    let own = |app: &App| -> Vec<String> {
        let all = shown(app).into_iter();
        all.filter(|name| name.starts_with("d ")).collect()
    };
    assert_eq!(
        own(&app),
        ["d gold", "d base", "d gpt-x", "d glm", "d hand"]
    );
    press(&mut app, "s");
    assert_eq!(
        own(&app),
        ["d gold", "d base", "d hand", "d glm", "d gpt-x"]
    );
    assert!(screen(&app).contains("newest first"));
    press(&mut app, "s");
    assert_eq!(
        own(&app),
        ["d gold", "d base", "d glm", "d gpt-x", "d hand"]
    );
    press(&mut app, "s");
    assert_eq!(
        own(&app),
        ["d gold", "d base", "d glm", "d gpt-x", "d hand"]
    );
    assert!(screen(&app).contains("by name"));
}

#[test]
fn where_a_task_stands_is_seen_at_a_glance() {
    let mut app = app(120, 40);
    let screen_now = screen(&app);
    for words in ["dp-buckets", "O1 F1 ·1 accepted", "·1 stale", "calibrated"] {
        assert!(screen_now.contains(words), "{words}\n{screen_now}");
    }
    let mut live = summary(8, "sparse-sync", "gpt-x", None);
    live.status = RunStatus::Running;
    update(&mut app, Msg::Run(live.id.clone(), Ok(Some(live))));
    assert!(screen(&app).contains("◐1 stale"), "{}", screen(&app));
}

#[test]
fn marked_submissions_are_graded_one_after_the_other() {
    let mut app = app(120, 40);
    press(&mut app, "< v");
    assert_eq!(app.tree.marked.len(), 3, "all submissions of the task");
    assert!(screen(&app).contains("3 marked"));
    // each goes on its own, one at once on a machine of four cores
    app.gpu.view.as_mut().unwrap().host.cores = 4;
    let key = crate::tui::keymap::Key::parse("g").unwrap();
    let effects = update(&mut app, Msg::Key(key));
    let first = graded(&effects);
    assert_eq!(first.len(), 1);
    let request = first[0].clone();
    assert_eq!(app.bulk.waiting.len(), 2);
    assert!(app.tree.marked.is_empty());
    let selected = app.tree.selected;
    update(&mut app, Msg::Started(request, Ok(run_id(20))));
    assert_eq!(app.tree.selected, selected, "a batch moves no cursor");
    assert!(screen(&app).contains("0/3"), "{}", screen(&app));
    // one that ends lets the next begin; one that cannot begin is through
    let mut over = summary(20, "dp-buckets", "gpt-x", Some(Verdict::Resolved));
    over.created_s = NOW;
    let effects = update(&mut app, Msg::Run(run_id(20), Ok(Some(over))));
    let second = graded(&effects)[0].clone();
    assert_eq!((app.bulk.done, app.bulk.total), (1, 3));
    let failed = Err(BackendError::new("disk full"));
    let effects = update(&mut app, Msg::Started(second, failed));
    assert_eq!(app.bulk.done, 2);
    let third = graded(&effects)[0].clone();
    update(&mut app, Msg::Started(third, Ok(run_id(21))));
    let over = summary(21, "dp-buckets", "hand", Some(Verdict::Resolved));
    update(&mut app, Msg::Run(run_id(21), Ok(Some(over))));
    assert!(!app.bulk.active());
    assert!(app.toast.as_ref().unwrap().text.contains("through: 3 runs"));
}

#[test]
fn failing_cases_of_the_marked_run_again_each_in_a_run_of_its_own() {
    let mut app = app(120, 40);
    app.gpu.view.as_mut().unwrap().host.cores = 64;
    press(&mut app, "< j j j v v");
    let effects = press(&mut app, "F");
    let read = effects
        .iter()
        .any(|e| matches!(e, Effect::LoadOutcomes(runs) if runs.len() == 2));
    assert!(read, "{effects:?}");
    let asked = graded(&effects);
    let counts: Vec<_> = asked
        .iter()
        .map(|r| (r.only.len(), r.parent.clone()))
        .collect();
    assert_eq!(counts, [(2, Some(run_id(1))), (5, Some(run_id(2)))]);
}

#[test]
fn cancelling_marked_submissions_asks_once_and_drops_what_waits() {
    let mut app = app(120, 40);
    let mut live = summary(20, "dp-buckets", "gpt-x", None);
    live.status = RunStatus::Running;
    update(&mut app, Msg::Run(live.id.clone(), Ok(Some(live))));
    app.gpu.view.as_mut().unwrap().host.cores = 4;
    press(&mut app, "< v");
    let key = crate::tui::keymap::Key::parse("g").unwrap();
    update(&mut app, Msg::Key(key));
    assert_eq!(app.bulk.total, 2, "one runs already");
    // leaving is held back once
    assert!(press(&mut app, "q").is_empty());
    press(&mut app, "< v x");
    assert!(matches!(app.overlay, Some(Overlay::ConfirmCancel { .. })));
    insta::assert_snapshot!("cancel_marked", screen(&app));
    let narrow = app.size;
    app.size = (40, 10);
    let shown = screen(&app);
    assert!(
        shown.contains("cancel it") && shown.contains("let it run"),
        "{shown}"
    );
    app.size = narrow;
    let effects = press(&mut app, "y");
    assert!(effects.contains(&Effect::Cancel(run_id(20))));
    assert!(app.bulk.waiting.is_empty());
    let effects = press(&mut app, "q");
    assert_eq!(effects, [Effect::Quit]);
}

#[test]
fn marks_are_taken_away_again() {
    let mut app = app(120, 40);
    press(&mut app, "V");
    assert_eq!(app.tree.marked.len(), 4);
    press(&mut app, "esc");
    assert!(app.tree.marked.is_empty());
    press(&mut app, "< j j j v k v");
    assert!(app.tree.marked.is_empty());
    press(&mut app, "< j j j v");
    let source = Source::Submission {
        name: "gpt-x".into(),
    };
    assert!(app.tree.is_marked("dp-buckets", &source));
    let effects = press(&mut app, "V");
    settle(&mut app, effects);
    assert!(app.tree.marked.is_empty());
}
