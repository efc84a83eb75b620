//! Notes on lines: a file beside the review, replaced as a whole.

use super::home::StoreError;
use super::run::{RunDir, read_json, write_json};
use crate::domain::notes::{LineNote, Notes};

/// The notes of a run; none where nobody wrote any.
pub fn notes_of(run: &RunDir) -> Result<Notes, StoreError> {
    let path = run.notes_path();
    if path.exists() {
        read_json(&path)
    } else {
        Ok(Notes::default())
    }
}

/// Puts a note on its line, in place of the one that was there; an empty text takes that away.
/// What others wrote since it was last read is kept.
pub fn put_note(run: &RunDir, note: LineNote) -> Result<Notes, StoreError> {
    let mut notes = notes_of(run)?;
    notes.schema = 1;
    notes.put(note);
    write_json(&run.notes_path(), &notes)?;
    Ok(notes)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::domain::Source;

    fn note(line: u32, text: &str) -> LineNote {
        LineNote {
            tree: Source::Gold,
            path: "a.py".into(),
            line,
            quoted: "x = 1".into(),
            text: text.into(),
            by: "ann".into(),
            at_s: 1.0,
        }
    }

    #[test]
    fn one_note_a_line_and_an_empty_one_takes_it_away() {
        let folder = tempfile::tempdir().unwrap();
        let run = RunDir::at(folder.path().to_path_buf());
        assert_eq!(notes_of(&run).unwrap(), Notes::default());
        put_note(&run, note(7, "why")).unwrap();
        put_note(&run, note(3, "first")).unwrap();
        let kept = put_note(&run, note(7, "because")).unwrap();
        assert_eq!(kept, notes_of(&run).unwrap());
        let brief: Vec<(u32, &str)> = kept
            .notes
            .iter()
            .map(|n| (n.line, n.text.as_str()))
            .collect();
        assert_eq!(brief, [(3, "first"), (7, "because")]);
        let kept = put_note(&run, note(3, "  ")).unwrap();
        assert_eq!(kept.notes.len(), 1);
    }

    #[test]
    fn a_broken_file_is_said_and_not_written_over() {
        let folder = tempfile::tempdir().unwrap();
        let run = RunDir::at(folder.path().to_path_buf());
        std::fs::write(run.notes_path(), "{").unwrap();
        assert!(put_note(&run, note(1, "x")).is_err());
        assert_eq!(std::fs::read_to_string(run.notes_path()).unwrap(), "{");
    }
}
