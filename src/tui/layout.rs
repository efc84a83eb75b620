//! Size classes and layouts to rectangles.
//!
//! ```text
//! reviewer, full                    operator, full                 two panes (81 to 139)
//! ┌tasks─┐┌diff───────────────┐    ┌tasks──┐┌log────────────┐     ┌tasks─┐┌focused──────┐
//! │      ││                   │    └───────┘└───────────────┘     │      ││             │
//! │      │└───────────────────┘    ┌cases──────┐┌diff───────┐     └──────┘└─────────────┘
//! ├gpu───┤┌cases─────┐┌log────┐    └───────────┘└───────────┘     ┌strip────────────────┐
//! └──────┘└──────────┘└───────┘    ┌gpu─────────────────────┐     └─────────────────────┘
//! ```

use ratatui::layout::Rect;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum PaneKind {
    Tasks,
    Log,
    Diff,
    Cases,
    Gpu,
}

impl PaneKind {
    /// In the order of their number keys.
    pub const ALL: [PaneKind; 5] = [
        PaneKind::Tasks,
        PaneKind::Log,
        PaneKind::Diff,
        PaneKind::Cases,
        PaneKind::Gpu,
    ];

    pub fn name(self) -> &'static str {
        match self {
            PaneKind::Tasks => "tasks",
            PaneKind::Log => "log",
            PaneKind::Diff => "diff",
            PaneKind::Cases => "cases",
            PaneKind::Gpu => "gpu",
        }
    }

    pub fn number(self) -> usize {
        self as usize + 1
    }

    #[must_use]
    pub fn step(self, forward: bool) -> PaneKind {
        let at = self as usize + if forward { 1 } else { 4 };
        Self::ALL[at % 5]
    }
}

/// Who looks, and so what stands where.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum LayoutKind {
    Author,
    #[default]
    Reviewer,
    Operator,
}

impl LayoutKind {
    pub const ALL: [LayoutKind; 3] = [
        LayoutKind::Author,
        LayoutKind::Reviewer,
        LayoutKind::Operator,
    ];

    pub fn name(self) -> &'static str {
        match self {
            LayoutKind::Author => "author",
            LayoutKind::Reviewer => "reviewer",
            LayoutKind::Operator => "operator",
        }
    }

    pub fn key(self) -> &'static str {
        match self {
            LayoutKind::Author => "A",
            LayoutKind::Reviewer => "R",
            LayoutKind::Operator => "O",
        }
    }

    /// The strip under two panes: what matters most to this layout.
    fn strip(self) -> PaneKind {
        match self {
            LayoutKind::Author | LayoutKind::Reviewer => PaneKind::Cases,
            LayoutKind::Operator => PaneKind::Gpu,
        }
    }

    /// What has the focus when the layout is chosen.
    pub fn home(self) -> PaneKind {
        match self {
            LayoutKind::Author => PaneKind::Cases,
            LayoutKind::Reviewer => PaneKind::Diff,
            LayoutKind::Operator => PaneKind::Log,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SizeClass {
    /// Below 40x10: nothing fits.
    TooSmall,
    /// One pane under a bar of tabs.
    Single,
    /// Tasks and one more, and a strip where there is the height.
    Double,
    Full,
}

pub fn size_class(width: u16, height: u16) -> SizeClass {
    if width < 40 || height < 10 {
        SizeClass::TooSmall
    } else if width <= 80 || height < 24 {
        SizeClass::Single
    } else if width < 140 || height < 35 {
        SizeClass::Double
    } else {
        SizeClass::Full
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
}

/// What the layout needs to know of the state.
#[derive(Clone, Copy, Debug)]
pub struct Wish {
    pub layout: LayoutKind,
    pub focus: PaneKind,
    /// The pane shown beside the tasks while the tasks have the focus.
    pub beside: PaneKind,
    pub zoom: bool,
}

/// The plan of a screen; empty below 40x10.
pub fn plan(area: Rect, wish: Wish) -> Plan {
    let class = size_class(area.width, area.height);
    if class == SizeClass::TooSmall {
        return Plan::default();
    }
    let (header, rest) = split_top(area, 1);
    let (body, footer) = split_bottom(rest, 1);
    let mut plan = Plan {
        header,
        footer,
        ..Plan::default()
    };
    if wish.zoom || class == SizeClass::Single {
        // the tabs take the header's place: rows are dear here
        plan.header = Rect::default();
        plan.tabs = Some(header);
        plan.panes.push((wish.focus, body));
        return plan;
    }
    match class {
        SizeClass::Double => double(body, wish, &mut plan.panes),
        _ => full(body, wish.layout, &mut plan.panes),
    }
    plan
}

fn double(body: Rect, wish: Wish, panes: &mut Vec<(PaneKind, Rect)>) {
    let strip = wish.layout.strip();
    let beside = if wish.focus == PaneKind::Tasks || wish.focus == strip {
        wish.beside
    } else {
        wish.focus
    };
    let high = match strip {
        PaneKind::Gpu => 6,
        _ => body.height / 3,
    };
    let with_strip = body.height >= 28 && beside != strip;
    let (top, bottom) = if with_strip {
        split_bottom(body, high)
    } else {
        (body, Rect::default())
    };
    let (left, right) = split_left(top, (body.width * 2 / 5).clamp(36, 50));
    panes.push((PaneKind::Tasks, left));
    // without a strip its pane takes the place beside the tasks
    if !with_strip && wish.focus == strip {
        panes.push((strip, right));
    } else {
        panes.push((beside, right));
    }
    if with_strip {
        panes.push((strip, bottom));
    }
}

fn full(body: Rect, layout: LayoutKind, panes: &mut Vec<(PaneKind, Rect)>) {
    let tasks_width = (body.width * 3 / 10).clamp(48, 64);
    let gpu_height = if body.height >= 50 { 8 } else { 6 };
    if layout == LayoutKind::Operator {
        let (rest, gpu) = split_bottom(body, gpu_height);
        let (top, middle) = split_top(rest, rest.height * 11 / 20);
        let (tasks, log) = split_left(top, tasks_width);
        let (cases, diff) = split_left(middle, middle.width / 2);
        panes.extend([
            (PaneKind::Tasks, tasks),
            (PaneKind::Log, log),
            (PaneKind::Cases, cases),
            (PaneKind::Diff, diff),
            (PaneKind::Gpu, gpu),
        ]);
        return;
    }
    let (left, right) = split_left(body, tasks_width);
    let (tasks, gpu) = split_bottom(left, gpu_height);
    let share = if layout == LayoutKind::Author { 13 } else { 11 };
    let (top, bottom) = split_top(right, right.height * share / 20);
    panes.push((PaneKind::Tasks, tasks));
    if layout == LayoutKind::Author {
        let (diff, log) = split_left(bottom, bottom.width * 11 / 20);
        panes.extend([
            (PaneKind::Cases, top),
            (PaneKind::Diff, diff),
            (PaneKind::Log, log),
        ]);
    } else {
        let (cases, log) = split_left(bottom, bottom.width * 11 / 20);
        panes.extend([
            (PaneKind::Diff, top),
            (PaneKind::Cases, cases),
            (PaneKind::Log, log),
        ]);
    }
    panes.push((PaneKind::Gpu, gpu));
}

/// The first `rows` and what is left below.
pub fn split_top(area: Rect, rows: u16) -> (Rect, Rect) {
    let rows = rows.min(area.height);
    let top = Rect {
        height: rows,
        ..area
    };
    let rest = Rect {
        y: area.y.saturating_add(rows),
        height: area.height - rows,
        ..area
    };
    (top, rest)
}

/// What is left above, and the last `rows`.
pub fn split_bottom(area: Rect, rows: u16) -> (Rect, Rect) {
    split_top(area, area.height.saturating_sub(rows))
}

/// The first `columns` and what is left beside.
pub fn split_left(area: Rect, columns: u16) -> (Rect, Rect) {
    let columns = columns.min(area.width);
    let left = Rect {
        width: columns,
        ..area
    };
    let rest = Rect {
        x: area.x.saturating_add(columns),
        width: area.width - columns,
        ..area
    };
    (left, rest)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wish(layout: LayoutKind, focus: PaneKind) -> Wish {
        Wish {
            layout,
            focus,
            beside: PaneKind::Log,
            zoom: false,
        }
    }

    #[test]
    fn sizes_fall_into_their_classes() {
        for (w, h, class) in [
            (39, 60, SizeClass::TooSmall),
            (200, 9, SizeClass::TooSmall),
            (40, 10, SizeClass::Single),
            (80, 24, SizeClass::Single),
            (81, 24, SizeClass::Double),
            (139, 60, SizeClass::Double),
            (200, 34, SizeClass::Double),
            (140, 35, SizeClass::Full),
        ] {
            assert_eq!(size_class(w, h), class, "{w}x{h}");
        }
    }

    #[test]
    fn panes_cover_the_body_without_overlap_and_the_focus_is_always_seen() {
        for w in 40..220_u16 {
            for h in 10..70_u16 {
                let area = Rect::new(0, 0, w, h);
                for layout in LayoutKind::ALL {
                    for focus in PaneKind::ALL {
                        let plan = plan(area, wish(layout, focus));
                        let cells: u32 = plan.panes.iter().map(|(_, r)| r.area()).sum();
                        assert_eq!(cells, u32::from(w) * u32::from(h - 2), "{w}x{h}");
                        assert!(plan.shows(focus), "{w}x{h} {layout:?} {focus:?}");
                    }
                }
            }
        }
    }

    #[test]
    fn full_shows_all_five() {
        for layout in LayoutKind::ALL {
            let plan = plan(Rect::new(0, 0, 140, 35), wish(layout, PaneKind::Log));
            for pane in PaneKind::ALL {
                assert!(plan.shows(pane), "{layout:?} {pane:?}");
            }
        }
    }
}
