//! The machine's own load, from `/proc`.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::Reading;
use super::attribution::Attribution;
use super::proc::{self, CpuTime};
use super::snapshot::{Disk, HostLoad, HostProcess, WorkerProcess};
use crate::store::now_s;

/// Processes of runs that are listed.
const LISTED: usize = 8;

/// Remembers the last counters: rates are differences.
pub(super) struct HostSampler {
    proc: PathBuf,
    home: PathBuf,
    attribution: Attribution,
    all: Option<CpuTime>,
    cores: BTreeMap<u32, CpuTime>,
    /// (pid, start) -> clock ticks.
    ticks: BTreeMap<(u32, u64), u64>,
}

impl HostSampler {
    pub fn new(proc: &Path, home: &Path) -> Self {
        Self {
            proc: proc.to_path_buf(),
            home: home.to_path_buf(),
            attribution: Attribution::new(proc),
            all: None,
            cores: BTreeMap::new(),
            ticks: BTreeMap::new(),
        }
    }

    /// One sample, and every process of a live run with the run it belongs to.
    pub fn sample(&mut self, workers: &[WorkerProcess]) -> (HostLoad, BTreeMap<u32, String>) {
        let mut load = HostLoad {
            read_at_s: now_s(),
            disk: disk(&self.home),
            cache_disk: disk(&self.home.join("cache")),
            ..HostLoad::default()
        };
        let before = self.all;
        self.processors(&mut load);
        if let Some(text) = self.read("loadavg") {
            load.load = proc::load(&text).map_or(Reading::Unsupported, Reading::Value);
        }
        if let Some(memory) = self.read("meminfo").and_then(|text| proc::memory(&text)) {
            let known = |value: Option<u64>| value.map_or(Reading::Unsupported, Reading::Value);
            load.memory_total_bytes = Reading::Value(memory.total);
            load.memory_used_bytes =
                known(memory.available.map(|a| memory.total.saturating_sub(a)));
            load.swap_total_bytes = known(memory.swap_total);
            load.swap_used_bytes = known(
                memory
                    .swap_total
                    .zip(memory.swap_free)
                    .map(|(total, free)| total.saturating_sub(free)),
            );
        }
        let trees = self.attribution.trees(workers);
        // clock ticks that passed on one core
        let passed = before
            .zip(self.all)
            .and_then(|(before, now)| now.total.checked_sub(before.total))
            .map(|ticks| ticks as f64 / self.cores.len().max(1) as f64)
            .filter(|ticks| *ticks > 0.0);
        self.processes(&trees, passed, &mut load);
        (load, trees)
    }

    fn processors(&mut self, load: &mut HostLoad) {
        let Some((all, cores)) = self.read("stat").and_then(|text| proc::cpu_times(&text)) else {
            return;
        };
        let share = self.all.and_then(|before| all.busy_pct_since(before));
        load.cpu_pct = share.map_or(Reading::Unsupported, Reading::Value);
        let shares: Option<Vec<f64>> = cores
            .iter()
            .map(|(number, now)| now.busy_pct_since(*self.cores.get(number)?))
            .collect();
        load.cores_pct = shares.map_or(Reading::Unsupported, Reading::Value);
        self.all = Some(all);
        self.cores = cores.into_iter().collect();
    }

    fn processes(
        &mut self,
        trees: &BTreeMap<u32, String>,
        passed: Option<f64>,
        load: &mut HostLoad,
    ) {
        let mut ticks = BTreeMap::new();
        let mut found = Vec::new();
        for (pid, run) in trees {
            let text = self.read(&format!("{pid}/stat")).unwrap_or_default();
            let Some(stat) = proc::stat(&text) else {
                continue; // gone meanwhile
            };
            let key = (*pid, stat.start);
            ticks.insert(key, stat.ticks);
            let spent = self
                .ticks
                .get(&key)
                .and_then(|before| stat.ticks.checked_sub(*before))
                .zip(passed)
                .map(|(spent, passed)| spent as f64 * 100.0 / passed);
            found.push((spent, *pid, run, stat));
        }
        self.ticks = ticks;
        load.processes_total = found.len() as u32;
        found.sort_by(|a, b| {
            let spent = |f: Option<f64>| f.unwrap_or(-1.0);
            spent(b.0)
                .total_cmp(&spent(a.0))
                .then(b.3.resident_pages.cmp(&a.3.resident_pages))
                .then(a.1.cmp(&b.1))
        });
        load.processes = found
            .into_iter()
            .take(LISTED)
            .map(|(spent, pid, run, stat)| HostProcess {
                pid,
                run: run.clone(),
                rank: self.attribution.rank(pid),
                command: self
                    .attribution
                    .command(pid)
                    .value()
                    .unwrap_or(stat.command),
                cpu_pct: spent.map_or(Reading::Unsupported, Reading::Value),
                memory_bytes: self
                    .read(&format!("{pid}/status"))
                    .and_then(|status| proc::resident_bytes(&status))
                    .map_or(Reading::Unsupported, Reading::Value),
            })
            .collect();
    }

    fn read(&self, name: &str) -> Option<String> {
        // a command may hold bytes that are no text
        let bytes = std::fs::read(self.proc.join(name)).ok()?;
        Some(String::from_utf8_lossy(&bytes).into_owned())
    }
}

/// Space on the file system of a folder, which need not exist yet.
fn disk(folder: &Path) -> Reading<Disk> {
    let absolute = std::path::absolute(folder).unwrap_or_else(|_| folder.to_path_buf());
    let there = absolute.ancestors().find(|f| f.exists());
    let answer = nix::sys::statvfs::statvfs(there.unwrap_or(folder)).map_err(std::io::Error::from);
    Reading::from(answer).map(|s| Disk {
        free_bytes: s.blocks_available().saturating_mul(s.fragment_size()),
        total_bytes: s.blocks().saturating_mul(s.fragment_size()),
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use std::process::Command;
    use std::time::Duration;

    use super::*;

    #[test]
    fn this_machine_under_load() {
        let mut host = HostSampler::new(Path::new("/proc"), Path::new("/"));
        let (first, _) = host.sample(&[]);
        // a rate needs two readings; until then it is unknown, not 0
        assert_eq!(first.cpu_pct, Reading::Unsupported);
        assert_eq!(first.cores_pct, Reading::Unsupported);
        assert!(
            first.memory_used_bytes.value().unwrap() < first.memory_total_bytes.value().unwrap()
        );
        assert!(first.load.value().is_some());
        assert!(
            first
                .disk
                .value()
                .is_some_and(|d| d.free_bytes <= d.total_bytes)
        );

        let mut busy = Command::new("sh")
            .args(["-c", "while :; do :; done"])
            .spawn()
            .unwrap();
        let workers = [WorkerProcess {
            run: "r".into(),
            pid: busy.id(),
        }];
        let (_, trees) = host.sample(&workers);
        std::thread::sleep(Duration::from_millis(600));
        let (second, _) = host.sample(&workers);
        busy.kill().unwrap();
        busy.wait().unwrap();
        assert_eq!(trees.get(&busy.id()).map(String::as_str), Some("r"));
        assert!(second.cpu_pct.value().unwrap() > 0.0);
        let cores = second.cores_pct.clone().value().unwrap();
        assert!(!cores.is_empty() && cores.iter().all(|c| (0.0..=100.0).contains(c)));
        assert_eq!(second.processes_total, 1);
        let process = &second.processes[0];
        assert_eq!((process.pid, process.run.as_str()), (busy.id(), "r"));
        assert!(process.command.starts_with("sh -c while"));
        // it takes what a busy machine leaves it, and one core at most (ticks are 10 ms)
        let share = process.cpu_pct.value().unwrap();
        assert!(share > 0.0 && share < 120.0, "{share}");
        assert!(process.memory_bytes.value().unwrap() > 0);
    }

    #[test]
    fn a_machine_that_tells_nothing() {
        let empty = tempfile::tempdir().unwrap();
        let mut host = HostSampler::new(empty.path(), &empty.path().join("absent"));
        let (first, _) = host.sample(&[]);
        // a home that is not there yet lies on a disk all the same
        assert!(first.disk.value().is_some());
        let (load, _) = host.sample(&[WorkerProcess {
            run: "r".into(),
            pid: 1,
        }]);
        assert_eq!(
            HostLoad {
                read_at_s: 0.0,
                disk: Reading::Unsupported,
                cache_disk: Reading::Unsupported,
                ..load
            },
            HostLoad::default()
        );
    }
}
