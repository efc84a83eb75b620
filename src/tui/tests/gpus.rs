//! The gpu pane as an operator of a node with eight GPUs uses it.

use ratatui::style::Color;

use crate::domain::RunId;
use crate::tui::backend::RunStatus;
use crate::tui::caps::Depth;
use crate::tui::fixture::{NOW, app, empty, gpu, press, render, screen, settle, style_of};
use crate::tui::glyphs::ASCII;
use crate::tui::gpu_view::{Figure, GpuView, MigRow, ProcessRow};
use crate::tui::layout::PaneKind;
use crate::tui::msg::Msg;
use crate::tui::state::App;
use crate::tui::update::update;

/// A node with eight GPUs: two ranks of a run, somebody else, one in instances, one lost.
fn node(at_s: f64) -> GpuView {
    let mut view = gpu(8);
    view.at_s = at_s;
    view.host.read_at_s = at_s;
    let wave = |index: u32| ((at_s as u64 * 3 + u64::from(index) * 11) % 101) as u32;
    for gpu in &mut view.gpus {
        gpu.read_at_s = at_s;
        gpu.util_percent = Figure::Value(wave(gpu.index));
        if gpu.index >= 2 {
            gpu.processes.clear();
            gpu.throttle.clear();
            gpu.uses.clear();
        }
    }
    let row = |gpu: usize, process: ProcessRow, view: &mut GpuView| {
        view.gpus[gpu].processes.push(process);
    };
    let stranger = ProcessRow {
        pid: 777,
        kind: "C",
        memory: Figure::Value(2 << 30),
        sm_percent: Figure::Value(12),
        cpu_percent: Figure::Value(850.0),
        started_s: Figure::Value(NOW - 90_000.0),
        who: "container 3f2a3f2a3f2a".into(),
        user: "carol".into(),
        command: "python serve.py".into(),
        ..ProcessRow::default()
    };
    row(1, stranger, &mut view);
    let far = ProcessRow {
        pid: 31337,
        kind: "C",
        memory: Figure::Value(9 << 30),
        instance: Some(1),
        who: "other namespace".into(),
        ..ProcessRow::default()
    };
    row(6, far, &mut view);
    view.gpus[6].util_percent = Figure::Unsupported;
    view.gpus[6].mig = (0..2)
        .map(|index| MigRow {
            index,
            uuid: format!("MIG-6-{index}"),
            profile: "3g.71gb".into(),
            memory_used: Figure::Value(u64::from(index) * (9 << 30)),
            memory_total: Figure::Value(71 << 30),
        })
        .collect();
    view.gpus[7].lost_since_s = Some(NOW - 60.0);
    view
}

/// Five minutes of it.
fn watched(width: u16, height: u16) -> App {
    let mut app = app(width, height);
    app.gpu = crate::tui::panes::gpu::GpuState::default();
    app.gpu.sampling = true;
    for second in -300..=0 {
        let mut view = node(NOW + f64::from(second));
        if second < -60 {
            view.gpus[7].lost_since_s = None;
        }
        update(&mut app, Msg::Gpu(view));
    }
    app
}

#[test]
fn a_node() {
    for (width, height) in [(80, 24), (120, 40), (200, 60)] {
        let mut app = watched(width, height);
        press(&mut app, "u z");
        insta::assert_snapshot!(format!("node_{width}x{height}"), screen(&app));
        press(&mut app, "j enter v");
        insta::assert_snapshot!(format!("one_{width}x{height}"), screen(&app));
        // and back
        press(&mut app, "esc");
        assert!(screen(&app).contains("LOST 17:41:10"), "{}", screen(&app));
    }
    // in the operator's layout every GPU has its row
    for (width, height) in [(120, 40), (200, 60)] {
        let mut app = watched(width, height);
        press(&mut app, "O");
        let shown = screen(&app);
        for index in 0..8 {
            assert!(
                shown.contains(&format!("│ {index} H200 ")),
                "{index}\n{shown}"
            );
        }
        assert!(shown.contains("LOST 17:41:10"), "{shown}");
        insta::assert_snapshot!(format!("strip_{width}x{height}"), shown);
    }
}

#[test]
fn what_has_no_room_is_counted_and_the_cursor_brings_it() {
    let mut app = watched(40, 10);
    press(&mut app, "u");
    let shown = screen(&app);
    assert!(shown.contains("+4 GPUs"), "{shown}");
    assert!(
        shown.contains("0 H200") && !shown.contains("7 H200"),
        "{shown}"
    );
    press(&mut app, "j j j j j j j");
    let shown = screen(&app);
    assert!(
        shown.contains("7 H200") && !shown.contains("0 H200"),
        "{shown}"
    );
    assert!(shown.contains("cpu"), "{shown}");
}

#[test]
fn the_cursor_stays_on_what_it_stood_on() {
    let mut app = watched(120, 40);
    press(&mut app, "u z end k");
    // of the list by GPU the last but one: the stranger's
    let chosen = app.gpu.item();
    let pid = |app: &App| {
        app.gpu
            .item()
            .and_then(|item| app.gpu.process(item))
            .map(|p| p.pid)
    };
    assert_eq!(pid(&app), Some(777));
    press(&mut app, "s");
    assert_eq!(
        pid(&app),
        Some(777),
        "sorted by memory: another row, the same process"
    );
    press(&mut app, "s s");
    let rows: Vec<u32> = app
        .gpu
        .items()
        .iter()
        .filter_map(|item| app.gpu.process(*item).map(|p| p.pid))
        .collect();
    // by CPU; what is not known comes last
    assert_eq!(rows, [777, 4100, 4101, 31337]);
    // the processes before it end
    let mut view = node(NOW + 1.0);
    view.gpus[0].processes.clear();
    update(&mut app, Msg::Gpu(view));
    assert_eq!(pid(&app), Some(777));
    assert!(chosen.is_some());
    // somebody else on a GPU of a run is marked
    assert_eq!(style_of(&app, "container 3f2a").fg, Some(Color::Yellow));
    assert_eq!(style_of(&app, "run 41 rank 1").fg, Some(Color::Cyan));
}

#[test]
fn processes_are_filtered_by_any_of_their_words() {
    let mut app = watched(120, 40);
    press(&mut app, "u z /");
    for letter in "carol".chars() {
        press(&mut app, &letter.to_string());
    }
    press(&mut app, "enter");
    let shown = screen(&app);
    assert!(shown.contains("1 with `carol`"), "{shown}");
    assert!(shown.contains("777") && !shown.contains("31337"), "{shown}");
    press(&mut app, "esc");
    assert!(screen(&app).contains("31337"), "{}", screen(&app));
}

#[test]
fn a_process_leads_to_its_run() {
    let mut app = watched(120, 40);
    let id = app.runs[0].id.clone();
    press(&mut app, "u");
    let mut view = node(NOW + 1.0);
    view.gpus[0].processes[0].run = Some(id.0.clone());
    update(&mut app, Msg::Gpu(view));
    let at = |app: &App, pid| {
        let items = app.gpu.items();
        items
            .iter()
            .position(|item| app.gpu.process(*item).is_some_and(|p| p.pid == pid))
    };
    let first = at(&app, 4100).unwrap();
    app.gpu.select(first);
    press(&mut app, "enter");
    assert_eq!(app.target.run.as_ref(), Some(&id));
    assert_eq!(app.focus, PaneKind::Cases);
    // of another home, and of none
    for (pid, words) in [(4101, "run 41 is not of this home"), (777, "of no run")] {
        press(&mut app, "u");
        let here = at(&app, pid).unwrap();
        app.gpu.select(here);
        press(&mut app, "enter");
        assert!(screen(&app).contains(words), "{words}\n{}", screen(&app));
        assert_eq!(app.focus, PaneKind::Gpu);
    }
    assert!(app.runs.iter().all(|run| run.id != RunId("41".into())));
}

#[test]
fn a_moment_of_the_log_is_shown_as_it_was() {
    let mut app = watched(120, 40);
    press(&mut app, "u z");
    app.time.at_s = Some(NOW - 100.0);
    app.time.since_s = Some(NOW - 3700.0);
    app.time.tied = true;
    let shown = screen(&app);
    assert!(
        shown.contains("as of 17:40:30, 1h00m into the run"),
        "{shown}"
    );
    // what was not kept is not made up, and the lost one was there
    let then = app.gpu.then(NOW - 100.0).unwrap();
    assert_eq!(then.gpus[7].lost_since_s, None);
    assert_eq!(then.gpus[0].sm_mhz, Figure::Unsupported);
    assert_eq!(
        then.gpus[0].util_percent,
        node(NOW - 100.0).gpus[0].util_percent
    );
    assert!(!shown.contains("31337"), "{shown}");
    // before anything was watched
    let before = app.gpu.then(NOW - 1000.0).unwrap();
    assert_eq!(before.gpus[0].util_percent, Figure::Unsupported);
}

#[test]
fn gpus_are_watched_while_they_are_looked_at_and_not_where_there_are_none() {
    let mut app = watched(120, 40);
    for run in &mut app.runs {
        run.status = RunStatus::Finished;
    }
    press(&mut app, "u");
    app.now_s += 3600.0;
    assert!(app.wants_samples());
    press(&mut app, "t");
    app.now_s += 3600.0;
    assert!(!app.wants_samples());
    press(&mut app, "u");
    update(&mut app, Msg::Gpu(gpu(0)));
    app.now_s += 3600.0;
    assert!(!app.wants_samples());
}

#[test]
fn in_ascii_nothing_else_is_drawn() {
    let mut app = empty(120, 40, Depth::Ansi16);
    settle(&mut app, App::first_effects());
    app.ui.glyphs = ASCII;
    app.gpu.sampling = true;
    for second in 0..30 {
        update(&mut app, Msg::Gpu(node(NOW + f64::from(second))));
    }
    for keys in ["u z", "j enter"] {
        press(&mut app, keys);
        let buf = render(&app);
        for cell in &buf.content {
            assert!(
                cell.symbol().is_ascii(),
                "{:?}\n{}",
                cell.symbol(),
                screen(&app)
            );
        }
    }
}
