//! Where each pane stands.
//!
//! ```text
//! reviewer, from 140x35             operator, from 100x36            two panes (81 to 99, or low)
//! ┌tasks─┐┌diff───────────────┐    ┌tasks──┐┌log────────────┐     ┌tasks─┐┌focused──────┐
//! │      ││                   │    └───────┘└───────────────┘     │      ││             │
//! │      │└───────────────────┘    ┌cases──────┐┌diff───────┐     └──────┘└─────────────┘
//! ├gpu───┤┌cases─────┐┌log────┐    └───────────┘└───────────┘     ┌strip────────────────┐
//! └──────┘└──────────┘└───────┘    ┌gpu─────────────────────┐     └─────────────────────┘
//!
//! author, from 81                   Below 140 columns the reviewer's log stands under the cases.
//! ┌acceptance─────────────────┐    In the author's layout another pane than these three takes the
//! └───────────────────────────┘    place of claims while it has the focus; in other layouts these
//! ┌claims────┐┌cell───────────┐    three take the place of the layout's own.
//! └──────────┘└───────────────┘
//! ```

use ratatui::layout::Rect;

use super::cut::{split_bottom, split_top};
use super::kinds::{LayoutKind, PaneKind};
use super::split::{Node, Sizes, Splitter, Way};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SizeClass {
    /// Below 40x10: nothing fits.
    TooSmall,
    /// One pane under a bar of tabs.
    Single,
    /// Tasks and one more, and a strip where there is the height.
    Double,
    /// All panes of the layout, the log under the cases.
    Full,
    /// All panes of the layout, the log beside the cases.
    Wide,
}

pub fn size_class(width: u16, height: u16) -> SizeClass {
    if width < 40 || height < 10 {
        SizeClass::TooSmall
    } else if width <= 80 || height < 24 {
        SizeClass::Single
    } else if width >= 140 && height >= 35 {
        SizeClass::Wide
    } else if width >= 100 && height >= 36 {
        SizeClass::Full
    } else {
        SizeClass::Double
    }
}

/// Where everything goes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Plan {
    pub header: Rect,
    /// The bar of tabs; absent where several panes are seen.
    pub tabs: Option<Rect>,
    pub panes: Vec<(PaneKind, Rect)>,
    pub footer: Rect,
}

impl Plan {
    pub fn shows(&self, pane: PaneKind) -> bool {
        self.panes.iter().any(|(kind, _)| *kind == pane)
    }

    /// Where a pane is; nowhere where it is not shown.
    pub fn of(&self, pane: PaneKind) -> Rect {
        let found = self.panes.iter().find(|(kind, _)| *kind == pane);
        found.map(|(_, rect)| *rect).unwrap_or_default()
    }
}

/// What the layout needs to know of the state.
#[derive(Clone, Copy, Debug)]
pub struct Wish {
    pub layout: LayoutKind,
    pub focus: PaneKind,
    /// The pane shown beside the tasks while the tasks have the focus.
    pub beside: PaneKind,
    pub zoom: bool,
    /// Rows that the acceptance matrix can use.
    pub matrix: u16,
    /// Rows that the list of GPUs can use.
    pub gpus: u16,
    pub sizes: Sizes,
}

/// The plan of a screen; empty below 40x10.
pub fn plan(area: Rect, wish: Wish) -> Plan {
    if size_class(area.width, area.height) == SizeClass::TooSmall {
        return Plan::default();
    }
    let (header, body, footer) = rows(area);
    let mut plan = Plan {
        header,
        footer,
        ..Plan::default()
    };
    if let Some(shared) = shared(area, wish) {
        shared.place(body, wish.sizes, &mut plan.panes);
    } else {
        // the tabs take the header's place: rows are dear here
        plan.header = Rect::default();
        plan.tabs = Some(header);
        plan.panes.push((wish.focus, body));
    }
    plan
}

/// Makes the pane with the focus larger or smaller; `false`: nothing can give way.
pub fn resize(area: Rect, wish: Wish, way: Way, sizes: &mut Sizes) -> bool {
    let (_, body, _) = rows(area);
    shared(area, wish).is_some_and(|shared| shared.resize(body, wish.focus, way, sizes))
}

fn rows(area: Rect) -> (Rect, Rect, Rect) {
    let (header, rest) = split_top(area, 1);
    let (body, footer) = split_bottom(rest, 1);
    (header, body, footer)
}

/// How the body is shared out; `None`: one pane has it all.
fn shared(area: Rect, wish: Wish) -> Option<Node> {
    let class = size_class(area.width, area.height);
    if wish.zoom || matches!(class, SizeClass::TooSmall | SizeClass::Single) {
        return None;
    }
    let (_, body, _) = rows(area);
    Some(match (class, wish.layout) {
        (_, LayoutKind::Author) => author(body, wish),
        (SizeClass::Double, _) => double(body, wish),
        (_, LayoutKind::Operator) => operator(body, wish),
        (class, LayoutKind::Reviewer) => reviewer(body, wish, class == SizeClass::Wide),
    })
}

/// The matrix over claims and the cell under its cursor.
fn author(body: Rect, wish: Wish) -> Node {
    // what the matrix does not need is for the cell
    let high = (body.height * 3 / 5).min(wish.matrix.max(body.height / 3));
    let below = if body.height < 26 {
        // one more has the room: what is looked at
        Node::Pane(match wish.focus {
            PaneKind::Acceptance => PaneKind::Cell,
            other => other,
        })
    } else {
        let aside = if wish.focus.author() {
            PaneKind::Claims
        } else {
            wish.focus
        };
        Node::beside(
            Splitter::Below,
            body.width * 2 / 5,
            Node::Pane(aside),
            Node::Pane(PaneKind::Cell),
        )
    };
    Node::above(
        Splitter::Main,
        high,
        Node::Pane(PaneKind::Acceptance),
        below,
    )
}

fn double(body: Rect, wish: Wish) -> Node {
    let strip = wish.layout.strip();
    let beside = if wish.focus == PaneKind::Tasks || wish.focus == strip {
        wish.beside
    } else {
        wish.focus
    };
    let high = match strip {
        PaneKind::Gpu => gpu_height(body, wish.gpus, 6),
        _ => body.height / 3,
    };
    let with_strip = body.height >= 28 && beside != strip;
    // without a strip its pane takes the place beside the tasks
    let right = if !with_strip && wish.focus == strip {
        strip
    } else {
        beside
    };
    let top = Node::beside(
        Splitter::Columns,
        (body.width * 2 / 5).clamp(36, 50),
        Node::Pane(PaneKind::Tasks),
        Node::Pane(right),
    );
    if !with_strip {
        return top;
    }
    let above = body.height.saturating_sub(high);
    Node::above(Splitter::Foot, above, top, Node::Pane(strip))
}

/// An author's pane is seen in the place of the layout's own.
fn main_pane(wish: Wish) -> Node {
    Node::Pane(if wish.focus.author() {
        wish.focus
    } else {
        wish.layout.home()
    })
}

fn tasks_width(body: Rect) -> u16 {
    (body.width * 3 / 10).clamp(44, 64)
}

/// A row a GPU and two for the machine, as long as that leaves two thirds to the others.
fn gpu_height(body: Rect, gpus: u16, least: u16) -> u16 {
    let wanted = gpus.saturating_add(4);
    wanted.min(body.height / 3).max(least)
}

fn gpu_least(body: Rect) -> u16 {
    if body.height >= 50 { 8 } else { 6 }
}

fn operator(body: Rect, wish: Wish) -> Node {
    let strip = gpu_height(body, wish.gpus, gpu_least(body));
    let rest = body.height.saturating_sub(strip);
    let top = Node::beside(
        Splitter::Columns,
        tasks_width(body),
        Node::Pane(PaneKind::Tasks),
        main_pane(wish),
    );
    let middle = Node::beside(
        Splitter::Below,
        body.width / 2,
        Node::Pane(PaneKind::Cases),
        Node::Pane(PaneKind::Diff),
    );
    let above = Node::above(Splitter::Main, rest * 11 / 20, top, middle);
    Node::above(Splitter::Foot, rest, above, Node::Pane(PaneKind::Gpu))
}

fn reviewer(body: Rect, wish: Wish, wide: bool) -> Node {
    let width = tasks_width(body);
    let left = Node::above(
        Splitter::Left,
        body.height
            .saturating_sub(gpu_height(body, wish.gpus, gpu_least(body))),
        Node::Pane(PaneKind::Tasks),
        Node::Pane(PaneKind::Gpu),
    );
    let top = body.height * if wide { 11 } else { 9 } / 20;
    let (cases, log) = (Node::Pane(PaneKind::Cases), Node::Pane(PaneKind::Log));
    let below = if wide {
        let right = body.width.saturating_sub(width);
        Node::beside(Splitter::Below, right * 11 / 20, cases, log)
    } else {
        let rest = body.height.saturating_sub(top);
        Node::above(Splitter::Below, rest * 11 / 20, cases, log)
    };
    let right = Node::above(Splitter::Main, top, main_pane(wish), below);
    Node::beside(Splitter::Columns, width, left, right)
}
