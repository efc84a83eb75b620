//! The diff pane: by path and by symbol, what is compared, notes, frames.

use ratatui::style::{Color, Modifier};

use crate::diff::align::Touched;
use crate::domain::Source;
use crate::tui::backend::ChangeKind;
use crate::tui::effect::Effect;
use crate::tui::fixture::{app, press, screen, style_of};
use crate::tui::layout::PaneKind;
use crate::tui::overlays::Overlay;
use crate::tui::panes::diff::entries::By;
use crate::tui::panes::diff::state::Against;
use crate::tui::state::App;

/// Left and right of what is compared.
fn sides(app: &App) -> (String, String) {
    let comparison = app.diff.comparison.as_ref().unwrap();
    (comparison.left.label(), comparison.right.label())
}

fn pair(left: &str, right: &str) -> (String, String) {
    (left.to_owned(), right.to_owned())
}

#[test]
fn screens() {
    for (width, height) in [(80, 24), (120, 40), (200, 60)] {
        let mut app = app(width, height);
        press(&mut app, "d s");
        insta::assert_snapshot!(format!("diff_symbols_{width}x{height}"), screen(&app));
        press(&mut app, "s B");
        insta::assert_snapshot!(format!("diff_choose_{width}x{height}"), screen(&app));
        press(&mut app, "esc H");
        insta::assert_snapshot!(format!("diff_notes_{width}x{height}"), screen(&app));
    }
}

#[test]
fn what_is_compared_goes_round_and_can_be_chosen() {
    let mut app = app(200, 60);
    press(&mut app, "d");
    assert_eq!(sides(&app), pair("gold", "gpt-x"));
    assert!(screen(&app).contains("gpt-x vs gold"));
    press(&mut app, "b");
    assert_eq!(sides(&app), pair("base", "gpt-x"));
    press(&mut app, "b");
    assert_eq!(sides(&app), pair("base", "gold"));
    press(&mut app, "b");
    assert_eq!(sides(&app), pair("gold", "gpt-x"));
    // another submission
    press(&mut app, "B");
    let shown = screen(&app);
    for words in ["compare with", "glm", "hand", "hollow"] {
        assert!(shown.contains(words), "{words}\n{shown}");
    }
    let Some(Overlay::Pick(pick)) = &app.overlay else {
        panic!("a list");
    };
    assert!(
        pick.rows.iter().all(|row| row.0 != "gpt-x"),
        "not with itself"
    );
    press(&mut app, "j j enter");
    assert!(app.overlay.is_none());
    assert_eq!(sides(&app), pair("glm", "gpt-x"));
    // while that other one is selected, it is beside gold again
    press(&mut app, "t j");
    let selected = app.target.source.clone().unwrap();
    if selected.label() == "glm" {
        assert_eq!(sides(&app).0, "gold");
    }
}

#[test]
fn who_touches_a_file_is_told_by_a_letter_and_a_colour() {
    let mut app = app(200, 60);
    press(&mut app, "d");
    let shown = screen(&app);
    assert!(shown.contains(" B M "), "{shown}");
    assert!(shown.contains(" G A "), "{shown}");
    let gold_only = style_of(&app, "G A ").fg;
    app.diff.files[1].touched = Some(Touched::Right);
    let shown = screen(&app);
    assert!(shown.contains(" S A "), "{shown}");
    assert_ne!(style_of(&app, "S A ").fg, gold_only);
}

#[test]
fn by_symbol_pairs_stand_first_and_then_what_has_no_counterpart() {
    let mut app = app(200, 60);
    let effects = press(&mut app, "d s");
    assert_eq!(app.diff.by, By::Symbol);
    assert!(effects.iter().any(|e| matches!(e, Effect::ShowPart { .. })));
    let shown = screen(&app);
    for words in [
        "by symbol",
        "Span.put",
        "only in gold",
        "Bucket.ready",
        "only in gpt-x",
        "Span.drained",
    ] {
        assert!(shown.contains(words), "{words}\n{shown}");
    }
    let at = app.diff.files.iter().position(|e| e.name() == "Span.put");
    let entry = &app.diff.files[at.unwrap()];
    assert_eq!(entry.kind, ChangeKind::Renamed, "found by its body");
    assert_eq!(
        entry.part.as_ref().unwrap().old_name.as_deref(),
        Some("Bucket.add")
    );
    app.diff.selected = at.unwrap();
    press(&mut app, "[ ]");
    let shown = screen(&app);
    for words in [
        "Bucket.add parallel/flat.py:5",
        "Span.put parallel/buckets.py:9",
    ] {
        assert!(shown.contains(words), "{words}\n{shown}");
    }
    // lines keep the numbers of their files, and a missing side says so
    assert!(shown.contains("   12"), "{shown}");
    press(&mut app, "] ] ] ] ]");
    assert!(
        screen(&app).contains("nothing stands for it here"),
        "{}",
        screen(&app)
    );
}

#[test]
fn a_part_with_the_line_of_a_frame_is_found_from_the_traceback_and_back() {
    let mut app = app(200, 60);
    press(&mut app, "d s c n");
    // a line of a part
    app.cases.why.as_mut().unwrap().frames[1].line = 11;
    press(&mut app, "o");
    assert_eq!(app.focus, PaneKind::Diff);
    assert_eq!(app.diff.entry().unwrap().name(), "Span.put");
    assert_eq!(app.diff.marked, Some(11));
    press(&mut app, "enter");
    assert_eq!(app.focus, PaneKind::Cases);
    // a line between parts: the file has it
    app.cases.why.as_mut().unwrap().frames[1].line = 7;
    press(&mut app, "o");
    assert_eq!(app.diff.by, By::Path);
    assert_eq!(app.diff.marked, Some(7));
    // the line says so, and leads back
    assert!(screen(&app).contains("    7▸") || screen(&app).contains("    7✎"));
    press(&mut app, "enter");
    assert_eq!(app.focus, PaneKind::Cases);
    assert_eq!(app.cases.why.as_ref().unwrap().frame, 1);
    press(&mut app, "d k k enter");
    assert!(app.toast.as_ref().unwrap().text.contains("no frame"));
}

#[test]
fn a_frame_is_shown_in_the_tree_that_ran() {
    let mut app = app(200, 60);
    press(&mut app, "d b b c n o");
    assert_eq!(app.diff.against, Against::Gold);
    assert_eq!(sides(&app), pair("gold", "gpt-x"));
    assert_eq!(app.diff.marked, Some(7));
}

#[test]
fn notes_are_written_beside_lines_listed_and_deleted() {
    let mut app = app(200, 60);
    press(&mut app, "c n o");
    // the cursor is on the line with a note
    let shown = screen(&app);
    assert!(shown.contains("the mean is a sum here  ann"), "{shown}");
    assert!(shown.contains("    7✎"), "{shown}");
    // another one on the next line
    let effects = press(&mut app, "j j h w h y enter");
    let kept = effects.iter().find_map(|e| match e {
        Effect::KeepNote(run, note) => Some((run.clone(), note.clone())),
        _ => None,
    });
    let (run, note) = kept.unwrap();
    assert_eq!(Some(run), app.target.run);
    assert_eq!((note.line, note.text.as_str()), (8, "why"));
    assert_eq!(
        note.tree,
        Source::Submission {
            name: "gpt-x".into()
        }
    );
    assert!(
        note.quoted.contains("return len(self.ready)"),
        "{}",
        note.quoted
    );
    assert_eq!(app.diff.notes.notes.len(), 2);
    press(&mut app, "H");
    assert!(screen(&app).contains("parallel/buckets.py:8  why"));
    press(&mut app, "< enter");
    assert!(app.overlay.is_none());
    assert_eq!(app.diff.line_at(app.diff.cursor).unwrap().1, 7);
    // what was written is there to be changed; nothing takes it away
    press(&mut app, "h");
    assert!(screen(&app).contains("note on the line: the mean is a sum here"));
    let effects = press(&mut app, "ctrl-u enter");
    assert!(
        effects
            .iter()
            .any(|e| matches!(e, Effect::KeepNote(_, n) if n.text.is_empty()))
    );
    assert!(app.diff.notes.notes.is_empty());
    press(&mut app, "H");
    assert!(app.toast.as_ref().unwrap().text.contains("no notes yet"));
    // deleted from the list
    app.diff.notes = crate::tui::fixture::diff::notes();
    let effects = press(&mut app, "H x");
    assert!(
        effects
            .iter()
            .any(|e| matches!(e, Effect::KeepNote(_, n) if n.text.is_empty()))
    );
    assert!(app.overlay.is_none());
}

#[test]
fn notes_need_a_run() {
    let mut app = app(200, 60);
    app.diff.notes_of = None;
    press(&mut app, "d h");
    assert!(app.overlay.is_none());
    assert!(app.toast.as_ref().unwrap().text.contains("kept with a run"));
}

#[test]
fn the_cursor_and_matches_have_styles_of_their_own() {
    let mut app = app(200, 60);
    press(&mut app, "d");
    let number = style_of(&app, "    8 - ");
    assert!(
        number.add_modifier.contains(Modifier::REVERSED),
        "{number:?}"
    );
    press(&mut app, "c");
    let number = style_of(&app, "    8 - ");
    assert!(!number.add_modifier.contains(Modifier::REVERSED));
    press(&mut app, "d / r e a d y ( enter");
    let plain = style_of(&app, "bucket.ready");
    let hit = style_of(&app, "ready():");
    assert_ne!((plain.fg, plain.bg), (hit.fg, hit.bg));
    // n and N go through matches until esc
    let here = app.diff.cursor;
    press(&mut app, "n");
    assert_eq!(app.diff.cursor, here, "the only one");
    press(&mut app, "esc");
    assert_eq!(app.focus, PaneKind::Diff);
    assert!(app.diff.search.is_empty());
    assert_eq!(style_of(&app, "+1").fg, Some(Color::Green));
    assert_eq!(style_of(&app, "-2").fg, Some(Color::Red));
}

#[test]
fn options_compare_again_and_the_title_says_them() {
    let mut app = app(200, 60);
    let effects = press(&mut app, "d w W");
    let asked: Vec<_> = effects
        .iter()
        .filter_map(|e| match e {
            Effect::LoadFile { options, .. } => {
                Some((options.ignore_space, options.ignore_line_endings))
            }
            _ => None,
        })
        .collect();
    assert_eq!(asked, [(true, false), (true, true)]);
    let shown = screen(&app);
    assert!(shown.contains("spaces aside · line ends aside"), "{shown}");
    press(&mut app, "w W )");
    assert!(!screen(&app).contains("aside"));
    assert_eq!(app.diff.around, 6);
}
