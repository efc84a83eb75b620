//! OpenHands events of its SDK: `kind` is the name of a class, calls and results share an id.

use serde_json::Value;

use crate::domain::Level;

use super::entry::{EditKind, Entry, Kind, Progress, Role};
use super::facts::{Count, End};
use super::json::{brief, flat, owned, parse, text};
use super::openhands::{Ended, by_code, close, counted, tell};
use super::openhands_v0::diff;
use super::reader::Out;

/// Parts of a conversation's state that tell nothing of what the agent does.
const STATE: [&str; 15] = [
    "id",
    "agent",
    "workspace",
    "persistence_dir",
    "max_iterations",
    "stuck_detection",
    "confirmation_policy",
    "security_analyzer",
    "activated_knowledge_skills",
    "blocked_actions",
    "blocked_messages",
    "secret_registry",
    "secrets_manager",
    "agent_state",
    "last_user_message_id",
];

pub fn read(event: &Value, at_s: Option<f64>, out: &mut Out) -> bool {
    let notice = |level, text: String, out: &mut Out| {
        out.push(Entry::new(at_s, Kind::Notice { level, text }));
    };
    match text(event, "kind") {
        "SystemPromptEvent" => {
            let prompt = event.get("system_prompt").map_or_else(String::new, words);
            message(Role::System, prompt, at_s, out);
        }
        "MessageEvent" => read_message(event, at_s, out),
        "ActionEvent" => read_action(event, at_s, out),
        "ObservationEvent" => read_observation(event, at_s, out),
        "AgentErrorEvent" | "UserRejectObservation" => {
            let why = match text(event, "error") {
                "" => text(event, "rejection_reason"),
                why => why,
            };
            let why = why.to_owned();
            let ids = ids(event);
            if ids.iter().any(|id| out.is_open(id)) {
                close(&ids, ended(event, why, None, Progress::Failed), at_s, out);
            } else {
                // the agent reads it and goes on
                notice(Level::Warn, why, out);
            }
        }
        "ConversationErrorEvent" => {
            out.facts.end = Some(End::Error);
            let text = match (text(event, "code"), text(event, "detail")) {
                (code, "") => code.to_owned(),
                ("", detail) => detail.to_owned(),
                (code, detail) => format!("{code}: {detail}"),
            };
            out.push(Entry::new(at_s, Kind::Error { text }));
        }
        "ConversationStateUpdateEvent" => {
            let value = event.get("value").unwrap_or(&Value::Null);
            match text(event, "key") {
                "execution_status" => return read_status(value, out),
                "stats" => read_stats(value, at_s, out),
                "full_state" => {
                    let model = value.pointer("/agent/llm/model").and_then(Value::as_str);
                    if let Some(model) = model {
                        out.facts.model = Some(model.to_owned());
                    }
                    read_stats(value.get("stats").unwrap_or(&Value::Null), at_s, out);
                    return read_status(value.get("execution_status").unwrap_or(&Value::Null), out);
                }
                key => return STATE.contains(&key),
            }
        }
        "Condensation" | "CondensationRequest" | "CondensationSummaryEvent" => {
            notice(Level::Info, "context condensed".into(), out);
        }
        "ACPToolCallEvent" => read_acp(event, at_s, out),
        "PauseEvent" | "InterruptEvent" => {
            out.facts.end = Some(End::Interrupted);
            notice(Level::Info, "interrupted".into(), out);
        }
        // parts of messages that come again as a whole
        "StreamingDeltaEvent" | "TokenEvent" | "LLMCompletionLogEvent" => {}
        _ => return false,
    }
    true
}

fn message(role: Role, text: String, at_s: Option<f64>, out: &mut Out) {
    if !text.trim().is_empty() {
        out.push(Entry::new(at_s, Kind::Message { role, text }));
    }
}

/// Text out of a string, a block, or a list of blocks.
fn words(value: &Value) -> String {
    match value {
        Value::Object(_) => owned(value, "text"),
        other => flat(other),
    }
}

fn reasoning(holder: &Value, at_s: Option<f64>, out: &mut Out) {
    let text = owned(holder, "reasoning_content");
    if !text.is_empty() {
        out.push(Entry::new(at_s, Kind::Reasoning { text }));
    }
}

fn read_message(event: &Value, at_s: Option<f64>, out: &mut Out) {
    let said = event.get("llm_message").unwrap_or(&Value::Null);
    let role = match text(event, "source") {
        "agent" => Role::Agent,
        "user" => Role::User,
        _ => Role::System,
    };
    if role != Role::System {
        out.facts.end = None;
    }
    reasoning(said, at_s, out);
    let content = said.get("content").map_or_else(String::new, words);
    message(role, content, at_s, out);
}

fn read_action(event: &Value, at_s: Option<f64>, out: &mut Out) {
    reasoning(event, at_s, out);
    let thought = event.get("thought").map_or_else(String::new, words);
    message(Role::Agent, thought, at_s, out);
    let name = text(event, "tool_name");
    let args = match event.get("action") {
        Some(action) if action.is_object() => action.clone(),
        // what could not be made an action
        _ => called(event.get("tool_call").unwrap_or(&Value::Null)),
    };
    out.facts.end = None;
    match name {
        "finish" => {
            out.facts.end = Some(End::Completed);
            message(Role::Agent, owned(&args, "message"), at_s, out);
            return;
        }
        "think" => {
            let text = owned(&args, "thought");
            out.push(Entry::new(at_s, Kind::Reasoning { text }));
            return;
        }
        _ => {}
    }
    let entry = Entry::new(at_s, tool(name, args));
    match ids(event).into_iter().find(|id| !id.is_empty()) {
        Some(id) => out.begin(id, entry),
        None => {
            out.push(entry);
        }
    }
}

/// Arguments as the model wrote them: JSON in a string.
fn called(call: &Value) -> Value {
    let arguments = call
        .get("arguments")
        .or_else(|| call.pointer("/function/arguments"));
    match arguments {
        Some(Value::String(text)) => parse(text).unwrap_or_else(|| text.clone().into()),
        Some(other) => other.clone(),
        None => Value::Null,
    }
}

fn tool(name: &str, mut args: Value) -> Kind {
    let edits = match text(&args, "command") {
        "create" => Some(EditKind::Add),
        "str_replace" | "insert" | "undo_edit" => Some(EditKind::Update),
        _ => None,
    };
    match (name, edits) {
        ("terminal" | "execute_bash" | "bash", _) => Kind::Command {
            command: owned(&args, "command"),
            output: String::new(),
            exit: None,
            progress: Progress::Running,
            duration_s: None,
        },
        ("file_editor" | "str_replace_editor", Some(kind)) => Kind::Edit {
            files: vec![(kind, owned(&args, "path"))],
            detail: diff(&args),
            progress: Progress::Running,
        },
        _ => {
            if let Value::Object(fields) = &mut args {
                fields.remove("kind");
            }
            Kind::Tool {
                name: name.to_owned(),
                input: brief(&args),
                output: String::new(),
                progress: Progress::Running,
            }
        }
    }
}

fn read_observation(event: &Value, at_s: Option<f64>, out: &mut Out) {
    if matches!(text(event, "tool_name"), "finish" | "think") {
        return;
    }
    let seen = event.get("observation").unwrap_or(&Value::Null);
    let content = ["content", "output", "text"]
        .into_iter()
        .filter_map(|key| seen.get(key))
        .map(words)
        .find(|text| !text.is_empty());
    let failed = seen.get("is_error").and_then(Value::as_bool) == Some(true);
    let code = seen
        .get("exit_code")
        .filter(|code| !code.is_null())
        .or_else(|| seen.pointer("/metadata/exit_code"));
    let (exit, progress) = by_code(code.and_then(Value::as_i64), failed);
    let ended = ended(event, content.unwrap_or_default(), exit, progress);
    close(&ids(event), ended, at_s, out);
}

fn ended(event: &Value, output: String, exit: Option<i64>, progress: Progress) -> Ended {
    Ended {
        name: owned(event, "tool_name"),
        output,
        exit,
        progress,
    }
}

/// Under what a call is begun and ended; an action without a call goes by its own id.
fn ids(event: &Value) -> [&str; 2] {
    let own = if text(event, "kind") == "ActionEvent" {
        "id"
    } else {
        "action_id"
    };
    [text(event, "tool_call_id"), text(event, own)]
}

/// A call of another agent, told again whenever it changes.
fn read_acp(event: &Value, at_s: Option<f64>, out: &mut Out) {
    let input = event.get("raw_input").unwrap_or(&Value::Null);
    let output = event.get("raw_output").map_or_else(String::new, words);
    let failed = event.get("is_error").and_then(Value::as_bool) == Some(true);
    let progress = match text(event, "status") {
        "failed" => Progress::Failed,
        _ if failed => Progress::Failed,
        "completed" => Progress::Done,
        _ => Progress::Running,
    };
    let command = text(input, "command");
    let kind = if text(event, "tool_kind") == "execute" && !command.is_empty() {
        Kind::Command {
            command: command.to_owned(),
            output,
            exit: None,
            progress,
            duration_s: None,
        }
    } else {
        Kind::Tool {
            name: owned(event, "title"),
            input: brief(input),
            output,
            progress,
        }
    };
    let id = text(event, "tool_call_id");
    let entry = Entry::new(at_s, kind);
    if progress != Progress::Running {
        out.close(id, entry);
    } else if let Some((at, _)) = out.opened(id) {
        out.replace(at, entry.clone());
        out.reopen(id, at, entry);
    } else {
        out.begin(id, entry);
    }
}

/// `false`: a status that is not known.
fn read_status(status: &Value, out: &mut Out) -> bool {
    match status.as_str().unwrap_or("") {
        "running" => out.facts.end = None,
        "finished" => out.facts.end = Some(End::Completed),
        "error" | "stuck" => out.facts.end = Some(End::Error),
        "paused" => out.facts.end = Some(End::Interrupted),
        "" | "idle" | "waiting_for_confirmation" | "deleting" => {}
        _ => return false,
    }
    true
}

/// Each part of the session (agent, condenser) gathers its own; all of them are the session's.
fn read_stats(stats: &Value, at_s: Option<f64>, out: &mut Out) {
    let Some(parts) = stats.get("usage_to_metrics").and_then(Value::as_object) else {
        return;
    };
    let mut all = Count::default();
    for metrics in parts.values() {
        let one = counted(metrics);
        for (sum, more) in [
            (&mut all.usage.input, one.usage.input),
            (&mut all.usage.cache_read, one.usage.cache_read),
            (&mut all.usage.cache_write, one.usage.cache_write),
            (&mut all.usage.output, one.usage.output),
            (&mut all.usage.reasoning, one.usage.reasoning),
        ] {
            *sum = sum.saturating_add(more);
        }
        if let Some(cost) = one.cost_usd {
            all.cost_usd = Some(all.cost_usd.unwrap_or(0.0) + cost);
        }
    }
    tell(all, at_s, out);
}
