//! The panes and the layouts.

use serde::{Deserialize, Serialize};

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum PaneKind {
    Tasks,
    Log,
    Diff,
    Cases,
    Gpu,
    Acceptance,
    Claims,
    Cell,
}

impl PaneKind {
    /// In the order of their number keys.
    pub const ALL: [PaneKind; 8] = [
        PaneKind::Tasks,
        PaneKind::Log,
        PaneKind::Diff,
        PaneKind::Cases,
        PaneKind::Gpu,
        PaneKind::Acceptance,
        PaneKind::Claims,
        PaneKind::Cell,
    ];

    /// What an author looks at: the acceptance matrix and what stands behind it.
    pub fn author(self) -> bool {
        matches!(self, Self::Acceptance | Self::Claims | Self::Cell)
    }

    pub fn name(self) -> &'static str {
        match self {
            PaneKind::Tasks => "tasks",
            PaneKind::Log => "log",
            PaneKind::Diff => "diff",
            PaneKind::Cases => "cases",
            PaneKind::Gpu => "gpu",
            PaneKind::Acceptance => "acceptance",
            PaneKind::Claims => "claims",
            PaneKind::Cell => "cell",
        }
    }

    pub fn number(self) -> usize {
        self as usize + 1
    }

    #[must_use]
    pub fn step(self, forward: bool) -> PaneKind {
        let all = Self::ALL.len();
        let at = self as usize + if forward { 1 } else { all - 1 };
        Self::ALL[at % all]
    }
}

/// Who looks, and so what stands where.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
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

    /// The strip under two panes: what matters most to this layout.
    pub(super) fn strip(self) -> PaneKind {
        match self {
            LayoutKind::Author | LayoutKind::Reviewer => PaneKind::Cases,
            LayoutKind::Operator => PaneKind::Gpu,
        }
    }

    /// What has the focus when the layout is chosen.
    pub fn home(self) -> PaneKind {
        match self {
            LayoutKind::Author => PaneKind::Acceptance,
            LayoutKind::Reviewer => PaneKind::Diff,
            LayoutKind::Operator => PaneKind::Log,
        }
    }
}
