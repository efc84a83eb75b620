//! The containers that this process looks after, by name. Any other that carries its labels is one
//! that it lost sight of: made by a daemon that had not answered, or never removed by it.

use std::collections::BTreeSet;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::store::random_hex;

static HELD: Mutex<BTreeSet<String>> = Mutex::new(BTreeSet::new());

fn all() -> MutexGuard<'static, BTreeSet<String>> {
    // a set of names is whole at any moment
    HELD.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The name of a container, from before its creation to its removal.
#[derive(Debug)]
pub(super) struct Held(String);

impl Held {
    /// A name that nobody else has.
    pub(super) fn new() -> Self {
        let name = format!("infradev-{}", random_name());
        all().insert(name.clone());
        Self(name)
    }

    pub(super) fn name(&self) -> &str {
        &self.0
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        all().remove(&self.0);
    }
}

pub(super) fn is_held(name: &str) -> bool {
    all().contains(name)
}

/// Waits until every container of this process is removed, at most so long: what was dropped in
/// the middle of its work is on its way out.
pub async fn all_gone(patience: Duration) {
    let until = Instant::now() + patience;
    while !all().is_empty() && Instant::now() < until {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

/// Eight hexadecimal digits that nobody else has.
pub(super) fn random_name() -> String {
    // without the kernel's randomness a clash is refused by name, not silent
    random_hex::<4>().unwrap_or_else(|_| "00000000".into())
}
