//! Small ways into a JSON value that may lack anything.

use serde_json::Value;

/// As serde_json, but half a character of JavaScript's (a string cut inside a pair) is no error.
pub fn parse(text: &str) -> Option<Value> {
    serde_json::from_str(text)
        .ok()
        .or_else(|| serde_json::from_str(&mend_halves(text)?).ok())
}

/// Lone `\udxxx` escapes become U+FFFD; `None`: there are none.
fn mend_halves(text: &str) -> Option<String> {
    let unit = |at: usize| {
        let hex = text.get(at..at + 6)?.strip_prefix("\\u")?;
        u32::from_str_radix(hex, 16).ok()
    };
    let mut out = String::with_capacity(text.len());
    let (mut from, mut at) = (0, 0);
    while let Some(found) = memchr::memchr(b'\\', &text.as_bytes()[at..]) {
        at += found;
        at += match unit(at) {
            Some(0xd800..=0xdbff) if matches!(unit(at + 6), Some(0xdc00..=0xdfff)) => 12,
            Some(0xd800..=0xdfff) => {
                out.push_str(&text[from..at]);
                out.push('\u{fffd}');
                from = at + 6;
                6
            }
            Some(_) => 6,
            None => 2,
        };
        if at >= text.len() {
            break;
        }
    }
    out.push_str(text.get(from..)?);
    (from > 0).then_some(out)
}

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn half_a_character_is_replaced_and_a_whole_one_stays() {
        let line = r#"{"a":"\ud83d","b":"\ud83d\ude00","c":"\\ud83d","d":"é\udc00\n"}"#;
        let value = parse(line).unwrap_or_default();
        assert_eq!(text(&value, "a"), "\u{fffd}");
        assert_eq!(text(&value, "b"), "😀");
        assert_eq!(text(&value, "c"), "\\ud83d");
        assert_eq!(text(&value, "d"), "é\u{fffd}\n");
        assert!(parse("{\"a\":\"\\").is_none());
    }
}
