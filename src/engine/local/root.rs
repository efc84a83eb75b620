//! The root that processes in a sandbox see: the machine's programs and libraries read-only, a
//! made-up `/etc`, private `/tmp` and `/dev/shm`, and what the specification mounts. Nothing else.

use std::path::Path;

use hakoniwa::{Container, MountOptions, Namespace};
use nix::sys::statvfs::{FsFlags, statvfs};

use super::super::plan::{Bind, Plan};
use super::super::{Limits, Network, Refusal, SandboxSpec};
use super::{INIT_PATH, INNER_ID};

/// Programs and libraries of the machine.
const SYSTEM: [&str; 7] = [
    "/usr", "/bin", "/sbin", "/lib", "/lib64", "/lib32", "/libx32",
];
/// Parts of `/etc` that programs need and that tell nothing: the loader's cache, alternatives (on
/// Debian a library may be a link into them), time zone, public certificates.
const ETC: [&str; 10] = [
    "/etc/ld.so.cache",
    "/etc/ld.so.conf",
    "/etc/ld.so.conf.d",
    "/etc/alternatives",
    "/etc/localtime",
    "/etc/ssl/certs",
    "/etc/ssl/openssl.cnf",
    "/etc/pki/tls/certs",
    "/etc/pki/ca-trust/extracted",
    "/etc/ca-certificates/extracted",
];
/// How many processors and memory nodes there are.
const TOPOLOGY: &str = "/sys/devices/system";
/// Where GPU libraries look for devices and their neighbourhood.
const GPU_TOPOLOGY: [&str; 5] = [
    "/sys/devices",
    "/sys/bus/pci",
    "/sys/class",
    "/sys/module",
    "/sys/dev",
];

/// The plan of everything that is bound in.
pub(super) fn plan(spec: &SandboxSpec, binary: &Path) -> Result<Plan, Refusal> {
    let mut plan = Plan::default();
    for path in SYSTEM.iter().chain(&ETC) {
        plan.own(path);
    }
    if spec.network == Network::Host {
        plan.own_file("/etc/resolv.conf");
    }
    if spec.devices.is_empty() {
        plan.own(TOPOLOGY);
    } else {
        for path in GPU_TOPOLOGY {
            plan.own(path);
        }
    }
    let read_only = |source: &Path| Bind {
        source: source.to_owned(),
        writable: false,
        device: false,
    };
    plan.mount(Path::new(INIT_PATH), read_only(binary))?;
    for device in &spec.devices {
        let bind = Bind {
            device: true,
            ..read_only(device)
        };
        plan.mount(device, bind)?;
    }
    plan.mounts(&spec.mounts)?;
    Ok(plan)
}

/// A container with everything but the staged mounts.
pub(super) fn container(root: &Path, limits: &Limits, network: Network) -> Container {
    let mut container = Container::empty();
    for namespace in [
        Namespace::User,
        Namespace::Mount,
        Namespace::Pid,
        Namespace::Ipc,
        Namespace::Uts,
    ] {
        container.unshare(namespace);
    }
    container
        .uidmap(INNER_ID)
        .gidmap(INNER_ID)
        .hostname("sandbox")
        .rootdir(root)
        .procfsmount("/proc")
        .devfsmount("/dev");
    let tmpfs = |bytes: u64| Some(format!("size={},mode=1777", bytes.max(1 << 16)));
    let plain = MountOptions::NOSUID | MountOptions::NODEV;
    container
        .mount("tmpfs", "/tmp", "tmpfs", plain, tmpfs(limits.scratch_bytes))
        .mount("tmpfs", "/dev/shm", "tmpfs", plain, tmpfs(limits.shm_bytes));
    made_up_etc(&mut container, network);
    container
}

fn made_up_etc(container: &mut Container, network: Network) {
    let hosts = match network {
        Network::Loopback => "files",
        Network::Host => "files dns",
    };
    container
        .dir("/etc", 0o755)
        .file(
            "/etc/passwd",
            &format!(
                "root:x:0:0:root:/nonexistent:/usr/sbin/nologin\n\
                 sandbox:x:{INNER_ID}:{INNER_ID}:sandbox:/tmp:/bin/sh\n\
                 nobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin\n"
            ),
        )
        .file(
            "/etc/group",
            &format!("root:x:0:\nsandbox:x:{INNER_ID}:\nnogroup:x:65534:\n"),
        )
        .file("/etc/hostname", "sandbox\n")
        .file(
            "/etc/hosts",
            "127.0.0.1 localhost sandbox\n::1 localhost ip6-localhost ip6-loopback\n",
        )
        .file(
            "/etc/nsswitch.conf",
            &format!(
                "passwd: files\ngroup: files\nhosts: {hosts}\nservices: files\nprotocols: files\n"
            ),
        );
}

/// Options for a staged mount. Options that it has already are kept: inside a user namespace the
/// kernel refuses to take them away.
pub(super) fn options(staged: &Path, bind: &Bind) -> Result<MountOptions, nix::Error> {
    let flags = statvfs(staged)?.flags();
    let mut options = MountOptions::BIND | MountOptions::REC | MountOptions::NOSUID;
    if flags.contains(FsFlags::ST_RDONLY) || !(bind.writable || bind.device) {
        options |= MountOptions::RDONLY;
    }
    if flags.contains(FsFlags::ST_NODEV) || !bind.device {
        options |= MountOptions::NODEV;
    }
    if flags.contains(FsFlags::ST_NOEXEC) {
        options |= MountOptions::NOEXEC;
    }
    Ok(options)
}
