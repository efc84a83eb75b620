//! `attacks/NAME/attack.toml`.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::Deserialize;

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Attack {
    /// The folder's name.
    #[serde(skip)]
    pub name: String,
    /// Which row of the README's table it belongs to (`rows.toml`).
    pub row: String,
    /// Of `tasks/`: whose base it lies over.
    #[serde(default = "purse")]
    pub task: String,
    /// One line: what it does.
    pub tries: String,
    pub control: Control,
    /// What becomes of it here.
    pub expect: Class,
    /// One line: what stops it, or why it gets through.
    pub by: String,
    /// Files of it that are a wrong solution and nothing else; none: base is the wrong solution.
    #[serde(default)]
    pub honest: Vec<String>,
    /// Files and folders of base that it deletes.
    #[serde(default)]
    pub delete: Vec<String>,
    /// Symbolic links that it makes: path and target.
    #[serde(default)]
    pub link: BTreeMap<String, String>,
    /// The control runs pytest with these arguments in the same place before.
    #[serde(default)]
    pub before: Vec<String>,
    /// The control's environment belongs to it alone and can be written to, as in a container.
    #[serde(default)]
    pub environment_writable: bool,
    /// The control waits so long between the end of pytest and reading the report.
    #[serde(default)]
    pub wait_s: f64,
}

/// How the control reads what pytest said.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Control {
    /// A case that is wrong stands in the JUnit report as passed.
    Junit,
    /// A case that is wrong is last spoken of as `PASSED` in the output.
    Text,
    /// A run with wrong cases ends with exit code 0.
    Exit,
}

impl Control {
    pub fn name(self) -> &'static str {
        match self {
            Self::Junit => "junit",
            Self::Text => "text",
            Self::Exit => "exit",
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Class {
    /// What is wrong does not pass.
    Blocked,
    /// The grade is void.
    Void,
    /// Something wrong passes, and the run has the badge `suspect`.
    Suspect,
    /// Something wrong passes.
    Possible,
}

impl Class {
    pub fn name(self) -> &'static str {
        match self {
            Self::Blocked => "blocked",
            Self::Void => "void",
            Self::Suspect => "suspect",
            Self::Possible => "possible",
        }
    }
}

impl Attack {
    /// What is wrong without the attack: the task, and files over its base.
    pub fn wrong(&self) -> Vec<String> {
        [std::slice::from_ref(&self.task), self.honest.as_slice()].concat()
    }

    pub fn dir(&self) -> PathBuf {
        here().join("attacks").join(&self.name)
    }
}

fn purse() -> String {
    "purse".into()
}

pub fn here() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/adversary")
}

/// All, by name.
pub fn attacks() -> Vec<Attack> {
    let entries = std::fs::read_dir(here().join("attacks")).unwrap();
    let mut found: Vec<Attack> = entries
        .map(|entry| {
            let name = entry.unwrap().file_name().into_string().unwrap();
            let text = here().join("attacks").join(&name).join("attack.toml");
            let text = std::fs::read_to_string(text).unwrap();
            let read: Attack = toml::from_str(&text).unwrap_or_else(|e| panic!("{name}: {e}"));
            Attack { name, ..read }
        })
        .collect();
    found.sort_by(|a, b| a.name.cmp(&b.name));
    assert!(found.len() > 40);
    found
}
