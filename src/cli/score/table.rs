//! Tables for people, in at most 100 columns.

use unicode_segmentation::UnicodeSegmentation;
use unicode_width::UnicodeWidthStr;

use super::super::output;

/// Widest line.
pub(super) const WIDTH: usize = 100;

/// A title, column heads and rows. The first column is words, to the left; the others to the right.
pub(super) struct Table {
    rows: Vec<Vec<String>>,
    title: String,
}

impl Table {
    pub(super) fn new(title: &str, heads: &[&str]) -> Self {
        Self {
            rows: vec![heads.iter().map(|h| (*h).to_owned()).collect()],
            title: title.to_owned(),
        }
    }

    /// Untrusted words may stand in the first cell.
    pub(super) fn row(&mut self, cells: Vec<String>) {
        self.rows.push(cells);
    }

    /// Lines, title first; none where there are no rows.
    pub(super) fn lines(&self) -> Vec<String> {
        if self.rows.len() < 2 {
            return Vec::new();
        }
        let columns = self.rows.iter().map(Vec::len).max().unwrap_or(0);
        let width = |column: usize| {
            let cells = self.rows.iter().filter_map(|row| row.get(column));
            cells.map(|cell| cell.width()).max().unwrap_or(0)
        };
        let others: usize = (1..columns).map(|column| width(column) + 2).sum();
        let first = width(0).min(WIDTH.saturating_sub(others).max(4));
        let mut lines = wrapped(&self.title, "");
        for row in &self.rows {
            let mut line = fit(row.first().map_or("", String::as_str), first);
            for (column, cell) in row.iter().enumerate().skip(1) {
                let room = width(column) + 2;
                line += &" ".repeat(room.saturating_sub(cell.width()));
                line += cell;
            }
            lines.push(line.trim_end().to_owned());
        }
        lines.push(String::new());
        lines
    }
}

/// Text made safe and cut or padded to a width.
pub(super) fn fit(text: &str, width: usize) -> String {
    let text = output::safe(text);
    if text.width() <= width {
        return format!("{text}{}", " ".repeat(width - text.width()));
    }
    let mut cut = String::new();
    for part in text.graphemes(true) {
        if cut.width() + part.width() >= width {
            break;
        }
        cut += part;
    }
    cut += "…";
    format!("{cut}{}", " ".repeat(width.saturating_sub(cut.width())))
}

/// Words in lines of at most [`WIDTH`], the later ones indented. A word that is wider is cut.
pub(super) fn wrapped(text: &str, indent: &str) -> Vec<String> {
    let mut lines = Vec::new();
    let text = output::safe(text);
    let mut line: String = text.chars().take_while(|c| *c == ' ').collect();
    for word in text.split_whitespace() {
        let word = if word.width() > WIDTH - indent.width() {
            fit(word, WIDTH - indent.width())
        } else {
            word.to_owned()
        };
        if !line.trim().is_empty() && line.width() + 1 + word.width() > WIDTH {
            lines.push(std::mem::replace(&mut line, indent.to_owned()));
        } else if !line.trim().is_empty() {
            line.push(' ');
        }
        line += &word;
    }
    lines.push(line);
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_line_is_wider_than_the_screen_that_is_promised() {
        let mut table = Table::new(&"word ".repeat(60), &["a", "b"]);
        table.row(vec!["wide \u{4e16}\u{754c}".repeat(40), "12".into()]);
        table.row(vec!["\u{1b}[31mred".into(), "7".into()]);
        let lines = table.lines();
        assert!(lines.iter().all(|l| l.width() <= WIDTH), "{lines:?}");
        assert!(!lines.concat().contains('\u{1b}'));
        assert!(lines[lines.len() - 3].ends_with("12"));
        assert!(Table::new("none", &["a"]).lines().is_empty());
        let long = wrapped(&format!("of {} tasks", "x".repeat(300)), "  ");
        assert!(long.iter().all(|l| l.width() <= WIDTH));
        assert_eq!(long.last().map(String::as_str), Some("  tasks"));
    }
}
