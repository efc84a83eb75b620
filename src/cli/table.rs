//! Tables for people: columns as wide as they must be, the last one wrapped at 100.

use unicode_width::UnicodeWidthStr;

use super::output::{line, safe};

const WIDTH: usize = 100;
/// What the last column has at least, however wide the others are.
const LEAST: usize = 30;

/// Prints rows of equally many cells, each line with `indent` before it. Cells may be untrusted.
pub fn table(indent: &str, rows: &[Vec<String>]) {
    for text in laid_out(indent, rows) {
        line(&text);
    }
}

/// Rows under the files that they are about: a path alone on its line, however long it is.
pub fn by_file<'p>(rows: impl Iterator<Item = (&'p str, Vec<String>)>) {
    let all: Vec<(&str, Vec<String>)> = rows.collect();
    for group in all.chunk_by(|a, b| a.0 == b.0) {
        let Some((path, _)) = group.first() else {
            continue;
        };
        line(&format!("  {}", safe(path)));
        let rows: Vec<Vec<String>> = group.iter().map(|(_, row)| row.clone()).collect();
        table("    ", &rows);
    }
}

/// A paragraph, wrapped at 100 columns; its first line keeps its own indentation, the others have
/// `indent`.
pub fn paragraph(text: &str, indent: &str) {
    let text = safe(text);
    let body = text.trim_start_matches(' ');
    let first = " ".repeat(text.len() - body.len());
    let room = WIDTH - indent.width().max(first.len());
    for (index, part) in wrapped(body, room).into_iter().enumerate() {
        line(&format!(
            "{}{part}",
            if index == 0 { &first } else { indent }
        ));
    }
}

fn laid_out(indent: &str, rows: &[Vec<String>]) -> Vec<String> {
    let rows: Vec<Vec<String>> = rows
        .iter()
        .map(|row| row.iter().map(|cell| safe(cell)).collect())
        .collect();
    let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
    let widths: Vec<usize> = (0..columns)
        .map(|c| {
            let cells = rows.iter().filter_map(|row| row.get(c));
            cells.map(|cell| cell.width()).max().unwrap_or(0)
        })
        .collect();
    let mut out = Vec::new();
    for row in &rows {
        let mut text = indent.to_owned();
        for (c, cell) in row.iter().enumerate() {
            if c + 1 < columns {
                text.push_str(cell);
                text.push_str(&" ".repeat(widths[c] - cell.width() + 2));
                continue;
            }
            let start = text.width();
            let room = WIDTH.saturating_sub(start).max(LEAST);
            for (index, part) in wrapped(cell, room).into_iter().enumerate() {
                if index > 0 {
                    out.push(std::mem::take(&mut text).trim_end().to_owned());
                    text = " ".repeat(start);
                }
                text.push_str(&part);
            }
        }
        out.push(text.trim_end().to_owned());
    }
    out
}

fn wrapped(text: &str, room: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in text.split(' ') {
        let Some(last) = lines.last_mut() else { break };
        if !last.is_empty() && last.width() + 1 + word.width() > room {
            lines.push(word.to_owned());
        } else {
            if !last.is_empty() {
                last.push(' ');
            }
            last.push_str(word);
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_column_is_wrapped_at_its_place() {
        let row = |cells: &[&str]| cells.iter().map(|c| (*c).to_owned()).collect::<Vec<_>>();
        let long = "word ".repeat(30);
        let rows = laid_out(
            "  ",
            &[
                row(&["a", "bb", long.trim()]),
                row(&["ccc", "d", "\u{1b}e"]),
            ],
        );
        assert!(rows[0].starts_with("  a    bb  word "));
        assert!(rows[1].starts_with("           word"));
        assert!(rows.iter().all(|r| r.width() <= WIDTH));
        assert!(rows.last().is_some_and(|r| r == "  ccc  d   \\u{1b}e"));
    }
}
