//! What `copy` copies: the thing under the cursor, in words that are of use elsewhere.

use crate::agent::trace::{Entry, Kind};
use crate::domain::Source;
use crate::tui::effect::Effect;
use crate::tui::layout::PaneKind;
use crate::tui::panes::claims::state::{Item, items};
use crate::tui::state::App;

/// Longest text that is copied, in bytes: more is read in its file.
const LONGEST: usize = 1 << 20;

pub fn copy(app: &mut App) {
    if let Some(text) = copied(app) {
        app.ask(Effect::Copy(text));
    }
}

/// The text under the cursor, with no control characters but line ends and tabs.
pub fn copied(app: &App) -> Option<String> {
    let text = match app.focus {
        PaneKind::Tasks => {
            let target = &app.target;
            let run = target.run.as_ref().map(|run| run.0.clone());
            let source = target.source.as_ref().map(Source::label);
            run.or(source).or_else(|| target.task.clone())
        }
        PaneKind::Log => app
            .log
            .entries
            .get(app.log.cursor)
            .map(|entry| words(entry)),
        PaneKind::Diff => {
            let file = app.diff.files.get(app.diff.selected);
            file.map(|file| file.path.clone())
        }
        PaneKind::Cases if app.cases.heat.open => {
            let here = app.cases.heat.here();
            here.map(|(row, _)| row.id.as_str().to_owned())
        }
        PaneKind::Cases => case(app),
        PaneKind::Gpu => {
            let item = app.gpu.item();
            let process = item.and_then(|item| app.gpu.process(item));
            let gpu = item.and_then(|item| app.gpu.gpu(item));
            let pid = process.map(|process| format!("{} {}", process.pid, process.command));
            pid.or_else(|| gpu.map(|gpu| gpu.uuid.clone()))
        }
        PaneKind::Acceptance => app
            .acceptance
            .selected()
            .map(|row| format!("{}: {}", row.patch, row.verdict.words)),
        PaneKind::Claims => items(app).get(app.claims.selected).map(claim),
        PaneKind::Cell => app.cell.case().map(|case| {
            let story = app.cell.detail.as_ref().map(|d| d.traceback.as_str());
            let id = case.result.id.as_str();
            story.map_or_else(|| id.to_owned(), |story| format!("{id}\n{story}"))
        }),
    }?;
    let plain = |c: &char| !c.is_control() || matches!(c, '\n' | '\t');
    let mut text: String = text.chars().filter(plain).collect();
    if text.len() > LONGEST {
        let end = (0..=LONGEST).rev().find(|at| text.is_char_boundary(*at));
        text.truncate(end.unwrap_or(0));
    }
    (!text.is_empty()).then_some(text)
}

/// The case's name; with its story open, the story as well.
fn case(app: &App) -> Option<String> {
    let row = app.cases.selected_row()?;
    let id = row.id.as_str();
    let why = app.cases.why.as_ref().filter(|_| app.cases.why_open);
    let story = why.and_then(|why| Some(why.detail.as_ref()?.traceback.as_str()));
    Some(story.map_or_else(|| id.to_owned(), |story| format!("{id}\n{story}")))
}

fn claim(item: &Item<'_>) -> String {
    match item {
        Item::Claim(claim) => format!("{}: {}", claim.id, claim.text),
        Item::Rule(rule) => rule.evidence.join("\n"),
        Item::Revise(finding) | Item::Warning(finding) => {
            format!("{}: {}", finding.subject, finding.detail)
        }
    }
}

/// An entry of a log as text.
fn words(entry: &Entry) -> String {
    match &entry.kind {
        Kind::Message { text, .. }
        | Kind::Reasoning { text }
        | Kind::Error { text }
        | Kind::Notice { text, .. }
        | Kind::Wait { text, .. }
        | Kind::Raw { text } => text.clone(),
        Kind::Command {
            command, output, ..
        } => format!("$ {command}\n{output}"),
        Kind::Edit { files, detail, .. } => {
            let files: Vec<&str> = files.iter().map(|(_, path)| path.as_str()).collect();
            format!("{}\n{detail}", files.join("\n"))
        }
        Kind::Tool {
            name,
            input,
            output,
            ..
        } => format!("{name} {input}\n{output}"),
        Kind::Usage { .. } => String::new(),
    }
}
