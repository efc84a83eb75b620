//! `infradev coverage TASK`: the coverage record of its claims, and a person's word on it.

use super::args::CoverageArgs;
use super::context::Context;
use super::exit::{Exit, Failure};
use super::output::{self, line, safe};
use super::sources::count;
use super::table::{paragraph, table};
use crate::catalog::mapping_hashes;
use crate::domain::coverage::{ClaimCoverage, Coverage, Seen, Signoff, SignoffState};
use crate::domain::{Standing, Task};
use crate::judge::acceptance::coverage;
use crate::pipeline::{Freshness, freshness};
use crate::store::{keep_signoffs, now_s, recorded_acceptance, recorded_signoffs};

/// Letters of a name that signs.
const LONGEST_NAME: usize = 100;

pub fn run(context: &Context, args: &CoverageArgs) -> Result<Exit, Failure> {
    let task = context.catalog()?.usable(&args.task)?;
    if let Some(who) = &args.sign {
        sign(&task, who, &args.claims)?;
    }
    let made = of(&task)?;
    if args.json {
        output::document(&made)?;
    } else {
        show(&made);
    }
    Ok(if made.complete { Exit::Yes } else { Exit::No })
}

fn of(task: &Task) -> Result<Coverage, Failure> {
    let recorded = recorded_acceptance(task);
    let seen = match (freshness(task), &recorded) {
        (_, None) | (Freshness::Unverified, _) => Seen::Never,
        (Freshness::Fresh(_), _) => Seen::Fresh,
        (Freshness::Stale(_) | Freshness::Edited(_), _) => Seen::Stale,
    };
    let signoffs = recorded_signoffs(task).map_err(|e| unreadable(&e))?;
    let hashes = mapping_hashes(task);
    Ok(coverage(
        &task.spec,
        recorded.as_ref(),
        seen,
        &signoffs,
        &hashes,
    ))
}

fn unreadable(e: &crate::store::StoreError) -> Failure {
    Failure::input(format!(
        "{e}; correct the file, or delete it and sign again"
    ))
}

/// Writes a person's word on some claims, or on all that have probes.
fn sign(task: &Task, who: &str, only: &[String]) -> Result<(), Failure> {
    let who = who.trim();
    let odd = |c: char| c.is_control();
    if who.is_empty() || who.chars().count() > LONGEST_NAME || who.contains(odd) {
        return Err(Failure::input(format!(
            "--sign takes a person's name of up to {LONGEST_NAME} plain characters"
        )));
    }
    let claims = &task.spec.claims;
    if let Some(id) = only.iter().find(|id| !claims.iter().any(|c| c.id == **id)) {
        let known: Vec<&str> = claims.iter().map(|c| c.id.as_str()).collect();
        return Err(Failure::input(format!(
            "task {} has no claim {id:?}; known: {}",
            task.id(),
            known.join(", ")
        )));
    }
    let meant = |id: &String| only.is_empty() || only.contains(id);
    let mut signoffs = recorded_signoffs(task).map_err(|e| unreadable(&e))?;
    let hashes = mapping_hashes(task);
    let at_s = now_s();
    let mut signed = 0;
    for claim in claims.iter().filter(|c| meant(&c.id)) {
        if claim.probes.is_empty() {
            if only.is_empty() {
                continue;
            }
            return Err(Failure::input(format!(
                "claim {} has no probes, so there is no mapping to sign",
                claim.id
            )));
        }
        signoffs.sign(Signoff {
            claim: claim.id.clone(),
            who: who.into(),
            at_s,
            hash: hashes.get(&claim.id).cloned().unwrap_or_default(),
        });
        signed += 1;
    }
    let path = keep_signoffs(task, &signoffs)?;
    output::note(&format!(
        "{} signed by {} in {}",
        count(signed, "claim"),
        safe(who),
        path.display()
    ));
    Ok(())
}

fn show(made: &Coverage) {
    let standing = made.standing.map_or("", Standing::name);
    let seen = match made.seen {
        Seen::Never => "never verified".to_owned(),
        Seen::Fresh => format!("verified: {standing}"),
        Seen::Stale => format!("verified before a change: {standing}"),
    };
    line(&format!(
        "{}  {seen}  rounds {}",
        safe(&made.task),
        made.rounds
    ));
    for round in &made.earlier {
        let broken: Vec<&str> = round.broken.iter().map(|r| r.words()).collect();
        let broken = match broken.as_slice() {
            [] => String::new(),
            broken => format!("; broken: {}", broken.join("; ")),
        };
        let text = format!(
            "  {}  {}, {} to revise{broken}",
            day(round.created_s),
            round.standing.name(),
            round.revise
        );
        paragraph(&text, "    ");
    }
    for claim in &made.claims {
        line("");
        paragraph(&format!("{}  {}", claim.claim, claim.text), "    ");
        table("    ", &rows(claim));
    }
    line("");
    let missing: usize = made.claims.iter().map(|c| c.missing.len()).sum();
    let end = match (missing, made.complete) {
        (0, true) => "nothing is missing".to_owned(),
        (0, false) => "verify has not seen it as it is now".to_owned(),
        (n, _) => count(n, "warning"),
    };
    line(&format!("{}: {end}", safe(&made.task)));
}

fn rows(claim: &ClaimCoverage) -> Vec<Vec<String>> {
    let kind = claim.kind.name().to_owned();
    let oracles: Vec<&str> = claim.oracles.iter().map(|o| o.name()).collect();
    let adversarial = &claim.adversarial;
    let tried = format!(
        "{} tried, {} kept, {} rejected by its probes",
        adversarial.tried,
        adversarial.kept.len(),
        adversarial.rejected.len()
    );
    let signed = claim.signed.as_ref();
    let signed = signed.map(|s| format!("{}, {}", s.who, day(s.at_s)));
    let signoff = match (claim.signoff, signed) {
        (SignoffState::Stale, Some(signed)) => Some(format!("{signed}, before a change")),
        (_, signed) => signed,
    };
    let list = |all: &[String]| (!all.is_empty()).then(|| all.join(", "));
    let also = list(&claim.also).map(|also| format!("its patches are rejected by {also} as well"));
    let mut rows: Vec<Vec<String>> = [
        ("kind", Some(kind)),
        ("observable", claim.observable.clone()),
        ("oracles", (!oracles.is_empty()).then(|| oracles.join(", "))),
        ("modes", list(&claim.modes)),
        ("hardware", Some(claim.hardware.clone())),
        ("method", claim.method.clone()),
        ("noise", claim.noise.clone()),
        ("unmeasured", claim.unmeasured.clone()),
        ("probes", Some(claim.probes.len().to_string())),
        ("adversarial", Some(tried)),
        ("isolation", also),
        ("signed", signoff),
    ]
    .into_iter()
    .filter_map(|(name, value)| Some(vec![name.to_owned(), value?]))
    .collect();
    let row = |name: &str, value: String| vec![name.to_owned(), value];
    rows.extend(
        (adversarial.dropped.iter()).map(|d| row("dropped", format!("{}: {}", d.name, d.why))),
    );
    rows.extend(
        claim
            .blind_spots
            .iter()
            .map(|b| row("blind spot", b.clone())),
    );
    rows.extend(
        (claim.missing.iter()).map(|m| row("WARNING", format!("{} ({})", m.words(), m.mend()))),
    );
    rows
}

/// The day of a time, in UTC.
fn day(at_s: f64) -> String {
    jiff::Timestamp::from_second(at_s as i64)
        .map(|t| t.strftime("%Y-%m-%d").to_string())
        .unwrap_or_default()
}
