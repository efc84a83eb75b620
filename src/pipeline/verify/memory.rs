//! What a run remembers from round to round, so that a round reads and works out only what is new.
//! All of it is found under what it was made of: another text is another entry.

use std::collections::{BTreeMap, HashMap};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use git2::Oid;

use super::candidates::Candidate;
use super::files::{FileUnits, Together};
use crate::domain::Suite;
use crate::domain::cell::Cell;
use crate::pipeline::error::Stop;
use crate::python::hollow::Works;
use crate::store::{Home, StoreError, keep_cell, kept_cell};

/// What shares state.
#[derive(Clone, Debug, Default)]
pub(in crate::pipeline) struct Shares {
    pub together: BTreeMap<Suite, Together>,
    /// By what that was seen, by file (or suite).
    pub words: BTreeMap<String, String>,
}

#[derive(Default)]
pub(in crate::pipeline) struct Memory {
    cells: Mutex<HashMap<String, Arc<Cell>>>,
    /// By the hash of a test file's text.
    units: Mutex<HashMap<String, FileUnits>>,
    /// By the hash of the text of a file that tests share.
    apart: Mutex<HashMap<String, bool>>,
    /// Patches as trees, with the key of what they are made of.
    candidates: Mutex<Option<(String, Vec<Candidate>)>>,
    /// What hollow needs to be imported, by its tree without that.
    works: Mutex<HashMap<Oid, Works>>,
    shares: Mutex<Shares>,
    /// Folders of cells: what one left may be removed while a later one runs.
    next: AtomicU32,
}

/// Beside the numbers of what waits, which are more.
const FIRST: u32 = 2_000_000;

impl Memory {
    /// One that no other cell of this run has.
    pub fn number(&self) -> u32 {
        FIRST + self.next.fetch_add(1, Ordering::Relaxed)
    }

    /// What the home has under a key.
    pub fn cell(&self, home: &Home, key: &str) -> Option<Arc<Cell>> {
        if let Some(cell) = lock(&self.cells).get(key) {
            return Some(Arc::clone(cell));
        }
        let cell = Arc::new(kept_cell(home, key)?);
        lock(&self.cells).insert(key.to_owned(), Arc::clone(&cell));
        Some(cell)
    }

    /// Puts a cell in the home.
    pub fn keep(&self, home: &Home, cell: Cell) -> Result<Arc<Cell>, StoreError> {
        keep_cell(home, &cell)?;
        let cell = Arc::new(cell);
        lock(&self.cells).insert(cell.key.clone(), Arc::clone(&cell));
        Ok(cell)
    }

    pub fn units(&self, digest: &str, make: impl FnOnce() -> FileUnits) -> FileUnits {
        let known = lock(&self.units).get(digest).cloned();
        known.unwrap_or_else(|| {
            let made = make();
            lock(&self.units).insert(digest.to_owned(), made.clone());
            made
        })
    }

    pub fn apart(&self, digest: &str, look: impl FnOnce() -> bool) -> bool {
        let known = lock(&self.apart).get(digest).copied();
        known.unwrap_or_else(|| {
            let apart = look();
            lock(&self.apart).insert(digest.to_owned(), apart);
            apart
        })
    }

    pub fn works(&self, unmended: Oid) -> Works {
        lock(&self.works)
            .get(&unmended)
            .cloned()
            .unwrap_or_default()
    }

    pub fn keep_works(&self, unmended: Oid, works: &Works) {
        lock(&self.works).insert(unmended, works.clone());
    }

    pub fn shares(&self) -> Shares {
        lock(&self.shares).clone()
    }

    pub fn share(&self, more: impl FnOnce(&mut Shares)) {
        more(&mut lock(&self.shares));
    }

    /// `key`: of all that they are made of. `None`: that changed while they were made.
    pub fn candidates(
        &self,
        key: impl Fn() -> Result<String, Stop>,
        make: impl FnOnce() -> Result<Vec<Candidate>, Stop>,
    ) -> Result<Option<Vec<Candidate>>, Stop> {
        let made_of = key()?;
        if let Some((known, all)) = &*lock(&self.candidates)
            && *known == made_of
        {
            return Ok(Some(all.clone()));
        }
        let all = make()?;
        if key()? != made_of {
            return Ok(None);
        }
        *lock(&self.candidates) = Some((made_of, all.clone()));
        Ok(Some(all))
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
