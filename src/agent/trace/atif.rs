//! ATIF, the trajectory of Harbor: one document of steps, whatever agent they are of. What the
//! agent does is told as calls, each with an observation in the same step.

use serde_json::Value;

use crate::domain::Usage;

use super::document::{Part, Parts};
use super::entry::{EditKind, Entry, Kind, Progress, Role};
use super::facts::End;
use super::json::{brief, count, flat, owned, text};
use super::openhands::{Ended, at_s, by_code, close};
use super::openhands_v0::diff;
use super::reader::Out;
use super::shell;

/// How the agents that Harbor knows name their shell.
const SHELLS: [&str; 9] = [
    "bash",
    "bash_command",
    "exec_command",
    "execute_bash",
    "local_shell",
    "run_shell_command",
    "shell",
    "shell_command",
    "terminal",
];

/// One document as it is walked through.
#[derive(Debug, Default)]
pub struct Atif {
    /// A step told tokens: the totals are of the same.
    counted: bool,
    totals: Option<Kind>,
}

impl Parts for Atif {
    fn part(&mut self, key: &str, _out: &mut Out) -> Part {
        match key {
            "steps" => Part::Items,
            "agent" | "final_metrics" => Part::Whole,
            // those of sub-agents too: totals are for the parent session
            _ => Part::Skip,
        }
    }

    fn item(&mut self, _key: &str, step: &Value, out: &mut Out) {
        // told in the part of the session that it is copied from
        if step.get("is_copied_context").and_then(Value::as_bool) != Some(true) {
            self.step(step, out);
        }
    }

    fn field(&mut self, key: &str, value: &Value, out: &mut Out) {
        if key == "agent" {
            let told = |key: &str| Some(owned(value, key)).filter(|word| !word.is_empty());
            out.facts.agent = told("name");
            out.facts.version = told("version");
            out.facts.model = told("model_name").or(out.facts.model.take());
        } else {
            self.totals = totals(value);
        }
    }

    fn finish(&mut self, out: &mut Out) {
        if let Some(kind) = self.totals.take().filter(|_| !self.counted) {
            out.push(Entry::new(None, kind));
        }
        // it is written when the session is over, and tells no other end
        if !out.facts.cut {
            out.facts.end = Some(End::Completed);
        }
    }
}

impl Atif {
    fn step(&mut self, step: &Value, out: &mut Out) {
        let at_s = at_s(text(step, "timestamp"));
        let role = match text(step, "source") {
            "agent" => Role::Agent,
            "user" => Role::User,
            "system" => Role::System,
            _ => {
                let text = step.to_string();
                out.push(Entry::new(at_s, Kind::Raw { text }));
                return;
            }
        };
        let model = text(step, "model_name");
        if out.facts.model.is_none() && !model.is_empty() {
            out.facts.model = Some(model.to_owned());
        }
        let mut tell = |kind| out.push(Entry::new(at_s, kind));
        let thought = owned(step, "reasoning_content");
        if !thought.is_empty() {
            tell(Kind::Reasoning { text: thought });
        }
        let said = step.get("message").map_or_else(String::new, flat);
        if !said.is_empty() {
            tell(Kind::Message { role, text: said });
        }
        let calls = step.get("tool_calls").and_then(Value::as_array);
        let calls: Vec<&Value> = calls.into_iter().flatten().collect();
        for call in &calls {
            out.begin(text(call, "tool_call_id"), Entry::new(at_s, kind(call)));
        }
        let results = step.pointer("/observation/results");
        for result in results.and_then(Value::as_array).into_iter().flatten() {
            // one that names no call is of the only one that there is
            let id = match (text(result, "source_call_id"), &calls[..]) {
                ("", [call]) => text(call, "tool_call_id"),
                (id, _) => id,
            };
            let code = ["exit_code", "returncode"]
                .iter()
                .find_map(|key| result.get("extra")?.get(*key)?.as_i64());
            let (exit, progress) = by_code(code, false);
            let ended = Ended {
                name: "observation".into(),
                output: result.get("content").map_or_else(String::new, flat),
                exit,
                progress,
            };
            close(&[id], ended, None, out);
        }
        if let Some(kind) = step.get("metrics").and_then(tokens) {
            self.counted = true;
            out.push(Entry::new(at_s, kind));
        }
    }
}

fn kind(call: &Value) -> Kind {
    let name = text(call, "function_name");
    let arguments = call.get("arguments").unwrap_or(&Value::Null);
    if SHELLS.contains(&name.to_lowercase().as_str())
        && let Some(command) = command(arguments)
    {
        return Kind::Command {
            command,
            output: String::new(),
            exit: None,
            progress: Progress::Running,
            duration_s: None,
        };
    }
    match edits(name, arguments) {
        files if files.is_empty() => Kind::Tool {
            name: name.to_owned(),
            input: brief(arguments),
            output: String::new(),
            progress: Progress::Running,
        },
        files => Kind::Edit {
            files,
            detail: diff(arguments),
            progress: Progress::Running,
        },
    }
}

/// A text, what is typed into a terminal, or the words of a program.
fn command(arguments: &Value) -> Option<String> {
    let told = ["command", "cmd", "keystrokes"];
    let command = told.iter().find_map(|key| arguments.get(*key))?;
    if let Value::String(typed) = command {
        return Some(shell::unwrap(typed.trim_end()));
    }
    let words = command.as_array()?.iter().map(Value::as_str);
    let words: Vec<&str> = words.collect::<Option<_>>()?;
    Some(match words[..] {
        [_, "-c" | "-lc", script] => script.to_owned(),
        _ => words.join(" "),
    })
}

/// Files that a call of an edit tool names; none: it is another tool.
fn edits(name: &str, arguments: &Value) -> Vec<(EditKind, String)> {
    let kind = match (name, text(arguments, "command")) {
        (_, "create") | ("Write" | "write" | "write_file" | "create_file", _) => EditKind::Add,
        (_, "str_replace" | "insert" | "undo_edit")
        | ("Edit" | "MultiEdit" | "NotebookEdit" | "edit" | "edit_file" | "replace", _) => {
            EditKind::Update
        }
        ("apply_patch", _) => {
            let patch = ["input", "patch", "patchText"].map(|key| text(arguments, key));
            return patch.concat().lines().filter_map(patched).collect();
        }
        _ => return Vec::new(),
    };
    let path = ["file_path", "path", "filePath"].map(|key| text(arguments, key));
    let path = path.into_iter().find(|path| !path.is_empty());
    path.map(|path| (kind, path.to_owned()))
        .into_iter()
        .collect()
}

/// `*** Add File: PATH` of a patch.
fn patched(line: &str) -> Option<(EditKind, String)> {
    let (word, path) = line.strip_prefix("*** ")?.split_once(" File: ")?;
    let kind = match word {
        "Add" => EditKind::Add,
        "Delete" => EditKind::Delete,
        _ => EditKind::Update,
    };
    Some((kind, path.trim().to_owned()))
}

fn tokens(metrics: &Value) -> Option<Kind> {
    usage(
        metrics,
        [
            "prompt_tokens",
            "completion_tokens",
            "cached_tokens",
            "cost_usd",
        ],
        false,
    )
}

fn totals(metrics: &Value) -> Option<Kind> {
    let keys = [
        "total_prompt_tokens",
        "total_completion_tokens",
        "total_cached_tokens",
        "total_cost_usd",
    ];
    usage(metrics, keys, true)
}

/// A prompt holds what was read from a cache; what has no field of its own stands in `extra`.
fn usage(metrics: &Value, keys: [&str; 4], total: bool) -> Option<Kind> {
    let [prompt, output, cached, cost] = keys;
    let cost_usd = metrics.get(cost).and_then(Value::as_f64);
    if [prompt, output].iter().all(|key| !metrics[*key].is_u64()) {
        return None;
    }
    let extra = |keys: &[&str]| {
        let found = keys.iter().map(|key| count(&metrics["extra"], key));
        found.max().unwrap_or(0)
    };
    let read = count(metrics, cached);
    let written = extra(&["cache_creation_input_tokens", "cache_write_tokens"]);
    let reasoning = extra(&["reasoning_output_tokens", "reasoning_tokens"]);
    let rest = count(metrics, prompt).saturating_sub(read);
    let output = count(metrics, output);
    Some(Kind::Usage {
        usage: Usage {
            input: rest.checked_sub(written).unwrap_or(rest),
            cache_read: read,
            cache_write: written,
            output: output.checked_sub(reasoning).unwrap_or(output),
            reasoning,
        },
        cost_usd,
        total,
    })
}
