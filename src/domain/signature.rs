//! What failures have in common: a message without what differs from case to case.

use super::{CaseResult, Outcome};

/// Longest signature, in bytes.
const LONGEST: usize = 160;

/// The error signature of a case that did not pass (METHOD.md section 7): the first line of its
/// message without the ranks that it is from, each number as `#`, a row of them as `#…`, but for
/// those of dtypes; its outcome's name where it left no message. Untrusted text, as the message is.
pub fn signature(outcome: Outcome, message: Option<&str>) -> String {
    let line = message.and_then(|m| m.lines().map(str::trim).find(|l| !l.is_empty()));
    let Some(line) = line else {
        return outcome.name().to_owned();
    };
    let mut out = String::new();
    let mut rest = without_ranks(line);
    while let Some(c) = rest.chars().next() {
        let after_word = out.ends_with(|c: char| c.is_alphanumeric() || c == '_');
        let negative = rest.strip_prefix('-').filter(|_| !after_word);
        let negative = negative.unwrap_or(rest);
        if !is_dtype(&out) && negative.starts_with(|c: char| c.is_ascii_digit()) {
            let taken = number(negative);
            rest = negative.get(taken..).unwrap_or("");
            if let Some(row) = out.strip_suffix("#, ").or_else(|| out.strip_suffix("#…, ")) {
                out.truncate(row.len());
                out.push_str("#…");
            } else {
                out.push('#');
            }
        } else {
            out.push(c);
            rest = rest.get(c.len_utf8()..).unwrap_or("");
        }
        if out.len() >= LONGEST {
            break;
        }
    }
    out
}

impl CaseResult {
    /// Absent of a case that passed.
    pub fn signature(&self) -> Option<String> {
        (!self.outcome.passed()).then(|| signature(self.outcome, self.message.as_deref()))
    }
}

/// Whether a text ends as the name of a dtype begins: `float` of `float32`.
fn is_dtype(text: &str) -> bool {
    let word = text.rsplit(|c: char| !c.is_alphanumeric()).next();
    let names = ["float", "bfloat", "int", "uint", "complex", "fp", "bf"];
    let inside = word.is_some_and(|word| word.contains(|c: char| c.is_ascii_digit()));
    inside || word.is_some_and(|word| names.contains(&word))
}

/// A message of several ranks begins with them: `ranks 0, 1: `.
fn without_ranks(line: &str) -> &str {
    let named = line
        .strip_prefix("ranks ")
        .or_else(|| line.strip_prefix("rank "));
    let Some((ranks, rest)) = named.and_then(|named| named.split_once(": ")) else {
        return line;
    };
    let listed = |c: char| c.is_ascii_digit() || matches!(c, ',' | ' ');
    if ranks.chars().all(listed) {
        rest
    } else {
        line
    }
}

/// Bytes of the number that a text begins with: `12`, `0.5`, `1e-12`, `0x7f3b`.
fn number(text: &str) -> usize {
    let mut end = 0;
    let mut before = ' ';
    for (at, c) in text.char_indices() {
        let next = text.get(at + c.len_utf8()..).and_then(|t| t.chars().next());
        let goes_on = c.is_ascii_alphanumeric()
            || c == '.' && next.is_none_or(|n| !n.is_alphabetic() && n != '.')
            || matches!(c, '+' | '-') && matches!(before, 'e' | 'E');
        if !goes_on {
            break;
        }
        before = c;
        end = at + c.len_utf8();
    }
    end
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_differs_from_case_to_case_is_left_out() {
        let of = |message: &str| signature(Outcome::Failed, Some(message));
        for (message, shown) in [
            ("assert 8.0 == 4.0", "assert # == #"),
            ("assert -1e-12 == 0x7f3b", "assert # == #"),
            (
                "ranks 0, 1: AssertionError: 4.weight: off by 0.162 of",
                "AssertionError: #.weight: off by # of",
            ),
            ("rank 2: KeyError: 17", "KeyError: #"),
            ("rank and file: 3", "rank and file: #"),
            ("assert [1, 2, 3] == [1, 2]", "assert [#…] == [#…]"),
            ("float32 is not bf16", "float32 is not bf16"),
            ("p1.weight of test_x2", "p#.weight of test_x#"),
            ("a-1 and a -1", "a-# and a #"),
            ("\n  took 3. \nmore", "took #"),
            ("é 5…6", "é #…#"),
        ] {
            assert_eq!(of(message), shown);
        }
        assert_eq!(signature(Outcome::Missing, None), "missing");
        assert_eq!(signature(Outcome::Error, Some(" \n")), "error");
        assert!(of(&"漢".repeat(900)).len() < LONGEST + 4);
    }
}
