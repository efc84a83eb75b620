//! Moving lines to the right, and leaving the insides of strings where they are.

use std::ops::Range;

use super::symbols::{Module, ParseError};

/// `text`, a piece of Python at the left margin, with `indent` before each line that is not blank.
pub(super) fn indented(text: &str, indent: &str) -> Result<String, ParseError> {
    let module = Module::parse(text)?;
    Ok(shifted(text, 0..text.len(), indent, &module.long_strings()))
}

/// The lines of `range`, which begins at the start of a line, with `indent` before each that is
/// not blank and does not begin inside one of `strings`.
pub(super) fn shifted(
    text: &str,
    range: Range<usize>,
    indent: &str,
    strings: &[Range<usize>],
) -> String {
    let mut out = String::new();
    let mut at = range.start;
    for line in text[range].split_inclusive('\n') {
        let inside = strings.iter().any(|s| s.start < at && at < s.end);
        if !inside && !line.trim().is_empty() {
            out.push_str(indent);
        }
        out.push_str(line);
        at += line.len();
    }
    out
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn strings_keep_their_lines() {
        let text = "x = '''a\n b\n'''\n\nif x:\n    y = f\"{\n1}\"\n";
        assert_eq!(
            indented(text, "  ").unwrap(),
            "  x = '''a\n b\n'''\n\n  if x:\n      y = f\"{\n1}\"\n"
        );
    }
}
