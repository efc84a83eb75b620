//! Taking the GPUs of a run: leased, looked at, and looked at again when the run is over.

use std::fmt::Write as _;

use thiserror::Error;

use super::Reading;
use super::leases::{Holder, Lease, LeaseError, Leases};
use super::snapshot::ProcessKind;
use super::source::{Identity, Lane, Missing, RawProcess, Readings, Source, Unavailable};

/// More in use on a GPU is somebody's: an idle driver or a desktop keeps less.
const IDLE_BYTES: u64 = 4 << 30;

/// What a run needs.
#[derive(Clone, Copy, Debug)]
pub struct Wanted<'a> {
    pub count: u32,
    /// The GPUs' name as the driver gives it; absent: any, all of one kind.
    pub kind: Option<&'a str>,
    /// `CUDA_VISIBLE_DEVICES` of whoever asks: a scheduler's share is all that may be taken.
    pub share: Option<&'a str>,
}

/// GPUs that are a run's until this is dropped or the process ends.
#[derive(Debug)]
pub struct Held {
    pub driver: String,
    /// In the driver's order; all of one name.
    pub gpus: Vec<HeldGpu>,
    /// Given back when this is dropped.
    leases: Vec<Lease>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct HeldGpu {
    pub index: u32,
    pub uuid: String,
    pub name: String,
    pub minor: Option<u32>,
    /// When it was taken.
    pub memory_used_bytes: Reading<u64>,
}

/// What a held GPU still has on it.
#[derive(Clone, Debug, PartialEq)]
pub struct Left {
    pub uuid: String,
    pub memory_used_bytes: Reading<u64>,
    /// Pids of processes that compute on it.
    pub processes: Reading<Vec<u32>>,
    /// It answers: it is neither lost nor gone from the driver's list.
    pub answers: bool,
}

#[derive(Debug, Error)]
pub enum HoldError {
    #[error("{}; {}", .0.reason, .0.advice)]
    Unavailable(Unavailable),
    /// This machine never has enough.
    #[error("this machine has {there}; run it on a node with {wanted} {}", kind.as_deref().unwrap_or("GPUs of one kind"))]
    TooFew {
        wanted: u32,
        kind: Option<String>,
        there: String,
    },
    /// Not now: others use them. Says who.
    #[error("{free} of {wanted} are free{}: {why}", kind.as_ref().map(|k| format!(" ({k})")).unwrap_or_default())]
    Busy {
        wanted: u32,
        free: u32,
        kind: Option<String>,
        why: String,
    },
    #[error(transparent)]
    Lease(LeaseError),
}

/// Takes GPUs that nobody has leased and on which nobody computes, or none at all.
pub fn hold(
    source: &mut dyn Source,
    leases: &Leases,
    wanted: Wanted<'_>,
    holder: &Holder,
) -> Result<Held, HoldError> {
    let driver = source.open().map_err(HoldError::Unavailable)?;
    let (all, unfit) = usable(source, wanted.share)?;
    let kinds = kinds(&all, &unfit, wanted)?;
    let busy = |free: usize, why: &str| HoldError::Busy {
        wanted: wanted.count,
        free: free as u32,
        kind: wanted.kind.map(str::to_owned),
        why: why.trim_end_matches("; ").to_owned(),
    };
    // one at a time: two runs that each take a part of what both want would both go without
    let Some(_choosing) = leases.choosing().map_err(HoldError::Lease)? else {
        return Err(busy(0, "other runs are choosing theirs"));
    };
    let mut why = String::new();
    let mut most = 0;
    for kind in kinds {
        let mut held = Held {
            driver: driver.clone(),
            gpus: Vec::new(),
            leases: Vec::new(),
        };
        for (index, identity) in all.iter().filter(|(_, g)| same(&g.name, &kind)) {
            let taken = take(source, leases, *index, identity, holder);
            match taken.map_err(HoldError::Lease)? {
                Ok((gpu, lease)) => {
                    held.gpus.push(gpu);
                    held.leases.push(lease);
                }
                Err(reason) => {
                    let _ = write!(why, "GPU {index} {reason}; ");
                }
            }
            if held.gpus.len() == wanted.count as usize {
                return Ok(held);
            }
        }
        most = most.max(held.gpus.len());
    }
    Err(busy(most, &why))
}

/// Whether this machine has what is wanted, whoever uses it now.
pub fn could_hold(source: &mut dyn Source, wanted: Wanted<'_>) -> Result<(), HoldError> {
    source.open().map_err(HoldError::Unavailable)?;
    let (all, unfit) = usable(source, wanted.share)?;
    kinds(&all, &unfit, wanted).map(|_| ())
}

impl Held {
    /// What is on the GPUs now. They are found by UUID: when one goes, the others' numbers change.
    pub fn left(&self, source: &mut dyn Source) -> Vec<Left> {
        let count = source.count().unwrap_or(0);
        let now: Vec<(u32, String)> = (0..count)
            .filter_map(|i| Some((i, source.identity(i).ok()?.uuid)))
            .collect();
        let gpus = self.gpus.iter();
        gpus.map(|gpu| {
            let index = now.iter().find(|(_, uuid)| *uuid == gpu.uuid);
            match index.map(|(index, _)| look(source, *index)) {
                Some(Ok(now)) => Left {
                    uuid: gpu.uuid.clone(),
                    memory_used_bytes: now.memory_used_bytes,
                    processes: now.processes.map(|all| computing(&all)),
                    answers: true,
                },
                _ => Left {
                    uuid: gpu.uuid.clone(),
                    memory_used_bytes: Reading::Lost,
                    processes: Reading::Lost,
                    answers: false,
                },
            }
        })
        .collect()
    }
}

/// Leases one GPU, where nobody is on it; else why not.
fn take(
    source: &mut dyn Source,
    leases: &Leases,
    index: u32,
    identity: &Identity,
    holder: &Holder,
) -> Result<Result<(HeldGpu, Lease), String>, LeaseError> {
    let lease = match leases.acquire(&identity.uuid, holder) {
        Ok(lease) => lease,
        Err(LeaseError::Held { holder, .. }) => {
            let by = holder.map_or_else(|| "somebody".into(), |h| format!("run {}", h.run));
            return Ok(Err(format!("is leased by {by}")));
        }
        Err(error) => return Err(error),
    };
    Ok(match look(source, index) {
        Err(_) => Err("does not answer".into()),
        Ok(now) => match occupied(&now) {
            Some(reason) => Err(reason),
            None => Ok((
                HeldGpu {
                    index,
                    uuid: identity.uuid.clone(),
                    name: identity.name.clone(),
                    minor: identity.minor,
                    memory_used_bytes: now.memory_used_bytes,
                },
                lease,
            )),
        },
    })
}

type Usable = (Vec<(u32, Identity)>, Vec<String>);

/// GPUs that could be taken at all, and why others could not.
fn usable(source: &mut dyn Source, share: Option<&str>) -> Result<Usable, HoldError> {
    let count = source.count().map_err(HoldError::Unavailable)?;
    let (mut all, mut unfit) = (Vec::new(), Vec::new());
    for index in 0..count {
        match source.identity(index).and_then(|identity| {
            // a lost GPU may still tell its name
            look(source, index).map(|_| identity)
        }) {
            Ok(identity) if !in_share(share, index, &identity.uuid) => {
                unfit.push(format!("GPU {index} is not in CUDA_VISIBLE_DEVICES"));
            }
            Ok(identity) if identity.mig => {
                unfit.push(format!(
                    "GPU {index} is in MIG mode, whose parts are not leased"
                ));
            }
            Ok(identity) => all.push((index, identity)),
            Err(Missing::NoPermission) => {
                unfit.push(format!("GPU {index} may not be used by this user"));
            }
            Err(Missing::Lost | Missing::Driver) => {
                unfit.push(format!("GPU {index} does not answer (lost)"));
            }
        }
    }
    Ok((all, unfit))
}

/// Whether a GPU is in a list as CUDA reads it: numbers, or beginnings of UUIDs.
fn in_share(share: Option<&str>, index: u32, uuid: &str) -> bool {
    share.is_none_or(|share| {
        share.split(',').map(str::trim).any(|one| {
            one.parse() == Ok(index) || (one.starts_with("GPU-") && uuid.starts_with(one))
        })
    })
}

fn same(name: &str, kind: &str) -> bool {
    name.trim().eq_ignore_ascii_case(kind.trim())
}

/// The kinds of which there are enough, in the driver's order.
fn kinds(
    all: &[(u32, Identity)],
    unfit: &[String],
    wanted: Wanted<'_>,
) -> Result<Vec<String>, HoldError> {
    let mut counts: Vec<(&str, u32)> = Vec::new();
    for (_, gpu) in all {
        match counts.iter_mut().find(|(name, _)| same(name, &gpu.name)) {
            Some((_, count)) => *count += 1,
            None => counts.push((&gpu.name, 1)),
        }
    }
    let enough: Vec<String> = counts
        .iter()
        .filter(|(name, count)| {
            *count >= wanted.count && wanted.kind.is_none_or(|kind| same(name, kind))
        })
        .map(|(name, _)| (*name).to_owned())
        .collect();
    if !enough.is_empty() {
        return Ok(enough);
    }
    let mut words: Vec<String> = counts.iter().map(|(k, n)| format!("{n} ({k})")).collect();
    if words.is_empty() {
        words.push("no GPU".into());
    }
    words.extend(unfit.iter().cloned());
    Err(HoldError::TooFew {
        wanted: wanted.count,
        kind: wanted.kind.map(str::to_owned),
        there: words.join(", "),
    })
}

fn look(source: &mut dyn Source, index: u32) -> Result<Readings, Missing> {
    let mut readings = Readings::default();
    source.read(index, Lane::Figures, &mut readings)?;
    source.read(index, Lane::Processes, &mut readings)?;
    Ok(readings)
}

/// What speaks against starting on a GPU now. A driver in a container may not tell who computes:
/// then memory in use does.
fn occupied(now: &Readings) -> Option<String> {
    let processes = now.processes.clone().value().unwrap_or_default();
    let pids = computing(&processes);
    if !pids.is_empty() {
        let pids: Vec<String> = pids.iter().map(u32::to_string).collect();
        return Some(format!("has processes of others (pid {})", pids.join(", ")));
    }
    match now.memory_used_bytes {
        Reading::Value(bytes) if bytes > IDLE_BYTES => Some(format!(
            "has {} MiB in use by processes that the driver does not name",
            bytes >> 20
        )),
        _ => None,
    }
}

/// A desktop that draws on a GPU takes nothing from a run.
fn computing(processes: &[RawProcess]) -> Vec<u32> {
    let compute = processes.iter().filter(|p| p.kind != ProcessKind::Graphics);
    compute.map(|p| p.pid).collect()
}
