//! codex's own record of its session, in the agent's home: its stream tells tokens at its end only.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use super::theirs::open_theirs;
use crate::agent::trace::{codex_session, rollout_usage};
use crate::domain::Usage;

/// Below `CODEX_HOME`, which its adapter sets: a folder a year, month and day.
const SESSIONS: &str = ".codex/sessions";
const DEPTH: usize = 4;
/// The last line that tells is near the end.
const TAIL: u64 = 1 << 20;
/// A stream names its session first.
const HEAD: u64 = 64 << 10;
/// Entries of these folders that are looked at.
const MOST: usize = 4000;

/// The record of the session that the stream is of. A sub-agent keeps one of its own beside it:
/// totals are for the parent session (METHOD.md section 9).
pub(super) struct Rollout {
    /// The agent's, outside.
    home: PathBuf,
    log: PathBuf,
    /// By the stream's own id, once it is known and there.
    found: Option<PathBuf>,
}

impl Rollout {
    pub(super) fn new(home: PathBuf, log: PathBuf) -> Self {
        Self {
            home,
            log,
            found: None,
        }
    }

    /// Tokens of the session so far.
    pub(super) fn tokens(&mut self) -> Option<Usage> {
        let path = self.path()?;
        let mut file = open_theirs(&self.home, &path).ok()??;
        let size = file.metadata().ok()?.len();
        file.seek(SeekFrom::Start(size.saturating_sub(TAIL))).ok()?;
        let mut bytes = Vec::new();
        file.take(TAIL).read_to_end(&mut bytes).ok()?;
        rollout_usage(&bytes)
    }

    /// The record that has the stream's id in its name; else the first one, which is older than
    /// those of its sub-agents.
    fn path(&mut self) -> Option<PathBuf> {
        if self.found.is_some() {
            return self.found.clone();
        }
        let mut all = Vec::new();
        let mut left = MOST;
        records(&self.home, Path::new(SESSIONS), DEPTH, &mut left, &mut all);
        all.sort();
        let first = all.first()?.clone();
        if let Some(id) = self.id() {
            let end = format!("-{id}");
            let own = |path: &PathBuf| {
                let stem = path.file_stem().map(|stem| stem.to_string_lossy());
                stem.is_some_and(|stem| stem.ends_with(&end))
            };
            self.found = all.into_iter().find(own);
        }
        Some(self.found.clone().unwrap_or(first))
    }

    fn id(&self) -> Option<String> {
        let mut head = Vec::new();
        let log = File::open(&self.log).ok()?;
        log.take(HEAD).read_to_end(&mut head).ok()?;
        codex_session(&head)
    }
}

/// Records in a folder and `depth` levels of folders in it, by their paths in `home`. Links are not
/// followed.
fn records(home: &Path, folder: &Path, depth: usize, left: &mut usize, all: &mut Vec<PathBuf>) {
    let outside = home.join(folder);
    if depth == 0 || !outside.symlink_metadata().is_ok_and(|m| m.is_dir()) {
        return;
    }
    for entry in std::fs::read_dir(outside).into_iter().flatten().flatten() {
        if *left == 0 {
            return;
        }
        *left -= 1;
        let path = folder.join(entry.file_name());
        if path.extension().is_some_and(|e| e == "jsonl") {
            all.push(path);
        } else {
            records(home, &path, depth - 1, left, all);
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn record(home: &Path, name: &str, input: u64) {
        let path = home.join(SESSIONS).join("2026/11").join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        let line = format!(
            "{{\"type\":\"event_msg\",\"payload\":{{\"type\":\"token_count\",\"info\":{{\"total_token_usage\":\
             {{\"input_tokens\":{input},\"cached_input_tokens\":10,\"output_tokens\":5,\"reasoning_output_tokens\":2}}}}}}}}\n"
        );
        std::fs::write(path, line).unwrap();
    }

    #[test]
    fn a_sub_agents_record_does_not_take_the_place_of_the_sessions_own() {
        let dir = tempfile::tempdir().unwrap();
        let (home, log) = (dir.path().join("home"), dir.path().join("agent.log"));
        let mut rollout = Rollout::new(home.clone(), log.clone());
        assert_eq!(rollout.tokens(), None);
        let input = |rollout: &mut Rollout| rollout.tokens().map(|usage| usage.input);
        record(&home, "02/rollout-2026-11-02T10-00-00-aa-1.jsonl", 100);
        let usage = rollout.tokens().unwrap();
        assert_eq!((usage.input, usage.cache_read, usage.output), (90, 10, 3));
        // without an id it is the first one
        record(&home, "02/rollout-2026-11-02T10-00-07-bb-2.jsonl", 200);
        record(&home, "03/rollout-2026-11-03T00-00-01-cc-3.jsonl", 300);
        assert_eq!(input(&mut rollout), Some(90));
        // one that is not there yet changes nothing; then it is the one that the stream names
        let started = "noise\n{\"type\":\"thread.started\",\"thread_id\":\"dd-4\"}\n";
        std::fs::write(&log, started).unwrap();
        assert_eq!(input(&mut rollout), Some(90));
        std::fs::write(&log, started.replace("dd-4", "bb-2")).unwrap();
        assert_eq!(input(&mut rollout), Some(190));
        record(&home, "02/rollout-2026-11-02T10-00-07-bb-2.jsonl", 250);
        record(&home, "03/rollout-2026-11-03T00-00-02-ee-5.jsonl", 900);
        assert_eq!(input(&mut rollout), Some(240));
    }
}
