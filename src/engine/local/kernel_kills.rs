//! Kills by the kernel of what runs in a memory cgroup that is over its limit: nobody else tells
//! process 1 of them, and a killed process looks like any other.

use std::fs;

/// Of a cgroup namespace's own root: version 2, and version 1.
const COUNTERS: [&str; 2] = [
    "/sys/fs/cgroup/memory.events",
    "/sys/fs/cgroup/memory/memory.oom_control",
];

#[derive(Debug)]
pub(super) struct KernelKills {
    counter: Option<&'static str>,
    seen: u64,
}

impl KernelKills {
    /// `own_group`: the counters are of this sandbox alone.
    pub(super) fn new(own_group: bool) -> Self {
        let found = own_group
            .then(|| COUNTERS.iter().find_map(|path| Some((*path, read(path)?))))
            .flatten();
        Self {
            counter: found.map(|(path, _)| path),
            seen: found.map_or(0, |(_, kills)| kills),
        }
    }

    /// How many there were since the last time that this was asked.
    pub(super) fn fresh(&mut self) -> u64 {
        let Some(now) = self.counter.and_then(read) else {
            return 0;
        };
        now.saturating_sub(std::mem::replace(&mut self.seen, now))
    }
}

fn read(path: &str) -> Option<u64> {
    kills(&fs::read_to_string(path).ok()?)
}

fn kills(text: &str) -> Option<u64> {
    let line = text
        .lines()
        .find_map(|line| line.strip_prefix("oom_kill "))?;
    line.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_counter_is_found_in_both_versions() {
        let two = "low 0\nhigh 0\nmax 31\noom 2\noom_kill 5\noom_group_kill 0\n";
        let one = "oom_kill_disable 0\nunder_oom 0\noom_kill 7\n";
        assert_eq!((kills(two), kills(one)), (Some(5), Some(7)));
        assert_eq!(kills("oom_kill_disable 0\nunder_oom 0\n"), None);
    }
}
