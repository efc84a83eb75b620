//! One line of text being typed: a filter or a search.

use crossterm::event::KeyCode;
use unicode_segmentation::UnicodeSegmentation;

use crate::tui::keymap::Key;

/// Longest filter or search, in bytes: a pasted file is no filter.
const LONGEST: usize = 512;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PromptFor {
    TasksFilter,
    CasesFilter,
    LogSearch,
    LogOnly,
    LogHide,
    LogTime,
    DiffSearch,
    DiffNote,
    GpuFilter,
}

impl PromptFor {
    pub fn label(self) -> &'static str {
        match self {
            PromptFor::TasksFilter => "filter tasks (area: kind: repo: status:)",
            PromptFor::CasesFilter => "filter cases",
            PromptFor::LogSearch => "search log (regex)",
            PromptFor::LogOnly => "only what matches (regex)",
            PromptFor::LogHide => "without what matches (regex)",
            PromptFor::LogTime => "go to 17:30, +10m, -5m, or 41m into the run",
            PromptFor::DiffSearch => "search diff",
            PromptFor::DiffNote => "note on the line",
            PromptFor::GpuFilter => "filter processes",
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Prompt {
    pub what: PromptFor,
    pub text: String,
    /// What was there before, for esc.
    pub before: String,
}

/// What a key did to the prompt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Typed {
    Changed,
    Nothing,
    Accept,
    Abort,
}

impl Prompt {
    pub fn new(what: PromptFor, text: &str) -> Self {
        Self {
            what,
            text: text.to_owned(),
            before: text.to_owned(),
        }
    }

    pub fn key(&mut self, key: Key) -> Typed {
        edit(&mut self.text, key)
    }

    /// Adds pasted text.
    pub fn insert(&mut self, text: &str) {
        insert(&mut self.text, text);
    }
}

/// What a key does to a line of text.
pub fn edit(text: &mut String, key: Key) -> Typed {
    match (key.code, key.ctrl) {
        (KeyCode::Enter, _) => Typed::Accept,
        (KeyCode::Esc, _) | (KeyCode::Char('c'), true) => Typed::Abort,
        (KeyCode::Backspace, false) => {
            let last = text.grapheme_indices(true).next_back();
            let keep = last.map_or(0, |(at, _)| at);
            text.truncate(keep);
            Typed::Changed
        }
        (KeyCode::Char('u'), true) => {
            text.clear();
            Typed::Changed
        }
        (KeyCode::Char('w'), true) => {
            let keep = text.trim_end().rfind(' ').map_or(0, |at| at + 1);
            text.truncate(keep);
            Typed::Changed
        }
        (KeyCode::Char(c), false) if !key.alt => {
            insert(text, c.encode_utf8(&mut [0; 4]));
            Typed::Changed
        }
        _ => Typed::Nothing,
    }
}

/// Adds typed or pasted text to a line: the first line of it.
pub fn insert(line: &mut String, text: &str) {
    let first = text.lines().next().unwrap_or("");
    for c in first.chars().filter(|c| !c.is_control()) {
        if line.len() + c.len_utf8() > LONGEST {
            break;
        }
        line.push(c);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn editing_keeps_graphemes_whole() {
        let mut prompt = Prompt::new(PromptFor::CasesFilter, "ab e\u{301}");
        assert_eq!(prompt.key(Key::plain(KeyCode::Backspace)), Typed::Changed);
        assert_eq!(prompt.text, "ab ");
        prompt.insert("x\u{1b}y\nsecond");
        assert_eq!(prompt.text, "ab xy");
        let ctrl_w = Key {
            ctrl: true,
            ..Key::plain(KeyCode::Char('w'))
        };
        prompt.key(ctrl_w);
        assert_eq!(prompt.text, "ab ");
        prompt.insert(&"z".repeat(5000));
        assert_eq!(prompt.text.len(), LONGEST);
    }
}
