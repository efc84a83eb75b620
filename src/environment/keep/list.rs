//! `infradev env list`.

use std::path::Path;

use super::document::{EnvironmentRow, EnvironmentsDocument};
use super::shelf::{Entry, Wanted, entries, real};
use crate::environment::EnvironmentError;

/// Every environment of the home, from what was recorded when it was built: no file of it is read.
pub fn list(home: &Path, wanted: &Wanted) -> Result<EnvironmentsDocument, EnvironmentError> {
    let entries = entries(&real(home)?)?;
    Ok(EnvironmentsDocument {
        schema: 1,
        environments: entries.iter().map(|entry| row(entry, wanted)).collect(),
        notes: wanted.notes.clone(),
    })
}

fn row(entry: &Entry, wanted: &Wanted) -> EnvironmentRow {
    let ready = entry.ready.as_ref();
    let packages = ready.map(|r| r.packages.as_slice()).unwrap_or_default();
    EnvironmentRow {
        hash: entry.hash.clone(),
        state: entry.state(),
        python: ready.map(|r| r.interpreter.version.clone()),
        link: ready.map(|r| r.link),
        packages: packages
            .iter()
            .map(|p| format!("{}=={}", p.name, p.version))
            .collect(),
        files: ready.map(|r| r.sealed.files),
        bytes: ready.map(|r| r.sealed.bytes),
        shared_bytes: ready.map(|r| r.sealed.shared_bytes),
        build_s: ready.map(|r| r.build_s),
        tasks: wanted.of(&entry.hash).to_vec(),
        last_used_s: entry.last_used_s(),
        in_use: entry.in_use(),
    }
}
