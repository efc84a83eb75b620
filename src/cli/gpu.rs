//! `infradev gpu --once`: one reading of the GPUs and the machine.

use super::args::GpuArgs;
use super::context::Context;
use super::exit::{Exit, Failure};
use super::output;
use crate::gpu::{self, Gpu, GpuLease, GpuProcess, Mig, Reading, Snapshot};
use crate::tui::widgets::figures::rate;

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
    let mut lines: Vec<String> = Vec::new();
    if let Some(driver) = &snapshot.driver {
        let cuda = snapshot.cuda.as_deref().unwrap_or("–");
        lines.push(format!("driver {driver}  CUDA {cuda}"));
    }
    for gpu in &snapshot.gpus {
        lines.push(gpu_line(gpu));
        lines.extend(links_line(gpu));
        if let Reading::Value(parts) = &gpu.mig {
            lines.extend(parts.iter().map(instance_line));
        }
        lines.extend(lease_line(gpu));
        if let Reading::Value(processes) = &gpu.processes {
            lines.extend(processes.iter().map(process_line));
        }
    }
    if let Some(none) = &snapshot.unavailable {
        lines.push(format!("no GPUs: {}; {}", none.reason, none.advice));
    }
    let host = &snapshot.host;
    lines.push(format!(
        "host  cpu {}  memory {}/{} GiB  home {} GiB free",
        said(host.cpu_pct.map(|p| format!("{p:.0} %"))),
        said(host.memory_used_bytes.map(gib)),
        said(host.memory_total_bytes.map(gib)),
        said(host.disk.map(|disk| gib(disk.free_bytes))),
    ));
    lines
}

fn gpu_line(gpu: &Gpu) -> String {
    if gpu.lost_since_s.is_some() {
        return format!("{} {}  LOST", gpu.index, gpu.name);
    }
    let throttle = match &gpu.throttle {
        Reading::Value(reasons) if !reasons.is_empty() => format!("  {}", reasons.join(", ")),
        _ => String::new(),
    };
    let uses: Vec<String> = gpu.uses().into_iter().map(|found| found.words).collect();
    let uses = if uses.is_empty() {
        "–".into()
    } else {
        uses.join(", ")
    };
    format!(
        "{} {}  util {}  mem {}/{} MiB  {}/{} W  {} °C  {} MHz {}{throttle}  {uses}",
        gpu.index,
        gpu.name,
        said(gpu.utilisation_pct.map(|p| format!("{p} %"))),
        said(gpu.memory_used_bytes.map(mib)),
        said(gpu.memory_total_bytes.map(mib)),
        said(gpu.power_w.map(|w| format!("{w:.0}"))),
        said(gpu.power_limit_w.map(|w| format!("{w:.0}"))),
        said(gpu.temperature_c.map(|t| t.to_string())),
        said(gpu.sm_clock_mhz.map(|c| c.to_string())),
        said(gpu.pstate.map(|p| format!("P{p}"))),
    )
}

/// The ways to the machine and to other GPUs; nothing where neither is told.
fn links_line(gpu: &Gpu) -> Option<String> {
    let mut parts = Vec::new();
    if let Reading::Value(link) = gpu.pcie_link {
        parts.push(format!("pcie gen {} x{}", link.generation, link.width));
    }
    if let Reading::Value(pcie) = gpu.pcie {
        let (received, sent) = (pcie.received_bytes_per_s, pcie.sent_bytes_per_s);
        parts.push(format!("in {} out {}", rate(received), rate(sent)));
    }
    if let Reading::Value(link) = gpu.nvlink {
        parts.push(format!(
            "nvlink {}/{} up  in {} out {}",
            link.active,
            link.links,
            said(link.received_bytes_per_s.map(rate)),
            said(link.sent_bytes_per_s.map(rate)),
        ));
    }
    (!parts.is_empty()).then(|| format!("    {}", parts.join("  ")))
}

fn instance_line(part: &Mig) -> String {
    format!(
        "    MIG {} {}  mem {}/{} MiB  {}",
        part.index,
        part.profile,
        said(part.memory_used_bytes.map(mib)),
        said(part.memory_total_bytes.map(mib)),
        part.uuid,
    )
}

/// Who has the lease, in full; nothing where nobody has.
fn lease_line(gpu: &Gpu) -> Option<String> {
    let Reading::Value(lease) = &gpu.lease else {
        return None;
    };
    match lease {
        GpuLease::Free => None,
        GpuLease::Held {
            run: Some(run),
            user,
            pid,
            host,
        } => Some(format!(
            "    lease  run {run} of {} (pid {} on {})",
            user.as_deref().unwrap_or("–"),
            pid.map_or_else(|| "–".into(), |pid| pid.to_string()),
            host.as_deref().unwrap_or("–"),
        )),
        GpuLease::Held { .. } => Some("    lease  somebody, who left no name".into()),
        GpuLease::Stale { run, user } => Some(format!(
            "    lease  stale: run {run} of {user} died with it; the next run takes it"
        )),
    }
}

fn process_line(process: &GpuProcess) -> String {
    format!(
        "    pid {}  {} MiB  sm {}  {}  {}  {}",
        process.pid,
        said(process.memory_bytes.map(mib)),
        said(process.sm_pct.map(|p| format!("{p} %"))),
        process.owner(),
        said(process.user.clone()),
        said(process.command.clone()),
    )
}

/// Whole ones, as `nvidia-smi` counts them.
fn mib(bytes: u64) -> String {
    (bytes >> 20).to_string()
}

fn gib(bytes: u64) -> String {
    format!("{:.1}", bytes as f64 / GIB)
}

/// The value, or the dash that stands for what is not known.
fn said(reading: Reading<String>) -> String {
    reading.value().unwrap_or_else(|| "–".into())
}
