//! mini-swe-agent `traj.json`: one document, rewritten after each step.

use serde_json::Value;

use crate::domain::{Level, Usage};

use super::document::{Part, Parts};
use super::entry::{Entry, Kind, Progress, Role};
use super::facts::End;
use super::json::{count, flat, owned, text};
use super::reader::Out;

/// The command that ends a session is answered with -1 and has not failed.
const SUBMIT: &str = "COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT";

/// One document as it is walked through.
#[derive(Debug, Default)]
pub struct Mini {
    /// Commands of the last answer that have no output yet.
    waiting: Vec<String>,
    exception: Option<String>,
}

impl Parts for Mini {
    fn part(&mut self, key: &str, _out: &mut Out) -> Part {
        match key {
            "messages" => Part::Items,
            "info" => Part::Whole,
            _ => Part::Skip,
        }
    }

    // version 1 wrote a bare list of messages
    fn item(&mut self, _key: &str, message: &Value, out: &mut Out) {
        self.message(message, out);
    }

    fn field(&mut self, _key: &str, info: &Value, out: &mut Out) {
        self.info(info, out);
    }

    fn finish(&mut self, out: &mut Out) {
        if let Some(text) = self.exception.take() {
            out.push(Entry::new(None, Kind::Error { text }));
        }
    }
}

impl Mini {
    fn message(&mut self, message: &Value, out: &mut Out) {
        let extra = message.get("extra").unwrap_or(&Value::Null);
        let at_s = extra.get("timestamp").and_then(Value::as_f64);
        let body = message.get("content").map_or_else(String::new, flat);
        let say = |role, text, out: &mut Out| {
            out.push(Entry::new(at_s, Kind::Message { role, text }));
        };
        match text(message, "role") {
            "system" => say(Role::System, body, out),
            "user" if extra.get("returncode").is_none() => {
                // an answer that could not be used stands only in the complaint about it
                if let Some(response) = extra.get("response").filter(|r| r.is_object()) {
                    let said = response.pointer("/choices/0/message/content").map(flat);
                    if let Some(said) = said.filter(|said| !said.is_empty()) {
                        say(Role::Agent, said, out);
                    }
                    read_usage(extra, at_s, out);
                }
                say(Role::User, body, out);
            }
            "assistant" => {
                read_answer(message, extra, at_s, &body, &mut self.waiting, out);
            }
            "tool" | "user" => read_output(message, extra, at_s, &body, &mut self.waiting, out),
            "exit" => read_exit(extra, at_s, out),
            _ => {
                let text = message.to_string();
                out.push(Entry::new(at_s, Kind::Raw { text }));
            }
        }
    }

    fn info(&mut self, info: &Value, out: &mut Out) {
        let model = info.pointer("/config/model/model_name");
        if let Some(model) = model.and_then(Value::as_str) {
            out.facts.model = Some(model.to_owned());
        }
        out.facts.end = end(text(info, "exit_status"));
        self.exception = Some(owned(info, "exception_str")).filter(|e| !e.is_empty());
    }
}

fn end(status: &str) -> Option<End> {
    match status {
        "" => None,
        "Submitted" => Some(End::Completed),
        "UserInterruption" | "KeyboardInterrupt" => Some(End::Interrupted),
        _ => Some(End::Error),
    }
}

fn read_exit(extra: &Value, at_s: Option<f64>, out: &mut Out) {
    let status = text(extra, "exit_status");
    out.facts.end = end(status);
    let kind = match (status, text(extra, "exception_str")) {
        ("Submitted", _) => Kind::Notice {
            level: Level::Info,
            text: "exit: Submitted".into(),
        },
        (_, "") => Kind::Error {
            text: format!("exit: {status}"),
        },
        (_, why) => Kind::Error {
            text: format!("exit: {status}: {why}"),
        },
    };
    out.push(Entry::new(at_s, kind));
}

fn read_usage(extra: &Value, at_s: Option<f64>, out: &mut Out) {
    if let Some(usage) = extra.get("response").and_then(|r| r.get("usage")) {
        out.push(Entry::new(at_s, tokens(usage, extra)));
    }
}

fn read_answer(
    message: &Value,
    extra: &Value,
    at_s: Option<f64>,
    body: &str,
    waiting: &mut Vec<String>,
    out: &mut Out,
) {
    let reasoning = owned(message, "reasoning_content");
    if !reasoning.is_empty() {
        out.push(Entry::new(at_s, Kind::Reasoning { text: reasoning }));
    }
    if !body.is_empty() {
        let kind = Kind::Message {
            role: Role::Agent,
            text: body.to_owned(),
        };
        out.push(Entry::new(at_s, kind));
    }
    waiting.clear();
    let actions = extra.get("actions").and_then(Value::as_array);
    for (at, action) in actions.into_iter().flatten().enumerate() {
        let id = match text(action, "tool_call_id") {
            "" => format!("action {at}"),
            id => id.to_owned(),
        };
        let kind = Kind::Command {
            command: owned(action, "command"),
            output: String::new(),
            exit: None,
            progress: Progress::Running,
            duration_s: None,
        };
        out.begin(&id, Entry::new(at_s, kind));
        waiting.push(id);
    }
    read_usage(extra, at_s, out);
}

fn read_output(
    message: &Value,
    extra: &Value,
    at_s: Option<f64>,
    body: &str,
    waiting: &mut Vec<String>,
    out: &mut Out,
) {
    let id = match text(message, "tool_call_id") {
        "" if waiting.is_empty() => String::new(),
        "" => waiting.remove(0),
        id => id.to_owned(),
    };
    let shown = match text(extra, "raw_output") {
        "" => body,
        raw => raw,
    };
    let Some((at, mut entry)) = out.opened(&id) else {
        let kind = Kind::Tool {
            name: "output".into(),
            input: String::new(),
            output: shown.to_owned(),
            progress: Progress::Done,
        };
        out.push(Entry::new(at_s, kind));
        return;
    };
    if let Kind::Command {
        command,
        output,
        exit,
        progress,
        ..
    } = &mut entry.kind
    {
        shown.clone_into(output);
        *exit = extra.get("returncode").and_then(Value::as_i64);
        let submitted = command.contains(SUBMIT);
        *progress = if *exit == Some(0) || submitted {
            Progress::Done
        } else {
            Progress::Failed
        };
        if submitted {
            *exit = None;
        }
    }
    out.replace(at, entry);
}

fn tokens(usage: &Value, extra: &Value) -> Kind {
    let detail = |key: &str, inner: &str| usage.get(key).map_or(0, |d| count(d, inner));
    let cached = detail("prompt_tokens_details", "cached_tokens");
    let reasoning = detail("completion_tokens_details", "reasoning_tokens");
    Kind::Usage {
        usage: Usage {
            input: count(usage, "prompt_tokens").saturating_sub(cached),
            cache_read: cached,
            cache_write: 0,
            output: count(usage, "completion_tokens").saturating_sub(reasoning),
            reasoning,
        },
        cost_usd: extra.get("cost").and_then(Value::as_f64),
        total: false,
    }
}
