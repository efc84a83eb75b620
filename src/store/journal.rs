//! `journal.jsonl`: append-only, one writer, a torn last line is normal.

use std::fs::{File, OpenOptions};
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use super::clock::now_s;
use super::home::StoreError;
use crate::domain::Event;
use crate::domain::event::{JOURNAL_VERSION, Record};

/// Kept beside a journal while it is written, so that a full disk still takes the last words.
const SPARE: usize = 256 << 10;

/// The writer. The caller holds the run's [`super::Lock`].
pub struct Journal {
    path: PathBuf,
    file: File,
    next_seq: u64,
    spare: Option<PathBuf>,
}

impl Journal {
    /// Opens for appending; a torn tail gets its newline first, so that the next line is whole.
    pub fn open(path: &Path) -> Result<Self, StoreError> {
        let mut file = OpenOptions::new()
            .create(true)
            .read(true)
            .append(true)
            .open(path)
            .map_err(StoreError::io(path))?;
        let mut text = Vec::new();
        file.read_to_end(&mut text).map_err(StoreError::io(path))?;
        if text.last().is_some_and(|b| *b != b'\n') {
            file.write_all(b"\n").map_err(StoreError::io(path))?;
        }
        let next_seq = parse_lines(&text).last().map_or(0, |r| r.seq + 1);
        let spare = path.with_extension("spare");
        // on a disk that is full already there is none
        let kept = std::fs::write(&spare, vec![0; SPARE]).is_ok();
        Ok(Self {
            path: path.to_path_buf(),
            file,
            next_seq,
            spare: kept.then_some(spare),
        })
    }

    /// Writes a whole line; where the disk is full, in the room that was kept for that.
    fn write(&mut self, line: &[u8]) -> std::io::Result<()> {
        let Err(error) = self.file.write_all(line) else {
            return Ok(());
        };
        let Some(spare) = self.spare.take() else {
            return Err(error);
        };
        std::fs::remove_file(spare)?;
        // what was written of the line is a torn one
        self.file.write_all(b"\n")?;
        self.file.write_all(line)
    }

    /// Appends one fact; a reader sees it at once. Stage boundaries are also synced to disk.
    pub fn append(&mut self, event: Event) -> Result<Record, StoreError> {
        let sync = matches!(
            event,
            Event::RunStarted { .. }
                | Event::StageFinished { .. }
                | Event::Graded { .. }
                | Event::Fault { .. }
                | Event::RunFinished { .. }
        );
        let record = Record {
            v: JOURNAL_VERSION,
            seq: self.next_seq,
            at_s: now_s(),
            event,
        };
        let mut line = serde_json::to_vec(&record).map_err(|e| StoreError::Malformed {
            path: self.path.clone(),
            line: 0,
            message: e.to_string(),
        })?;
        line.push(b'\n');
        self.write(&line).map_err(|source| StoreError::Io {
            path: self.path.clone(),
            source,
        })?;
        if sync {
            self.file.sync_data().map_err(StoreError::io(&self.path))?;
        }
        self.next_seq += 1;
        Ok(record)
    }
}

impl Drop for Journal {
    fn drop(&mut self) {
        if let Some(spare) = &self.spare {
            let _ = std::fs::remove_file(spare);
        }
    }
}

fn parse_lines(text: &[u8]) -> impl Iterator<Item = Record> + '_ {
    text.split(|b| *b == b'\n')
        .filter_map(|line| serde_json::from_slice(line).ok())
}

/// All whole records of a journal; lines that do not parse (a torn one, a newer shape) are left out.
pub fn read_records(path: &Path) -> Result<Vec<Record>, StoreError> {
    let text = std::fs::read(path).map_err(StoreError::io(path))?;
    Ok(parse_lines(&text).collect())
}

/// Reads a growing journal from where the last read ended.
pub struct Tail {
    path: PathBuf,
    offset: u64,
    partial: Vec<u8>,
}

impl Tail {
    pub fn new(path: &Path) -> Self {
        Self {
            path: path.to_path_buf(),
            offset: 0,
            partial: Vec::new(),
        }
    }

    /// The records that were completed since the last call; none if the file is not there yet.
    pub fn poll(&mut self) -> Result<Vec<Record>, StoreError> {
        let mut file = match File::open(&self.path) {
            Ok(file) => file,
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(e) => {
                return Err(StoreError::Io {
                    path: self.path.clone(),
                    source: e,
                });
            }
        };
        file.seek(SeekFrom::Start(self.offset))
            .map_err(StoreError::io(&self.path))?;
        let read = file
            .read_to_end(&mut self.partial)
            .map_err(StoreError::io(&self.path))?;
        self.offset += read as u64;
        let Some(end) = memchr::memrchr(b'\n', &self.partial) else {
            return Ok(Vec::new());
        };
        let rest = self.partial.split_off(end + 1);
        let whole = std::mem::replace(&mut self.partial, rest);
        Ok(parse_lines(&whole).collect())
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::domain::Level;

    fn say(text: &str) -> Event {
        Event::Log {
            level: Level::Info,
            text: text.into(),
        }
    }

    #[test]
    fn a_torn_tail_costs_its_own_line_only() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("journal.jsonl");
        Journal::open(&path).unwrap().append(say("one")).unwrap();
        let mut file = OpenOptions::new().append(true).open(&path).unwrap();
        file.write_all(b"{\"v\":1,\"seq\":1,\"at_s\":1.0,\"ev")
            .unwrap();
        let record = Journal::open(&path).unwrap().append(say("two")).unwrap();
        assert_eq!(record.seq, 1);
        let seen: Vec<Event> = read_records(&path)
            .unwrap()
            .into_iter()
            .map(|r| r.event)
            .collect();
        assert_eq!(seen, vec![say("one"), say("two")]);
    }

    #[test]
    fn a_full_disk_takes_the_last_words() {
        let dir = tempfile::tempdir().unwrap();
        let full = dir.path().join("full");
        std::fs::create_dir(&full).unwrap();
        let none = None::<&str>;
        let flags = nix::mount::MsFlags::empty();
        let small = nix::mount::mount(none, &full, Some("tmpfs"), flags, Some("size=1m"));
        if small.is_err() && !nix::unistd::geteuid().is_root() {
            eprintln!("not run: only root can mount a small file system");
            return;
        }
        small.unwrap();
        let path = full.join("journal.jsonl");
        let mut journal = Journal::open(&path).unwrap();
        journal.append(say("one")).unwrap();
        let filler = std::fs::write(full.join("filler"), vec![1; 2 << 20]);
        assert!(filler.is_err());
        let long = "x".repeat(8192);
        for text in [&long, "the disk is full"] {
            journal.append(say(text)).unwrap();
        }
        drop(journal);
        let seen = read_records(&path).unwrap();
        nix::mount::umount(&full).unwrap();
        let words: Vec<Event> = seen.into_iter().map(|r| r.event).collect();
        assert_eq!(words, [say("one"), say(&long), say("the disk is full")]);
    }

    #[test]
    fn a_tail_gives_each_record_once_and_waits_for_whole_lines() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("journal.jsonl");
        let mut tail = Tail::new(&path);
        assert!(tail.poll().unwrap().is_empty());
        let mut journal = Journal::open(&path).unwrap();
        journal.append(say("one")).unwrap();
        let line = serde_json::to_vec(&Record {
            v: 1,
            seq: 9,
            at_s: 0.0,
            event: say("é"),
        })
        .unwrap();
        let (head, rest) = line.split_at(line.len() - 4);
        journal.file.write_all(head).unwrap();
        assert_eq!(tail.poll().unwrap().len(), 1);
        journal.file.write_all(rest).unwrap();
        journal.file.write_all(b"\n").unwrap();
        let got = tail.poll().unwrap();
        assert_eq!(got.len(), 1);
        assert_eq!(got[0].event, say("é"));
        assert!(tail.poll().unwrap().is_empty());
    }

    #[test]
    fn a_kind_of_a_later_version_is_kept_as_unknown() {
        let record: Record =
            serde_json::from_str(r#"{"v":1,"seq":0,"at_s":0.0,"event":"teleported","to":"mars"}"#)
                .unwrap();
        assert_eq!(record.event, Event::Unknown);
    }
}
