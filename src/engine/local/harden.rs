//! The last steps before process 1 becomes an ordinary program without capabilities: what of the
//! kernel's own files could still be written is made read-only or covered.
//!
//! The machine's root owns these files and the sandbox's user is another one, so permissions alone
//! should do; this is the second lock.

use std::fs;
use std::path::Path;

use nix::mount::{MsFlags, mount};
use nix::sys::prctl;

use super::sys;

/// Left readable.
const READ_ONLY: [&str; 5] = [
    "/proc/sys",
    "/proc/sysrq-trigger",
    "/proc/irq",
    "/proc/bus",
    "/proc/fs",
];
/// Not even readable.
const COVERED: [&str; 11] = [
    "/proc/kcore",
    "/proc/keys",
    "/proc/key-users",
    "/proc/kmsg",
    "/proc/kallsyms",
    "/proc/latency_stats",
    "/proc/sched_debug",
    "/proc/timer_list",
    "/proc/acpi",
    "/proc/asound",
    "/proc/scsi",
];

/// The step that failed, and how.
pub(super) type Failure = (String, std::io::Error);

/// Runs as process 1 of a new sandbox, before `__init`.
pub(super) fn harden() -> Result<(), Failure> {
    // a new user namespace would give capabilities over new kernel surface; older kernels without
    // this file lose nothing else
    fs::write("/proc/sys/user/max_user_namespaces", "0").ok();
    for path in READ_ONLY {
        if Path::new(path).exists() {
            read_only(path)?;
        }
    }
    for path in COVERED {
        cover(path)?;
    }
    // memory-backed and writable by its owner, who is inside: device nodes work without writing
    // to the folder
    remount(
        "/dev",
        MsFlags::MS_RDONLY | MsFlags::MS_NOSUID | MsFlags::MS_NOEXEC,
    )?;
    sys::drop_bounding_set().map_err(|e| failed("dropping capabilities", e))?;
    prctl::set_no_new_privs().map_err(|e| failed("no new privileges", e))
}

fn read_only(path: &str) -> Result<(), Failure> {
    bind(path, path)?;
    let flags = MsFlags::MS_RDONLY | MsFlags::MS_NOSUID | MsFlags::MS_NODEV | MsFlags::MS_NOEXEC;
    remount(path, flags)
}

fn cover(path: &str) -> Result<(), Failure> {
    let Ok(metadata) = Path::new(path).symlink_metadata() else {
        return Ok(());
    };
    if metadata.is_dir() {
        let flags = MsFlags::MS_RDONLY | MsFlags::MS_NOSUID | MsFlags::MS_NODEV;
        mount(Some("tmpfs"), path, Some("tmpfs"), flags, Some("size=4k"))
            .map_err(|e| failed(path, e))
    } else {
        bind("/dev/null", path)
    }
}

fn bind(source: &str, target: &str) -> Result<(), Failure> {
    let none = None::<&str>;
    mount(Some(source), target, none, MsFlags::MS_BIND, none).map_err(|e| failed(target, e))
}

fn remount(path: &str, flags: MsFlags) -> Result<(), Failure> {
    let none = None::<&str>;
    let flags = flags | MsFlags::MS_REMOUNT | MsFlags::MS_BIND;
    mount(none, path, none, flags, none).map_err(|e| failed(path, e))
}

fn failed(step: &str, error: nix::errno::Errno) -> Failure {
    (step.to_owned(), error.into())
}
