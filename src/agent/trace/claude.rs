//! Claude Code `stream-json`: messages of blocks, tool results apart, one or more results.

use std::fmt::Write as _;

use jiff::Timestamp;
use serde_json::Value;

use crate::domain::{Level, Usage};

use super::edit;
use super::entry::{EditKind, Entry, Kind, Progress, Role};
use super::facts::End;
use super::json::{brief, count, flat, owned, text};
use super::reader::Out;

pub fn read(value: &Value, out: &mut Out) -> bool {
    let at_s = text(value, "timestamp")
        .parse::<Timestamp>()
        .ok()
        .map(|t| t.as_millisecond() as f64 / 1000.0);
    match text(value, "type") {
        "assistant" => read_blocks(value, at_s, Role::Agent, out),
        "user" => read_blocks(value, at_s, Role::User, out),
        "result" => read_result(value, at_s, out),
        "system" => read_system(value, at_s, out),
        // parts of messages that come again as a whole
        "stream_event" => true,
        "rate_limit_event" => read_rate_limit(value, at_s, out),
        _ => false,
    }
}

fn read_blocks(value: &Value, at_s: Option<f64>, role: Role, out: &mut Out) -> bool {
    let message = value.get("message").unwrap_or(&Value::Null);
    let Some(content) = message.get("content") else {
        return false;
    };
    let nested = !text(value, "parent_tool_use_id").is_empty();
    if role == Role::Agent && !nested {
        // a turn after a result: that was not the end
        out.facts.end = None;
        let model = text(message, "model");
        if out.facts.model.is_none() && !model.is_empty() && model != "<synthetic>" {
            out.facts.model = Some(model.to_owned());
        }
    }
    if let Value::String(body) = content {
        out.push(Entry::new(
            at_s,
            Kind::Message {
                role,
                text: body.clone(),
            },
        ));
        return true;
    }
    let Some(blocks) = content.as_array() else {
        return false;
    };
    let failed = value.get("is_api_error_message").and_then(Value::as_bool) == Some(true);
    for block in blocks {
        match text(block, "type") {
            "text" => {
                let text = owned(block, "text");
                let kind = if failed {
                    Kind::Error { text }
                } else if nested && role == Role::Agent {
                    // what a sub-agent says, it says to the agent
                    let level = Level::Info;
                    Kind::Notice { level, text }
                } else {
                    Kind::Message { role, text }
                };
                out.push(Entry::new(at_s, kind));
            }
            "thinking" => {
                let text = owned(block, "thinking");
                out.push(Entry::new(at_s, Kind::Reasoning { text }));
            }
            "tool_use" | "server_tool_use" => {
                out.begin(text(block, "id"), Entry::new(at_s, tool(block)));
            }
            "tool_result" => {
                let told = value.get("tool_use_result").unwrap_or(&Value::Null);
                finish_tool(block, told, at_s, out);
            }
            _ => {
                let text = block.to_string();
                out.push(Entry::new(at_s, Kind::Raw { text }));
            }
        }
    }
    true
}

fn tool(block: &Value) -> Kind {
    let name = text(block, "name");
    let input = block.get("input").unwrap_or(&Value::Null);
    match name {
        "Bash" => Kind::Command {
            command: owned(input, "command"),
            output: String::new(),
            exit: None,
            progress: Progress::Running,
            duration_s: None,
        },
        "Edit" | "MultiEdit" | "Write" | "NotebookEdit" => Kind::Edit {
            files: vec![(
                if name == "Write" {
                    EditKind::Add
                } else {
                    EditKind::Update
                },
                owned(input, "file_path"),
            )],
            detail: edit::told(input, "old_string", "new_string", "content"),
            progress: Progress::Running,
        },
        _ => Kind::Tool {
            name: name.to_owned(),
            input: brief(input),
            output: String::new(),
            progress: Progress::Running,
        },
    }
}

fn finish_tool(block: &Value, told: &Value, at_s: Option<f64>, out: &mut Out) {
    let id = text(block, "tool_use_id");
    let body = block.get("content").map_or_else(String::new, flat);
    let failed = block.get("is_error").and_then(Value::as_bool) == Some(true);
    let Some((at, mut entry)) = out.opened(id) else {
        let kind = Kind::Tool {
            name: "tool result".into(),
            input: String::new(),
            output: body,
            progress: if failed {
                Progress::Failed
            } else {
                Progress::Done
            },
        };
        out.push(Entry::new(at_s, kind));
        return;
    };
    let ended = if failed {
        Progress::Failed
    } else {
        Progress::Done
    };
    match &mut entry.kind {
        Kind::Command {
            output,
            exit,
            progress,
            ..
        } => {
            let (code, rest) = exit_code(&body, failed);
            *exit = code;
            rest.clone_into(output);
            if !text(told, "backgroundTaskId").is_empty() {
                // it runs on: a notification tells its end
                out.replace(at, entry.clone());
                out.reopen(&background(id), at, entry);
                return;
            }
            *progress = ended;
        }
        Kind::Edit {
            files,
            detail,
            progress,
        } => {
            if failed {
                *detail = body;
            }
            if let ("update", Some(file)) = (text(told, "type"), files.first_mut()) {
                // Write over a file that was there
                file.0 = EditKind::Update;
            }
            *progress = ended;
        }
        Kind::Tool {
            output, progress, ..
        } => {
            *output = body;
            *progress = ended;
        }
        _ => {}
    }
    entry.at_s = entry.at_s.or(at_s);
    out.replace(at, entry);
}

/// A failed command's result begins with `Exit code N`; there is no other place for the code.
fn exit_code(body: &str, failed: bool) -> (Option<i64>, &str) {
    if !failed {
        return (None, body);
    }
    let Some(rest) = body.strip_prefix("Exit code ") else {
        return (None, body);
    };
    let (code, output) = rest.split_once('\n').unwrap_or((rest, ""));
    match code.trim().parse() {
        Ok(code) => (Some(code), output),
        Err(_) => (None, body),
    }
}

fn read_result(value: &Value, at_s: Option<f64>, out: &mut Out) -> bool {
    let failed = value.get("is_error").and_then(Value::as_bool) == Some(true);
    let subtype = text(value, "subtype");
    let reason = text(value, "terminal_reason");
    let broken = failed || subtype != "success";
    out.facts.end = Some(match subtype {
        _ if !broken => End::Completed,
        _ if reason.starts_with("aborted") => End::Interrupted,
        // an old version tells no reason; this is what Ctrl-C gives
        "error_during_execution" if reason.is_empty() => End::Interrupted,
        _ => End::Error,
    });
    if broken {
        let mut message = owned(value, "result");
        if message.is_empty() {
            message = match value.get("errors").map_or_else(String::new, flat) {
                why if why.is_empty() => subtype.to_owned(),
                why => format!("{subtype}: {why}"),
            };
        }
        out.push(Entry::new(at_s, Kind::Error { text: message }));
    }
    if let Some(usage) = value.get("usage").filter(|u| u.is_object()) {
        let details = usage.get("output_tokens_details").unwrap_or(&Value::Null);
        let reasoning = count(details, "thinking_tokens");
        // usage is of this turn, the cost of the session so far
        let cost_usd = value.get("total_cost_usd").and_then(Value::as_f64);
        let before = out.facts.cost_so_far;
        out.facts.cost_so_far = cost_usd.unwrap_or(before);
        out.push(Entry::new(
            at_s,
            Kind::Usage {
                usage: Usage {
                    input: count(usage, "input_tokens"),
                    cache_read: count(usage, "cache_read_input_tokens"),
                    cache_write: count(usage, "cache_creation_input_tokens"),
                    output: count(usage, "output_tokens").saturating_sub(reasoning),
                    reasoning,
                },
                cost_usd: cost_usd.map(|cost| cost - before),
                total: false,
            },
        ));
    }
    true
}

/// Under its own name: a notification may also come before the result of a command that was not.
fn background(id: &str) -> String {
    format!("background {id}")
}

/// A command that was moved to the background has ended.
fn end_background(value: &Value, out: &mut Out) {
    let id = background(text(value, "tool_use_id"));
    let Some((at, mut entry)) = out.opened(&id) else {
        return;
    };
    let Kind::Command { exit, progress, .. } = &mut entry.kind else {
        return;
    };
    let code = text(value, "summary")
        .rsplit_once("exit code ")
        .and_then(|(_, rest)| rest.trim_end_matches(')').parse().ok());
    // as everywhere in this stream: codes of failures only
    *exit = code.filter(|code| *code != 0);
    *progress = if text(value, "status") == "completed" && exit.is_none() {
        Progress::Done
    } else {
        Progress::Failed
    };
    out.replace(at, entry);
}

/// A call that failed and is tried again after a pause.
fn retry(value: &Value) -> Kind {
    let status = value.get("error_status").and_then(Value::as_u64);
    let error = text(value, "error");
    let rate_limit = status == Some(429) || error == "rate_limit";
    let delay_s = value
        .get("retry_delay_ms")
        .and_then(Value::as_f64)
        .map(|ms| ms / 1000.0);
    let number = |key: &str| value.get(key).and_then(Value::as_u64);
    let mut words = vec![if rate_limit { "rate limit" } else { "retry" }.to_owned()];
    if !rate_limit && !error.is_empty() {
        words.push(error.to_owned());
    }
    words.extend(status.map(|status| format!("({status})")));
    words.extend(delay_s.map(|s| format!("waits {s:.1} s,")));
    words.extend(number("attempt").map(|at| match number("max_retries") {
        Some(most) => format!("try {at} of {most}"),
        None => format!("try {at}"),
    }));
    Kind::Wait {
        text: words.join(" "),
        delay_s,
        rate_limit,
    }
}

/// What the service told of its limits; only what holds the agent up, or is about to, is shown.
fn read_rate_limit(value: &Value, at_s: Option<f64>, out: &mut Out) -> bool {
    let Some(info @ Value::Object(_)) = value.get("rate_limit_info") else {
        return false;
    };
    let status = text(info, "status");
    if status == "allowed" {
        return true;
    }
    let mut words = format!("rate limit {status}");
    let kind = text(info, "rateLimitType");
    if !kind.is_empty() {
        let _ = write!(words, " ({kind})");
    }
    let until = info.get("resetsAt").and_then(Value::as_i64);
    let until = until.and_then(|s| Timestamp::from_second(s).ok());
    if let Some(until) = until {
        let _ = write!(words, " until {until}");
    }
    let kind = if status == "rejected" {
        let now = at_s.filter(|now| *now > 0.0);
        let delay_s = until
            .zip(now)
            .map(|(until, now)| until.as_second() as f64 - now);
        Kind::Wait {
            text: words,
            delay_s: delay_s.filter(|s| *s >= 0.0),
            rate_limit: true,
        }
    } else {
        Kind::Notice {
            level: Level::Warn,
            text: words,
        }
    };
    out.push(Entry::new(at_s, kind));
    true
}

fn read_system(value: &Value, at_s: Option<f64>, out: &mut Out) -> bool {
    let notice = |level, text: String| Entry::new(at_s, Kind::Notice { level, text });
    match text(value, "subtype") {
        "init" => {
            let model = text(value, "model");
            out.facts.end = None;
            if !model.is_empty() {
                out.facts.model = Some(model.to_owned());
            }
            let version = text(value, "claude_code_version");
            if !version.is_empty() {
                out.facts.version = Some(version.to_owned());
            }
            let text = format!("session with {model}");
            out.push(notice(Level::Info, text));
        }
        "api_retry" => {
            out.push(Entry::new(at_s, retry(value)));
        }
        "compact_boundary" => {
            out.push(notice(Level::Info, "context compacted".into()));
        }
        "task_notification" => {
            end_background(value, out);
            out.push(notice(Level::Info, owned(value, "summary")));
        }
        // told again by what comes of them, or for a screen alone
        "status"
        | "thinking_tokens"
        | "task_started"
        | "task_progress"
        | "task_updated"
        | "background_tasks_changed"
        | "hook_started"
        | "hook_response" => {}
        _ => return false,
    }
    true
}
