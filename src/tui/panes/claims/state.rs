//! The items of the claims pane, and which is selected.

use crate::domain::acceptance::{Acceptance, Finding, FindingKind, Role, RuleVerdict};
use crate::domain::task::Claim;
use crate::report::acceptance::{Row, Sign};
use crate::tui::state::App;

#[derive(Clone, Debug, Default)]
pub struct ClaimsState {
    /// Index among the items.
    pub selected: usize,
    /// First row on the screen.
    pub top: usize,
}

/// Something that can be selected.
#[derive(Clone, Copy, Debug)]
pub enum Item<'a> {
    Claim(&'a Claim),
    Rule(&'a RuleVerdict),
    Revise(&'a Finding),
    Warning(&'a Finding),
}

impl Item<'_> {
    /// Above the first item of its kind.
    pub fn heading(&self) -> &'static str {
        match self {
            Item::Claim(_) => "claims",
            Item::Rule(_) => "the acceptance rule",
            Item::Revise(_) => "to revise",
            Item::Warning(_) => "warnings; they never change the standing",
        }
    }
}

/// Claims first, then each part of the rule, then what to do.
pub fn items(app: &App) -> Vec<Item<'_>> {
    let task = app.acceptance.task.as_deref().and_then(|id| app.task(id));
    let claims = task.map_or(&[][..], |task| &task.spec.claims);
    let mut all: Vec<Item<'_>> = claims.iter().map(Item::Claim).collect();
    if let Some(judged) = judged(app) {
        all.extend(judged.rules.iter().map(Item::Rule));
        all.extend(judged.revise.iter().map(Item::Revise));
        all.extend(judged.warnings.iter().map(Item::Warning));
    }
    all
}

/// What the rule comes to, once all that it looks at is known: before, it would accuse what has
/// not run yet.
pub fn judged(app: &App) -> Option<&Acceptance> {
    let matrix = app.acceptance.matrix.as_ref()?;
    let known = |row: &Row| row.verdict.sign != Sign::Open;
    let whole = matrix.rows.iter().all(known);
    matrix.acceptance.as_ref().filter(|_| whole)
}

/// What executions tell of a claim.
#[derive(Clone, Debug, PartialEq)]
pub struct Cover {
    /// Probe functions that gold collects, or that the task names where none ran.
    pub probes: usize,
    pub tried: Vec<String>,
    /// Of those: by its own probes.
    pub rejected: Vec<String>,
    pub also: Vec<String>,
    pub sign: Sign,
}

pub fn cover(app: &App, claim: &Claim) -> Cover {
    let matrix = app.acceptance.matrix.as_ref();
    let judged = matrix.and_then(|m| m.acceptance.as_ref());
    let Some(row) = judged.and_then(|a| a.claims.iter().find(|row| row.claim == claim.id)) else {
        return Cover {
            probes: claim.probes.len(),
            tried: Vec::new(),
            rejected: Vec::new(),
            also: Vec::new(),
            sign: Sign::Open,
        };
    };
    let rows = matrix.map_or(&[][..], |m| &m.rows);
    let own = |row: &&Row| row.role == Role::Adversarial && row.claim.as_deref() == Some(&claim.id);
    let worst = |sign: Sign| rows.iter().filter(own).any(|row| row.verdict.sign == sign);
    let warned = judged.is_some_and(|a| {
        let about = |f: &Finding| {
            let claims = [
                FindingKind::SingleOracle,
                FindingKind::ClaimWithoutAdversarial,
            ];
            claims.contains(&f.kind) && f.subject == claim.id
        };
        a.warnings.iter().any(about)
    });
    let sign = if claim.unmeasured.is_some() {
        Sign::Warns
    } else if claim.probes.is_empty() || worst(Sign::Breaks) {
        Sign::Breaks
    } else if worst(Sign::Open) {
        Sign::Open
    } else if warned || worst(Sign::Warns) {
        Sign::Warns
    } else {
        Sign::Holds
    };
    Cover {
        probes: row.probes.len(),
        tried: row.tried.clone(),
        rejected: row.rejected.clone(),
        also: row.also.clone(),
        sign,
    }
}
