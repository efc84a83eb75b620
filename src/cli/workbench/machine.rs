//! Samples of GPUs and the machine, as the gpu pane shows them.

use crate::gpu::{
    self, Gpu, GpuProcess, HostLoad, ProcessKind, Reading, Sampler, Settings, Snapshot,
};
use crate::store::Home;
use crate::tui::backend::{Guard, Sink};
use crate::tui::gpu_view::{Figure, GpuRow, GpuUse, GpuView, HostView, ProcessRow, UseKind};

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
    let sampler = Sampler::start(Settings::new(home.root()));
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
        gpus: snapshot.gpus.iter().map(row).collect(),
        reason: snapshot
            .unavailable
            .as_ref()
            .map(|none| format!("no GPU: {}; {}", none.reason, none.advice)),
        host: host(&snapshot.host),
    }
}

fn host(load: &HostLoad) -> HostView {
    HostView {
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
    GpuRow {
        index: gpu.index,
        uuid: gpu.uuid.clone(),
        name: gpu.name.trim_start_matches("NVIDIA ").to_owned(),
        util_percent: figure(gpu.utilisation_pct),
        memory_used: figure(gpu.memory_used_bytes),
        memory_total: figure(gpu.memory_total_bytes),
        power_w: figure(gpu.power_w),
        power_limit_w: figure(gpu.power_limit_w),
        temperature_c: figure(gpu.temperature_c),
        sm_mhz: figure(gpu.sm_clock_mhz),
        pstate: figure(gpu.pstate),
        throttle,
        ecc_errors: figure(gpu.ecc_uncorrected),
        uses: gpu.uses().into_iter().map(used).collect(),
        processes,
        read_at_s: gpu.read_at_s,
        lost_since_s: gpu.lost_since_s,
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
        who: found.who(),
        user: found.user.clone().value().unwrap_or_default(),
        command: found.command.clone().value().unwrap_or_default(),
    }
}
