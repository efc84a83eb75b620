//! What a sampler asks of GPU hardware. The real one is [`super::NvmlSource`]; a scripted one
//! stands for what cannot be had: 16 GPUs, a lost one, slow calls, a driver replaced underneath.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Reading;
use super::snapshot::{Pcie, ProcessKind};

/// Hardware that is asked by one thread alone.
pub trait Source: Send {
    /// Opens the driver afresh, whatever was open before; answers its version.
    fn open(&mut self) -> Result<String, Unavailable>;

    /// How many GPUs there are; an error closes the source.
    fn count(&mut self) -> Result<u32, Unavailable>;

    fn identity(&mut self, index: u32) -> Result<Identity, Missing>;

    /// One group of readings of one GPU; what does not belong to `lane` stays as it is in `into`.
    fn read(&mut self, index: u32, lane: Lane, into: &mut Readings) -> Result<(), Missing>;
}

/// Calls that are made together; between lanes a sampler may stop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lane {
    Figures,
    Processes,
    /// PCIe throughput: 20 ms a call.
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
    pub memory_used_bytes: Reading<u64>,
    pub memory_total_bytes: Reading<u64>,
    pub temperature_c: Reading<u32>,
    pub power_w: Reading<f64>,
    pub power_limit_w: Reading<f64>,
    pub sm_clock_mhz: Reading<u32>,
    pub pstate: Reading<u32>,
    pub throttle: Reading<Vec<String>>,
    pub ecc_uncorrected: Reading<u64>,
    pub processes: Reading<Vec<RawProcess>>,
    pub pcie: Reading<Pcie>,
}

/// A process as the driver names it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RawProcess {
    pub pid: u32,
    pub kind: ProcessKind,
    pub memory_bytes: Reading<u64>,
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
