//! Choosing an agent and starting it.

use crate::domain::Source;
use crate::tui::agent_offer::AgentRequest;
use crate::tui::backend::BackendError;
use crate::tui::effect::Effect;
use crate::tui::fixture::{app, press, run_id, screen, style_of};
use crate::tui::layout::PaneKind;
use crate::tui::msg::Msg;
use crate::tui::overlays::Overlay;
use crate::tui::panes::log::LogSource;
use crate::tui::theme::Role;
use crate::tui::update::update;

fn request(effects: &[Effect]) -> Option<AgentRequest> {
    effects.iter().find_map(|effect| match effect {
        Effect::RunAgent(request) => Some(request.clone()),
        _ => None,
    })
}

#[test]
fn the_choice_is_seen_at_every_size() {
    for (width, height) in [(40, 10), (80, 24), (120, 40)] {
        let mut app = app(width, height);
        press(&mut app, "a");
        insta::assert_snapshot!(format!("choose_agent_{width}x{height}"), screen(&app));
        press(&mut app, "j enter");
        insta::assert_snapshot!(format!("choose_recording_{width}x{height}"), screen(&app));
    }
}

#[test]
fn an_agent_that_lacks_something_is_refused_with_the_reason() {
    let mut app = app(120, 40);
    press(&mut app, "a > ");
    let shown = screen(&app);
    assert!(shown.contains("! shell"), "{shown}");
    assert!(shown.contains("could-read-upstream"), "{shown}");
    assert_eq!(request(&press(&mut app, "enter")), None);
    let shown = screen(&app);
    assert!(shown.contains("INFRADEV_AGENT_COMMAND"), "{shown}");
    assert!(shown.contains("in shell.toml"), "the whole of it: {shown}");
    let bad = app.ui.theme.style(Role::Bad).fg;
    assert_eq!(style_of(&app, "or drop it from").fg, bad);
    // a model that is missing can be given on the spot
    assert_eq!(request(&press(&mut app, "< enter")), None);
    assert!(screen(&app).contains("codex must be told a model"));
    press(&mut app, "m g p t - x j q backspace enter");
    let asked = request(&press(&mut app, "enter")).unwrap();
    assert_eq!(asked.model.as_deref(), Some("gpt-xj"));
    assert_eq!((asked.agent.as_str(), asked.recording), ("codex", None));
}

#[test]
fn the_reason_is_whole_on_the_smallest_screen() {
    let mut app = app(40, 10);
    press(&mut app, "a > enter");
    let shown = screen(&app);
    for words in [
        "! shell",
        "is passed",
        "where you",
        "shell.toml  ",
        "esc closes",
    ] {
        assert!(shown.contains(words), "{words}\n{shown}");
    }
}

#[test]
fn prompt_limit_and_model_are_changed_by_keys_and_esc_takes_a_model_back() {
    let mut app = app(120, 40);
    press(&mut app, "a m o n e enter p + + - m t w o esc");
    let asked = request(&press(&mut app, "enter")).unwrap();
    assert_eq!(asked.task, "dp-buckets");
    assert_eq!(asked.variant, "short");
    assert!((asked.limit_s - 10_800.0).abs() < 1e-9, "{}", asked.limit_s);
    assert_eq!(asked.model.as_deref(), Some("one"));
    // the next time it is offered first, with its model
    press(&mut app, "a");
    assert!(screen(&app).contains("m model one"), "{}", screen(&app));
    // the limit ends where its steps end
    press(&mut app, "- - - - - - - - - - - - - - - - - -");
    let asked = request(&press(&mut app, "enter")).unwrap();
    assert!((asked.limit_s - 60.0).abs() < 1e-9);
    // pasted text goes to the model, and only while it is typed
    press(&mut app, "a");
    update(&mut app, Msg::Paste("lost".into()));
    press(&mut app, "m ctrl-u");
    update(&mut app, Msg::Paste("a/b\nc".into()));
    let asked = request(&press(&mut app, "enter enter")).unwrap();
    assert_eq!(asked.model.as_deref(), Some("a/b"));
}

#[test]
fn replay_asks_what_and_the_new_run_is_selected_with_its_log() {
    for (width, height, focus) in [
        (80, 24, PaneKind::Log),
        (120, 40, PaneKind::Tasks),
        (200, 60, PaneKind::Tasks),
    ] {
        let mut app = app(width, height);
        assert_eq!(request(&press(&mut app, "a j enter")), None);
        press(&mut app, "r");
        assert!(screen(&app).contains("20 lines"), "{}", screen(&app));
        press(&mut app, "r r j");
        let asked = request(&press(&mut app, "enter")).unwrap();
        assert_eq!(asked.agent, "replay");
        assert_eq!(asked.recording, Some(run_id(5).0));
        assert_eq!((asked.rate, asked.model), (None, None));
        assert_eq!(app.overlay, None);
        let source = Source::Agent {
            name: "replay".into(),
            run: run_id(8),
        };
        assert_eq!(app.target.source, Some(source));
        assert_eq!(app.target.run, Some(run_id(8)));
        assert_eq!(app.focus, focus);
        assert!(app.plan().shows(PaneKind::Log));
        assert!(matches!(
            app.log.source(),
            Some(LogSource::Stages | LogSource::Agent(..))
        ));
    }
}

#[test]
fn esc_goes_a_step_back_and_a_failed_start_leaves_the_choice_open() {
    let mut app = app(120, 40);
    press(&mut app, "a j enter esc");
    assert!(screen(&app).contains("run an agent"), "{}", screen(&app));
    press(&mut app, "esc");
    assert_eq!(app.overlay, None);
    press(&mut app, "a j enter");
    let key = crate::tui::keymap::Key::parse("enter").unwrap();
    let effects = update(&mut app, Msg::Key(key));
    let asked = request(&effects).unwrap();
    assert!(screen(&app).contains("starting"), "{}", screen(&app));
    // once is enough
    assert_eq!(request(&update(&mut app, Msg::Key(key))), None);
    let words = "run 7 has no log to replay";
    let failed = Err(BackendError::new(words));
    update(&mut app, Msg::AgentStarted(asked.clone(), failed));
    assert!(matches!(app.overlay, Some(Overlay::Agents(_))));
    assert!(screen(&app).contains(words), "{}", screen(&app));
    assert!(request(&press(&mut app, "enter")).is_some());
    // closed meanwhile: the footer says it
    let failed = Err(BackendError::new(words));
    update(&mut app, Msg::AgentStarted(asked, failed));
    assert!(screen(&app).contains(words), "{}", screen(&app));
}

#[test]
fn without_a_task_there_is_nothing_to_run_on() {
    let mut app = crate::tui::fixture::empty(80, 24, crate::tui::caps::Depth::Ansi16);
    press(&mut app, "a");
    assert_eq!(app.overlay, None);
    assert_eq!(app.toast.as_ref().unwrap().text, "no task is selected");
    let mut app = crate::tui::fixture::app(80, 24);
    let key = crate::tui::keymap::Key::parse("a").unwrap();
    update(&mut app, Msg::Key(key));
    let failed = Err(BackendError::new("agents/x.toml: permission denied"));
    update(&mut app, Msg::Agents("dp-buckets".into(), failed));
    let shown = screen(&app);
    assert!(shown.contains("permission denied"), "{shown}");
    assert_eq!(request(&press(&mut app, "enter")), None);
}
