//! The words in braces of an adapter, replaced.

use std::collections::BTreeMap;
use std::path::Path;

use crate::domain::AgentSpec;

/// What a command, a variable or an install script may name.
pub(super) const KNOWN: [&str; 9] = [
    "prompt",
    "prompt_file",
    "workspace",
    "home",
    "out",
    "install",
    "model",
    "effort",
    "replay",
];

/// Longest argument or variable that Linux hands to a program, with its NUL.
const MAX_ARGUMENT: usize = 128 * 1024;

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum WordError {
    #[error(
        "agent {agent} must be told a model: name one with --model, or set `model` in {agent}.toml"
    )]
    NoModel { agent: String },
    #[error("agent {agent}: {{{word}}} stands for nothing here")]
    Nothing { agent: String, word: String },
    #[error(
        "agent {agent}: {what} would be {bytes} bytes long, more than a program can be given; use {{prompt_file}} in place of {{prompt}}"
    )]
    TooLong {
        agent: String,
        what: String,
        bytes: usize,
    },
    #[error("agent {agent}: {what} would hold a NUL byte")]
    Nul { agent: String, what: String },
    #[error("{path}: the path is not UTF-8, so that no command can name it")]
    NotText { path: String },
}

/// What the words stand for; paths as the sandbox sees them.
#[derive(Clone, Copy, Debug)]
pub struct Words<'a> {
    pub prompt: &'a str,
    pub prompt_file: &'a Path,
    pub workspace: &'a Path,
    pub home: &'a Path,
    pub out: &'a Path,
    /// `None`: it installs nothing.
    pub install: Option<&'a Path>,
    pub model: Option<&'a str>,
    pub effort: Option<&'a str>,
    /// The whole command that replays a recording; `None` for every other agent.
    pub replay: Option<&'a [String]>,
}

impl Words<'_> {
    /// The program and its arguments. `{replay}` and `{effort}` as arguments of their own become
    /// several.
    pub fn command(&self, spec: &AgentSpec) -> Result<Vec<String>, WordError> {
        let mut command = Vec::new();
        for (index, argument) in spec.command.iter().enumerate() {
            if argument == "{replay}" {
                let replay = self.replay.ok_or_else(|| nothing(spec, "replay"))?;
                command.extend_from_slice(replay);
                continue;
            }
            let what = format!("argument {index} of its command");
            if argument == "{effort}" {
                for argument in spec.effort.iter().filter(|_| self.effort.is_some()) {
                    command.push(self.filled(spec, argument, &what)?);
                }
                continue;
            }
            command.push(self.filled(spec, argument, &what)?);
        }
        Ok(command)
    }

    /// `[env] set`.
    pub fn variables(&self, spec: &AgentSpec) -> Result<BTreeMap<String, String>, WordError> {
        let fill = |(name, value): (&String, &String)| {
            let what = format!("the variable {name}");
            Ok((name.clone(), self.filled(spec, value, &what)?))
        };
        spec.env.set.iter().map(fill).collect()
    }

    fn filled(&self, spec: &AgentSpec, text: &str, what: &str) -> Result<String, WordError> {
        let filled = fill(text, |word| self.value(spec, word))?;
        if filled.len() >= MAX_ARGUMENT {
            return Err(WordError::TooLong {
                agent: spec.name.clone(),
                what: what.into(),
                bytes: filled.len(),
            });
        }
        if filled.contains('\0') {
            return Err(WordError::Nul {
                agent: spec.name.clone(),
                what: what.into(),
            });
        }
        Ok(filled)
    }

    fn value(&self, spec: &AgentSpec, word: &str) -> Result<String, WordError> {
        let path = match word {
            "prompt" => return Ok(self.prompt.to_owned()),
            "model" => {
                let model = self.model.or(spec.model.as_deref());
                let agent = spec.name.clone();
                return model.map(str::to_owned).ok_or(WordError::NoModel { agent });
            }
            // a variable that says it is empty where none is asked for
            "effort" => return Ok(self.effort.unwrap_or_default().to_owned()),
            "prompt_file" => self.prompt_file,
            "workspace" => self.workspace,
            "home" => self.home,
            "out" => self.out,
            "install" => self.install.ok_or_else(|| nothing(spec, word))?,
            _ => return Err(nothing(spec, word)),
        };
        path_text(path)
    }
}

fn nothing(spec: &AgentSpec, word: &str) -> WordError {
    WordError::Nothing {
        agent: spec.name.clone(),
        word: word.into(),
    }
}

fn path_text(path: &Path) -> Result<String, WordError> {
    let text = path.to_str().map(str::to_owned);
    text.ok_or_else(|| WordError::NotText {
        path: path.display().to_string(),
    })
}

/// The install script with `{install}` filled in; `None`: there is none.
pub fn install_script(spec: &AgentSpec, install: &Path) -> Result<Option<String>, WordError> {
    let script = spec.install.as_ref().and_then(|i| i.script.as_deref());
    let Some(script) = script else {
        return Ok(None);
    };
    fill(script, |word| match word {
        "install" => path_text(install),
        _ => Err(nothing(spec, word)),
    })
    .map(Some)
}

/// Replaces each `{word}`; one behind a `$` is a shell's, and braces around anything else stay.
pub(super) fn fill<E>(
    text: &str,
    mut value: impl FnMut(&str) -> Result<String, E>,
) -> Result<String, E> {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(open) = rest.find('{') {
        let (before, from) = rest.split_at(open);
        out.push_str(before);
        let word = from[1..].split_once('}').map(|(word, _)| word);
        let is_word =
            |w: &&str| !w.is_empty() && w.bytes().all(|b| b.is_ascii_lowercase() || b == b'_');
        match word.filter(is_word) {
            Some(word) if !before.ends_with('$') => {
                // what is put in is not looked at again
                out.push_str(&value(word)?);
                rest = &from[word.len() + 2..];
            }
            _ => {
                out.push('{');
                rest = &from[1..];
            }
        }
    }
    out.push_str(rest);
    Ok(out)
}

/// The words of a text, known or not.
pub(super) fn words_of(text: &str) -> Vec<String> {
    let mut words = Vec::new();
    fill(text, |word| {
        words.push(word.to_owned());
        Ok::<String, ()>(String::new())
    })
    .ok();
    words
}
