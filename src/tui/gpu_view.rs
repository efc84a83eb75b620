//! What the gpu pane shows: GPUs, or the reason why there are none, and the machine beside them.

/// One figure of a device: a value or why there is none; never 0 for unknown.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Figure<T> {
    Value(T),
    #[default]
    Unsupported,
    NoPermission,
    Lost,
}

impl<T: Copy> Figure<T> {
    pub fn value(self) -> Option<T> {
        match self {
            Figure::Value(value) => Some(value),
            _ => None,
        }
    }
}

/// One sample of everything.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct GpuView {
    /// Seconds since the epoch.
    pub at_s: f64,
    /// Its version; not safe text.
    pub driver: Option<String>,
    /// The newest CUDA version that it can serve; not safe text.
    pub cuda: Option<String>,
    pub gpus: Vec<GpuRow>,
    /// Why there are no GPUs, with advice; absent where there are some.
    pub reason: Option<String>,
    /// When the driver is asked again, in seconds since the epoch.
    pub retry_at_s: Option<f64>,
    pub host: HostView,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct GpuRow {
    pub index: u32,
    pub uuid: String,
    /// As the driver gives it: `NVIDIA H200`.
    pub name: String,
    pub util_percent: Figure<u32>,
    pub memory_used: Figure<u64>,
    pub memory_total: Figure<u64>,
    pub power_w: Figure<f64>,
    pub power_limit_w: Figure<f64>,
    pub temperature_c: Figure<u32>,
    pub sm_mhz: Figure<u32>,
    /// 0 is the fastest.
    pub pstate: Figure<u32>,
    /// Why the clocks are held down: `power cap`, …; empty: they are not, or it is not told.
    pub throttle: String,
    /// The driver tells why they are held down, or that they are not.
    pub throttle_told: bool,
    /// Uncorrected memory errors since the driver was loaded.
    pub ecc_errors: Figure<u64>,
    pub more: GpuMore,
    /// The instances that it is cut into.
    pub mig: Vec<MigRow>,
    /// Who holds it and who is on it; empty: not known.
    pub uses: Vec<GpuUse>,
    pub processes: Vec<ProcessRow>,
    /// A run could take it now.
    pub free: bool,
    /// When its figures were read, in seconds since the epoch.
    pub read_at_s: f64,
    /// Since when it does not answer, in seconds since the epoch; the row stays.
    pub lost_since_s: Option<f64>,
}

/// What only the view of one GPU shows.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct GpuMore {
    pub bus_id: Option<String>,
    pub memory_busy_percent: Figure<u32>,
    pub memory_mhz: Figure<u32>,
    pub sm_max_mhz: Figure<u32>,
    pub memory_max_mhz: Figure<u32>,
    pub slowdown_c: Figure<u32>,
    pub shutdown_c: Figure<u32>,
    pub fan_percent: Figure<u32>,
    /// Since the driver was loaded.
    pub energy_j: Figure<f64>,
    pub ecc_corrected: Figure<u64>,
    pub compute_mode: Option<String>,
    pub persistence: Figure<bool>,
    /// Generation and width now, and what both ends could do.
    pub pcie_link: Figure<[u32; 2]>,
    pub pcie_link_max: Option<[u32; 2]>,
    /// Bytes in a second: received, sent.
    pub pcie: [Figure<u64>; 2],
    /// Links that are up, of all.
    pub nvlinks: Figure<[u32; 2]>,
    pub nvlink: [Figure<u64>; 2],
    /// Who has leased it, in full; not safe text.
    pub lease: Option<String>,
}

/// A part of a GPU that is used as one. Not safe text.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct MigRow {
    pub index: u32,
    pub uuid: String,
    pub profile: String,
    pub memory_used: Figure<u64>,
    pub memory_total: Figure<u64>,
}

/// `run 41 rank 0`, `leased: run 41`, `pid 123 other namespace`, `free`: not safe text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GpuUse {
    pub kind: UseKind,
    pub words: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UseKind {
    Free,
    Run,
    Leased,
    Stale,
    Other,
}

/// A process on a GPU, and whose it is. Not safe text.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ProcessRow {
    pub pid: u32,
    /// `C`, `G` or `C+G`.
    pub kind: &'static str,
    pub memory: Figure<u64>,
    /// Share of the multiprocessors.
    pub sm_percent: Figure<u32>,
    /// 100: one core.
    pub cpu_percent: Figure<f64>,
    /// When it began, in seconds since the epoch.
    pub started_s: Figure<f64>,
    /// The MIG instance that it is on.
    pub instance: Option<u32>,
    /// The run that it belongs to.
    pub run: Option<String>,
    /// `run 41 rank 0`, `container 3f2a…`, `other namespace`, `other`.
    pub who: String,
    /// Empty: not known.
    pub user: String,
    pub command: String,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct HostView {
    /// When it was read, in seconds since the epoch.
    pub read_at_s: f64,
    pub cores: u32,
    /// Of all cores together: 0 to 100.
    pub cpu_percent: Option<f64>,
    pub memory_used: Option<u64>,
    pub memory_total: Option<u64>,
    pub load: Option<[f64; 3]>,
    pub home_disk: Option<DiskView>,
    /// Where the home's cache lies; the same as the home's disk as a rule.
    pub cache_disk: Option<DiskView>,
}

/// Bytes of a file system.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DiskView {
    pub free: u64,
    pub total: u64,
}
