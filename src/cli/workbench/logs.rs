//! Pieces of growing files: journals, agent logs, what the suites printed.

use std::fs::File;
use std::io::{BufRead, BufReader, ErrorKind, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use crate::domain::case::CaseDetail;
use crate::domain::{CaseResult, Record, Subject, Suite};
use crate::store::RunDir;
use crate::tui::backend::{Answer, BackendError, JournalChunk, LogChunk, LogKey};

use super::backend::place;

/// Bytes of one case's story that are read.
const LONGEST_DETAIL: u64 = 16 << 20;

/// How the names of files begin that an agent's programs wrote beside its log.
const BESIDE: &str = "agent-";

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
    // looked at before it is read: what is written meanwhile is news the next time
    let meta = file.metadata().map_err(|e| place(path, &e))?;
    let written = meta.modified().ok();
    let mut bytes = Vec::new();
    file.seek(SeekFrom::Start(from))
        .and_then(|_| file.take(max as u64).read_to_end(&mut bytes))
        .map_err(|e| place(path, &e))?;
    Ok(LogChunk {
        next: from + bytes.len() as u64,
        at_end: bytes.len() < max,
        bytes,
        written_s: written
            .and_then(|at| at.duration_since(UNIX_EPOCH).ok())
            .map(|d| d.as_secs_f64()),
        size: meta.len(),
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

/// Where a file that an agent left beside its log is; `None`: its name is not one of those.
pub fn beside_path(run: &RunDir, name: &str) -> Option<PathBuf> {
    let plain = name
        .chars()
        .all(|c| c.is_ascii_alphanumeric() || "-_.".contains(c));
    (plain && !name.is_empty()).then(|| run.output_dir().join(format!("{BESIDE}{name}.log")))
}

/// The output files of a run: what its agent's programs wrote, the submission's suites, gold's,
/// and the logs of agents of earlier attempts, the oldest first.
pub fn outputs(run: &RunDir) -> Answer<Vec<LogKey>> {
    let earlier = (1..).take_while(|attempt| run.earlier_log_path(*attempt).is_file());
    let earlier: Vec<LogKey> = earlier
        .map(|attempt| LogKey::Attempt {
            run: run.id(),
            attempt,
        })
        .collect();
    let dir = run.output_dir();
    let entries = match std::fs::read_dir(&dir) {
        Ok(entries) => entries,
        Err(e) if e.kind() == ErrorKind::NotFound => return Ok(earlier),
        Err(e) => return Err(place(&dir, &e)),
    };
    let mut agent = Vec::new();
    let mut suites: Vec<(bool, Suite, u32, LogKey)> = Vec::new();
    for name in entries.filter_map(Result::ok).map(|e| e.file_name()) {
        let Some(name) = name.to_str().and_then(|name| name.strip_suffix(".log")) else {
            continue;
        };
        if let Some(name) = name.strip_prefix(BESIDE) {
            if beside_path(run, name).is_some() {
                agent.push(name.to_owned());
            }
        } else if let Some((subject, suite, rank)) = output(name) {
            let key = LogKey::Output {
                run: run.id(),
                subject,
                suite,
                rank,
            };
            suites.push((subject == Subject::Gold, suite, rank, key));
        }
    }
    agent.sort();
    suites.sort_by_key(|(gold, suite, rank, _)| (*gold, *suite, *rank));
    let beside = agent.into_iter().map(|name| LogKey::Beside {
        run: run.id(),
        name,
    });
    Ok(beside
        .chain(suites.into_iter().map(|(.., key)| key))
        .chain(earlier)
        .collect())
}

fn output(name: &str) -> Option<(Subject, Suite, u32)> {
    let mut parts = name.split('-');
    let (subject, suite, rank) = (parts.next()?, parts.next()?, parts.next()?);
    let subject = [Subject::Gold, Subject::Submission]
        .into_iter()
        .find(|s| s.name() == subject)?;
    let suite = Suite::ALL.into_iter().find(|s| s.name() == suite)?;
    Some((subject, suite, rank.parse().ok()?))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::agent::trace::{self, Entry, Kind, Progress, Summary};
    use crate::domain::RunId;
    use crate::domain::submission::LogFormat;
    use crate::tui::effect::LogWish;
    use crate::tui::msg::LogDelta;
    use crate::tui::reading::{Figures, Reading, read_on};
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

    /// Follows a run's agent log as the workbench does; keeps what would be on the screen.
    struct Follower {
        dir: tempfile::TempDir,
        slot: Option<Reading>,
        wish: LogWish,
        entries: Vec<Entry>,
        last: LogDelta,
    }

    impl Follower {
        fn new(format: LogFormat) -> Self {
            let key = LogKey::Run {
                run: RunId("r".into()),
            };
            Self {
                dir: tempfile::tempdir().unwrap(),
                slot: None,
                wish: LogWish {
                    key,
                    format,
                    ticket: 0,
                    restart: None,
                    raw: false,
                    full: false,
                    grows: true,
                    since_s: Some(1000.0),
                },
                entries: Vec::new(),
                last: LogDelta::default(),
            }
        }

        fn path(&self) -> PathBuf {
            self.dir.path().join("agent.log")
        }

        fn read(&mut self) -> &[Entry] {
            let run = RunDir::at(self.dir.path().to_path_buf());
            let read = |key: &LogKey, from, max| match key {
                LogKey::Times { .. } => read(&run.agent_times_path(), from, max),
                _ => read(&run.agent_log_path(), from, max),
            };
            loop {
                let delta = read_on(&mut self.slot, &read, &self.wish).unwrap();
                if delta.replaced {
                    self.entries.clear();
                }
                for (at, entry) in &delta.entries {
                    if *at < self.entries.len() {
                        self.entries[*at] = entry.clone();
                    } else {
                        assert_eq!(*at, self.entries.len());
                        self.entries.push(entry.clone());
                    }
                }
                self.entries.truncate(delta.len);
                // as the pane does: more than this is not held
                self.wish.full |= delta.to > 64 << 20;
                let more = delta.more;
                self.last = delta;
                if !more {
                    return &self.entries;
                }
            }
        }

        fn figures(&self) -> Figures {
            self.last.figures.clone().unwrap()
        }
    }

    fn recording(name: &str) -> Vec<u8> {
        let dir = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/agent_logs");
        std::fs::read(Path::new(dir).join(name)).unwrap()
    }

    #[test]
    fn a_stream_that_grows_ends_as_one_that_is_read_whole() {
        for (name, format, cost) in [
            ("codex-tools-merged.jsonl", LogFormat::Codex, false),
            ("claude-tools.jsonl", LogFormat::Claude, true),
            ("opencode-tools.jsonl", LogFormat::Opencode, true),
        ] {
            let all = recording(name);
            let mut follower = Follower::new(format);
            let mut file = File::create(follower.path()).unwrap();
            let mut commands = 0;
            for piece in all.chunks(997) {
                file.write_all(piece).unwrap();
                // half a line of JSON is not shown as it comes in
                let half = follower.read().iter().filter(|entry| {
                    matches!(&entry.kind, Kind::Raw { text } if text.starts_with("{\"type"))
                });
                assert_eq!(half.count(), 0, "{name}");
                assert!(follower.figures().commands >= commands);
                commands = follower.figures().commands;
            }
            follower.wish.grows = false;
            let grown = follower.read().to_vec();
            let figures = follower.figures();
            let mut document = Summary::new(format);
            let facts = trace::read(all.as_slice(), format, &mut |at, entry| {
                document.take(at, &entry);
            });
            let document = document.document(facts.unwrap());
            assert_eq!(figures.commands, document.commands.len(), "{name}");
            assert_eq!(figures.usage, document.usage, "{name}");
            let told = figures.usage.and_then(|usage| usage.cost_usd);
            assert_eq!(told.is_some(), cost, "{name}");
            let failed = |entry: &&Entry| {
                matches!(
                    &entry.kind,
                    Kind::Command {
                        progress: Progress::Failed,
                        ..
                    }
                )
            };
            assert_eq!(figures.failed, grown.iter().filter(failed).count());
            assert_eq!(figures.model, document.model);
        }
    }

    #[test]
    fn a_stream_without_times_gets_those_of_its_arrival() {
        let mut follower = Follower::new(LogFormat::Codex);
        let line = |event: &str, rest: &str| {
            format!(
                "{{\"type\":\"item.{event}\",\"item\":{{\"id\":\"i\",\"type\":\
                 \"command_execution\",\"command\":\"x\",\"aggregated_output\":\"\"{rest}}}}}\n"
            )
        };
        let begin = line("started", ",\"status\":\"in_progress\"");
        let end = line("completed", ",\"exit_code\":1,\"status\":\"failed\"");
        std::fs::write(follower.path(), &begin).unwrap();
        let times = follower.dir.path().join("agent.times");
        let half = begin.len() / 2;
        let rest = begin.len() - half;
        std::fs::write(&times, format!("500 {half}\n1500 {rest}\n")).unwrap();
        assert_eq!(follower.read()[0].at_s, Some(1001.5));
        assert_eq!(follower.figures().running, 1);
        std::fs::write(follower.path(), format!("{begin}{end}")).unwrap();
        let more = format!("500 {half}\n1500 {rest}\n4000 {}\n", end.len());
        std::fs::write(&times, more).unwrap();
        let entry = follower.read()[0].clone();
        assert_eq!(entry.at_s, Some(1001.5), "when it began");
        let Kind::Command {
            duration_s, exit, ..
        } = entry.kind
        else {
            panic!("{entry:?}");
        };
        assert_eq!((duration_s, exit), (Some(2.5), Some(1)));
        assert_eq!(
            (follower.figures().running, follower.figures().failed),
            (0, 1)
        );
    }

    #[test]
    fn a_stream_that_is_shorter_or_another_is_read_anew() {
        let mut follower = Follower::new(LogFormat::Text);
        std::fs::write(follower.path(), "one\ntwo\nthree\n").unwrap();
        assert_eq!(follower.read().len(), 3);
        // nothing there yet of the one that begins: the old one stays in sight
        std::fs::write(follower.path(), "").unwrap();
        assert_eq!(follower.read().len(), 3);
        std::fs::write(follower.path(), "four\n").unwrap();
        assert_eq!(follower.read().len(), 1);
        assert!(follower.last.replaced);
        std::fs::write(follower.path(), "six!\nseven\n").unwrap();
        assert_eq!(follower.read().len(), 2);
        assert!(follower.last.replaced);
        std::fs::write(follower.path(), "six!\nseven\neight\n").unwrap();
        assert_eq!(follower.read().len(), 3);
        assert!(!follower.last.replaced);
        std::fs::remove_file(follower.path()).unwrap();
        assert_eq!(follower.read().len(), 3);
    }

    #[test]
    fn a_trajectory_is_read_anew_each_time_and_never_shown_by_half() {
        let all = recording("mini-tools.traj.json");
        let whole: serde_json::Value = serde_json::from_slice(&all).unwrap();
        let messages = whole["messages"].as_array().unwrap().len();
        let mut follower = Follower::new(LogFormat::Mini);
        let mut seen = 0;
        for count in 1..=messages {
            let mut part = whole.clone();
            part["messages"].as_array_mut().unwrap().truncate(count);
            let text = serde_json::to_vec(&part).unwrap();
            std::fs::write(follower.path(), &text[..text.len() / 3]).unwrap();
            follower.read();
            assert!(follower.entries.len() >= seen, "{count}");
            std::fs::write(follower.path(), &text).unwrap();
            seen = follower.read().len();
        }
        let figures = follower.figures();
        assert!(figures.commands > 3 && figures.failed > 0, "{figures:?}");
        assert_eq!(figures.files, None, "it has no edit tools: unknown");
        let usage = figures.usage.unwrap();
        assert!(usage.input > 0 && usage.cost_usd.is_some());
        let before = follower.entries.clone();
        assert_eq!(follower.read(), before);
        assert!(!follower.last.replaced, "it was not written to");
    }

    #[test]
    fn beyond_its_bound_a_log_is_counted_and_not_kept() {
        let mut follower = Follower::new(LogFormat::Opencode);
        let mut file = std::io::BufWriter::new(File::create(follower.path()).unwrap());
        let filler = "x".repeat(1 << 20);
        let mut written = 0;
        while written < 70 << 20 {
            let line = format!(
                "{{\"type\":\"step_finish\",\"part\":{{\"tokens\":{{\"input\":1,\"output\":2}},\
                 \"cost\":0.5,\"pad\":\"{filler}\"}}}}\n"
            );
            file.write_all(line.as_bytes()).unwrap();
            written += line.len();
        }
        drop(file);
        let kept = follower.read().len();
        assert!(follower.last.cut);
        let figures = follower.figures();
        let usage = figures.usage.unwrap();
        assert!((kept as u64) < usage.input, "{kept} of {}", usage.input);
        assert_eq!(usage.output, 2 * usage.input);
    }
}
