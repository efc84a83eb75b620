//! `infradev trace FILE`: what an agent did, out of the log that it left.

use std::fs::File;
use std::io::{Read, Seek};
use std::path::Path;

use super::args::{TraceArgs, TraceFormat};
use super::exit::{Exit, Failure};
use super::output;
use crate::agent::trace::{self, EditKind, Entry, Kind, Progress, Role, Summary, TraceDocument};
use crate::domain::submission::LogFormat;

pub fn run(args: &TraceArgs) -> Result<Exit, Failure> {
    let path = &args.file;
    let wrong = |what: &str| Failure::input(format!("{}: {what}", path.display()));
    let unread = |e: std::io::Error| wrong(&e.to_string());
    // looked at before it is opened: a pipe would wait for a writer
    let found = std::fs::metadata(path)
        .map_err(|e| wrong(&format!("{e}; name the log that an agent wrote")))?;
    if !found.is_file() {
        return Err(wrong("no plain file; name the log that an agent wrote"));
    }
    let mut file = File::open(path).map_err(unread)?;
    let format = match args.format.named() {
        Some(format) => format,
        None => detect(&mut file, path)?,
    };
    // a log that grows meanwhile is read to where it was
    let source = file.take(found.len());
    if args.json {
        let mut summary = Summary::new(format);
        let facts = trace::read(source, format, &mut |at, entry| summary.take(at, &entry));
        output::document(&summary.document(facts.map_err(unread)?))?;
        return Ok(Exit::Yes);
    }
    let mut summary = Summary::without_lists(format);
    let facts = trace::read(source, format, &mut |at, entry| {
        if summary.is_new(at) || !matches!(entry.kind, Kind::Notice { .. } | Kind::Wait { .. }) {
            show(&entry);
        }
        summary.take(at, &entry);
    });
    for line in ending(&summary.document(facts.map_err(unread)?)) {
        output::line(&output::safe(&line));
    }
    Ok(Exit::Yes)
}

fn detect(file: &mut File, path: &Path) -> Result<LogFormat, Failure> {
    let unread = |e: std::io::Error| Failure::input(format!("{}: {e}", path.display()));
    let mut head = Vec::new();
    Read::by_ref(file)
        .take(trace::HEAD as u64)
        .read_to_end(&mut head)
        .map_err(unread)?;
    file.rewind().map_err(unread)?;
    trace::detect(&head).ok_or_else(|| {
        Failure::input(format!(
            "{}: its content is no agent log that infradev knows; say which with --format: codex \
             (exec --json), claude (stream-json), opencode (run --format json), mini (traj.json), \
             sweagent (.traj), openhands (events), atif or text",
            path.display()
        ))
    })
}

impl TraceFormat {
    fn named(self) -> Option<LogFormat> {
        Some(match self {
            TraceFormat::Auto => return None,
            TraceFormat::Codex => LogFormat::Codex,
            TraceFormat::Opencode => LogFormat::Opencode,
            TraceFormat::Claude => LogFormat::Claude,
            TraceFormat::Mini => LogFormat::Mini,
            TraceFormat::SweAgent => LogFormat::SweAgent,
            TraceFormat::Openhands => LogFormat::Openhands,
            TraceFormat::Atif => LogFormat::Atif,
            TraceFormat::Text => LogFormat::Text,
        })
    }
}

/// An entry as lines for people, as soon as it has ended.
fn show(entry: &Entry) {
    let block = |sign: &str, text: &str| {
        let mut sign = sign;
        for line in text.lines() {
            output::line(&format!("{sign}{}", output::safe(line)));
            sign = "  ";
        }
    };
    match &entry.kind {
        Kind::Message { role, text } => {
            let who = match role {
                Role::Agent => "agent: ",
                Role::User => "user: ",
                Role::System => "system: ",
            };
            block(who, text);
        }
        Kind::Reasoning { text } => block("thinks: ", text),
        Kind::Command {
            command,
            exit,
            progress,
            ..
        } => match (progress, exit) {
            (Progress::Running, _) => {}
            (Progress::Done, None) => block("$ ", command),
            (Progress::Failed, None) => block("$ ", &format!("{command}\nfailed, no exit code")),
            (_, Some(code)) => block("$ ", &format!("{command}\nexit code {code}")),
        },
        Kind::Edit {
            files, progress, ..
        } if *progress != Progress::Running => {
            let failed = match progress {
                Progress::Failed => "  (failed)",
                _ => "",
            };
            for (kind, path) in files {
                let kind = match kind {
                    EditKind::Add => "add",
                    EditKind::Delete => "delete",
                    EditKind::Update => "update",
                };
                block(&format!("{kind} "), &format!("{path}{failed}"));
            }
        }
        Kind::Tool {
            name,
            input,
            progress,
            ..
        } if *progress != Progress::Running => block("tool ", &format!("{name} {input}")),
        Kind::Error { text } => block("error: ", text),
        Kind::Notice { text, .. } => block("note: ", text),
        Kind::Wait { text, .. } => block("wait: ", text),
        Kind::Raw { text } => block("", text),
        Kind::Edit { .. } | Kind::Tool { .. } | Kind::Usage { .. } => {}
    }
}

fn ending(document: &TraceDocument) -> Vec<String> {
    let mut lines = Vec::new();
    for command in &document.commands {
        lines.push(format!("$ {}  (no end in the log)", command.command));
    }
    let end = serde_json::to_value(document.end).unwrap_or_default();
    lines.push(format!(
        "{}{}: {}",
        document.agent.as_deref().unwrap_or("text"),
        document
            .model
            .as_deref()
            .map_or_else(String::new, |m| format!(" with {m}")),
        end.as_str().unwrap_or_default(),
    ));
    lines.push(match &document.usage {
        None => "tokens: not in the log".into(),
        Some(usage) => {
            let cost = usage
                .cost_usd
                .map_or_else(String::new, |usd| format!(", ${usd}"));
            format!(
                "tokens: {} in, {} from cache, {} to cache, {} out, {} reasoning{cost}",
                usage.input, usage.cache_read, usage.cache_write, usage.output, usage.reasoning,
            )
        }
    });
    if document.unparsed_lines > 0 {
        lines.push(format!(
            "lines that are no event: {}",
            document.unparsed_lines
        ));
    }
    lines
}
