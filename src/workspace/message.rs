//! The text that came with a commit.

use git2::Oid;

use super::import::{check_full, open_any};
use super::{Origin, WorkspaceError};

impl Origin {
    /// A commit's message, read from the first repository here that has the commit.
    pub fn message(&self, commit: &str) -> Result<String, WorkspaceError> {
        check_full(commit)?;
        let commit = commit.to_ascii_lowercase();
        let mut first = None;
        for place in self.places() {
            let read = open_any(&place).and_then(|(repo, _)| {
                let id = Oid::from_str(&commit).map_err(WorkspaceError::git(&place))?;
                let found = repo.find_commit(id).map_err(WorkspaceError::git(&place))?;
                Ok(String::from_utf8_lossy(found.message_bytes()).into_owned())
            });
            match read {
                Ok(text) => return Ok(text),
                Err(e) => first = first.or(Some(e)),
            }
        }
        Err(first.unwrap_or_else(|| self.no_mirror(&commit).into()))
    }
}
