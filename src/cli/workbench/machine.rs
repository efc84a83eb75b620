//! Samples of GPUs and the machine, as the gpu pane shows them.

use crate::gpu::{
    self, Gpu, GpuLease, GpuProcess, HostLoad, NvLink, Pcie, ProcessKind, Reading, Sampler,
    Settings, Snapshot,
};
use crate::store::Home;
use crate::tui::backend::{Guard, Sink};
use crate::tui::gpu_view::{
    DiskView, Figure, GpuMore, GpuRow, GpuUse, GpuView, HostView, MigRow, ProcessRow, UseKind,
};

/// Stops the sampler on a thread of its own: a call into the driver may hold it for a while.
struct Stop {
    sampler: Option<Sampler>,
    forward: tokio::task::JoinHandle<()>,
}

impl Drop for Stop {
    fn drop(&mut self) {
        self.forward.abort();
        if let Some(sampler) = self.sampler.take() {
            std::thread::spawn(move || drop(sampler));
        }
    }
}

/// Must be called inside a runtime.
pub fn sample(home: &Home, sink: Sink<GpuView>) -> Guard {
    let mut settings = Settings::new(home.root());
    settings.slow_lane = true;
    let sampler = Sampler::start(settings);
    let mut newest = sampler.subscribe();
    let forward = tokio::spawn(async move {
        while newest.changed().await.is_ok() {
            let snapshot = newest.borrow_and_update().clone();
            // both halves publish; a view without the machine is half of one
            if snapshot.host.read_at_s > 0.0 {
                sink(view(&snapshot));
            }
            // the machine and the GPUs are published apart: one view for both
            tokio::time::sleep(std::time::Duration::from_millis(400)).await;
        }
    });
    Guard::new(Stop {
        sampler: Some(sampler),
        forward,
    })
}

fn view(snapshot: &Snapshot) -> GpuView {
    GpuView {
        at_s: snapshot.at_s,
        driver: snapshot.driver.clone(),
        cuda: snapshot.cuda.clone(),
        retry_at_s: snapshot.retry_at_s,
        gpus: snapshot.gpus.iter().map(row).collect(),
        reason: snapshot
            .unavailable
            .as_ref()
            .map(|none| format!("no GPU: {}; {}", none.reason, none.advice)),
        host: host(&snapshot.host),
    }
}

fn host(load: &HostLoad) -> HostView {
    let disk = |found: &Reading<gpu::Disk>| {
        found.value().map(|disk| DiskView {
            free: disk.free_bytes,
            total: disk.total_bytes,
        })
    };
    HostView {
        read_at_s: load.read_at_s,
        home_disk: disk(&load.disk),
        cache_disk: disk(&load.cache_disk),
        cores: match &load.cores_pct {
            Reading::Value(cores) => cores.len() as u32,
            _ => 0,
        },
        cpu_percent: load.cpu_pct.value(),
        memory_used: load.memory_used_bytes.value(),
        memory_total: load.memory_total_bytes.value(),
        load: load.load.value(),
    }
}

fn figure<T>(reading: Reading<T>) -> Figure<T> {
    match reading {
        Reading::Value(value) => Figure::Value(value),
        Reading::Unsupported => Figure::Unsupported,
        Reading::NoPermission => Figure::NoPermission,
        Reading::Lost => Figure::Lost,
    }
}

fn row(gpu: &Gpu) -> GpuRow {
    let throttle = match &gpu.throttle {
        Reading::Value(reasons) => reasons.join(", "),
        _ => String::new(),
    };
    let processes = match &gpu.processes {
        Reading::Value(processes) => processes.iter().map(process).collect(),
        _ => Vec::new(),
    };
    let mig = match &gpu.mig {
        Reading::Value(parts) => parts.iter().map(instance).collect(),
        _ => Vec::new(),
    };
    GpuRow {
        index: gpu.index,
        uuid: gpu.uuid.clone(),
        name: gpu.name.clone(),
        util_percent: figure(gpu.utilisation_pct),
        memory_used: figure(gpu.memory_used_bytes),
        memory_total: figure(gpu.memory_total_bytes),
        power_w: figure(gpu.power_w),
        power_limit_w: figure(gpu.power_limit_w),
        temperature_c: figure(gpu.temperature_c),
        sm_mhz: figure(gpu.sm_clock_mhz),
        pstate: figure(gpu.pstate),
        throttle,
        throttle_told: matches!(gpu.throttle, Reading::Value(_)),
        ecc_errors: figure(gpu.ecc_uncorrected),
        more: more(gpu),
        mig,
        uses: gpu.uses().into_iter().map(used).collect(),
        processes,
        free: gpu.free(),
        read_at_s: gpu.read_at_s,
        lost_since_s: gpu.lost_since_s,
    }
}

fn more(gpu: &Gpu) -> GpuMore {
    let pcie = |of: fn(Pcie) -> u64| figure(gpu.pcie.map(of));
    let nvlink = |of: fn(NvLink) -> Reading<u64>| match gpu.nvlink {
        Reading::Value(link) => figure(of(link)),
        unknown => figure(unknown.map(|_| 0)),
    };
    let link_max = gpu.pcie_link.value().and_then(|link| {
        let (generation, width) = link.generation_max.zip(link.width_max)?;
        Some([generation, width])
    });
    GpuMore {
        bus_id: gpu.fixed.bus_id.clone(),
        memory_busy_percent: figure(gpu.memory_utilisation_pct),
        memory_mhz: figure(gpu.memory_clock_mhz),
        sm_max_mhz: figure(gpu.fixed.sm_clock_max_mhz),
        memory_max_mhz: figure(gpu.fixed.memory_clock_max_mhz),
        slowdown_c: figure(gpu.fixed.slowdown_c),
        shutdown_c: figure(gpu.fixed.shutdown_c),
        fan_percent: figure(gpu.fan_pct),
        energy_j: figure(gpu.energy_j),
        ecc_corrected: figure(gpu.ecc_corrected),
        compute_mode: gpu.fixed.compute_mode.clone(),
        persistence: figure(gpu.fixed.persistence),
        pcie_link: figure(gpu.pcie_link.map(|link| [link.generation, link.width])),
        pcie_link_max: link_max,
        pcie: [
            pcie(|p| p.received_bytes_per_s),
            pcie(|p| p.sent_bytes_per_s),
        ],
        nvlinks: figure(gpu.nvlink.map(|link| [link.active, link.links])),
        nvlink: [
            nvlink(|link| link.received_bytes_per_s),
            nvlink(|link| link.sent_bytes_per_s),
        ],
        lease: lease(&gpu.lease),
    }
}

/// Who has it, in full.
fn lease(lease: &Reading<GpuLease>) -> Option<String> {
    let Reading::Value(lease) = lease else {
        return None;
    };
    Some(match lease {
        GpuLease::Free => "nobody".into(),
        GpuLease::Held {
            run,
            user,
            pid,
            host,
            ..
        } => {
            let whose = match run {
                Some(run) => format!("run {run}"),
                None => "somebody, who left no name".into(),
            };
            let user = user.as_ref().map(|user| format!(" of {user}"));
            let place = pid.zip(host.as_ref());
            let place = place.map(|(pid, host)| format!(" (pid {pid} on {host})"));
            [Some(whose), user, place].into_iter().flatten().collect()
        }
        GpuLease::Stale { run, user } => {
            format!("stale: run {run} of {user} died with it; the next run takes it")
        }
    })
}

fn instance(part: &gpu::Mig) -> MigRow {
    MigRow {
        index: part.index,
        uuid: part.uuid.clone(),
        profile: part.profile.clone(),
        memory_used: figure(part.memory_used_bytes),
        memory_total: figure(part.memory_total_bytes),
    }
}

fn used(found: gpu::Use) -> GpuUse {
    GpuUse {
        kind: match found.kind {
            gpu::UseKind::Free => UseKind::Free,
            gpu::UseKind::Run => UseKind::Run,
            gpu::UseKind::Leased => UseKind::Leased,
            gpu::UseKind::Stale => UseKind::Stale,
            gpu::UseKind::Other => UseKind::Other,
        },
        words: found.words,
    }
}

fn process(found: &GpuProcess) -> ProcessRow {
    ProcessRow {
        pid: found.pid,
        kind: match found.kind {
            ProcessKind::Compute => "C",
            ProcessKind::Graphics => "G",
            ProcessKind::Both => "C+G",
        },
        memory: figure(found.memory_bytes),
        sm_percent: figure(found.sm_pct),
        cpu_percent: figure(found.cpu_pct),
        started_s: figure(found.started_s),
        instance: found.instance,
        run: found.run.clone(),
        who: found.owner(),
        user: found.user.clone().value().unwrap_or_default(),
        command: found.command.clone().value().unwrap_or_default(),
    }
}
