//! What is known of an agent's run: with what it worked, how it ended, what it left.

use std::collections::BTreeMap;

use ratatui::text::Line;

use crate::domain::agent_state::{AgentState, Captured};
use crate::domain::event::PatchedFile;
use crate::domain::{AgentEnd, CaptureNote, RunId};
use crate::tui::panes::words;
use crate::tui::text;
use crate::tui::theme::Role;
use crate::tui::widgets::{Canvas, figures};

/// Who worked, on one row.
pub fn who(canvas: &Canvas<'_>, name: &str, run: &RunId) -> String {
    match state(canvas, run) {
        Some((agent, _)) => match &agent.model {
            Some(model) => format!("{} · {model}", agent.agent),
            None => agent.agent.clone(),
        },
        None => name.to_owned(),
    }
}

fn state<'a>(canvas: &Canvas<'a>, run: &RunId) -> Option<(&'a AgentState, Option<&'a Captured>)> {
    let open = canvas.app.open.as_ref().filter(|open| open.id == *run)?;
    let agent = open.state.agent.as_ref()?;
    Some((agent, open.state.captured.as_ref()))
}

pub fn rows(canvas: &Canvas<'_>, run: &RunId, width: usize, rows: &mut Vec<Line<'static>>) {
    let app = canvas.app;
    let ellipsis = app.ui.glyphs.ellipsis;
    let Some((agent, captured)) = state(canvas, run) else {
        rows.push(Line::from(canvas.dim("its agent has not begun")));
        return;
    };
    if let Some(end) = &agent.end {
        let after = agent
            .duration_s
            .map_or_else(String::new, |s| format!(" after {}", figures::duration(s)));
        let role = if *end == (AgentEnd::Exited { code: 0 }) {
            Role::Dim
        } else {
            Role::Notice
        };
        rows.extend(canvas.wrapped(role, &format!("{}{after}", end.words()), width, 2));
    }
    if let Some((files, added, deleted)) = agent.changed.filter(|_| captured.is_none()) {
        let words = format!(
            "changed {} +{added} -{deleted} so far",
            words::plural(files, "file")
        );
        rows.push(Line::from(canvas.span(Role::Text, words)));
    }
    if let Some(captured) = captured {
        captured_rows(canvas, captured, width, rows);
    }
    if !agent.refused.is_empty() {
        let words = format!("refused: {}", agent.refused.join(", "));
        rows.extend(canvas.wrapped(Role::Warn, &words, width, 2));
    }
    let facts = format!(
        "limit {} · network {}",
        figures::duration(agent.limit_s),
        agent.network.name()
    );
    rows.push(Line::from(canvas.dim(text::cut(&facts, width, ellipsis))));
}

fn captured_rows(
    canvas: &Canvas<'_>,
    captured: &Captured,
    width: usize,
    rows: &mut Vec<Line<'static>>,
) {
    let sum = |pick: fn(&PatchedFile) -> usize| captured.files.iter().map(pick).sum::<usize>();
    let words = match captured.files.len() {
        0 => "captured: nothing was changed".to_owned(),
        count => format!(
            "captured {} +{} -{}",
            words::plural(count, "file"),
            sum(|f| f.added),
            sum(|f| f.deleted)
        ),
    };
    rows.push(Line::from(canvas.span(Role::Text, words)));
    // the stage log has all of them by name
    let (beside, out): (Vec<_>, Vec<_>) = captured
        .notes
        .iter()
        .partition(|note| matches!(note.kind.as_str(), "stash" | "commits"));
    for (what, notes) in [("left out", out), ("noted", beside)] {
        if notes.is_empty() {
            continue;
        }
        let words = format!("{what}: {}", counted(&notes));
        rows.extend(canvas.wrapped(Role::Dim, &words, width, 2));
    }
}

/// `2 cache, nested-repository vendor/lib`: one of a kind is named, more are counted.
fn counted(notes: &[&CaptureNote]) -> String {
    let mut kinds: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for note in notes {
        kinds.entry(&note.kind).or_default().push(&note.path);
    }
    let words: Vec<String> = kinds
        .into_iter()
        .map(|(kind, paths)| match paths.as_slice() {
            [one] => format!("{kind} {one}").trim_end().to_owned(),
            many => format!("{} {kind}", many.len()),
        })
        .collect();
    words.join(", ")
}
