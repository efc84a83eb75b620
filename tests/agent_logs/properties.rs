//! What holds for every log: cut anywhere, fed in any pieces, of any length.

use infradev::agent::trace::{self, End, Summary, TraceDocument, TraceReader, detect};
use infradev::domain::submission::LogFormat;
use proptest::prelude::*;

const ALL: [(&str, LogFormat); 15] = [
    ("codex-tools-merged.jsonl", LogFormat::Codex),
    ("codex-mcp.jsonl", LogFormat::Codex),
    ("codex-sigterm-cmd.jsonl", LogFormat::Codex),
    ("codex-err500.jsonl", LogFormat::Codex),
    ("codex-resume2.second.jsonl", LogFormat::Codex),
    ("opencode-tools.jsonl", LogFormat::Opencode),
    ("opencode-err500.jsonl", LogFormat::Opencode),
    ("opencode-sigterm-cmd.jsonl", LogFormat::Opencode),
    ("claude-tools.jsonl", LogFormat::Claude),
    ("claude-sigint-cmd.jsonl", LogFormat::Claude),
    ("claude-sigterm-cmd.jsonl", LogFormat::Claude),
    ("claude-err500.jsonl", LogFormat::Claude),
    ("mini-tools.traj.json", LogFormat::Mini),
    ("mini-err500.traj.json", LogFormat::Mini),
    ("aider-ok.txt", LogFormat::Text),
];

fn bytes(name: &str) -> Vec<u8> {
    std::fs::read(format!(
        "{}/tests/agent_logs/{name}",
        env!("CARGO_MANIFEST_DIR")
    ))
    .unwrap()
}

fn whole(log: &[u8], format: LogFormat) -> TraceDocument {
    let mut summary = Summary::new(format);
    let facts = trace::read(log, format, &mut |at, entry| summary.take(at, &entry)).unwrap();
    summary.document(facts)
}

fn in_pieces(log: &[u8], format: LogFormat, size: usize) -> TraceDocument {
    let mut summary = Summary::new(format);
    let mut reader = TraceReader::new(format);
    for piece in log.chunks(size) {
        for (at, entry) in reader.feed(piece) {
            summary.take(at, &entry);
        }
    }
    for (at, entry) in reader.finish() {
        summary.take(at, &entry);
    }
    summary.document(reader.facts().clone())
}

fn finished(document: &TraceDocument) -> Vec<(&str, Option<i64>)> {
    let done = document.commands.iter().filter(|c| c.finished);
    done.map(|c| (c.command.as_str(), c.exit_code)).collect()
}

/// Ends of commands on whole lines, counted without a parser; where one line is one end.
fn ends(log: &[u8], format: LogFormat) -> Option<usize> {
    let marks = match format {
        LogFormat::Codex => [
            "\"type\":\"item.completed\"",
            "\"type\":\"command_execution\"",
        ],
        LogFormat::Opencode => ["\"type\":\"tool_use\"", "\"tool\":\"bash\""],
        _ => return None,
    };
    let text = String::from_utf8_lossy(log);
    let (lines, _) = text.rsplit_once('\n').unwrap_or_default();
    let end = |line: &&str| marks.iter().all(|mark| line.contains(mark));
    Some(lines.lines().filter(end).count())
}

fn check_cut(log: &[u8], format: LogFormat, all: &TraceDocument, cut: usize) {
    let part = whole(&log[..cut], format);
    let (kept, known) = (finished(&part), finished(all));
    // ends come in any order, so a part's commands are among the whole's and in their order
    let mut rest = known.iter();
    assert!(
        kept.iter().all(|one| rest.any(|other| other == one)),
        "{kept:?} of {known:?}"
    );
    // a last line without its newline may be whole, and then counts
    if let Some(least) = ends(&log[..cut], format) {
        assert!(
            (least..=least + 1).contains(&kept.len()),
            "{least} ends, {kept:?}"
        );
    }
    let line_begun = log[..cut]
        .rsplit(|b| *b == b'\n')
        .next()
        .unwrap_or_default();
    let inside = line_begun.starts_with(b"{") && log.get(cut).is_some_and(|b| *b != b'\n');
    if inside && !matches!(format, LogFormat::Text | LogFormat::Mini) {
        assert_eq!(
            (part.end, part.unparsed_lines),
            (End::Truncated, all_unparsed(log, cut) + 1)
        );
    }
    detect(&log[..cut]);
}

/// Whole lines before the cut that are no object.
fn all_unparsed(log: &[u8], cut: usize) -> u64 {
    let text = String::from_utf8_lossy(&log[..cut]);
    let (lines, _) = text.rsplit_once('\n').unwrap_or_default();
    lines.lines().filter(|line| !line.starts_with('{')).count() as u64
}

#[test]
fn a_small_log_may_be_cut_at_every_byte() {
    for name in ["codex-mcp.jsonl", "codex-sigterm-cmd.jsonl"] {
        let log = bytes(name);
        let all = whole(&log, LogFormat::Codex);
        for cut in 0..=log.len() {
            check_cut(&log, LogFormat::Codex, &all, cut);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn a_cut_keeps_the_completed_commands(which in 0..ALL.len(), at in 0.0..=1.0f64) {
        let (name, format) = ALL[which];
        let log = bytes(name);
        let cut = (log.len() as f64 * at) as usize;
        check_cut(&log, format, &whole(&log, format), cut);
    }

    #[test]
    fn pieces_give_the_same_document(which in 0..ALL.len(), size in 1usize..5000, at in 0.0..=1.0f64) {
        let (name, format) = ALL[which];
        let log = bytes(name);
        let log = &log[..(log.len() as f64 * at) as usize];
        prop_assert_eq!(in_pieces(log, format, size), whole(log, format));
    }
}

#[test]
fn a_cut_mini_document_keeps_its_messages() {
    let log = bytes("mini-tools.traj.json");
    let part = whole(&log[..log.len() - 3], LogFormat::Mini);
    assert_eq!(part.end, End::Truncated);
    assert_eq!(finished(&part).len(), 10);
}

#[test]
fn a_byte_that_is_no_text_does_not_lose_the_rest() {
    let mut log = bytes("mini-tools.traj.json");
    let all = whole(&log, LogFormat::Mini);
    let found: Vec<usize> = memchr::memmem::find_iter(&log, b"wc -l textkit").collect();
    for at in found {
        log[at] = 0xff;
    }
    let read = whole(&log, LogFormat::Mini);
    assert_eq!((read.end, read.unparsed_lines), (all.end, 0));
    assert_eq!(finished(&read).len(), finished(&all).len());
    assert!(
        read.commands
            .iter()
            .any(|c| c.command.contains("\u{fffd}c -l textkit"))
    );
    assert_eq!(in_pieces(&log, LogFormat::Mini, 999), read);
}

#[test]
fn a_line_without_end_is_cut_and_the_next_is_read() {
    let mut log = b"{\"type\":\"turn.started\",\"x\":\"".to_vec();
    log.resize(33 << 20, b'x');
    log.extend_from_slice(b"\"}\n{\"type\":\"turn.completed\"}\n");
    for document in [
        whole(&log, LogFormat::Codex),
        in_pieces(&log, LogFormat::Codex, 1 << 20),
    ] {
        assert_eq!((document.end, document.unparsed_lines), (End::Completed, 1));
    }
    let mut reader = TraceReader::new(LogFormat::Codex);
    let entries = reader.feed(&log);
    let trace::Kind::Raw { text } = &entries[0].1.kind else {
        panic!("{:?}", entries[0].1);
    };
    assert!(
        text.len() < 70_000 && text.ends_with(" bytes more)"),
        "{}",
        text.len()
    );
}

#[test]
fn old_opencode_counts_reasoning_in_its_output() {
    let step = |total: u64| {
        let line = serde_json::json!({"type": "step_finish", "sessionID": "s", "part": {
            "reason": "stop", "cost": 0.5, "tokens": {"total": total, "input": 100, "output": 80,
            "reasoning": 30, "cache": {"read": 7, "write": 2}}}});
        let usage = whole(line.to_string().as_bytes(), LogFormat::Opencode)
            .usage
            .unwrap();
        (usage.output, usage.reasoning, usage.cost_usd)
    };
    assert_eq!(
        step(189),
        (50, 30, Some(0.5)),
        "1.1.65: the total is without reasoning"
    );
    assert_eq!(
        step(219),
        (80, 30, Some(0.5)),
        "1.18.33: it is in the total"
    );
}

#[test]
fn an_edit_tells_its_kind_where_the_stream_does() {
    let log = r#"{"type":"tool_use","sessionID":"s","part":{"tool":"apply_patch","state":{"status":"completed","input":{"patchText":"*** Begin Patch\n*** Add File: a b.py\n+x\n*** Delete File: c.py\n*** End Patch"}}}}
{"type":"tool_use","sessionID":"s","part":{"tool":"write","state":{"status":"completed","input":{"filePath":"old.py"},"metadata":{"exists":true}}}}
"#;
    let edits: Vec<String> = whole(log.as_bytes(), LogFormat::Opencode)
        .edits
        .iter()
        .map(|e| format!("{:?} {}", e.kind, e.path))
        .collect();
    assert_eq!(edits, ["Add a b.py", "Delete c.py", "Update old.py"]);
}
