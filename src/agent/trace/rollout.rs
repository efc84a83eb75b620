//! codex's own record of a session (`rollout-*.jsonl`): the tokens, where `exec --json` told none;
//! and the id by which a stream's own record is told from those of its sub-agents.

use memchr::memmem;
use serde_json::Value;

use crate::domain::Usage;

use super::{codex, json};

/// Tokens of the session so far, by the last line that tells them (METHOD.md section 9).
/// The counts are cumulative; a cut last line is passed over. `None`: no line tells any.
pub fn rollout_usage(bytes: &[u8]) -> Option<Usage> {
    let mark = memmem::Finder::new("token_count");
    bytes
        .rsplit(|byte| *byte == b'\n')
        .filter(|line| mark.find(line).is_some())
        .find_map(|line| of_line(&json::parse(&String::from_utf8_lossy(line))?))
}

/// The id that a stream gives its session when it begins. `None`: no whole line tells it.
pub fn codex_session(head: &[u8]) -> Option<String> {
    let mark = memmem::Finder::new("thread.started");
    let mut lines = head.split(|byte| *byte == b'\n');
    lines.find_map(|line| {
        mark.find(line)?;
        let value = json::parse(&String::from_utf8_lossy(line))?;
        let told = json::text(&value, "type") == "thread.started";
        Some(json::owned(&value, "thread_id")).filter(|id| told && !id.is_empty())
    })
}

fn of_line(line: &Value) -> Option<Usage> {
    let event = line.get("payload")?;
    let told =
        json::text(line, "type") == "event_msg" && json::text(event, "type") == "token_count";
    // null before the first answer
    let total = event.pointer("/info/total_token_usage")?;
    (told && total.is_object()).then(|| codex::usage(total))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(info: &str) -> String {
        format!(
            r#"{{"timestamp":"2026-01-01T00:00:00Z","type":"event_msg","payload":{{"type":"token_count","info":{info},"rate_limits":null}}}}"#
        )
    }

    fn total(input: u64, cached: u64, output: u64, reasoning: u64) -> String {
        line(&format!(
            r#"{{"total_token_usage":{{"input_tokens":{input},"cached_input_tokens":{cached},"output_tokens":{output},"reasoning_output_tokens":{reasoning},"total_tokens":{}}},"last_token_usage":{{"input_tokens":1}}}}"#,
            input + output
        ))
    }

    #[test]
    fn the_last_whole_line_tells_the_tokens() {
        let (first, second) = (total(1000, 600, 90, 40), total(3000, 2500, 200, 80));
        let said =
            r#"{"type":"response_item","payload":{"type":"message","content":"token_count"}}"#;
        let expected = Usage {
            input: 500,
            cache_read: 2500,
            cache_write: 0,
            output: 120,
            reasoning: 80,
        };
        for log in [
            format!("{first}\n{second}\n{said}\n{}\n", line("null")),
            format!("{first}\n{second}"),
            format!("{first}\n{second}\n{}", &total(9000, 0, 900, 0)[..180]),
        ] {
            assert_eq!(rollout_usage(log.as_bytes()), Some(expected), "{log}");
        }
        let cut = format!("{first}\n{}", &second[..150]);
        assert_eq!(rollout_usage(cut.as_bytes()).map(|u| u.input), Some(400));
        for none in [
            "",
            said,
            &line("null"),
            "token_count\n",
            "{\"type\":\"event_msg\"}",
        ] {
            assert_eq!(rollout_usage(none.as_bytes()), None, "{none}");
        }
    }
}
