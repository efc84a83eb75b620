//! What this machine allows, found out by trying.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use super::super::{
    EngineError, Isolation, Limits, Network, ProcessSpec, ProcessStatus, Sandbox, SandboxEvent,
    SandboxSpec, User,
};
use super::{INIT_PATH, LocalOptions};

/// The answer for the doctor.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LocalSupport {
    /// A program ran in a sandbox.
    pub works: bool,
    /// From the request to that program's end.
    pub took: Option<Duration>,
    /// What was refused, in words.
    pub refused: Option<String>,
    /// What to do about it.
    pub advice: Option<String>,
}

/// Starts a sandbox and runs our own binary in it. `scratch` as in [`Sandbox::start_local`].
pub async fn probe(scratch: &Path, options: &LocalOptions) -> LocalSupport {
    let options = LocalOptions {
        allow_unisolated: false,
        ..options.clone()
    };
    let start = Instant::now();
    match try_one(scratch, &options).await {
        Ok(()) => LocalSupport {
            works: true,
            took: Some(start.elapsed()),
            refused: None,
            advice: None,
        },
        Err(error) => LocalSupport {
            works: false,
            took: None,
            advice: match &error {
                EngineError::NamespacesRefused { advice, .. } => Some(advice.clone()),
                _ => None,
            },
            refused: Some(match error {
                EngineError::NamespacesRefused { step, reason, .. } => format!("{step}: {reason}"),
                other => other.to_string(),
            }),
        },
    }
}

async fn try_one(scratch: &Path, options: &LocalOptions) -> Result<(), EngineError> {
    let spec = SandboxSpec {
        label: "probe".into(),
        mounts: Vec::new(),
        env: BTreeMap::new(),
        limits: Limits {
            wall: Duration::from_secs(20),
            memory_bytes: 256 << 20,
            processes: 16,
            file_bytes: 1 << 20,
            output_bytes: 1 << 16,
            scratch_bytes: 1 << 20,
            shm_bytes: 1 << 20,
            cpus: None,
        },
        network: Network::Loopback,
        devices: Vec::new(),
        image: None,
        gpus: Vec::new(),
        user: User::default(),
    };
    let mut sandbox = Sandbox::start_local_with(spec, scratch, options).await?;
    debug_assert_eq!(sandbox.isolation(), Isolation::Namespaces);
    sandbox.spawn(ProcessSpec {
        id: 0,
        // with nobody to speak to it ends at once
        argv: vec![INIT_PATH.into(), "__init".into()],
        env: BTreeMap::new(),
        cwd: PathBuf::from("/"),
        stdin: Vec::new(),
        channel: false,
    })?;
    let mut outcome = Err(EngineError::Ended);
    while let Some(event) = sandbox.next().await {
        let failed = |message| EngineError::Start {
            step: "running a program".into(),
            message,
        };
        match event {
            SandboxEvent::Exited {
                status: ProcessStatus::Exited(0),
                ..
            } => {
                outcome = Ok(());
                break;
            }
            SandboxEvent::Exited { status, .. } => {
                outcome = Err(failed(format!("{status:?}")));
                break;
            }
            SandboxEvent::NotStarted { message, .. } => {
                outcome = Err(failed(message));
                break;
            }
            _ => {}
        }
    }
    sandbox.close().await;
    outcome
}

/// Whether the set-up's last words tell of a mount that a container's policy refuses.
pub(super) fn names_a_refused_mount(said: &str) -> bool {
    said.contains("EPERM") || said.contains("Operation not permitted")
}

/// What to do where namespaces are refused: the first known cause that this machine shows.
pub(super) fn advice() -> String {
    let setting = |name: &str| {
        fs::read_to_string(format!("/proc/sys/{name}"))
            .ok()
            .and_then(|text| text.trim().parse::<u64>().ok())
    };
    if setting("user/max_user_namespaces") == Some(0) {
        return "user namespaces are turned off: `sysctl -w user.max_user_namespaces=15000` as \
                root turns them on"
            .into();
    }
    if setting("kernel/unprivileged_userns_clone") == Some(0) {
        return "user namespaces are for root only: `sysctl -w kernel.unprivileged_userns_clone=1` \
                as root opens them"
            .into();
    }
    if setting("kernel/apparmor_restrict_unprivileged_userns") == Some(1) {
        return "AppArmor restricts user namespaces (Ubuntu 23.10 and later): `sysctl -w \
                kernel.apparmor_restrict_unprivileged_userns=0` as root lifts that, or a profile \
                with `userns,` for this program does; docker is the way without either"
            .into();
    }
    if in_a_container() {
        return "this is a container whose policy refuses them: start it with `--security-opt \
                seccomp=unconfined --security-opt systempaths=unconfined` (and `apparmor=unconfined`), \
                or run on the machine itself"
            .into();
    }
    "no known cause was found on this machine; docker is the way around".into()
}

fn in_a_container() -> bool {
    Path::new("/.dockerenv").exists()
        || Path::new("/run/.containerenv").exists()
        // parts of /proc that a container runtime covers
        || fs::read_to_string("/proc/self/mountinfo")
            .is_ok_and(|mounts| mounts.lines().any(|l| l.contains(" /proc/kcore ")))
}
