//! What a sampler asks of GPU hardware. The real one is [`super::NvmlSource`]; a scripted one
//! stands for what cannot be had: 16 GPUs, a lost one, slow calls, a driver replaced underneath.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Reading;
use super::snapshot::{Mig, NvLink, Pcie, PcieLink, ProcessKind};

/// Hardware that is asked by one thread alone.
pub trait Source: Send {
    /// Opens the driver afresh, whatever was open before; answers its version.
    fn open(&mut self) -> Result<String, Unavailable>;

    /// How many GPUs there are; an error closes the source.
    fn count(&mut self) -> Result<u32, Unavailable>;

    /// The newest CUDA version that the open driver can serve: `13.0`.
    fn cuda(&mut self) -> Option<String>;

    fn identity(&mut self, index: u32) -> Result<Identity, Missing>;

    /// One group of readings of one GPU; what does not belong to `lane` stays as it is in `into`.
    fn read(&mut self, index: u32, lane: Lane, into: &mut Readings) -> Result<(), Missing>;
}

/// Calls that are made together; between lanes a sampler may stop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lane {
    Figures,
    Processes,
    /// What has to be watched for a while: PCIe 20 ms a direction, NVLink 100 ms.
    Slow,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Identity {
    pub uuid: String,
    pub name: String,
    /// Number of its device node, `/dev/nvidia<minor>`, where the driver tells.
    pub minor: Option<u32>,
    /// Cut into instances: its whole cannot be used.
    pub mig: bool,
    pub fixed: Fixed,
}

/// What does not change while a driver runs.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Fixed {
    /// `00000000:18:00.0`.
    pub bus_id: Option<String>,
    pub sm_clock_max_mhz: Reading<u32>,
    pub memory_clock_max_mhz: Reading<u32>,
    /// Where the hardware begins to hold its clocks down, and where it turns itself off.
    pub slowdown_c: Reading<u32>,
    pub shutdown_c: Reading<u32>,
    /// `default`, `prohibited`, `exclusive process`.
    pub compute_mode: Option<String>,
    /// The driver stays loaded without a user.
    pub persistence: Reading<bool>,
}

/// A GPU that does not answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Missing {
    Lost,
    NoPermission,
    /// The driver itself went: the source must be opened again.
    Driver,
}

/// Values of one GPU.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Readings {
    pub utilisation_pct: Reading<u32>,
    pub memory_utilisation_pct: Reading<u32>,
    pub memory_used_bytes: Reading<u64>,
    pub memory_total_bytes: Reading<u64>,
    pub temperature_c: Reading<u32>,
    pub fan_pct: Reading<u32>,
    pub power_w: Reading<f64>,
    pub power_limit_w: Reading<f64>,
    pub energy_j: Reading<f64>,
    pub sm_clock_mhz: Reading<u32>,
    pub memory_clock_mhz: Reading<u32>,
    pub pstate: Reading<u32>,
    pub throttle: Reading<Vec<String>>,
    pub ecc_corrected: Reading<u64>,
    pub ecc_uncorrected: Reading<u64>,
    /// Empty: not cut into instances.
    pub mig: Reading<Vec<Mig>>,
    pub processes: Reading<Vec<RawProcess>>,
    pub pcie_link: Reading<PcieLink>,
    pub pcie: Reading<Pcie>,
    pub nvlink: Reading<NvLink>,
}

/// Every reading with the same reason.
macro_rules! unknown {
    ($why:ident) => {
        Readings {
            utilisation_pct: Reading::$why,
            memory_utilisation_pct: Reading::$why,
            memory_used_bytes: Reading::$why,
            memory_total_bytes: Reading::$why,
            temperature_c: Reading::$why,
            fan_pct: Reading::$why,
            power_w: Reading::$why,
            power_limit_w: Reading::$why,
            energy_j: Reading::$why,
            sm_clock_mhz: Reading::$why,
            memory_clock_mhz: Reading::$why,
            pstate: Reading::$why,
            throttle: Reading::$why,
            ecc_corrected: Reading::$why,
            ecc_uncorrected: Reading::$why,
            mig: Reading::$why,
            processes: Reading::$why,
            pcie_link: Reading::$why,
            pcie: Reading::$why,
            nvlink: Reading::$why,
        }
    };
}

impl Readings {
    /// Of a GPU that fell off the bus.
    pub(super) fn lost() -> Self {
        unknown!(Lost)
    }

    /// Of a GPU that this user may not ask.
    pub(super) fn forbidden() -> Self {
        unknown!(NoPermission)
    }
}

/// A process as the driver names it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RawProcess {
    pub pid: u32,
    pub kind: ProcessKind,
    pub memory_bytes: Reading<u64>,
    /// Of the last seconds, 0 to 100.
    pub sm_pct: Reading<u32>,
    /// The instance that it is on, as [`Mig::index`] counts.
    pub instance: Option<u32>,
}

impl RawProcess {
    pub fn new(pid: u32, kind: ProcessKind, memory_bytes: Reading<u64>) -> Self {
        Self {
            pid,
            kind,
            memory_bytes,
            sm_pct: Reading::Unsupported,
            instance: None,
        }
    }
}

/// Why there are no GPUs to be read, and what to do.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Unavailable {
    pub why: Why,
    pub reason: String,
    pub advice: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Why {
    /// No NVIDIA driver on this machine.
    LibraryAbsent,
    /// The library is there, the kernel's part is not loaded.
    DriverNotLoaded,
    /// The driver was replaced without a restart.
    DriverMismatch,
    NoPermission,
    /// The driver runs and sees no GPU.
    NoGpu,
    Failed,
}

impl Unavailable {
    pub(super) fn new(why: Why, reason: impl Into<String>) -> Self {
        let advice = match why {
            Why::LibraryAbsent => {
                "that is fine without NVIDIA GPUs; with one, install its driver \
                 (libnvidia-ml.so.1), in a container start it with the GPUs"
            }
            Why::DriverNotLoaded => "load the nvidia kernel module: modprobe nvidia, or restart",
            Why::DriverMismatch => {
                "the driver was updated under the running kernel module: reload the nvidia \
                 modules or restart the machine; this reads again by itself"
            }
            Why::NoPermission => {
                "give this user access to /dev/nvidia*, or ask for the GPUs in the job"
            }
            Why::NoGpu => {
                "in a container or a job, ask for GPUs; else look at nvidia-smi and dmesg"
            }
            Why::Failed => "look at nvidia-smi and dmesg; this reads again by itself",
        };
        Self {
            why,
            reason: reason.into(),
            advice: advice.into(),
        }
    }
}
