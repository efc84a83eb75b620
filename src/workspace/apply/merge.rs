//! The three-way way: a patch made against another version of the file.

use std::path::Path;

use git2::{MergeFileInput, ObjectType, Odb, Oid};

use super::super::WorkspaceError;

/// The blob that an `index` line names, if it is known. Abbreviated ids must be unique.
pub(super) fn known_blob(
    odb: &Odb<'_>,
    id: &str,
    place: &Path,
) -> Result<Option<Vec<u8>>, WorkspaceError> {
    if id.len() < 4 || id.bytes().all(|b| b == b'0') {
        return Ok(None);
    }
    let Ok(short) = Oid::from_str(id) else {
        return Ok(None);
    };
    let full = if id.len() >= 40 {
        short
    } else {
        match odb.exists_prefix(short, id.len()) {
            Ok(full) => full,
            // not there, or not unique
            Err(_) => return Ok(None),
        }
    };
    if !odb.exists(full) {
        return Ok(None);
    }
    let object = odb.read(full).map_err(WorkspaceError::git(place))?;
    Ok((object.kind() == ObjectType::Blob).then(|| object.data().to_vec()))
}

/// The merged text; `None` where the two sides touch the same lines.
pub(super) fn merge(
    ancestor: &[u8],
    ours: &[u8],
    theirs: &[u8],
) -> Result<Option<Vec<u8>>, git2::Error> {
    let (mut a, mut o, mut t) = (
        MergeFileInput::new(),
        MergeFileInput::new(),
        MergeFileInput::new(),
    );
    a.content(ancestor);
    o.content(ours);
    t.content(theirs);
    let merged = git2::merge_file(&a, &o, &t, None)?;
    Ok(merged.is_automergeable().then(|| merged.content().to_vec()))
}
