//! Which rows are seen, and how scrolling moves through them. Only the entries near the screen
//! are looked at.

use crate::tui::action::Action;
use crate::tui::{ansi, text};

use super::long::LONG;
use super::parts::Sort;
use super::rows::{What, line_width, rows, text_width};
use super::state::{Anchor, LogState};

fn height(log: &LogState, at: usize, width: usize) -> usize {
    log.entries.get(at).map_or(0, |entry| {
        rows(entry, at, log.view(width), log.unfolded(at)).len()
    })
}

/// The place `count` rows further down; never beyond the last entry.
fn advance(log: &LogState, from: Anchor, mut count: usize, width: usize) -> Anchor {
    let mut at = from;
    while count > 0 {
        let left = height(log, at.entry, width).saturating_sub(at.row + 1);
        if count <= left {
            at.row += count;
            return at;
        }
        let Some(next) = log.after(at.entry) else {
            at.row += left;
            return at;
        };
        count -= left + 1;
        at = Anchor {
            entry: next,
            row: 0,
        };
    }
    at
}

/// The place `count` rows further up.
fn retreat(log: &LogState, from: Anchor, mut count: usize, width: usize) -> Anchor {
    let mut at = from;
    while count > 0 {
        if count <= at.row {
            at.row -= count;
            return at;
        }
        let Some(above) = log.before(at.entry) else {
            at.row = 0;
            return at;
        };
        count -= at.row + 1;
        at.entry = above;
        at.row = height(log, at.entry, width).saturating_sub(1);
    }
    at
}

/// The first row on a screen whose last row is the log's last.
pub fn bottom(log: &LogState, width: usize, page: usize) -> Anchor {
    let Some(last) = log.last() else {
        return Anchor::default();
    };
    let end = Anchor {
        entry: last,
        row: height(log, last, width).saturating_sub(1),
    };
    retreat(log, end, page.saturating_sub(1), width)
}

/// The first row on the screen.
pub fn first(log: &LogState, width: usize, page: usize) -> Anchor {
    let lowest = bottom(log, width, page);
    if log.follow {
        return lowest;
    }
    // what is anchored may not be let through any more
    let entry = log.from(log.top.entry).or_else(|| log.last());
    let head = Anchor {
        entry: entry.unwrap_or(0),
        row: 0,
    };
    let top = if head.entry == log.top.entry {
        log.top
    } else {
        head
    };
    top.min(lowest.max(head))
}

/// What is on a screen of `page` rows: entry, row in it, from the top.
pub fn visible(log: &LogState, width: usize, page: usize) -> Vec<(usize, usize)> {
    let mut out = Vec::with_capacity(page);
    let mut at = first(log, width, page);
    let mut next = log.from(at.entry).filter(|entry| *entry == at.entry);
    while let Some(entry) = next.filter(|_| out.len() < page) {
        let high = height(log, entry, width);
        while at.row < high && out.len() < page {
            out.push((entry, at.row));
            at.row += 1;
        }
        at.row = 0;
        next = log.after(entry);
    }
    out
}

/// Fixes the place on the screen when following stops or begins.
pub fn settle(log: &mut LogState, inner_width: usize, page: usize) {
    let width = text_width(&log.entries, inner_width);
    if log.follow {
        log.cursor = log.last().unwrap_or(0);
    } else {
        log.top = bottom(log, width, page);
    }
}

/// Moves by a key. Any move up stops following; the end starts it again.
pub fn scroll(log: &mut LogState, action: Action, inner_width: usize, page: usize) {
    let width = text_width(&log.entries, inner_width);
    let top = first(log, width, page);
    let lowest = bottom(log, width, page);
    log.look.hit = None;
    match action {
        Action::Top => {
            log.follow = false;
            log.cursor = log.first().unwrap_or(0);
            log.top = Anchor {
                entry: log.cursor,
                row: 0,
            };
            return;
        }
        Action::Bottom => {
            log.follow = true;
            log.cursor = log.last().unwrap_or(0);
            return;
        }
        Action::PageUp => {
            log.follow = false;
            log.top = retreat(log, top, page.max(2) - 1, width);
        }
        Action::PageDown => {
            log.top = advance(log, top, page.max(2) - 1, width).min(lowest);
        }
        Action::Up => {
            log.follow = false;
            log.top = top;
            // within an entry taller than the screen, rows move before the cursor does
            if top.entry == log.cursor && top.row > 0 {
                log.top = retreat(log, top, 1, width);
            } else {
                log.cursor = log.before(log.cursor).unwrap_or(log.cursor);
                let head = Anchor {
                    entry: log.cursor,
                    row: 0,
                };
                log.top = log.top.min(head);
            }
            return;
        }
        Action::Down => return down(log, (top, lowest), width, page),
        _ => return,
    }
    // after a page the cursor stands on what is seen
    let seen = visible(log, width, page);
    if let (Some((first, _)), Some((last, _))) = (seen.first(), seen.last()) {
        log.cursor = log.cursor.clamp(*first, *last);
        if action == Action::PageUp {
            log.cursor = *first;
        }
        if action == Action::PageDown && log.top == lowest {
            log.cursor = *last;
        }
    }
}

fn down(log: &mut LogState, (top, lowest): (Anchor, Anchor), width: usize, page: usize) {
    log.top = top;
    let last = visible(log, width, page).last().copied();
    let high = height(log, log.cursor, width);
    let cut = last
        .is_some_and(|(entry, row)| entry < log.cursor || (entry == log.cursor && row + 1 < high));
    if cut {
        log.top = advance(log, top, 1, width).min(lowest.max(top));
        return;
    }
    log.cursor = log.after(log.cursor).unwrap_or(log.cursor);
    let head = Anchor {
        entry: log.cursor,
        row: 0,
    };
    let high = height(log, log.cursor, width).min(page);
    let tail = advance(log, head, high.saturating_sub(1), width);
    let needed = retreat(log, tail, page.saturating_sub(1), width);
    log.top = log.top.max(needed);
}

/// Brings the line that was gone to in sight: unfolded, and its match within the columns.
pub fn reveal(log: &mut LogState, inner_width: usize, page: usize) {
    let (Some(line), at) = (log.look.hit, log.cursor) else {
        return;
    };
    let width = text_width(&log.entries, inner_width);
    if row_of(log, at, line, width).is_none() && !log.toggled.remove(&at) {
        log.toggled.insert(at);
    }
    let Some((row, column)) = row_of(log, at, line, width) else {
        return;
    };
    let here = Anchor { entry: at, row };
    log.top = retreat(log, here, page / 3, width);
    if let Some((from, until)) = column {
        if until <= width {
            log.skip = 0;
        } else if from < log.skip || until + 2 > log.skip + width {
            log.skip = from.saturating_sub(width / 2);
        }
    }
}

/// A row, and the columns of a match in a line that is not wrapped.
type Found = (usize, Option<(usize, usize)>);

/// The row in which a line's match stands; `None`: it is folded away.
fn row_of(log: &LogState, at: usize, line: usize, width: usize) -> Option<Found> {
    let entry = log.entries.get(at)?;
    let search = log.look.search.as_ref()?;
    let all = rows(entry, at, log.view(width), log.unfolded(at));
    let own =
        |row: &&super::rows::Row<'_>| row.line == line && !matches!(row.what, What::Folded(_));
    let first = all.iter().find(own)?;
    let place = |piece: usize| {
        let found = all.iter().position(|row| own(&row) && row.piece == piece);
        found.or_else(|| all.iter().position(|row| own(&row)))
    };
    if let What::Line(sort, raw) = &first.what {
        let (from, until) = if raw.len() >= LONG {
            let long = log.long.get(at, line, raw);
            let range = search.ranges(long.text()).next().unwrap_or(0..0);
            (long.column_of(range.start), long.column_of(range.end))
        } else {
            let plain = ansi::plain(raw);
            let shown = text::clean(&plain);
            let range = search.ranges(&shown).next().unwrap_or(0..0);
            let column = |byte| shown.get(..byte).map_or(0, text::width);
            (column(range.start), column(range.end))
        };
        if log.wrap || *sort == Sort::Prose {
            return Some((place(from / line_width(*sort, width))?, None));
        }
        Some((place(0)?, Some((from, until))))
    } else {
        let hit = all.iter().filter(own).find(
            |row| matches!(&row.what, What::Prose(text) if search.ranges(text).next().is_some()),
        );
        Some((place(hit.map_or(0, |row| row.piece))?, None))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::agent::trace::{Entry, Kind, Progress};

    fn log(lines: usize) -> LogState {
        let mut log = LogState::default();
        log.take(
            (0..lines)
                .map(|at| {
                    let text = format!("line {at}");
                    (at, Entry::new(None, Kind::Raw { text }))
                })
                .collect(),
        );
        log
    }

    #[test]
    fn scrolling_up_stops_following_and_the_same_line_stays_while_more_come() {
        let mut log = log(100);
        assert_eq!(visible(&log, 40, 10).first(), Some(&(90, 0)));
        for _ in 0..3 {
            scroll(&mut log, Action::Up, 43, 10);
        }
        assert!(!log.follow);
        let before = visible(&log, 40, 10);
        let more = (100..5000)
            .map(|at| {
                let text = format!("line {at}");
                (at, Entry::new(None, Kind::Raw { text }))
            })
            .collect();
        log.take(more);
        assert_eq!(visible(&log, 40, 10), before);
        scroll(&mut log, Action::Bottom, 43, 10);
        assert_eq!(visible(&log, 40, 10).last(), Some(&(4999, 0)));
    }

    #[test]
    fn pages_reach_both_ends_and_no_further() {
        let mut log = log(25);
        for _ in 0..9 {
            scroll(&mut log, Action::PageUp, 43, 10);
        }
        assert_eq!(visible(&log, 40, 10).first(), Some(&(0, 0)));
        for _ in 0..9 {
            scroll(&mut log, Action::PageDown, 43, 10);
        }
        assert_eq!(visible(&log, 40, 10).last(), Some(&(24, 0)));
    }

    #[test]
    fn every_entry_of_a_tall_log_is_reached_line_by_line() {
        let mut log = LogState::default();
        let output = (0..30)
            .map(|n| n.to_string())
            .collect::<Vec<_>>()
            .join("\n");
        let entry = Entry::new(
            None,
            Kind::Command {
                command: "x".into(),
                output,
                exit: Some(0),
                progress: Progress::Done,
                duration_s: None,
            },
        );
        log.take(vec![(0, entry.clone()), (1, entry)]);
        log.unfold_all = true;
        scroll(&mut log, Action::Top, 43, 10);
        let mut seen = std::collections::BTreeSet::new();
        for _ in 0..80 {
            seen.extend(visible(&log, 40, 10));
            scroll(&mut log, Action::Down, 43, 10);
        }
        assert_eq!(seen.len(), 62);
        assert_eq!(log.cursor, 1);
    }
}
