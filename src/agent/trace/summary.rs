//! The document of `infradev trace --json`, gathered from entries as they come.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;

use crate::domain::Usage;
use crate::domain::submission::LogFormat;

use super::entry::{EditKind, Entry, Kind, Progress, Role};
use super::facts::{End, Facts};

/// Longer strings are cut, with a mark that says how much is missing.
const LONGEST: usize = 64 * 1024;

/// Version 1: one recorded session of an agent, as far as its log tells.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct TraceDocument {
    pub schema: u32,
    pub format: LogFormat,
    /// The program that wrote the log; null for plain text.
    pub agent: Option<String>,
    /// As the log names it; null where it does not (codex, opencode).
    pub model: Option<String>,
    /// In the order of their beginning, those of sub-agents too where the log has them.
    pub commands: Vec<TraceCommand>,
    /// Edits by edit tools that were made; one that failed is none. Not the edits of commands.
    pub edits: Vec<TraceEdit>,
    /// How many texts the agent wrote to its user; reasoning and sub-agents are not counted.
    pub messages: u64,
    /// The last of these texts.
    pub r#final: Option<String>,
    /// Null where the log has none.
    pub usage: Option<TraceUsage>,
    pub end: End,
    /// What ended the session or was reported as an error of it; warnings and retries are not.
    pub errors: Vec<String>,
    /// Lines that are no JSON object where they should be, a cut last one among them.
    pub unparsed_lines: u64,
}

#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct TraceCommand {
    /// As typed: a shell around it is taken off.
    pub command: String,
    /// Null where the log does not tell: claude gives codes of failures only.
    pub exit_code: Option<i64>,
    /// An end of it is in the log, good or bad.
    pub finished: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub duration_s: Option<f64>,
}

#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct TraceEdit {
    /// As the log has it.
    pub path: String,
    pub kind: EditKind,
}

/// Tokens by kind: input without cache reads, output without reasoning.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct TraceUsage {
    pub input: u64,
    pub cache_read: u64,
    pub cache_write: u64,
    pub output: u64,
    pub reasoning: u64,
    /// Null where the log names no cost.
    pub cost_usd: Option<f64>,
}

/// Takes the entries of one log.
#[derive(Debug)]
pub struct Summary {
    format: LogFormat,
    /// Without lists it stays small, whatever the log.
    lists: bool,
    seen: usize,
    commands: BTreeMap<usize, TraceCommand>,
    edits: BTreeMap<usize, Vec<TraceEdit>>,
    messages: u64,
    last: Option<(usize, String)>,
    usage: Option<TraceUsage>,
    errors: Vec<String>,
}

impl Summary {
    pub fn new(format: LogFormat) -> Self {
        Self {
            format,
            lists: true,
            seen: 0,
            commands: BTreeMap::new(),
            edits: BTreeMap::new(),
            messages: 0,
            last: None,
            usage: None,
            errors: Vec::new(),
        }
    }

    /// Of the lists only the commands without an end and the last error.
    pub fn without_lists(format: LogFormat) -> Self {
        Self {
            lists: false,
            ..Self::new(format)
        }
    }

    /// Whether this entry has not been there before.
    pub fn is_new(&self, at: usize) -> bool {
        at >= self.seen
    }

    pub fn take(&mut self, at: usize, entry: &Entry) {
        let new = self.is_new(at);
        self.seen = self.seen.max(at + 1);
        match &entry.kind {
            Kind::Command {
                command,
                exit,
                progress,
                duration_s,
                ..
            } => {
                let finished = *progress != Progress::Running;
                if finished && !self.lists {
                    self.commands.remove(&at);
                    return;
                }
                let row = TraceCommand {
                    command: cut(command),
                    exit_code: *exit,
                    finished,
                    duration_s: *duration_s,
                };
                self.commands.insert(at, row);
            }
            Kind::Edit {
                files, progress, ..
            } if self.lists && *progress == Progress::Done => {
                let rows = files.iter().map(|(kind, path)| TraceEdit {
                    path: cut(path),
                    kind: *kind,
                });
                self.edits.insert(at, rows.collect());
            }
            Kind::Message {
                role: Role::Agent,
                text,
            } => {
                self.messages += u64::from(new);
                if new || self.last.as_ref().is_some_and(|(last, _)| *last == at) {
                    self.last = Some((at, cut(text)));
                }
            }
            Kind::Usage {
                usage,
                cost_usd,
                total,
            } if new => self.count(*usage, *cost_usd, *total),
            Kind::Error { text } => {
                let text = cut(text);
                // streams repeat the error as the session's end
                if self.errors.last() != Some(&text) {
                    if !self.lists {
                        self.errors.clear();
                    }
                    self.errors.push(text);
                }
            }
            _ => {}
        }
    }

    /// Tokens so far; `None`: the log has not told any.
    pub fn usage(&self) -> Option<&TraceUsage> {
        self.usage.as_ref()
    }

    fn count(&mut self, usage: Usage, cost_usd: Option<f64>, total: bool) {
        let sum = self.usage.get_or_insert_default();
        if total {
            *sum = TraceUsage::default();
        }
        for (sum, more) in [
            (&mut sum.input, usage.input),
            (&mut sum.cache_read, usage.cache_read),
            (&mut sum.cache_write, usage.cache_write),
            (&mut sum.output, usage.output),
            (&mut sum.reasoning, usage.reasoning),
        ] {
            *sum = sum.saturating_add(more);
        }
        if let Some(cost) = cost_usd {
            let cost = sum.cost_usd.unwrap_or(0.0) + cost;
            // a sum of binary fractions, without its noise
            sum.cost_usd = Some((cost * 1e10).round() / 1e10);
        }
    }

    pub fn document(self, facts: Facts) -> TraceDocument {
        let end = match facts.end {
            _ if facts.cut => End::Truncated,
            Some(end) => end,
            None if self.format == LogFormat::Text => End::Completed,
            None => End::Interrupted,
        };
        let agent = match self.format {
            LogFormat::Codex => Some("codex"),
            LogFormat::Claude => Some("claude-code"),
            LogFormat::Opencode => Some("opencode"),
            LogFormat::Mini => Some("mini-swe-agent"),
            LogFormat::SweAgent => Some("swe-agent"),
            LogFormat::Openhands => Some("openhands"),
            LogFormat::Atif => facts.agent.as_deref(),
            LogFormat::Text => None,
        };
        let agent = agent.map(str::to_owned);
        TraceDocument {
            schema: 1,
            format: self.format,
            agent,
            model: facts.model,
            commands: self.commands.into_values().collect(),
            edits: self.edits.into_values().flatten().collect(),
            messages: self.messages,
            r#final: self.last.map(|(_, text)| text),
            usage: self.usage,
            end,
            errors: self.errors,
            unparsed_lines: facts.unparsed_lines,
        }
    }
}

fn cut(text: &str) -> String {
    if text.len() <= LONGEST {
        return text.to_owned();
    }
    let mut end = LONGEST;
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    format!("{}… ({} bytes more)", &text[..end], text.len() - end)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_strings_are_cut_at_a_character_with_a_mark() {
        let long = format!("{}é{}", "x".repeat(LONGEST - 1), "y".repeat(10));
        let short = cut(&long);
        assert!(
            short.ends_with("x… (12 bytes more)"),
            "{}",
            &short[LONGEST - 4..]
        );
        assert_eq!(cut("é"), "é");
    }
}
