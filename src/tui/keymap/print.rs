//! A keymap as a `keymap.toml` that loads again to the same.

use std::fmt::Write as _;

use crate::tui::action::Scope;

use super::Keymap;

const HEAD: &str = "\
# Keys of the infradev workbench. Only what differs from this need stand in a keymap.toml.
# A value is a key or a list of keys that all do the same; keys with blanks between them are typed
# one after the other (\"g g\"). An empty list takes the key away; the palette still does the action.
# Names: a letter or sign, enter esc tab backtab space up down left right home end pageup pagedown
# backspace insert delete f1 to f12, ctrl-x, alt-x. A shifted letter is the capital.
";

/// All actions with their keys, a table a context.
pub fn print(keymap: &Keymap) -> String {
    let mut out = String::from(HEAD);
    for scope in Scope::all() {
        let mut rows = Vec::new();
        for (entry, _) in keymap.all().filter(|(entry, _)| entry.scope == scope) {
            let keys: Vec<String> = keymap.keys(entry).iter().map(|key| quoted(key)).collect();
            rows.push((
                format!("{} = [{}]", entry.name, keys.join(", ")),
                entry.help,
            ));
        }
        if rows.is_empty() {
            continue;
        }
        let _ = writeln!(out, "\n[{}]", scope.name());
        let wide = rows.iter().map(|(row, _)| row.len()).max().unwrap_or(0);
        for (row, help) in rows {
            let _ = writeln!(out, "{row:wide$}  # {}", keymap.fill(help));
        }
    }
    out
}

/// A TOML string; keys hold no control characters.
fn quoted(key: &str) -> String {
    format!("\"{}\"", key.replace('\\', "\\\\").replace('"', "\\\""))
}
