//! Taking the GPUs of a run: leased, looked at, and looked at again when the run is over.

use std::fmt::Write as _;

use thiserror::Error;

use super::Reading;
use super::leases::{Holder, Lease, LeaseError, Leases};
use super::snapshot::ProcessKind;
use super::source::{Identity, Lane, Missing, RawProcess, Readings, Source, Unavailable};

/// What a run needs.
#[derive(Clone, Copy, Debug)]
pub struct Wanted<'a> {
    pub count: u32,
    /// The GPUs' name as the driver gives it; absent: any, all of one kind.
    pub kind: Option<&'a str>,
}

/// GPUs that are a run's until this is dropped or the process ends.
#[derive(Debug)]
pub struct Held {
    pub driver: String,
    /// In the driver's order; all of one name.
    pub gpus: Vec<HeldGpu>,
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
    /// It does not answer any more.
    pub lost: bool,
}

#[derive(Debug, Error)]
pub enum HoldError {
    #[error("{}; {}", .0.reason, .0.advice)]
    Unavailable(Unavailable),
    /// This machine never has enough.
    #[error("this machine has {there}; run it on a node with {} {}", wanted, kind.as_deref().unwrap_or("GPUs of one kind"))]
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
    let all = identities(source)?;
    let fitting = fitting(&all, wanted)?;
    let mut why = String::new();
    let mut held = Held {
        driver,
        gpus: Vec::new(),
        leases: Vec::new(),
    };
    for (index, identity) in fitting {
        if held.gpus.len() == wanted.count as usize {
            break;
        }
        let lease = match leases.acquire(&identity.uuid, holder) {
            Ok(lease) => lease,
            Err(LeaseError::Held { holder, .. }) => {
                let by = holder.map_or_else(|| "somebody".into(), |h| format!("run {}", h.run));
                let _ = write!(why, "GPU {index} is leased by {by}; ");
                continue;
            }
            Err(error) => return Err(HoldError::Lease(error)),
        };
        let now = look(source, index);
        if let Some(reason) = occupied(&now) {
            let _ = write!(why, "GPU {index} {reason}; ");
            continue;
        }
        held.gpus.push(HeldGpu {
            index,
            uuid: identity.uuid.clone(),
            name: identity.name.clone(),
            minor: identity.minor,
            memory_used_bytes: now.map_or(Reading::Unsupported, |r| r.memory_used_bytes),
        });
        held.leases.push(lease);
    }
    let free = held.gpus.len() as u32;
    if free < wanted.count {
        return Err(HoldError::Busy {
            wanted: wanted.count,
            free,
            kind: wanted.kind.map(str::to_owned),
            why: why.trim_end_matches("; ").to_owned(),
        });
    }
    Ok(held)
}

impl Held {
    /// What is on the GPUs now.
    pub fn left(&self, source: &mut dyn Source) -> Vec<Left> {
        let gpus = self.gpus.iter();
        gpus.map(|gpu| match look(source, gpu.index) {
            Ok(now) => Left {
                uuid: gpu.uuid.clone(),
                memory_used_bytes: now.memory_used_bytes,
                processes: now.processes.map(|all| computing(&all)),
                lost: false,
            },
            Err(missing) => Left {
                uuid: gpu.uuid.clone(),
                memory_used_bytes: Reading::Lost,
                processes: Reading::Lost,
                lost: missing == Missing::Lost,
            },
        })
        .collect()
    }

    /// The lease of a GPU is ours as long as this is.
    pub fn leased(&self) -> usize {
        self.leases.len()
    }
}

fn identities(source: &mut dyn Source) -> Result<Vec<(u32, Identity)>, HoldError> {
    let count = source.count().map_err(HoldError::Unavailable)?;
    // one that does not answer, or may not be asked, is none of ours
    let known = (0..count).filter_map(|i| Some((i, source.identity(i).ok()?)));
    Ok(known.collect())
}

/// GPUs of the wanted kind; of any one kind that has enough, where none is named.
fn fitting<'a>(
    all: &'a [(u32, Identity)],
    wanted: Wanted<'_>,
) -> Result<Vec<(u32, &'a Identity)>, HoldError> {
    let of = |name: &str| -> Vec<(u32, &'a Identity)> {
        let same = all
            .iter()
            .filter(|(_, g)| g.name.trim().eq_ignore_ascii_case(name.trim()));
        same.map(|(i, g)| (*i, g)).collect()
    };
    let mut kinds: Vec<&str> = match wanted.kind {
        Some(kind) => vec![kind],
        None => all.iter().map(|(_, g)| g.name.as_str()).collect(),
    };
    kinds.dedup();
    let enough = kinds
        .iter()
        .map(|k| of(k))
        .find(|gpus| gpus.len() >= wanted.count as usize);
    enough.ok_or_else(|| HoldError::TooFew {
        wanted: wanted.count,
        kind: wanted.kind.map(str::to_owned),
        there: there(all),
    })
}

/// `2 (NVIDIA H200), 1 (NVIDIA L4)`, or `none`.
fn there(all: &[(u32, Identity)]) -> String {
    let mut counts: Vec<(&str, u32)> = Vec::new();
    for (_, gpu) in all {
        match counts.iter_mut().find(|(name, _)| *name == gpu.name) {
            Some((_, count)) => *count += 1,
            None => counts.push((&gpu.name, 1)),
        }
    }
    if counts.is_empty() {
        return "no GPU".into();
    }
    let words: Vec<String> = counts.iter().map(|(k, n)| format!("{n} ({k})")).collect();
    words.join(", ")
}

fn look(source: &mut dyn Source, index: u32) -> Result<Readings, Missing> {
    let mut readings = Readings::default();
    source.read(index, Lane::Figures, &mut readings)?;
    source.read(index, Lane::Processes, &mut readings)?;
    Ok(readings)
}

/// What speaks against starting on a GPU now. Where the driver does not tell who computes, the
/// lease alone has to do.
fn occupied(now: &Result<Readings, Missing>) -> Option<String> {
    match now {
        Err(Missing::Lost) => Some("does not answer (lost)".into()),
        Err(Missing::NoPermission) => Some("may not be used by this user".into()),
        Err(Missing::Driver) => Some("cannot be asked: the driver went".into()),
        Ok(readings) => {
            let processes = readings.processes.clone().value().unwrap_or_default();
            let pids = computing(&processes);
            (!pids.is_empty()).then(|| {
                let pids: Vec<String> = pids.iter().map(u32::to_string).collect();
                format!("has processes of others (pid {})", pids.join(", "))
            })
        }
    }
}

/// A desktop that draws on a GPU takes nothing from a run.
fn computing(processes: &[RawProcess]) -> Vec<u32> {
    let compute = processes.iter().filter(|p| p.kind != ProcessKind::Graphics);
    compute.map(|p| p.pid).collect()
}
