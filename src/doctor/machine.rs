//! Kernel, user, memory and cores.

use std::fs;

use super::document::Check;

/// Oldest kernel on which an unprivileged user may mount an overlay.
const OVERLAY: (u32, u32) = (5, 11);
/// Less memory than a small suite with numerical libraries wants.
const MEMORY: u64 = 2 << 30;

pub(super) fn kernel() -> Check {
    let Ok(release) = fs::read_to_string("/proc/sys/kernel/osrelease") else {
        return Check::warn(
            "kernel",
            "unknown: /proc is not readable",
            "mount /proc, or leave the container that hides it",
        );
    };
    let found = format!("Linux {} {}", release.trim(), std::env::consts::ARCH);
    if version(&release).is_some_and(|version| version >= OVERLAY) {
        Check::ok("kernel", found)
    } else {
        Check::warn(
            "kernel",
            found,
            "work trees are copied instead of overlaid; from kernel 5.11 on they need not be",
        )
    }
}

/// `6.1.0-13-amd64` -> (6, 1).
fn version(release: &str) -> Option<(u32, u32)> {
    let mut parts = release.split(|c: char| !c.is_ascii_digit()).map(str::parse);
    Some((parts.next()?.ok()?, parts.next()?.ok()?))
}

pub(super) fn user() -> Check {
    let id = nix::unistd::geteuid();
    let name = nix::unistd::User::from_uid(id)
        .ok()
        .flatten()
        .map_or_else(|| "without a name".to_string(), |user| user.name);
    let role = if id.is_root() {
        "; sandboxes drop to an unprivileged user first"
    } else {
        ""
    };
    Check::ok("user", format!("{name} (uid {id}){role}"))
}

pub(super) fn memory() -> Check {
    let field = |name: &str| {
        let text = fs::read_to_string("/proc/meminfo").ok()?;
        let rest = text.lines().find_map(|line| line.strip_prefix(name))?;
        let kib: u64 = rest.split_whitespace().next()?.parse().ok()?;
        kib.checked_mul(1024)
    };
    let (Some(total), Some(available)) = (field("MemTotal:"), field("MemAvailable:")) else {
        return Check::warn("memory", "unknown", "mount /proc");
    };
    // a control group may give less than the machine has
    let limit = fs::read_to_string("/sys/fs/cgroup/memory.max")
        .ok()
        .and_then(|text| text.trim().parse::<u64>().ok())
        .filter(|limit| *limit < total);
    let mut found = format!("{} of {} available", gib(available), gib(total));
    if let Some(limit) = limit {
        found = format!("{found}; this session may use {}", gib(limit));
    }
    if limit.unwrap_or(total).min(available) < MEMORY {
        Check::warn(
            "memory",
            found,
            "below 2 GiB suites may be stopped by their memory limit: end other programs, or use \
             a larger machine",
        )
    } else {
        Check::ok("memory", found)
    }
}

pub(super) fn cores() -> Check {
    match std::thread::available_parallelism() {
        Ok(cores) if cores.get() > 1 => Check::ok("cores", cores.to_string()),
        Ok(_) => Check::warn(
            "cores",
            "1",
            "suites with several ranks share it: their limits may be too short",
        ),
        Err(error) => Check::warn("cores", format!("unknown: {error}"), "mount /proc and /sys"),
    }
}

pub(super) fn gib(bytes: u64) -> String {
    format!("{:.1} GiB", bytes as f64 / (1u64 << 30) as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn releases_of_distributions() {
        assert_eq!(version("6.1.0-13-amd64\n"), Some((6, 1)));
        assert_eq!(version("5.4.0"), Some((5, 4)));
        assert_eq!(version("odd"), None);
        assert!(version("5.4.0") < Some(OVERLAY) && version("10.0") > Some(OVERLAY));
    }
}
