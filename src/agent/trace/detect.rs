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
        "" => value.get("messages")?.is_array().then_some(LogFormat::Mini),
        _ if has("sessionID") => Some(LogFormat::Opencode),
        _ if has("session_id") => Some(LogFormat::Claude),
        "error" if has("message") => Some(LogFormat::Codex),
        _ => None,
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
    } else if has("\"sessionID\":\"") {
        Some(LogFormat::Opencode)
    } else if has("\"session_id\":\"") || line.starts_with("{\"type\":\"system\",\"subtype\":") {
        Some(LogFormat::Claude)
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_content_tells_the_format() {
        use LogFormat::{Claude, Codex, Mini, Opencode, Text};
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
