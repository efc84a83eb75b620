//! `infradev --print-keymap` and `infradev --check-config`.

use std::path::Path;

use crate::cli::exit::{Exit, Failure};
use crate::cli::output;
use crate::tui::caps::Depth;
use crate::tui::config::{Config, themes_in};
use crate::tui::keymap::{self, Keymap};

/// A `keymap.toml` with all default keys.
pub fn print_keymap() -> Exit {
    output::line(keymap::print(&Keymap::default()).trim_end());
    Exit::Yes
}

/// Every error in a folder's keymap and themes; else what is in use of it.
pub fn check(folder: &Path, theme: Option<&str>) -> Result<Exit, Failure> {
    let config = Config::read(folder, Depth::True);
    let mut wrong: Vec<String> = config.problems.iter().map(ToString::to_string).collect();
    if let Some(Err(words)) = theme.map(|name| config.theme(name)) {
        wrong.push(words);
    }
    if !wrong.is_empty() {
        return Err(Failure::input(wrong.join("\n")));
    }
    let standard = Keymap::default();
    let changed = config.keymap.all().zip(standard.all());
    let changed = changed
        .filter(|((_, own), (_, usual))| own != usual)
        .count();
    let keymap = folder.join("keymap.toml");
    let keys = if keymap.exists() {
        format!("{}: {changed} actions have other keys", keymap.display())
    } else {
        format!("{}: not there, the default keys hold", keymap.display())
    };
    output::line(&output::safe(&keys));
    for path in themes_in(folder) {
        output::line(&output::safe(&format!("{}: in order", path.display())));
    }
    let names: Vec<&str> = config.themes.iter().map(|t| t.name.as_str()).collect();
    output::line(&output::safe(&format!("themes: {}", names.join(", "))));
    Ok(Exit::Yes)
}
