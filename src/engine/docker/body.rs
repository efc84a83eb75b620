//! What the daemon is asked to create.

use std::collections::HashMap;
use std::path::Path;

use bollard::models::{
    ContainerCreateBody, DeviceRequest, HealthConfig, HostConfig, HostConfigCgroupnsModeEnum,
    HostConfigLogConfig, Mount,
};

use super::Daemon;
use crate::engine::local::INIT_PATH;
use crate::engine::{Limits, Network, SandboxSpec};

/// Memory that the kernel lets a container have beyond its limit: process 1, the kernel's own
/// records of its files and pages, and what is allocated between two looks of the watcher, which is
/// to be the one that speaks.
const MEMORY_MARGIN: u64 = 512 << 20;
/// What an ordinary process weighs against others when all want the processor.
const CPU_SHARES: i64 = 1024;
/// As on the local engine: when the machine runs out of memory, a sandbox goes before the worker.
const OOM_SCORE: i64 = 300;

/// There where the kernel knows IPv6.
const NO_IPV6: &str = "/proc/sys/net/ipv6/conf/all/disable_ipv6";

/// Not even readable; the runtime's own list, and what the local engine covers besides.
const MASKED: [&str; 17] = [
    "/proc/acpi",
    "/proc/asound",
    "/proc/interrupts",
    "/proc/kallsyms",
    "/proc/kcore",
    "/proc/key-users",
    "/proc/keys",
    "/proc/kmsg",
    "/proc/latency_stats",
    "/proc/sched_debug",
    "/proc/scsi",
    "/proc/timer_list",
    "/proc/timer_stats",
    "/sys/devices/virtual/powercap",
    "/sys/firmware",
    "/sys/fs/bpf",
    "/sys/kernel",
];
const READ_ONLY: [&str; 5] = [
    "/proc/bus",
    "/proc/fs",
    "/proc/irq",
    "/proc/sys",
    "/proc/sysrq-trigger",
];

/// Processors of this machine.
fn cores() -> i64 {
    std::thread::available_parallelism().map_or(1, |n| signed(n.get().min(128) as u64))
}

/// A container for `spec`, run by `user`.
pub(super) fn body(
    spec: &SandboxSpec,
    image: &str,
    daemon: &Daemon,
    (uid, gid): (u32, u32),
    mounts: Vec<Mount>,
    labels: HashMap<String, String>,
) -> ContainerCreateBody {
    ContainerCreateBody {
        image: Some(image.to_owned()),
        hostname: Some("sandbox".into()),
        user: Some(format!("{uid}:{gid}")),
        entrypoint: Some(vec![INIT_PATH.into(), "__init".into()]),
        cmd: Some(Vec::new()),
        working_dir: Some("/".into()),
        // process 1 starts everything else with an environment of its own
        env: Some(Vec::new()),
        tty: Some(false),
        open_stdin: Some(true),
        stdin_once: Some(true),
        attach_stdin: Some(true),
        attach_stdout: Some(true),
        attach_stderr: Some(true),
        healthcheck: Some(HealthConfig {
            test: Some(vec!["NONE".into()]),
            ..HealthConfig::default()
        }),
        // when the daemon itself is stopped there is nothing to wait for
        stop_signal: Some("SIGKILL".into()),
        labels: Some(labels),
        host_config: Some(host(spec, daemon, mounts)),
        ..ContainerCreateBody::default()
    }
}

fn host(spec: &SandboxSpec, daemon: &Daemon, mounts: Vec<Mount>) -> HostConfig {
    let limits = &spec.limits;
    let list = |texts: &[&str]| Some(texts.iter().map(ToString::to_string).collect());
    let mut security = vec!["no-new-privileges".to_owned()];
    if daemon.labelled || daemon.podman {
        security.push("label=disable".into());
    }
    if daemon.podman {
        // it reads no list of masked paths beside its options
        security.push(format!("mask={}", MASKED.join(":")));
    }
    let network = match spec.network {
        Network::Loopback => "none",
        Network::Host => "host",
    };
    // as on the local engine, whose loopback has both; daemons switch one off
    let sysctls = (spec.network == Network::Loopback && Path::new(NO_IPV6).exists())
        .then(|| HashMap::from([("net.ipv6.conf.all.disable_ipv6".into(), "0".into())]));
    let memory = signed(limits.memory_bytes.saturating_add(MEMORY_MARGIN));
    HostConfig {
        network_mode: Some(network.into()),
        cap_drop: Some(vec!["ALL".into()]),
        security_opt: Some(security),
        privileged: Some(false),
        readonly_rootfs: Some(true),
        ipc_mode: Some("private".into()),
        cgroupns_mode: Some(HostConfigCgroupnsModeEnum::PRIVATE),
        userns_mode: daemon.remapped.then(|| "host".into()),
        init: Some(false),
        sysctls,
        memory: Some(memory),
        // none beside it
        memory_swap: Some(memory),
        pids_limit: Some(most_threads(limits)),
        // a container weighs as one process otherwise, and starves beside ordinary ones
        cpu_shares: Some(CPU_SHARES * cores()),
        nano_cpus: limits.cpus.map(|cpus| i64::from(cpus) * 1_000_000_000),
        oom_score_adj: Some(OOM_SCORE),
        shm_size: Some(signed(limits.shm_bytes.max(1 << 16))),
        tmpfs: Some(HashMap::from([("/tmp".into(), scratch(limits))])),
        mounts: Some(mounts),
        device_requests: requests(&spec.gpus),
        masked_paths: list(&MASKED),
        readonly_paths: list(&READ_ONLY),
        // what is printed is ours to keep, once
        log_config: Some(HostConfigLogConfig {
            typ: Some("none".into()),
            config: None,
        }),
        ..HostConfig::default()
    }
}

fn scratch(limits: &Limits) -> String {
    let bytes = limits.scratch_bytes.max(1 << 16);
    format!("rw,exec,nosuid,nodev,size={bytes},mode=1777")
}

/// As on the local engine, well above the watcher's limit, which is the one that is reported.
fn most_threads(limits: &Limits) -> i64 {
    signed(4 * limits.processes.min(1 << 20) + 256)
}

fn signed(bytes: u64) -> i64 {
    i64::try_from(bytes).unwrap_or(i64::MAX)
}

/// GPUs by UUID, with what computing and asking about them needs.
fn requests(gpus: &[String]) -> Option<Vec<DeviceRequest>> {
    let capabilities = ["gpu", "compute", "utility"];
    (!gpus.is_empty()).then(|| {
        vec![DeviceRequest {
            device_ids: Some(gpus.to_vec()),
            capabilities: Some(vec![capabilities.map(str::to_owned).to_vec()]),
            ..DeviceRequest::default()
        }]
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As `docker run --gpus device=…` asks for them: these and no others, and never all.
    #[test]
    fn gpus_are_asked_for_by_uuid() {
        let uuids = ["GPU-5d1c".to_owned(), "MIG-77aa".to_owned()];
        let asked = serde_json::json!([{
            "DeviceIDs": ["GPU-5d1c", "MIG-77aa"],
            "Capabilities": [["gpu", "compute", "utility"]],
        }]);
        assert_eq!(serde_json::json!(requests(&uuids)), asked);
        assert_eq!(requests(&[]), None);
    }
}
