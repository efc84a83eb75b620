//! mini-swe-agent beside its recordings: models of the Responses API, and tokens as litellm tells
//! them of other services.

use infradev::agent::trace::{End, Kind, Role};
use infradev::domain::submission::LogFormat;
use serde_json::{Value, json};

use super::trajectories::{commands, entries, found, tokens};

fn call(id: &str, command: &str) -> Value {
    json!({"type": "function_call", "id": format!("fc_{id}"), "call_id": id, "name": "bash",
        "arguments": json!({"command": command}).to_string(), "status": "completed"})
}

/// As `litellm_response_model` keeps what came.
fn response(output: &[Value], actions: &[(&str, &str)], usage: &Value) -> Value {
    let actions: Vec<Value> = actions
        .iter()
        .map(|(id, command)| json!({"command": command, "tool_call_id": id}))
        .collect();
    json!({"id": "resp_1", "created_at": 1_767_323_045, "error": null, "incomplete_details": null,
        "model": "gpt-5-mini", "object": "response", "output": output, "parallel_tool_calls": true,
        "status": "completed", "usage": usage,
        "extra": {"actions": actions, "cost": 0.25, "timestamp": 1_795_974_111.5}})
}

fn told(id: &str, output: &str, code: i64, why: &str) -> Value {
    json!({"extra": {"raw_output": output, "returncode": code, "timestamp": 1_795_974_112.0,
            "exception_info": why},
        "type": "function_call_output", "call_id": id,
        "output": format!("{{\"returncode\": {code}}}")})
}

fn trajectory(messages: &[Value], status: &str) -> String {
    let log = json!({"info": {"model_stats": {"instance_cost": 0.5, "api_calls": 2},
            "config": {"model": {"model_name": "openai/gpt-5-mini"}}, "mini_version": "2.4.6",
            "exit_status": status, "submission": ""},
        "messages": messages, "trajectory_format": "mini-swe-agent-1.1"});
    serde_json::to_string_pretty(&log).unwrap()
}

fn text(text: &str) -> Value {
    json!([{"type": "output_text", "text": text, "annotations": []}])
}

#[test]
fn a_session_over_the_responses_api_is_told_as_one_over_chat() {
    let usage = json!({"input_tokens": 5000, "input_tokens_details": {"cached_tokens": 4096},
        "output_tokens": 120, "output_tokens_details": {"reasoning_tokens": 40},
        "total_tokens": 5120});
    let log = trajectory(
        &[
            json!({"role": "system", "content": "be good"}),
            // as the models of other services have it
            json!({"type": "message", "role": "user",
                "content": [{"type": "input_text", "text": "fix it"}]}),
            response(
                &[
                    json!({"type": "reasoning", "id": "rs_1", "encrypted_content": "gAAA",
                        "content": null, "summary": [{"type": "summary_text", "text": "**Look**"}]}),
                    json!({"type": "message", "role": "assistant", "content": text("Two look-ups.")}),
                    call("call_1", "ls"),
                    call("call_2", "no_such"),
                ],
                &[("call_1", "ls"), ("call_2", "no_such")],
                &usage,
            ),
            told("call_1", "a\n", 0, ""),
            told("call_2", "not found\n", 127, ""),
            // an answer without a call stands in the complaint about it
            json!({"type": "message", "role": "user",
                "content": [{"type": "input_text", "text": "Tool call error"}],
                "extra": {"interrupt_type": "FormatError", "cost": 0.25,
                    "response": response(
                        &[json!({"type": "message", "role": "assistant", "content": text("Hm.")})],
                        &[], &usage)}}),
            response(
                &[
                    json!({"type": "reasoning", "id": "rs_2", "summary": [], "role": "assistant",
                        "content": text("Wrapping up")}),
                    json!({"type": "message", "role": "assistant", "content": text("Done.")}),
                    call("call_3", "echo COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT"),
                ],
                &[("call_3", "echo COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT")],
                &usage,
            ),
            told("call_3", "", -1, "action was not executed"),
            json!({"role": "exit", "content": "",
                "extra": {"exit_status": "Submitted", "submission": ""}}),
        ],
        "Submitted",
    );
    let document = found(&log, LogFormat::Mini);
    assert_eq!(
        commands(&document),
        [
            ("ls", Some(0), true),
            ("no_such", Some(127), true),
            ("echo COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT", None, true),
        ]
    );
    assert_eq!(document.messages, 3);
    assert_eq!(document.r#final.as_deref(), Some("Done."));
    assert_eq!(
        tokens(&document),
        ([3 * 904, 3 * 4096, 0, 3 * 80, 3 * 40], Some(0.75))
    );
    assert_eq!((document.end, document.errors.len()), (End::Completed, 0));

    let all = entries(log.as_bytes(), LogFormat::Mini);
    let mut said = Vec::new();
    for entry in &all {
        match &entry.kind {
            Kind::Reasoning { text } => said.push(("thinks", text.as_str())),
            Kind::Message {
                role: Role::Agent,
                text,
            } => said.push(("says", text)),
            Kind::Message { text, .. } => said.push(("is told", text)),
            Kind::Command { output, .. } => said.push(("sees", output)),
            Kind::Raw { text } => panic!("{text}"),
            _ => {}
        }
    }
    assert_eq!(
        said,
        [
            ("is told", "be good"),
            ("is told", "fix it"),
            ("thinks", "**Look**"),
            ("says", "Two look-ups."),
            ("sees", "a\n"),
            ("sees", "not found\n"),
            ("says", "Hm."),
            ("is told", "Tool call error"),
            ("thinks", "Wrapping up"),
            ("says", "Done."),
            ("sees", "action was not executed"),
        ]
    );
}

#[test]
fn a_prompt_holds_what_the_cache_gave_and_took() {
    let chat = |usage: Value| {
        json!({"role": "assistant", "content": "ok", "extra": {"actions": [], "cost": 0.25,
            "response": {"usage": usage}}})
    };
    for (usage, counts) in [
        // Anthropic's, as litellm writes it: input 10, creation 100, reads 900
        (
            json!({"prompt_tokens": 1010, "completion_tokens": 30, "total_tokens": 1040,
                "completion_tokens_details": null,
                "prompt_tokens_details": {"audio_tokens": null, "cached_tokens": 900,
                    "cache_creation_tokens": 100},
                "cache_creation_input_tokens": 100, "cache_read_input_tokens": 900}),
            [10, 900, 100, 30, 0],
        ),
        (
            json!({"prompt_tokens": 1010, "completion_tokens": 30, "prompt_tokens_details": null,
                "cache_creation_input_tokens": 100, "cache_read_input_tokens": 900}),
            [10, 900, 100, 30, 0],
        ),
        (
            json!({"prompt_tokens": 1010, "completion_tokens": 30,
                "prompt_tokens_details": {"cached_tokens": 900, "cache_write_tokens": 100},
                "completion_tokens_details": {"reasoning_tokens": 20}}),
            [10, 900, 100, 10, 20],
        ),
    ] {
        let document = found(&trajectory(&[chat(usage)], ""), LogFormat::Mini);
        assert_eq!(tokens(&document), (counts, Some(0.25)));
    }
}

#[test]
fn tokens_that_the_service_did_not_tell_are_unknown() {
    let chat = |response: Value| {
        json!({"role": "assistant", "content": "ok",
            "extra": {"actions": [], "cost": 0.0, "response": response}})
    };
    let known = json!({"usage": {"prompt_tokens": 7, "completion_tokens": 3}});
    for unknown in [
        chat(json!({"usage": null})),
        chat(json!({"usage": {}})),
        chat(json!("ModelResponse(usage=None)")),
        response(&[], &[], &Value::Null),
    ] {
        let document = found(
            &trajectory(std::slice::from_ref(&unknown), ""),
            LogFormat::Mini,
        );
        assert_eq!(document.usage, None, "{unknown}");
        let both = trajectory(&[unknown, chat(known.clone())], "");
        assert_eq!(tokens(&found(&both, LogFormat::Mini)).0, [7, 0, 0, 3, 0]);
    }
}
