//! OpenHands events of the old kind: an action, or an observation that names it as its cause.

use serde_json::Value;

use crate::domain::Level;

use super::edit as small;
use super::entry::{EditKind, Entry, Kind, Progress, Role};
use super::facts::End;
use super::json::{brief, flat, owned, text};
use super::openhands::{Ended, by_code, close};
use super::reader::Out;

pub fn read(event: &Value, at_s: Option<f64>, out: &mut Out) -> bool {
    if let Some(action) = event.get("action").and_then(Value::as_str) {
        let model = event.pointer("/tool_call_metadata/model_response/model");
        if let (None, Some(model)) = (&out.facts.model, model.and_then(Value::as_str)) {
            out.facts.model = Some(model.to_owned());
        }
        return read_action(action, event, at_s, out);
    }
    match event.get("observation").and_then(Value::as_str) {
        Some(observation) => read_observation(observation, event, at_s, out),
        None => false,
    }
}

fn read_action(action: &str, event: &Value, at_s: Option<f64>, out: &mut Out) -> bool {
    let args = event.get("args").unwrap_or(&Value::Null);
    let agent = text(event, "source") == "agent";
    let say = |role, text: String, out: &mut Out| {
        if !text.trim().is_empty() {
            out.push(Entry::new(at_s, Kind::Message { role, text }));
        }
    };
    if agent && action != "finish" && action != "change_agent_state" {
        // it goes on: that was not the end
        out.facts.end = None;
    }
    let kind = match action {
        "message" => {
            let role = if agent { Role::Agent } else { Role::User };
            say(role, owned(args, "content"), out);
            return true;
        }
        "system" => {
            say(Role::System, owned(args, "content"), out);
            return true;
        }
        "think" => {
            let text = owned(args, "thought");
            out.push(Entry::new(at_s, Kind::Reasoning { text }));
            return true;
        }
        "finish" => {
            out.facts.end = Some(End::Completed);
            let said = ["final_thought", "thought"]
                .into_iter()
                .map(|key| text(args, key))
                .find(|said| !said.is_empty());
            say(Role::Agent, said.unwrap_or("").to_owned(), out);
            return true;
        }
        "reject" => {
            out.facts.end = Some(End::Error);
            let text = format!("rejected: {}", brief(args));
            out.push(Entry::new(at_s, Kind::Error { text }));
            return true;
        }
        "condensation" | "condensation_request" | "pause" | "resume" | "stop" => {
            notice(Level::Info, action.to_owned(), at_s, out);
            return true;
        }
        // its observation tells it
        "change_agent_state" | "null" => return true,
        "run" => Kind::Command {
            command: owned(args, "command"),
            output: String::new(),
            exit: None,
            progress: Progress::Running,
            duration_s: None,
        },
        "write" | "edit" => edit(action, args),
        "call_tool_mcp" => Kind::Tool {
            name: owned(args, "name"),
            input: args.get("arguments").map_or_else(String::new, brief),
            output: String::new(),
            progress: Progress::Running,
        },
        "run_ipython" => tool(action, owned(args, "code")),
        "read" => tool(action, owned(args, "path")),
        "browse" => tool(action, owned(args, "url")),
        "browse_interactive" => tool(action, owned(args, "browser_actions")),
        "recall" => tool(action, owned(args, "query")),
        "delegate" | "task_tracking" => tool(action, brief(args)),
        _ => return false,
    };
    if agent {
        say(Role::Agent, owned(args, "thought"), out);
    }
    let id = id(event.get("id"));
    let entry = Entry::new(at_s, kind);
    if id.is_empty() {
        out.push(entry);
    } else {
        out.begin(&id, entry);
    }
    true
}

fn tool(name: &str, input: String) -> Kind {
    Kind::Tool {
        name: name.to_owned(),
        input,
        output: String::new(),
        progress: Progress::Running,
    }
}

fn edit(action: &str, args: &Value) -> Kind {
    let path = owned(args, "path");
    if text(args, "command") == "view" {
        return tool("read", path);
    }
    let kind = match text(args, "command") {
        "create" => EditKind::Add,
        _ => EditKind::Update,
    };
    let detail = match action {
        "write" => small::diff("", text(args, "content")),
        _ => diff(args),
    };
    Kind::Edit {
        files: vec![(kind, path)],
        detail,
        progress: Progress::Running,
    }
}

/// What an edit takes out and puts in, as a small diff.
pub fn diff(args: &Value) -> String {
    small::told(args, "old_str", "new_str", "file_text")
}

fn read_observation(name: &str, event: &Value, at_s: Option<f64>, out: &mut Out) -> bool {
    let extras = event.get("extras").unwrap_or(&Value::Null);
    let content = event.get("content").map_or_else(String::new, flat);
    let cause = id(event.get("cause"));
    let (exit, progress) = match name {
        "null" | "think" | "system" | "message" => return true,
        "agent_state_changed" => return read_state(extras, at_s, out),
        "condense" | "agent_condensation" | "success" => {
            notice(Level::Info, content, at_s, out);
            return true;
        }
        // the agent reads it and goes on
        "error" | "user_rejected" if cause.is_empty() => {
            notice(Level::Warn, content, at_s, out);
            return true;
        }
        "error" | "user_rejected" => (None, Progress::Failed),
        "run" => {
            let code = extras.pointer("/metadata/exit_code");
            let code = code.or_else(|| extras.get("exit_code"));
            by_code(code.and_then(Value::as_i64), false)
        }
        "edit" | "write" | "read" | "run_ipython" | "browse" | "mcp" | "delegate" | "recall"
        | "task_tracking" => (None, Progress::Done),
        _ if out.is_open(&cause) => (None, Progress::Done),
        _ => return false,
    };
    let ended = Ended {
        name: name.to_owned(),
        output: content,
        exit,
        progress,
    };
    close(&[&cause], ended, at_s, out);
    true
}

/// `false`: a state that is not known.
fn read_state(extras: &Value, at_s: Option<f64>, out: &mut Out) -> bool {
    let state = text(extras, "agent_state");
    let end = match state {
        "running" => None,
        "finished" => Some(End::Completed),
        "error" | "rejected" => Some(End::Error),
        "stopped" | "paused" | "user_rejected" => Some(End::Interrupted),
        "rate_limited" => {
            let kind = Kind::Wait {
                text: "rate limit".into(),
                delay_s: None,
                rate_limit: true,
            };
            out.push(Entry::new(at_s, kind));
            return true;
        }
        // it begins, or waits for somebody: no news
        ""
        | "init"
        | "loading"
        | "awaiting_user_input"
        | "awaiting_user_confirmation"
        | "user_confirmed" => return true,
        _ => return false,
    };
    out.facts.end = end;
    match (state, text(extras, "reason")) {
        ("error", reason) => {
            let text = match reason {
                "" => "the agent came to a state of error".into(),
                reason => reason.to_owned(),
            };
            out.push(Entry::new(at_s, Kind::Error { text }));
        }
        ("running", _) => {}
        (state, _) => notice(Level::Info, format!("agent {state}"), at_s, out),
    }
    true
}

fn notice(level: Level, text: String, at_s: Option<f64>, out: &mut Out) {
    out.push(Entry::new(at_s, Kind::Notice { level, text }));
}

/// Numbers and strings alike; empty: none.
fn id(value: Option<&Value>) -> String {
    value.map_or_else(String::new, flat)
}
