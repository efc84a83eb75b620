//! Claude Code `stream-json`: messages of blocks, tool results apart, one or more results.

use jiff::Timestamp;
use serde_json::Value;

use crate::domain::{Level, Usage};

use super::entry::{EditKind, Entry, Kind, Progress, Role};
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
        "stream_event" | "rate_limit_event" => true,
        _ => false,
    }
}

fn read_blocks(value: &Value, at_s: Option<f64>, role: Role, out: &mut Out) -> bool {
    let Some(content) = value.get("message").and_then(|m| m.get("content")) else {
        return false;
    };
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
            "tool_result" => finish_tool(block, at_s, out),
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
            detail: edit_detail(input),
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

/// What an edit takes out and puts in, as a small diff.
fn edit_detail(input: &Value) -> String {
    let mut rows = Vec::new();
    for (key, sign) in [("old_string", '-'), ("new_string", '+'), ("content", '+')] {
        rows.extend(text(input, key).lines().map(|line| format!("{sign}{line}")));
    }
    rows.join("\n")
}

fn finish_tool(block: &Value, at_s: Option<f64>, out: &mut Out) {
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
            *progress = ended;
        }
        Kind::Edit {
            detail, progress, ..
        } => {
            if failed {
                *detail = body;
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
    if failed || text(value, "subtype") != "success" {
        let mut message = owned(value, "result");
        if message.is_empty() {
            message = owned(value, "subtype");
        }
        out.push(Entry::new(at_s, Kind::Error { text: message }));
    }
    if let Some(usage) = value.get("usage") {
        out.push(Entry::new(
            at_s,
            Kind::Usage {
                usage: Usage {
                    input: count(usage, "input_tokens"),
                    cache_read: count(usage, "cache_read_input_tokens"),
                    cache_write: count(usage, "cache_creation_input_tokens"),
                    output: count(usage, "output_tokens"),
                    reasoning: 0,
                },
                cost_usd: value.get("total_cost_usd").and_then(Value::as_f64),
                total: false,
            },
        ));
    }
    true
}

fn read_system(value: &Value, at_s: Option<f64>, out: &mut Out) -> bool {
    let notice = |level, text: String| Entry::new(at_s, Kind::Notice { level, text });
    match text(value, "subtype") {
        "init" => {
            let text = format!("session with {}", text(value, "model"));
            out.push(notice(Level::Info, text));
        }
        "api_retry" => {
            out.push(notice(Level::Warn, format!("api retry {}", brief(value))));
        }
        "compact_boundary" => {
            out.push(notice(Level::Info, "context compacted".into()));
        }
        "task_notification" => {
            out.push(notice(Level::Info, owned(value, "summary")));
        }
        _ => {}
    }
    true
}
