//! Logs of what is selected: the agent's, the worker's stages, what the suites printed.

use std::collections::HashSet;

use crate::agent::trace::{Entry, Kind};
use crate::domain::run_state::RunState;
use crate::domain::submission::LogFormat;
use crate::domain::{Subject, Suite};
use crate::tui::backend::LogKey;
use crate::tui::msg::LogDelta;
use crate::tui::reading::Figures;

/// One of the logs that the pane can show.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum LogSource {
    Agent(LogKey, LogFormat),
    /// The worker's own words about its stages.
    Stages,
    Output(LogKey),
}

impl LogSource {
    pub fn key(&self) -> Option<&LogKey> {
        match self {
            LogSource::Agent(key, _) | LogSource::Output(key) => Some(key),
            LogSource::Stages => None,
        }
    }

    pub fn format(&self) -> LogFormat {
        match self {
            LogSource::Agent(_, format) => *format,
            _ => LogFormat::Text,
        }
    }

    /// As the title and the hints name it.
    pub fn label(&self) -> String {
        match self {
            LogSource::Agent(_, format) => format!("agent ({})", format_name(*format)),
            LogSource::Stages => "stages".into(),
            LogSource::Output(LogKey::Output {
                subject,
                suite,
                rank,
                ..
            }) => {
                let who = match subject {
                    Subject::Gold => "gold ",
                    Subject::Submission => "",
                };
                let what = match suite {
                    Suite::Official => "official",
                    Suite::Probes => "probes",
                };
                format!("{who}{what} output, rank {rank}")
            }
            LogSource::Output(LogKey::Beside { name, .. }) => format!("agent's {name}"),
            LogSource::Output(_) => "agent".into(),
        }
    }
}

pub fn format_name(format: LogFormat) -> &'static str {
    match format {
        LogFormat::Codex => "codex",
        LogFormat::Claude => "claude",
        LogFormat::Opencode => "opencode",
        LogFormat::Mini => "mini",
        LogFormat::SweAgent => "sweagent",
        LogFormat::Openhands => "openhands",
        LogFormat::Text => "text",
    }
}

/// A place in a log that stays the same while lines come: an entry, and a row of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Anchor {
    pub entry: usize,
    pub row: usize,
}

#[derive(Clone, Debug)]
pub struct LogState {
    /// What can be shown for the selection, in the order of the source key.
    pub sources: Vec<LogSource>,
    /// The agent's log of what is selected, and what else was written, as far as it was found.
    pub agent: Option<(LogKey, LogFormat)>,
    pub outputs: Vec<LogKey>,
    pub current: usize,
    /// The reader chose the source: new ones do not change it.
    pub chosen: bool,
    pub entries: Vec<Entry>,
    /// What the log tells of the session so far.
    pub figures: Option<Figures>,
    /// More is being read now; `again`: the log changed meanwhile.
    pub reading: bool,
    pub again: bool,
    /// The last answer was not all that is there.
    pub behind: bool,
    /// Somebody may still write to what is shown.
    pub grows: bool,
    /// The reader stopped at its bound.
    pub cut: bool,
    pub error: Option<String>,
    /// First row on the screen, unless following.
    pub top: Anchor,
    /// The newest row is kept in sight.
    pub follow: bool,
    /// Entry under the cursor.
    pub cursor: usize,
    pub skip: usize,
    pub unfolded: HashSet<usize>,
    pub search: String,
    /// Entries that match the search, in order.
    pub hits: Vec<usize>,
    /// Lines of the stage log that are in `entries` already.
    pub stages_taken: usize,
}

impl Default for LogState {
    fn default() -> Self {
        Self {
            sources: Vec::new(),
            agent: None,
            outputs: Vec::new(),
            current: 0,
            chosen: false,
            entries: Vec::new(),
            figures: None,
            reading: false,
            again: false,
            behind: false,
            grows: false,
            cut: false,
            error: None,
            top: Anchor::default(),
            follow: true,
            cursor: 0,
            skip: 0,
            unfolded: HashSet::new(),
            search: String::new(),
            hits: Vec::new(),
            stages_taken: 0,
        }
    }
}

impl LogState {
    pub fn source(&self) -> Option<&LogSource> {
        self.sources.get(self.current)
    }

    /// Forgets what is shown, before another source comes.
    pub fn reset(&mut self, grows: bool) {
        self.entries.clear();
        self.figures = None;
        self.reading = false;
        self.again = false;
        self.behind = false;
        self.grows = grows;
        self.cut = false;
        self.error = None;
        self.top = Anchor::default();
        self.cursor = 0;
        self.skip = 0;
        self.unfolded.clear();
        self.hits.clear();
        self.stages_taken = 0;
        // a recorded session is read from its beginning; what grows is followed
        self.follow = grows || !matches!(self.source(), Some(LogSource::Agent(..)));
    }

    /// Takes what was read; tells whether anything that is seen changed.
    pub fn take_delta(&mut self, delta: LogDelta) -> bool {
        let mut changed = self.cut != delta.cut || self.behind != delta.more;
        self.behind = delta.more;
        self.cut = delta.cut;
        if delta.figures.is_some() && self.figures != delta.figures {
            self.figures = delta.figures;
            changed = true;
        }
        if delta.replaced {
            let mut entries: Vec<Entry> = Vec::with_capacity(delta.len);
            for (at, entry) in delta.entries {
                match entries.get_mut(at) {
                    // what was begun has ended further on
                    Some(place) => *place = entry,
                    None => entries.push(entry),
                }
            }
            if entries == self.entries {
                return changed;
            }
            // the reader's place stays where it was, as far as there is one
            self.entries = entries;
            let search = std::mem::take(&mut self.search);
            self.set_search(search);
            let last = self.entries.len().saturating_sub(1);
            self.cursor = if self.follow {
                last
            } else {
                self.cursor.min(last)
            };
            return true;
        }
        changed |= !delta.entries.is_empty() || self.entries.len() > delta.len;
        self.take(delta.entries);
        if self.entries.len() > delta.len {
            // half a line was shown, and its rest made no entry
            self.entries.truncate(delta.len);
            self.hits.retain(|at| *at < delta.len);
            self.cursor = self.cursor.min(delta.len.saturating_sub(1));
        }
        changed
    }

    /// Puts entries in their places and keeps the search's hits.
    pub fn take(&mut self, changes: Vec<(usize, Entry)>) {
        for (at, entry) in changes {
            let hit = self.matches(&entry);
            if let Some(place) = self.entries.get_mut(at) {
                *place = entry;
                match (self.hits.binary_search(&at), hit) {
                    (Err(to), true) => self.hits.insert(to, at),
                    (Ok(from), false) => {
                        self.hits.remove(from);
                    }
                    _ => {}
                }
            } else {
                if hit {
                    self.hits.push(self.entries.len());
                }
                self.entries.push(entry);
            }
        }
        if self.follow {
            self.cursor = self.entries.len().saturating_sub(1);
        }
    }

    /// Adds what the worker said since the last time.
    pub fn take_stages(&mut self, state: &RunState) {
        if state.log.len() < self.stages_taken {
            self.reset(self.grows);
        }
        let new: Vec<(usize, Entry)> = state
            .log
            .iter()
            .enumerate()
            .skip(self.stages_taken)
            .map(|(at, line)| {
                let kind = Kind::Notice {
                    level: line.level,
                    text: line.text.clone(),
                };
                (at, Entry::new(Some(line.at_s), kind))
            })
            .collect();
        self.stages_taken = state.log.len();
        self.take(new);
    }

    pub fn matches(&self, entry: &Entry) -> bool {
        !self.search.is_empty() && contains(entry, &self.search.to_lowercase())
    }

    pub fn set_search(&mut self, search: String) {
        self.search = search;
        let needle = self.search.to_lowercase();
        self.hits = if needle.is_empty() {
            Vec::new()
        } else {
            (0..self.entries.len())
                .filter(|at| self.entries.get(*at).is_some_and(|e| contains(e, &needle)))
                .collect()
        };
    }

    /// The next or previous entry that `wanted` accepts, seen from the cursor.
    pub fn seek(&mut self, forward: bool, wanted: impl Fn(usize, &Entry) -> bool) -> bool {
        let accept = |at: &usize| {
            self.entries
                .get(*at)
                .is_some_and(|entry| wanted(*at, entry))
        };
        let found = if forward {
            (self.cursor + 1..self.entries.len()).find(accept)
        } else {
            (0..self.cursor.min(self.entries.len())).rev().find(accept)
        };
        if let Some(at) = found {
            self.go_to(at);
        }
        found.is_some()
    }

    pub fn go_to(&mut self, at: usize) {
        self.cursor = at;
        self.top = Anchor {
            entry: at.saturating_sub(2),
            row: 0,
        };
        self.follow = false;
    }
}

fn contains(entry: &Entry, needle: &str) -> bool {
    let has = |text: &str| text.to_lowercase().contains(needle);
    match &entry.kind {
        Kind::Message { text, .. }
        | Kind::Reasoning { text }
        | Kind::Error { text }
        | Kind::Notice { text, .. }
        | Kind::Wait { text, .. }
        | Kind::Raw { text } => has(text),
        Kind::Command {
            command, output, ..
        } => has(command) || has(output),
        Kind::Edit { files, detail, .. } => files.iter().any(|(_, path)| has(path)) || has(detail),
        Kind::Tool {
            name,
            input,
            output,
            ..
        } => has(name) || has(input) || has(output),
        Kind::Usage { .. } => false,
    }
}
