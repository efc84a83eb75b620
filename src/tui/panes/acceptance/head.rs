//! The matrix' head: the files that functions stand in, their names word by word, their claims.

use ratatui::text::Line;

use crate::report::acceptance::Column;
use crate::tui::text;
use crate::tui::theme::Role;
use crate::tui::widgets::Canvas;

use super::geometry::Geometry;

/// Words that tell nothing where there is room for a few letters.
const SMALL: [&str; 14] = [
    "a", "an", "the", "is", "are", "was", "of", "in", "on", "to", "and", "its", "it", "that",
];

/// Draws the head's rows from row `at` on; `x` is where the first seen column begins.
pub fn draw(canvas: &mut Canvas<'_>, g: &Geometry, at: usize, x: usize) {
    let app = canvas.app;
    let Some(matrix) = &app.acceptance.matrix else {
        return;
    };
    let ellipsis = app.ui.glyphs.ellipsis;
    let first = app.acceptance.left;
    let seen: Vec<(usize, &Column)> = matrix
        .columns
        .iter()
        .enumerate()
        .skip(first)
        .take(g.columns)
        .collect();
    let mut row = at;
    if g.files {
        let mut from = 0;
        while let Some((_, column)) = seen.get(from) {
            let same = seen
                .iter()
                .skip(from)
                .take_while(|(_, c)| c.file() == column.file());
            let count = same.count();
            let name = column.file().rsplit('/').next().unwrap_or(column.file());
            let room = (count * g.column).saturating_sub(1);
            let name = text::cut(
                name.trim_end_matches(".py"),
                room.saturating_sub(2),
                ellipsis,
            );
            let fill = room.saturating_sub(text::width(&name) + 1);
            let rule = app.ui.glyphs.rule;
            let line = Line::from(canvas.dim(format!("{name} {}", rule.repeat(fill))));
            canvas.put_at(row, x + from * g.column, &line);
            from += count;
        }
        row += 1;
    }
    for (place, (index, column)) in seen.iter().enumerate() {
        let under = *index == app.acceptance.column;
        let role = match (under, column.guard) {
            (true, _) => Role::Accent,
            (false, true) => Role::Dim,
            (false, false) => Role::Text,
        };
        let name = column.name();
        let words = words(&name, g.words, g.column - 1, ellipsis);
        // the words stand on the matrix
        let above = g.words - words.len();
        for (at, word) in words.into_iter().enumerate() {
            let line = Line::from(canvas.span(role, word));
            canvas.put_at(row + above + at, x + place * g.column, &line);
        }
        if g.claims {
            let claim = match (column.guard, column.claims.as_slice()) {
                (true, _) => "grd".to_owned(),
                (false, []) => app.ui.glyphs.dash.to_owned(),
                (false, [only]) => text::cut(only, g.column - 1, ellipsis),
                (false, [first, ..]) => {
                    text::cut(first, g.column.saturating_sub(2), ellipsis) + "+"
                }
            };
            let claim = text::cut(&claim, g.column - 1, "");
            let role = if under { Role::Accent } else { Role::Dim };
            let line = Line::from(canvas.span(role, claim));
            canvas.put_at(row + g.words, x + place * g.column, &line);
        }
    }
}

/// The words of a name in so many rows, each cut to `columns`.
pub(super) fn words(name: &str, rows: usize, columns: usize, ellipsis: &str) -> Vec<String> {
    if rows <= 1 {
        return vec![text::cut(name, columns, ellipsis)];
    }
    let all: Vec<&str> = name.split('_').filter(|word| !word.is_empty()).collect();
    let telling: Vec<&str> = all
        .iter()
        .copied()
        .filter(|word| !SMALL.contains(word))
        .collect();
    let chosen = if telling.is_empty() { all } else { telling };
    // as many words in a row as it takes
    let mut out: Vec<String> = Vec::new();
    for word in chosen {
        let full = out.len() == rows;
        match out.last_mut() {
            Some(last) if text::width(last) + 1 + text::width(word) <= columns => {
                last.push('_');
                last.push_str(word);
            }
            _ if full => break,
            _ => out.push(text::cut(word, columns, "")),
        }
    }
    if out.is_empty() {
        out.push(text::cut(name, columns, ellipsis));
    }
    out.into_iter()
        .map(|row| text::cut(&row, columns, ""))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_cut_word_by_word() {
        assert_eq!(
            words("the_cap_holds_on_the_wire", 3, 3, "…"),
            ["cap", "hol", "wir"]
        );
        assert_eq!(
            words("the_cap_holds_on_the_wire", 2, 9, "…"),
            ["cap_holds", "wire"]
        );
        assert_eq!(words("first_sync", 1, 13, "…"), ["first_sync"]);
        assert_eq!(words("is_it", 2, 3, "…"), ["is", "it"]);
        assert_eq!(words("", 2, 3, "…"), [""]);
    }
}
