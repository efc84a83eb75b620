//! One whole view of the GPUs and the machine.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Reading;
use super::leased::GpuLease;
use super::source::{Fixed, Readings, Unavailable};

/// Published whole; every part tells when it was read.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Snapshot {
    /// When it was published, in seconds since the epoch.
    pub at_s: f64,
    /// Complete rounds over the GPUs (or over the lack of them) so far; 0: nothing is known yet.
    pub rounds: u64,
    pub driver: Option<String>,
    /// The newest CUDA version that the driver can serve.
    #[serde(default)]
    pub cuda: Option<String>,
    pub gpus: Vec<Gpu>,
    /// Why there are no GPUs; they are tried again by themselves.
    pub unavailable: Option<Unavailable>,
    /// When the next try is due, in seconds since the epoch.
    pub retry_at_s: Option<f64>,
    pub host: HostLoad,
}

/// One GPU; it stays in the list when it is lost.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Gpu {
    pub index: u32,
    pub uuid: String,
    pub name: String,
    /// When these figures were read, in seconds since the epoch.
    pub read_at_s: f64,
    /// Since when it does not answer any more, in seconds since the epoch.
    pub lost_since_s: Option<f64>,
    #[serde(flatten)]
    pub fixed: Fixed,
    pub utilisation_pct: Reading<u32>,
    /// Share of the time in which its memory was read or written.
    pub memory_utilisation_pct: Reading<u32>,
    pub memory_used_bytes: Reading<u64>,
    pub memory_total_bytes: Reading<u64>,
    pub temperature_c: Reading<u32>,
    pub fan_pct: Reading<u32>,
    pub power_w: Reading<f64>,
    pub power_limit_w: Reading<f64>,
    /// Since the driver was loaded.
    pub energy_j: Reading<f64>,
    pub sm_clock_mhz: Reading<u32>,
    pub memory_clock_mhz: Reading<u32>,
    /// 0 is the fastest.
    pub pstate: Reading<u32>,
    /// Why the clocks are held down; empty: they are not.
    pub throttle: Reading<Vec<String>>,
    /// Memory errors since the driver was loaded: corrected and uncorrected ones.
    pub ecc_corrected: Reading<u64>,
    pub ecc_uncorrected: Reading<u64>,
    /// The instances that it is cut into; empty: it is whole.
    pub mig: Reading<Vec<Mig>>,
    pub processes: Reading<Vec<GpuProcess>>,
    /// Who may use it, among those who keep to leases.
    pub lease: Reading<GpuLease>,
    pub pcie_link: Reading<PcieLink>,
    /// Only while the slow lane is on, as is NVLink.
    pub pcie: Reading<Pcie>,
    pub nvlink: Reading<NvLink>,
}

impl Gpu {
    pub(super) fn new(index: u32, uuid: String, name: String, fixed: Fixed) -> Self {
        let mut gpu = Self {
            index,
            uuid,
            name,
            fixed,
            ..Self::default()
        };
        gpu.take(0.0, &Readings::default(), Reading::Unsupported);
        gpu
    }

    /// Takes over what was read, its processes given by the caller.
    pub(super) fn take(
        &mut self,
        at_s: f64,
        readings: &Readings,
        processes: Reading<Vec<GpuProcess>>,
    ) {
        *self = Self {
            index: self.index,
            uuid: std::mem::take(&mut self.uuid),
            name: std::mem::take(&mut self.name),
            fixed: std::mem::take(&mut self.fixed),
            read_at_s: at_s,
            lost_since_s: None,
            utilisation_pct: readings.utilisation_pct,
            memory_utilisation_pct: readings.memory_utilisation_pct,
            memory_used_bytes: readings.memory_used_bytes,
            memory_total_bytes: readings.memory_total_bytes,
            temperature_c: readings.temperature_c,
            fan_pct: readings.fan_pct,
            power_w: readings.power_w,
            power_limit_w: readings.power_limit_w,
            energy_j: readings.energy_j,
            sm_clock_mhz: readings.sm_clock_mhz,
            memory_clock_mhz: readings.memory_clock_mhz,
            pstate: readings.pstate,
            throttle: readings.throttle.clone(),
            ecc_corrected: readings.ecc_corrected,
            ecc_uncorrected: readings.ecc_uncorrected,
            mig: readings.mig.clone(),
            processes,
            // a file on this machine, whatever the GPU says
            lease: std::mem::take(&mut self.lease),
            pcie_link: readings.pcie_link,
            pcie: readings.pcie,
            nvlink: readings.nvlink,
        };
    }

    /// Marks it lost: the same row, and no figure any more.
    pub(super) fn lose(&mut self, at_s: f64) {
        let since = self.lost_since_s.unwrap_or(at_s);
        self.take(at_s, &Readings::lost(), Reading::Lost);
        self.lost_since_s = Some(since);
    }

    /// Marks it as one that this user may not ask.
    pub(super) fn forbid(&mut self, at_s: f64) {
        self.take(at_s, &Readings::forbidden(), Reading::NoPermission);
    }

    /// Seconds since its figures were read.
    pub fn age_s(&self, now_s: f64) -> f64 {
        (now_s - self.read_at_s).max(0.0)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Pcie {
    pub received_bytes_per_s: u64,
    pub sent_bytes_per_s: u64,
}

/// The way to the machine: what it runs at, and what both ends could do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PcieLink {
    pub generation: u32,
    pub width: u32,
    pub generation_max: Option<u32>,
    pub width_max: Option<u32>,
}

/// The links to other GPUs, all together.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct NvLink {
    /// Links that are up, of those that it has.
    pub active: u32,
    pub links: u32,
    pub received_bytes_per_s: Reading<u64>,
    pub sent_bytes_per_s: Reading<u64>,
}

/// A part of a GPU that is used as one.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Mig {
    /// As the driver numbers the instances of a GPU.
    pub index: u32,
    pub uuid: String,
    /// `1g.18gb`, or the whole name where the profile is not in it.
    pub profile: String,
    pub memory_used_bytes: Reading<u64>,
    pub memory_total_bytes: Reading<u64>,
}

/// What a process does on a GPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum ProcessKind {
    #[serde(rename = "C")]
    Compute,
    #[serde(rename = "G")]
    Graphics,
    #[serde(rename = "C+G")]
    Both,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct GpuProcess {
    /// As the driver names it; in a container it may be another name space's.
    pub pid: u32,
    pub kind: ProcessKind,
    pub memory_bytes: Reading<u64>,
    /// Of the last seconds, 0 to 100; a process that does nothing tells nothing.
    pub sm_pct: Reading<u32>,
    /// 100: one core; unknown in the first sample of a process.
    pub cpu_pct: Reading<f64>,
    /// When it was started, in seconds since the epoch.
    pub started_s: Reading<f64>,
    /// The MIG instance that it is on.
    pub instance: Option<u32>,
    pub command: Reading<String>,
    pub user: Reading<String>,
    /// The run that it belongs to, where it is one of ours.
    pub run: Option<String>,
    /// Its rank in that run, as its environment tells it.
    pub rank: Option<u32>,
    /// The container that it is in: the first 12 digits of its id.
    pub container: Option<String>,
}

/// The machine beside the GPUs.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct HostLoad {
    /// When it was read, in seconds since the epoch; 0: not yet.
    pub read_at_s: f64,
    /// Of all cores together, 0 to 100.
    pub cpu_pct: Reading<f64>,
    /// Each core, 0 to 100.
    pub cores_pct: Reading<Vec<f64>>,
    /// 1, 5 and 15 minutes.
    pub load: Reading<[f64; 3]>,
    pub memory_used_bytes: Reading<u64>,
    pub memory_total_bytes: Reading<u64>,
    pub swap_used_bytes: Reading<u64>,
    pub swap_total_bytes: Reading<u64>,
    /// The file system of the home.
    pub disk: Reading<Disk>,
    /// The file system of the home's cache; mostly the same.
    #[serde(default)]
    pub cache_disk: Reading<Disk>,
    /// The busiest processes of live runs, busiest first.
    pub processes: Vec<HostProcess>,
    /// All processes of live runs; `processes` lists the first of them.
    pub processes_total: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Disk {
    /// What an ordinary user may still write.
    pub free_bytes: u64,
    pub total_bytes: u64,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct HostProcess {
    pub pid: u32,
    pub run: String,
    /// Its rank in that run, as its environment tells it.
    pub rank: Option<u32>,
    pub command: String,
    /// 100: one core; unknown in the first sample of a process.
    pub cpu_pct: Reading<f64>,
    pub memory_bytes: Reading<u64>,
}

/// A live run's worker: the root of its processes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WorkerProcess {
    pub run: String,
    pub pid: u32,
}
