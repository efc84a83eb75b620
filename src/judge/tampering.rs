//! What a submission exchanged in the process that reports, held against what gold's run shows.

use crate::domain::{Area, Deviation, Evidence, Weight};

/// The deviations that gold does not show, with what they do to a verdict.
///
/// What makes a report (pytest, pluggy, the reporter) is nobody's business to change: `void`. What
/// projects and their tests do change now and then (what they compare with, hooks, tracing) is for a
/// reviewer: `suspect`. So is the same place and name as gold's with other code, where gold's own
/// change reaches into pytest and the submission's is another one.
pub fn unlike_gold(seen: &[Deviation], gold: &[Deviation]) -> Vec<Evidence> {
    seen.iter()
        .filter(|d| !gold.iter().any(|g| g.same(d)))
        .map(|d| {
            let there = gold.iter().any(|g| {
                (g.area, &g.place) == (d.area, &d.place) && (&g.file, &g.name) == (&d.file, &d.name)
            });
            let weight = if there {
                Weight::Suspect
            } else {
                weight(d.area)
            };
            Evidence {
                weight,
                deviation: d.clone(),
            }
        })
        .collect()
}

fn weight(area: Area) -> Weight {
    match area {
        Area::Pytest | Area::Pluggy | Area::Reporter => Weight::Void,
        Area::Hook
        | Area::Builtins
        | Area::Unittest
        | Area::Testing
        | Area::Trace
        | Area::Import
        | Area::Test => Weight::Suspect,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn deviation(area: Area, file: &str, digest: &str) -> Deviation {
        Deviation {
            area,
            place: "p".into(),
            file: file.into(),
            name: "f".into(),
            line: 1,
            digest: digest.into(),
            case: None,
        }
    }

    fn weights(seen: &[Deviation], gold: &[Deviation]) -> Vec<Weight> {
        let found = unlike_gold(seen, gold);
        found.into_iter().map(|e| e.weight).collect()
    }

    #[test]
    fn what_gold_shows_too_is_fine_wherever_its_lines_are() {
        let gold = [deviation(Area::Hook, "conftest.py", "1")];
        let mut seen = gold.clone();
        seen[0].line = 9;
        assert!(weights(&seen, &gold).is_empty());
        assert_eq!(weights(&seen, &[]), [Weight::Suspect]);
    }

    #[test]
    fn what_makes_a_report_is_void_and_other_code_than_golds_suspect() {
        for area in [Area::Pytest, Area::Pluggy, Area::Reporter] {
            let seen = [deviation(area, "lib.py", "1")];
            assert_eq!(weights(&seen, &[]), [Weight::Void]);
            let elsewhere = [deviation(area, "conftest.py", "1")];
            assert_eq!(weights(&seen, &elsewhere), [Weight::Void]);
            let other = [deviation(area, "lib.py", "2")];
            assert_eq!(weights(&seen, &other), [Weight::Suspect]);
        }
        for area in [Area::Builtins, Area::Unittest, Area::Trace, Area::Test] {
            assert_eq!(
                weights(&[deviation(area, "lib.py", "1")], &[]),
                [Weight::Suspect]
            );
        }
    }
}
