//! What gold did: `C` and `G` of METHOD.md section 6, kept by key.

use std::collections::{BTreeMap, HashSet};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{CaseId, Deviation, EngineKind, Outcome, Suite};

const YEAR_S: f64 = 365.0 * 86_400.0;
/// Version of this shape.
pub const CALIBRATION_VERSION: u32 = 2;

/// Gold on one or both suites of a task, on one machine. Each suite's part is valid only for the
/// key that it was made under.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Calibration {
    pub schema: u32,
    pub task: String,
    /// Seconds since the epoch.
    pub created_s: f64,
    pub engine: EngineKind,
    /// Hash of the environment.
    pub environment: String,
    pub machine: Machine,
    /// Gold ran in namespaces of its own.
    pub isolated: bool,
    pub suites: BTreeMap<Suite, SuiteCalibration>,
}

/// Where gold ran. What is not known is absent.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Machine {
    /// `NVIDIA H200`; absent: no GPU was used.
    pub gpu_type: Option<String>,
    pub gpus: u32,
    pub driver: Option<String>,
    /// The node's settings of its GPUs and their links (`NCCL_…`).
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub settings: BTreeMap<String, String>,
    pub kernel: Option<String>,
    pub python: String,
    /// Version of PyTorch in the environment.
    pub torch: Option<String>,
}

/// Gold on one suite, in the order of collection.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SuiteCalibration {
    pub key: String,
    pub ranks: u32,
    /// Gold runs it rests on; one only bounds flakiness loosely (METHOD.md section 3).
    pub runs: u32,
    pub cases: Vec<CalibratedCase>,
    /// Seconds of the slowest run.
    pub duration_s: f64,
    /// What gold exchanges in the process that reports, over all runs; absent: nobody looked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deviations: Option<Vec<Deviation>>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CalibratedCase {
    pub id: CaseId,
    /// Passed where every run passed it; else the first outcome that is none.
    pub outcome: Outcome,
    /// Seconds of the slowest run.
    pub duration_s: f64,
    /// Each run in turn; absent where there was one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub runs: Vec<CaseRun>,
}

/// One case in one gold run.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CaseRun {
    pub outcome: Outcome,
    pub duration_s: f64,
}

impl CalibratedCase {
    /// A case as its runs were, in turn; `None` without a run.
    pub fn of(id: CaseId, runs: Vec<CaseRun>) -> Option<Self> {
        let first = *runs.first()?;
        let worst = runs.iter().find(|r| !r.outcome.passed()).unwrap_or(&first);
        let outcome = worst.outcome;
        let duration_s = runs.iter().map(|r| r.duration_s).fold(0.0, f64::max);
        Some(Self {
            id,
            outcome,
            duration_s,
            runs: if runs.len() > 1 { runs } else { Vec::new() },
        })
    }

    /// Seconds of the fastest and of the slowest run.
    pub fn spread_s(&self) -> (f64, f64) {
        let all = self.runs.iter().map(|r| r.duration_s);
        (all.fold(self.duration_s, f64::min), self.duration_s)
    }

    /// Not the same outcome in every run.
    pub fn flaky(&self) -> bool {
        self.runs.windows(2).any(|w| w[0].outcome != w[1].outcome)
    }
}

impl SuiteCalibration {
    pub fn passed(&self) -> usize {
        self.cases.iter().filter(|c| c.outcome.passed()).count()
    }

    pub fn flaky(&self) -> Vec<&CaseId> {
        let flaky = self.cases.iter().filter(|c| c.flaky());
        flaky.map(|c| &c.id).collect()
    }

    /// Cases that gold skips (in one run at least, where they differ).
    pub fn skipped(&self) -> Vec<&CaseId> {
        let skipped = self.cases.iter().filter(|c| c.outcome == Outcome::Skipped);
        skipped.map(|c| &c.id).collect()
    }

    /// Of a case that was the same in every run.
    pub fn flake_bound(&self) -> f64 {
        flake_bound(self.runs)
    }
}

/// Upper 95 % bound for the flake rate of a case that was the same in each of `runs` runs:
/// 1 - 0.05^(1/n) (METHOD.md section 3).
pub fn flake_bound(runs: u32) -> f64 {
    1.0 - 0.05_f64.powf(1.0 / f64::from(runs.max(1)))
}

impl Calibration {
    /// The part that was made under `key`.
    pub fn of_key(&self, key: &str) -> Option<Self> {
        let (suite, part) = self.suites.iter().find(|(_, s)| s.key == key)?;
        Some(Self {
            suites: BTreeMap::from([(*suite, part.clone())]),
            ..self.clone()
        })
    }

    /// What must hold of any calibration, whoever wrote it. The error says what does not.
    pub fn sound(&self) -> Result<(), String> {
        if self.schema != CALIBRATION_VERSION {
            return Err(format!("version {} is not known here", self.schema));
        }
        for (suite, part) in &self.suites {
            let seconds = |s: f64| (0.0..=YEAR_S).contains(&s);
            let mut ids = HashSet::new();
            if part.passed() == 0 {
                return Err(format!("gold passes no case of the {suite} suite"));
            }
            for case in &part.cases {
                let again = CalibratedCase::of(case.id.clone(), case.runs.clone());
                let agrees = again.is_none_or(|a| a.outcome == case.outcome);
                let counted = case.runs.len() == part.runs as usize
                    || (case.runs.is_empty() && part.runs == 1);
                let plain = !case.id.as_str().contains(char::is_control);
                let timed =
                    seconds(case.duration_s) && case.runs.iter().all(|r| seconds(r.duration_s));
                if !(agrees && counted && plain && timed && ids.insert(&case.id)) {
                    return Err(format!(
                        "the {suite} suite's case {:?} does not add up",
                        case.id.as_str()
                    ));
                }
            }
        }
        Ok(())
    }

    /// In what its machine differs from another place, as a calibration's key tells machines apart;
    /// a line each. `other` is that place's.
    pub fn differs(&self, other: &Self) -> Vec<String> {
        let short = |hash: &str| hash.get(..12).unwrap_or(hash).to_owned();
        let gpu = |m: &Machine| m.gpu_type.clone().unwrap_or_else(|| "none".into());
        let settings = |m: &Machine| {
            let all = m.settings.iter().map(|(k, v)| format!("{k}={v}"));
            let all: Vec<String> = all.collect();
            if all.is_empty() {
                "none".into()
            } else {
                all.join(" ")
            }
        };
        [
            ("GPU type", gpu(&self.machine), gpu(&other.machine)),
            (
                "environment",
                short(&self.environment),
                short(&other.environment),
            ),
            (
                "engine",
                self.engine.name().into(),
                other.engine.name().into(),
            ),
            (
                "GPU settings",
                settings(&self.machine),
                settings(&other.machine),
            ),
        ]
        .into_iter()
        .filter(|(_, there, here)| there != here)
        .map(|(what, there, here)| format!("{what} {there} there, {here} here"))
        .collect()
    }

    pub fn collected(&self) -> usize {
        self.suites.values().map(|s| s.cases.len()).sum()
    }

    pub fn passed(&self) -> usize {
        self.suites.values().map(SuiteCalibration::passed).sum()
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn case(outcomes: &[Outcome]) -> CalibratedCase {
        let runs = outcomes.iter().zip(1_u8..).map(|(outcome, i)| CaseRun {
            outcome: *outcome,
            duration_s: f64::from(i),
        });
        CalibratedCase::of(CaseId("t.py::a".into()), runs.collect()).unwrap()
    }

    #[test]
    fn a_flaky_case_is_none_that_gold_passes() {
        use Outcome::{Failed, Passed, Skipped};
        let flaky = case(&[Passed, Failed, Passed]);
        assert!(flaky.flaky() && flaky.outcome == Failed);
        assert_eq!(flaky.spread_s(), (1.0, 3.0));
        let steady = case(&[Passed, Passed, Passed]);
        assert!(!steady.flaky() && steady.outcome == Passed);
        let skipped = case(&[Skipped, Skipped]);
        assert!(!skipped.flaky());
        let suite = SuiteCalibration {
            runs: 3,
            cases: vec![flaky, steady, skipped],
            ..SuiteCalibration::default()
        };
        assert_eq!(suite.passed(), 1);
        assert_eq!((suite.flaky().len(), suite.skipped().len()), (1, 1));
        // METHOD.md section 3: 63 % after 3
        assert!((suite.flake_bound() - 0.632).abs() < 0.001);
    }

    #[test]
    fn machines_differ_in_what_a_key_tells_apart() {
        let here = Calibration {
            schema: CALIBRATION_VERSION,
            task: "t".into(),
            created_s: 1.0,
            engine: EngineKind::Local,
            environment: "e".repeat(64),
            machine: Machine::default(),
            isolated: true,
            suites: BTreeMap::new(),
        };
        let mut there = here.clone();
        // what is recorded beside it tells nothing apart
        there.machine.kernel = Some("6".into());
        there.machine.driver = Some("580".into());
        assert_eq!(there.differs(&here), Vec::<String>::new());
        there.machine.gpu_type = Some("NVIDIA H200".into());
        there.environment = "f".repeat(64);
        there.engine = EngineKind::Docker;
        assert_eq!(
            there.differs(&here),
            [
                "GPU type NVIDIA H200 there, none here",
                "environment ffffffffffff there, eeeeeeeeeeee here",
                "engine docker there, local here",
            ]
        );
    }

    #[test]
    fn what_does_not_add_up_is_not_sound() {
        let made = |change: &dyn Fn(&mut Calibration)| {
            let mut made = Calibration {
                schema: CALIBRATION_VERSION,
                task: "t".into(),
                created_s: 1.0,
                engine: EngineKind::Local,
                environment: "e".into(),
                machine: Machine::default(),
                isolated: true,
                suites: BTreeMap::from([(
                    Suite::Official,
                    SuiteCalibration {
                        runs: 2,
                        cases: vec![case(&[Outcome::Passed, Outcome::Passed])],
                        ..SuiteCalibration::default()
                    },
                )]),
            };
            change(&mut made);
            made.sound()
        };
        made(&|_| {}).unwrap();
        let of = |c: &mut Calibration, change: &dyn Fn(&mut SuiteCalibration)| {
            change(c.suites.get_mut(&Suite::Official).unwrap());
        };
        assert!(made(&|c| c.schema = 99).is_err());
        assert!(made(&|c| of(c, &|s| s.runs = 4_000_000_000)).is_err());
        assert!(made(&|c| of(c, &|s| s.cases[0].outcome = Outcome::Failed)).is_err());
        assert!(made(&|c| of(c, &|s| s.cases[0].duration_s = 1e300)).is_err());
        assert!(made(&|c| of(c, &|s| s.cases[0].id.0.push('\u{1b}'))).is_err());
        assert!(made(&|c| of(c, &|s| s.cases.push(s.cases[0].clone()))).is_err());
        assert!(made(&|c| of(c, &|s| s.cases.clear())).is_err());
    }

    #[test]
    fn one_run_is_not_listed_beside_itself() {
        let once = case(&[Outcome::Passed]);
        assert!(once.runs.is_empty() && !once.flaky());
        assert!(CalibratedCase::of(CaseId("x".into()), Vec::new()).is_none());
    }
}
