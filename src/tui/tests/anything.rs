//! Any size, any text, any keys.

use crossterm::event::KeyCode;
use proptest::prelude::*;

use crate::domain::RunId;
use crate::tui::action::TABLE;
use crate::tui::fixture::{app, author, gpu, press, render, settle};
use crate::tui::keymap::Key;
use crate::tui::layout::PaneKind;
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

/// No control character, and nothing hidden, is in any cell.
fn check(app: &App) {
    for cell in &render(app).content {
        let bad = cell.symbol().chars().find(|c| {
            c.is_control()
                || (crate::tui::text::is_hidden(*c) && cell.symbol().chars().count() == 1)
        });
        assert!(bad.is_none(), "{:?}", cell.symbol());
    }
}

/// The author's panes with everything untrusted replaced.
fn judged(text: &str) -> App {
    let mut app = author::app(120, 40);
    app.acceptance.task = Some(text.to_owned());
    app.target.task = Some(text.to_owned());
    let mut task = (*author::task()).clone();
    task.spec.id = text.to_owned();
    for claim in &mut task.spec.claims {
        claim.id.push_str(text);
        claim.text = text.to_owned();
        claim.probes.push(text.to_owned());
        claim.modes.push(text.to_owned());
        claim.unmeasured = claim.unmeasured.take().map(|_| text.to_owned());
    }
    app.tasks.push(std::sync::Arc::new(task));
    let matrix = app.acceptance.matrix.as_mut().unwrap();
    for column in &mut matrix.columns {
        column.function.push_str(text);
        column.claims.push(text.to_owned());
    }
    for row in &mut matrix.rows {
        row.patch.push_str(text);
        row.name = text.to_owned();
        row.claim = row.claim.take().map(|_| text.to_owned());
        row.verdict.words.push_str(text);
    }
    for changed in &mut matrix.changed {
        changed.path = text.to_owned();
    }
    if let Some(made) = &mut matrix.acceptance {
        for finding in made.revise.iter_mut().chain(&mut made.warnings) {
            finding.subject = text.to_owned();
            finding.detail = text.to_owned();
        }
        for rule in &mut made.rules {
            rule.evidence.push(text.to_owned());
        }
    }
    app.cell.of = Some((text.to_owned(), Some(text.to_owned())));
    for case in &mut app.cell.cases {
        case.result.id.0.push_str(text);
        case.result.message = Some(text.to_owned());
    }
    for frame in &mut app.cell.frames {
        frame.path.push_str(text);
        frame.function = text.to_owned();
    }
    if let Some(detail) = &mut app.cell.detail {
        detail.traceback = text.to_owned();
        detail.sections.push((text.to_owned(), text.to_owned()));
    }
    let source = crate::tui::panes::cell::state::SourceText::new(text.to_owned(), text.into());
    app.cell.source = Some(source);
    app
}

/// Anything that a terminal may send.
fn input() -> impl Strategy<Value = Msg> {
    let code = prop_oneof![
        4 => proptest::sample::select(TABLE.iter().flat_map(|e| e.keys).copied().collect::<Vec<_>>())
            .prop_map(|key| Key::parse(key).unwrap()),
        2 => any::<char>().prop_map(|c| Key::plain(KeyCode::Char(c))),
        1 => any::<char>().prop_map(|c| Key { ctrl: true, ..Key::plain(KeyCode::Char(c)) }),
        1 => (1..20_u8).prop_map(|n| Key::plain(KeyCode::F(n))),
    ];
    let place = || (0..310_u16, 0..110_u16);
    prop_oneof![
        12 => code.prop_map(Msg::Key),
        2 => place().prop_map(|(column, row)| Msg::Click { column, row }),
        2 => (place(), -40..40_i16).prop_map(|((column, row), steps)| Msg::Wheel { column, row, steps }),
        1 => (0..300_u16, 0..100_u16).prop_map(|(w, h)| Msg::Resize(w, h)),
        1 => nasty().prop_map(Msg::Paste),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 40, ..ProptestConfig::default() })]

    #[test]
    fn any_sequence_of_keys_clicks_and_sizes_draws(
        author in any::<bool>(),
        inputs in proptest::collection::vec(input(), 0..30),
    ) {
        let mut app = if author { author::app(120, 40) } else { app(120, 40) };
        for msg in inputs {
            let effects = update(&mut app, msg);
            settle(&mut app, effects);
            check(&app);
        }
    }
}

/// The diff by symbol, with notes, and the list of these.
fn parts(app: &mut App, text: &str) {
    let mut listed = crate::tui::fixture::diff::aligned();
    for entry in &mut listed.entries {
        entry.path.push_str(text);
        entry.old_path = Some(text.to_owned());
        if let Some(part) = &mut entry.part {
            part.name.push_str(text);
            part.old_name = Some(text.to_owned());
        }
    }
    if let Some(comparison) = &mut app.diff.comparison {
        comparison.by = crate::tui::panes::diff::entries::By::Symbol;
        comparison.left = crate::domain::Source::Submission {
            name: text.to_owned(),
        };
    }
    app.overlay = None;
    app.focus = PaneKind::Diff;
    app.diff.take_files(listed);
    app.diff.error = None;
    app.diff.search = text.to_owned();
    let mut notes = crate::tui::fixture::diff::notes();
    for note in &mut notes.notes {
        note.text = text.to_owned();
        note.by = text.to_owned();
        note.quoted = text.to_owned();
    }
    if let Some(entry) = app.diff.entry()
        && let Some((side, line)) = app.diff.line_at(app.diff.cursor)
    {
        let mut here = notes.notes[0].clone();
        here.line = line;
        let side = crate::tui::panes::diff::marks::index(side);
        here.path = entry.path_on(side).to_owned();
        here.tree = app.diff.source_on(side).unwrap().clone();
        notes.notes.push(here);
    }
    app.diff.notes = notes;
    check(app);
    press(app, "H");
    check(app);
    press(app, "esc B");
    check(app);
    app.overlay = None;
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 80, ..ProptestConfig::default() })]

    #[test]
    fn any_judge_draws_without_control_characters(
        width in 0..300_u16,
        height in 0..100_u16,
        text in nasty(),
        keys in proptest::collection::vec(0..TABLE.len(), 0..6),
    ) {
        let mut app = judged(&text);
        for pane in PaneKind::ALL.into_iter().filter(|pane| pane.author()) {
            app.focus = pane;
            app.size = (width, height);
            check(&app);
            app.cell.no_source = Some(text.clone());
            app.cell.error = Some(text.clone());
        }
        update(&mut app, Msg::Resize(width, height));
        check(&app);
        for key in keys {
            press(&mut app, TABLE[key].keys[0]);
            check(&app);
        }
        app.acceptance.matrix = None;
        app.acceptance.error = Some(text.clone());
        check(&app);
    }

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
        check(&app);
        for key in keys {
            let entry = &TABLE[key];
            press(&mut app, entry.keys[0]);
            if matches!(app.overlay, Some(Overlay::Prompt(_))) {
                update(&mut app, Msg::Paste(text.clone()));
            }
            check(&app);
        }
        parts(&mut app, &text);
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
