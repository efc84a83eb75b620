//! Entries as rows: a row is a small value until it is drawn.

use crate::agent::trace::{Entry, Kind, Progress, Role};
use crate::tui::text;

/// Lines of output shown of a folded entry: the end tells most.
const TAIL: usize = 2;
/// Folded output up to this many lines is shown whole.
const SHORT: usize = 4;
/// Rows of one unfolded entry.
const MOST: usize = 5_000;

/// One row of an entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Row<'a> {
    /// The entry's first line; the drawer knows the kind.
    Head(&'a str),
    /// Prose, wrapped and safe.
    Prose(String),
    /// A line as a program printed it.
    Output(&'a str),
    /// A line of an edit.
    Change(&'a str),
    /// So many lines are folded away.
    Folded(usize),
}

/// All rows of an entry at a width.
pub fn rows(entry: &Entry, width: usize, unfolded: bool) -> Vec<Row<'_>> {
    match &entry.kind {
        Kind::Message { role, text } => {
            // a prompt is long and the same every time: its beginning will do
            let most = if unfolded {
                MOST
            } else if *role == Role::Agent {
                400
            } else {
                3
            };
            prose(text, width, most)
        }
        Kind::Reasoning { text } => prose(text, width, if unfolded { MOST } else { 3 }),
        Kind::Error { text } | Kind::Notice { text, .. } | Kind::Wait { text, .. } => {
            prose(text, width, 50)
        }
        Kind::Raw { text } => vec![Row::Output(text)],
        Kind::Usage { .. } => vec![Row::Head("")],
        Kind::Command {
            command,
            output,
            progress,
            ..
        } => {
            let mut lines = command.lines();
            let mut out = vec![Row::Head(lines.next().unwrap_or(""))];
            if unfolded {
                out.extend(lines.map(Row::Change));
            }
            let tail = if *progress == Progress::Failed {
                4
            } else {
                TAIL
            };
            fold(output, unfolded, tail, Row::Output, &mut out);
            out
        }
        Kind::Edit { detail, .. } => {
            let mut out = vec![Row::Head("")];
            fold(detail, unfolded, 0, Row::Change, &mut out);
            out
        }
        Kind::Tool {
            input,
            output,
            progress,
            ..
        } => {
            let mut out = vec![Row::Head(input.lines().next().unwrap_or(""))];
            let tail = if *progress == Progress::Failed { 4 } else { 0 };
            fold(output, unfolded, tail, Row::Output, &mut out);
            out
        }
    }
}

fn prose(text: &str, width: usize, most: usize) -> Vec<Row<'static>> {
    let mut wrapped = text::wrap(text, width, most + 1);
    let cut = wrapped.len() > most;
    wrapped.truncate(most);
    let mut out: Vec<Row<'static>> = wrapped.into_iter().map(Row::Prose).collect();
    if cut {
        out.push(Row::Folded(
            text.lines().count().saturating_sub(most).max(1),
        ));
    }
    out
}

fn fold<'a>(
    body: &'a str,
    unfolded: bool,
    tail: usize,
    row: impl Fn(&'a str) -> Row<'a>,
    out: &mut Vec<Row<'a>>,
) {
    let count = body.lines().count();
    if unfolded {
        out.extend(body.lines().take(MOST).map(&row));
        if count > MOST {
            out.push(Row::Folded(count - MOST));
        }
        return;
    }
    if tail > 0 && count <= SHORT {
        out.extend(body.lines().map(&row));
        return;
    }
    if count > tail {
        out.push(Row::Folded(count - tail));
    }
    out.extend(body.lines().skip(count.saturating_sub(tail)).map(&row));
}

/// Columns left of an entry: the time where the log tells times, and the cursor's mark.
pub fn gutter(entries: &[Entry]) -> usize {
    if entries.iter().take(64).any(|entry| entry.at_s.is_some()) {
        11
    } else {
        2
    }
}

/// Columns of an entry's rows in a pane of `width` inner columns.
pub fn text_width(entries: &[Entry], width: usize) -> usize {
    // one column stays free for a wide character that does not fit
    width.saturating_sub(gutter(entries) + 1).max(8)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folded_output_keeps_its_end() {
        let output = "a\nb\nc\nd\ne\n";
        let mut out = Vec::new();
        fold(output, false, 2, Row::Output, &mut out);
        assert_eq!(out, [Row::Folded(3), Row::Output("d"), Row::Output("e")]);
        let mut out = Vec::new();
        fold("a\nb\n", false, 2, Row::Output, &mut out);
        assert_eq!(out, [Row::Output("a"), Row::Output("b")]);
    }
}
