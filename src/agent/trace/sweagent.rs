//! SWE-agent `.traj`: steps of one document, their messages beside them. Of a retry agent all
//! attempts are read, and the copy of the best one that follows them is not.

use serde_json::Value;

use crate::domain::{Level, Usage};

use super::document::{Part, Parts};
use super::entry::{EditKind, Entry, Kind, Progress, Role};
use super::facts::End;
use super::json::{brief, count, flat, parse, text};
use super::reader::Out;

/// What the edit tool says when it edited.
const EDITED: [&str; 2] = ["has been edited", "created successfully"];

/// What a step is made of.
const STEP: [&str; 5] = ["action", "observation", "response", "thought", "query"];

/// One document as it is walked through.
#[derive(Debug, Default)]
pub struct SweAgent {
    attempts: usize,
    inside: bool,
    steps: usize,
    /// The messages came before the steps: what was asked is told.
    asked: bool,
    /// And what happened too.
    from_messages: bool,
    /// The action in the messages that has no observation yet.
    waiting: bool,
}

impl Parts for SweAgent {
    fn part(&mut self, key: &str, _out: &mut Out) -> Part {
        let copy = self.attempts > 0 && !self.inside;
        match key {
            "attempts" if !self.inside => Part::Documents,
            "trajectory" if !copy && !self.from_messages => Part::Items,
            "history" if !copy && self.steps == 0 => Part::Items,
            "info" | "replay_config" => Part::Whole,
            _ => Part::Skip,
        }
    }

    fn item(&mut self, key: &str, item: &Value, out: &mut Out) {
        match key {
            _ if !item.is_object() => raw(item, out),
            "trajectory" => self.step(item, out),
            "history" => self.message(item, out),
            _ => raw(item, out),
        }
    }

    fn field(&mut self, key: &str, value: &Value, out: &mut Out) {
        if key == "info" {
            self.info(value, out);
        } else if let Some(model) = model(value) {
            out.facts.model = Some(model);
        }
    }

    fn enter(&mut self, out: &mut Out) {
        self.attempts += 1;
        *self = Self {
            attempts: self.attempts,
            inside: true,
            ..Self::default()
        };
        let text = format!("attempt {}", self.attempts);
        notice(Level::Info, text, out);
    }

    fn leave(&mut self, _out: &mut Out) {
        self.inside = false;
    }

    fn finish(&mut self, _out: &mut Out) {}
}

impl SweAgent {
    fn step(&mut self, step: &Value, out: &mut Out) {
        self.steps += 1;
        if self.steps == 1 && !self.asked {
            // later steps repeat it; it was `messages` before 1.1
            let asked = step.get("query").or_else(|| step.get("messages"));
            for message in asked.and_then(Value::as_array).into_iter().flatten() {
                say(message, out);
            }
        }
        let said = match text(step, "thought").trim() {
            "" => text(step, "response").trim(),
            thought => thought,
        };
        let action = text(step, "action").trim();
        if !said.is_empty() && said != action {
            message(Role::Agent, said.to_owned(), out);
        }
        let observation = step.get("observation").filter(|o| !o.is_null());
        let shown = observation.map(flat);
        if STEP.iter().all(|key| step.get(*key).is_none()) {
            return raw(step, out);
        }
        if action.is_empty() {
            if let Some(text) = shown.filter(|text| !text.is_empty()) {
                // a complaint about an answer that could not be used
                message(Role::User, text, out);
            }
            return;
        }
        let duration_s = step.get("execution_time").and_then(Value::as_f64);
        out.push(Entry::new(None, done(action, shown, duration_s)));
    }

    fn message(&mut self, item: &Value, out: &mut Out) {
        self.asked = true;
        let body = item.get("content").map_or_else(String::new, flat);
        match text(item, "role") {
            "assistant" if !demo(item) => {
                self.from_messages = true;
                let thought = text(item, "thought").trim();
                let said = if thought.is_empty() {
                    body.trim()
                } else {
                    thought
                };
                let action = item.get("action").map_or_else(String::new, flat);
                let action = action.trim();
                if !said.is_empty() && said != action {
                    message(Role::Agent, said.to_owned(), out);
                }
                self.waiting = !action.is_empty();
                if self.waiting {
                    out.begin(OPEN, Entry::new(None, done(action, None, None)));
                }
            }
            "tool" | "user" if self.waiting && !demo(item) => {
                self.waiting = false;
                if let Some((at, entry)) = out.opened(OPEN) {
                    out.replace(at, observed(entry, body));
                }
            }
            _ => say(item, out),
        }
    }

    fn info(&mut self, info: &Value, out: &mut Out) {
        let status = text(info, "exit_status");
        if let Some(stats) = info.get("model_stats").filter(|s| s.is_object()) {
            // what it sent holds what was read from a cache: this log does not split it
            let usage = Usage {
                input: count(stats, "tokens_sent"),
                output: count(stats, "tokens_received"),
                ..Usage::default()
            };
            let kind = Kind::Usage {
                usage,
                cost_usd: stats.get("instance_cost").and_then(Value::as_f64),
                // of one attempt: the sum of all comes after the last
                total: !self.inside,
            };
            out.push(Entry::new(None, kind));
        }
        if self.inside {
            let level = if status == "submitted" {
                Level::Info
            } else {
                Level::Warn
            };
            if !status.is_empty() {
                notice(level, format!("exit: {status}"), out);
            }
            return;
        }
        out.facts.end = match status {
            "" => None,
            "submitted" => Some(End::Completed),
            // `submitted (exit_cost)`: what was there when it came to a limit
            _ => Some(End::Error),
        };
        if let Some(best) = info.get("best_attempt_idx").and_then(Value::as_u64) {
            notice(
                Level::Info,
                format!("best attempt: {}", best.saturating_add(1)),
                out,
            );
        }
        match status {
            "" => {}
            "submitted" => notice(Level::Info, "exit: submitted".into(), out),
            status => {
                let text = format!("exit: {status}");
                out.push(Entry::new(None, Kind::Error { text }));
            }
        }
    }
}

/// Only one action is ever open.
const OPEN: &str = "action";

fn demo(message: &Value) -> bool {
    message.get("is_demo").and_then(Value::as_bool) == Some(true)
}

/// A message to the agent, demonstrations left out.
fn say(item: &Value, out: &mut Out) {
    let role = match text(item, "role") {
        _ if demo(item) => return,
        "system" => Role::System,
        "user" | "tool" => Role::User,
        "assistant" => Role::Agent,
        _ => return raw(item, out),
    };
    message(
        role,
        item.get("content").map_or_else(String::new, flat),
        out,
    );
}

fn message(role: Role, text: String, out: &mut Out) {
    out.push(Entry::new(None, Kind::Message { role, text }));
}

fn notice(level: Level, text: String, out: &mut Out) {
    out.push(Entry::new(None, Kind::Notice { level, text }));
}

fn raw(value: &Value, out: &mut Out) {
    let text = value.to_string();
    out.push(Entry::new(None, Kind::Raw { text }));
}

/// An action with its output; without one it runs.
fn done(action: &str, output: Option<String>, duration_s: Option<f64>) -> Kind {
    let mut words = action.split_whitespace();
    let edit = match (words.next(), words.next(), words.next()) {
        (Some("str_replace_editor"), Some("create"), Some(path)) => Some((EditKind::Add, path)),
        (Some("str_replace_editor"), Some("str_replace" | "insert" | "undo_edit"), Some(path)) => {
            Some((EditKind::Update, path))
        }
        _ => None,
    };
    let kind = match edit {
        Some((kind, path)) => Kind::Edit {
            files: vec![(kind, path.trim_matches(['\'', '"']).to_owned())],
            detail: action.to_owned(),
            progress: Progress::Running,
        },
        None => Kind::Command {
            command: action.to_owned(),
            output: String::new(),
            exit: None,
            progress: Progress::Running,
            duration_s,
        },
    };
    match output {
        Some(output) => observed(Entry::new(None, kind), output).kind,
        None => kind,
    }
}

fn observed(mut entry: Entry, text: String) -> Entry {
    match &mut entry.kind {
        Kind::Command {
            output, progress, ..
        } => {
            *output = text;
            *progress = Progress::Done;
        }
        Kind::Edit {
            detail, progress, ..
        } => {
            // no code tells it, only what the tool said
            *progress = if EDITED.iter().any(|words| text.contains(words)) {
                Progress::Done
            } else {
                *detail = text;
                Progress::Failed
            };
        }
        _ => {}
    }
    entry
}

/// Of the configuration: a document of its own in a string.
fn model(config: &Value) -> Option<String> {
    let config = match config {
        Value::String(text) => parse(text)?,
        other => other.clone(),
    };
    let name = ["/agent/model/name", "/agent/agent_configs/0/model/name"]
        .iter()
        .find_map(|path| config.pointer(path))?;
    Some(brief(name)).filter(|name| !name.is_empty())
}
