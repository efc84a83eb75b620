//! Keys: how the table writes them, how the terminal sends them, and which action they mean.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use super::action::{Entry, Scope, TABLE};
use super::layout::PaneKind;

/// A key without the noise: a shifted letter is the letter itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Key {
    pub code: KeyCode,
    pub ctrl: bool,
}

impl Key {
    pub fn plain(code: KeyCode) -> Self {
        Self { code, ctrl: false }
    }

    /// As the table writes it: `g`, `G`, `tab`, `ctrl-z`.
    pub fn parse(name: &str) -> Option<Self> {
        if let Some(rest) = name.strip_prefix("ctrl-") {
            let key = Self::parse(rest)?;
            return Some(Self { ctrl: true, ..key });
        }
        let code = match name {
            "enter" => KeyCode::Enter,
            "esc" => KeyCode::Esc,
            "tab" => KeyCode::Tab,
            "backtab" => KeyCode::BackTab,
            "space" => KeyCode::Char(' '),
            "up" => KeyCode::Up,
            "down" => KeyCode::Down,
            "left" => KeyCode::Left,
            "right" => KeyCode::Right,
            "home" => KeyCode::Home,
            "end" => KeyCode::End,
            "pageup" => KeyCode::PageUp,
            "pagedown" => KeyCode::PageDown,
            "backspace" => KeyCode::Backspace,
            one => {
                let mut chars = one.chars();
                let c = chars.next()?;
                if chars.next().is_some() {
                    return None;
                }
                KeyCode::Char(c)
            }
        };
        Some(Self::plain(code))
    }
}

impl From<KeyEvent> for Key {
    fn from(event: KeyEvent) -> Self {
        let ctrl = event.modifiers.contains(KeyModifiers::CONTROL);
        let code = match event.code {
            // some terminals send shift-tab as tab with shift
            KeyCode::Tab if event.modifiers.contains(KeyModifiers::SHIFT) => KeyCode::BackTab,
            other => other,
        };
        Self { code, ctrl }
    }
}

/// What a key means while a pane has the focus: the pane's own table first.
pub fn lookup(key: Key, focus: PaneKind) -> Option<&'static Entry> {
    let means = |entry: &&Entry| entry.keys.iter().any(|k| Key::parse(k) == Some(key));
    let own = Scope::In(focus);
    TABLE
        .iter()
        .filter(|entry| entry.scope == own)
        .find(means)
        .or_else(|| {
            TABLE
                .iter()
                .filter(|entry| entry.scope == Scope::Everywhere)
                .find(means)
        })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashMap;

    #[test]
    fn every_key_of_the_table_can_be_read() {
        for entry in TABLE {
            for key in entry.keys {
                assert!(Key::parse(key).is_some(), "{}: {key}", entry.name);
            }
        }
    }

    #[test]
    fn no_key_means_two_things_and_no_pane_shadows_a_key_that_works_everywhere() {
        for pane in PaneKind::ALL {
            let mut seen: HashMap<Key, &str> = HashMap::new();
            for entry in TABLE.iter().filter(|entry| entry.reaches(pane)) {
                for key in entry.keys.iter().filter_map(|k| Key::parse(k)) {
                    if let Some(other) = seen.insert(key, entry.name) {
                        panic!("{pane:?}: {key:?} means {other} and {}", entry.name);
                    }
                }
            }
        }
    }

    #[test]
    fn every_action_has_a_plain_key_except_job_control() {
        // tmux and SSH eat the rest; esc, tab and enter are plain everywhere
        for entry in TABLE {
            let plain = entry.keys.iter().any(|key| !key.starts_with("ctrl-"));
            let job_control = matches!(entry.name, "redraw" | "suspend");
            assert!(plain || job_control, "{}", entry.name);
        }
    }

    #[test]
    fn keys_that_multiplexers_take_are_not_used() {
        for entry in TABLE {
            for key in entry.keys {
                assert!(
                    ![
                        "ctrl-a", "ctrl-b", "ctrl-h", "ctrl-j", "ctrl-k", "ctrl-i", "ctrl-m",
                        "ctrl-s", "ctrl-q"
                    ]
                    .contains(key),
                    "{}",
                    entry.name
                );
            }
        }
    }
}
