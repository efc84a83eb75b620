//! A run's counts anew from its cases and gold's, held against what its grade says.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use super::counted::{Count, Counted};
use super::evidence::LeftOut;
use crate::domain::{
    Badge, Calibration, CaseId, Cause, Grade, Outcome, Suite, SuiteScore, Verdict,
};

/// What the journal of a graded run says, and gold's calibrations under its keys.
pub struct Evidence<'a> {
    pub task: &'a str,
    pub run: &'a str,
    /// The suites that the run was judged on.
    pub suites: BTreeMap<Suite, (&'a Calibration, HashMap<&'a CaseId, Outcome>)>,
    /// Must-fail twins passed.
    pub tampered: bool,
    /// Reports of the submission's cases contradict each other.
    pub disagreed: bool,
    /// Said of the agent's part.
    pub badges: Vec<Badge>,
    pub grade: &'a Grade,
}

/// Counts a run. The error says why it does not count. Its `configuration` is 0 until all
/// configurations are known.
pub fn recount(seen: &Evidence<'_>) -> Result<Counted, (LeftOut, String)> {
    let grade = seen.grade;
    // a void that other evidence than twins made is never taken back
    let void = seen.tampered || grade.verdict == Verdict::Void;
    let refused = grade.cause.is_some_and(refuses);
    // a patch that is missing, empty, inapplicable or does not build scores 0; so does a void
    let zero = void || (refused && grade.cause != Some(Cause::Environment));
    let mut counts: BTreeMap<Suite, Count> = BTreeMap::new();
    for (suite, (gold, results)) in &seen.suites {
        gold.sound().map_err(|why| (LeftOut::Invalid, why))?;
        let passed: HashSet<&CaseId> = (results.iter())
            .filter(|(_, outcome)| !zero && outcome.passed())
            .map(|(id, _)| *id)
            .collect();
        let stands = !void && !refused;
        let count = (gold.suites.get(suite)).and_then(|g| Count::of(g, &passed, stands));
        let count = count.ok_or_else(|| {
            let why = format!("the {suite} suite has no case that gold passes");
            (LeftOut::Invalid, why)
        })?;
        counts.insert(*suite, count);
    }
    let Some(official) = counts.get(&Suite::Official).copied() else {
        let why = "it was not judged on the official suite".to_owned();
        return Err((LeftOut::NoCalibration, why));
    };
    let probes = counts.get(&Suite::Probes).copied();
    let joint = probes.map_or(official, |probes| official.and(probes));
    let verdict = match (void, joint.resolved, official.resolved) {
        (true, _, _) => Verdict::Void,
        (_, true, _) => Verdict::Resolved,
        (_, _, true) => Verdict::OfficialOnly,
        _ => Verdict::Failed,
    };
    let counted = Counted {
        run: seen.run.into(),
        task: seen.task.into(),
        configuration: 0,
        verdict,
        cause: grade.cause,
        badges: badges(seen, probes.is_some()),
        official,
        probes,
        joint,
        resolved_pooled: !void && !refused && joint.passed >= joint.gold_passed,
        cleared: None,
        ended_in_error: None,
    };
    match differences(&counted, &counts, grade) {
        None => Ok(counted),
        Some(what) => Err((LeftOut::Disagrees, what)),
    }
}

/// Nothing, or not everything, was run.
fn refuses(cause: Cause) -> bool {
    match cause {
        Cause::Empty | Cause::Missing | Cause::Apply | Cause::Build | Cause::Environment => true,
        Cause::Collection | Cause::Cases | Cause::Tampered => false,
    }
}

fn badges(seen: &Evidence<'_>, probed: bool) -> BTreeSet<Badge> {
    let mut badges: BTreeSet<Badge> = seen.grade.badges.iter().copied().collect();
    badges.extend(&seen.badges);
    if seen.disagreed {
        badges.insert(Badge::Suspect);
    }
    if probed {
        badges.remove(&Badge::Unprobed);
    } else {
        badges.insert(Badge::Unprobed);
    }
    badges
}

/// Where the grade says something else than the cases do.
fn differences(
    counted: &Counted,
    counts: &BTreeMap<Suite, Count>,
    grade: &Grade,
) -> Option<String> {
    let mut wrong = Vec::new();
    let mut hold = |what: &str, said: &str, found: &str| {
        if said != found {
            wrong.push(format!("{what} {said}, recounted {found}"));
        }
    };
    hold("task", &grade.task, &counted.task);
    hold("run", &grade.run, &counted.run);
    for suite in Suite::ALL {
        let said = grade.suites.get(&suite).map(
            |SuiteScore {
                 collected,
                 gold_passed,
                 passed,
                 ..
             }| (*collected, *gold_passed, *passed),
        );
        let found = counts
            .get(&suite)
            .map(|c| (c.collected, c.gold_passed, c.passed));
        let words = |counts: Option<(usize, usize, usize)>| {
            counts.map_or("absent".into(), |(c, g, s)| {
                format!("{s} of {c} (gold {g})")
            })
        };
        hold(suite.name(), &words(said), &words(found));
    }
    hold("verdict", grade.verdict.name(), counted.verdict.name());
    for (what, said, found) in [
        ("resolved", grade.resolved, counted.joint.resolved),
        (
            "resolved strict",
            grade.resolved_strict,
            counted.joint.strict,
        ),
        (
            "resolved official",
            grade.resolved_official,
            counted.official.resolved,
        ),
        (
            "resolved official strict",
            grade.resolved_official_strict,
            counted.official.strict,
        ),
    ] {
        hold(what, &said.to_string(), &found.to_string());
    }
    if wrong.is_empty() {
        return None;
    }
    // gold may have run again since, more often: the same key, another G
    Some(format!(
        "the grade says {}; grade it again",
        wrong.join("; ")
    ))
}
