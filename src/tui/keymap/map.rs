//! Which keys mean which action, in each pane.

use crate::tui::action::{Action, Entry, Scope, TABLE, entry};
use crate::tui::layout::PaneKind;

use super::key::{Key, chord, written};

/// What was typed so far means.
#[derive(Clone, Copy)]
pub enum Found {
    Entry(&'static Entry),
    /// The beginning of a chord.
    More,
    Nothing,
}

/// The chords of every entry of the table, in its order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Keymap {
    chords: Vec<Vec<Vec<Key>>>,
}

impl Default for Keymap {
    /// The table's own keys.
    fn default() -> Self {
        let of = |entry: &Entry| entry.keys.iter().filter_map(|k| chord(k)).collect();
        Self {
            chords: TABLE.iter().map(of).collect(),
        }
    }
}

fn index(name: &str) -> Option<usize> {
    TABLE.iter().position(|entry| entry.name == name)
}

impl Keymap {
    pub(super) fn set(&mut self, at: usize, chords: Vec<Vec<Key>>) {
        if let Some(own) = self.chords.get_mut(at) {
            *own = chords;
        }
    }

    /// All entries with their chords.
    pub fn all(&self) -> impl Iterator<Item = (&'static Entry, &[Vec<Key>])> {
        TABLE.iter().zip(self.chords.iter().map(Vec::as_slice))
    }

    /// What keys mean while a pane has the focus: the pane's own table first.
    pub fn find(&self, typed: &[Key], focus: PaneKind) -> Found {
        let order = [
            Scope::In(focus),
            Scope::Author,
            Scope::Elsewhere,
            Scope::Everywhere,
        ];
        let mut more = false;
        for scope in order.into_iter().filter(|scope| scope.reaches(focus)) {
            for (entry, chords) in self.all().filter(|(entry, _)| entry.scope == scope) {
                for chord in chords.iter().filter(|chord| chord.starts_with(typed)) {
                    if chord.len() == typed.len() {
                        return Found::Entry(entry);
                    }
                    more = true;
                }
            }
        }
        if more { Found::More } else { Found::Nothing }
    }

    /// The movement that a single key means in a list that lies over the panes.
    pub fn movement(&self, key: Key) -> Option<Action> {
        // what moves in every pane; the arrows do so whatever the user's keymap says
        let standard = || Self::default().find(&[key], PaneKind::Gpu);
        match self.find(&[key], PaneKind::Gpu) {
            Found::Entry(entry) => Some(entry.action),
            Found::More | Found::Nothing => match standard() {
                Found::Entry(entry) if !matches!(key.code, crossterm::event::KeyCode::Char(_)) => {
                    Some(entry.action)
                }
                _ => None,
            },
        }
    }

    /// The keys of an entry, as written.
    pub fn keys(&self, entry: &Entry) -> Vec<String> {
        let own = index(entry.name).and_then(|at| self.chords.get(at));
        own.into_iter().flatten().map(|c| written(c)).collect()
    }

    /// The key that hints show of an entry; `None`: the palette alone does it.
    pub fn first(&self, entry: &Entry) -> Option<String> {
        let own = index(entry.name).and_then(|at| self.chords.get(at)?.first());
        own.map(|chord| written(chord))
    }

    /// The key that hints show of an action.
    pub fn of(&self, action: Action) -> String {
        let Some(own) = entry(action) else {
            return String::new();
        };
        self.first(own).unwrap_or_else(|| {
            let palette = entry(Action::Palette).and_then(|palette| self.first(palette));
            format!("{} {}", palette.unwrap_or_default(), own.name)
        })
    }

    /// Words with the keys of actions in them: `{grade}` becomes the key of that action.
    pub fn fill(&self, words: &str) -> String {
        let mut out = String::with_capacity(words.len());
        let mut rest = words;
        while let Some((before, after)) = rest.split_once('{') {
            out.push_str(before);
            let named = after.split_once('}');
            if let Some((at, after)) = named.and_then(|(name, rest)| Some((index(name)?, rest))) {
                let action = TABLE.get(at).map(|entry| entry.action);
                out.push_str(&action.map(|a| self.of(a)).unwrap_or_default());
                rest = after;
            } else {
                out.push('{');
                rest = after;
            }
        }
        out.push_str(rest);
        out
    }
}
