//! Looking through a log apart from the thread that draws, slice by slice: a key never waits for a
//! pattern, and a newer wish lets go of the one before.

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::agent::trace::Entry;

use super::find::Pattern;
use super::level;
use super::parts::Parts;
use super::state::LogState;

/// Entries of a slice at most, and bytes of text after which no more are added to it.
pub const SLICE: usize = 4096;
const SLICE_BYTES: usize = 4 << 20;

/// What is looked for in a log, and how far that is known.
#[derive(Clone, Debug, Default)]
pub struct Look {
    pub search: Option<Pattern>,
    /// Only what matches is shown.
    pub only: Option<Pattern>,
    /// What matches is not.
    pub hide: Option<Pattern>,
    /// Entries that match the search, in order, each with how many of its lines do.
    pub hits: Vec<(usize, usize)>,
    /// Entries that are shown, in order; `None`: all.
    pub shown: Option<Vec<usize>>,
    /// Entries before this one are looked through.
    pub upto: usize,
    /// The line of the entry under the cursor that was gone to, and which hit it is, from 1.
    pub hit: Option<usize>,
    pub ordinal: usize,
    /// The first hit from here on is gone to once it is found.
    pub goal: Option<usize>,
    /// All that there was is looked through: what comes is little.
    pub once: bool,
    /// Of the slices whose results are taken.
    ticket: u64,
    /// A slice is on its way, and tells of entries before this one. These and `stale` are numbered
    /// as in the log: entries that are let go do not move them.
    flying: bool,
    asked: usize,
    /// Entries that became others after they were handed out.
    stale: BTreeSet<usize>,
}

/// An entry that is sought from the cursor on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wanted {
    Error,
    Warning,
}

/// How far the way to it is gone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Seek {
    pub wanted: Wanted,
    pub forward: bool,
    ticket: u64,
    /// Where it began, and where it goes on; numbered as in the log.
    from: usize,
    at: usize,
}

#[derive(Clone, Debug, PartialEq)]
pub enum Ask {
    Look {
        search: Option<Pattern>,
        only: Option<Pattern>,
        hide: Option<Pattern>,
    },
    Seek(Wanted),
}

/// A slice of a log to look through. Entries are shared: handing them over copies none.
#[derive(Clone, Debug, PartialEq)]
pub struct Scan {
    ask: Ask,
    ticket: u64,
    entries: Vec<(usize, Arc<Entry>)>,
}

/// What was found in a slice.
#[derive(Clone, Debug)]
pub struct Scanned {
    ticket: u64,
    found: Found,
}

#[derive(Clone, Debug)]
enum Found {
    /// Each entry: whether it is shown, and how many of its lines match.
    Looked(Vec<(usize, bool, usize)>),
    /// The first that was wanted.
    Sought(Option<usize>),
}

/// What a found slice means for the reader.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Of a wish that was given up.
    Old,
    Looked,
    /// The next slice of the way is wanted.
    SeekOn,
    Sought(bool),
}

impl Scan {
    /// Entries in it.
    pub fn size(&self) -> usize {
        self.entries.len()
    }

    /// On a worker thread.
    pub fn run(self) -> Scanned {
        let found = match &self.ask {
            Ask::Seek(wanted) => {
                let is = |entry: &Entry| match wanted {
                    Wanted::Error => level::bad(entry),
                    Wanted::Warning => level::warns(entry),
                };
                let first = self.entries.iter().find(|(_, entry)| is(entry));
                Found::Sought(first.map(|(at, _)| *at))
            }
            Ask::Look { search, only, hide } => {
                let look = |(at, entry): &(usize, Arc<Entry>)| {
                    let shown = only.as_ref().is_none_or(|only| only.any(entry))
                        && !hide.as_ref().is_some_and(|hide| hide.any(entry));
                    let search = search.as_ref().filter(|_| shown);
                    let lines = search.map_or(0, |search| search.lines(entry).len());
                    (*at, shown, lines)
                };
                Found::Looked(self.entries.iter().map(look).collect())
            }
        };
        Scanned {
            ticket: self.ticket,
            found,
        }
    }
}

impl Look {
    fn filters(&self) -> bool {
        self.only.is_some() || self.hide.is_some()
    }

    fn wants(&self) -> bool {
        self.search.is_some() || self.filters()
    }

    /// What is known of entries from here on, counted after `base` that were let go, is forgotten.
    pub fn truncate(&mut self, len: usize, base: usize) {
        self.hits.retain(|(at, _)| *at < len);
        if let Some(shown) = &mut self.shown {
            shown.retain(|at| *at < len);
        }
        self.upto = self.upto.min(len);
        self.asked = self.asked.min(base + len);
        self.stale.retain(|at| *at < base + len);
    }

    /// The first entries went.
    pub fn shift(&mut self, gone: usize) {
        self.hits.retain(|(at, _)| *at >= gone);
        self.hits.iter_mut().for_each(|(at, _)| *at -= gone);
        if let Some(shown) = &mut self.shown {
            shown.retain(|at| *at >= gone);
            for at in shown {
                *at -= gone;
            }
        }
        self.upto = self.upto.saturating_sub(gone);
        self.goal = self.goal.map(|at| at.saturating_sub(gone));
    }

    /// An entry, numbered as in the log, became another.
    pub fn outdated(&mut self, at: usize) {
        if at < self.asked {
            self.stale.insert(at);
        }
    }

    /// Lines that match.
    pub fn count(&self) -> usize {
        self.hits.iter().map(|(_, lines)| lines).sum()
    }

    /// Takes what is known of an entry now.
    fn know(&mut self, at: usize, lets: bool, lines: usize) {
        if let Some(shown) = &mut self.shown {
            if lets && shown.last().is_none_or(|last| *last < at) {
                shown.push(at);
            } else {
                match (shown.binary_search(&at), lets) {
                    (Err(to), true) => shown.insert(to, at),
                    (Ok(from), false) => {
                        shown.remove(from);
                    }
                    _ => {}
                }
            }
        }
        match (self.hits.binary_search_by_key(&at, |hit| hit.0), lines) {
            (Ok(from), 0) => {
                self.hits.remove(from);
            }
            (Err(_), 0) => {}
            (Ok(place), lines) => {
                if let Some(hit) = self.hits.get_mut(place) {
                    hit.1 = lines;
                }
            }
            (Err(to), lines) => self.hits.insert(to, (at, lines)),
        }
    }
}

impl LogState {
    /// Begins to look through the log anew.
    pub fn look_anew(&mut self) {
        self.scans += 1;
        let look = &mut self.look;
        look.hits.clear();
        look.shown = look.filters().then(Vec::new);
        look.upto = 0;
        look.hit = None;
        look.goal = None;
        look.once = false;
        look.ticket = self.scans;
        look.flying = false;
        look.asked = 0;
        look.stale.clear();
        self.seek = None;
    }

    /// All entries are looked through, as far as they are to be.
    pub fn looked_through(&self) -> bool {
        !self.look.wants() || (self.look.upto >= self.entries.len() && self.look.stale.is_empty())
    }

    /// The next slice to look through, where none is on its way.
    pub fn next_slice(&mut self) -> Option<Scan> {
        let (base, len) = (self.base, self.entries.len());
        let look = &mut self.look;
        if !look.wants() {
            look.upto = len;
            look.stale.clear();
            return None;
        }
        if look.flying {
            return None;
        }
        let mut slice = Slice::default();
        while let Some(at) = look.stale.first().copied() {
            if slice.full() {
                break;
            }
            look.stale.pop_first();
            let own = at.checked_sub(base).and_then(|own| self.entries.get(own));
            if let Some(entry) = own {
                slice.add(at, entry);
            }
        }
        let mut to = look.upto;
        while let Some(entry) = self.entries.get(to).filter(|_| !slice.full()) {
            slice.add(base + to, entry);
            to += 1;
        }
        if slice.entries.is_empty() {
            return None;
        }
        look.flying = true;
        look.asked = base + to;
        Some(Scan {
            ask: Ask::Look {
                search: look.search.clone(),
                only: look.only.clone(),
                hide: look.hide.clone(),
            },
            ticket: look.ticket,
            entries: slice.entries,
        })
    }

    /// Seeks an entry from the cursor on, among those that are shown.
    pub fn seek(&mut self, forward: bool, wanted: Wanted) -> Option<Scan> {
        self.scans += 1;
        let at = self.base + self.cursor;
        self.seek = Some(Seek {
            wanted,
            forward,
            ticket: self.scans,
            from: at,
            at,
        });
        self.seek_on()
    }

    /// The next slice of the way; `None`: it is at its end.
    pub fn seek_on(&mut self) -> Option<Scan> {
        let seek = self.seek?;
        let mut slice = Slice::default();
        let mut at = seek.at.checked_sub(self.base)?;
        while !slice.full() {
            let next = if seek.forward {
                self.after(at)
            } else {
                self.before(at)
            };
            let Some((next, entry)) = next.and_then(|n| Some((n, self.entries.get(n)?))) else {
                break;
            };
            // a level stands at a line's beginning: the size of the text says nothing
            slice.entries.push((self.base + next, Arc::clone(entry)));
            at = next;
        }
        if slice.entries.is_empty() {
            self.seek = None;
            return None;
        }
        self.seek = Some(Seek {
            at: self.base + at,
            ..seek
        });
        Some(Scan {
            ask: Ask::Seek(seek.wanted),
            ticket: seek.ticket,
            entries: slice.entries,
        })
    }

    /// Takes what was found in a slice.
    pub fn take_scanned(&mut self, scanned: Scanned) -> Outcome {
        match scanned.found {
            Found::Sought(found) => {
                let Some(seek) = self.seek.filter(|seek| seek.ticket == scanned.ticket) else {
                    return Outcome::Old;
                };
                let own = found.and_then(|at| at.checked_sub(self.base));
                match own.filter(|at| *at < self.entries.len()) {
                    Some(at) => {
                        self.seek = None;
                        self.go_to(at);
                        Outcome::Sought(true)
                    }
                    // what was let go meanwhile lies behind
                    None if seek.at >= self.base => Outcome::SeekOn,
                    None => {
                        self.seek = None;
                        Outcome::Sought(false)
                    }
                }
            }
            Found::Looked(all) => {
                if scanned.ticket != self.look.ticket || !self.look.flying {
                    return Outcome::Old;
                }
                self.look.flying = false;
                for (at, lets, lines) in all {
                    if at >= self.look.asked {
                        continue;
                    }
                    if let Some(own) = at.checked_sub(self.base) {
                        self.look.know(own, lets, lines);
                    }
                }
                let to = self.look.asked.saturating_sub(self.base);
                self.look.upto = self.look.upto.max(to.min(self.entries.len()));
                Outcome::Looked
            }
        }
    }

    /// `searching… 42 %`, while something is looked through of which no slice is all.
    pub fn progress(&self) -> Option<(&'static str, usize)> {
        let percent = |done: usize, all: usize| (done * 100).checked_div(all).unwrap_or(0).min(99);
        if let Some(seek) = self.seek {
            let all = if seek.forward {
                (self.base + self.entries.len()).saturating_sub(seek.from)
            } else {
                seek.from.saturating_sub(self.base)
            };
            let word = match seek.wanted {
                Wanted::Error => "seeking an error",
                Wanted::Warning => "seeking a warning",
            };
            return Some((word, percent(seek.at.abs_diff(seek.from), all)));
        }
        let looking = self.look.wants() && !self.look.once && !self.entries.is_empty();
        let word = if self.look.search.is_some() {
            "searching"
        } else {
            "filtering"
        };
        looking.then(|| (word, percent(self.look.upto, self.entries.len())))
    }

    /// Everything is looked through for the first time; tells it once.
    pub fn first_time_through(&mut self) -> bool {
        self.looked_through() && !std::mem::replace(&mut self.look.once, true)
    }
}

/// Entries that are handed out together.
#[derive(Default)]
struct Slice {
    entries: Vec<(usize, Arc<Entry>)>,
    bytes: usize,
}

impl Slice {
    fn full(&self) -> bool {
        self.entries.len() >= SLICE || self.bytes >= SLICE_BYTES
    }

    fn add(&mut self, at: usize, entry: &Arc<Entry>) {
        let parts = Parts::of(entry);
        self.bytes += parts
            .blocks
            .iter()
            .map(|block| block.text.len())
            .sum::<usize>();
        self.entries.push((at, Arc::clone(entry)));
    }
}
