//! `infradev gpu --once`: one reading of the GPUs and the machine.

use super::args::GpuArgs;
use super::context::Context;
use super::exit::{Exit, Failure};
use super::output;
use crate::gpu::{self, Gpu, Reading, Snapshot};

const GIB: f64 = (1u64 << 30) as f64;

/// 0: GPUs were read; 1: there are none, and the reason is told.
pub fn run(context: &Context, args: &GpuArgs) -> Result<Exit, Failure> {
    let found = gpu::once(context.home()?.root());
    let any = !found.snapshot.gpus.is_empty();
    if args.json {
        output::document(&found)?;
    } else {
        for line in lines(&found.snapshot) {
            output::line(&output::safe(&line));
        }
    }
    Ok(if any { Exit::Yes } else { Exit::No })
}

fn lines(snapshot: &Snapshot) -> Vec<String> {
    let mut lines: Vec<String> = snapshot.gpus.iter().map(gpu_line).collect();
    if let Some(none) = &snapshot.unavailable {
        lines.push(format!("no GPUs: {}; {}", none.reason, none.advice));
    }
    let host = &snapshot.host;
    lines.push(format!(
        "host  cpu {}  memory {}/{} GiB",
        said(host.cpu_pct.map(|p| format!("{p:.0} %"))),
        said(host.memory_used_bytes.map(gib)),
        said(host.memory_total_bytes.map(gib)),
    ));
    lines
}

fn gpu_line(gpu: &Gpu) -> String {
    let busy = match &gpu.processes {
        Reading::Value(processes) => format!("{} processes", processes.len()),
        other => said(other.clone().map(|_| String::new())),
    };
    format!(
        "{} {}  util {}  mem {}/{} GiB  {}/{} W  {} °C  {} MHz  {busy}",
        gpu.index,
        gpu.name,
        said(gpu.utilisation_pct.map(|p| format!("{p} %"))),
        said(gpu.memory_used_bytes.map(gib)),
        said(gpu.memory_total_bytes.map(gib)),
        said(gpu.power_w.map(|w| format!("{w:.0}"))),
        said(gpu.power_limit_w.map(|w| format!("{w:.0}"))),
        said(gpu.temperature_c.map(|t| t.to_string())),
        said(gpu.sm_clock_mhz.map(|c| c.to_string())),
    )
}

fn gib(bytes: u64) -> String {
    format!("{:.1}", bytes as f64 / GIB)
}

/// The value, or the dash that stands for what is not known.
fn said(reading: Reading<String>) -> String {
    reading.value().unwrap_or_else(|| "–".into())
}
