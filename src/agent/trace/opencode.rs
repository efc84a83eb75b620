//! opencode `run --format json`: parts, printed when they end; usage by step.

use serde_json::Value;

use crate::domain::{Level, Usage};

use super::edit;
use super::entry::{EditKind, Entry, Kind, Progress, Role};
use super::facts::End;
use super::json::{brief, count, flat, owned, text};
use super::reader::Out;

pub fn read(value: &Value, out: &mut Out) -> bool {
    let at_s = value
        .get("timestamp")
        .and_then(Value::as_f64)
        .map(|ms| ms / 1000.0);
    let part = value.get("part").unwrap_or(&Value::Null);
    if matches!(text(value, "type"), "text" | "reasoning" | "tool_use") && !part.is_object() {
        return false;
    }
    let kind = match text(value, "type") {
        "step_start" => {
            out.facts.end = None;
            return true;
        }
        "text" => Kind::Message {
            role: Role::Agent,
            text: owned(part, "text"),
        },
        "reasoning" => Kind::Reasoning {
            text: owned(part, "text"),
        },
        "user" => match value.get("parts").map_or_else(String::new, flat) {
            // parts of another kind than text
            text if text.is_empty() => return false,
            text => Kind::Message {
                role: Role::User,
                text,
            },
        },
        "tool_use" => tool(part),
        "step_finish" => {
            out.facts.end = match text(part, "reason") {
                // the session goes on, or its stream broke and is tried again
                "tool-calls" | "unknown" | "" => None,
                "error" => Some(End::Error),
                _ => Some(End::Completed),
            };
            match part.get("tokens") {
                Some(Value::Object(_)) => tokens(part),
                _ => return true,
            }
        }
        "error" => {
            let error = value.get("error").unwrap_or(&Value::Null);
            out.facts.end = Some(match text(error, "name") {
                "MessageAbortedError" => End::Interrupted,
                _ => End::Error,
            });
            Kind::Error {
                text: error_text(error),
            }
        }
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
            files: files(name, input, state.get("metadata")),
            detail: if failed {
                output
            } else {
                edit::told(input, "oldString", "newString", "content")
            },
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

fn files(tool: &str, input: &Value, metadata: Option<&Value>) -> Vec<(EditKind, String)> {
    let list = metadata.and_then(|m| m.get("files")?.as_array());
    if let Some(list) = list.filter(|list| !list.is_empty()) {
        let file = |file| (kind(text(file, "type")), owned(file, "filePath"));
        return list.iter().map(file).collect();
    }
    // a patch names its files in its own text
    let patch: Vec<_> = text(input, "patchText")
        .lines()
        .filter_map(|line| {
            let (word, path) = line.strip_prefix("*** ")?.split_once(" File: ")?;
            Some((kind(&word.to_lowercase()), path.trim().to_owned()))
        })
        .collect();
    if !patch.is_empty() {
        return patch;
    }
    let exists = metadata.and_then(|m| m.get("exists")?.as_bool()) == Some(true);
    let kind = if tool == "write" && !exists {
        EditKind::Add
    } else {
        EditKind::Update
    };
    vec![(kind, owned(input, "filePath"))]
}

fn kind(word: &str) -> EditKind {
    match word {
        "add" => EditKind::Add,
        "delete" => EditKind::Delete,
        _ => EditKind::Update,
    }
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
