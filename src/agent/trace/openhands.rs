//! OpenHands: events of the old kind (`action`, `observation`) and of its SDK (`kind`), alone, in
//! a list or in the `history` of a row. Its counts of tokens grow: what is new of them is told.

use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::tz::TimeZone;
use serde_json::{Map, Value};

use crate::domain::{Level, Usage};

use super::document::{Part, Parts};
use super::entry::{Entry, Kind, Progress};
use super::facts::{Count, End};
use super::json::{count, flat, text};
use super::openhands_sdk;
use super::openhands_v0;
use super::reader::Out;

/// Under these keys a document has its events.
const LISTS: [&str; 3] = ["history", "trajectory", "events"];

/// A document with events as it is walked through.
#[derive(Debug, Default)]
pub struct Openhands {
    lists: bool,
    /// Of an event that is a document of its own.
    fields: Map<String, Value>,
}

impl Parts for Openhands {
    fn part(&mut self, key: &str, _out: &mut Out) -> Part {
        match key {
            key if LISTS.contains(&key) => {
                self.lists = true;
                Part::Items
            }
            "instance" | "instruction" | "test_result" => Part::Skip,
            _ => Part::Whole,
        }
    }

    fn item(&mut self, _key: &str, item: &Value, out: &mut Out) {
        self.lists = true;
        event_or_raw(item, out);
    }

    fn field(&mut self, key: &str, value: &Value, _out: &mut Out) {
        self.fields.insert(key.to_owned(), value.clone());
    }

    fn finish(&mut self, out: &mut Out) {
        let fields = Value::Object(std::mem::take(&mut self.fields));
        if self.lists {
            row_end(&fields, out);
        } else if !out.facts.cut {
            event_or_raw(&fields, out);
        }
    }
}

/// One line of a stream: an event, or a row with all events of an instance.
pub fn read(value: &Value, out: &mut Out) -> bool {
    let mut lists = LISTS.iter().filter_map(|key| value.get(key));
    let Some(history) = lists.find_map(Value::as_array) else {
        return event(value, out);
    };
    // each row counts from the beginning
    out.facts.counted = Count::default();
    let instance = text(value, "instance_id");
    if !instance.is_empty() {
        let text = format!("instance {instance}");
        let level = Level::Info;
        out.push(Entry::new(None, Kind::Notice { level, text }));
    }
    for item in history {
        event_or_raw(item, out);
    }
    row_end(value, out);
    true
}

fn row_end(row: &Value, out: &mut Out) {
    if let Some(metrics) = row.get("metrics").filter(|m| m.is_object()) {
        read_metrics(metrics, None, out);
    }
    let error = row.get("error").map_or_else(String::new, flat);
    if !error.is_empty() {
        out.facts.end = Some(End::Error);
        out.push(Entry::new(None, Kind::Error { text: error }));
    }
}

fn event_or_raw(item: &Value, out: &mut Out) {
    // old rows have pairs of action and observation
    if let Value::Array(pair) = item {
        for one in pair {
            event_or_raw(one, out);
        }
    } else if !event(item, out) {
        let text = item.to_string();
        out.push(Entry::new(None, Kind::Raw { text }));
    }
}

fn event(value: &Value, out: &mut Out) -> bool {
    let at_s = at_s(text(value, "timestamp"));
    let known = if text(value, "kind").is_empty() {
        openhands_v0::read(value, at_s, out)
    } else {
        openhands_sdk::read(value, at_s, out)
    };
    if let Some(metrics) = value.get("llm_metrics").filter(|m| m.is_object()) {
        read_metrics(metrics, at_s, out);
    }
    known
}

/// Times without a zone are taken as UTC.
pub fn at_s(time: &str) -> Option<f64> {
    let stamp = time.parse::<Timestamp>().ok().or_else(|| {
        let civil = time.parse::<DateTime>().ok()?;
        TimeZone::UTC.to_timestamp(civil).ok()
    })?;
    Some(stamp.as_millisecond() as f64 / 1000.0)
}

fn read_metrics(metrics: &Value, at_s: Option<f64>, out: &mut Out) {
    tell(counted(metrics), at_s, out);
}

/// What a `metrics` object has gathered.
pub fn counted(metrics: &Value) -> Count {
    let tokens = metrics
        .get("accumulated_token_usage")
        .unwrap_or(&Value::Null);
    let (read, write) = (
        count(tokens, "cache_read_tokens"),
        count(tokens, "cache_write_tokens"),
    );
    let (prompt, reasoning) = (
        count(tokens, "prompt_tokens"),
        count(tokens, "reasoning_tokens"),
    );
    Count {
        usage: Usage {
            // a prompt holds both; one that is smaller (agents over ACP) counts them apart
            input: prompt
                .checked_sub(read.saturating_add(write))
                .unwrap_or(prompt),
            cache_read: read,
            cache_write: write,
            output: count(tokens, "completion_tokens").saturating_sub(reasoning),
            reasoning,
        },
        cost_usd: metrics.get("accumulated_cost").and_then(Value::as_f64),
    }
}

/// Adds what is new since the last time; counts that went back are of another part and add none.
pub fn tell(now: Count, at_s: Option<f64>, out: &mut Out) {
    let before = &mut out.facts.counted;
    let grow = |before: &mut u64, now: u64| {
        let more = now.saturating_sub(*before);
        *before += more;
        more
    };
    let usage = Usage {
        input: grow(&mut before.usage.input, now.usage.input),
        cache_read: grow(&mut before.usage.cache_read, now.usage.cache_read),
        cache_write: grow(&mut before.usage.cache_write, now.usage.cache_write),
        output: grow(&mut before.usage.output, now.usage.output),
        reasoning: grow(&mut before.usage.reasoning, now.usage.reasoning),
    };
    let cost_usd = now
        .cost_usd
        .map(|cost| (cost - before.cost_usd.unwrap_or(0.0)).max(0.0));
    if let Some(more) = cost_usd {
        before.cost_usd = Some(before.cost_usd.unwrap_or(0.0) + more);
    }
    if usage == Usage::default() && cost_usd.is_none_or(|cost| cost <= 0.0) {
        return;
    }
    let kind = Kind::Usage {
        usage,
        cost_usd,
        total: false,
    };
    out.push(Entry::new(at_s, kind));
}

/// How what was begun has ended.
#[derive(Debug)]
pub struct Ended {
    pub name: String,
    pub output: String,
    pub exit: Option<i64>,
    pub progress: Progress,
}

/// Puts an end to what was begun under one of these ids, or tells it by itself.
pub fn close(ids: &[&str], ended: Ended, at_s: Option<f64>, out: &mut Out) {
    let found = ids
        .iter()
        .filter(|id| !id.is_empty())
        .find_map(|id| out.opened(id));
    let Some((at, mut entry)) = found else {
        let kind = Kind::Tool {
            name: ended.name,
            input: String::new(),
            output: ended.output,
            progress: ended.progress,
        };
        out.push(Entry::new(at_s, kind));
        return;
    };
    match &mut entry.kind {
        Kind::Command {
            output,
            exit,
            progress,
            duration_s,
            ..
        } => {
            *duration_s = entry.at_s.zip(at_s).map(|(from, to)| (to - from).max(0.0));
            *output = ended.output;
            *exit = ended.exit;
            *progress = ended.progress;
        }
        Kind::Edit {
            detail, progress, ..
        } => {
            if ended.progress == Progress::Failed {
                *detail = ended.output;
            }
            *progress = ended.progress;
        }
        Kind::Tool {
            output, progress, ..
        } => {
            *output = ended.output;
            *progress = ended.progress;
        }
        _ => {}
    }
    out.replace(at, entry);
}

/// The code of a command; -1 is one that has not ended.
pub fn by_code(code: Option<i64>, failed: bool) -> (Option<i64>, Progress) {
    match code {
        Some(-1) => (None, Progress::Running),
        Some(0) => (code, Progress::Done),
        Some(_) => (code, Progress::Failed),
        None if failed => (None, Progress::Failed),
        None => (None, Progress::Done),
    }
}
