//! The GPUs of a run: taken before anything runs on them, looked at before they are given back.

use std::sync::Arc;
use std::time::{Duration, Instant};

use super::error::Stop;
use super::recorder::Recorder;
use crate::domain::task::HardwareSpec;
use crate::domain::{Event, GpuLeft, GpuTaken, Level, RunId, Task};
use crate::gpu::{
    Equipment, Held, HoldError, Holder, Leases, Left, NvmlSource, Reading, Source, Wanted,
    could_hold, equip, hold,
};

/// Between two tries while others hold the GPUs.
const RETRY: Duration = Duration::from_secs(1);
/// The driver takes a moment to take a killed process's memory back.
const SETTLE: Duration = Duration::from_secs(5);
const SETTLE_STEP: Duration = Duration::from_millis(100);
/// Memory that the driver may keep beside what was there before.
const SLACK_BYTES: u64 = 64 << 20;

/// GPUs that are the run's, and what its sandboxes need to use them.
#[derive(Debug)]
pub struct Gpus {
    pub held: Arc<Held>,
    pub equipment: Equipment,
    /// For others to give them back; no part of what the run itself took.
    pub waited: Duration,
}

impl Gpus {
    /// A fault where one of them does not answer any more: what is measured on it is no result.
    pub(super) async fn answer(&self) -> Result<(), Stop> {
        let held = Arc::clone(&self.held);
        blocking(move || {
            let mut source = NvmlSource::new();
            source.open().map_err(|e| driver_went(&e.reason))?;
            all_answer(&held.left(&mut source))
        })
        .await?
    }
}

fn driver_went(why: &str) -> Stop {
    Stop::Fault(format!(
        "the GPU driver went while the run held GPUs: {why}"
    ))
}

fn all_answer(left: &[Left]) -> Result<(), Stop> {
    match left.iter().find(|l| !l.answers) {
        Some(gone) => Err(Stop::Fault(format!(
            "GPU {} was lost while the run held it; look at nvidia-smi and dmesg",
            gone.uuid
        ))),
        None => Ok(()),
    }
}

fn cannot(task: &Task, error: &HoldError) -> Stop {
    let gpus = task.spec.hardware.gpus;
    let plural = if gpus == 1 { "" } else { "s" };
    match error {
        HoldError::Unavailable(none) => Stop::Input(format!(
            "task {} needs {gpus} GPU{plural}, and here there is none: {}; run it on a GPU node, or look at `infradev doctor`",
            task.id(),
            none.reason
        )),
        HoldError::TooFew { .. } | HoldError::Busy { .. } => Stop::Input(format!(
            "task {} needs {gpus} GPU{plural}: {error}",
            task.id()
        )),
        HoldError::Lease(e) => Stop::Fault(e.to_string()),
    }
}

/// What a scheduler left this worker of the node's GPUs.
fn share() -> Option<String> {
    std::env::var("CUDA_VISIBLE_DEVICES").ok()
}

fn wanted<'a>(hardware: &'a HardwareSpec, share: Option<&'a str>) -> Wanted<'a> {
    Wanted {
        count: hardware.gpus,
        kind: hardware.gpu_type.as_deref(),
        share,
    }
}

/// Asked before anything is built: whether this machine has the GPUs at all.
pub(super) async fn possible(task: &Task) -> Result<(), Stop> {
    let hardware = task.spec.hardware.clone();
    if hardware.gpus == 0 {
        return Ok(());
    }
    let share = share();
    let found =
        blocking(move || could_hold(&mut NvmlSource::new(), wanted(&hardware, share.as_deref())))
            .await?;
    found.map_err(|e| cannot(task, &e))
}

/// Takes what the task needs, waiting for others to give it back; `None` where it needs none.
pub(super) async fn take(
    task: &Task,
    run: &RunId,
    recorder: &Recorder,
) -> Result<Option<Gpus>, Stop> {
    let hardware = task.spec.hardware.clone();
    if hardware.gpus == 0 {
        return Ok(None);
    }
    let leases = Leases::open().map_err(|e| Stop::Fault(e.to_string()))?;
    let holder = holder(run);
    let mut source: Box<dyn Source> = Box::new(NvmlSource::new());
    let mut said = String::new();
    let asked = Instant::now();
    let held = loop {
        let (leases, holder, hardware) = (leases.clone(), holder.clone(), hardware.clone());
        let share = share();
        let (back, taken) = blocking(move || {
            let wanted = wanted(&hardware, share.as_deref());
            let taken = hold(source.as_mut(), &leases, wanted, &holder);
            (source, taken)
        })
        .await?;
        source = back;
        match taken {
            Ok(held) => break held,
            Err(busy @ HoldError::Busy { wanted, .. }) => {
                let why = busy.to_string();
                if why != said {
                    recorder.record(Event::GpusWaited {
                        wanted,
                        why: why.clone(),
                    });
                    said = why;
                }
                tokio::time::sleep(RETRY).await;
            }
            Err(e) => return Err(cannot(task, &e)),
        }
    };
    let equipment = equip(
        &held,
        std::path::Path::new("/dev"),
        &std::env::vars_os().collect(),
    )
    .map_err(Stop::Fault)?;
    recorder.record(Event::GpusTaken {
        driver: held.driver.clone(),
        gpus: held
            .gpus
            .iter()
            .map(|g| GpuTaken {
                index: g.index,
                uuid: g.uuid.clone(),
                name: g.name.clone(),
                memory_used_bytes: g.memory_used_bytes.value(),
            })
            .collect(),
        settings: equipment.settings.clone(),
    });
    Ok(Some(Gpus {
        held: Arc::new(held),
        equipment,
        waited: asked.elapsed(),
    }))
}

/// Looks whether anything is left on the GPUs, for as long as the driver needs to clear up. A GPU
/// that went in the meantime makes the run a harness fault: what was measured on it is no score.
pub(super) async fn release(gpus: Gpus, recorder: &Recorder) -> Result<(), Stop> {
    let left = blocking(move || {
        let mut source = NvmlSource::new();
        source.open().map_err(|e| e.reason)?;
        let until = Instant::now() + SETTLE;
        loop {
            let left = gpus.held.left(&mut source);
            if Instant::now() >= until || settled(&gpus.held, &left) {
                return Ok((left, gpus));
            }
            std::thread::sleep(SETTLE_STEP);
        }
    })
    .await?
    .map_err(|e: String| driver_went(&e))?;
    let (left, gpus) = left;
    all_answer(&left)?;
    if !settled(&gpus.held, &left) {
        recorder.say(
            Level::Warn,
            format!(
                "the GPUs are not as they were {} s after the run: {}",
                SETTLE.as_secs(),
                words(&gpus.held, &left)
            ),
        );
    }
    recorder.record(Event::GpusReleased {
        gpus: left
            .iter()
            .map(|l| GpuLeft {
                uuid: l.uuid.clone(),
                memory_used_bytes: l.memory_used_bytes.value(),
                processes: l.processes.clone().value().map(|p| p.len() as u32),
            })
            .collect(),
    });
    Ok(())
}

/// No process computes there, and the memory is as it was. What the driver does not tell does not
/// count against it.
fn settled(held: &Held, left: &[Left]) -> bool {
    held.gpus.iter().zip(left).all(|(gpu, now)| {
        let idle = now
            .processes
            .clone()
            .value()
            .is_none_or(|pids| pids.is_empty());
        let given_back = match (gpu.memory_used_bytes, now.memory_used_bytes) {
            (Reading::Value(before), Reading::Value(after)) => after <= before + SLACK_BYTES,
            _ => true,
        };
        !now.answers || (idle && given_back)
    })
}

fn words(held: &Held, left: &[Left]) -> String {
    let each = held.gpus.iter().zip(left).map(|(gpu, now)| {
        let pids = now.processes.clone().value().unwrap_or_default();
        let mib = |r: Reading<u64>| r.value().map_or("–".into(), |b| (b >> 20).to_string());
        format!(
            "GPU {}: {} MiB used ({} before), processes {pids:?}",
            gpu.index,
            mib(now.memory_used_bytes),
            mib(gpu.memory_used_bytes)
        )
    });
    each.collect::<Vec<_>>().join("; ")
}

fn holder(run: &RunId) -> Holder {
    let user = nix::unistd::User::from_uid(nix::unistd::getuid());
    Holder {
        run: run.0.clone(),
        pid: std::process::id(),
        user: user
            .ok()
            .flatten()
            .map_or_else(|| nix::unistd::getuid().to_string(), |u| u.name),
        host: nix::unistd::gethostname()
            .map(|h| h.to_string_lossy().into_owned())
            .unwrap_or_default(),
    }
}

async fn blocking<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Result<T, Stop> {
    tokio::task::spawn_blocking(work)
        .await
        .map_err(|e| Stop::Fault(format!("GPUs: {e}")))
}
