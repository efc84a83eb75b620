//! Any size, any text, any keys.

use proptest::prelude::*;

use crate::domain::RunId;
use crate::tui::action::TABLE;
use crate::tui::fixture::{app, gpu, press, render};
use crate::tui::msg::Msg;
use crate::tui::overlays::agents::Step;
use crate::tui::overlays::{Chooser, Overlay};
use crate::tui::state::App;
use crate::tui::update::update;

/// Text with everything that must not reach a terminal.
fn nasty() -> impl Strategy<Value = String> {
    prop_oneof![
        proptest::collection::vec(any::<u8>(), 0..80)
            .prop_map(|bytes| String::from_utf8_lossy(&bytes).into_owned()),
        any::<String>(),
        Just("\u{1b}]52;c;aGk=\u{7}\u{1b}[2J\u{9b}1m\u{202e}x\u{200b}\r\n\té漢👩‍👩‍👧".to_owned()),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 160, ..ProptestConfig::default() })]

    #[test]
    fn any_size_and_any_text_draws_without_control_characters(
        width in 0..300_u16,
        height in 0..100_u16,
        text in nasty(),
        keys in proptest::collection::vec(0..TABLE.len(), 0..8),
    ) {
        let mut app = app(120, 40);
        // everything untrusted at once
        app.ui.label.clone_from(&text);
        app.runs[0].fault = Some(text.clone());
        app.runs[0].id = RunId(text.clone());
        app.gpu.view = Some(gpu(2));
        if let Some(view) = &mut app.gpu.view {
            view.reason = Some(text.clone());
            view.driver = Some(text.clone());
            view.gpus[0].uses[0].words.clone_from(&text);
            view.gpus[0].throttle.clone_from(&text);
            view.gpus[0].processes[0].who.clone_from(&text);
            view.gpus[0].processes[0].user.clone_from(&text);
            view.gpus[0].processes[0].command.clone_from(&text);
            view.gpus[0].name.clone_from(&text);
            view.gpus[1].lost_since_s = Some(1.0);
        }
        for row in &mut app.cases.all {
            row.id.0.push_str(&text);
            row.claim = Some(text.clone());
        }
        if let Some(why) = &mut app.cases.why {
            why.error = Some(text.clone());
        }
        for file in &mut app.diff.files {
            file.path.push_str(&text);
        }
        let reader = |format| {
            let mut reader = crate::agent::trace::TraceReader::new(format);
            let mut entries = reader.feed(text.as_bytes());
            entries.extend(reader.tail());
            entries
        };
        app.log.take(reader(crate::domain::submission::LogFormat::Text));
        app.diff.take_file(crate::tui::panes::diff::state::DiffFile::new(crate::tui::backend::FilePair {
            left: Some(text.clone().into_bytes()),
            right: Some(format!("{text}x").into_bytes()),
        }));
        update(&mut app, Msg::Resize(width, height));
        let check = |app: &App| {
            for cell in &render(app).content {
                let bad = cell.symbol().chars().find(|c| {
                    c.is_control()
                        || (crate::tui::text::is_hidden(*c) && cell.symbol().chars().count() == 1)
                });
                assert!(bad.is_none(), "{:?}", cell.symbol());
            }
        };
        check(&app);
        for key in keys {
            let entry = &TABLE[key];
            press(&mut app, entry.keys[0]);
            if matches!(app.overlay, Some(Overlay::Prompt(_))) {
                update(&mut app, Msg::Paste(text.clone()));
            }
            check(&app);
        }
        let mut offer = crate::tui::fixture::agent::offer();
        for agent in &mut offer.agents {
            agent.name.push_str(&text);
            agent.version = Some(text.clone());
            agent.summary.clone_from(&text);
            agent.missing = agent.missing.take().map(|_| text.clone());
        }
        offer.variants[0].clone_from(&text);
        for recording in &mut offer.recordings {
            recording.what.clone_from(&text);
            recording.who.clone_from(&text);
        }
        let mut chooser = Chooser::new(text.clone(), None);
        chooser.take(offer);
        chooser.model.clone_from(&text);
        for agent in 0..3 {
            chooser.agent = agent;
            app.overlay = Some(Overlay::Agents(Box::new(chooser.clone())));
            check(&app);
        }
        chooser.step = Step::Recording;
        app.overlay = Some(Overlay::Agents(Box::new(chooser.clone())));
        check(&app);
        chooser.error = Some(text.clone());
        app.overlay = Some(Overlay::Agents(Box::new(chooser)));
        check(&app);
        app.complain(text.clone());
        check(&app);
    }
}
