//! What an edit takes out and puts in, as a small diff.

use serde_json::Value;

use crate::diff::{DiffOptions, FileDiff};

use super::json::text;

/// Lines that stay, shown on each side of a change.
const AROUND: u32 = 2;
/// Bytes of either text up to which their lines are compared.
const COMPARED: usize = 256 << 10;

/// The diff of what a tool was told: old and new text, or the text of a new file, under the names
/// that the tool gives them.
pub fn told(input: &Value, old: &str, new: &str, content: &str) -> String {
    let mut parts = Vec::new();
    // several edits of one file
    let several = input.get("edits").and_then(Value::as_array);
    for edit in several.into_iter().flatten().chain([input]) {
        parts.push(diff(text(edit, old), text(edit, new)));
    }
    parts.push(diff("", text(input, content)));
    parts.retain(|part| !part.is_empty());
    parts.join("\n@@\n")
}

/// Lines with `-` and `+` before them, those that stay around them with a blank.
pub fn diff(old: &str, new: &str) -> String {
    let mut rows: Vec<String> = Vec::new();
    let options = DiffOptions {
        max_bytes: COMPARED,
        ..DiffOptions::default()
    };
    let found = FileDiff::new(Some(old.as_bytes()), Some(new.as_bytes()), options);
    if old.is_empty() || new.is_empty() || found.changes.is_empty() {
        rows.extend(old.lines().map(|line| format!("-{line}")));
        rows.extend(new.lines().map(|line| format!("+{line}")));
        return rows.join("\n");
    }
    let (before, after): (Vec<&str>, Vec<&str>) = (old.lines().collect(), new.lines().collect());
    let mut push = |lines: &[&str], from: u32, to: u32, sign: char| {
        let part = lines.get(from as usize..to as usize).unwrap_or_default();
        rows.extend(part.iter().map(|line| format!("{sign}{line}")));
    };
    let mut at = 0;
    for (place, change) in found.changes.iter().enumerate() {
        let from = change.old.start.saturating_sub(AROUND).max(at);
        if place > 0 && from > at {
            push(&["@"], 0, 1, '@');
        }
        push(&before, from, change.old.start, ' ');
        push(&before, change.old.start, change.old.end, '-');
        push(&after, change.new.start, change.new.end, '+');
        let next = found.changes.get(place + 1).map(|next| next.old.start);
        let end = next.unwrap_or(before.len() as u32);
        at = (change.old.end + AROUND).min(end);
        push(&before, change.old.end, at, ' ');
    }
    rows.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn what_stays_is_shown_around_the_change_only() {
        let old = "a\nb\nc\nd\ne\nf\ng\nh\ni\nj\n";
        let new = "a\nb\nc\nD\ne\nf\ng\nh\ni\nj\nk\n";
        assert_eq!(diff(old, new), " b\n c\n-d\n+D\n e\n f\n@@\n i\n j\n+k");
        assert_eq!(diff("", "x\ny"), "+x\n+y");
        assert_eq!(diff("x\n", ""), "-x");
        assert_eq!(diff("same", "same"), "-same\n+same");
    }

    #[test]
    fn several_edits_stand_one_under_the_other() {
        let input = json!({"edits": [
            {"old": "a", "new": "b"},
            {"old": "c", "new": ""},
        ]});
        assert_eq!(told(&input, "old", "new", "content"), "-a\n+b\n@@\n-c");
        assert_eq!(
            told(&json!({"content": "x"}), "old", "new", "content"),
            "+x"
        );
    }
}
