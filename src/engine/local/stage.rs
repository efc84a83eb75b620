//! Staging: every source of a mount is bound below one folder, read-only where asked, while we can
//! still reach it; only then are privileges dropped and the sandbox's name spaces entered.
//!
//! A root worker does this in a mount namespace of its own, as root, so that sources below folders
//! closed to others (a 0700 home) work. Anybody else does it in a user namespace. Either way what
//! comes out is the same: an unprivileged user that is root of a user namespace, whose network
//! namespace has loopback up and nothing else.

use std::fs::{self, File};
use std::os::unix::fs::chown;
use std::path::{Path, PathBuf};

use nix::errno::Errno;
use nix::mount::{MsFlags, mount};
use nix::sched::{CloneFlags, unshare};
use nix::sys::prctl;
use nix::unistd::{getegid, geteuid};

use super::super::ownership::drops_root;
use super::super::plan::{Bind, Entry, Plan, refused};
use super::super::{Network, Refusal, RefusalKind};
use super::OUTER_ID;
use super::root;
use super::start::Setup;
use super::sys;

/// Where the stage is put when it is complete: a folder that everybody can reach and that is
/// needed for nothing else any more.
const STAGE_AT: &str = "/tmp";

/// What is staged: the plan's entries, and where each bind is to be taken from.
pub(super) struct Staged {
    pub root: PathBuf,
    pub binds: Vec<(String, PathBuf, Bind)>,
    pub links: Vec<(String, String)>,
}

/// Stages the mounts of `setup` and drops all privileges over the machine.
pub(super) fn stage(setup: &Setup) -> Result<Staged, Refusal> {
    let mut root_user = drops_root();
    if root_user && let Err(error) = unshare(CloneFlags::CLONE_NEWNS) {
        // root in a container without the right to mount: go on like anybody else
        if error != Errno::EPERM {
            return Err(namespace("a mount namespace", error));
        }
        drop_root()?;
        root_user = false;
    }
    let (uid, gid) = if root_user {
        (OUTER_ID, OUTER_ID)
    } else {
        let ids = (geteuid().as_raw(), getegid().as_raw());
        enter_user_namespace(ids, setup.spec.network, CloneFlags::CLONE_NEWNS)?;
        (0, 0)
    };
    let staged = bind_all(setup, (uid, gid))?;
    if root_user {
        drop_root()?;
        enter_user_namespace((uid, gid), setup.spec.network, CloneFlags::empty())?;
    }
    if setup.spec.network == Network::Loopback {
        sys::loopback_up().map_err(|e| namespace("bringing loopback up", e))?;
    }
    Ok(staged)
}

fn bind_all(setup: &Setup, (uid, gid): (u32, u32)) -> Result<Staged, Refusal> {
    let none = None::<&str>;
    let private = MsFlags::MS_PRIVATE | MsFlags::MS_REC;
    mount(none, "/", none, private, none).map_err(|e| namespace("making mounts private", e))?;

    let Plan { entries } = root::plan(&setup.spec, &setup.binary)?;
    let stage = &setup.stage;
    let flags = MsFlags::MS_NOSUID | MsFlags::MS_NODEV;
    mount(
        Some("stage"),
        stage,
        Some("tmpfs"),
        flags,
        Some("size=16m,mode=755"),
    )
    .map_err(|e| namespace("mounting an in-memory file system", e))?;
    let io = |path: &Path| {
        let path = path.to_owned();
        move |e: std::io::Error| other(&path.display().to_string(), &e)
    };
    let root = stage.join("root");
    fs::create_dir(&root).map_err(io(&root))?;
    chown(&root, Some(uid), Some(gid)).map_err(io(&root))?;

    let mut staged = Staged {
        root: Path::new(STAGE_AT).join("root"),
        binds: Vec::new(),
        links: Vec::new(),
    };
    for (target, entry) in entries {
        let Some(target) = target.to_str().map(str::to_owned) else {
            continue; // a name of the machine's own that nobody asked for
        };
        match entry {
            Entry::Link(text) => {
                if let Some(text) = text.to_str() {
                    staged.links.push((target, text.to_owned()));
                }
            }
            Entry::Bind(bind) => {
                let name = staged.binds.len().to_string();
                bind_one(&bind, &stage.join(&name))?;
                staged
                    .binds
                    .push((target, Path::new(STAGE_AT).join(name), bind));
            }
        }
    }
    mount(Some(stage), STAGE_AT, none, MsFlags::MS_MOVE, none)
        .map_err(|e| namespace("moving the stage", e))?;
    Ok(staged)
}

fn bind_one(bind: &Bind, at: &Path) -> Result<(), Refusal> {
    let none = None::<&str>;
    let io = |e: std::io::Error| refused(&bind.source, &e.to_string());
    if bind.source.metadata().map_err(io)?.is_dir() {
        fs::create_dir(at).map_err(io)?;
    } else {
        File::create(at).map_err(io)?;
    }
    mount(
        Some(&bind.source),
        at,
        none,
        MsFlags::MS_BIND | MsFlags::MS_REC,
        none,
    )
    .map_err(|e| refused(&bind.source, &format!("binding: {e}")))?;
    // with everything below it: a remount alone leaves mounts inside the source writable
    let read_only = !(bind.writable || bind.device);
    sys::restrict_mount(at, read_only, !bind.device)
        .map_err(|e| refused(&bind.source, &format!("restricting: {e}")))
}

/// Becomes the unprivileged user, with no way back.
pub(super) fn drop_root() -> Result<(), Refusal> {
    let failed = |e: Errno| other("dropping root's privileges", &e.into());
    sys::become_user(OUTER_ID).map_err(failed)?;
    // the change of user made this process's own files in /proc root's
    prctl::set_dumpable(true).map_err(failed)
}

fn enter_user_namespace(
    (uid, gid): (u32, u32),
    network: Network,
    more: CloneFlags,
) -> Result<(), Refusal> {
    let mut flags = CloneFlags::CLONE_NEWUSER | more;
    if network == Network::Loopback {
        flags |= CloneFlags::CLONE_NEWNET;
    }
    unshare(flags).map_err(|e| namespace("a user namespace", e))?;
    for (file, text) in [
        ("/proc/self/setgroups", "deny".to_owned()),
        ("/proc/self/uid_map", format!("0 {uid} 1")),
        ("/proc/self/gid_map", format!("0 {gid} 1")),
    ] {
        fs::write(file, text).map_err(|e| Refusal {
            kind: RefusalKind::Namespaces,
            step: file.into(),
            message: e.to_string(),
        })?;
    }
    Ok(())
}

fn namespace(step: &str, error: Errno) -> Refusal {
    Refusal {
        kind: RefusalKind::Namespaces,
        step: step.into(),
        message: error.desc().into(),
    }
}

pub(super) fn other(step: &str, error: &std::io::Error) -> Refusal {
    Refusal {
        kind: RefusalKind::Other,
        step: step.into(),
        message: error.to_string(),
    }
}
