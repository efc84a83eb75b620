//! How much of a processor a process uses, and since when it is there.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use super::{Reading, proc};

/// Clock ticks in a second (USER_HZ, the same on every machine that has these GPUs).
const TICKS: f64 = 100.0;
/// Shares over less time than this say nothing: a tick is 10 ms.
const LEAST: Duration = Duration::from_millis(300);
/// What was not asked for as long is forgotten.
const FORGOTTEN: Duration = Duration::from_secs(60);

#[derive(Clone, Copy, Debug)]
struct Seen {
    at: Instant,
    ticks: u64,
    share: Reading<f64>,
}

/// Remembers the last counters of each process: shares are differences.
#[derive(Clone, Debug)]
pub(super) struct Clocks {
    proc: PathBuf,
    boot_s: Option<f64>,
    /// By pid and start.
    seen: BTreeMap<(u32, u64), Seen>,
}

impl Clocks {
    pub fn new(proc: &Path) -> Self {
        let stat = std::fs::read_to_string(proc.join("stat")).unwrap_or_default();
        Self {
            proc: proc.to_path_buf(),
            boot_s: proc::boot_s(&stat),
            seen: BTreeMap::new(),
        }
    }

    /// Percent of one core since it was last asked for, and when it began, in seconds since the
    /// epoch.
    pub fn read(&mut self, pid: u32) -> (Reading<f64>, Reading<f64>) {
        let path = self.proc.join(pid.to_string()).join("stat");
        let stat = match std::fs::read(path) {
            Ok(bytes) => proc::stat(&String::from_utf8_lossy(&bytes)),
            Err(error) => {
                let none = Reading::<f64>::from(Err(error));
                return (none, none);
            }
        };
        let Some(stat) = stat else {
            return (Reading::Unsupported, Reading::Unsupported);
        };
        let now = Instant::now();
        self.seen
            .retain(|_, seen| now.duration_since(seen.at) < FORGOTTEN);
        let key = (pid, stat.start);
        let share = match self.seen.get(&key) {
            // one process on several GPUs is asked for again at once
            Some(seen) if now.duration_since(seen.at) < LEAST => seen.share,
            before => {
                let share = before.map_or(Reading::Unsupported, |before| {
                    let spent = stat.ticks.saturating_sub(before.ticks) as f64 / TICKS;
                    let passed = now.duration_since(before.at).as_secs_f64();
                    Reading::Value(spent * 100.0 / passed)
                });
                let seen = Seen {
                    at: now,
                    ticks: stat.ticks,
                    share,
                };
                self.seen.insert(key, seen);
                share
            }
        };
        let started = self.boot_s.map(|boot| boot + stat.start as f64 / TICKS);
        (share, started.map_or(Reading::Unsupported, Reading::Value))
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::store::now_s;

    #[test]
    fn a_busy_process_and_one_that_is_gone() {
        let mut busy = std::process::Command::new("sh")
            .args(["-c", "while :; do :; done"])
            .spawn()
            .unwrap();
        let pid = busy.id();
        let mut clocks = Clocks::new(Path::new("/proc"));
        let (first, started) = clocks.read(pid);
        assert_eq!(first, Reading::Unsupported);
        assert!((now_s() - started.value().unwrap()).abs() < 30.0);
        // at once again: the same answer, not a share of nothing
        assert_eq!(clocks.read(pid).0, Reading::Unsupported);
        std::thread::sleep(Duration::from_millis(600));
        let (second, _) = clocks.read(pid);
        busy.kill().unwrap();
        busy.wait().unwrap();
        assert!(second.value().unwrap() > 0.0);
        assert_eq!(
            clocks.read(pid),
            (Reading::Unsupported, Reading::Unsupported)
        );
    }
}
