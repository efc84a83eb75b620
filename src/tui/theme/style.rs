//! A theme ready for use: the style of each role.

use ratatui::style::{Modifier, Style};

use crate::tui::caps::Depth;

use super::colour::Shade;
use super::role::Role;

/// The bundled themes, by name.
pub const BUNDLED: [(&str, &str); 6] = [
    ("default", include_str!("../../../themes/default.toml")),
    ("dark", include_str!("../../../themes/dark.toml")),
    ("light", include_str!("../../../themes/light.toml")),
    (
        "high-contrast",
        include_str!("../../../themes/high-contrast.toml"),
    ),
    (
        "colour-blind",
        include_str!("../../../themes/colour-blind.toml"),
    ),
    (
        "monochrome",
        include_str!("../../../themes/monochrome.toml"),
    ),
];

/// How a role looks at every depth.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Look {
    pub fg: Shade,
    pub bg: Shade,
    pub modifiers: Modifier,
    /// Only where there are no colours.
    pub mono: Modifier,
}

impl Look {
    fn style(self, depth: Depth) -> Style {
        let mut style = Style::default();
        if let Some(fg) = self.fg.at(depth) {
            style = style.fg(fg);
        }
        if let Some(bg) = self.bg.at(depth) {
            style = style.bg(bg);
        }
        let mono = match depth {
            Depth::None => self.mono,
            _ => Modifier::empty(),
        };
        style.add_modifier(self.modifiers | mono)
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Theme {
    pub name: String,
    styles: Vec<Style>,
}

impl Theme {
    /// Looks in the order of the roles.
    pub(super) fn new(name: String, looks: &[Look], depth: Depth) -> Self {
        let styles = looks.iter().map(|look| look.style(depth)).collect();
        Self { name, styles }
    }

    pub fn style(&self, role: Role) -> Style {
        self.styles.get(role as usize).copied().unwrap_or_default()
    }
}
