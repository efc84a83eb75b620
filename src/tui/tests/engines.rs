//! Where new runs run is chosen in the workbench, and offered where docker failed.

use crate::domain::{EngineChoice, EngineKind, Verdict};
use crate::tui::backend::RunSummary;
use crate::tui::effect::Effect;
use crate::tui::fixture::{app, press, screen};
use crate::tui::state::App;

fn engines(effects: &[Effect]) -> Vec<EngineChoice> {
    let engine = |effect: &Effect| match effect {
        Effect::Grade(request) => Some(request.engine),
        Effect::Verify(request) => Some(request.engine),
        Effect::RunAgent(request) => Some(request.engine),
        _ => None,
    };
    effects.iter().filter_map(engine).collect()
}

#[test]
fn a_key_chooses_where_new_runs_run_and_the_header_tells() {
    let mut app = app(120, 40);
    assert_eq!(engines(&press(&mut app, "G")), [EngineChoice::Auto]);
    assert!(!screen(&app).contains("engine "));
    press(&mut app, "Z");
    assert!(
        screen(&app)
            .lines()
            .next()
            .unwrap()
            .contains("engine docker")
    );
    press(&mut app, "Z");
    assert_eq!(engines(&press(&mut app, "A v")), [EngineChoice::Local]);
    press(&mut app, "Z");
    assert_eq!(app.engine, EngineChoice::Auto);
}

#[test]
fn where_there_is_no_header_the_bar_of_tabs_tells_the_engine() {
    let mut app = app(80, 24);
    let bar = |app: &App| screen(app).lines().next().unwrap().to_owned();
    assert!(!bar(&app).contains("docker"), "{}", bar(&app));
    for engine in ["docker", "local"] {
        press(&mut app, "Z");
        assert!(bar(&app).trim_end().ends_with(engine), "{}", bar(&app));
    }
}

fn fault(app: &mut App, engine: Option<EngineKind>) {
    let shown = app.target.run.clone().unwrap();
    let run: &mut RunSummary = app.runs.iter_mut().find(|run| run.id == shown).unwrap();
    run.verdict = Some(Verdict::Fault);
    run.fault = Some("the daemon went away".into());
    run.engine = engine;
    run.official = None;
    run.probes = None;
}

#[test]
fn the_local_engine_is_offered_where_docker_failed() {
    let offer = "Z chooses where new runs run";
    let mut app = app(200, 60);
    assert!(!screen(&app).contains(offer));
    fault(&mut app, Some(EngineKind::Docker));
    assert!(screen(&app).contains(offer), "{}", screen(&app));
    fault(&mut app, Some(EngineKind::Local));
    assert!(!screen(&app).contains(offer));
    // none was reached, and docker was asked for
    fault(&mut app, None);
    press(&mut app, "Z");
    assert!(screen(&app).contains(offer));
    press(&mut app, "Z");
    assert!(!screen(&app).contains(offer), "it is chosen already");
}
