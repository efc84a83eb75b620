//! Parsers of `/proc`: pure functions of the text, and the few files they come from.

use std::path::Path;

/// Busy and total time of a processor, in clock ticks since boot.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct CpuTime {
    pub busy: u64,
    pub total: u64,
}

impl CpuTime {
    /// Share of the time between two readings that was busy, 0 to 100; none where no time passed
    /// or the counters went back (a processor that was taken off line).
    pub fn busy_pct_since(self, earlier: Self) -> Option<f64> {
        let total = self.total.checked_sub(earlier.total).filter(|t| *t > 0)?;
        let busy = self.busy.checked_sub(earlier.busy)?;
        Some((busy as f64 * 100.0 / total as f64).clamp(0.0, 100.0))
    }
}

/// `/proc/stat`: all processors together, then each with its number.
pub(super) fn cpu_times(text: &str) -> Option<(CpuTime, Vec<(u32, CpuTime)>)> {
    let mut all = None;
    let mut cores = Vec::new();
    for line in text.lines() {
        let Some(rest) = line.strip_prefix("cpu") else {
            break; // the processors come first
        };
        let mut fields = rest.split_whitespace();
        let number = if rest.starts_with(' ') {
            None
        } else {
            Some(fields.next()?.parse().ok()?)
        };
        // user nice system idle iowait irq softirq steal; guest time is in user already
        let ticks: Vec<u64> = fields.take(8).map_while(|f| f.parse().ok()).collect();
        let idle = ticks.get(3)? + ticks.get(4).copied().unwrap_or(0);
        let total: u64 = ticks.iter().sum();
        let time = CpuTime {
            busy: total.saturating_sub(idle),
            total,
        };
        match number {
            None => all = Some(time),
            Some(number) => cores.push((number, time)),
        }
    }
    Some((all?, cores))
}

/// `/proc/loadavg`.
pub(super) fn load(text: &str) -> Option<[f64; 3]> {
    let mut fields = text.split_whitespace().map(|f| f.parse().ok());
    Some([fields.next()??, fields.next()??, fields.next()??])
}

/// Bytes of memory and swap.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Memory {
    pub total: u64,
    /// Absent on very old kernels.
    pub available: Option<u64>,
    pub swap_total: Option<u64>,
    pub swap_free: Option<u64>,
}

/// `/proc/meminfo`.
pub(super) fn memory(text: &str) -> Option<Memory> {
    let field = |name: &str| {
        text.lines().find_map(|line| {
            let rest = line.strip_prefix(name)?.strip_prefix(':')?;
            let kib: u64 = rest.split_whitespace().next()?.parse().ok()?;
            kib.checked_mul(1024)
        })
    };
    Some(Memory {
        total: field("MemTotal")?,
        available: field("MemAvailable"),
        swap_total: field("SwapTotal"),
        swap_free: field("SwapFree"),
    })
}

/// What is used of `/proc/<pid>/stat`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Stat {
    pub command: String,
    pub parent: u32,
    /// User and system time, in clock ticks.
    pub ticks: u64,
    /// In clock ticks since boot: with the pid it names the process.
    pub start: u64,
    pub resident_pages: u64,
}

/// The command stands in parentheses and may hold any character, parentheses included.
pub(super) fn stat(text: &str) -> Option<Stat> {
    let open = text.find('(')?;
    let close = text.rfind(')')?;
    let command = text.get(open + 1..close)?.to_string();
    let fields: Vec<&str> = text.get(close + 1..)?.split_whitespace().collect();
    // the first field here is number 3 of proc(5)
    let field = |number: usize| fields.get(number - 3).and_then(|f| f.parse::<u64>().ok());
    Some(Stat {
        command,
        parent: u32::try_from(field(4)?).ok()?,
        ticks: field(14)? + field(15)?,
        start: field(22)?,
        resident_pages: field(24)?,
    })
}

/// The command line of `/proc/<pid>/cmdline`, on one line and without control characters; the
/// program without its folders. At most `most` characters.
pub(super) fn command_line(bytes: &[u8], most: usize) -> Option<String> {
    let text = String::from_utf8_lossy(bytes);
    let mut words = text.split('\0').filter(|word| !word.is_empty());
    let program = words.next()?;
    let program = program.rsplit('/').next().unwrap_or(program);
    let joined = std::iter::once(program).chain(words).collect::<Vec<_>>();
    let clean: String = joined
        .join(" ")
        .chars()
        .map(|c| if c.is_control() { ' ' } else { c })
        .take(most)
        .collect();
    Some(clean)
}

/// A variable of `/proc/<pid>/environ`.
pub(super) fn variable(environ: &[u8], name: &str) -> Option<String> {
    environ
        .split(|byte| *byte == 0)
        .filter_map(|entry| std::str::from_utf8(entry).ok())
        .find_map(|entry| entry.strip_prefix(name)?.strip_prefix('='))
        .map(str::to_string)
}

/// The first 12 digits of a container's id in `/proc/<pid>/cgroup`: docker, podman, containerd and
/// cri-o all end a group's name with the 64 of it.
pub(super) fn container(cgroup: &str) -> Option<String> {
    cgroup.split(['/', '\n']).find_map(|group| {
        let group = group.strip_suffix(".scope").unwrap_or(group);
        let id = group.rsplit(['-', ':']).next()?;
        let hex = id.len() == 64 && id.bytes().all(|byte| byte.is_ascii_hexdigit());
        hex.then(|| id.chars().take(12).collect())
    })
}

/// When the machine was started, in seconds since the epoch, as `/proc/stat` tells.
pub(super) fn boot_s(text: &str) -> Option<f64> {
    let rest = text.lines().find_map(|l| l.strip_prefix("btime "))?;
    rest.trim().parse().ok()
}

/// The user's id in `/proc/<pid>/status`.
pub(super) fn user_id(status: &str) -> Option<u32> {
    let rest = status.lines().find_map(|l| l.strip_prefix("Uid:"))?;
    rest.split_whitespace().next()?.parse().ok()
}

/// Resident memory in `/proc/<pid>/status`.
pub(super) fn resident_bytes(status: &str) -> Option<u64> {
    let rest = status.lines().find_map(|l| l.strip_prefix("VmRSS:"))?;
    let kib: u64 = rest.split_whitespace().next()?.parse().ok()?;
    kib.checked_mul(1024)
}

/// Children of a process, from the lists that its threads have; `None` where the kernel keeps none.
pub(super) fn children(proc: &Path, pid: u32) -> Option<Vec<u32>> {
    let tasks = proc.join(pid.to_string()).join("task");
    let mut found = Vec::new();
    let mut kept = false;
    for task in std::fs::read_dir(tasks).ok()?.flatten() {
        if let Ok(text) = std::fs::read_to_string(task.path().join("children")) {
            kept = true;
            found.extend(
                text.split_whitespace()
                    .filter_map(|p| p.parse::<u32>().ok()),
            );
        }
    }
    kept.then_some(found)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn processor_times_are_shares_of_what_passed() {
        let first = "cpu  100 0 50 800 50 0 0 0 7 0\ncpu0 50 0 25 400 25 0 0 0 0 0\ncpu3 50 0 25 400 25 0 0 0 0 0\nintr 5\n";
        let second = "cpu  150 0 100 850 100 0 0 0 9 0\ncpu0 100 0 75 400 25 0 0 0\ncpu3 50 0 25 450 75 0 0 0\n";
        let (all, cores) = cpu_times(first).unwrap();
        let (later, later_cores) = cpu_times(second).unwrap();
        assert_eq!(
            all,
            CpuTime {
                busy: 150,
                total: 1000
            }
        );
        assert_eq!(later.busy_pct_since(all), Some(50.0));
        assert_eq!(cores.iter().map(|c| c.0).collect::<Vec<_>>(), [0, 3]);
        assert_eq!(later_cores[0].1.busy_pct_since(cores[0].1), Some(100.0));
        assert_eq!(later_cores[1].1.busy_pct_since(cores[1].1), Some(0.0));
        assert_eq!(all.busy_pct_since(all), None);
        assert_eq!(all.busy_pct_since(later), None);
        assert_eq!(cpu_times("nothing"), None);
    }

    #[test]
    fn memory_without_a_field_is_unknown_there() {
        let text = "MemTotal:       2048 kB\nMemFree: 1 kB\nSwapTotal:     0 kB\n";
        let found = memory(text).unwrap();
        assert_eq!(found.total, 2048 * 1024);
        assert_eq!(found.available, None);
        assert_eq!((found.swap_total, found.swap_free), (Some(0), None));
        assert_eq!(memory("MemFree: 1 kB"), None);
        assert_eq!(load("0.50 1.25 2.00 1/234 5678\n"), Some([0.5, 1.25, 2.0]));
        assert_eq!(load("0.50"), None);
    }

    #[test]
    fn a_command_may_hold_parentheses_and_spaces() {
        let text = "42 (a) (b c) S 7 42 42 0 -1 4194304 100 0 0 0 11 22 0 0 20 0 1 0 777 1000 33 18446744073709551615";
        assert_eq!(
            stat(text).unwrap(),
            Stat {
                command: "a) (b c".into(),
                parent: 7,
                ticks: 33,
                start: 777,
                resident_pages: 33,
            }
        );
        assert_eq!(stat("42 (x) S 7"), None);
    }

    #[test]
    fn command_lines_and_variables_are_untrusted_text() {
        let line = command_line(b"/usr/bin/python3\0-c\0print(\x1b[31m)\n\0", 100).unwrap();
        assert_eq!(line, "python3 -c print( [31m) ");
        assert_eq!(command_line(b"", 100), None);
        assert_eq!(command_line(b"/bin/abcdef\0", 3).unwrap(), "abc");
        let environ = b"A=1\0INFRADEV_RUN=x-1\0INFRADEV_RUNS=no\0";
        assert_eq!(variable(environ, "INFRADEV_RUN").unwrap(), "x-1");
        assert_eq!(variable(environ, "B"), None);
        assert_eq!(resident_bytes("VmRSS:\t  12 kB\n"), Some(12288));
        assert_eq!(resident_bytes("VmSize:\t  12 kB\n"), None);
        assert_eq!(user_id("Name:\tx\nUid:\t1000\t1001\t0\t0\n"), Some(1000));
    }

    #[test]
    fn a_container_is_told_by_its_group() {
        let id = "3f2a".repeat(16);
        for group in [
            format!("0::/system.slice/docker-{id}.scope"),
            format!("12:pids:/docker/{id}\n11:cpu:/docker/{id}"),
            format!("0::/machine.slice/libpod-{id}.scope/container"),
            format!("0::/kubepods/pod1/cri-containerd:{id}"),
        ] {
            assert_eq!(
                container(&group).as_deref(),
                Some("3f2a3f2a3f2a"),
                "{group}"
            );
        }
        for group in ["0::/user.slice", "0::/docker/3f2a", "", "0::/../x.scope"] {
            assert_eq!(container(group), None, "{group}");
        }
    }

    #[test]
    fn the_real_files_parse() {
        let read = |name: &str| std::fs::read_to_string(Path::new("/proc").join(name)).unwrap();
        assert!(!cpu_times(&read("stat")).unwrap().1.is_empty());
        assert!(memory(&read("meminfo")).unwrap().total > 0);
        assert!(load(&read("loadavg")).is_some());
        assert!(boot_s(&read("stat")).unwrap() > 1e9);
        let own = stat(&read("self/stat")).unwrap();
        assert!(own.start > 0 && own.resident_pages > 0);
        assert!(user_id(&read("self/status")).is_some());
        let mut child = std::process::Command::new("sleep")
            .arg("30")
            .spawn()
            .unwrap();
        let found = children(Path::new("/proc"), std::process::id());
        child.kill().unwrap();
        child.wait().unwrap();
        // a kernel without these lists is told by `None`
        if let Some(found) = found {
            assert!(found.contains(&child.id()));
        }
    }
}
