//! What the user may change: `keymap.toml` and `themes/*.toml` in the home, or in `--config`.

mod folder;
mod near;
mod problem;

pub use folder::{Config, themes_in};
pub use near::nearest;
pub use problem::{ConfigFile, Problem};
