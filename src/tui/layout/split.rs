//! A body shared out among panes: splits in splits, each of which the user may move.

use ratatui::layout::Rect;
use serde::{Deserialize, Serialize};

use super::cut::{split_left, split_top};
use super::kinds::PaneKind;

/// Which split of a layout: what the user did to it is kept under this.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Splitter {
    /// Tasks and the rest.
    Columns,
    /// What stands under the tasks.
    Left,
    /// The main pane and those below it.
    Main,
    /// The two below the main pane.
    Below,
    /// A strip at the foot.
    Foot,
}

/// Cells by which splits of a layout are moved from where they usually are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Sizes([i16; 5]);

impl Sizes {
    fn get(self, splitter: Splitter) -> i16 {
        self.0[splitter as usize]
    }

    fn set(&mut self, splitter: Splitter, cells: i16) {
        self.0[splitter as usize] = cells;
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    Narrower,
    Wider,
    Lower,
    Higher,
}

/// Least columns and rows of a pane that is shared out.
const LEAST: (u16, u16) = (20, 3);

pub enum Node {
    Pane(PaneKind),
    Split(Box<Split>),
}

pub struct Split {
    pub splitter: Splitter,
    /// One beside the other; else one above the other.
    pub beside: bool,
    /// Cells of the first part, before the user's share.
    pub first: u16,
    pub parts: (Node, Node),
}

impl Node {
    pub fn beside(splitter: Splitter, first: u16, left: Node, right: Node) -> Self {
        Self::Split(Box::new(Split {
            splitter,
            beside: true,
            first,
            parts: (left, right),
        }))
    }

    pub fn above(splitter: Splitter, first: u16, upper: Node, lower: Node) -> Self {
        Self::Split(Box::new(Split {
            splitter,
            beside: false,
            first,
            parts: (upper, lower),
        }))
    }

    /// Gives every pane its rectangle.
    pub fn place(&self, area: Rect, sizes: Sizes, panes: &mut Vec<(PaneKind, Rect)>) {
        match self {
            Node::Pane(pane) => panes.push((*pane, area)),
            Node::Split(split) => {
                let (first, second) = split.rects(area, sizes);
                split.parts.0.place(first, sizes, panes);
                split.parts.1.place(second, sizes, panes);
            }
        }
    }

    fn holds(&self, pane: PaneKind) -> bool {
        match self {
            Node::Pane(own) => *own == pane,
            Node::Split(split) => split.parts.0.holds(pane) || split.parts.1.holds(pane),
        }
    }

    /// Moves the innermost split that makes a pane larger or smaller that way; tells whether one
    /// moved.
    pub fn resize(&self, area: Rect, pane: PaneKind, way: Way, sizes: &mut Sizes) -> bool {
        let Node::Split(split) = self else {
            return false;
        };
        let (first, second) = split.rects(area, *sizes);
        let in_first = split.parts.0.holds(pane);
        let (part, rect) = if in_first {
            (&split.parts.0, first)
        } else {
            (&split.parts.1, second)
        };
        if part.resize(rect, pane, way, sizes) {
            return true;
        }
        let beside = matches!(way, Way::Narrower | Way::Wider);
        if beside != split.beside || !(in_first || split.parts.1.holds(pane)) {
            return false;
        }
        let grows = matches!(way, Way::Wider | Way::Higher);
        let step = if beside { 4 } else { 1 };
        let step = if grows == in_first { step } else { -step };
        // from where it is, not from where it was asked to be: no dead presses at an end
        let now = split.length(area, *sizes);
        let shift = i32::from(now) - i32::from(split.first) + step;
        let shift = shift.clamp(-1000, 1000) as i16;
        let mut moved = *sizes;
        moved.set(split.splitter, shift);
        let changed = split.length(area, moved) != now;
        if changed {
            *sizes = moved;
        }
        changed
    }
}

impl Split {
    fn rects(&self, area: Rect, sizes: Sizes) -> (Rect, Rect) {
        let first = self.length(area, sizes);
        if self.beside {
            split_left(area, first)
        } else {
            split_top(area, first)
        }
    }

    /// Cells of the first part: what both parts need at least stays theirs where there is room.
    fn length(&self, area: Rect, sizes: Sizes) -> u16 {
        let (whole, least) = if self.beside {
            (area.width, LEAST.0)
        } else {
            (area.height, LEAST.1)
        };
        let shift = sizes.get(self.splitter);
        let usual = self.first.min(whole);
        if shift == 0 {
            return usual;
        }
        let least = least.min(whole / 2);
        let wanted = i32::from(usual) + i32::from(shift);
        wanted.clamp(i32::from(least), i32::from(whole - least)) as u16
    }
}
