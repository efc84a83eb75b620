//! What an entry says, line by line, in the order in which it is shown, searched and saved.

use std::borrow::Cow;
use std::fmt::Write as _;

use crate::agent::trace::{EditKind, Entry, Kind};
use crate::domain::Usage;
use crate::tui::widgets::figures;

/// How a line is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sort {
    /// What was done, in a line.
    Head,
    /// Words, wrapped.
    Prose,
    /// The rest of a command or of a tool's input.
    Input,
    /// A line of an edit.
    Change,
    /// As a program printed it.
    Output,
}

/// Lines of one sort.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Block<'a> {
    pub sort: Sort,
    pub text: &'a str,
}

/// All lines of an entry; they are numbered from the head on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parts<'a> {
    pub head: Option<Cow<'a, str>>,
    pub blocks: Vec<Block<'a>>,
}

impl<'a> Parts<'a> {
    pub fn of(entry: &'a Entry) -> Self {
        let block = |sort, text: &'a str| Block { sort, text };
        let lone = |sort, text| Self {
            head: None,
            blocks: vec![block(sort, text)],
        };
        match &entry.kind {
            Kind::Message { text, .. }
            | Kind::Reasoning { text }
            | Kind::Error { text }
            | Kind::Notice { text, .. }
            | Kind::Wait { text, .. } => lone(Sort::Prose, text),
            Kind::Raw { text } => lone(Sort::Output, text),
            Kind::Command {
                command, output, ..
            } => {
                let (first, rest) = first_line(command);
                Self {
                    head: Some(first.into()),
                    blocks: vec![block(Sort::Input, rest), block(Sort::Output, output)],
                }
            }
            Kind::Edit { files, detail, .. } => Self {
                head: Some(edited(files).into()),
                blocks: vec![block(Sort::Change, detail)],
            },
            Kind::Tool {
                name,
                input,
                output,
                ..
            } => {
                let (first, rest) = first_line(input);
                Self {
                    head: Some(format!("{name} {first}").into()),
                    blocks: vec![block(Sort::Input, rest), block(Sort::Output, output)],
                }
            }
            Kind::Usage {
                usage,
                cost_usd,
                total,
            } => Self {
                head: Some(tokens(*usage, *cost_usd, *total).into()),
                blocks: Vec::new(),
            },
        }
    }

    /// Every line, the head first.
    pub fn lines(&self) -> impl Iterator<Item = &str> {
        let blocks = self.blocks.iter().flat_map(|block| block.text.lines());
        self.head.as_deref().into_iter().chain(blocks)
    }
}

fn first_line(text: &str) -> (&str, &str) {
    text.split_once('\n').unwrap_or((text, ""))
}

/// `M a.py  A b.py`
fn edited(files: &[(EditKind, String)]) -> String {
    let mut out = String::new();
    for (kind, path) in files {
        let mark = match kind {
            EditKind::Add => "A",
            EditKind::Delete => "D",
            EditKind::Update => "M",
        };
        let between = if out.is_empty() { "" } else { "  " };
        let _ = write!(out, "{between}{mark} {path}");
    }
    out
}

/// Lines that an edit adds and takes away, where its log has them.
pub fn changed(detail: &str) -> Option<(usize, usize)> {
    let count = |sign| detail.lines().filter(|line| line.starts_with(sign)).count();
    let counts = (count('+'), count('-'));
    (counts != (0, 0)).then_some(counts)
}

fn tokens(usage: Usage, cost_usd: Option<f64>, total: bool) -> String {
    let input = usage.input + usage.cache_read + usage.cache_write;
    let cached = (usage.cache_read * 100)
        .checked_div(input)
        .map_or_else(String::new, |percent| format!(" (cached {percent} %)"));
    let mut words = format!(
        "tokens in {}{cached} out {}",
        figures::tokens(input),
        figures::tokens(usage.output)
    );
    if usage.reasoning > 0 {
        words = format!("{words} reason {}", figures::tokens(usage.reasoning));
    }
    // a cost of nothing is not told by most streams: it is unknown
    match cost_usd {
        Some(cost) if cost >= 0.01 => words = format!("{words} · ${cost:.2}"),
        Some(cost) if cost > 0.0 => words = format!("{words} · ${cost:.4}"),
        _ => {}
    }
    if total {
        words.push_str(" in all");
    }
    words
}
