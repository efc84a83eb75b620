//! Recordings of real agents' output (against a scripted model), read into entries.

#![allow(clippy::unwrap_used, clippy::expect_used)]

#[path = "agent_logs/atif.rs"]
mod atif;
#[path = "agent_logs/command.rs"]
mod command;
#[path = "agent_logs/document.rs"]
mod document;
#[path = "agent_logs/mini.rs"]
mod mini;
#[path = "agent_logs/openhands.rs"]
mod openhands;
#[path = "agent_logs/properties.rs"]
mod properties;
#[path = "agent_logs/trajectories.rs"]
mod trajectories;
#[path = "agent_logs/unknown.rs"]
mod unknown;

use infradev::agent::trace::{Entry, Kind, Progress, TraceReader};
use infradev::domain::Usage;
use infradev::domain::submission::LogFormat;

fn bytes(name: &str) -> Vec<u8> {
    std::fs::read(format!(
        "{}/tests/agent_logs/{name}",
        env!("CARGO_MANIFEST_DIR")
    ))
    .unwrap()
}

/// Reads in pieces of a size, as a log that grows is read.
fn read(name: &str, format: LogFormat, piece: usize) -> Vec<Entry> {
    let mut reader = TraceReader::new(format);
    let mut entries: Vec<Entry> = Vec::new();
    let mut take = |changes: Vec<(usize, Entry)>| {
        for (at, entry) in changes {
            if at < entries.len() {
                entries[at] = entry;
            } else {
                assert_eq!(at, entries.len(), "entries come in order");
                entries.push(entry);
            }
        }
    };
    for chunk in bytes(name).chunks(piece) {
        take(reader.feed(chunk));
    }
    take(reader.tail());
    entries
}

type Command<'a> = (&'a str, Option<i64>, Progress);

fn commands(entries: &[Entry]) -> Vec<Command<'_>> {
    entries
        .iter()
        .filter_map(|entry| match &entry.kind {
            Kind::Command {
                command,
                exit,
                progress,
                ..
            } => Some((command.as_str(), *exit, *progress)),
            _ => None,
        })
        .collect()
}

fn usage(entries: &[Entry]) -> Usage {
    let mut sum = Usage::default();
    for entry in entries {
        if let Kind::Usage { usage, .. } = &entry.kind {
            sum.input += usage.input;
            sum.cache_read += usage.cache_read;
            sum.cache_write += usage.cache_write;
            sum.output += usage.output;
            sum.reasoning += usage.reasoning;
        }
    }
    sum
}

fn raw(entries: &[Entry]) -> usize {
    let raw = |entry: &&Entry| matches!(entry.kind, Kind::Raw { .. });
    entries.iter().filter(raw).count()
}

const ALL: [(&str, LogFormat); 8] = [
    ("codex-tools-merged.jsonl", LogFormat::Codex),
    ("codex-mcp.jsonl", LogFormat::Codex),
    ("codex-sigterm-cmd.jsonl", LogFormat::Codex),
    ("opencode-tools.jsonl", LogFormat::Opencode),
    ("opencode-err500.jsonl", LogFormat::Opencode),
    ("claude-tools.jsonl", LogFormat::Claude),
    ("claude-sigint-cmd.jsonl", LogFormat::Claude),
    ("mini-tools.traj.json", LogFormat::Mini),
];

#[test]
fn pieces_of_any_size_give_the_same_entries() {
    for (name, format) in ALL {
        let whole = read(name, format, usize::MAX);
        for piece in [1, 7, 4096] {
            assert_eq!(read(name, format, piece), whole, "{name} by {piece}");
        }
    }
}

#[test]
fn a_log_cut_anywhere_is_read_up_to_there() {
    for (name, format) in ALL {
        let whole = bytes(name);
        for cut in [whole.len() / 3, whole.len() / 2, whole.len() - 2] {
            let mut reader = TraceReader::new(format);
            let mut entries = reader.feed(&whole[..cut]);
            entries.extend(reader.tail());
            assert!(!entries.is_empty(), "{name} cut at {cut}");
        }
    }
}

use Progress::{Done, Failed, Running};

const PRINTF: &str = r"printf 'bad:\xff\xfe nul:\x00 end\n'";

#[test]
fn codex_with_standard_error_mixed_in() {
    let entries = read("codex-tools-merged.jsonl", LogFormat::Codex, 4096);
    assert_eq!(
        commands(&entries),
        [
            ("cat README.md", Some(0), Done),
            ("sleep 1; wc -l textkit/*.py tests/*.py", Some(0), Done),
            ("no_such_command_xyz --flag", Some(127), Failed),
            ("kill -9 $$", Some(137), Failed),
            ("true", Some(0), Done),
            (PRINTF, Some(0), Done),
            ("echo before; sleep 8; echo after", None, Running),
        ]
    );
    assert_eq!(raw(&entries), 5, "lines that are not JSON are kept");
    assert_eq!(
        usage(&entries),
        Usage {
            input: 116_105 - 87_040,
            cache_read: 87_040,
            cache_write: 0,
            output: 2_255 - 880,
            reasoning: 880,
        }
    );
}

#[test]
fn codex_repeats_a_key_in_one_object() {
    let entries = read("codex-mcp.jsonl", LogFormat::Codex, 4096);
    assert_eq!(raw(&entries), 0);
    let tools: Vec<&str> = entries
        .iter()
        .filter_map(|entry| match &entry.kind {
            Kind::Tool { name, .. } => Some(name.as_str()),
            _ => None,
        })
        .collect();
    assert!(tools.contains(&"web_search"), "{tools:?}");
}

#[test]
fn a_killed_run_has_an_open_command_and_no_usage() {
    let entries = read("codex-sigterm-cmd.jsonl", LogFormat::Codex, 4096);
    assert_eq!(commands(&entries).last().unwrap().2, Running);
    assert_eq!(usage(&entries), Usage::default());
}

#[test]
fn opencode_says_completed_of_what_failed() {
    let entries = read("opencode-tools.jsonl", LogFormat::Opencode, 4096);
    let got: Vec<_> = commands(&entries)
        .into_iter()
        .map(|(_, exit, progress)| (exit, progress))
        .collect();
    assert_eq!(
        got,
        [
            (Some(0), Done),
            (Some(0), Done),
            (Some(127), Failed),
            (None, Failed),
            (Some(0), Done),
            (Some(0), Done),
            (None, Failed),
        ]
    );
    assert_eq!(
        usage(&entries),
        Usage {
            input: 31_950,
            cache_read: 101_376,
            cache_write: 0,
            output: 1_554,
            reasoning: 1_008,
        }
    );
    let edits: Vec<Progress> = entries
        .iter()
        .filter_map(|entry| match entry.kind {
            Kind::Edit { progress, .. } => Some(progress),
            _ => None,
        })
        .collect();
    assert_eq!(edits, [Done, Failed, Done]);
}

#[test]
fn an_error_of_the_service_is_an_error() {
    let entries = read("opencode-err500.jsonl", LogFormat::Opencode, 4096);
    let last = &entries.last().unwrap().kind;
    let Kind::Error { text } = last else {
        panic!("{last:?}");
    };
    assert!(
        text.starts_with("APIError: The server had an error"),
        "{text}"
    );
}

#[test]
fn claude_gives_codes_of_failures_only() {
    let entries = read("claude-tools.jsonl", LogFormat::Claude, 4096);
    assert_eq!(
        commands(&entries),
        [
            ("cat README.md", None, Done),
            ("sleep 1; wc -l textkit/*.py tests/*.py", None, Done),
            ("no_such_command_xyz --flag", Some(127), Failed),
            ("kill -9 $$", Some(1), Failed),
            ("true", None, Done),
            (PRINTF, None, Done),
            ("echo before; sleep 8; echo after", None, Done),
        ]
    );
    // two results in one run: their usage adds up
    assert_eq!(usage(&entries).input, 25_806 + 2_373);
    assert_eq!(raw(&entries), 0);
}

#[test]
fn an_interrupted_claude_says_so() {
    let entries = read("claude-sigint-cmd.jsonl", LogFormat::Claude, 4096);
    assert_eq!(commands(&entries).last().unwrap().2, Failed);
    assert!(entries.iter().any(|entry| match &entry.kind {
        Kind::Error { text } => text.contains("error_during_execution"),
        _ => false,
    }));
}

#[test]
fn mini_tells_signals_and_how_it_ended() {
    let entries = read("mini-tools.traj.json", LogFormat::Mini, 4096);
    let all = commands(&entries);
    assert!(all.contains(&("no_such_command_xyz --flag", Some(127), Failed)));
    assert!(all.contains(&("kill -9 $$", Some(-9), Failed)));
    assert!(usage(&entries).input > 0);
    let last = entries.last().unwrap();
    assert!(last.bad(), "RepeatedFormatError is no good end: {last:?}");
}

#[test]
fn minis_last_command_is_no_failure() {
    let log = r#"{"messages": [
        {"role": "assistant", "content": "done", "extra": {"actions": [{"command":
            "echo COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT"}]}},
        {"role": "user", "content": "", "extra": {"returncode": -1}},
        {"role": "exit", "content": "", "extra": {"exit_status": "Submitted"}}
    ]}"#;
    let mut reader = TraceReader::new(LogFormat::Mini);
    assert!(reader.feed(log.as_bytes()).is_empty(), "read as a whole");
    let mut entries: Vec<Entry> = Vec::new();
    for (at, entry) in reader.tail() {
        if at < entries.len() {
            entries[at] = entry;
        } else {
            entries.push(entry);
        }
    }
    let [(_, exit, progress)] = commands(&entries)[..] else {
        panic!("{entries:?}");
    };
    assert_eq!((exit, progress), (None, Done));
    assert!(!entries.last().unwrap().bad());
}

/// Text, seconds and whether for a rate limit.
fn waits(entries: &[Entry]) -> Vec<(&str, Option<f64>, bool)> {
    let wait = |entry| match entry {
        &Entry {
            kind:
                Kind::Wait {
                    ref text,
                    delay_s,
                    rate_limit,
                },
            ..
        } => Some((text.as_str(), delay_s, rate_limit)),
        _ => None,
    };
    entries.iter().filter_map(wait).collect()
}

#[test]
fn waits_for_a_rate_limit_are_told_where_the_stream_tells_them() {
    let claude = read("claude-rate429.jsonl", LogFormat::Claude, 4096);
    assert_eq!(
        waits(&claude),
        [
            (
                "rate limit (429) waits 1.1 s, try 1 of 10",
                Some(1.122),
                true
            ),
            (
                "rate limit (429) waits 1.2 s, try 2 of 10",
                Some(1.243),
                true
            ),
        ]
    );
    let codex = read("codex-rate429.jsonl", LogFormat::Codex, 4096);
    let codex = waits(&codex);
    assert_eq!(codex.len(), 2);
    assert!(codex.iter().all(|(text, delay_s, limit)| {
        text.starts_with("Reconnecting... ") && delay_s.is_none() && *limit
    }));
    // a service that fails is waited for as well, and is no rate limit
    let failing = read("claude-err500.jsonl", LogFormat::Claude, 4096);
    assert_eq!(waits(&failing).len(), 3);
    assert!(waits(&failing).iter().all(|(_, _, limit)| !limit));
}

#[test]
fn a_limit_that_is_used_up_is_a_wait_and_a_warning_is_none() {
    let mut reader = TraceReader::new(LogFormat::Claude);
    let event = |status: &str| {
        format!(
            "{{\"type\":\"rate_limit_event\",\"rate_limit_info\":{{\"status\":\"{status}\",\
             \"resetsAt\":1764500000,\"rateLimitType\":\"five_hour\"}},\
             \"timestamp\":\"2025-11-30T10:51:40Z\"}}\n"
        )
    };
    let text = ["allowed", "allowed_warning", "rejected"]
        .map(event)
        .concat();
    let entries: Vec<Entry> = reader
        .feed(text.as_bytes())
        .into_iter()
        .map(|(_, e)| e)
        .collect();
    assert_eq!(entries.len(), 2, "what holds nobody up is not shown");
    assert!(matches!(&entries[0].kind, Kind::Notice { .. }));
    let expected = "rate limit rejected (five_hour) until 2025-11-30T10:53:20Z";
    assert_eq!(waits(&entries), [(expected, Some(100.0), true)]);
}
