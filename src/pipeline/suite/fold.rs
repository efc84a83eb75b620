//! From the phases of a case to its outcome on one rank, and from ranks to the case. Pure.

use super::record::{FrameRow, Report};
use crate::domain::case::{CaseDetail, Frame};
use crate::domain::{CaseId, CaseResult, Outcome, Phase, RankOutcome};

/// The longest message of a result; the traceback has the rest.
const MESSAGE: usize = 500;

/// A case on one rank.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct OnRank {
    pub outcome: Outcome,
    pub phase: Phase,
    pub duration_s: f64,
    pub message: Option<String>,
    pub detail: Option<CaseDetail>,
}

impl OnRank {
    /// A rank that did not get to the end of the case.
    pub fn cut_off(outcome: Outcome, phase: Phase, duration_s: f64, message: String) -> Self {
        Self {
            outcome,
            phase,
            duration_s,
            message: Some(message),
            detail: None,
        }
    }
}

/// Folds what was reported about one case on one rank. `Err`: the reports make no whole.
pub(super) fn fold_phases(reports: &[Report]) -> Result<OnRank, String> {
    let mut outcome = None;
    let mut phase = Phase::Call;
    let mut worst: Option<&Report> = None;
    let mut duration_s = 0.0;
    let (mut setup_passed, mut called, mut torn_down) = (false, false, false);
    for report in reports {
        duration_s += report.d;
        let at = match report.p.as_deref() {
            Some("setup") => Phase::Setup,
            Some("call") => Phase::Call,
            Some("teardown") => Phase::Teardown,
            other => return Err(format!("a report of an unknown phase {other:?}")),
        };
        if report.o == "rerun" {
            // the project's own rule runs the case again: what counts is yet to come
            (outcome, worst) = (None, None);
            (setup_passed, called, torn_down) = (false, false, false);
            continue;
        }
        let here = outcome_of(report, at)?;
        match at {
            Phase::Setup => setup_passed = here.passed(),
            Phase::Teardown => torn_down = true,
            Phase::Call | Phase::Collect => called = true,
        }
        let so_far = outcome.unwrap_or(Outcome::Passed);
        // a failed call stays `failed` when its teardown breaks too: the assertion is the story
        let grows = here.severity() > so_far.severity()
            && !(at == Phase::Teardown && so_far == Outcome::Failed);
        if outcome.is_none() || grows {
            outcome = Some(here);
            if !here.passed() {
                phase = at;
                worst = Some(report);
            }
        }
    }
    let Some(outcome) = outcome else {
        return Err("no phase was reported".into());
    };
    if setup_passed && !called {
        return Err("no outcome was reported for its call".into());
    }
    if !torn_down {
        return Err("no outcome was reported for its teardown".into());
    }
    if !setup_passed && outcome.passed() {
        return Err("no outcome was reported for its setup".into());
    }
    let message = worst.and_then(|r| {
        let text = match (&r.x, outcome) {
            (Some(reason), Outcome::Xfailed | Outcome::Xpassed) if !reason.is_empty() => reason,
            _ => &r.m,
        };
        first_line(text)
    });
    Ok(OnRank {
        outcome,
        phase: if outcome.passed() { Phase::Call } else { phase },
        duration_s,
        message,
        detail: worst
            .filter(|r| !r.t.is_empty() || !r.s.is_empty())
            .map(|r| detail(&r.t, &r.f, &r.s)),
    })
}

fn outcome_of(report: &Report, at: Phase) -> Result<Outcome, String> {
    let expected = report.x.is_some();
    match report.o.as_str() {
        "passed" if expected => Ok(Outcome::Xpassed),
        "passed" => Ok(Outcome::Passed),
        "skipped" if expected => Ok(Outcome::Xfailed),
        "skipped" => Ok(Outcome::Skipped),
        "failed" if at == Phase::Call => Ok(Outcome::Failed),
        "failed" => Ok(Outcome::Error),
        other => Err(format!("an unknown outcome {other:?}")),
    }
}

/// The long story, still without its case and rank.
pub(super) fn detail(
    traceback: &str,
    frames: &[FrameRow],
    sections: &[(String, String)],
) -> CaseDetail {
    CaseDetail {
        traceback: traceback.to_owned(),
        frames: frames
            .iter()
            .map(|(path, line, function)| Frame {
                path: path.clone(),
                line: *line,
                function: function.clone(),
            })
            .collect(),
        sections: sections.to_vec(),
        ..CaseDetail::default()
    }
}

/// The first line that says something, bounded.
pub(super) fn first_line(text: &str) -> Option<String> {
    let line = text.lines().map(str::trim).find(|l| !l.is_empty())?;
    Some(match line.char_indices().nth(MESSAGE) {
        Some((at, _)) => format!("{}…", &line[..at]),
        None => line.to_owned(),
    })
}

/// A case is the worst of its ranks; with several ranks the message names the one it is from.
/// `by_rank` holds one entry for each rank, in order; `blamed` comes first among equals.
pub(super) fn fold_ranks(
    id: &CaseId,
    by_rank: Vec<OnRank>,
    blamed: Option<usize>,
) -> (CaseResult, Vec<CaseDetail>) {
    let several = by_rank.len() > 1;
    let mut worst = blamed.filter(|r| *r < by_rank.len()).unwrap_or(0);
    for (rank, on) in by_rank.iter().enumerate() {
        let (this, so_far) = (on.outcome.severity(), by_rank[worst].outcome.severity());
        // of two that are as bad, the one that tells its own story is the cause
        let tells = on.detail.is_some() && by_rank[worst].detail.is_none();
        if this > so_far || (this == so_far && tells) {
            worst = rank;
        }
    }
    let mut result = CaseResult {
        id: id.clone(),
        outcome: Outcome::Passed,
        phase: Phase::Call,
        duration_s: by_rank.iter().map(|r| r.duration_s).fold(0.0, f64::max),
        ranks: Vec::new(),
        message: None,
        detail_offset: None,
    };
    if let Some(on) = by_rank.get(worst) {
        result.outcome = on.outcome;
        result.phase = on.phase;
        let told = on.message.as_deref();
        // ranks that say the same say it together
        let alike: Vec<String> = (0..)
            .zip(&by_rank)
            .filter(|(_, other)| other.outcome == on.outcome && other.message == on.message)
            .map(|(rank, _): (usize, _)| rank.to_string())
            .collect();
        result.message = match told {
            Some(message) if alike.len() > 1 => {
                Some(format!("ranks {}: {message}", alike.join(", ")))
            }
            Some(message) if several => Some(format!("rank {worst}: {message}")),
            Some(message) => Some(message.to_owned()),
            None if several && !on.outcome.passed() => {
                Some(format!("rank {worst}: {}", on.outcome))
            }
            None => None,
        };
    }
    if several {
        result.ranks = (0..)
            .zip(&by_rank)
            .map(|(rank, on)| RankOutcome {
                rank,
                outcome: on.outcome,
                message: on.message.clone(),
            })
            .collect();
        // the other ranks' words, where they differ in kind: one may be the cause of the other
        let others: Vec<String> = (0..)
            .zip(&by_rank)
            .filter(|(rank, on)| *rank != worst && !on.outcome.passed())
            .filter(|(_, on)| on.message != by_rank[worst].message)
            .filter_map(|(rank, on)| Some(format!("rank {rank}: {}", on.message.as_deref()?)))
            .collect();
        if let Some(message) = &mut result.message
            && by_rank.iter().any(|on| {
                on.outcome != result.outcome || (on.detail.is_none() && !on.outcome.passed())
            })
        {
            for other in others {
                message.push_str("; ");
                message.push_str(&other);
            }
            if message.len() > 2 * MESSAGE {
                *message = first_line(message).unwrap_or_default();
            }
        }
    }
    let mut details: Vec<CaseDetail> = (0..)
        .zip(by_rank)
        .filter_map(|(rank, on)| {
            let mut detail = on.detail?;
            detail.id.clone_from(&id.0);
            detail.rank = rank;
            Some(detail)
        })
        .collect();
    // the worst rank's story first: the result points at it
    details.sort_by_key(|d| (d.rank as usize != worst, d.rank));
    (result, details)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    fn phase(p: &str, o: &str) -> Report {
        Report {
            p: Some(p.into()),
            o: o.into(),
            d: 0.5,
            m: format!("{p} {o}\nmore"),
            ..Report::default()
        }
    }

    fn fold(phases: &[(&str, &str)]) -> Result<(Outcome, Phase), String> {
        let reports: Vec<Report> = phases.iter().map(|(p, o)| phase(p, o)).collect();
        fold_phases(&reports).map(|on| (on.outcome, on.phase))
    }

    #[test]
    fn outcomes_by_phase() {
        use Outcome::{Error, Failed, Passed, Skipped};
        for (phases, expected) in [
            (
                vec![
                    ("setup", "passed"),
                    ("call", "passed"),
                    ("teardown", "passed"),
                ],
                (Passed, Phase::Call),
            ),
            (
                vec![
                    ("setup", "passed"),
                    ("call", "failed"),
                    ("teardown", "passed"),
                ],
                (Failed, Phase::Call),
            ),
            (
                vec![("setup", "failed"), ("teardown", "passed")],
                (Error, Phase::Setup),
            ),
            (
                vec![("setup", "skipped"), ("teardown", "passed")],
                (Skipped, Phase::Setup),
            ),
            // a pass followed by a teardown error is an error
            (
                vec![
                    ("setup", "passed"),
                    ("call", "passed"),
                    ("teardown", "failed"),
                ],
                (Error, Phase::Teardown),
            ),
            (
                vec![
                    ("setup", "passed"),
                    ("call", "failed"),
                    ("teardown", "failed"),
                ],
                (Failed, Phase::Call),
            ),
            // a failed subtest before a passing end of the call
            (
                vec![
                    ("setup", "passed"),
                    ("call", "failed"),
                    ("call", "passed"),
                    ("teardown", "passed"),
                ],
                (Failed, Phase::Call),
            ),
            (
                vec![
                    ("setup", "passed"),
                    ("call", "rerun"),
                    ("setup", "passed"),
                    ("call", "passed"),
                    ("teardown", "passed"),
                ],
                (Passed, Phase::Call),
            ),
        ] {
            assert_eq!(fold(&phases), Ok(expected), "{phases:?}");
        }
    }

    #[test]
    fn what_is_not_reported_is_never_a_pass() {
        for phases in [
            vec![],
            vec![("setup", "passed")],
            vec![("setup", "passed"), ("call", "passed")],
            vec![("setup", "passed"), ("teardown", "passed")],
            vec![("call", "passed"), ("teardown", "passed")],
            vec![
                ("setup", "passed"),
                ("call", "fine"),
                ("teardown", "passed"),
            ],
            vec![
                ("setup", "passed"),
                ("call", "rerun"),
                ("teardown", "passed"),
            ],
        ] {
            let folded = fold(&phases);
            assert!(folded.is_err(), "{phases:?}: {folded:?}");
        }
    }

    #[test]
    fn an_expected_failure_tells_its_reason() {
        let mut not_run = phase("setup", "skipped");
        not_run.x = Some("[NOTRUN] later".into());
        let on = fold_phases(&[not_run, phase("teardown", "passed")]).unwrap();
        assert_eq!(on.outcome, Outcome::Xfailed);
        assert_eq!(on.message.as_deref(), Some("[NOTRUN] later"));
        let mut passed = phase("call", "passed");
        passed.x = Some(String::new());
        let reports = [
            phase("setup", "passed"),
            passed,
            phase("teardown", "passed"),
        ];
        assert_eq!(fold_phases(&reports).unwrap().outcome, Outcome::Xpassed);
    }

    #[test]
    fn the_rank_is_named() {
        let good = fold_phases(&[
            phase("setup", "passed"),
            phase("call", "passed"),
            phase("teardown", "passed"),
        ])
        .unwrap();
        let bad = fold_phases(&[
            phase("setup", "passed"),
            phase("call", "failed"),
            phase("teardown", "passed"),
        ])
        .unwrap();
        let id = CaseId("a.py::t".into());
        let (result, _) = fold_ranks(&id, vec![good.clone(), bad.clone()], None);
        assert_eq!(result.outcome, Outcome::Failed);
        assert_eq!(result.message.as_deref(), Some("rank 1: call failed"));
        assert_eq!(result.ranks.len(), 2);
        let hung = OnRank::cut_off(Outcome::Timeout, Phase::Call, 9.0, "no end in 9 s".into());
        let (result, _) = fold_ranks(&id, vec![hung, bad], None);
        assert_eq!(result.outcome, Outcome::Timeout);
        assert_eq!(
            result.message.as_deref(),
            Some("rank 0: no end in 9 s; rank 1: call failed")
        );
        let (alone, _) = fold_ranks(&id, vec![good], None);
        assert_eq!((alone.message, alone.ranks.len()), (None, 0));
    }
}
