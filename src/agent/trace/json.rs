//! Small ways into a JSON value that may lack anything.

use serde_json::Value;

pub fn text<'a>(value: &'a Value, key: &str) -> &'a str {
    value.get(key).and_then(Value::as_str).unwrap_or("")
}

pub fn owned(value: &Value, key: &str) -> String {
    text(value, key).to_owned()
}

pub fn count(value: &Value, key: &str) -> u64 {
    value.get(key).and_then(Value::as_u64).unwrap_or(0)
}

/// Text out of a string, or out of blocks that hold texts.
pub fn flat(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Array(items) => items
            .iter()
            .map(|item| match item {
                Value::String(text) => text.clone(),
                other => owned(other, "text"),
            })
            .filter(|text| !text.is_empty())
            .collect::<Vec<_>>()
            .join("\n"),
        Value::Null => String::new(),
        other => other.to_string(),
    }
}

/// An input as one short line: a lone string as it is, else JSON.
pub fn brief(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        Value::Object(map) if map.is_empty() => String::new(),
        Value::Object(map) if map.len() == 1 => {
            map.values().next().map_or_else(String::new, |v| match v {
                Value::String(text) => text.clone(),
                other => other.to_string(),
            })
        }
        other => other.to_string(),
    }
}
