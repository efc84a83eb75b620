//! Which program wrote a log, told by its beginning.

use serde_json::Value;

use crate::domain::submission::LogFormat;

use super::json::{parse, text};

/// As much of a log as is looked at: more than any first event.
pub const HEAD: usize = 1 << 20;

/// `None`: it is empty, binary, or JSON of another shape.
pub fn detect(head: &[u8]) -> Option<LogFormat> {
    let head = String::from_utf8_lossy(head);
    let mut json = false;
    for line in head.lines().map(str::trim) {
        if !line.starts_with('{') {
            continue;
        }
        if let Some(value) = parse(line) {
            json = true;
            if let Some(format) = of_event(&value) {
                return Some(format);
            }
        } else if let Some(format) = of_cut(line) {
            return Some(format);
        }
    }
    let start = head.trim_start();
    // a list of messages, and not the `[time]` of a text
    let list = start
        .strip_prefix('[')
        .is_some_and(|rest| rest.trim_start().starts_with('{'));
    if list || start.starts_with('{') {
        if start.starts_with('{') && atif(&head) {
            return Some(LogFormat::Atif);
        }
        if let Some(format) = of_document(start) {
            return Some(format);
        }
        let known = [
            "\"trajectory_format\"",
            "\"mini_version\"",
            "\"model_stats\"",
        ];
        let messages = list || head.contains("\"messages\"");
        let mini = known.iter().any(|key| head.contains(key))
            || messages && head.contains("\"role\"") && head.contains("\"content\"");
        return mini.then_some(LogFormat::Mini);
    }
    (!start.is_empty() && !json && !head.contains('\0')).then_some(LogFormat::Text)
}

fn of_event(value: &Value) -> Option<LogFormat> {
    let has = |key: &str| value.get(key).is_some_and(Value::is_string);
    match text(value, "type") {
        kind if ["thread.", "turn.", "item."]
            .iter()
            .any(|k| kind.starts_with(k)) =>
        {
            Some(LogFormat::Codex)
        }
        "" => of_untyped(value),
        _ if has("sessionID") => Some(LogFormat::Opencode),
        _ if has("session_id") => Some(LogFormat::Claude),
        "error" if has("message") => Some(LogFormat::Codex),
        _ => None,
    }
}

/// Inside a text a quote is escaped, so that this can only be a key.
fn atif(head: &str) -> bool {
    let key = "\"schema_version\":";
    head.match_indices(key)
        .any(|(at, _)| head[at + key.len()..].trim_start().starts_with("\"ATIF-"))
}

/// Who may be the source of an OpenHands event.
const SOURCES: [&str; 4] = ["agent", "user", "environment", "hook"];

fn of_untyped(value: &Value) -> Option<LogFormat> {
    let list = |key: &str| value.get(key).and_then(Value::as_array);
    let event = |value: &Value| {
        let has = |key: &str| !text(value, key).is_empty();
        SOURCES.contains(&text(value, "source"))
            && (has("kind")
                || has("action") && value.get("args").is_some()
                || has("observation") && value.get("content").is_some())
    };
    let events = |key: &str| list(key).and_then(|all| all.first()).is_some_and(event);
    let row = !text(value, "instance_id").is_empty() && list("history").is_some();
    if text(value, "schema_version").starts_with("ATIF-") && list("steps").is_some() {
        Some(LogFormat::Atif)
    } else if list("messages").is_some() {
        Some(LogFormat::Mini)
    } else if row && value.get("info").is_none()
        || event(value)
        || events("trajectory")
        || events("history")
    {
        Some(LogFormat::Openhands)
    } else {
        let steps = list("trajectory").is_some() || list("attempts").is_some();
        steps.then_some(LogFormat::SweAgent)
    }
}

/// A document that is longer than what is looked at, or on many lines. Inside a text a quote is
/// escaped, so that these can only be keys.
fn of_document(head: &str) -> Option<LogFormat> {
    let key = |key: &str, value: &str| {
        let key = format!("\"{key}\":");
        head.match_indices(&key)
            .any(|(at, _)| head[at + key.len()..].trim_start().starts_with(value))
    };
    if key("trajectory_format", "") || key("mini_version", "") {
        return None;
    }
    let event = SOURCES
        .iter()
        .any(|source| key("source", &format!("\"{source}\"")))
        && ["kind", "action", "observation"]
            .iter()
            .any(|name| key(name, "\""));
    if event && key("timestamp", "\"") {
        Some(LogFormat::Openhands)
    } else if key("trajectory", "[") || key("attempts", "[") {
        Some(LogFormat::SweAgent)
    } else {
        None
    }
}

/// A first line that stops in the middle still has its first keys.
fn of_cut(line: &str) -> Option<LogFormat> {
    let has = |mark: &str| line.contains(mark);
    if ["thread.", "turn.", "item."]
        .iter()
        .any(|kind| line.starts_with(&format!("{{\"type\":\"{kind}")))
    {
        Some(LogFormat::Codex)
    } else if atif(line) {
        Some(LogFormat::Atif)
    } else if has("\"sessionID\":\"") {
        Some(LogFormat::Opencode)
    } else if has("\"session_id\":\"") || line.starts_with("{\"type\":\"system\",\"subtype\":") {
        Some(LogFormat::Claude)
    } else if line.starts_with("{\"kind\":\"") && (has("Event\"") || has("\"source\":\""))
        || line.starts_with("{\"id\":") && has("\"source\":\"")
        || line.starts_with("{\"instance_id\":") && has("\"test_result\":")
    {
        Some(LogFormat::Openhands)
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_content_tells_the_format() {
        use LogFormat::{Atif, Claude, Codex, Mini, Opencode, Openhands, SweAgent, Text};
        for (head, format) in [
            (r#"{"type":"thread.started","thread_id":"x"}"#, Some(Codex)),
            (r#"{"type":"thread.started","thr"#, Some(Codex)),
            ("noise\n{\"type\":\"turn.started\"}\n", Some(Codex)),
            (
                r#"{"type":"step_start","sessionID":"s","part":{}}"#,
                Some(Opencode),
            ),
            (
                r#"{"is_error":false,"session_id":"s","type":"result"}"#,
                Some(Claude),
            ),
            (r#"{"type":"system","subtype":"in"#, Some(Claude)),
            ("{\n  \"info\": {\n    \"model_stats\": {", Some(Mini)),
            (r#"{"messages":[]}"#, Some(Mini)),
            (
                r#"{"trajectory":[{"action":"ls","observation":""#,
                Some(SweAgent),
            ),
            (
                "{\n \"attempts\": [\n {\n \"trajectory\": [",
                Some(SweAgent),
            ),
            (
                r#"{"trajectory":[],"info":{"model_stats":{}}}"#,
                Some(SweAgent),
            ),
            (
                r#"{"kind":"MessageEvent","source":"user"}"#,
                Some(Openhands),
            ),
            (r#"{"level":"info","attempts":3}"#, None),
            (r#"{"source":"api","action":"get","timestamp":"x"}"#, None),
            (r#"{"kind":"ActionEvent","id":"e"#, Some(Openhands)),
            (
                r#"[{"id":0,"timestamp":"x","source":"agent","action":"run""#,
                Some(Openhands),
            ),
            (
                r#"{"instance_id":"a","test_result":{},"history":[]}"#,
                Some(Openhands),
            ),
            (
                r#"{"schema_version":"ATIF-v1.7","session_id":"s","agent""#,
                Some(Atif),
            ),
            (
                "{\n  \"schema_version\": \"ATIF-v1.4\",\n  \"steps\": [",
                Some(Atif),
            ),
            (r#"{"schema_version":"1","steps":[]}"#, None),
            (r#"{"kind":"Pod","apiVersion":"v1"}"#, None),
            ("Aider v0.86\n", Some(Text)),
            ("", None),
            (" \n", None),
            ("\0\0", None),
            (r#"{"level":"info"}"#, None),
            ("[{\"level\": 1}]", None),
            ("[12:01] started\n", Some(Text)),
        ] {
            assert_eq!(detect(head.as_bytes()), format, "{head}");
        }
    }
}
