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
    /// Why the clocks are held down: `power cap`, `idle`, …; empty: they are not.
    pub throttle: String,
    /// Who uses it: `run 41 rank 0`, `pid 123 (other namespace)`, `free`.
    pub user: String,
    /// Since when it does not answer, in words; the row stays.
    pub lost: Option<String>,
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
