//! A key: how a keymap writes it, how the terminal sends it.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

/// A key without the noise: a shifted letter is the letter itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Key {
    pub code: KeyCode,
    pub ctrl: bool,
    pub alt: bool,
}

/// The keys that have a name, as a keymap writes it.
const NAMED: [(&str, KeyCode); 16] = [
    ("enter", KeyCode::Enter),
    ("esc", KeyCode::Esc),
    ("tab", KeyCode::Tab),
    ("backtab", KeyCode::BackTab),
    ("space", KeyCode::Char(' ')),
    ("up", KeyCode::Up),
    ("down", KeyCode::Down),
    ("left", KeyCode::Left),
    ("right", KeyCode::Right),
    ("home", KeyCode::Home),
    ("end", KeyCode::End),
    ("pageup", KeyCode::PageUp),
    ("pagedown", KeyCode::PageDown),
    ("backspace", KeyCode::Backspace),
    ("insert", KeyCode::Insert),
    ("delete", KeyCode::Delete),
];

impl Key {
    pub fn plain(code: KeyCode) -> Self {
        Self {
            code,
            ctrl: false,
            alt: false,
        }
    }

    /// As a keymap writes it: `g`, `G`, `tab`, `f5`, `ctrl-z`, `alt-x`.
    pub fn parse(name: &str) -> Option<Self> {
        if let Some(rest) = name.strip_prefix("ctrl-").filter(|r| !r.is_empty()) {
            let key = Self::parse(rest)?;
            return (!key.ctrl).then_some(Self { ctrl: true, ..key });
        }
        if let Some(rest) = name.strip_prefix("alt-").filter(|r| !r.is_empty()) {
            let key = Self::parse(rest)?;
            return (!key.alt).then_some(Self { alt: true, ..key });
        }
        let named = NAMED
            .iter()
            .find(|(n, _)| *n == name)
            .map(|(_, code)| *code);
        let number = || name.strip_prefix('f')?.parse().ok();
        let mut chars = name.chars();
        let code = match (named, number(), chars.next(), chars.next()) {
            (Some(code), ..) => code,
            (None, Some(number @ 1..=12), ..) => KeyCode::F(number),
            (None, _, Some(c), None) if !c.is_control() && c != ' ' => KeyCode::Char(c),
            _ => return None,
        };
        Some(Self::plain(code))
    }

    /// Why no terminal sends this key, and what to write instead.
    pub fn unsent(self) -> Option<String> {
        let KeyCode::Char(c) = self.code else {
            return None;
        };
        if !self.ctrl {
            return None;
        }
        let same = match c {
            'i' => "tab",
            'm' => "enter",
            '[' => "esc",
            c if c.is_uppercase() => return Some(format!("write `ctrl-{}`", c.to_lowercase())),
            _ => return None,
        };
        Some(format!("terminals send it as `{same}`: write that"))
    }
}

impl std::fmt::Display for Key {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if self.ctrl {
            f.write_str("ctrl-")?;
        }
        if self.alt {
            f.write_str("alt-")?;
        }
        match NAMED.iter().find(|(_, code)| *code == self.code) {
            Some((name, _)) => f.write_str(name),
            None => match self.code {
                KeyCode::Char(c) => write!(f, "{c}"),
                KeyCode::F(n) => write!(f, "f{n}"),
                other => write!(f, "{other:?}"),
            },
        }
    }
}

impl From<KeyEvent> for Key {
    fn from(event: KeyEvent) -> Self {
        let code = match event.code {
            // some terminals send shift-tab as tab with shift
            KeyCode::Tab if event.modifiers.contains(KeyModifiers::SHIFT) => KeyCode::BackTab,
            other => other,
        };
        Self {
            code,
            ctrl: event.modifiers.contains(KeyModifiers::CONTROL),
            alt: event.modifiers.contains(KeyModifiers::ALT),
        }
    }
}

/// Keys one after the other, with blanks between: `g`, `g g`. `None`: a part is no key.
pub fn chord(text: &str) -> Option<Vec<Key>> {
    let keys: Option<Vec<Key>> = text.split_whitespace().map(Key::parse).collect();
    keys.filter(|keys| !keys.is_empty())
}

/// A chord as a keymap writes it.
pub fn written(chord: &[Key]) -> String {
    let keys: Vec<String> = chord.iter().map(Key::to_string).collect();
    keys.join(" ")
}
