//! What the workbench keeps from one start to the next.

use serde::{Deserialize, Serialize};

use super::layout::{LayoutKind, PaneKind, Sizes};
use super::state::App;

/// As `workbench.json` in the home holds it; what it leaves out is as in a new home.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Remembered {
    pub layout: LayoutKind,
    pub focus: Option<PaneKind>,
    /// The pane beside the tasks on a screen for two.
    pub beside: Option<PaneKind>,
    pub zoom: bool,
    /// Only where it was chosen in the workbench.
    pub theme: Option<String>,
    pub mouse: Option<bool>,
    /// By layout: cells by which its splits were moved.
    pub sizes: [Sizes; 3],
}

impl App {
    /// Goes back to how it was left.
    pub fn recall(&mut self, kept: &Remembered) {
        self.layout = kept.layout;
        self.focus = kept.focus.unwrap_or(self.focus);
        self.beside = kept
            .beside
            .filter(|p| *p != PaneKind::Tasks)
            .unwrap_or(self.beside);
        self.zoom = kept.zoom;
        self.sizes = kept.sizes;
        self.theme_chosen = kept.theme.as_ref() == Some(&self.ui.theme.name);
        if let Some(mouse) = kept.mouse {
            self.mouse = mouse;
            self.mouse_chosen = true;
        }
    }

    /// How it is left.
    pub fn remembered(&self) -> Remembered {
        Remembered {
            layout: self.layout,
            focus: Some(self.focus),
            beside: Some(self.beside),
            zoom: self.zoom,
            theme: self.theme_chosen.then(|| self.ui.theme.name.clone()),
            mouse: self.mouse_chosen.then_some(self.mouse),
            sizes: self.sizes,
        }
    }
}
