//! What is seen: text as snapshots, styles of chosen cells.

use ratatui::style::{Color, Modifier};

use crate::domain::Verdict;
use crate::tui::backend::RunStatus;
use crate::tui::caps::Depth;
use crate::tui::fixture::{app, empty, gpu, press, render, runs, screen, settle, style_of};
use crate::tui::gpu_view::{Figure, GpuUse, GpuView, UseKind};
use crate::tui::msg::Msg;
use crate::tui::state::App;
use crate::tui::update::update;

#[test]
fn screens() {
    for (width, height) in [(40, 10), (80, 24), (120, 40), (200, 60)] {
        let mut app = app(width, height);
        press(&mut app, "c n");
        insta::assert_snapshot!(format!("cases_{width}x{height}"), screen(&app));
        press(&mut app, "d");
        insta::assert_snapshot!(format!("diff_{width}x{height}"), screen(&app));
    }
    let mut app = app(80, 24);
    insta::assert_snapshot!("tasks_80x24", screen(&app));
    press(&mut app, "l");
    insta::assert_snapshot!("log_80x24", screen(&app));
    press(&mut app, "u");
    update(&mut app, Msg::Gpu(gpu(3)));
    insta::assert_snapshot!("gpu_80x24", screen(&app));
    let mut app = crate::tui::fixture::app(200, 60);
    update(&mut app, Msg::Gpu(gpu(2)));
    press(&mut app, "O");
    insta::assert_snapshot!("operator_200x60", screen(&app));
    press(&mut app, "A");
    insta::assert_snapshot!("author_200x60", screen(&app));
}

#[test]
fn too_small_says_so() {
    for (width, height) in [(39, 30), (39, 9), (200, 9)] {
        let words = format!("too small ({width}x{height}; 40x10 is needed)");
        assert_eq!(screen(&app(width, height)).trim_end(), words);
    }
    // whole even where a row cannot hold it
    let shown = screen(&app(12, 9));
    let words: Vec<&str> = shown.split_whitespace().collect();
    assert_eq!(words.join(" "), "too small (12x9; 40x10 is needed)");
}

#[test]
fn colours_tell_what_words_tell() {
    let app = app(200, 60);
    assert_eq!(style_of(&app, "OFFICIAL ONLY").fg, Some(Color::Magenta));
    assert_eq!(style_of(&app, "FAILED").fg, Some(Color::Red));
    assert_eq!(style_of(&app, "interrupted").fg, Some(Color::Yellow));
    assert_eq!(style_of(&app, "✘").fg, Some(Color::Red));
}

#[test]
fn the_focused_pane_has_the_accent_border() {
    let mut app = app(200, 60);
    assert_eq!(style_of(&app, "╭ 1 tasks").fg, Some(Color::Cyan));
    press(&mut app, "c");
    assert_eq!(style_of(&app, "╭ 1 tasks").fg, Some(Color::DarkGray));
    assert_eq!(style_of(&app, "╭ 4 cases").fg, Some(Color::Cyan));
}

#[test]
fn without_colours_the_selection_is_seen() {
    let mut app = empty(120, 40, Depth::None);
    settle(&mut app, App::first_effects());
    let buf = render(&app);
    assert!(
        buf.content
            .iter()
            .all(|c| c.fg == Color::Reset && c.bg == Color::Reset)
    );
    assert!(
        buf.content
            .iter()
            .any(|c| c.modifier.contains(Modifier::REVERSED))
    );
}

#[test]
fn the_verdict_words_stand_in_the_tree() {
    let app = app(200, 60);
    let shown = screen(&app);
    for word in [
        "OFFICIAL ONLY",
        "FAILED",
        "interrupted",
        "not graded",
        "off  3/12 prb   7/9",
    ] {
        assert!(shown.contains(word), "{word}\n{shown}");
    }
    assert_eq!(runs().len(), 3);
    assert_eq!(Verdict::OfficialOnly.label(), "OFFICIAL ONLY");
}

#[test]
fn a_task_whose_repository_is_not_here_says_so() {
    let mut app = app(120, 40);
    let words = "no mirror: `infradev check";
    press(&mut app, "k k k");
    assert!(!screen(&app).contains(words), "{}", screen(&app));
    app.missing.insert("dp-buckets".into(), "no mirror");
    assert!(screen(&app).contains(words), "{}", screen(&app));
    assert_eq!(style_of(&app, "no mirror").fg, Some(Color::Yellow));
}

/// A view of GPUs in the states that an operator has to tell apart.
fn busy_gpus() -> GpuView {
    let used = |kind, words: &str| GpuUse {
        kind,
        words: words.into(),
    };
    let mut view = gpu(5);
    view.gpus[0].uses = (0..8)
        .map(|rank| used(UseKind::Run, &format!("run 41 rank {rank}")))
        .collect();
    view.gpus[1].uses = vec![used(UseKind::Leased, "leased: run 42")];
    view.gpus[1].processes.clear();
    view.gpus[1].throttle.clear();
    view.gpus[2].uses = vec![used(UseKind::Free, "free")];
    view.gpus[2].processes.clear();
    view.gpus[2].free = true;
    view.gpus[2].ecc_errors = Figure::Value(2);
    view.gpus[3].uses = vec![used(UseKind::Other, "pid 123 other namespace")];
    view.gpus[3].read_at_s -= 12.0;
    view.gpus[4].lost_since_s = Some(view.at_s - 60.0);
    view.gpus[4].processes.clear();
    view.gpus[4].uses = vec![used(UseKind::Leased, "leased: run 43")];
    view
}

#[test]
fn gpus_tell_who_is_on_them() {
    for (width, height) in [(80, 24), (120, 40), (200, 60)] {
        let mut app = app(width, height);
        press(&mut app, "u z");
        update(&mut app, Msg::Gpu(busy_gpus()));
        insta::assert_snapshot!(format!("gpus_{width}x{height}"), screen(&app));
    }
    // in the strip of 120 columns one row a GPU, and each still says who
    let mut app = app(120, 40);
    press(&mut app, "O");
    update(&mut app, Msg::Gpu(busy_gpus()));
    let shown = screen(&app);
    for words in ["run 41 rank 0", "+7", "leased: run 42", "free"] {
        assert!(shown.contains(words), "{words}\n{shown}");
    }
}

#[test]
fn a_tasks_need_of_gpus_stands_beside_what_is_here() {
    let mut app = app(200, 60);
    let mut task = (*app.tasks[0]).clone();
    task.spec.hardware.gpus = 2;
    task.spec.hardware.gpu_type = Some("NVIDIA H200".into());
    app.tasks[0] = std::sync::Arc::new(task);
    press(&mut app, "<");
    app.gpu.view = None;
    let shown = screen(&app);
    assert!(shown.contains("accepted 2 GPUs H200"), "{shown}");
    update(&mut app, Msg::Gpu(gpu(0)));
    assert_eq!(style_of(&app, "2 GPUs H200  ").fg, Some(Color::Yellow));
    update(&mut app, Msg::Gpu(busy_gpus()));
    assert_eq!(style_of(&app, "2 GPUs H200  ").fg, Some(Color::Reset));
    let shown = screen(&app);
    // five, of which one is lost
    assert!(
        shown.contains("needs 2 GPUs H200 · here 4x H200, 1 free"),
        "{shown}"
    );
}

#[test]
fn a_run_that_waits_for_gpus_says_so() {
    let mut app = app(120, 40);
    let run = app.runs.first_mut().unwrap();
    run.status = RunStatus::Running;
    run.verdict = None;
    assert!(!screen(&app).contains("waits for GPUs"));
    app.runs.first_mut().unwrap().waits_for_gpus = true;
    assert!(screen(&app).contains("waits for GPUs"), "{}", screen(&app));
}

/// A message as long as that of a task whose repository is not here.
const LONG: &str = "no mirror of https://host/owner/repository is on this machine; needed are \
    base 2e1183a07220b12c9014c3f4c538034e5dbb582d and gold \
    000dc1c71497cd14825dc037955b701d40394b2c; looked in home/mirrors for owner/repository.git; \
    this gets them:\n  git init --bare home/mirrors/repository.git\n  git -C \
    home/mirrors/repository.git fetch --depth 1 the-very-last-word";

#[test]
fn a_long_message_is_whole_wherever_it_stands() {
    let whole = |shown: &str, place: &str| {
        for words in ["no mirror", "000dc1c7", "--bare", "the-very-last-word"] {
            assert!(shown.contains(words), "{place}: {words}\n{shown}");
        }
    };
    for (width, height) in [(80, 24), (120, 40), (200, 60)] {
        // in the card of what is selected, where there is one
        let mut app = app(width, height);
        let id = app.target.run.clone().unwrap();
        let run = app.runs.iter_mut().find(|run| run.id == id).unwrap();
        run.fault = Some(LONG.into());
        app.diff.files.clear();
        let shown = screen(&app);
        if height >= 60 {
            whole(&shown, "card");
        }
        if height >= 40 {
            assert!(shown.contains("run 20261129"), "{shown}");
        }
        // in the diff, where nothing can be compared
        app.diff.error = Some(LONG.into());
        press(&mut app, "d");
        whole(&screen(&app), "diff");
        app.diff.error = None;
        // in the cases, where there are none
        press(&mut app, "c");
        app.cases.clear();
        let open = app.open.as_mut().unwrap();
        open.state = crate::domain::run_state::RunState::default();
        open.state.fault = Some(LONG.into());
        whole(&screen(&app), "cases");
        // in the footer, over the panes
        app.open = None;
        app.complain(LONG);
        let shown = screen(&app);
        whole(&shown, "footer");
        assert!(shown.lines().last().unwrap().contains("the-very-last"));
    }
}

#[test]
fn help_says_every_reason_in_full() {
    for width in [60, 80, 120] {
        let mut app = empty(width, 400, Depth::Ansi16);
        press(&mut app, "?");
        let shown = screen(&app);
        // without the box, and with rows that go on joined
        let words: Vec<&str> = shown
            .split(|c: char| c.is_whitespace() || "│╭╮╰╯".contains(c))
            .filter(|word| !word.is_empty())
            .collect();
        let shown = words.join(" ");
        for entry in crate::tui::action::TABLE {
            assert!(
                shown.contains(entry.help),
                "{width}: {}\n{shown}",
                entry.name
            );
            if let Err(reason) = (entry.possible)(&app) {
                let reason = format!("({})", app.ui.keymap.fill(reason));
                assert!(shown.contains(&reason), "{width}: {reason}\n{shown}");
            }
        }
    }
}
