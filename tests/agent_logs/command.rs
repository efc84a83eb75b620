//! `infradev trace` as people and scripts call it.

use serde_json::{Value, json};

use super::document::{path, trace};

#[test]
fn what_cannot_be_read_is_the_users_input() {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str, text: &[u8]| {
        let path = folder.path().join(name);
        std::fs::write(&path, text).unwrap();
        path.to_str().unwrap().to_owned()
    };
    let pipe = folder.path().join("pipe");
    nix::unistd::mkfifo(&pipe, nix::sys::stat::Mode::S_IRWXU).unwrap();
    for (path, words) in [
        (
            folder.path().join("none").to_str().unwrap().to_owned(),
            "none: No such file",
        ),
        (folder.path().to_str().unwrap().to_owned(), "no plain file"),
        (pipe.to_str().unwrap().to_owned(), "no plain file"),
        (file("empty", b""), "codex (exec --json), claude"),
        (file("binary", b"\x7fELF\0\0"), "--format"),
        (
            file("other", b"{\"level\":\"info\"}\n"),
            "opencode (run --format json), mini",
        ),
    ] {
        let output = trace(&[&path, "--json"]);
        assert_eq!(output.status.code(), Some(2), "{path}");
        assert!(output.stdout.is_empty());
        let error = String::from_utf8(output.stderr).unwrap();
        assert!(error.contains(words), "{error}");
    }
}

#[test]
fn a_named_format_is_not_guessed() {
    let output = trace(&[&path("codex-mcp.jsonl"), "--format", "text", "--json"]);
    let document: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(document["format"], "text");
    assert_eq!(document["commands"], json!([]));
    let output = trace(&[&path("codex-mcp.jsonl"), "--format", "mini", "--json"]);
    let document: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(
        (&document["end"], &document["unparsed_lines"]),
        (&json!("truncated"), &json!(1))
    );
}

#[test]
fn text_for_people_has_no_control_characters() {
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("log");
    let event = json!({"type": "item.completed", "item": {"type": "agent_message", "text": "a\u{1b}[31mb\rc"}});
    std::fs::write(&log, format!("noise \x1b]0;title\x07\n{event}\n")).unwrap();
    let output = trace(&[log.to_str().unwrap()]);
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.contains("agent: a\\u{1b}[31mb\\u{d}c"), "{text}");
    assert!(text.contains("noise \\u{1b}]0;title"), "{text}");
    assert!(
        !text.chars().any(|c| c.is_control() && c != '\n'),
        "{text:?}"
    );
    assert!(text.contains("codex: interrupted"), "{text}");
}
