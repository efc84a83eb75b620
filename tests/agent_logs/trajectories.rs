//! SWE-agent and OpenHands: the shapes that their sources give, whole and cut.

use infradev::agent::trace::{
    self, End, Entry, Kind, Role, Summary, TraceDocument, TraceReader, detect,
};
use infradev::domain::submission::LogFormat;
use serde_json::{Value, json};

fn entries(log: &[u8], format: LogFormat) -> Vec<Entry> {
    let mut all: Vec<Entry> = Vec::new();
    trace::read(log, format, &mut |at, entry| {
        if at < all.len() {
            all[at] = entry;
        } else {
            assert_eq!(at, all.len(), "entries come in order");
            all.push(entry);
        }
    })
    .unwrap();
    all
}

fn whole(log: &[u8], format: LogFormat) -> TraceDocument {
    let mut summary = Summary::new(format);
    let facts = trace::read(log, format, &mut |at, entry| summary.take(at, &entry)).unwrap();
    let document = summary.document(facts);
    let mut summary = Summary::new(format);
    let mut reader = TraceReader::new(format);
    for piece in log.chunks(101) {
        for (at, entry) in reader.feed(piece) {
            summary.take(at, &entry);
        }
    }
    for (at, entry) in reader.finish() {
        summary.take(at, &entry);
    }
    assert_eq!(summary.document(reader.facts().clone()), document);
    document
}

/// As the content tells the format.
fn found(log: &str, format: LogFormat) -> TraceDocument {
    assert_eq!(detect(log.as_bytes()), Some(format), "{log}");
    whole(log.as_bytes(), format)
}

fn commands(document: &TraceDocument) -> Vec<(&str, Option<i64>, bool)> {
    let all = document.commands.iter();
    all.map(|c| (c.command.as_str(), c.exit_code, c.finished))
        .collect()
}

fn edits(document: &TraceDocument) -> Vec<String> {
    let all = document.edits.iter();
    all.map(|e| format!("{:?} {}", e.kind, e.path)).collect()
}

/// Input, cache reads, cache writes, output, reasoning.
fn tokens(document: &TraceDocument) -> ([u64; 5], Option<f64>) {
    let u = document.usage.as_ref().unwrap();
    (
        [u.input, u.cache_read, u.cache_write, u.output, u.reasoning],
        u.cost_usd,
    )
}

fn step(action: &str, observation: &str) -> Value {
    json!({"action": action, "observation": observation, "response": format!("look\n```\n{action}\n```"),
        "thought": "look", "state": {"working_dir": "/r"}, "execution_time": 0.5,
        "query": [{"role": "system", "content": "be good"},
            {"role": "assistant", "content": "shown", "is_demo": true},
            {"role": "user", "content": [{"type": "text", "text": "fix it"}]}], "extra_info": {}})
}

fn attempt(status: &str, sent: u64, steps: &[Value]) -> Value {
    json!({"trajectory": steps, "history": [{"role": "system", "content": "be good"}],
        "info": {"exit_status": status, "submission": "diff", "model_stats": {"instance_cost": 0.25,
            "tokens_sent": sent, "tokens_received": 90, "api_calls": 3}},
        "replay_config": json!({"agent": {"model": {"name": "gpt-x"}}}).to_string(), "environment": "swe_main"})
}

#[test]
fn sweagent_steps_and_its_totals() {
    let log = attempt(
        "submitted",
        1000,
        &[
            step("ls", "a\n"),
            step(
                "str_replace_editor create /r/new.py --file_text 'x'",
                "File created successfully at: /r/new.py",
            ),
            step(
                "str_replace_editor str_replace /r/a.py --old_str x",
                "No replacement was performed",
            ),
            step("", "Your output could not be parsed"),
            step("submit", "diff"),
        ],
    );
    for text in [log.to_string(), serde_json::to_string_pretty(&log).unwrap()] {
        let document = found(&text, LogFormat::SweAgent);
        assert_eq!(
            commands(&document),
            [("ls", None, true), ("submit", None, true)]
        );
        assert_eq!(document.commands[0].duration_s, Some(0.5));
        assert_eq!(edits(&document), ["Add /r/new.py"]);
        assert_eq!(tokens(&document), ([1000, 0, 0, 90, 0], Some(0.25)));
        assert_eq!(document.model.as_deref(), Some("gpt-x"));
        assert_eq!(
            (document.end, document.messages, document.unparsed_lines),
            (End::Completed, 5, 0)
        );
    }
    let all = entries(log.to_string().as_bytes(), LogFormat::SweAgent);
    let said: Vec<_> = all
        .iter()
        .filter_map(|entry| match &entry.kind {
            Kind::Message { role, text } if *role != Role::Agent => Some(text.as_str()),
            _ => None,
        })
        .collect();
    assert_eq!(
        said,
        ["be good", "fix it", "Your output could not be parsed"]
    );
}

#[test]
fn sweagents_attempts_are_told_once() {
    let first = attempt("submitted (exit_cost)", 1000, &[step("ls", "a")]);
    let second = attempt("submitted", 400, &[step("cat b", "b")]);
    let running = json!({"attempts": [first, second]});
    let document = found(&running.to_string(), LogFormat::SweAgent);
    assert_eq!(document.end, End::Interrupted, "no end of the whole");
    assert_eq!(tokens(&document), ([1400, 0, 0, 180, 0], Some(0.5)));

    let mut ended = running;
    for (key, value) in second.as_object().unwrap() {
        ended[key] = value.clone();
    }
    ended["info"]["best_attempt_idx"] = 1.into();
    ended["info"]["model_stats"]["tokens_sent"] = 1500.into();
    let document = found(&ended.to_string(), LogFormat::SweAgent);
    assert_eq!(
        commands(&document),
        [("ls", None, true), ("cat b", None, true)]
    );
    assert_eq!((document.end, document.errors.len()), (End::Completed, 0));
    assert_eq!(tokens(&document), ([1500, 0, 0, 90, 0], Some(0.25)));
}

#[test]
fn sweagent_without_steps_is_read_from_its_messages() {
    let log = json!({"trajectory": [], "history": [{"role": "user", "content": "fix it"},
            {"role": "assistant", "content": "I look", "thought": "I look", "action": "ls"},
            {"role": "tool", "content": "a", "message_type": "observation"},
            {"role": "assistant", "content": "more", "action": "cat a"}],
        "info": {"exit_status": "exit_context"}});
    let document = found(&log.to_string(), LogFormat::SweAgent);
    assert_eq!(
        commands(&document),
        [("ls", None, true), ("cat a", None, false)]
    );
    assert_eq!(document.end, End::Error);
    assert_eq!(document.errors, ["exit: exit_context"]);
    assert_eq!((document.messages, &document.usage), (2, &None));
}

fn v0() -> Vec<Value> {
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

fn lines(events: &[Value]) -> String {
    events.iter().map(|event| format!("{event}\n")).collect()
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

fn sdk() -> Vec<Value> {
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

#[test]
fn a_cut_one_keeps_what_came_before_at_every_byte() {
    let swe = attempt("submitted", 9, &[step("ls", "a"), step("cat é", "b")]);
    let retry = json!({"attempts": [swe, swe]});
    for (log, format, all) in [
        (swe.to_string(), LogFormat::SweAgent, 2),
        (retry.to_string(), LogFormat::SweAgent, 4),
        (lines(&v0()), LogFormat::Openhands, 2),
        (json!(v0()).to_string(), LogFormat::Openhands, 2),
        (lines(&sdk()), LogFormat::Openhands, 3),
    ] {
        let mut most = 0;
        for cut in 0..log.len() {
            let document = whole(&log.as_bytes()[..cut], format);
            let now = document.commands.len();
            assert!((most..=all).contains(&now), "{now} at {cut} of {log}");
            most = now;
            let inside = log.as_bytes()[..cut]
                .rsplit(|b| *b == b'\n')
                .next()
                .is_some_and(|line| !line.is_empty());
            if inside && log.as_bytes()[cut] != b'\n' {
                assert_eq!(document.end, End::Truncated, "at {cut} of {log}");
            }
            detect(&log.as_bytes()[..cut]);
        }
        assert_eq!(whole(log.as_bytes(), format).commands.len(), all);
    }
}
