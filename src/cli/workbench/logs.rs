//! Pieces of growing files: journals, agent logs, what the suites printed.

use std::fs::File;
use std::io::{BufRead, BufReader, ErrorKind, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use crate::domain::case::CaseDetail;
use crate::domain::{CaseResult, Record, Subject, Suite};
use crate::store::RunDir;
use crate::tui::backend::{Answer, BackendError, JournalChunk, LogChunk, LogKey};

use super::backend::place;

/// Bytes of one case's story that are read.
const LONGEST_DETAIL: u64 = 16 << 20;

/// Whole lines of a journal from `from` on; the status is the caller's to fill in.
pub fn journal(path: &Path, from: u64) -> Answer<JournalChunk> {
    let mut chunk = JournalChunk {
        next: from,
        ..JournalChunk::default()
    };
    let mut file = match File::open(path) {
        Ok(file) => file,
        Err(e) if e.kind() == ErrorKind::NotFound => return Ok(chunk),
        Err(e) => return Err(place(path, &e)),
    };
    let size = file.metadata().map_err(|e| place(path, &e))?.len();
    let mut start = from;
    if size < from {
        chunk.restarted = true;
        start = 0;
    }
    let mut bytes = Vec::new();
    file.seek(SeekFrom::Start(start))
        .and_then(|_| file.read_to_end(&mut bytes))
        .map_err(|e| place(path, &e))?;
    let whole = memchr::memrchr(b'\n', &bytes).map_or(0, |at| at + 1);
    let lines = bytes[..whole].split(|b| *b == b'\n');
    // a torn line and a line of a later version cost only themselves
    chunk.records = lines
        .filter_map(|line| serde_json::from_slice::<Record>(line).ok())
        .collect();
    chunk.next = start + whole as u64;
    Ok(chunk)
}

/// At most `max` bytes of a file from `from` on.
pub fn read(path: &Path, from: u64, max: usize) -> Answer<LogChunk> {
    let mut file = match File::open(path) {
        Ok(file) => file,
        Err(e) if e.kind() == ErrorKind::NotFound => {
            return Ok(LogChunk {
                next: from,
                at_end: true,
                ..LogChunk::default()
            });
        }
        Err(e) => return Err(place(path, &e)),
    };
    let mut bytes = Vec::new();
    file.seek(SeekFrom::Start(from))
        .and_then(|_| file.take(max as u64).read_to_end(&mut bytes))
        .map_err(|e| place(path, &e))?;
    Ok(LogChunk {
        next: from + bytes.len() as u64,
        at_end: bytes.len() < max,
        bytes,
    })
}

/// The line of a case's story: at its offset, or found by its id.
pub fn case_detail(path: &Path, result: &CaseResult) -> Answer<Option<CaseDetail>> {
    let file = match File::open(path) {
        Ok(file) => file,
        Err(e) if e.kind() == ErrorKind::NotFound => return Ok(None),
        Err(e) => return Err(place(path, &e)),
    };
    let mut reader = BufReader::new(file);
    let Some(offset) = result.detail_offset else {
        return Ok(None);
    };
    let mut line = Vec::new();
    reader
        .seek(SeekFrom::Start(offset))
        .and_then(|_| reader.take(LONGEST_DETAIL).read_until(b'\n', &mut line))
        .map_err(|e| place(path, &e))?;
    let detail: CaseDetail = serde_json::from_slice(&line)
        .map_err(|e| BackendError::new(format!("{}: byte {offset}: {e}", path.display())))?;
    Ok(Some(detail))
}

pub fn output_path(run: &RunDir, subject: Subject, suite: Suite, rank: u32) -> PathBuf {
    run.output_dir()
        .join(format!("{}-{}-{rank}.log", subject.name(), suite.name()))
}

/// The output files of a run, oldest first.
pub fn outputs(run: &RunDir) -> Answer<Vec<LogKey>> {
    let dir = run.output_dir();
    let entries = match std::fs::read_dir(&dir) {
        Ok(entries) => entries,
        Err(e) if e.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
        Err(e) => return Err(place(&dir, &e)),
    };
    let mut found: Vec<(bool, Suite, u32, LogKey)> = entries
        .filter_map(Result::ok)
        .filter_map(|entry| {
            let name = entry.file_name().into_string().ok()?;
            let mut parts = name.strip_suffix(".log")?.split('-');
            let (subject, suite, rank) = (parts.next()?, parts.next()?, parts.next()?);
            let subject = [Subject::Gold, Subject::Submission]
                .into_iter()
                .find(|s| s.name() == subject)?;
            let suite = Suite::ALL.into_iter().find(|s| s.name() == suite)?;
            let rank = rank.parse().ok()?;
            let key = LogKey::Output {
                run: run.id(),
                subject,
                suite,
                rank,
            };
            Some((subject == Subject::Gold, suite, rank, key))
        })
        .collect();
    // the submission's first, then gold's
    found.sort_by_key(|(gold, suite, rank, _)| (*gold, *suite, *rank));
    Ok(found.into_iter().map(|(_, _, _, key)| key).collect())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use std::io::Write;

    #[test]
    fn a_journal_comes_in_whole_lines_and_says_when_it_began_anew() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("journal.jsonl");
        assert_eq!(journal(&path, 0).unwrap().next, 0);
        let line = r#"{"v":1,"seq":0,"at_s":1.0,"event":"run_finished","exit":0}"#;
        let mut file = File::create(&path).unwrap();
        write!(file, "{line}\n{}", &line[..20]).unwrap();
        let chunk = journal(&path, 0).unwrap();
        assert_eq!(
            (chunk.records.len(), chunk.next),
            (1, line.len() as u64 + 1)
        );
        writeln!(file, "{}", &line[20..]).unwrap();
        let more = journal(&path, chunk.next).unwrap();
        assert_eq!(more.records.len(), 1);
        std::fs::write(&path, format!("{line}\n")).unwrap();
        let anew = journal(&path, more.next).unwrap();
        assert!(anew.restarted);
        assert_eq!(anew.records.len(), 1);
    }
}
