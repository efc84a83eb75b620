//! Probes that reject hollow only through an old function (METHOD.md section 3, Hollow): what fails
//! is not that something new is missing.

use std::collections::BTreeSet;

use super::evidence::PatchEvidence;
use super::matrix::Functions;
use crate::domain::acceptance::{HOLLOW_ERROR, ImportNeed, Role};
use crate::domain::case::{CaseDetail, Phase};
use crate::domain::{CaseResult, Suite};

/// Characters of a message that a finding quotes.
pub(super) const QUOTED: usize = 120;

/// How the hollow patch was made, and what the suites left of it.
#[derive(Clone, Debug, Default)]
pub struct HollowStory {
    /// The change adds no function: those that it changes raise.
    pub changed: bool,
    pub details: Vec<CaseDetail>,
    /// Python files that could not be read, and why: hollow has them as in gold.
    pub unread: Vec<(String, String)>,
    /// Functions that keep their body because a run told so.
    pub needs: Vec<ImportNeed>,
}

/// Probe functions that reject hollow, none of their cases by the raise of a new function; with what
/// they failed by instead.
pub(super) fn through_old<'a>(
    functions: &'a Functions<'a>,
    patches: &[PatchEvidence],
    story: &HollowStory,
) -> Vec<(&'a str, String)> {
    let Some(hollow) = patches.iter().find(|p| p.role == Role::Hollow) else {
        return Vec::new();
    };
    let told: BTreeSet<&str> = (story.details.iter())
        .filter(|d| d.traceback.contains(HOLLOW_ERROR))
        .map(|d| d.id.as_str())
        .collect();
    let raised = |r: &CaseResult| {
        let says = |m: &Option<String>| m.as_deref().is_some_and(|m| m.contains(HOLLOW_ERROR));
        !r.outcome.passed()
            && r.phase != Phase::Collect
            && (says(&r.message)
                || r.ranks.iter().any(|rank| says(&rank.message))
                || told.contains(r.id.as_str()))
    };
    let runs = hollow.by_case(Suite::Probes);
    let rejections = functions.rejections(hollow);
    functions
        .probes()
        .filter_map(|(function, cases)| {
            let rejection = rejections.iter().find(|r| r.function == *function)?;
            let by_raise = runs.iter().any(|run| {
                cases
                    .iter()
                    .any(|id| run.get(id).is_some_and(|r| raised(r)))
            });
            let detail = match (by_raise, story.changed) {
                (true, false) => return None,
                (true, true) => "a changed function raises: the change adds none".to_owned(),
                (false, _) => {
                    let message = rejection.message.as_deref().unwrap_or_default();
                    let first: String = message
                        .lines()
                        .next()
                        .unwrap_or_default()
                        .chars()
                        .take(QUOTED)
                        .collect();
                    match first.as_str() {
                        "" => rejection.how.words().to_owned(),
                        first => format!("{}: {first}", rejection.how.words()),
                    }
                }
            };
            Some((*function, detail))
        })
        .collect()
}
