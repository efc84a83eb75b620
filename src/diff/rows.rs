//! Rows: what a screen shows of a [`FileDiff`], unified or side by side, with folds.
//!
//! Rows are made when they are asked for; kept are segments, a few for each change. Row numbers
//! change when a fold opens: keep a line number as the anchor ([`Rows::row_of`]).

use super::lines::{FileDiff, Span};
use super::pairs::Pair;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Layout {
    Unified,
    SideBySide,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    Old,
    New,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RowKind {
    Context,
    /// Unified: a removed line; its partner is in `new` of [`Row::pair`].
    Removed,
    Added,
    /// Side by side: both sides of a change, or one of them.
    Changed,
}

/// One row. Texts are cut from the bytes of either side with [`Span::text`]; of a patch, both
/// sides are in the patch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Row {
    Line {
        kind: RowKind,
        old: Option<Span>,
        new: Option<Span>,
        /// Unified: the line that this one became, or came from, for a word diff.
        pair: Option<Span>,
    },
    /// Unchanged lines that are not shown; `gap` names the fold.
    Fold { hidden: u32, gap: usize },
    /// A patch's hunk begins: index into [`FileDiff::breaks`].
    Hunk { index: usize },
}

/// Which end of a fold opens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Open {
    /// More lines at the top of the fold.
    Top(u32),
    /// More lines at its bottom.
    Bottom(u32),
    All,
}

#[derive(Clone, Copy, Debug)]
enum Part {
    Equal,
    Fold { gap: usize },
    Change { index: usize },
    Break { index: usize },
}

#[derive(Clone, Copy, Debug)]
struct Segment {
    part: Part,
    /// First row and number of rows.
    row: usize,
    rows: usize,
    /// First line of either side.
    old: u32,
    new: u32,
    /// Lines on either side of an equal part or a fold.
    lines: u32,
}

#[derive(Clone, Debug)]
pub struct Rows {
    layout: Layout,
    context: u32,
    /// Lines opened at the top and the bottom of each gap between changes.
    opened: Vec<(u32, u32)>,
    segments: Vec<Segment>,
    hunks: Vec<usize>,
    len: usize,
}

impl Rows {
    /// `context`: unchanged lines around changes; `u32::MAX` folds nothing.
    pub fn new(diff: &FileDiff, layout: Layout, context: u32) -> Self {
        let mut rows = Self {
            layout,
            context,
            opened: vec![(0, 0); diff.changes.len() + 1],
            segments: Vec::new(),
            hunks: Vec::new(),
            len: 0,
        };
        rows.build(diff);
        rows
    }

    pub fn len(&self) -> usize {
        self.len
    }

    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    pub fn layout(&self) -> Layout {
        self.layout
    }

    pub fn context(&self) -> u32 {
        self.context
    }

    /// First rows of groups of changes with nothing folded between them.
    pub fn hunks(&self) -> &[usize] {
        &self.hunks
    }

    pub fn set_layout(&mut self, diff: &FileDiff, layout: Layout) {
        self.layout = layout;
        self.build(diff);
    }

    /// Closes what was opened by hand.
    pub fn set_context(&mut self, diff: &FileDiff, context: u32) {
        self.context = context;
        self.opened.fill((0, 0));
        self.build(diff);
    }

    /// Opens a fold; says whether `gap` is one that has something to open.
    pub fn open(&mut self, diff: &FileDiff, gap: usize, how: Open) -> bool {
        let Some(opened) = self.opened.get_mut(gap) else {
            return false;
        };
        match how {
            Open::Top(lines) => opened.0 = opened.0.saturating_add(lines),
            Open::Bottom(lines) => opened.1 = opened.1.saturating_add(lines),
            Open::All => *opened = (u32::MAX, u32::MAX),
        }
        let before = self.len;
        self.build(diff);
        self.len != before
    }

    /// The row of a 1-based line; of a folded line, its fold.
    pub fn row_of(&self, diff: &FileDiff, side: Side, line: u32) -> Option<usize> {
        let index = line_index(diff, side, line)?;
        let at = self.segments.partition_point(|s| start(s, side) <= index);
        for segment in self.segments[..at].iter().rev() {
            match segment.part {
                Part::Break { .. } => {}
                Part::Fold { .. } => return Some(segment.row),
                Part::Equal => {
                    return Some(segment.row + (index - start(segment, side)) as usize);
                }
                Part::Change { index: change } => {
                    let found = (0..segment.rows).find(|&row| {
                        let (old, new, _) = self.change_row(diff, change, row);
                        (if side == Side::Old { old } else { new }) == Some(index)
                    });
                    if let Some(row) = found {
                        return Some(segment.row + row);
                    }
                    // a change without lines of this side begins where the line before it ends
                }
            }
        }
        None
    }

    /// The row of a line, with the fold opened around it (a traceback's frame jumps here).
    pub fn reveal(&mut self, diff: &FileDiff, side: Side, line: u32) -> Option<usize> {
        let row = self.row_of(diff, side, line)?;
        let index = line_index(diff, side, line)?;
        let segment = self.segment_at(row)?;
        let Part::Fold { gap } = segment.part else {
            return Some(row);
        };
        let into = index - start(segment, side);
        let (top, bottom) = (into + 4, segment.lines - into + 3);
        // the nearer end, so that what opens is joined to what is shown
        let how = if top <= bottom {
            Open::Top(top)
        } else {
            Open::Bottom(bottom)
        };
        self.open(diff, gap, how);
        self.row_of(diff, side, line)
    }

    /// A row. `None` beyond the last.
    pub fn row(&self, diff: &FileDiff, row: usize) -> Option<Row> {
        let segment = self.segment_at(row)?;
        let offset = row - segment.row;
        Some(match segment.part {
            Part::Equal => Row::Line {
                kind: RowKind::Context,
                old: diff.old.get(segment.old as usize + offset).copied(),
                new: diff.new.get(segment.new as usize + offset).copied(),
                pair: None,
            },
            Part::Fold { gap } => Row::Fold {
                hidden: segment.lines,
                gap,
            },
            Part::Break { index } => Row::Hunk { index },
            Part::Change { index } => {
                let (old, new, pair) = self.change_row(diff, index, offset);
                let old_span = |at: u32| diff.old.get(at as usize).copied();
                let new_span = |at: u32| diff.new.get(at as usize).copied();
                let kind = match (self.layout, old) {
                    (Layout::SideBySide, _) => RowKind::Changed,
                    (Layout::Unified, Some(_)) => RowKind::Removed,
                    (Layout::Unified, None) => RowKind::Added,
                };
                Row::Line {
                    kind,
                    old: old.and_then(old_span),
                    new: new.and_then(new_span),
                    pair: match kind {
                        RowKind::Removed => pair.and_then(new_span),
                        RowKind::Added => pair.and_then(old_span),
                        _ => None,
                    },
                }
            }
        })
    }

    fn segment_at(&self, row: usize) -> Option<&Segment> {
        let at = self.segments.partition_point(|s| s.row <= row);
        let segment = self.segments.get(at.checked_sub(1)?)?;
        (row < segment.row + segment.rows).then_some(segment)
    }

    /// Old line, new line, and the partner in the unified layout, of a row of a change.
    fn change_row(
        &self,
        diff: &FileDiff,
        change: usize,
        row: usize,
    ) -> (Option<u32>, Option<u32>, Option<u32>) {
        let range = &diff.changes[change];
        if self.layout == Layout::SideBySide {
            let (old, new) = diff.pair(change, row);
            return (old, new, None);
        }
        let removed = range.old.len();
        let partner = |of: u32, mine: fn(&Pair) -> Option<u32>, other: fn(&Pair) -> Option<u32>| {
            (0..diff.pair_count(change))
                .map(|row| diff.pair(change, row))
                .find(|p| mine(p) == Some(of))
                .and_then(|p| other(&p))
        };
        if row < removed {
            let old = range.old.start + row as u32;
            (Some(old), None, partner(old, |p| p.0, |p| p.1))
        } else {
            let new = range.new.start + (row - removed) as u32;
            (None, Some(new), partner(new, |p| p.1, |p| p.0))
        }
    }

    fn build(&mut self, diff: &FileDiff) {
        self.segments.clear();
        self.hunks.clear();
        self.len = 0;
        let mut breaks = diff.breaks.iter().enumerate().peekable();
        // whether changes from here on begin a new group
        let mut apart = true;
        let (mut old, mut new) = (0, 0);
        for gap in 0..=diff.changes.len() {
            let next = diff.changes.get(gap);
            let end = next.map_or(diff.old.len() as u32, |c| c.old.start);
            while let Some((index, found)) = breaks.next_if(|(_, b)| {
                b.old < end || b.old == end && next.is_some_and(|c| b.new <= c.new.start)
            }) {
                self.push(Part::Equal, found.old - old, old, new);
                (old, new) = (found.old, found.new);
                self.push_rows(Part::Break { index }, 1, 0, old, new);
                apart = true;
            }
            apart |= self.gap(diff, gap, old, new, end - old);
            let Some(change) = next else { break };
            if apart {
                self.hunks.push(self.len);
                apart = false;
            }
            let rows = match self.layout {
                Layout::Unified => change.old.len() + change.new.len(),
                Layout::SideBySide => diff.pair_count(gap),
            };
            self.push_rows(
                Part::Change { index: gap },
                rows,
                0,
                change.old.start,
                change.new.start,
            );
            (old, new) = (change.old.end, change.new.end);
        }
    }

    /// Unchanged lines between two changes; says whether some of them are folded.
    fn gap(&mut self, diff: &FileDiff, gap: usize, old: u32, new: u32, lines: u32) -> bool {
        let (first, last) = (gap == 0, gap == diff.changes.len());
        let opened = self.opened[gap];
        let context = |edge: bool| if edge { 0 } else { self.context };
        let top = context(first).saturating_add(opened.0).min(lines);
        let bottom = context(last).saturating_add(opened.1).min(lines);
        // a patch has no more lines than it shows; a fold of one line is longer than the line
        if !diff.breaks.is_empty()
            || self.context == u32::MAX
            || top.saturating_add(bottom).saturating_add(1) >= lines
        {
            self.push(Part::Equal, lines, old, new);
            return false;
        }
        let hidden = lines - top - bottom;
        self.push(Part::Equal, top, old, new);
        self.push_rows(Part::Fold { gap }, 1, hidden, old + top, new + top);
        self.push(Part::Equal, bottom, old + top + hidden, new + top + hidden);
        true
    }

    fn push(&mut self, part: Part, lines: u32, old: u32, new: u32) {
        self.push_rows(part, lines as usize, lines, old, new);
    }

    fn push_rows(&mut self, part: Part, rows: usize, lines: u32, old: u32, new: u32) {
        if rows == 0 {
            return;
        }
        self.segments.push(Segment {
            part,
            row: self.len,
            rows,
            old,
            new,
            lines,
        });
        self.len += rows;
    }
}

fn start(segment: &Segment, side: Side) -> u32 {
    match side {
        Side::Old => segment.old,
        Side::New => segment.new,
    }
}

fn line_index(diff: &FileDiff, side: Side, line: u32) -> Option<u32> {
    let spans = match side {
        Side::Old => &diff.old,
        Side::New => &diff.new,
    };
    // numbers rise, and are dense where the whole text is known
    spans
        .binary_search_by_key(&line, |s| s.no)
        .ok()
        .map(|at| at as u32)
}
