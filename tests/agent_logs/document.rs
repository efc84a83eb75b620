//! The document of `infradev trace` on the recordings, value by value. Printed by the program and
//! compared with the recordings' ground truth, which has no model, no errors and no `end` (that was
//! compared with exit code and signal), and nothing reported for mini-swe-agent.

// figures as the logs have them
#![allow(clippy::unreadable_literal)]

use std::process::{Command, Output};

use serde_json::{Value, json};

const LOOK: &str =
    "ls -la && git log --oneline && cat -A textkit/stats.py | head -5 && cat textkit/stats.py";
const TESTS: &str = "python3 -m unittest -v";
const TICKS: &str = "for i in $(seq 1 60); do echo tick $i; sleep 1; done";

pub fn trace(args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_infradev"))
        .arg("trace")
        .args(args)
        .output()
        .unwrap()
}

pub fn path(name: &str) -> String {
    format!("{}/tests/agent_logs/{name}", env!("CARGO_MANIFEST_DIR"))
}

/// With the format that the content tells.
fn document(name: &str) -> Value {
    let output = trace(&[&path(name), "--json"]);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    serde_json::from_slice(&output.stdout).unwrap()
}

/// Compares everything but durations; commands and edits are written short, errors begun.
fn check(document: &Value, expected: &Value) {
    let list = |key: &str| document[key].as_array().unwrap().clone();
    let mut got = document.clone();
    let commands = list("commands");
    got["commands"] = commands
        .iter()
        .map(|c| json!([c["command"], c["exit_code"], c["finished"]]))
        .collect();
    let edits = list("edits");
    got["edits"] = edits
        .iter()
        .map(|e| {
            format!(
                "{} {}",
                e["kind"].as_str().unwrap(),
                e["path"].as_str().unwrap()
            )
        })
        .collect();
    let errors = list("errors");
    got["errors"] = errors
        .iter()
        .map(|e| e.as_str().unwrap().chars().take(60).collect::<String>())
        .collect();
    let mut expected = expected.clone();
    expected["schema"] = 1.into();
    assert_eq!(got, expected);
}

#[test]
fn codex_tools_merged() {
    let document = document("codex-tools-merged.jsonl");
    check(
        &document,
        &json!({
            "format": "codex", "agent": "codex", "model": null,
            "messages": 11, "final": "Done: added `NOTES.md`, fixed `median`.", "end": "completed", "unparsed_lines": 5,
            "edits": ["add /srv/repo/NOTES.md", "update /srv/repo/textkit/stats.py"],
            "errors": [],
            "usage": {"input": 29065, "cache_read": 87040, "cache_write": 0,
                "output": 1375, "reasoning": 880, "cost_usd": null},
            "commands": [
                ["cat README.md", 0, true],
                ["sleep 1; wc -l textkit/*.py tests/*.py", 0, true],
                ["no_such_command_xyz --flag", 127, true],
                ["kill -9 $$", 137, true],
                ["true", 0, true],
                [super::PRINTF, 0, true],
                ["echo before; sleep 8; echo after", null, false],
            ],
        }),
    );
}

#[test]
fn codex_mcp() {
    let document = document("codex-mcp.jsonl");
    check(
        &document,
        &json!({
            "format": "codex", "agent": "codex", "model": null,
            "messages": 4, "final": "The sum is 42.", "end": "completed", "unparsed_lines": 0,
            "edits": [],
            "errors": [],
            "usage": {"input": 11306, "cache_read": 15360, "cache_write": 0,
                "output": 374, "reasoning": 208, "cost_usd": null},
            "commands": [
                ["echo after web search", 0, true],
            ],
        }),
    );
}

#[test]
fn codex_sigterm_cmd() {
    let document = document("codex-sigterm-cmd.jsonl");
    check(
        &document,
        &json!({
            "format": "codex", "agent": "codex", "model": null,
            "messages": 3, "final": "This one takes a while.", "end": "interrupted", "unparsed_lines": 0,
            "edits": [],
            "errors": [],
            "usage": null,
            "commands": [
                [LOOK, 0, true],
                [TESTS, 1, true],
                [TICKS, null, false],
            ],
        }),
    );
}

#[test]
fn codex_err500() {
    let document = document("codex-err500.jsonl");
    check(
        &document,
        &json!({
            "format": "codex", "agent": "codex", "model": null,
            "messages": 2, "final": "Now I'll run the tests to see the failure.", "end": "error", "unparsed_lines": 0,
            "edits": [],
            "errors": ["We’re currently experiencing high demand, which may cause te"],
            "usage": null,
            "commands": [
                [LOOK, 0, true],
                [TESTS, 1, true],
            ],
        }),
    );
}

#[test]
fn codex_resume2_second() {
    let document = document("codex-resume2.second.jsonl");
    check(
        &document,
        &json!({
            "format": "codex", "agent": "codex", "model": null,
            "messages": 1, "final": "Second turn: nothing left to do.", "end": "completed", "unparsed_lines": 0,
            "edits": [],
            "errors": [],
            "usage": {"input": 20845, "cache_read": 49152, "cache_write": 0,
                "output": 883, "reasoning": 536, "cost_usd": null},
            "commands": [
            ],
        }),
    );
}

#[test]
fn opencode_tools() {
    let document = document("opencode-tools.jsonl");
    check(
        &document,
        &json!({
            "format": "opencode", "agent": "opencode", "model": null,
            "messages": 12, "final": "Done: added `NOTES.md`, fixed `median`.", "end": "completed", "unparsed_lines": 0,
            "edits": ["add /srv/repo/NOTES.md", "update /srv/repo/textkit/stats.py"],
            "errors": [],
            "usage": {"input": 31950, "cache_read": 101376, "cache_write": 0,
                "output": 1554, "reasoning": 1008, "cost_usd": 0.0782295},
            "commands": [
                ["cat README.md", 0, true],
                ["sleep 1; wc -l textkit/*.py tests/*.py", 0, true],
                ["no_such_command_xyz --flag", 127, true],
                ["kill -9 $$", null, true],
                ["true", 0, true],
                [super::PRINTF, 0, true],
                ["echo before; sleep 8; echo after", null, true],
            ],
        }),
    );
}

#[test]
fn opencode_err500() {
    let document = document("opencode-err500.jsonl");
    check(
        &document,
        &json!({
            "format": "opencode", "agent": "opencode", "model": null,
            "messages": 2, "final": "Now I'll run the tests to see the failure.", "end": "error", "unparsed_lines": 0,
            "edits": [],
            "errors": ["APIError: The server had an error while processing your requ"],
            "usage": {"input": 7015, "cache_read": 4096, "cache_write": 0,
                "output": 169, "reasoning": 88, "cost_usd": 0.01185075},
            "commands": [
                [LOOK, 0, true],
                [TESTS, 1, true],
            ],
        }),
    );
}

#[test]
fn opencode_sigterm_cmd() {
    let document = document("opencode-sigterm-cmd.jsonl");
    check(
        &document,
        &json!({
            "format": "opencode", "agent": "opencode", "model": null,
            "messages": 3, "final": "This one takes a while.", "end": "interrupted", "unparsed_lines": 0,
            "edits": [],
            "errors": [],
            "usage": {"input": 7015, "cache_read": 4096, "cache_write": 0,
                "output": 169, "reasoning": 88, "cost_usd": 0.01185075},
            "commands": [
                [LOOK, 0, true],
                [TESTS, 1, true],
            ],
        }),
    );
}

#[test]
fn claude_tools() {
    let document = document("claude-tools.jsonl");
    check(
        &document,
        &json!({
            "format": "claude", "agent": "claude-code", "model": "claude-sonnet-4-5-20250929",
            "messages": 13, "final": "Done: added `NOTES.md`, fixed `median`.", "end": "completed", "unparsed_lines": 0,
            "edits": ["add /srv/repo/NOTES.md", "update /srv/repo/textkit/stats.py"],
            "errors": [],
            "usage": {"input": 28179, "cache_read": 115712, "cache_write": 6656,
                "output": 1733, "reasoning": 1136, "cost_usd": 0.1872456},
            "commands": [
                ["cat README.md", null, true],
                ["sleep 1; wc -l textkit/*.py tests/*.py", null, true],
                ["no_such_command_xyz --flag", 127, true],
                ["kill -9 $$", 1, true],
                ["true", null, true],
                [super::PRINTF, null, true],
                ["echo before; sleep 8; echo after", null, true],
            ],
        }),
    );
}

#[test]
fn claude_sigint_cmd() {
    let document = document("claude-sigint-cmd.jsonl");
    check(
        &document,
        &json!({
            "format": "claude", "agent": "claude-code", "model": "claude-sonnet-4-5-20250929",
            "messages": 3, "final": "This one takes a while.", "end": "interrupted", "unparsed_lines": 0,
            "edits": [],
            "errors": ["error_during_execution: [ede_diagnostic] result_type=user la"],
            "usage": {"input": 7581, "cache_read": 9216, "cache_write": 1536,
                "output": 267, "reasoning": 144, "cost_usd": 0.0374328},
            "commands": [
                [LOOK, null, true],
                [TESTS, 1, true],
                [TICKS, null, true],
            ],
        }),
    );
}

#[test]
fn claude_sigterm_cmd() {
    let document = document("claude-sigterm-cmd.jsonl");
    check(
        &document,
        &json!({
            "format": "claude", "agent": "claude-code", "model": "claude-sonnet-4-5-20250929",
            "messages": 3, "final": "This one takes a while.", "end": "interrupted", "unparsed_lines": 0,
            "edits": [],
            "errors": [],
            "usage": null,
            "commands": [
                [LOOK, null, true],
                [TESTS, 1, true],
                [TICKS, 137, true],
            ],
        }),
    );
}

#[test]
fn claude_err500() {
    let document = document("claude-err500.jsonl");
    check(
        &document,
        &json!({
            "format": "claude", "agent": "claude-code", "model": "claude-sonnet-4-5-20250929",
            "messages": 2, "final": "Now I'll run the tests to see the failure.", "end": "error", "unparsed_lines": 0,
            "edits": [],
            "errors": ["API Error: 500 The server had an error while processing your"],
            "usage": {"input": 5991, "cache_read": 4096, "cache_write": 1024,
                "output": 169, "reasoning": 88, "cost_usd": 0.0268968},
            "commands": [
                [LOOK, null, true],
                [TESTS, 1, true],
            ],
        }),
    );
}

#[test]
fn mini_tools() {
    let document = document("mini-tools.traj.json");
    check(
        &document,
        &json!({
            "format": "mini", "agent": "mini-swe-agent", "model": "openai/gpt-5-mini",
            "messages": 10, "final": "A tool that does not exist.", "end": "error", "unparsed_lines": 0,
            "edits": [],
            "errors": ["exit: RepeatedFormatError"],
            "usage": {"input": 26006, "cache_read": 70656, "cache_write": 0,
                "output": 1178, "reasoning": 736, "cost_usd": 0.0120959},
            "commands": [
                ["echo plan 0", 0, true],
                ["cat README.md", 0, true],
                ["sleep 1; wc -l textkit/*.py tests/*.py", 0, true],
                ["no_such_command_xyz --flag", 127, true],
                ["kill -9 $$", -9, true],
                ["true", 0, true],
                [super::PRINTF, 0, true],
                ["echo before; sleep 8; echo after", 0, true],
                [r"cat > NOTES.md <<'EOF'
# Notes

median was fixed. 修正済み
EOF", 0, true],
                ["sed -i 's/x/y/' no/such/file.py", 2, true],
            ],
        }),
    );
}

#[test]
fn mini_err500() {
    let document = document("mini-err500.traj.json");
    check(
        &document,
        &json!({
            "format": "mini", "agent": "mini-swe-agent", "model": "openai/gpt-5-mini",
            "messages": 2, "final": "Now I'll run the tests to see the failure.", "end": "error", "unparsed_lines": 0,
            "edits": [],
            "errors": ["exit: InternalServerError: litellm.InternalServerError: Inte"],
            "usage": {"input": 7015, "cache_read": 4096, "cache_write": 0,
                "output": 169, "reasoning": 88, "cost_usd": 0.00237015},
            "commands": [
                [LOOK, 0, true],
                [TESTS, 1, true],
            ],
        }),
    );
}

#[test]
fn mini_sigterm_cmd() {
    let document = document("mini-sigterm-cmd.traj.json");
    check(
        &document,
        &json!({
            "format": "mini", "agent": "mini-swe-agent", "model": "openai/gpt-5-mini",
            "messages": 2, "final": "Now I'll run the tests to see the failure.", "end": "interrupted", "unparsed_lines": 0,
            "edits": [],
            "errors": [],
            "usage": {"input": 7015, "cache_read": 4096, "cache_write": 0,
                "output": 169, "reasoning": 88, "cost_usd": 0.00237015},
            "commands": [
                [LOOK, 0, true],
                [TESTS, 1, true],
            ],
        }),
    );
}

#[test]
fn aider_ok() {
    let document = document("aider-ok.txt");
    check(
        &document,
        &json!({
            "format": "text", "agent": null, "model": null,
            "messages": 0, "final": null, "end": "completed", "unparsed_lines": 0,
            "edits": [],
            "errors": [],
            "usage": null,
            "commands": [
            ],
        }),
    );
}
