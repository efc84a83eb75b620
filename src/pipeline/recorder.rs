//! The journal, shared by the stages that run side by side.

use std::sync::{Arc, Mutex, PoisonError};

use crate::agent::adapter::Redactor;
use crate::domain::event::PatchedFile;
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
    secrets: Redactor,
    listener: Option<Listener>,
}

type Listener = Box<dyn Fn(&Event) + Send>;

impl Recorder {
    pub fn new(journal: Journal) -> Self {
        Self {
            inner: Arc::new(Mutex::new(Inner {
                journal,
                error: None,
                secrets: Redactor::default(),
                listener: None,
            })),
        }
    }

    /// From here on the values of passed variables stand in no text that an agent could put them in.
    pub fn hide(&self, secrets: Redactor) {
        let mut inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        inner.secrets = secrets;
    }

    /// Tells everything that is recorded from here on to somebody who waits.
    pub fn tell(&self, listener: impl Fn(&Event) + Send + 'static) {
        let mut inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        inner.listener = Some(Box::new(listener));
    }

    pub fn record(&self, mut event: Event) {
        let mut inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        if !inner.secrets.is_idle() {
            hide(&inner.secrets, &mut event);
        }
        if let Some(listener) = &inner.listener {
            listener(&event);
        }
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

/// Hosts, paths, and words about them: never the ids of cases, which are compared.
fn hide(secrets: &Redactor, event: &mut Event) {
    let clean = |text: &mut String| *text = secrets.text(text);
    let files = |files: &mut Vec<PatchedFile>| files.iter_mut().for_each(|f| clean(&mut f.path));
    match event {
        Event::AgentStarted { hosts, .. } => hosts.iter_mut().for_each(clean),
        Event::HostRefused { host } => clean(host),
        Event::Captured {
            files: all, notes, ..
        } => {
            files(all);
            for note in notes {
                clean(&mut note.path);
                clean(&mut note.detail);
            }
        }
        Event::PatchApplied { files: all, .. } => files(all),
        Event::Restored { path, .. } => clean(path),
        Event::PatchRefused { message: text, .. }
        | Event::Fault { message: text, .. }
        | Event::Log { text, .. } => clean(text),
        _ => {}
    }
}
