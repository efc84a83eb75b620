//! A run's state as a fold over its events.

use std::collections::{BTreeMap, HashMap};

use super::agent_state::{AgentState, Captured};
use super::event::CalibrationCounts;
use super::suite_state::SuiteState;
use super::{
    CaseId, EngineKind, Event, Evidence, Grade, Level, MutationCounts, Record, Sign, Stage,
    Standing, Subject, Suite,
};

/// Where a run stands, as far as its journal tells. Whether its worker is still alive is not in
/// the journal: [`crate::store`] knows that.
#[derive(Clone, Debug, Default)]
pub struct RunState {
    pub started: Option<Started>,
    pub first_at_s: Option<f64>,
    pub last_at_s: Option<f64>,
    pub engine: Option<EngineKind>,
    pub stage: Option<(Stage, Subject)>,
    /// When that stage began.
    pub stage_since_s: Option<f64>,
    pub suites: HashMap<(Subject, Suite), SuiteState>,
    /// Must-fail twins by suite: how many ran, and which passed.
    pub twins: HashMap<Suite, (usize, Vec<CaseId>)>,
    /// Reports of the submission's cases that disagreed, by suite.
    pub disagreed: HashMap<Suite, usize>,
    /// What the submission exchanged that gold does not, by suite.
    pub evidence: HashMap<Suite, Vec<Evidence>>,
    /// Strong and weak signs in the patch.
    pub signs: (Vec<Sign>, Vec<Sign>),
    /// Git id of the submission's tree.
    pub patched: Option<String>,
    /// Of the calibrations that its suites rest on.
    pub keys: HashMap<Option<Suite>, String>,
    pub log: Vec<LogLine>,
    /// The agent's part, once it has begun.
    pub agent: Option<AgentState>,
    /// When each of the run's agents began, in the order of its attempts.
    pub agents_began_s: Vec<f64>,
    /// Its patch, once it is made; kept when the run is taken up again.
    pub captured: Option<Captured>,
    pub grade: Option<Grade>,
    /// A calibration run's outcome.
    pub calibration: Option<BTreeMap<Suite, CalibrationCounts>>,
    /// Cells of a verify run that are known.
    pub cells: usize,
    /// Rounds of a run that watches its task; 0 before the second.
    pub rounds: u32,
    /// What a verify run came to.
    pub standing: Option<Standing>,
    /// Its newest round came to that.
    pub answered: bool,
    /// What a run over gold's mutants came to.
    pub mutants: Option<MutationCounts>,
    /// Why the run waits for GPUs, while it does.
    pub waiting: Option<String>,
    /// Indices of the GPUs that it holds.
    pub gpus: Vec<u32>,
    pub fault: Option<String>,
    pub cancelled: bool,
    pub exit: Option<u8>,
}

/// The worker that took the run up last.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Started {
    pub pid: u32,
    pub pid_start: u64,
    pub host: String,
    pub boot: String,
    pub attempt: u32,
}

/// One line of the worker's stage log.
#[derive(Clone, Debug, PartialEq)]
pub struct LogLine {
    pub at_s: f64,
    pub level: Level,
    pub text: String,
}

impl RunState {
    pub fn fold<'a>(records: impl IntoIterator<Item = &'a Record>) -> Self {
        let mut state = Self::default();
        for record in records {
            state.apply(record);
        }
        state
    }

    pub fn suite(&self, subject: Subject, suite: Suite) -> Option<&SuiteState> {
        self.suites.get(&(subject, suite))
    }

    pub fn finished(&self) -> bool {
        self.exit.is_some()
    }

    pub fn apply(&mut self, record: &Record) {
        let at_s = record.at_s;
        self.first_at_s.get_or_insert(at_s);
        self.last_at_s = Some(at_s);
        match &record.event {
            Event::RunStarted {
                pid,
                pid_start,
                host,
                boot,
                attempt,
                ..
            } => {
                // a worker that takes the run up again keeps what was said and the suites that
                // were finished; all else is done afresh
                let mut suites = std::mem::take(&mut self.suites);
                suites.retain(|_, suite| suite.finished);
                let mut disagreed = std::mem::take(&mut self.disagreed);
                disagreed.retain(|suite, _| suites.contains_key(&(Subject::Submission, *suite)));
                let mut evidence = std::mem::take(&mut self.evidence);
                evidence.retain(|suite, _| suites.contains_key(&(Subject::Submission, *suite)));
                *self = Self {
                    log: std::mem::take(&mut self.log),
                    agents_began_s: std::mem::take(&mut self.agents_began_s),
                    twins: std::mem::take(&mut self.twins),
                    agent: self.agent.take().filter(|agent| {
                        // its tree is still there, unless the machine went down meanwhile; a run
                        // that came to an end has put it aside before
                        let ended = self.exit.is_some();
                        let same = self
                            .started
                            .as_ref()
                            .is_some_and(|before| (&before.host, &before.boot) == (host, boot));
                        self.captured.is_some() || (same || ended) && agent.end.is_some()
                    }),
                    captured: self.captured.take(),
                    // until this attempt's is chosen: it decides whether the suites stay
                    engine: self.engine,
                    keys: std::mem::take(&mut self.keys),
                    patched: self.patched.take(),
                    suites,
                    disagreed,
                    evidence,
                    first_at_s: self.first_at_s,
                    last_at_s: Some(at_s),
                    ..Self::default()
                };
                self.started = Some(Started {
                    pid: *pid,
                    pid_start: *pid_start,
                    host: host.clone(),
                    boot: boot.clone(),
                    attempt: *attempt,
                });
                if *attempt > 1 {
                    self.say(
                        at_s,
                        Level::Warn,
                        format!("taken up again, attempt {attempt}"),
                    );
                }
            }
            Event::EngineChosen { engine, image, why } => {
                if self.engine != Some(*engine) {
                    // measured elsewhere: no part of this attempt
                    self.suites.clear();
                    self.forget();
                }
                self.engine = Some(*engine);
                let image = image
                    .as_ref()
                    .map_or(String::new(), |i| format!(", image {i}"));
                self.say(
                    at_s,
                    Level::Info,
                    format!("engine {}: {why}{image}", engine.name()),
                );
            }
            Event::EnvironmentReady {
                hash,
                built,
                python,
            } => {
                let how = if *built { "built" } else { "reused" };
                let short = hash.get(..12).unwrap_or(hash);
                self.say(
                    at_s,
                    Level::Info,
                    format!("environment {short} {how}, {python}"),
                );
            }
            Event::GpusWaited { why, .. } => {
                let text = format!("waits for GPUs: {why}");
                self.say(at_s, Level::Info, text);
                self.waiting = Some(why.clone());
            }
            Event::GpusTaken { driver, gpus, .. } => {
                self.waiting = None;
                self.gpus = gpus.iter().map(|g| g.index).collect();
                let names: Vec<String> = gpus
                    .iter()
                    .map(|g| format!("GPU {} {}", g.index, g.name))
                    .collect();
                let text = format!("holds {} (driver {driver})", names.join(", "));
                self.say(at_s, Level::Info, text);
            }
            Event::GpusReleased { gpus } => {
                self.gpus.clear();
                // a list that the driver does not give is not an empty one
                let known: Option<Vec<u32>> = gpus.iter().map(|g| g.processes).collect();
                let left = known.map(|all| all.iter().sum::<u32>());
                let words = left.map_or("not told".into(), |n| n.to_string());
                let text = format!(
                    "gives GPUs back ({}), processes left on them: {words}",
                    gpus.len()
                );
                let level = if left == Some(0) {
                    Level::Info
                } else {
                    Level::Warn
                };
                self.say(at_s, level, text);
            }
            Event::CalibrationMade { suites } => {
                for (suite, c) in suites {
                    let text = format!(
                        "{suite}: gold passes {} of {} (runs {}, ranks {}, flaky {}, skipped {})",
                        c.passed, c.collected, c.runs, c.ranks, c.flaky, c.skipped
                    );
                    self.say(at_s, Level::Info, text);
                }
                self.calibration = Some(suites.clone());
            }
            Event::StageStarted { stage, subject } => {
                self.stage = Some((*stage, *subject));
                self.stage_since_s = Some(at_s);
                self.say(
                    at_s,
                    Level::Info,
                    format!("{} ({})", stage.name(), subject.name()),
                );
            }
            Event::StageFinished {
                stage,
                subject,
                duration_s,
            } => {
                self.say(
                    at_s,
                    Level::Info,
                    format!(
                        "{} ({}) done in {duration_s:.2}s",
                        stage.name(),
                        subject.name()
                    ),
                );
            }
            Event::Log { level, text } => self.say(at_s, *level, text.clone()),
            Event::AgentStarted { .. }
            | Event::HostRefused { .. }
            | Event::AgentChanged { .. }
            | Event::AgentUsage { .. }
            | Event::AgentEnded { .. }
            | Event::AgentNamed { .. }
            | Event::Captured { .. } => self.apply_agent(at_s, &record.event),
            Event::Collected { .. }
            | Event::CaseStarted { .. }
            | Event::CaseFinished { .. }
            | Event::Continued { .. }
            | Event::SuiteFinished { .. }
            | Event::Twins { .. }
            | Event::Disagreed { .. }
            | Event::Deviated { .. } => self.apply_suite(at_s, &record.event),
            Event::PatchApplied {
                subject,
                method,
                files,
                tree,
            } => {
                if *subject == Subject::Submission && tree.is_some() {
                    let before = std::mem::replace(&mut self.patched, tree.clone());
                    if before.is_some() && before != *tree {
                        // somebody put another patch into the run between two attempts
                        self.forget();
                    }
                }
                let text = format!(
                    "{}: {} files changed ({method})",
                    subject.name(),
                    files.len()
                );
                self.say(at_s, Level::Info, text);
            }
            Event::PatchRefused { cause, message } => {
                self.say(
                    at_s,
                    Level::Error,
                    format!("patch refused ({}): {message}", cause.name()),
                );
            }
            Event::Audited { strong, weak } => self.audited(at_s, strong, weak),
            Event::Restored { path, action, .. } => {
                self.say(at_s, Level::Warn, format!("{action} {path}"));
            }
            Event::Calibrated {
                suite,
                key,
                fresh,
                collected,
                passed,
            } => {
                let before = self.keys.insert(*suite, key.clone());
                if suite.is_some() && before.is_some_and(|before| before != *key) {
                    // tests, environment or limits changed between two attempts
                    self.forget();
                }
                let how = if *fresh {
                    "gold ran first, once"
                } else {
                    "calibration on record"
                };
                let short = key.get(..12).unwrap_or(key);
                self.say(
                    at_s,
                    Level::Info,
                    format!("{how}: gold {passed}/{collected} (key {short})"),
                );
            }
            Event::CellFinished {
                patch,
                suite,
                run,
                kept,
                passed,
                collected,
                duration_s,
                ..
            } => {
                let how = match kept {
                    true => "known".to_owned(),
                    false => format!("{duration_s:.2}s"),
                };
                let text = format!("{patch}, {suite}, run {run}: {passed}/{collected} ({how})");
                // of an answer to an edit only what ran is told
                if !kept || self.rounds < 2 {
                    self.say(at_s, Level::Info, text);
                }
                self.cells += 1;
            }
            Event::RoundStarted { round, changed, .. } => {
                self.rounds = *round;
                self.answered = false;
                let text = format!("round {round}: {} changed", changed.join(", "));
                self.say(at_s, Level::Info, text);
            }
            Event::RoundFinished {
                round,
                ran,
                kept,
                answer_s,
                confirmed_s,
            } => {
                let later = confirmed_s.map_or(String::new(), |s| {
                    format!(" (provisional; confirmed after {s:.2} s)")
                });
                let text = format!(
                    "round {round}: answered {answer_s:.2} s after the edit{later}; {ran} ran, {kept} were known"
                );
                self.say(at_s, Level::Info, text);
            }
            Event::Provisional {
                standing,
                broken,
                revise,
            } => {
                let text = format!(
                    "provisional: {}, {} parts of the rule broken, {revise} to revise; gold runs as a whole before it counts",
                    standing.name(),
                    broken.len()
                );
                self.say(at_s, Level::Info, text);
            }
            Event::Verified {
                standing,
                broken,
                revise,
                warnings,
            } => {
                let text = format!(
                    "{}: {} parts of the rule broken, {revise} to revise, {warnings} warnings",
                    standing.name(),
                    broken.len()
                );
                self.say(at_s, Level::Info, text);
                self.standing = Some(*standing);
                self.answered = true;
            }
            Event::MutantsGraded { counts } => {
                let text = format!(
                    "mutants: the official suite rejects {}, {} killed, {} equivalent, {} survive",
                    counts.official_rejects, counts.killed, counts.equivalent, counts.survives
                );
                self.say(at_s, Level::Info, text);
                self.mutants = Some(*counts);
            }
            Event::Graded { grade } => {
                self.say(
                    at_s,
                    Level::Info,
                    format!("verdict {}", grade.verdict.label()),
                );
                self.grade = Some((**grade).clone());
            }
            Event::Fault { message, .. } => {
                // whose doing it was, tells the exit code
                self.say(at_s, Level::Error, message.clone());
                self.fault = Some(message.clone());
            }
            Event::Cancelled { by } => {
                self.cancelled = true;
                self.say(at_s, Level::Warn, format!("cancelled by {by}"));
            }
            Event::RunFinished { exit } => {
                self.exit = Some(*exit);
                self.waiting = None;
                self.gpus.clear();
                self.stage = None;
            }
            Event::Unknown => {}
        }
    }

    /// What was measured of the submission so far is no part of this attempt.
    pub(super) fn forget(&mut self) {
        self.suites
            .retain(|(subject, _), _| *subject != Subject::Submission);
        self.twins.clear();
        self.disagreed.clear();
        self.evidence.clear();
    }

    pub(super) fn say(&mut self, at_s: f64, level: Level, text: String) {
        self.log.push(LogLine { at_s, level, text });
    }
}
