//! The prompt that an agent is given, by its variant: the one place where it is read.

use std::path::{Path, PathBuf};

use crate::domain::{Suite, Task};
use crate::python::contract::{Contract, ContractInput, contract};
use crate::python::prompt::{Variant, render};
use crate::workspace::{Mirrors, Origin, SourcesError, Versions, WorkspaceError};

/// The variant that is the task's own `prompt.md`.
pub const FULL: &str = "full";

/// A prompt's text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Prompt {
    pub text: String,
    /// Where it comes from, where that must be said: `message only`.
    pub note: Option<&'static str>,
}

#[derive(Debug, thiserror::Error)]
pub enum PromptError {
    #[error("task {task} has no prompt `{variant}`: {why}; it has {known}")]
    NoPrompt {
        task: String,
        variant: String,
        why: String,
        known: String,
    },
    #[error("{path}: {source}")]
    Io {
        path: PathBuf,
        source: std::io::Error,
    },
    #[error(transparent)]
    Workspace(#[from] WorkspaceError),
    #[error(transparent)]
    Sources(#[from] SourcesError),
}

/// The text of a variant. `prompt.NAME.md` of the task's folder comes first; else `full` is its
/// `prompt.md`, `original` is read from the repository, and the others are rendered from contract
/// and claims (METHOD.md section 4), each time anew. `store`: the home's snapshots.
pub fn prompt(
    task: &Task,
    variant: &str,
    mirrors: &Mirrors,
    store: &Path,
) -> Result<Prompt, PromptError> {
    let no = |why: String| PromptError::NoPrompt {
        task: task.id().into(),
        variant: variant.into(),
        why,
        known: variants(task).join(", "),
    };
    let plain = |b: u8| b.is_ascii_alphanumeric() || b == b'-' || b == b'_';
    if variant.is_empty() || !variant.bytes().all(plain) {
        return Err(no("a variant's name has letters, digits, - and _".into()));
    }
    let own = format!("prompt.{variant}.md");
    if variant != FULL
        && let Some(text) = read(task.path(&own))?
    {
        return Ok(Prompt { text, note: None });
    }
    let known: Variant = variant
        .parse()
        .map_err(|_| no(format!("there is no {own}")))?;
    if known == Variant::Original {
        return original(task, mirrors, &no);
    }
    let text = if known == Variant::Full {
        read(task.prompt_path())?.ok_or_else(|| no("there is no prompt.md".into()))?
    } else {
        render(&task.spec, known, || {
            let versions = Versions::open(task, mirrors, store)?;
            contract_of(task, &versions).map_err(Missing::from)
        })
        .map_err(|missing| match missing {
            Missing::Part(why) => no(why),
            Missing::Sources(e) => e,
        })?
    };
    Ok(Prompt { text, note: None })
}

/// Why a variant is not rendered.
enum Missing {
    Part(String),
    Sources(PromptError),
}

impl From<String> for Missing {
    fn from(why: String) -> Self {
        Self::Part(why)
    }
}

impl From<SourcesError> for Missing {
    fn from(e: SourcesError) -> Self {
        Self::Sources(e.into())
    }
}

/// The contract of a task, from its sources.
pub fn contract_of(task: &Task, versions: &Versions) -> Result<Contract, SourcesError> {
    Ok(contract(&ContractInput {
        spec: &task.spec,
        base: &versions.base()?,
        gold: &versions.gold()?,
        official: &versions.suite(task, Suite::Official)?,
        probes: &versions.suite(task, Suite::Probes)?,
    }))
}

fn original(
    task: &Task,
    mirrors: &Mirrors,
    no: &impl Fn(String) -> PromptError,
) -> Result<Prompt, PromptError> {
    let origin = Origin::of(task, mirrors);
    let (Some(origin), Some(commit)) = (origin, &task.spec.gold.commit) else {
        let why = "it was written here, so that no pull request came with it";
        return Err(no(why.into()));
    };
    Ok(Prompt {
        text: origin.message(commit)?,
        note: Some("message only"),
    })
}

fn read(path: PathBuf) -> Result<Option<String>, PromptError> {
    match std::fs::read_to_string(&path) {
        Ok(text) => Ok(Some(text)),
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(source) => Err(PromptError::Io { path, source }),
    }
}

/// The variants that a task has, sorted. Whether the repository is on this machine is told when it
/// is read.
pub fn variants(task: &Task) -> Vec<String> {
    let mut found = vec![FULL.to_owned()];
    for entry in std::fs::read_dir(&task.dir).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let variant = name
            .to_str()
            .and_then(|n| n.strip_prefix("prompt.")?.strip_suffix(".md"));
        found.extend(variant.map(str::to_owned));
    }
    if task.spec.source.git.is_some() && task.spec.gold.commit.is_some() {
        found.push(Variant::Original.name().into());
    }
    let claims = !task.spec.claims.is_empty();
    let rendered = [Variant::Interface, Variant::Behaviour, Variant::Process];
    let there = rendered
        .iter()
        .filter(|v| **v != Variant::Behaviour || claims);
    found.extend(there.map(|v| v.name().to_owned()));
    found.sort();
    found.dedup();
    found
}
