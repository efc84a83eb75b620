//! Memory and process limits of the sandbox as a whole, watched from process 1.
//!
//! Most checks are one small file a process: the sum of resident pages, which counts shared pages
//! once for each process that has them. Only when that sum is over the limit is the exact share
//! asked for, which costs the kernel a walk through the page tables.

use std::collections::HashMap;
use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::time::{Duration, Instant};

use nix::sys::statvfs::statvfs;

use super::super::{Begin, Isolation, Limits};
use super::kernel_kills::KernelKills;
use super::tree::{Task, count, has_gone, list};

/// Between two checks while anything runs.
pub(super) const TICK: Duration = Duration::from_millis(50);
/// Between two checks while processes become more.
const GROWING_TICK: Duration = Duration::from_millis(5);
/// Files in memory that are only reachable through a descriptor are looked for once in so many
/// checks.
const DESCRIPTOR_TICKS: u32 = 8;
/// Exact measurements take at most one part in this many of our time.
const EXACT_SHARE: u32 = 10;
const PAGE: u64 = 4096;

/// A limit that was exceeded.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Hit {
    pub limit: &'static str,
    pub detail: String,
}

#[derive(Debug)]
pub(super) struct Watch {
    limits: Limits,
    isolation: Isolation,
    ticks: u32,
    /// Bytes of memory files, as last looked for.
    descriptor_bytes: u64,
    exact_from: Instant,
    page: u64,
    threads: u64,
    growing: bool,
    kernel: KernelKills,
}

impl Watch {
    pub(super) fn new(begin: &Begin) -> Self {
        let page = nix::unistd::sysconf(nix::unistd::SysconfVar::PAGE_SIZE)
            .ok()
            .flatten()
            .and_then(|n| u64::try_from(n).ok())
            .unwrap_or(PAGE);
        Self {
            limits: begin.limits,
            isolation: begin.isolation,
            kernel: KernelKills::new(begin.memory_group),
            ticks: 0,
            descriptor_bytes: 0,
            exact_from: Instant::now(),
            page,
            threads: 0,
            growing: true,
        }
    }

    /// How long the next check may wait.
    pub(super) fn tick(&self) -> Duration {
        if self.growing { GROWING_TICK } else { TICK }
    }

    fn too_many(&self, threads: u64) -> Hit {
        let limit = self.limits.processes;
        Hit {
            limit: "processes",
            detail: format!("{threads} processes and threads, over the limit of {limit}"),
        }
    }

    /// Forgets what was measured of processes that are gone now: what comes after a kill must not
    /// answer for it.
    pub(super) fn forget(&mut self) {
        (self.ticks, self.descriptor_bytes) = (0, 0);
        (self.threads, self.growing) = (0, true);
    }

    /// Processes that the kernel killed since this was last asked: faster than we look, they took
    /// more than the limit and all that is allowed beyond.
    pub(super) fn kernel_kills(&mut self) -> Option<Hit> {
        let killed = self.kernel.fresh();
        (killed > 0).then(|| Hit {
            limit: "memory",
            detail: format!(
                "the kernel killed {killed} of its processes, far over the limit of {} MiB",
                self.limits.memory_bytes >> 20
            ),
        })
    }

    /// Looks once. An error means that we cannot see: the caller ends the sandbox.
    pub(super) fn check(&mut self) -> io::Result<Option<Hit>> {
        if let Some(hit) = self.kernel_kills() {
            return Ok(Some(hit));
        }
        let crowd = count(self.isolation);
        if crowd > 2 * self.limits.processes {
            return Ok(Some(self.too_many(crowd)));
        }
        let tasks = list(self.isolation)?;
        if tasks.is_empty() {
            (self.threads, self.growing) = (0, false);
            return Ok(None);
        }
        let threads: u64 = tasks.iter().map(|t| t.threads).sum();
        self.growing = threads > self.threads;
        self.threads = threads;
        if threads > self.limits.processes {
            return Ok(Some(self.too_many(threads)));
        }
        self.ticks = self.ticks.wrapping_add(1);
        if self.ticks % DESCRIPTOR_TICKS == 1 {
            self.descriptor_bytes = memory_files(&tasks)?;
        }
        let files = self.file_bytes()?;
        let resident: u64 = tasks.iter().map(|t| t.resident_pages * self.page).sum();
        if resident + files <= self.limits.memory_bytes || Instant::now() < self.exact_from {
            return Ok(None);
        }
        let start = Instant::now();
        let used = self.exact(&tasks, files)?;
        self.exact_from = Instant::now() + start.elapsed() * EXACT_SHARE;
        let limit = self.limits.memory_bytes;
        Ok((used > limit).then(|| Hit {
            limit: "memory",
            detail: format!(
                "{} MiB in use, of which {} MiB are files in memory, over the limit of {} MiB",
                used >> 20,
                files >> 20,
                limit >> 20
            ),
        }))
    }

    /// Files in memory: `/tmp`, `/dev/shm`, System V segments, memory files.
    fn file_bytes(&self) -> io::Result<u64> {
        if self.isolation == Isolation::None {
            return Ok(self.descriptor_bytes);
        }
        let used = |path: &str| -> io::Result<u64> {
            let s = statvfs(path)?;
            Ok((s.blocks() - s.blocks_free()) * s.fragment_size())
        };
        let segments = match fs::read_to_string("/proc/sysvipc/shm") {
            Ok(text) => segment_bytes(&text),
            Err(e) if e.kind() == io::ErrorKind::NotFound => 0,
            Err(e) => return Err(e),
        };
        Ok(used("/tmp")? + used("/dev/shm")? + segments + self.descriptor_bytes)
    }

    /// Shared pages counted once. Pages of files in memory may be mapped, and then stand in both
    /// sums: the larger one counts.
    fn exact(&self, tasks: &[Task], files: u64) -> io::Result<u64> {
        let mut own = 0;
        let mut shared = 0;
        for task in tasks {
            match fs::read_to_string(format!("/proc/{}/smaps_rollup", task.pid)) {
                Ok(text) if !text.is_empty() => {
                    let share = Share::parse(&text);
                    own += share.own;
                    shared += share.shared;
                }
                Err(e) if has_gone(&e) => {}
                // a process that hides: all of it counts
                Ok(_) => own += task.resident_pages * self.page,
                Err(e) if e.kind() == io::ErrorKind::PermissionDenied => {
                    own += task.resident_pages * self.page;
                }
                Err(e) => return Err(e),
            }
        }
        Ok(own + shared.max(files))
    }
}

/// A process's share of its pages, in bytes.
#[derive(Debug, Default, PartialEq, Eq)]
struct Share {
    own: u64,
    /// Files in memory and shared anonymous memory.
    shared: u64,
}

impl Share {
    fn parse(text: &str) -> Self {
        let mut share = Self::default();
        let mut total = None;
        let mut parts = false;
        for line in text.lines() {
            let Some((name, rest)) = line.split_once(':') else {
                continue;
            };
            let bytes = (rest.split_ascii_whitespace().next())
                .and_then(|n| n.parse::<u64>().ok())
                .map_or(0, |kib| kib << 10);
            match name {
                "Pss" => total = Some(bytes),
                "Pss_Anon" | "Pss_File" => {
                    parts = true;
                    share.own += bytes;
                }
                "Pss_Shmem" => share.shared += bytes,
                _ => {}
            }
        }
        if !parts {
            share.own = total.unwrap_or(0);
        }
        share
    }
}

/// The resident part of System V segments: the column `rss`.
fn segment_bytes(text: &str) -> u64 {
    let mut lines = text.lines();
    let Some(column) = lines
        .next()
        .and_then(|head| head.split_ascii_whitespace().position(|name| name == "rss"))
    else {
        return 0;
    };
    lines
        .filter_map(|line| {
            line.split_ascii_whitespace()
                .nth(column)?
                .parse::<u64>()
                .ok()
        })
        .sum()
}

/// Files made by `memfd_create` that somebody holds open, each once.
fn memory_files(tasks: &[Task]) -> io::Result<u64> {
    let mut sizes = HashMap::new();
    for task in tasks {
        let folder = format!("/proc/{}/fd", task.pid);
        let entries = match fs::read_dir(&folder) {
            Ok(entries) => entries,
            Err(e) if has_gone(&e) || e.kind() == io::ErrorKind::PermissionDenied => continue,
            Err(e) => return Err(e),
        };
        for path in entries.flatten().map(|e| e.path()) {
            let is_memory = fs::read_link(&path)
                .is_ok_and(|to| to.as_os_str().as_encoded_bytes().starts_with(b"/memfd:"));
            if is_memory && let Ok(metadata) = fs::metadata(&path) {
                sizes.insert((metadata.dev(), metadata.ino()), metadata.blocks() * 512);
            }
        }
    }
    Ok(sizes.values().sum())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_are_summed_by_kind() {
        let text = "00-ff ---p 00 00:00 0 [rollup]\nRss: 900 kB\nPss: 600 kB\nPss_Anon: 100 kB\n\
                    Pss_File: 200 kB\nPss_Shmem: 300 kB\nShared_Clean: 5 kB\n";
        let (own, shared) = (300 << 10, 300 << 10);
        assert_eq!(Share::parse(text), Share { own, shared });
        let old = "00-ff ---p 00 00:00 0 [rollup]\nRss: 900 kB\nPss: 600 kB\n";
        let own = 600 << 10;
        assert_eq!(Share::parse(old), Share { own, shared: 0 });
    }

    #[test]
    fn segments_are_read_by_their_column() {
        let text = "key shmid perms size cpid lpid nattch uid gid cuid cgid atime dtime ctime rss swap\n\
                    0 1 600 9999 5 6 0 1000 1000 1000 1000 0 0 1 4096 0\n\
                    0 2 600 9999 5 6 0 1000 1000 1000 1000 0 0 1 8192 0\n";
        assert_eq!(segment_bytes(text), 12288);
        assert_eq!(segment_bytes(""), 0);
    }
}
