//! Searches by the model's host: on no list of hosts, they go where the model goes.

use std::collections::BTreeSet;
use std::io::{self, Read};

use crate::domain::submission::LogFormat;

use super::entry::{Kind, Progress};
use super::stream::read;

/// As codex and the blocks `tool_use` and `server_tool_use` of Claude's messages name them.
const NAMES: [&str; 3] = ["web_search", "web_fetch", "WebSearch"];

/// How often a log tells of one that was not refused.
pub fn hosted_searches(log: impl Read, format: LogFormat) -> io::Result<usize> {
    let mut found = BTreeSet::new();
    // an entry comes again when it is completed
    read(log, format, &mut |at, entry| {
        let Kind::Tool { name, progress, .. } = &entry.kind else {
            return;
        };
        if NAMES.contains(&name.as_str()) && *progress != Progress::Failed {
            found.insert(at);
        } else {
            found.remove(&at);
        }
    })?;
    Ok(found.len())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn searches_are_told_from_refused_ones_and_from_words() {
        let searches =
            |format, lines: &[&str]| hosted_searches(lines.join("\n").as_bytes(), format).unwrap();
        let codex = [
            r#"{"type":"item.started","item":{"id":"ws_1","type":"web_search","query":"median"}}"#,
            r#"{"type":"item.completed","item":{"id":"ws_1","type":"web_search","query":"median"}}"#,
            r#"{"type":"item.completed","item":{"id":"i_2","type":"agent_message","text":"web_search"}}"#,
            r#"{"type":"item.completed","item":{"id":"i_3","type":"mcp_tool_call","server":"docs","tool":"web_search","status":"completed"}}"#,
        ];
        assert_eq!(searches(LogFormat::Codex, &codex), 1);
        assert_eq!(searches(LogFormat::Codex, &codex[2..]), 0);
        let claude = [
            r#"{"type":"assistant","message":{"content":[{"type":"server_tool_use","id":"srv_1","name":"web_search","input":{"query":"q"}}]}}"#,
            r#"{"type":"assistant","message":{"content":[{"type":"tool_use","id":"t_1","name":"WebSearch","input":{"query":"q"}}]}}"#,
            r#"{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"t_1","content":"No such tool available: WebSearch","is_error":true}]}}"#,
            r#"{"type":"assistant","message":{"content":[{"type":"tool_use","id":"t_2","name":"Bash","input":{"command":"echo WebSearch"}}]}}"#,
        ];
        assert_eq!(searches(LogFormat::Claude, &claude[..2]), 2);
        assert_eq!(searches(LogFormat::Claude, &claude), 1);
        assert_eq!(searches(LogFormat::Claude, &claude[1..]), 0);
        assert_eq!(searches(LogFormat::Text, &claude), 0);
    }

    #[test]
    fn a_recorded_session_with_a_search_is_found() {
        let log = include_bytes!("../../../tests/agent_logs/codex-mcp.jsonl");
        assert!(hosted_searches(&log[..], LogFormat::Codex).unwrap() > 0);
    }
}
