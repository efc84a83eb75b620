//! How many processors a sandbox has at once.

use nix::sched::{CpuSet, sched_getaffinity, sched_setaffinity};
use nix::unistd::Pid;

/// Leaves this process, and all that it will start, so many of the processors that it has. Sandboxes
/// side by side begin at different ones. What runs inside may ask for others again: it is a share,
/// not a wall.
pub(super) fn leave(cpus: u32) -> nix::Result<()> {
    let own = sched_getaffinity(Pid::from_raw(0))?;
    let all: Vec<usize> = (0..CpuSet::count())
        .filter(|at| own.is_set(*at).unwrap_or(false))
        .collect();
    let wanted = usize::try_from(cpus.max(1)).unwrap_or(usize::MAX);
    if wanted >= all.len() {
        return Ok(());
    }
    let first = std::process::id() as usize % all.len();
    let mut left = CpuSet::new();
    for at in all.iter().cycle().skip(first).take(wanted) {
        left.set(*at)?;
    }
    sched_setaffinity(Pid::from_raw(0), &left)
}
