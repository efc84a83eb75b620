//! What a reader does not know is kept as it is, and what it knows is not lost for it.

use infradev::agent::trace::{Kind, Progress};
use infradev::domain::submission::LogFormat;
use serde_json::{Value, json};

use super::openhands::lines;
use super::trajectories::{commands, entries, whole};

/// Stands in everything that must not be lost.
const NEWS: &str = "quite-new";

/// How often it is kept raw.
fn kept(log: &str, format: LogFormat) -> usize {
    let all = entries(log.as_bytes(), format);
    let raw = |kind: &Kind| matches!(kind, Kind::Raw { text } if text.contains(NEWS));
    all.iter().filter(|entry| raw(&entry.kind)).count()
}

#[test]
fn an_event_of_an_unknown_kind_is_kept_raw() {
    use LogFormat::{Atif, Claude, Codex, Mini, Opencode, Openhands, SweAgent};
    let id = "s";
    let lines: Vec<(LogFormat, Value)> = vec![
        (Codex, json!({"type": NEWS})),
        (
            Codex,
            json!({"type": "item.completed", "item": {"id": "i", "type": NEWS}}),
        ),
        (Codex, json!({"type": "item.completed", "why": NEWS})),
        (Claude, json!({"type": NEWS, "session_id": id})),
        (
            Claude,
            json!({"type": "system", "subtype": NEWS, "session_id": id}),
        ),
        (
            Claude,
            json!({"type": "system", "why": NEWS, "session_id": id}),
        ),
        (
            Claude,
            json!({"type": "rate_limit_event", "why": NEWS, "session_id": id}),
        ),
        (
            Claude,
            json!({"type": "assistant", "message": {"id": "m", "content": [{"type": NEWS}]}}),
        ),
        (
            Claude,
            json!({"type": "user", "message": {"content": [{"type": NEWS}]}}),
        ),
        (Claude, json!({"type": "user", "message": {"role": NEWS}})),
        (Opencode, json!({"type": NEWS, "sessionID": id})),
        (
            Opencode,
            json!({"type": "text", "sessionID": id, "why": NEWS}),
        ),
        (
            Opencode,
            json!({"type": "tool_use", "sessionID": id, "why": NEWS}),
        ),
        (
            Opencode,
            json!({"type": "user", "sessionID": id, "parts": [{"type": "file", "url": NEWS}]}),
        ),
        (Openhands, json!({"source": "agent", "kind": NEWS})),
        (
            Openhands,
            json!({"source": "agent", "action": NEWS, "args": {}}),
        ),
        (
            Openhands,
            json!({"source": "agent", "observation": NEWS, "content": ""}),
        ),
        (
            Openhands,
            json!({"source": "environment", "observation": "agent_state_changed", "content": "",
                "extras": {"agent_state": NEWS}}),
        ),
        (
            Openhands,
            json!({"source": "environment", "kind": "ConversationStateUpdateEvent", "key": NEWS}),
        ),
        (
            Openhands,
            json!({"source": "environment", "kind": "ConversationStateUpdateEvent",
                "key": "execution_status", "value": NEWS}),
        ),
    ];
    for (format, line) in lines {
        assert_eq!(kept(&format!("{line}\n"), format), 1, "{format:?}: {line}");
        // and alone it tells nothing else: no message, no end
        let document = whole(format!("{line}\n").as_bytes(), format);
        assert_eq!(
            (document.messages, document.unparsed_lines),
            (0, 0),
            "{format:?}: {line}"
        );
    }
    let documents: Vec<(LogFormat, Value)> = vec![
        (
            Atif,
            json!({"steps": [{"source": NEWS, "message": "x"}, NEWS]}),
        ),
        (Mini, json!({"messages": [{"role": NEWS, "content": "x"}]})),
        (Mini, json!({"messages": [{"object": NEWS}, NEWS]})),
        (
            Mini,
            json!({"messages": [{"object": "response", "output": [{"type": NEWS},
                {"type": "message", "content": [{"type": "refusal", "refusal": NEWS}]}]}]}),
        ),
        (SweAgent, json!({"trajectory": [{"what": NEWS}, NEWS]})),
        (
            SweAgent,
            json!({"history": [{"role": NEWS}, NEWS], "trajectory": []}),
        ),
        (
            Openhands,
            json!({"history": [{"source": "agent", "action": NEWS}, {"kind": NEWS}]}),
        ),
    ];
    for (format, log) in documents {
        let expected = log.to_string().matches(NEWS).count();
        assert_eq!(
            kept(&log.to_string(), format),
            expected,
            "{format:?}: {log}"
        );
    }
}

#[test]
fn a_wait_for_a_rate_limit_is_none_of_these() {
    let log = json!({"source": "environment", "observation": "agent_state_changed", "content": "",
        "extras": {"agent_state": "rate_limited"}});
    let all = entries(format!("{log}\n").as_bytes(), LogFormat::Openhands);
    let [entry] = &all[..] else {
        panic!("{all:?}");
    };
    assert!(matches!(
        entry.kind,
        Kind::Wait {
            rate_limit: true,
            ..
        }
    ));
}

#[test]
fn a_resumed_codex_session_begins_its_ids_anew() {
    let item = |event: &str, item: Value| json!({"type": event, "item": item});
    let command = |status: &str, code: Option<i64>| {
        json!({"id": "item_0", "type": "command_execution", "command": "sleep 9",
            "aggregated_output": "", "exit_code": code, "status": status})
    };
    let says = |id: &str, text: &str| {
        item(
            "item.completed",
            json!({"id": id, "type": "agent_message", "text": text}),
        )
    };
    let log = [
        json!({"type": "thread.started", "thread_id": "t"}),
        json!({"type": "turn.started"}),
        says("item_1", "one"),
        // killed here, and resumed into the same log
        item("item.started", command("in_progress", None)),
        json!({"type": "thread.started", "thread_id": "t"}),
        says("item_0", "two"),
        item(
            "item.started",
            json!({"id": "item_1", "type": "todo_list", "items": []}),
        ),
        says("item_2", "three"),
        json!({"type": "turn.completed", "usage": {"input_tokens": 1, "output_tokens": 1}}),
    ];
    let log = lines(&log);
    let document = whole(log.as_bytes(), LogFormat::Codex);
    assert_eq!(document.messages, 3);
    assert_eq!(document.r#final.as_deref(), Some("three"));
    assert_eq!(commands(&document), [("sleep 9", None, false)]);
    let all = entries(log.as_bytes(), LogFormat::Codex);
    let running = |kind: &Kind| {
        matches!(
            kind,
            Kind::Command {
                progress: Progress::Running,
                ..
            }
        )
    };
    assert_eq!(all.iter().filter(|entry| running(&entry.kind)).count(), 1);
}
