//! The journal, shared by the stages that run side by side.

use std::sync::{Arc, Mutex, PoisonError};

use crate::domain::{Event, Level};
use crate::store::{Journal, StoreError};

/// Appends events; the first error is kept and given by [`Recorder::close`]: a run whose journal
/// cannot be written is no result.
#[derive(Clone)]
pub struct Recorder {
    inner: Arc<Mutex<Inner>>,
}

struct Inner {
    journal: Journal,
    error: Option<StoreError>,
}

impl Recorder {
    pub fn new(journal: Journal) -> Self {
        Self {
            inner: Arc::new(Mutex::new(Inner {
                journal,
                error: None,
            })),
        }
    }

    pub fn record(&self, event: Event) {
        let mut inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        if inner.error.is_none()
            && let Err(e) = inner.journal.append(event)
        {
            inner.error = Some(e);
        }
    }

    pub fn say(&self, level: Level, text: impl Into<String>) {
        self.record(Event::Log {
            level,
            text: text.into(),
        });
    }

    pub fn close(&self) -> Result<(), StoreError> {
        let mut inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        inner.error.take().map_or(Ok(()), Err)
    }
}
