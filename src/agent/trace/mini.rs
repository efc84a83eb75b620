//! mini-swe-agent `traj.json`: one document, rewritten after each step.

use serde_json::Value;

use crate::domain::{Level, Usage};

use super::document::{Part, Parts};
use super::entry::{Entry, Kind, Progress, Role};
use super::facts::End;
use super::json::{flat, owned, text};
use super::reader::Out;

/// The command that ends a session is answered with -1 and has not failed.
const SUBMIT: &str = "COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT";
/// The `object` of an answer of the Responses API.
const RESPONSE: &str = "response";
/// The `type` of what such a model is told of a call.
const RESULT: &str = "function_call_output";

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
        match role(message) {
            "system" => say(Role::System, body, at_s, out),
            "user" if extra.get("returncode").is_none() => {
                // an answer that could not be used stands only in the complaint about it
                if let Some(response) = extra.get("response").filter(|r| r.is_object()) {
                    match response.pointer("/choices/0/message") {
                        Some(said) => read_said(said, at_s, out),
                        None => read_items(response, at_s, out),
                    }
                    read_usage(response, extra, at_s, out);
                }
                say(Role::User, body, at_s, out);
            }
            "assistant" => {
                read_said(message, at_s, out);
                self.begin(extra, at_s, out);
                read_usage(
                    extra.get("response").unwrap_or(&Value::Null),
                    extra,
                    at_s,
                    out,
                );
            }
            RESPONSE => {
                read_items(message, at_s, out);
                self.begin(extra, at_s, out);
                read_usage(message, extra, at_s, out);
            }
            "tool" | "user" => read_output(message, extra, at_s, &body, &mut self.waiting, out),
            RESULT => {
                let body = message.get("output").map_or_else(String::new, flat);
                read_output(message, extra, at_s, &body, &mut self.waiting, out);
            }
            "exit" => read_exit(extra, at_s, out),
            _ => raw(message, at_s, out),
        }
    }

    /// The commands of an answer.
    fn begin(&mut self, extra: &Value, at_s: Option<f64>, out: &mut Out) {
        self.waiting.clear();
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
            self.waiting.push(id);
        }
    }

    fn info(&mut self, info: &Value, out: &mut Out) {
        let model = info.pointer("/config/model/model_name");
        if let Some(model) = model.and_then(Value::as_str) {
            out.facts.model = Some(model.to_owned());
        }
        let version = text(info, "mini_version");
        if !version.is_empty() {
            out.facts.version = Some(version.to_owned());
        }
        out.facts.end = end(text(info, "exit_status"));
        self.exception = Some(owned(info, "exception_str")).filter(|e| !e.is_empty());
    }
}

/// Models of the Responses API leave their answer as it came, and the output of a call, both
/// without a role.
fn role(message: &Value) -> &str {
    match text(message, "role") {
        "" if text(message, "object") == RESPONSE => RESPONSE,
        "" if text(message, "type") == RESULT => RESULT,
        role => role,
    }
}

fn say(role: Role, text: String, at_s: Option<f64>, out: &mut Out) {
    out.push(Entry::new(at_s, Kind::Message { role, text }));
}

fn raw(value: &Value, at_s: Option<f64>, out: &mut Out) {
    let text = value.to_string();
    out.push(Entry::new(at_s, Kind::Raw { text }));
}

/// What a chat model said.
fn read_said(message: &Value, at_s: Option<f64>, out: &mut Out) {
    let reasoning = owned(message, "reasoning_content");
    if !reasoning.is_empty() {
        out.push(Entry::new(at_s, Kind::Reasoning { text: reasoning }));
    }
    let body = message.get("content").map_or_else(String::new, flat);
    if !body.is_empty() {
        say(Role::Agent, body, at_s, out);
    }
}

/// The same of the Responses API, item by item.
fn read_items(response: &Value, at_s: Option<f64>, out: &mut Out) {
    let items = response.get("output").and_then(Value::as_array);
    for item in items.into_iter().flatten() {
        let part = |key: &str| item.get(key).map_or_else(String::new, flat);
        match text(item, "type") {
            "message" => match part("content") {
                // a refusal, or a part that is not known
                body if body.is_empty() => raw(item, at_s, out),
                body => say(Role::Agent, body, at_s, out),
            },
            // its text, or what the service lets out of it; often neither
            "reasoning" => {
                let parts = ["summary", "content"].map(part);
                if let Some(text) = parts.into_iter().find(|text| !text.is_empty()) {
                    out.push(Entry::new(at_s, Kind::Reasoning { text }));
                }
            }
            // it stands in the actions, or in the complaint
            "function_call" => {}
            _ => raw(item, at_s, out),
        }
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

/// `holder` has the usage as the service told it; null where it told none.
fn read_usage(holder: &Value, extra: &Value, at_s: Option<f64>, out: &mut Out) {
    if let Some(kind) = holder.get("usage").and_then(|usage| tokens(usage, extra)) {
        out.push(Entry::new(at_s, kind));
    }
}

fn read_output(
    message: &Value,
    extra: &Value,
    at_s: Option<f64>,
    body: &str,
    waiting: &mut Vec<String>,
    out: &mut Out,
) {
    let own = match text(message, "tool_call_id") {
        "" => text(message, "call_id"),
        id => id,
    };
    let id = match own {
        "" if waiting.is_empty() => String::new(),
        "" => waiting.remove(0),
        id => id.to_owned(),
    };
    let shown = match extra.get("raw_output").and_then(Value::as_str) {
        // what the agent is shown of it is a rendering
        None => body,
        Some("") => text(extra, "exception_info"),
        Some(raw) => raw,
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

/// As litellm tells them, of chat completions or of the Responses API: a prompt holds what was
/// read from a cache and what was written to one, whatever service it came from.
fn tokens(usage: &Value, extra: &Value) -> Option<Kind> {
    let number =
        |holder: &Value, keys: &[&str]| keys.iter().find_map(|key| holder.get(*key)?.as_u64());
    let details = |keys: [&str; 2]| {
        let found = keys.iter().find_map(|key| usage.get(*key));
        found.unwrap_or(&Value::Null)
    };
    let prompt = number(usage, &["prompt_tokens", "input_tokens"]);
    let output = number(usage, &["completion_tokens", "output_tokens"]);
    if prompt.is_none() && output.is_none() {
        return None;
    }
    let (prompt, output) = (prompt.unwrap_or(0), output.unwrap_or(0));
    let of_prompt = details(["prompt_tokens_details", "input_tokens_details"]);
    let of_output = details(["completion_tokens_details", "output_tokens_details"]);
    let read = number(of_prompt, &["cached_tokens"])
        .or_else(|| number(usage, &["cache_read_input_tokens"]))
        .unwrap_or(0);
    let written = number(of_prompt, &["cache_write_tokens", "cache_creation_tokens"])
        .or_else(|| number(usage, &["cache_creation_input_tokens"]))
        .unwrap_or(0);
    let reasoning = number(of_output, &["reasoning_tokens"]).unwrap_or(0);
    Some(Kind::Usage {
        usage: Usage {
            input: prompt.saturating_sub(read.saturating_add(written)),
            cache_read: read,
            cache_write: written,
            output: output.saturating_sub(reasoning),
            reasoning,
        },
        cost_usd: extra.get("cost").and_then(Value::as_f64),
        total: false,
    })
}
