//! The end of a container without its daemon, which may be dead or hang: what runs in it belongs to
//! our user, or we are root.

use std::fs;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

/// Kills process 1 of a container, and so everything in it, where it is there and we see it.
/// `id` is the whole id, which the names of its control groups hold whoever manages them.
pub(super) fn kill_first(id: &str) {
    for pid in processes() {
        if is_in(pid, id) && is_first(pid) {
            tracing::debug!(container = id, pid, "killed without the daemon");
            kill(Pid::from_raw(pid), Signal::SIGKILL).ok();
        }
    }
}

fn processes() -> impl Iterator<Item = i32> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok())
}

fn is_in(pid: i32, id: &str) -> bool {
    fs::read_to_string(format!("/proc/{pid}/cgroup")).is_ok_and(|groups| groups.contains(id))
}

/// Process 1 of a process namespace below ours.
fn is_first(pid: i32) -> bool {
    fs::read_to_string(format!("/proc/{pid}/status")).is_ok_and(|status| {
        let numbers = status.lines().find_map(|line| line.strip_prefix("NSpid:"));
        let numbers: Vec<&str> = numbers.unwrap_or("").split_whitespace().collect();
        numbers.len() > 1 && numbers.last() == Some(&"1")
    })
}
