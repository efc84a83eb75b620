//! What to revise, and warnings. Each revision also breaks a rule, or leaves a claim unproven.

use super::evidence::{PatchEvidence, collected, outcomes};
use super::matrix::Functions;
use crate::domain::acceptance::{ClaimRow, Finding, FindingKind, How, PatchRow, Role};
use crate::domain::task::TaskSpec;
use crate::domain::{CaseId, Outcome, Suite};

fn finding(kind: FindingKind, subject: &str, detail: String) -> Finding {
    Finding {
        kind,
        subject: subject.to_owned(),
        detail,
    }
}

pub(super) fn revise(
    spec: &TaskSpec,
    functions: &Functions<'_>,
    rows: &[PatchRow],
    official: usize,
) -> Vec<Finding> {
    let mut all = Vec::new();
    for row in rows {
        if let Some((cause, message)) = &row.refused {
            let detail = format!("{}: {message}", cause.name());
            all.push(finding(FindingKind::DoesNotApply, &row.patch, detail));
            continue;
        }
        let tried = matches!(row.role, Role::Adversarial | Role::Alternative);
        if tried && row.official.passed < official {
            let detail = format!("{} of gold's {official}", row.official.passed);
            all.push(finding(FindingKind::OfficialBelowGold, &row.patch, detail));
        }
        match row.role {
            Role::Adversarial if counted(functions, row).next().is_none() => {
                let claim = row.claim.as_deref().unwrap_or("no claim");
                let detail = format!("violates {claim}");
                all.push(finding(FindingKind::Survivor, &row.patch, detail));
            }
            Role::Alternative => {
                for r in &row.rejected_by {
                    let detail = format!("{}, by {}", row.patch, r.how.words());
                    all.push(finding(
                        FindingKind::RejectsAlternative,
                        &r.function,
                        detail,
                    ));
                }
            }
            _ => {}
        }
    }
    for claim in &spec.claims {
        if claim.probes.is_empty() && claim.unmeasured.is_none() {
            let text = claim.text.clone();
            all.push(finding(FindingKind::ClaimWithoutProbe, &claim.id, text));
        }
    }
    all
}

pub(super) fn warnings(
    spec: &TaskSpec,
    functions: &Functions<'_>,
    gold: &PatchEvidence,
    rows: &[PatchRow],
    through_old: &[(&str, String)],
    unread: &[(String, String)],
) -> Vec<Finding> {
    let mut all = Vec::new();
    let adversarial = || rows.iter().filter(|row| row.role == Role::Adversarial);
    for row in adversarial() {
        let Some(how) = counted(functions, row).map(|r| r.how).min() else {
            continue;
        };
        if how != How::Assertion {
            let detail = how.words().to_owned();
            all.push(finding(FindingKind::OnlyByCrash, &row.patch, detail));
        }
        if let Some(claim) = &row.claim
            && row.by_its_claim() == 0
        {
            let detail = format!("violates {claim}");
            all.push(finding(FindingKind::OtherClaim, &row.patch, detail));
        }
    }
    for (function, _) in functions.probes() {
        let rejects = |row: &PatchRow| row.rejected_by.iter().any(|r| r.function == *function);
        if !adversarial().any(rejects) {
            all.push(finding(
                FindingKind::RejectsNothing,
                function,
                String::new(),
            ));
        }
        if functions.claims_of(function).is_empty() {
            all.push(finding(
                FindingKind::ProbeWithoutClaim,
                function,
                String::new(),
            ));
        }
    }
    for (function, detail) in through_old {
        let kind = FindingKind::HollowThroughOld;
        all.push(finding(kind, function, detail.clone()));
    }
    for (path, why) in unread {
        all.push(finding(FindingKind::HollowUnread, path, why.clone()));
    }
    for claim in &spec.claims {
        if claim.unmeasured.is_some() {
            continue;
        }
        if let [only] = claim.oracles.as_slice() {
            let detail = format!("{only:?}").to_lowercase();
            all.push(finding(FindingKind::SingleOracle, &claim.id, detail));
        }
        if !spec.adversarial.iter().any(|a| a.claim == claim.id) {
            let kind = FindingKind::ClaimWithoutAdversarial;
            all.push(finding(kind, &claim.id, String::new()));
        }
    }
    let runs = gold.by_case(Suite::Official);
    for id in collected(gold, Suite::Official) {
        let words: Vec<&str> = outcomes(&runs, id).map(Outcome::name).collect();
        if words.windows(2).any(|w| w[0] != w[1]) {
            let detail = words.join(", ");
            all.push(finding(FindingKind::OfficialFlaky, id.as_str(), detail));
        }
    }
    all
}

/// Rejections that count: no guard's.
fn counted<'a>(
    functions: &'a Functions<'_>,
    row: &'a PatchRow,
) -> impl Iterator<Item = &'a crate::domain::acceptance::Rejection> {
    let counts = |function: &str| !functions.guard(function);
    row.rejected_by.iter().filter(move |r| counts(&r.function))
}

pub(super) fn claims(
    spec: &TaskSpec,
    functions: &Functions<'_>,
    rows: &[PatchRow],
) -> Vec<ClaimRow> {
    let of = |claim: &str| {
        let tried: Vec<&PatchRow> = rows
            .iter()
            .filter(|row| row.role == Role::Adversarial && row.claim.as_deref() == Some(claim))
            .collect();
        let mut also: Vec<String> = tried
            .iter()
            .flat_map(|row| row.rejected_by.iter().flat_map(|r| r.claims.clone()))
            .filter(|other| other != claim)
            .collect();
        also.sort();
        also.dedup();
        let labels = |rows: &[&PatchRow]| rows.iter().map(|row| row.patch.clone()).collect();
        let caught: Vec<&PatchRow> = tried
            .iter()
            .filter(|r| r.by_its_claim() > 0)
            .copied()
            .collect();
        ClaimRow {
            claim: claim.to_owned(),
            probes: functions
                .all
                .iter()
                .filter(|(name, _): &&(&str, Vec<&CaseId>)| {
                    functions.claims_of(name).iter().any(|c| c == claim)
                })
                .map(|(name, _)| (*name).to_owned())
                .collect(),
            rejected: labels(&caught),
            tried: labels(&tried),
            also,
        }
    };
    spec.claims.iter().map(|claim| of(&claim.id)).collect()
}
