//! Variants of a prompt for ablation, and the sections that belong to them.

use std::fmt;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Which part of what a task can say an agent is given (METHOD.md section 4).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Variant {
    /// The text that came with the change.
    Original,
    /// What it is, and the contract: the names that tests use, with signatures and keywords.
    Interface,
    /// What it is, and the claims.
    Behaviour,
    /// What it is, and the rules of working.
    Process,
    /// The author's prompt: all of it, held against contract and claims by `infradev lint`.
    Full,
}

impl Variant {
    pub const ALL: [Self; 5] = [
        Self::Original,
        Self::Interface,
        Self::Behaviour,
        Self::Process,
        Self::Full,
    ];

    pub fn name(self) -> &'static str {
        match self {
            Self::Original => "original",
            Self::Interface => "interface",
            Self::Behaviour => "behaviour",
            Self::Process => "process",
            Self::Full => "full",
        }
    }
}

impl fmt::Display for Variant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Variant {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let known = Self::ALL.iter().find(|v| v.name() == text).copied();
        known.ok_or_else(|| {
            let names: Vec<&str> = Self::ALL.iter().map(|v| v.name()).collect();
            format!(
                "{text:?} is no variant of a prompt; there are {}",
                names.join(", ")
            )
        })
    }
}

/// A section of a prompt: from a heading of the second level to the next.
pub(super) struct Section<'t> {
    /// Without `##`; empty: what stands before the first.
    pub title: &'t str,
    pub text: &'t str,
    /// Line of its heading, from 1.
    pub line: usize,
}

pub(super) fn sections(prompt: &str) -> Vec<Section<'_>> {
    let mut starts = vec![(0, 1, "")];
    let (mut at, mut fenced) = (0, false);
    for (index, line) in prompt.split_inclusive('\n').enumerate() {
        if line.trim_start().starts_with("```") {
            fenced = !fenced;
        }
        if !fenced && let Some(title) = line.strip_prefix("## ") {
            starts.push((at, index + 1, title.trim()));
        }
        at += line.len();
    }
    let ends: Vec<usize> = starts.iter().skip(1).map(|s| s.0).chain([at]).collect();
    starts
        .into_iter()
        .zip(ends)
        .map(|((start, line, title), end)| Section {
            title,
            line,
            text: &prompt[start..end],
        })
        .collect()
}

/// The variant that a section belongs to, by its heading.
pub(super) fn belongs(title: &str) -> Option<Variant> {
    let title = title.to_lowercase();
    let has = |words: &[&str]| words.iter().any(|w| title.contains(w));
    if has(&["interface"]) {
        Some(Variant::Interface)
    } else if has(&["behaviour", "behavior", "execution"]) {
        Some(Variant::Behaviour)
    } else if has(&["rules", "process", "working"]) {
        Some(Variant::Process)
    } else {
        None
    }
}

/// A variant of a full text. Sections whose heading tells nothing are in every variant; the
/// error says which heading is missing. `Original` is not cut from a prompt.
pub(super) fn cut(prompt: &str, variant: Variant) -> Result<String, String> {
    match variant {
        Variant::Full => return Ok(prompt.to_owned()),
        Variant::Original => return Err("the original text is not a part of the prompt".into()),
        _ => {}
    }
    let all = sections(prompt);
    if !all.iter().any(|s| belongs(s.title) == Some(variant)) {
        let wanted = match variant {
            Variant::Interface => "## Interface",
            Variant::Behaviour => "## Required behaviour",
            _ => "## Working rules",
        };
        return Err(format!("there is no section {wanted:?}"));
    }
    let kept = all.iter().filter(|s| {
        let own = belongs(s.title);
        own.is_none() || own == Some(variant)
    });
    let text: String = kept.map(|s| s.text).collect();
    Ok(text.trim_end().to_owned() + "\n")
}
