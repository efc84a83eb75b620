//! OpenHands: events of the old kind and of the SDK, in the shapes that their sources give.

use infradev::agent::trace::{End, Entry, Kind, TraceDocument};
use infradev::domain::submission::LogFormat;
use serde_json::{Value, json};

use super::trajectories::{commands, edits, entries, found, tokens};

pub fn v0() -> Vec<Value> {
    let metrics = |cost: f64, prompt: u64, completion: u64| {
        json!({"accumulated_cost": cost, "accumulated_token_usage": {"prompt_tokens": prompt,
            "completion_tokens": completion, "cache_read_tokens": 600, "cache_write_tokens": 100,
            "reasoning_tokens": 10}, "costs": [], "token_usages": []})
    };
    let event = |id: u64, source: &str, rest: Value| {
        let mut event = json!({"id": id, "timestamp": format!("2026-01-01T00:00:0{id}.500000"),
            "source": source, "message": "m"});
        for (key, value) in rest.as_object().unwrap() {
            event[key] = value.clone();
        }
        event
    };
    vec![
        event(
            0,
            "user",
            json!({"action": "message", "args": {"content": "fix it"}}),
        ),
        event(
            1,
            "agent",
            json!({"action": "run", "args": {"command": "make", "thought": "I build"},
            "tool_call_metadata": {"tool_call_id": "c", "model_response": {"model": "claude-x"}},
            "llm_metrics": metrics(0.25, 1000, 50)}),
        ),
        event(
            2,
            "agent",
            json!({"observation": "run", "cause": 1, "content": "no rule",
            "extras": {"command": "make", "metadata": {"exit_code": 2}}}),
        ),
        event(
            3,
            "agent",
            json!({"action": "edit", "args": {"path": "/r/a.py", "command": "create",
            "file_text": "x"}, "llm_metrics": metrics(0.5, 2500, 90)}),
        ),
        event(
            4,
            "agent",
            json!({"observation": "edit", "cause": 3, "content": "done", "extras": {}}),
        ),
        event(
            5,
            "agent",
            json!({"action": "run", "args": {"command": "sleep 99"},
            "llm_metrics": metrics(0.5, 2500, 90)}),
        ),
        event(
            6,
            "agent",
            json!({"observation": "run", "cause": 5, "content": "still",
            "extras": {"metadata": {"exit_code": -1}}}),
        ),
        event(
            7,
            "environment",
            json!({"observation": "new_kind", "content": "?"}),
        ),
        event(
            8,
            "agent",
            json!({"action": "finish", "args": {"final_thought": "all done"}}),
        ),
    ]
}

fn check_v0(document: &TraceDocument) {
    assert_eq!(
        commands(document),
        [("make", Some(2), true), ("sleep 99", None, false)]
    );
    assert_eq!(document.commands[0].duration_s, Some(1.0));
    assert_eq!(edits(document), ["Add /r/a.py"]);
    assert_eq!(tokens(document), ([1800, 600, 100, 80, 10], Some(0.5)));
    assert_eq!(document.model.as_deref(), Some("claude-x"));
    assert_eq!(document.r#final.as_deref(), Some("all done"));
    assert_eq!(
        (document.end, document.errors.len(), document.unparsed_lines),
        (End::Completed, 0, 0)
    );
}

pub fn lines(events: &[Value]) -> String {
    let lines: Vec<String> = events.iter().map(Value::to_string).collect();
    lines.join("\n") + "\n"
}

#[test]
fn openhands_events_in_every_wrapping() {
    let events = v0();
    let list = json!(events);
    let row = json!({"instance_id": "a__b-1", "test_result": {"git_patch": ""}, "instruction": "",
        "metadata": {}, "history": events, "metrics": {"accumulated_cost": 0.5}, "error": null});
    let pairs = json!({"instance_id": "a", "history": [[events[0], null], [events[1], events[2]]]});
    for log in [
        lines(&events),
        list.to_string(),
        serde_json::to_string_pretty(&list).unwrap(),
        row.to_string(),
        serde_json::to_string_pretty(&row).unwrap(),
        json!({"trajectory": events}).to_string(),
    ] {
        check_v0(&found(&log, LogFormat::Openhands));
    }
    let raw = |entry: &&Entry| matches!(entry.kind, Kind::Raw { .. });
    let all = entries(lines(&events).as_bytes(), LogFormat::Openhands);
    assert_eq!(all.iter().filter(raw).count(), 1, "the kind that is new");
    assert_eq!(all[0].at_s, Some(1_767_225_600.5));

    let document = found(&pairs.to_string(), LogFormat::Openhands);
    assert_eq!(commands(&document), [("make", Some(2), true)]);
    let one = serde_json::to_string_pretty(&events[1]).unwrap();
    let document = found(&one, LogFormat::Openhands);
    assert_eq!(commands(&document), [("make", None, false)]);

    let two = format!("{row}\n{row}\n");
    let document = found(&two, LogFormat::Openhands);
    assert_eq!(tokens(&document), ([3600, 1200, 200, 160, 20], Some(1.0)));
}

pub fn sdk() -> Vec<Value> {
    let base = |kind: &str, source: &str| json!({"kind": kind, "id": kind, "timestamp": "2026-01-01T00:00:00", "source": source});
    let event = |kind: &str, source: &str, rest: Value| {
        let mut event = base(kind, source);
        for (key, value) in rest.as_object().unwrap() {
            event[key] = value.clone();
        }
        event
    };
    let call = |id: &str, name: &str, rest: Value| {
        let mut event = event(
            "ActionEvent",
            "agent",
            json!({"tool_name": name, "tool_call_id": id,
            "thought": [{"type": "text", "text": "look"}], "reasoning_content": "hm"}),
        );
        for (key, value) in rest.as_object().unwrap() {
            event[key] = value.clone();
        }
        event
    };
    let seen = |id: &str, observation: Value| {
        event(
            "ObservationEvent",
            "environment",
            json!({"tool_name": "terminal", "tool_call_id": id, "observation": observation, "action_id": "ActionEvent"}),
        )
    };
    let stats = |prompt: u64| {
        let metrics = |prompt: u64| {
            json!({"accumulated_cost": 0.125, "accumulated_token_usage":
            {"prompt_tokens": prompt, "completion_tokens": 50, "cache_read_tokens": 300}})
        };
        event(
            "ConversationStateUpdateEvent",
            "environment",
            json!({"key": "stats", "value": {"usage_to_metrics": {"agent": metrics(prompt), "condenser": metrics(400)}}}),
        )
    };
    vec![
        event(
            "SystemPromptEvent",
            "agent",
            json!({"system_prompt": {"type": "text", "text": "be good"}, "tools": []}),
        ),
        event(
            "MessageEvent",
            "user",
            json!({"llm_message": {"role": "user", "content": [{"type": "text", "text": "fix"}]}}),
        ),
        // an action that is only in the call
        call(
            "c1",
            "terminal",
            json!({"tool_call": {"id": "c1", "name": "terminal", "arguments": "{\"command\":\"ls\"}"}}),
        ),
        seen(
            "c1",
            json!({"kind": "TerminalObservation", "content": [{"type": "text", "text": "a"}], "is_error": false, "exit_code": 0}),
        ),
        stats(1000),
        call(
            "c2",
            "file_editor",
            json!({"action": {"kind": "FileEditorAction", "command": "str_replace", "path": "/r/a.py", "old_str": "x", "new_str": "y"}}),
        ),
        seen(
            "c2",
            json!({"content": [{"type": "text", "text": "edited"}]}),
        ),
        call(
            "c3",
            "terminal",
            json!({"action": {"kind": "TerminalAction", "command": "boom"}}),
        ),
        event(
            "AgentErrorEvent",
            "agent",
            json!({"error": "bad call", "tool_name": "terminal", "tool_call_id": "c3"}),
        ),
        event("StreamingDeltaEvent", "agent", json!({"content": "x"})),
        event("NewEvent", "agent", json!({})),
        stats(1500),
        event(
            "ACPToolCallEvent",
            "agent",
            json!({"tool_call_id": "p", "status": "in_progress", "tool_kind": "execute", "raw_input": {"command": "date"}}),
        ),
        event(
            "ACPToolCallEvent",
            "agent",
            json!({"tool_call_id": "p", "status": "completed", "tool_kind": "execute", "raw_input": {"command": "date"}}),
        ),
        call(
            "c4",
            "finish",
            json!({"action": {"kind": "FinishAction", "message": "all done"}}),
        ),
    ]
}

#[test]
fn openhands_sdk_events() {
    let mut events = sdk();
    let document = found(&lines(&events), LogFormat::Openhands);
    assert_eq!(
        commands(&document),
        [
            ("ls", Some(0), true),
            ("boom", None, true),
            ("date", None, true)
        ]
    );
    assert_eq!(edits(&document), ["Update /r/a.py"]);
    assert_eq!(tokens(&document), ([1300, 600, 0, 100, 0], Some(0.25)));
    assert_eq!((document.end, document.errors.len()), (End::Completed, 0));
    assert_eq!(document.r#final.as_deref(), Some("all done"));
    assert_eq!(
        document,
        found(&json!(events).to_string(), LogFormat::Openhands)
    );

    events.push(json!({"kind": "ConversationErrorEvent", "source": "environment", "code": "LLMError", "detail": "no money"}));
    let log = format!("noise of a shell\n{}", lines(&events));
    let document = found(&log, LogFormat::Openhands);
    assert_eq!((document.end, document.unparsed_lines), (End::Error, 1));
    assert_eq!(document.errors, ["LLMError: no money"]);
}
