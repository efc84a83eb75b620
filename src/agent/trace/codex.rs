//! codex `exec --json`: threads, turns and items. No times; usage once, at the end, cumulative.

use serde_json::Value;

use crate::domain::{Level, Usage};

use super::entry::{EditKind, Entry, Kind, Progress, Role};
use super::facts::End;
use super::json::{brief, count, flat, owned, text};
use super::reader::Out;
use super::shell;

pub fn read(value: &Value, out: &mut Out) -> bool {
    let push = |out: &mut Out, kind| {
        out.push(Entry::new(None, kind));
        true
    };
    match text(value, "type") {
        "thread.started" => {
            // ids begin anew where a log goes on with a resumed session
            out.forget_open();
            out.facts.end = None;
            true
        }
        "turn.started" => {
            out.facts.end = None;
            true
        }
        "turn.completed" => {
            out.facts.end = Some(End::Completed);
            match value.get("usage") {
                Some(usage @ Value::Object(_)) => push(out, tokens(usage)),
                _ => true,
            }
        }
        "turn.failed" => {
            out.facts.end = Some(End::Error);
            let message = value.get("error").map_or("", |e| text(e, "message"));
            let text = message.to_owned();
            push(out, Kind::Error { text })
        }
        "error" => {
            let message = owned(value, "message");
            // a retry is announced as an error, and is none
            let kind = if message.starts_with("Reconnecting") {
                Kind::Wait {
                    rate_limit: message.contains("429"),
                    text: message,
                    delay_s: None,
                }
            } else {
                out.facts.end = Some(End::Error);
                Kind::Error { text: message }
            };
            push(out, kind)
        }
        "item.started" | "item.updated" | "item.completed" => match value.get("item") {
            Some(item) => read_item(text(value, "type"), item, out),
            None => false,
        },
        _ => false,
    }
}

fn read_item(event: &str, item: &Value, out: &mut Out) -> bool {
    let Some(kind) = item_kind(event, item) else {
        return false;
    };
    let id = text(item, "id");
    let entry = Entry::new(None, kind);
    match event {
        "item.completed" => out.close(id, entry),
        "item.updated" => {
            if let Some((at, _)) = out.opened(id) {
                out.replace(at, entry.clone());
                out.reopen(id, at, entry);
            } else {
                out.begin(id, entry);
            }
        }
        _ => out.begin(id, entry),
    }
    true
}

fn item_kind(event: &str, item: &Value) -> Option<Kind> {
    let body = || owned(item, "text");
    Some(match text(item, "type") {
        "agent_message" => Kind::Message {
            role: Role::Agent,
            text: body(),
        },
        "reasoning" => Kind::Reasoning { text: body() },
        "plan" => Kind::Notice {
            level: Level::Info,
            text: body(),
        },
        "command_execution" => Kind::Command {
            command: shell::unwrap(text(item, "command")),
            output: owned(item, "aggregated_output"),
            exit: item.get("exit_code").and_then(Value::as_i64),
            progress: progress(event, item),
            duration_s: None,
        },
        "file_change" => Kind::Edit {
            files: changes(item),
            detail: String::new(),
            progress: progress(event, item),
        },
        "mcp_tool_call" => Kind::Tool {
            name: format!("{}.{}", text(item, "server"), text(item, "tool")),
            input: item.get("arguments").map_or_else(String::new, brief),
            output: match item.get("error") {
                Some(error) if error.is_object() => owned(error, "message"),
                _ => item
                    .get("result")
                    .and_then(|r| r.get("content"))
                    .map_or_else(String::new, flat),
            },
            progress: progress(event, item),
        },
        "collab_tool_call" => Kind::Tool {
            name: owned(item, "tool"),
            input: owned(item, "prompt"),
            output: String::new(),
            progress: progress(event, item),
        },
        "web_search" => Kind::Tool {
            name: "web_search".into(),
            input: owned(item, "query"),
            output: String::new(),
            progress: progress(event, item),
        },
        "todo_list" => Kind::Notice {
            level: Level::Info,
            text: todo(item),
        },
        // warnings come as error items and do not end the run
        "error" => Kind::Notice {
            level: Level::Warn,
            text: owned(item, "message"),
        },
        _ => return None,
    })
}

fn progress(event: &str, item: &Value) -> Progress {
    match text(item, "status") {
        "failed" | "declined" => Progress::Failed,
        "in_progress" => Progress::Running,
        "completed" => Progress::Done,
        _ if event == "item.completed" => Progress::Done,
        _ => Progress::Running,
    }
}

fn changes(item: &Value) -> Vec<(EditKind, String)> {
    let list = item.get("changes").and_then(Value::as_array);
    list.into_iter()
        .flatten()
        .map(|change| {
            let kind = match text(change, "kind") {
                "add" => EditKind::Add,
                "delete" => EditKind::Delete,
                _ => EditKind::Update,
            };
            (kind, owned(change, "path"))
        })
        .collect()
}

fn todo(item: &Value) -> String {
    let list = item.get("items").and_then(Value::as_array);
    list.into_iter()
        .flatten()
        .map(|one| {
            let done = one.get("completed").and_then(Value::as_bool) == Some(true);
            format!("[{}] {}", if done { "x" } else { " " }, text(one, "text"))
        })
        .collect::<Vec<_>>()
        .join("\n")
}

fn tokens(counts: &Value) -> Kind {
    Kind::Usage {
        usage: usage(counts),
        cost_usd: None,
        total: true,
    }
}

/// Counts as codex writes them: input holds what was read from the cache, output the reasoning.
pub fn usage(counts: &Value) -> Usage {
    let cached = count(counts, "cached_input_tokens");
    let reasoning = count(counts, "reasoning_output_tokens");
    Usage {
        input: count(counts, "input_tokens").saturating_sub(cached),
        cache_read: cached,
        cache_write: count(counts, "cache_write_input_tokens"),
        output: count(counts, "output_tokens").saturating_sub(reasoning),
        reasoning,
    }
}
