//! The document of `infradev gpu --once --json`.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::sampler::{Sampler, Settings};
use super::snapshot::Snapshot;

/// Long enough for a driver that has to wake its GPUs.
const LIMIT: Duration = Duration::from_secs(15);

/// Version 1.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct GpuDocument {
    pub schema: u32,
    /// Every GPU and the machine were read; `false`: a call hung, and what is there is shown.
    pub complete: bool,
    #[serde(flatten)]
    pub snapshot: Snapshot,
}

/// Looks once, with PCIe and NVLink. Takes some 0.3 s and a tenth of one a GPU, at most 15.
pub fn once(home: &Path) -> GpuDocument {
    let mut settings = Settings::new(home);
    settings.slow_lane = true;
    let sampler = Sampler::start(settings);
    let receiver = sampler.subscribe();
    let deadline = Instant::now() + LIMIT;
    loop {
        let newest = Arc::clone(&receiver.borrow());
        let complete = newest.rounds > 0 && newest.host.cpu_pct.value().is_some();
        if complete || Instant::now() > deadline {
            return GpuDocument {
                schema: 1,
                complete,
                snapshot: Snapshot::clone(&newest),
            };
        }
        std::thread::sleep(Duration::from_millis(10));
    }
}
