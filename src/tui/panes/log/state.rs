//! Logs of what is selected: the agent's, the worker's stages, what the suites printed.

use std::collections::HashSet;
use std::sync::Arc;

use crate::agent::trace::{Entry, Kind};
use crate::domain::run_state::RunState;
use crate::domain::submission::LogFormat;
use crate::tui::backend::LogKey;
use crate::tui::msg::LogDelta;
use crate::tui::reading::{Figures, LOG_CAP};

use super::long::LongLines;
use super::parts::Parts;
use super::rows::View;
use super::scan::{Look, Seek};
use super::source::LogSource;

/// Bytes of an entry beside its text.
const ENTRY: usize = 96;

/// A place in a log that stays the same while lines come: an entry, and a row of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Anchor {
    pub entry: usize,
    pub row: usize,
}

/// What is gone to once it was read.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Goal {
    /// The first entry of this time or later.
    Time(f64),
    /// What stands before this byte.
    Byte(u64),
}

#[derive(Clone, Debug)]
pub struct LogState {
    /// What can be shown for the selection, in the order of the source key.
    pub sources: Vec<LogSource>,
    /// The agent's log of what is selected, and what else was written, as far as it was found.
    pub agent: Option<(LogKey, LogFormat)>,
    pub outputs: Vec<LogKey>,
    pub current: usize,
    /// An earlier attempt's log in place of the current source.
    pub earlier: Option<LogSource>,
    /// The reader chose the source: new ones do not change it.
    pub chosen: bool,
    /// Lines as they are, instead of what they say.
    pub raw: bool,
    /// Shared with whoever looks through them.
    pub entries: Vec<Arc<Entry>>,
    /// Entries that were let go before the first of these, because more came than is held.
    pub base: usize,
    /// Bytes of text in all of these.
    pub held: u64,
    /// As much is held as may be; what comes is not taken.
    pub full: bool,
    /// Bytes of the log between which the entries stand, and of all of it.
    pub part: (u64, u64),
    pub size: u64,
    pub place: Option<Goal>,
    /// What the log tells of the session so far.
    pub figures: Option<Figures>,
    /// Of the reading whose answers are taken.
    pub ticket: u64,
    /// More is being read now; `again`: the log changed meanwhile.
    pub reading: bool,
    pub again: bool,
    /// The last answer was not all that is there.
    pub behind: bool,
    /// Somebody may still write to what is shown.
    pub grows: bool,
    /// There is more than what is shown.
    pub cut: bool,
    pub error: Option<String>,
    /// First row on the screen, unless following.
    pub top: Anchor,
    /// The newest row is kept in sight.
    pub follow: bool,
    /// Entry under the cursor.
    pub cursor: usize,
    pub skip: usize,
    pub wrap: bool,
    /// All entries are unfolded, or none; `toggled` are the others.
    pub unfold_all: bool,
    pub toggled: HashSet<usize>,
    pub look: Look,
    /// What is on its way to the next error or warning.
    pub seek: Option<Seek>,
    /// Looks and seeks that were begun.
    pub scans: u64,
    pub long: LongLines,
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
            earlier: None,
            chosen: false,
            raw: false,
            entries: Vec::new(),
            base: 0,
            held: 0,
            full: false,
            part: (0, 0),
            size: 0,
            place: None,
            figures: None,
            ticket: 0,
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
            wrap: false,
            unfold_all: false,
            toggled: HashSet::new(),
            look: Look::default(),
            seek: None,
            scans: 0,
            long: LongLines::default(),
            stages_taken: 0,
        }
    }
}

impl LogState {
    pub fn source(&self) -> Option<&LogSource> {
        self.earlier
            .as_ref()
            .or_else(|| self.sources.get(self.current))
    }

    /// How its entries are laid out in a pane of so many columns of text.
    pub fn view(&self, width: usize) -> View<'_> {
        View {
            width,
            wrap: self.wrap,
            long: &self.long,
        }
    }

    pub fn unfolded(&self, at: usize) -> bool {
        self.unfold_all != self.toggled.contains(&at)
    }

    /// Forgets what is shown, before another source comes.
    pub fn reset(&mut self, grows: bool) {
        self.figures = None;
        self.reading = false;
        self.again = false;
        self.grows = grows;
        self.error = None;
        self.skip = 0;
        self.place = None;
        self.clear();
        // a recorded session is read from its beginning; what grows is followed
        let recorded = LogSource::recorded;
        self.follow = grows || !self.source().is_some_and(recorded);
    }

    /// Forgets the entries, before another part of the same log comes.
    pub fn clear(&mut self) {
        self.entries.clear();
        self.base = 0;
        self.held = 0;
        self.full = false;
        self.part = (0, 0);
        self.behind = false;
        self.cut = false;
        self.top = Anchor::default();
        self.cursor = 0;
        self.toggled.clear();
        self.long.forget();
        self.stages_taken = 0;
        self.look_anew();
    }

    /// Takes what was read; tells whether anything that is seen changed.
    pub fn take_delta(&mut self, delta: LogDelta) -> bool {
        let mut changed = self.cut != delta.cut || self.behind != delta.more;
        self.behind = delta.more;
        self.cut = delta.cut;
        if !delta.cut {
            self.part = (delta.from, delta.to);
        }
        self.size = self.size.max(delta.size);
        if delta.figures.is_some() && self.figures != delta.figures {
            self.figures = delta.figures;
            changed = true;
        }
        if delta.replaced {
            return self.replace(delta.entries, delta.len) || changed;
        }
        let len = delta.len.saturating_sub(self.base);
        changed |= !delta.entries.is_empty() || self.entries.len() > len;
        self.take(delta.entries);
        if self.entries.len() > len {
            // half a line was shown, and its rest made no entry
            for gone in self.entries.drain(len..) {
                self.held = self.held.saturating_sub(size(&gone));
            }
            self.look.truncate(len, self.base);
            self.cursor = self.cursor.min(len.saturating_sub(1));
        }
        self.let_go();
        self.reach();
        changed
    }

    /// The log was rewritten: these are all. The reader's place stays, as far as there is one.
    fn replace(&mut self, all: Vec<(usize, Entry)>, len: usize) -> bool {
        let mut entries: Vec<Arc<Entry>> = Vec::with_capacity(len);
        for (at, entry) in all {
            match entries.get_mut(at) {
                // what was begun has ended further on
                Some(place) => *place = Arc::new(entry),
                None => entries.push(Arc::new(entry)),
            }
        }
        if entries == self.entries && self.base == 0 {
            return false;
        }
        self.held = entries.iter().map(|entry| size(entry)).sum();
        self.full = false;
        self.long.forget();
        if self.base == 0 {
            // what was found in the beginning that stayed is known
            let pairs = entries.iter().zip(&self.entries);
            let same = pairs.take_while(|(new, old)| new == old).count();
            self.look.truncate(same, 0);
            self.seek = None;
        } else {
            self.look_anew();
        }
        self.entries = entries;
        self.base = 0;
        // where a filter is not through yet, the cursor stands on what is shown afterwards
        self.cursor = if self.follow {
            self.last().unwrap_or(0)
        } else {
            self.cursor.min(self.entries.len().saturating_sub(1))
        };
        self.reach();
        true
    }

    /// Puts entries in their places, as they are numbered in the log.
    pub fn take(&mut self, changes: Vec<(usize, Entry)>) {
        for (at, entry) in changes {
            // what was let go may end: nobody sees it
            let Some(at) = at.checked_sub(self.base) else {
                continue;
            };
            self.held += size(&entry);
            if let Some(place) = self.entries.get_mut(at) {
                self.held = self.held.saturating_sub(size(place));
                *place = Arc::new(entry);
                self.long.forget();
                self.look.outdated(self.base + at);
            } else {
                self.entries.push(Arc::new(entry));
            }
        }
        if self.follow {
            self.cursor = self.last().unwrap_or(0);
        }
    }

    /// Lets the oldest entries go where more is held than may be, but none that the reader sees.
    fn let_go(&mut self) {
        if self.held <= LOG_CAP || self.full {
            return;
        }
        // a recorded session is read from its beginning: that stays
        if !(self.grows || self.follow) {
            self.full = true;
            return;
        }
        let most = if self.follow {
            self.entries.len().saturating_sub(1)
        } else {
            self.top.entry.min(self.cursor).saturating_sub(1)
        };
        let mut gone = 0;
        for entry in self.entries.iter().take(most) {
            if self.held <= LOG_CAP / 8 * 7 {
                break;
            }
            self.held = self.held.saturating_sub(size(entry));
            gone += 1;
        }
        self.full = self.held > LOG_CAP;
        if gone == 0 {
            return;
        }
        self.entries.drain(..gone);
        self.base += gone;
        self.top.entry = self.top.entry.saturating_sub(gone);
        self.cursor = self.cursor.saturating_sub(gone);
        let toggled = self.toggled.iter().filter_map(|at| at.checked_sub(gone));
        self.toggled = toggled.collect();
        self.look.shift(gone);
        self.long.forget();
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
}

/// Bytes that an entry takes, about.
fn size(entry: &Entry) -> u64 {
    let parts = Parts::of(entry);
    let head = parts.head.as_ref().map_or(0, |head| head.len());
    let blocks: usize = parts.blocks.iter().map(|block| block.text.len()).sum();
    (head + blocks + ENTRY) as u64
}
