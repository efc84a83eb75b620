//! Going through a log: from entry to entry as the filters let through, to hits, errors, times.

use super::find::Pattern;
use super::state::{Anchor, Goal, LogState};

/// Entries among which one with a time is looked for.
const TIMED: usize = 1000;

impl LogState {
    pub fn first(&self) -> Option<usize> {
        match &self.look.shown {
            Some(shown) => shown.first().copied(),
            None => (!self.entries.is_empty()).then_some(0),
        }
    }

    pub fn last(&self) -> Option<usize> {
        match &self.look.shown {
            Some(shown) => shown.last().copied(),
            None => self.entries.len().checked_sub(1),
        }
    }

    /// The next entry that is shown.
    pub fn after(&self, at: usize) -> Option<usize> {
        self.from(at + 1)
    }

    /// The first entry from here on that is shown.
    pub fn from(&self, at: usize) -> Option<usize> {
        match &self.look.shown {
            Some(shown) => shown.get(shown.partition_point(|e| *e < at)).copied(),
            None => (at < self.entries.len()).then_some(at),
        }
    }

    /// The entry before this one that is shown.
    pub fn before(&self, at: usize) -> Option<usize> {
        match &self.look.shown {
            Some(shown) => {
                let place = shown.partition_point(|e| *e < at).checked_sub(1)?;
                shown.get(place).copied()
            }
            None => at.min(self.entries.len()).checked_sub(1),
        }
    }

    /// How many entries are shown, and which of them the cursor is on, from 1.
    pub fn counted(&self) -> (usize, usize) {
        match &self.look.shown {
            Some(shown) => (shown.len(), shown.partition_point(|at| *at <= self.cursor)),
            None => (self.entries.len(), self.cursor + 1),
        }
    }

    pub fn set_search(&mut self, words: &str) -> Result<(), String> {
        self.look.search = Pattern::new(words)?;
        self.look_anew();
        Ok(())
    }

    /// Lets only through what matches, or all but that.
    pub fn set_filter(&mut self, only: bool, words: &str) -> Result<(), String> {
        let pattern = Pattern::new(words)?;
        if only {
            self.look.only = pattern;
        } else {
            self.look.hide = pattern;
        }
        self.look_anew();
        Ok(())
    }

    /// After the filters changed: the cursor stands on what is shown.
    pub fn stand_on_shown(&mut self) {
        let near = self.from(self.cursor).or_else(|| self.last());
        if self.follow {
            self.cursor = self.last().unwrap_or(0);
        } else if let Some(at) = near
            && (at != self.cursor || self.look.shown.is_some())
        {
            self.go_to(at);
        }
    }

    /// Goes to the first hit from the goal on, if it was looked at already; `None`: not yet.
    pub fn reach_hit(&mut self) -> Option<bool> {
        let from = self.look.goal?;
        let done = self.looked_through();
        let first = self.look.hits.partition_point(|(at, _)| *at < from);
        let hit = self.look.hits.get(first);
        let hit = hit.or_else(|| self.look.hits.first().filter(|_| done));
        let Some((at, _)) = hit.copied() else {
            if done {
                self.look.goal = None;
            }
            return done.then_some(false);
        };
        self.look.goal = None;
        let line = self.matching(at).first().copied().unwrap_or(0);
        self.go_to_line(at, line);
        Some(true)
    }

    /// Lines of an entry that match the search.
    fn matching(&self, at: usize) -> Vec<usize> {
        let search = self.look.search.as_ref();
        let found = search.zip(self.entries.get(at));
        found.map_or_else(Vec::new, |(search, entry)| search.lines(entry))
    }

    /// The next line that matches, or the one before, seen from the cursor.
    pub fn step_hit(&mut self, forward: bool) -> bool {
        let at = self.cursor;
        let line = self.look.hit.unwrap_or(0);
        let here = self.matching(at);
        let near = if forward {
            here.into_iter().find(|l| *l > line)
        } else {
            here.into_iter().rev().find(|l| *l < line)
        };
        if let Some(line) = near {
            self.go_to_line(at, line);
            return true;
        }
        let place = self.look.hits.partition_point(|(e, _)| *e < at);
        let next = if forward {
            let same = self.look.hits.get(place).is_some_and(|hit| hit.0 == at);
            self.look.hits.get(place + usize::from(same))
        } else {
            place.checked_sub(1).and_then(|p| self.look.hits.get(p))
        };
        let Some((at, _)) = next.copied() else {
            return false;
        };
        let lines = self.matching(at);
        let line = if forward { lines.first() } else { lines.last() };
        self.go_to_line(at, line.copied().unwrap_or(0));
        true
    }

    /// After rows became more or fewer: the entry under the cursor stays in sight.
    pub fn stand(&mut self) {
        if !self.follow {
            let at = self.cursor;
            self.go_to(at);
        }
    }

    pub fn go_to(&mut self, at: usize) {
        self.cursor = at;
        let above = self.before(at).unwrap_or(at);
        self.top = Anchor {
            entry: self.before(above).unwrap_or(above),
            row: 0,
        };
        self.follow = false;
        self.look.hit = None;
    }

    /// Goes to a line of an entry; the pane brings its row in sight.
    fn go_to_line(&mut self, at: usize, line: usize) {
        self.go_to(at);
        self.look.hit = Some(line);
        let place = self.look.hits.partition_point(|(e, _)| *e < at);
        let before: usize = self.look.hits.iter().take(place).map(|hit| hit.1).sum();
        let own = self.matching(at);
        self.look.ordinal = before + own.iter().position(|l| *l == line).unwrap_or(0) + 1;
    }

    /// When the first entry that tells a time came.
    pub fn first_s(&self) -> Option<f64> {
        let mut first = self.entries.iter().take(TIMED);
        first.find_map(|entry| entry.at_s)
    }

    pub fn last_s(&self) -> Option<f64> {
        self.s_before(self.entries.len())
    }

    /// The time under the cursor: its entry's, or that of the nearest before it; `None` while the
    /// log is followed.
    pub fn moment(&self) -> Option<f64> {
        if self.follow {
            None
        } else {
            self.s_before(self.cursor + 1)
        }
    }

    fn s_before(&self, end: usize) -> Option<f64> {
        let mut before = self.entries.get(..end)?.iter().rev().take(TIMED);
        before.find_map(|entry| entry.at_s)
    }

    /// Goes to the first entry of a time or later; `false`: there is none yet.
    pub fn go_to_time(&mut self, at_s: f64) -> bool {
        let at = self
            .entries
            .iter()
            .position(|entry| entry.at_s.is_some_and(|s| s >= at_s));
        let at = at.and_then(|at| self.from(at));
        if let Some(at) = at {
            self.go_to(at);
        }
        at.is_some()
    }

    /// Goes where the reader wanted to be, once that was read.
    pub fn reach(&mut self) {
        let Some(goal) = self.place else { return };
        let there = match goal {
            Goal::Time(at_s) => self.go_to_time(at_s),
            Goal::Byte(byte) => self.part.1 >= byte,
        };
        let all = !self.behind || self.full;
        if there || all {
            self.place = None;
            if !there || matches!(goal, Goal::Byte(_)) {
                // without times there is nothing to go to
                let timed = self.first_s().is_some() || matches!(goal, Goal::Byte(_));
                let at = if timed { self.last() } else { self.first() };
                self.go_to(at.unwrap_or(0));
            }
        }
    }
}
