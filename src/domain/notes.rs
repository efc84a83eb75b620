//! What reviewers write beside lines: `notes.json` in a run's folder, beside `review.json`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::submission::Source;

/// A note on a line of one of the trees that were compared.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LineNote {
    /// Whose tree the line is of.
    pub tree: Source,
    /// In the work tree.
    pub path: String,
    /// From 1.
    pub line: u32,
    /// The line's own text, shortened; untrusted.
    pub quoted: String,
    pub text: String,
    pub by: String,
    /// Seconds since the epoch.
    pub at_s: f64,
}

impl LineNote {
    /// Whether both stand on the same line: there is one note on a line.
    pub fn beside(&self, other: &Self) -> bool {
        self.tree == other.tree && self.path == other.path && self.line == other.line
    }
}

/// All notes of a run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Notes {
    pub schema: u32,
    /// By path, then by line.
    pub notes: Vec<LineNote>,
}

impl Notes {
    /// Puts a note where it belongs, in place of the one on its line; an empty one takes that
    /// away.
    pub fn put(&mut self, note: LineNote) {
        self.notes.retain(|other| !other.beside(&note));
        if !note.text.trim().is_empty() {
            self.notes.push(note);
        }
        self.notes
            .sort_by(|a, b| (&a.path, a.line).cmp(&(&b.path, b.line)));
    }
}
