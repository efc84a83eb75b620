//! What a sandbox needs to compute on held GPUs, and nothing of the others: their device nodes,
//! the driver's libraries where the loader's cache does not know them, the fabric's settings.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use super::hold::Held;
use crate::engine::{Access, Mount};

/// Nodes that every process needs beside those of its GPUs.
const CONTROL: [&str; 2] = ["nvidiactl", "nvidia-uvm"];
/// The driver's library that every CUDA program loads.
const LIBRARY: &str = "libcuda.so.1";
/// Where an engine puts the machine's own.
const GIVEN: [&str; 4] = ["/usr", "/lib", "/lib64", "/bin"];
/// Settings of this node's GPUs and their links, set by whoever runs it. They are told inside as
/// well: NVLink multicast may be off for a reason.
const FABRIC: [&str; 3] = ["NCCL_", "NVSHMEM_", "TORCH_SYMM_MEM_"];

/// For a [`crate::engine::SandboxSpec`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Equipment {
    pub devices: Vec<PathBuf>,
    /// The same GPUs by UUID, for an engine that makes the nodes itself.
    pub uuids: Vec<String>,
    pub mounts: Vec<Mount>,
    /// `LD_LIBRARY_PATH` goes before what an environment sets.
    pub env: BTreeMap<String, String>,
    /// Those of `env` that whoever runs the node set for its links.
    pub settings: BTreeMap<String, String>,
    /// Where no name spaces hide the other GPUs.
    pub unisolated_env: BTreeMap<String, String>,
}

/// `dev`: `/dev`. `host_env`: the worker's own variables.
///
/// # Errors
/// Names a device node that is missing, and how it is made.
pub fn equip(
    held: &Held,
    dev: &Path,
    host_env: &BTreeMap<OsString, OsString>,
) -> Result<Equipment, String> {
    let mut found = Equipment::default();
    if held.gpus.is_empty() {
        return Ok(found);
    }
    for name in CONTROL {
        let node = dev.join(name);
        if !node.exists() {
            return Err(missing(&node));
        }
        found.devices.push(node);
    }
    for gpu in &held.gpus {
        found.uuids.push(gpu.uuid.clone());
        let minor = gpu.minor.ok_or_else(|| {
            format!(
                "the driver does not tell the device node of GPU {} ({})",
                gpu.index, gpu.uuid
            )
        })?;
        let node = dev.join(format!("nvidia{minor}"));
        if !node.exists() {
            return Err(missing(&node));
        }
        found.devices.push(node);
    }
    let folders = libraries(host_env);
    if !folders.is_empty() {
        let path: Vec<String> = folders.iter().map(|f| f.display().to_string()).collect();
        found.env.insert("LD_LIBRARY_PATH".into(), path.join(":"));
    }
    // every sandbox has the machine's own programs and libraries already
    let elsewhere = folders
        .into_iter()
        .filter(|f| !GIVEN.iter().any(|g| f.starts_with(g)));
    found.mounts.extend(elsewhere.map(|folder| Mount {
        source: folder.clone(),
        target: folder,
        access: Access::ReadOnly,
    }));
    for (name, value) in host_env {
        if let (Some(name), Some(value)) = (name.to_str(), value.to_str())
            && FABRIC.iter().any(|prefix| name.starts_with(prefix))
        {
            found.settings.insert(name.into(), value.into());
        }
    }
    found.env.extend(found.settings.clone());
    // as nvidia-smi counts them, and as the sandbox's own numbers run
    found
        .env
        .insert("CUDA_DEVICE_ORDER".into(), "PCI_BUS_ID".into());
    let uuids: Vec<&str> = held.gpus.iter().map(|g| g.uuid.as_str()).collect();
    found
        .unisolated_env
        .insert("CUDA_VISIBLE_DEVICES".into(), uuids.join(","));
    Ok(found)
}

fn missing(node: &Path) -> String {
    format!(
        "{} is missing; make the driver's device nodes as root: nvidia-modprobe -c 0 -u",
        node.display()
    )
}

/// Real folders of the loader's path that hold the driver's library. Others of that path are not told
/// inside: they could put another version before a package's own.
fn libraries(host_env: &BTreeMap<OsString, OsString>) -> Vec<PathBuf> {
    let Some(path) = host_env.get(std::ffi::OsStr::new("LD_LIBRARY_PATH")) else {
        return Vec::new();
    };
    let mut found: Vec<PathBuf> = Vec::new();
    for folder in std::env::split_paths(path) {
        // a link on the way is none inside
        let Ok(real) = folder.canonicalize() else {
            continue;
        };
        let plain = folder.is_absolute() && real.to_str().is_some_and(|f| !f.contains(':'));
        if plain && real.join(LIBRARY).is_file() && !found.contains(&real) {
            found.push(real);
        }
    }
    found
}
