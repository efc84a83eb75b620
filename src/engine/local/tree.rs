//! The processes that are in the sandbox now, read from `/proc`.

use std::collections::BTreeSet;
use std::fs;
use std::io;

use nix::errno::Errno;
use nix::sys::signal::{Signal, kill, killpg};
use nix::unistd::{Pid, getpgrp, getpid};

use super::super::Isolation;

/// One process other than ourselves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Task {
    pub pid: i32,
    pub parent: i32,
    pub group: i32,
    pub threads: u64,
    pub resident_pages: u64,
}

/// Every living process of the sandbox. An error other than a process that has just gone is given
/// back: a watcher that sees nothing must not look like one that sees no processes.
pub(super) fn list(isolation: Isolation) -> io::Result<Vec<Task>> {
    let own = getpid().as_raw();
    let mut tasks = Vec::new();
    for entry in fs::read_dir("/proc")? {
        let Some(pid) = entry?.file_name().to_str().and_then(|n| n.parse().ok()) else {
            continue;
        };
        if pid == own {
            continue;
        }
        match fs::read_to_string(format!("/proc/{pid}/stat")) {
            Ok(stat) => tasks.extend(parse(pid, &stat)),
            Err(e) if has_gone(&e) => {}
            Err(e) => return Err(e),
        }
    }
    if isolation == Isolation::None {
        // a process namespace shows nobody else; here the whole machine is listed
        keep_descendants(&mut tasks, own);
    }
    Ok(tasks)
}

/// How many there are besides ourselves, the dead among them. In a crowd that wants the processor
/// we get little of it, and this takes a tenth of what [`list`] does. Counts in a process
/// namespace; elsewhere it knows of none.
pub(super) fn count(isolation: Isolation) -> u64 {
    if isolation == Isolation::None {
        return 0;
    }
    let pids = fs::read_dir("/proc").into_iter().flatten().flatten();
    let pids = pids.filter(|e| {
        e.file_name()
            .to_str()
            .is_some_and(|n| n.parse::<i32>().is_ok())
    });
    (pids.count() as u64).saturating_sub(1)
}

pub(super) fn has_gone(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::NotFound || error.raw_os_error() == Some(Errno::ESRCH as i32)
}

/// Sends SIGKILL to each process once. In a process namespace that is one call, which no fork can
/// outrun. Without, it is one call for each process group, which no fork inside the group can
/// outrun, to be repeated until none is left; what makes new groups faster than that is bounded by
/// the kernel's limit on the user's processes.
pub(super) fn kill_each(isolation: Isolation, tasks: &[Task]) {
    match isolation {
        Isolation::Namespaces => {
            kill(Pid::from_raw(-1), Signal::SIGKILL).ok();
        }
        Isolation::None => {
            let own = getpgrp().as_raw();
            let groups: BTreeSet<i32> = tasks.iter().map(|t| t.group).collect();
            for group in groups.into_iter().filter(|g| *g > 1 && *g != own) {
                killpg(Pid::from_raw(group), Signal::SIGKILL).ok();
            }
            for task in tasks {
                kill(Pid::from_raw(task.pid), Signal::SIGKILL).ok();
            }
        }
    }
}

/// `/proc/<pid>/stat`; the name in parentheses may hold anything. `None` for the dead.
fn parse(pid: i32, stat: &str) -> Option<Task> {
    let (_, rest) = stat.rsplit_once(')')?;
    let fields: Vec<&str> = rest.split_ascii_whitespace().collect();
    let number = |at: usize| fields.get(at)?.parse::<u64>().ok();
    let task = Task {
        pid,
        parent: fields.get(1)?.parse().ok()?,
        group: fields.get(2)?.parse().ok()?,
        threads: number(17)?,
        resident_pages: number(21)?,
    };
    // a dead leader whose threads live on is alive
    let dead = matches!(*fields.first()?, "Z" | "X") && task.threads <= 1;
    (!dead).then_some(task)
}

fn keep_descendants(tasks: &mut Vec<Task>, of: i32) {
    let mut family = std::collections::HashSet::from([of]);
    loop {
        let before = family.len();
        family.extend(
            (tasks.iter())
                .filter(|t| family.contains(&t.parent))
                .map(|t| t.pid)
                .collect::<Vec<_>>(),
        );
        if family.len() == before {
            break;
        }
    }
    tasks.retain(|t| family.contains(&t.pid));
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn a_name_with_parentheses_and_spaces_is_no_field() {
        let stat = "7 (a) R 1 (b) S 3 7 7 0 -1 4194304 1 2 3 4 5 6 7 8 20 0 9 0 77 1000 42 18 0";
        let task = parse(7, stat).unwrap();
        assert_eq!((task.parent, task.threads, task.resident_pages), (3, 9, 42));
    }

    #[test]
    fn the_dead_are_not_listed_unless_threads_live() {
        let stat = |state: &str, threads: u32| {
            format!("7 (x) {state} 3 7 7 0 -1 0 1 2 3 4 5 6 7 8 20 0 {threads} 0 77 1000 42")
        };
        assert_eq!(parse(7, &stat("Z", 1)), None);
        assert!(parse(7, &stat("Z", 2)).is_some());
        assert!(parse(7, &stat("S", 1)).is_some());
    }

    #[test]
    fn only_descendants_are_kept() {
        let task = |pid, parent| Task {
            pid,
            parent,
            group: 1,
            threads: 1,
            resident_pages: 0,
        };
        let mut tasks = vec![task(30, 20), task(20, 10), task(40, 1), task(50, 40)];
        keep_descendants(&mut tasks, 10);
        assert_eq!(tasks, [task(30, 20), task(20, 10)]);
    }
}
