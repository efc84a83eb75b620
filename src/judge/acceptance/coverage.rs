//! The coverage record of a task, out of what its author says, what verify saw and who signed.

use std::collections::BTreeMap;

use crate::domain::acceptance::{Acceptance, ClaimRow, Round};
use crate::domain::coverage::{
    ClaimCoverage, Coverage, Dropped, Missing, Seen, SignoffState, Signoffs, Variants,
};
use crate::domain::task::{Claim, ClaimKind, TaskSpec};

/// Rounds that are kept of a task; older ones are dropped.
const ROUNDS: usize = 100;

/// The record, and what it lacks. `hashes`: of every claim with its probes, as the task is now.
pub fn coverage(
    spec: &TaskSpec,
    recorded: Option<&Acceptance>,
    seen: Seen,
    signoffs: &Signoffs,
    hashes: &BTreeMap<String, String>,
) -> Coverage {
    let claims: Vec<ClaimCoverage> = spec
        .claims
        .iter()
        .map(|claim| {
            let mut rows = recorded.map(|r| &r.claims).into_iter().flatten();
            let row = rows.find(|row| row.claim == claim.id);
            of_claim(spec, claim, row, signoffs, hashes.get(&claim.id))
        })
        .collect();
    let verified = spec.suites.probes.is_none() || seen == Seen::Fresh;
    Coverage {
        schema: 1,
        task: spec.id.clone(),
        seen,
        standing: recorded.map(|r| r.standing),
        rounds: recorded.map_or(0, |r| r.earlier.len() + 1),
        earlier: recorded.map(|r| r.earlier.clone()).unwrap_or_default(),
        complete: verified && claims.iter().all(|c| c.missing.is_empty()),
        claims,
    }
}

fn of_claim(
    spec: &TaskSpec,
    claim: &Claim,
    row: Option<&ClaimRow>,
    signoffs: &Signoffs,
    hash: Option<&String>,
) -> ClaimCoverage {
    let kept = spec.adversarial.iter().filter(|a| a.claim == claim.id);
    let kept: Vec<String> = kept.map(|a| a.name.clone()).collect();
    let dropped = spec.dropped.iter().filter(|d| d.claim == claim.id);
    let dropped: Vec<Dropped> = dropped
        .map(|d| Dropped {
            name: d.name.clone(),
            why: d.why.clone(),
        })
        .collect();
    let rejected = row.map(|r| r.rejected.clone()).unwrap_or_default();
    let signed = signoffs.of(&claim.id);
    let signoff = match signed {
        None => SignoffState::Unsigned,
        Some(signed) if Some(&signed.hash) == hash => SignoffState::Signed,
        Some(_) => SignoffState::Stale,
    };
    let mut record = ClaimCoverage {
        claim: claim.id.clone(),
        text: claim.text.clone(),
        kind: claim.kind,
        observable: claim.observable.clone(),
        oracles: claim.oracles.clone(),
        modes: claim.modes.clone(),
        hardware: (claim.hardware.clone())
            .or_else(|| spec.hardware.need())
            .unwrap_or_else(|| "CPU".into()),
        method: claim.method.clone(),
        noise: claim.noise.clone(),
        blind_spots: claim.blind_spots.clone(),
        unmeasured: claim.unmeasured.clone(),
        probes: claim.probes.clone(),
        adversarial: Variants {
            tried: kept.len() + dropped.len(),
            kept,
            rejected,
            dropped,
        },
        also: row.map(|r| r.also.clone()).unwrap_or_default(),
        signoff,
        signed: signed.cloned(),
        missing: Vec::new(),
    };
    record.missing = missing(&record, row);
    record
}

fn missing(record: &ClaimCoverage, row: Option<&ClaimRow>) -> Vec<Missing> {
    // what nothing measures has a reason, and no probe to speak of
    if record.unmeasured.is_some() {
        return Vec::new();
    }
    let resource = record.kind == ClaimKind::Resource;
    let unrejected = row.is_some_and(|r| r.rejected.len() < r.tried.len());
    let all = [
        (record.probes.is_empty(), Missing::Probe),
        (record.observable.is_none(), Missing::Observable),
        (record.oracles.len() < 2, Missing::SingleOracle),
        (record.blind_spots.is_empty(), Missing::BlindSpots),
        (record.adversarial.kept.is_empty(), Missing::Adversarial),
        (unrejected, Missing::Rejection),
        (resource && record.method.is_none(), Missing::Method),
        (resource && record.noise.is_none(), Missing::Noise),
        (record.signoff == SignoffState::Unsigned, Missing::Signoff),
        (record.signoff == SignoffState::Stale, Missing::FreshSignoff),
    ];
    all.iter().filter(|(is, _)| *is).map(|(_, m)| *m).collect()
}

/// The rounds before this one: a task that has changed since it was recorded has had one more.
pub fn rounds_before(made: &Acceptance, before: Option<&Acceptance>) -> Vec<Round> {
    let Some(before) = before else {
        return Vec::new();
    };
    let mut earlier = before.earlier.clone();
    if before.key != made.key {
        earlier.push(Round {
            run: before.run.clone(),
            created_s: before.created_s,
            standing: before.standing,
            broken: before.broken().map(|r| r.rule).collect(),
            revise: before.revise.len(),
        });
    }
    let surplus = earlier.len().saturating_sub(ROUNDS);
    earlier.drain(..surplus);
    earlier
}
