//! The agent's part of a run's state.

use super::agent::HOSTED_SEARCH;
use super::event::PatchedFile;
use super::run_state::RunState;
use super::submission::LogFormat;
use super::{AgentEnd, Badge, CaptureNote, Event, Level, NetworkMode, Usage};

/// An agent at work, or done.
#[derive(Clone, Debug, PartialEq)]
pub struct AgentState {
    pub agent: String,
    pub model: Option<String>,
    pub format: LogFormat,
    pub since_s: f64,
    pub limit_s: f64,
    pub network: NetworkMode,
    /// Hosts that it asked for and that were refused, each once.
    pub refused: Vec<String>,
    /// Files, added and deleted lines so far, from its tree.
    pub changed: Option<(usize, usize, usize)>,
    /// Tokens so far, where its stream does not tell them.
    pub usage: Option<Usage>,
    pub end: Option<AgentEnd>,
    pub duration_s: Option<f64>,
}

/// What the agent changed.
#[derive(Clone, Debug, PartialEq)]
pub struct Captured {
    pub sha256: String,
    pub files: Vec<PatchedFile>,
    pub notes: Vec<CaptureNote>,
    /// Where its time ended short: the badge `limit`.
    pub at_limit: bool,
    /// It could read the network, or its model's host searched it: the badge `could-read-upstream`.
    pub open: bool,
    pub agent_s: f64,
}

impl Captured {
    /// What is said beside the verdict on it.
    pub fn badges(&self) -> Vec<Badge> {
        let limit = self.at_limit.then_some(Badge::Limit);
        let open = self.open.then_some(Badge::CouldReadUpstream);
        limit.into_iter().chain(open).collect()
    }
}

impl RunState {
    /// Folds an event of the agent's part; others are none of its business.
    pub(super) fn apply_agent(&mut self, at_s: f64, event: &Event) {
        match event {
            Event::AgentStarted {
                agent,
                version,
                model,
                format,
                limit_s,
                network,
                hosts,
                passed,
                prompt,
                ..
            } => {
                let word = |name: &str, value: &Option<String>| {
                    value
                        .as_ref()
                        .map_or(String::new(), |v| format!(", {name} {v}"))
                };
                let list = |name: &str, all: &[String]| match all {
                    [] => String::new(),
                    all => format!(", {name} {}", all.join(" ")),
                };
                let text = format!(
                    "agent {agent}{}{}, prompt {prompt}, limit {limit_s} s, network {}{}{}",
                    word("version", version),
                    word("model", model),
                    network.name(),
                    list("to", hosts),
                    list("variables", passed),
                );
                self.say(at_s, Level::Info, text);
                // what was measured was another patch's
                self.captured = None;
                self.forget();
                self.agents_began_s.push(at_s);
                self.agent = Some(AgentState {
                    agent: agent.clone(),
                    model: model.clone(),
                    format: *format,
                    since_s: at_s,
                    limit_s: *limit_s,
                    network: *network,
                    refused: Vec::new(),
                    changed: None,
                    usage: None,
                    end: None,
                    duration_s: None,
                });
            }
            Event::HostRefused { host } => {
                self.say(at_s, Level::Warn, format!("network: {host} refused"));
                if let Some(agent) = &mut self.agent {
                    agent.refused.push(host.clone());
                }
            }
            Event::AgentChanged {
                files,
                added,
                deleted,
            } => {
                if let Some(agent) = &mut self.agent {
                    agent.changed = Some((*files, *added, *deleted));
                }
            }
            Event::AgentUsage { usage } => {
                if let Some(agent) = &mut self.agent {
                    agent.usage = Some(*usage);
                }
            }
            Event::AgentEnded {
                end,
                duration_s,
                killed,
                log_bytes,
                dropped_bytes,
            } => {
                let more = |count: u64, what: &str| match count {
                    0 => String::new(),
                    count => format!(", {count} {what}"),
                };
                let text = format!(
                    "agent {} after {duration_s:.1}s, log {log_bytes} bytes{}{}",
                    end.words(),
                    more(*dropped_bytes, "bytes over its bound dropped"),
                    more(u64::from(*killed), "left-over processes killed"),
                );
                let level = match end {
                    AgentEnd::Exited { code: 0 } => Level::Info,
                    _ => Level::Warn,
                };
                self.say(at_s, level, text);
                if let Some(agent) = &mut self.agent {
                    agent.end = Some(end.clone());
                    agent.duration_s = Some(*duration_s);
                }
            }
            Event::AgentNamed { model, version } => {
                let word = |name: &str, value: &Option<String>| {
                    let value = value.as_ref()?;
                    Some(format!("{name} {value}"))
                };
                let words = [word("model", model), word("version", version)];
                let words: Vec<String> = words.into_iter().flatten().collect();
                let text = format!("its log tells {}", words.join(", "));
                self.say(at_s, Level::Info, text);
            }
            Event::Captured {
                sha256,
                bytes,
                files,
                notes,
                more_notes,
            } => {
                let changed =
                    |pick: fn(&PatchedFile) -> usize| files.iter().map(pick).sum::<usize>();
                let text = format!(
                    "captured {} files, +{} -{}, {bytes} bytes",
                    files.len(),
                    changed(|f| f.added),
                    changed(|f| f.deleted)
                );
                self.say(at_s, Level::Info, text);
                for note in notes {
                    let text = format!("{}: {} {}", note.kind, note.path, note.detail);
                    self.say(at_s, Level::Warn, text.trim_end().to_owned());
                }
                if *more_notes > 0 {
                    self.say(at_s, Level::Warn, format!("{more_notes} more of these"));
                }
                let agent = self.agent.as_ref();
                self.captured = Some(Captured {
                    sha256: sha256.clone(),
                    files: files.clone(),
                    notes: notes.clone(),
                    at_limit: agent
                        .and_then(|a| a.end.as_ref())
                        .is_some_and(AgentEnd::cut_short),
                    open: agent.is_some_and(|a| a.network == NetworkMode::Open)
                        || notes.iter().any(|note| note.kind == HOSTED_SEARCH),
                    agent_s: agent.and_then(|a| a.duration_s).unwrap_or_default(),
                });
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::{EngineKind, Record, Suite};
    use super::*;
    use crate::domain::Subject;

    fn fold(events: Vec<Event>) -> RunState {
        let records: Vec<Record> = (0..)
            .zip(events)
            .map(|(seq, event)| Record {
                v: 1,
                seq,
                at_s: 0.0,
                event,
            })
            .collect();
        RunState::fold(&records)
    }

    fn started(attempt: u32) -> Event {
        Event::RunStarted {
            pid: 1,
            pid_start: 1,
            host: "h".into(),
            boot: "b".into(),
            version: "0".into(),
            attempt,
        }
    }

    fn engine(engine: EngineKind) -> Event {
        Event::EngineChosen {
            engine,
            image: None,
            why: String::new(),
        }
    }

    fn works() -> Event {
        Event::AgentStarted {
            agent: "a".into(),
            version: None,
            model: None,
            format: LogFormat::Text,
            limit_s: 1.0,
            network: NetworkMode::None,
            hosts: Vec::new(),
            passed: Vec::new(),
            prompt: "full".into(),
            prompt_sha256: String::new(),
        }
    }

    fn measured() -> Event {
        Event::SuiteFinished {
            subject: Subject::Submission,
            suite: Suite::Official,
            collected: 1,
            passed: 1,
            duration_s: 1.0,
            killed: 0,
        }
    }

    #[test]
    fn what_an_earlier_attempt_measured_stays_for_the_same_engine_and_patch_only() {
        let kept = |second: Vec<Event>| {
            let first = vec![started(1), engine(EngineKind::Docker), works(), measured()];
            let all = first.into_iter().chain([started(2)]).chain(second);
            let state = fold(all.collect());
            state.suite(Subject::Submission, Suite::Official).is_some()
        };
        assert!(kept(vec![]) && kept(vec![engine(EngineKind::Docker)]));
        assert!(!kept(vec![engine(EngineKind::Local)]));
        assert!(!kept(vec![engine(EngineKind::Docker), works()]));
    }

    #[test]
    fn what_was_measured_of_another_patch_does_not_stay() {
        let patched = |tree: &str| Event::PatchApplied {
            subject: Subject::Submission,
            method: "exact".into(),
            files: Vec::new(),
            tree: Some(tree.into()),
        };
        let kept = |tree: &str| {
            let events = [
                started(1),
                patched("a"),
                measured(),
                started(2),
                patched(tree),
            ];
            let state = fold(events.into());
            state.suite(Subject::Submission, Suite::Official).is_some()
        };
        assert!(kept("a") && !kept("b"));
    }

    fn calibrated(key: &str) -> Event {
        Event::Calibrated {
            suite: Some(Suite::Official),
            key: key.into(),
            fresh: false,
            collected: 1,
            passed: 1,
        }
    }

    #[test]
    fn what_was_measured_under_another_key_does_not_stay_and_disagreement_does() {
        let odd = Event::Disagreed {
            subject: Subject::Submission,
            suite: Suite::Official,
            rank: 0,
            case: None,
            detail: "two outcomes".into(),
        };
        let again = |key: &str| {
            fold(vec![
                started(1),
                calibrated("k"),
                odd.clone(),
                measured(),
                started(2),
                calibrated(key),
            ])
        };
        let same = again("k");
        assert!(same.suite(Subject::Submission, Suite::Official).is_some());
        assert_eq!(same.disagreed.get(&Suite::Official), Some(&1));
        let other = again("l");
        assert!(other.suite(Subject::Submission, Suite::Official).is_none());
        assert!(other.disagreed.is_empty());
    }

    #[test]
    fn an_agent_that_had_ended_stays_on_the_same_boot_only() {
        let ended = Event::AgentEnded {
            end: AgentEnd::Exited { code: 0 },
            duration_s: 1.0,
            killed: 0,
            log_bytes: 0,
            dropped_bytes: 0,
        };
        let mut elsewhere = started(2);
        if let Event::RunStarted { boot, .. } = &mut elsewhere {
            *boot = "another".into();
        }
        let again = |second: Event| fold(vec![started(1), works(), ended.clone(), second]);
        assert!(again(started(2)).agent.is_some());
        assert!(again(elsewhere.clone()).agent.is_none());
        // a kill after that: its tree is gone, whatever the boot
        let third = fold(vec![
            started(1),
            works(),
            ended.clone(),
            elsewhere.clone(),
            elsewhere,
        ]);
        assert!(third.agent.is_none());
        assert!(fold(vec![started(1), works(), started(2)]).agent.is_none());
    }
}
