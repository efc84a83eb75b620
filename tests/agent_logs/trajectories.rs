//! SWE-agent: the shapes that its source gives; and, with OpenHands, logs that are cut.

use infradev::agent::trace::{
    self, End, Entry, Kind, Role, Summary, TraceDocument, TraceReader, detect,
};
use infradev::domain::submission::LogFormat;
use serde_json::{Value, json};

use super::openhands::{lines, sdk, v0};

pub fn entries(log: &[u8], format: LogFormat) -> Vec<Entry> {
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

pub fn whole(log: &[u8], format: LogFormat) -> TraceDocument {
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
pub fn found(log: &str, format: LogFormat) -> TraceDocument {
    assert_eq!(detect(log.as_bytes()), Some(format), "{log}");
    whole(log.as_bytes(), format)
}

pub fn commands(document: &TraceDocument) -> Vec<(&str, Option<i64>, bool)> {
    let all = document.commands.iter();
    all.map(|c| (c.command.as_str(), c.exit_code, c.finished))
        .collect()
}

pub fn edits(document: &TraceDocument) -> Vec<String> {
    let all = document.edits.iter();
    all.map(|e| format!("{:?} {}", e.kind, e.path)).collect()
}

/// Input, cache reads, cache writes, output, reasoning.
pub fn tokens(document: &TraceDocument) -> ([u64; 5], Option<f64>) {
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
    json!({"trajectory": steps, "history": [{"role": "system", "content": "be good"},
            {"role": "user", "content": "fix it"}],
        "info": {"exit_status": status, "submission": "diff", "model_stats": {"instance_cost": 0.25,
            "tokens_sent": sent, "tokens_received": 90, "api_calls": 3}},
        "replay_config": json!({"agent": {"model": {"name": "gpt-x"}}}).to_string(), "environment": "swe_main"})
}

/// With the steps before the messages, as the program orders them.
fn as_written(log: &Value) -> String {
    let mut rest = log.clone();
    let steps = rest.as_object_mut().unwrap().remove("trajectory").unwrap();
    let rest = rest.to_string();
    format!("{{\"trajectory\":{steps},{}", &rest[1..])
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
    for text in [as_written(&log), log.to_string()] {
        let all = entries(text.as_bytes(), LogFormat::SweAgent);
        let said = all.iter().filter_map(|entry| match &entry.kind {
            Kind::Message { role, text } if *role != Role::Agent => Some(text.as_str()),
            _ => None,
        });
        let told = ["be good", "fix it", "Your output could not be parsed"];
        assert_eq!(said.collect::<Vec<_>>(), told);
    }
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

#[test]
fn a_cut_one_keeps_what_came_before_wherever_it_is() {
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
        for cut in (0..log.len()).step_by(5) {
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
