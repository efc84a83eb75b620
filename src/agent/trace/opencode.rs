//! opencode `run --format json`: parts, printed when they end; usage by step.

use serde_json::Value;

use crate::domain::{Level, Usage};

use super::entry::{EditKind, Entry, Kind, Progress, Role};
use super::json::{brief, count, flat, owned, text};
use super::reader::Out;

pub fn read(value: &Value, out: &mut Out) -> bool {
    let at_s = value
        .get("timestamp")
        .and_then(Value::as_f64)
        .map(|ms| ms / 1000.0);
    let part = value.get("part").unwrap_or(&Value::Null);
    let kind = match text(value, "type") {
        "step_start" => return true,
        "text" => Kind::Message {
            role: Role::Agent,
            text: owned(part, "text"),
        },
        "reasoning" => Kind::Reasoning {
            text: owned(part, "text"),
        },
        "user" => Kind::Message {
            role: Role::User,
            text: value.get("parts").map_or_else(String::new, flat),
        },
        "tool_use" => tool(part),
        "step_finish" => tokens(part),
        "error" => Kind::Error {
            text: error_text(value.get("error").unwrap_or(&Value::Null)),
        },
        "done" => Kind::Notice {
            level: Level::Info,
            text: format!("done: {}", text(value, "reason")),
        },
        _ => return false,
    };
    out.push(Entry::new(at_s, kind));
    true
}

fn error_text(error: &Value) -> String {
    let message = error.get("data").map_or("", |data| text(data, "message"));
    match (text(error, "name"), message) {
        ("", "") => flat(error),
        (name, "") => name.to_owned(),
        (name, message) => format!("{name}: {message}"),
    }
}

fn tool(part: &Value) -> Kind {
    let state = part.get("state").unwrap_or(&Value::Null);
    let input = state.get("input").unwrap_or(&Value::Null);
    let failed = text(state, "status") == "error";
    let output = if failed {
        owned(state, "error")
    } else {
        state.get("output").map_or_else(String::new, flat)
    };
    let progress = if failed {
        Progress::Failed
    } else {
        Progress::Done
    };
    match text(part, "tool") {
        "bash" => {
            let metadata = state.get("metadata").unwrap_or(&Value::Null);
            let exit = metadata.get("exit").and_then(Value::as_i64);
            Kind::Command {
                command: owned(input, "command"),
                output,
                exit,
                // the status says completed even where the command failed or was killed
                progress: if exit == Some(0) && !failed {
                    Progress::Done
                } else {
                    Progress::Failed
                },
                duration_s: duration(state),
            }
        }
        name @ ("edit" | "write" | "patch" | "apply_patch" | "multiedit") => Kind::Edit {
            files: vec![(
                if name == "write" {
                    EditKind::Add
                } else {
                    EditKind::Update
                },
                owned(input, "filePath"),
            )],
            detail: if failed { output } else { edit_detail(input) },
            progress,
        },
        name => Kind::Tool {
            name: name.to_owned(),
            input: brief(input),
            output,
            progress,
        },
    }
}

fn edit_detail(input: &Value) -> String {
    let mut rows = Vec::new();
    for (key, sign) in [("oldString", '-'), ("newString", '+'), ("content", '+')] {
        rows.extend(text(input, key).lines().map(|line| format!("{sign}{line}")));
    }
    rows.join("\n")
}

fn duration(state: &Value) -> Option<f64> {
    let time = state.get("time")?;
    let start = time.get("start")?.as_f64()?;
    let end = time.get("end")?.as_f64()?;
    Some((end - start).max(0.0) / 1000.0)
}

fn tokens(part: &Value) -> Kind {
    let tokens = part.get("tokens").unwrap_or(&Value::Null);
    let cache = tokens.get("cache").unwrap_or(&Value::Null);
    let (input, read, write) = (
        count(tokens, "input"),
        count(cache, "read"),
        count(cache, "write"),
    );
    let (mut output, reasoning) = (count(tokens, "output"), count(tokens, "reasoning"));
    // old versions count reasoning in output; the total tells which
    let total = count(tokens, "total");
    if total > 0 && total == input + output + read + write {
        output = output.saturating_sub(reasoning);
    }
    Kind::Usage {
        usage: Usage {
            input,
            cache_read: read,
            cache_write: write,
            output,
            reasoning,
        },
        cost_usd: part.get("cost").and_then(Value::as_f64),
        total: false,
    }
}
