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
    pub gpus: Vec<GpuRow>,
    /// Why there are no GPUs, with advice; absent where there are some.
    pub reason: Option<String>,
    pub host: HostView,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct GpuRow {
    pub index: u32,
    pub uuid: String,
    /// Short: `H200`.
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
    /// Uncorrected memory errors since the driver was loaded.
    pub ecc_errors: Figure<u64>,
    /// Who holds it and who is on it; empty: not known.
    pub uses: Vec<GpuUse>,
    pub processes: Vec<ProcessRow>,
    /// When its figures were read, in seconds since the epoch.
    pub read_at_s: f64,
    /// Since when it does not answer, in seconds since the epoch; the row stays.
    pub lost_since_s: Option<f64>,
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

/// A process on a GPU, as `nvidia-smi` lists it, and whose it is.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ProcessRow {
    pub pid: u32,
    /// `C`, `G` or `C+G`.
    pub kind: &'static str,
    pub memory: Figure<u64>,
    pub who: String,
    /// Empty: not known.
    pub user: String,
    pub command: String,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct HostView {
    pub cores: u32,
    /// Of all cores together: 0 to 100.
    pub cpu_percent: Option<f64>,
    pub memory_used: Option<u64>,
    pub memory_total: Option<u64>,
    pub load: Option<[f64; 3]>,
}
