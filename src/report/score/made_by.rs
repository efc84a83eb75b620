//! The configuration that made what a run grades, as far as it is on record: what was ordered, and
//! what the agent's log names where nothing was.

use crate::domain::{Event, Manifest, Record, Source, Task, Work};
use crate::judge::score::Configuration;
use crate::store::{RunDir, read_records};

/// What made a submission.
pub(super) struct Maker {
    pub configuration: Configuration,
    /// Version of the agent harness.
    pub version: Option<String>,
    pub origin: String,
}

/// `None`: no submission is graded. `task`: the run's task, where its folder can be read.
pub(super) fn made_by(
    run: &RunDir,
    manifest: &Manifest,
    records: &[Record],
    task: Option<&Task>,
) -> Option<Maker> {
    if manifest.work != Work::Grade {
        return None;
    }
    let unknown = |origin: String| Maker {
        configuration: Configuration::default(),
        version: None,
        origin,
    };
    match &manifest.source {
        Source::Gold | Source::Base => None,
        Source::Patch { file } => Some(unknown(format!("patch {}", file.display()))),
        Source::Submission { name } => {
            let mut maker = unknown(format!("submission {name}"));
            if let Some(submission) = task.and_then(|t| t.submission(name)) {
                maker.configuration = Configuration {
                    model: Some(submission.spec.model.clone()),
                    agent: Some(submission.spec.agent.clone()),
                    effort: submission.spec.effort.clone(),
                    ..Configuration::default()
                };
            }
            Some(maker)
        }
        Source::Agent { name, run: by } => {
            let mut maker = unknown(format!("run {by}"));
            maker.configuration.agent = Some(name.clone());
            if *by == manifest.run {
                worked(&mut maker, Some(manifest), records);
            } else if let Some(other) = beside(run, &by.0) {
                // graded again: how it was made stands in the run that made it
                let records = read_records(&other.journal_path()).unwrap_or_default();
                worked(&mut maker, other.manifest().ok().as_ref(), &records);
            }
            Some(maker)
        }
    }
}

/// The run that an agent worked in: what it was told, and what it says it used.
fn worked(maker: &mut Maker, manifest: Option<&Manifest>, records: &[Record]) {
    if let Some(order) = manifest.and_then(|m| m.agent.as_ref()) {
        maker.configuration.prompt = Some(order.prompt.clone());
        maker.configuration.model.clone_from(&order.model);
        maker.configuration.effort.clone_from(&order.effort);
        maker.configuration.skill.clone_from(&order.skill);
    }
    for record in records {
        match &record.event {
            Event::AgentStarted {
                version,
                model,
                prompt,
                ..
            } => {
                maker.version.clone_from(version);
                maker.configuration.prompt = Some(prompt.clone());
                if model.is_some() {
                    maker.configuration.model.clone_from(model);
                }
            }
            Event::AgentNamed { model, version } => {
                // an early end names none: runs of one order stay together
                if maker.configuration.model.is_none() {
                    maker.configuration.model.clone_from(model);
                }
                // the adapter says what was to be installed, the log what ran
                if version.is_some() {
                    maker.version.clone_from(version);
                }
            }
            _ => {}
        }
    }
}

/// Another run of the same store; ids come from manifests, so only a plain name is looked for.
fn beside(run: &RunDir, id: &str) -> Option<RunDir> {
    let plain = !id.is_empty() && id.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-');
    let other = run.path().parent()?.join(id);
    (plain && other.is_dir()).then(|| RunDir::at(other))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::NetworkMode;
    use crate::domain::submission::LogFormat;

    fn record(event: Event) -> Record {
        Record {
            v: 1,
            seq: 1,
            at_s: 0.0,
            event,
        }
    }

    fn started(model: Option<&str>) -> Record {
        record(Event::AgentStarted {
            agent: "a".into(),
            version: Some("1".into()),
            model: model.map(str::to_owned),
            format: LogFormat::Claude,
            limit_s: 1.0,
            network: NetworkMode::None,
            hosts: Vec::new(),
            passed: Vec::new(),
            prompt: "full".into(),
            prompt_sha256: String::new(),
        })
    }

    #[test]
    fn what_a_log_names_stands_where_nothing_was_ordered() {
        let named = record(Event::AgentNamed {
            model: Some("m-2025".into()),
            version: Some("2".into()),
        });
        let made = |records: &[Record]| {
            let mut maker = Maker {
                configuration: Configuration::default(),
                version: None,
                origin: String::new(),
            };
            worked(&mut maker, None, records);
            (maker.configuration.model, maker.version)
        };
        let some = |text: &str| Some(text.to_owned());
        assert_eq!(
            made(&[started(None), named.clone()]),
            (some("m-2025"), some("2"))
        );
        assert_eq!(made(&[started(Some("m")), named]), (some("m"), some("2")));
        assert_eq!(made(&[started(None)]), (None, some("1")));
    }
}
