//! The document of `infradev gpu --once --json`.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Reading;
use super::sampler::{Sampler, Settings};
use super::snapshot::{Gpu, Snapshot};

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

impl GpuDocument {
    /// For people: a line a GPU and a line a process on it, then the machine.
    pub fn lines(&self) -> Vec<String> {
        let snapshot = &self.snapshot;
        let mut lines = Vec::new();
        if let Some(driver) = &snapshot.driver {
            lines.push(format!("driver {driver}"));
        }
        for gpu in &snapshot.gpus {
            lines.push(gpu_line(gpu));
            for process in gpu.processes.clone().value().unwrap_or_default() {
                lines.push(format!(
                    "    pid {} {:?} {} {} {}",
                    process.pid,
                    process.kind,
                    text(process.memory_bytes.map(gib)),
                    text(process.user),
                    text(process.command),
                ));
            }
        }
        if let Some(unavailable) = &snapshot.unavailable {
            lines.push(format!("no GPUs: {}", unavailable.reason));
            lines.push(format!("    -> {}", unavailable.advice));
        }
        let host = &snapshot.host;
        lines.push(format!(
            "machine: CPU {}, memory {} of {}, load {}",
            text(host.cpu_pct.map(|share| format!("{share:.0} %"))),
            text(host.memory_used_bytes.map(gib)),
            text(host.memory_total_bytes.map(gib)),
            text(
                host.load
                    .map(|[one, five, fifteen]| format!("{one:.2} {five:.2} {fifteen:.2}"))
            ),
        ));
        if !self.complete {
            lines.push("the driver did not answer in time: this is not everything".into());
        }
        lines
    }
}

fn gpu_line(gpu: &Gpu) -> String {
    let throttle = match &gpu.throttle {
        Reading::Value(reasons) if reasons.is_empty() => String::new(),
        Reading::Value(reasons) => format!(", held down: {}", reasons.join(", ")),
        unknown => format!(", throttling {}", unknown.unknown().unwrap_or_default()),
    };
    if gpu.lost_since_s.is_some() {
        return format!("GPU {} {} {}: LOST", gpu.index, gpu.name, gpu.uuid);
    }
    format!(
        "GPU {} {} {}: {}, {} of {}, {}, {} of {}, {}, P{}{throttle}",
        gpu.index,
        gpu.name,
        gpu.uuid,
        text(gpu.utilisation_pct.map(|share| format!("{share} %"))),
        text(gpu.memory_used_bytes.map(gib)),
        text(gpu.memory_total_bytes.map(gib)),
        text(gpu.temperature_c.map(|degrees| format!("{degrees} C"))),
        text(gpu.power_w.map(|watts| format!("{watts:.0} W"))),
        text(gpu.power_limit_w.map(|watts| format!("{watts:.0} W"))),
        text(gpu.sm_clock_mhz.map(|clock| format!("{clock} MHz"))),
        text(gpu.pstate.map(|state| state.to_string())),
    )
}

/// A value, or the word for why there is none.
fn text(reading: Reading<String>) -> String {
    match reading.unknown() {
        Some(word) => word.into(),
        None => reading.value().unwrap_or_default(),
    }
}

fn gib(bytes: u64) -> String {
    format!("{:.1} GiB", bytes as f64 / (1u64 << 30) as f64)
}

/// Looks once, with PCIe. Takes some 0.3 s, at most 15.
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
