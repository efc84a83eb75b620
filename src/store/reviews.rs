//! What reviewers say of runs: a file beside the journal, which is never changed.

use sha2::{Digest, Sha256};

use super::clock::now_s;
use super::home::StoreError;
use super::run::{RunDir, read_json, write_json};
use crate::domain::{Review, hex};

/// Clears a suspect run, replacing what was said before.
pub fn clear_run(run: &RunDir, by: String, note: Option<String>) -> Result<Review, StoreError> {
    let review = Review {
        schema: 1,
        run: run.id().0,
        at_s: now_s(),
        by,
        note,
        journal: journal_hash(run)?,
    };
    write_json(&run.review_path(), &review)?;
    Ok(review)
}

/// Who cleared a run, where somebody did and its journal is still the one that was looked at.
pub fn review_of(run: &RunDir) -> Option<Review> {
    let review: Review = read_json(&run.review_path()).ok()?;
    (review.schema == 1 && review.journal == journal_hash(run).ok()?).then_some(review)
}

fn journal_hash(run: &RunDir) -> Result<String, StoreError> {
    let path = run.journal_path();
    let bytes = std::fs::read(&path).map_err(StoreError::io(&path))?;
    Ok(hex(&Sha256::digest(bytes)))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn a_review_holds_for_the_journal_that_was_looked_at() {
        let folder = tempfile::tempdir().unwrap();
        let run = RunDir::at(folder.path().to_path_buf());
        assert!(clear_run(&run, "ann".into(), None).is_err());
        std::fs::write(run.journal_path(), "one\n").unwrap();
        assert!(review_of(&run).is_none());
        clear_run(&run, "ann".into(), Some("a logger".into())).unwrap();
        let review = review_of(&run).unwrap();
        assert_eq!(
            (review.by.as_str(), review.note.as_deref()),
            ("ann", Some("a logger"))
        );
        std::fs::write(run.journal_path(), "one\ntwo\n").unwrap();
        assert!(review_of(&run).is_none());
    }
}
