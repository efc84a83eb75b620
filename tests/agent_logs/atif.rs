//! ATIF: the shapes that its description gives.

use infradev::agent::trace::{End, Kind, Role};
use infradev::domain::submission::LogFormat;
use serde_json::{Value, json};

use super::trajectories::{commands, edits, entries, found, tokens};

fn call(id: &str, name: &str, arguments: &Value) -> Value {
    json!({"tool_call_id": id, "function_name": name, "arguments": arguments})
}

fn session() -> Value {
    json!({"schema_version": "ATIF-v1.7", "session_id": "s",
        "agent": {"name": "codex", "version": "0.1", "model_name": "gpt-x"},
        "steps": [
            {"step_id": 1, "source": "system", "message": "be good"},
            {"step_id": 2, "source": "user", "message": [{"type": "text", "text": "fix it"}]},
            {"step_id": 3, "source": "agent", "message": "copied", "is_copied_context": true,
                "tool_calls": [call("c0", "bash", &json!({"command": "old"}))],
                "metrics": {"prompt_tokens": 9000, "completion_tokens": 9}},
            {"step_id": 4, "timestamp": "2026-01-01T00:00:00Z", "source": "agent", "message": "look",
                "reasoning_content": "hm",
                "tool_calls": [
                    call("c1", "shell", &json!({"command": ["bash", "-lc", "ls | wc"]})),
                    call("c2", "exec_command", &json!({"cmd": "no_such"})),
                    call("c3", "apply_patch", &json!({"input":
                        "*** Begin Patch\n*** Add File: new.py\n+x\n*** Delete File: a.py\n*** End Patch"})),
                ],
                "observation": {"results": [
                    {"source_call_id": "c1", "content": "1"},
                    {"source_call_id": "c2", "content": "not found", "extra": {"exit_code": 127}},
                    {"source_call_id": "c3", "content": "Done"}]},
                "metrics": {"prompt_tokens": 1000, "completion_tokens": 50, "cached_tokens": 700,
                    "cost_usd": 0.25, "extra": {"reasoning_output_tokens": 20,
                        "cache_creation_input_tokens": 100}}},
            {"step_id": 5, "source": "agent", "message": "",
                "tool_calls": [call("c4", "bash_command", &json!({"keystrokes": "make\n"}))],
                "observation": {"results": [{"content": "ok"}]},
                "metrics": {"prompt_tokens": 10, "completion_tokens": 5}},
            {"step_id": 6, "source": "agent", "message": "done",
                "tool_calls": [call("c5", "Bash", &json!({"command": "sleep 9"})),
                    call("c6", "Write", &json!({"file_path": "b.py", "content": "x"}))]},
        ],
        "final_metrics": {"total_prompt_tokens": 1010, "total_completion_tokens": 55,
            "total_cached_tokens": 700, "total_cost_usd": 0.25, "total_steps": 6}})
}

#[test]
fn atif_steps_calls_and_tokens() {
    let log = session();
    for text in [log.to_string(), serde_json::to_string_pretty(&log).unwrap()] {
        let document = found(&text, LogFormat::Atif);
        assert_eq!(
            commands(&document),
            [
                ("ls | wc", None, true),
                ("no_such", Some(127), true),
                ("make", None, true),
                ("sleep 9", None, false)
            ]
        );
        // one without an observation was not seen to be made
        assert_eq!(edits(&document), ["Add new.py", "Delete a.py"]);
        assert_eq!(tokens(&document), ([210, 700, 100, 35, 20], Some(0.25)));
        assert_eq!(document.agent.as_deref(), Some("codex"));
        assert_eq!(document.model.as_deref(), Some("gpt-x"));
        assert_eq!((document.end, document.messages), (End::Completed, 2));
        assert_eq!(document.r#final.as_deref(), Some("done"));
    }
    let all = entries(log.to_string().as_bytes(), LogFormat::Atif);
    let said = all.iter().filter_map(|entry| match &entry.kind {
        Kind::Message { role, text } if *role != Role::Agent => Some(text.as_str()),
        _ => None,
    });
    assert_eq!(said.collect::<Vec<_>>(), ["be good", "fix it"]);
    assert_eq!(all[3].at_s, Some(1_767_225_600.0));
}

#[test]
fn atif_totals_count_where_no_step_does_and_a_cut_one_keeps_its_steps() {
    let mut log = session();
    for step in log["steps"].as_array_mut().unwrap() {
        step.as_object_mut().unwrap().remove("metrics");
    }
    let document = found(&log.to_string(), LogFormat::Atif);
    assert_eq!(tokens(&document), ([310, 700, 0, 55, 0], Some(0.25)));
    log["final_metrics"] = Value::Null;
    assert_eq!(found(&log.to_string(), LogFormat::Atif).usage, None);

    let text = session().to_string();
    let cut = text.find("keystrokes").unwrap();
    let document = found(&text[..cut], LogFormat::Atif);
    assert_eq!(document.end, End::Truncated);
    assert_eq!(commands(&document).len(), 2);
}
