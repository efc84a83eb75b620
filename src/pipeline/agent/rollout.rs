//! codex's own record of its session, in the agent's home: its stream tells tokens at its end only.

use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use super::theirs::open_theirs;
use crate::agent::trace::rollout_usage;
use crate::domain::Usage;

/// Below `CODEX_HOME`, which its adapter sets: a folder a year, month and day.
const SESSIONS: &str = ".codex/sessions";
const DEPTH: usize = 4;
/// The last line that tells is near the end.
const TAIL: u64 = 1 << 20;
/// Entries of a folder that are looked at.
const MOST: usize = 1000;

/// Tokens of the newest session so far.
pub(super) fn tokens(home: &Path) -> Option<Usage> {
    let mut path = PathBuf::from(SESSIONS);
    for _ in 0..DEPTH {
        path.push(newest(&home.join(&path))?);
        if path.extension().is_some_and(|e| e == "jsonl") {
            break;
        }
    }
    let mut file = open_theirs(home, &path).ok()??;
    let size = file.metadata().ok()?.len();
    file.seek(SeekFrom::Start(size.saturating_sub(TAIL))).ok()?;
    let mut bytes = Vec::new();
    file.take(TAIL).read_to_end(&mut bytes).ok()?;
    rollout_usage(&bytes)
}

/// The last name: all of them begin with a date.
fn newest(folder: &Path) -> Option<std::ffi::OsString> {
    let plain = folder.symlink_metadata().ok()?.is_dir();
    let names = std::fs::read_dir(folder).ok().filter(|_| plain)?;
    names.take(MOST).flatten().map(|e| e.file_name()).max()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn the_newest_session_tells() {
        let home = tempfile::tempdir().unwrap();
        assert_eq!(tokens(home.path()), None);
        let line = |input: u64| {
            format!(
                "{{\"type\":\"event_msg\",\"payload\":{{\"type\":\"token_count\",\"info\":{{\"total_token_usage\":\
                 {{\"input_tokens\":{input},\"cached_input_tokens\":10,\"output_tokens\":5,\"reasoning_output_tokens\":2}}}}}}}}\n"
            )
        };
        for (day, input) in [("01", 100), ("02", 200)] {
            let folder = home.path().join(SESSIONS).join("2026/11").join(day);
            std::fs::create_dir_all(&folder).unwrap();
            std::fs::write(folder.join("rollout-2026.jsonl"), line(input)).unwrap();
        }
        let usage = tokens(home.path()).unwrap();
        assert_eq!((usage.input, usage.cache_read, usage.output), (190, 10, 3));
    }
}
