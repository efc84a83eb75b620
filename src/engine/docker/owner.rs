//! Whose a container is: labels that say it, and whether that one still lives.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use sha2::{Digest, Sha256};

use crate::domain::hex;

pub(super) const HOME: &str = "infradev.home";
pub(super) const RUN: &str = "infradev.run";
pub(super) const PURPOSE: &str = "infradev.purpose";
const HOST: &str = "infradev.host";
const BOOT: &str = "infradev.boot";
/// Process ids mean something in one process namespace only.
const PID_SPACE: &str = "infradev.pid-space";
const PID: &str = "infradev.pid";
const PID_START: &str = "infradev.pid-start";

/// Who starts containers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Owner {
    /// The home whose run it is.
    pub home: PathBuf,
    /// The run's id, or what else it is for.
    pub run: String,
}

/// This process, as others can tell it.
#[derive(Debug)]
struct Me {
    host: String,
    boot: String,
    pid_space: String,
    pid: u32,
    pid_start: String,
}

fn me() -> &'static Me {
    static ME: OnceLock<Me> = OnceLock::new();
    ME.get_or_init(|| Me {
        host: host(),
        boot: read("/proc/sys/kernel/random/boot_id"),
        pid_space: fs::read_link("/proc/self/ns/pid")
            .map(|link| link.display().to_string())
            .unwrap_or_default(),
        pid: std::process::id(),
        pid_start: start_of(std::process::id()).unwrap_or_default(),
    })
}

fn read(path: &str) -> String {
    fs::read_to_string(path)
        .map(|text| text.trim().to_owned())
        .unwrap_or_default()
}

/// Outlives a change of the host's name.
fn host() -> String {
    let id = read("/etc/machine-id");
    if id.is_empty() {
        nix::unistd::gethostname()
            .map(|name| name.to_string_lossy().into_owned())
            .unwrap_or_default()
    } else {
        id
    }
}

/// When a process started, in ticks since boot; `None` when it is not there, or is dead and only
/// waits for its parent.
pub(super) fn start_of(pid: u32) -> Option<String> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // the name in parentheses may hold anything
    let (_, rest) = stat.rsplit_once(')')?;
    let mut fields = rest.split_ascii_whitespace();
    let state = fields.next()?;
    (!matches!(state, "Z" | "X"))
        .then(|| fields.nth(18).map(str::to_owned))
        .flatten()
}

/// A home as labels name it: the hash of its path, for a label is read by everybody.
pub(super) fn home_label(home: &Path) -> String {
    let home = home.canonicalize().unwrap_or_else(|_| home.to_owned());
    let mut hash = hex(&Sha256::digest(home.as_os_str().as_encoded_bytes()));
    hash.truncate(16);
    hash
}

impl Owner {
    /// What a container of ours carries from its first moment on.
    pub(super) fn labels(&self, purpose: &str) -> HashMap<String, String> {
        let me = me();
        [
            (HOME, home_label(&self.home)),
            (RUN, self.run.clone()),
            (PURPOSE, purpose.to_owned()),
            (HOST, me.host.clone()),
            (BOOT, me.boot.clone()),
            (PID_SPACE, me.pid_space.clone()),
            (PID, me.pid.to_string()),
            (PID_START, me.pid_start.clone()),
        ]
        .map(|(name, value)| (name.to_owned(), value))
        .into()
    }
}

/// What became of the owner of a container.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fate {
    /// This process.
    Own,
    Alive,
    /// Its process is gone, or the machine has started anew since.
    Dead,
    /// Of another machine, or of a place whose processes we do not see; or not ours at all.
    Unknown,
}

pub(super) fn fate(labels: &HashMap<String, String>) -> Fate {
    let me = me();
    let label = |name: &str| labels.get(name).map_or("", String::as_str);
    if label(HOME).is_empty() || label(HOST).is_empty() || label(HOST) != me.host {
        return Fate::Unknown;
    }
    if label(BOOT) != me.boot {
        return if label(BOOT).is_empty() {
            Fate::Unknown
        } else {
            Fate::Dead
        };
    }
    let Ok(pid) = label(PID).parse::<u32>() else {
        return Fate::Unknown;
    };
    // where other users' processes are hidden, everybody's may look dead
    if label(PID_SPACE) != me.pid_space || start_of(1).is_none() {
        return Fate::Unknown;
    }
    match start_of(pid) {
        Some(start) if start == label(PID_START) && pid == me.pid => Fate::Own,
        Some(start) if start == label(PID_START) => Fate::Alive,
        _ => Fate::Dead,
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn mine() -> HashMap<String, String> {
        let owner = Owner {
            home: "/home".into(),
            run: "r".into(),
        };
        owner.labels("test")
    }

    #[test]
    fn only_what_is_surely_dead_is_called_so() {
        assert_eq!(fate(&mine()), Fate::Own);
        for (label, value, expected) in [
            (PID_START, "1", Fate::Dead),
            (BOOT, "another", Fate::Dead),
            (HOST, "another", Fate::Unknown),
            (PID_SPACE, "pid:[1]", Fate::Unknown),
            (PID, "", Fate::Unknown),
            (BOOT, "", Fate::Unknown),
            (HOME, "", Fate::Unknown),
        ] {
            let mut labels = mine();
            labels.insert(label.into(), value.into());
            assert_eq!(fate(&labels), expected, "{label}={value}");
        }
        assert_eq!(fate(&HashMap::new()), Fate::Unknown);
        // a process that has ended, before and after its parent takes note
        let mut child = std::process::Command::new("true").spawn().unwrap();
        let pid = child.id();
        let mut labels = mine();
        labels.insert(PID.into(), pid.to_string());
        while start_of(pid).is_some() {
            std::thread::yield_now();
        }
        assert_eq!(fate(&labels), Fate::Dead);
        child.wait().unwrap();
        assert_eq!(fate(&labels), Fate::Dead);
    }
}
