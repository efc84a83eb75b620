//! Tokens of Python, and of the code that stands in prose. Rough on purpose: it must read both.

/// A token and its line, from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Token<'t> {
    pub text: &'t str,
    pub line: usize,
    pub kind: TokenKind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TokenKind {
    Word,
    Number,
    Operator,
    /// A string of Python's, with its quotes.
    Text,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Mode {
    Python,
    /// Python with its strings.
    Strings,
    Prose,
}

/// Tokens of Python source: comments and strings are left out.
pub(super) fn python(text: &str) -> Vec<Token<'_>> {
    tokens(text, Mode::Python, 1)
}

/// The strings of Python source on one line, without prefix and quotes.
pub(super) fn strings(text: &str) -> Vec<Token<'_>> {
    let mut found = tokens(text, Mode::Strings, 1);
    found.retain(|t| t.kind == TokenKind::Text && !t.text.contains('\n'));
    for token in &mut found {
        token.text = token.text.trim_matches(['"', '\'']);
    }
    found
}

/// Tokens of prose.
pub(super) fn prose(text: &str, first_line: usize) -> Vec<Token<'_>> {
    tokens(text, Mode::Prose, first_line)
}

fn tokens(text: &str, mode: Mode, first_line: usize) -> Vec<Token<'_>> {
    let bytes = text.as_bytes();
    let python = mode != Mode::Prose;
    let (mut at, mut line) = (0, first_line);
    let mut found = Vec::new();
    while at < bytes.len() {
        let start = at;
        let c = bytes[at];
        let is_word = |b: u8| b.is_ascii_alphanumeric() || b == b'_' || b >= 0x80;
        let kind = if c == b'\n' {
            line += 1;
            at += 1;
            continue;
        } else if c.is_ascii_whitespace() {
            at += 1;
            continue;
        } else if python && c == b'#' {
            while at < bytes.len() && bytes[at] != b'\n' {
                at += 1;
            }
            continue;
        } else if python && (c == b'"' || c == b'\'') {
            at = string_end(bytes, at).min(bytes.len());
            if mode == Mode::Strings
                && let Some(text) = text.get(start..at)
            {
                let kind = TokenKind::Text;
                found.push(Token { text, line, kind });
            }
            line += memchr::memchr_iter(b'\n', &bytes[start..at]).count();
            continue;
        } else if c.is_ascii_digit() || begins_fraction(bytes, at) {
            at = number_end(bytes, at);
            TokenKind::Number
        } else if is_word(c) {
            while at < bytes.len() && is_word(bytes[at]) {
                at += 1;
            }
            TokenKind::Word
        } else {
            let double = [
                "<<", ">>", "**", "//", "==", "!=", "<=", ">=", "->", "+=", "-=",
            ];
            let two = text.get(at..at + 2).is_some_and(|t| double.contains(&t));
            at += if two { 2 } else { 1 };
            TokenKind::Operator
        };
        if let Some(text) = text.get(start..at) {
            found.push(Token { text, line, kind });
        }
    }
    found
}

/// `.5`, and not the dot of `a.5` or `a[0].5`.
fn begins_fraction(bytes: &[u8], at: usize) -> bool {
    let before = at.checked_sub(1).and_then(|i| bytes.get(i));
    let value = |b: &u8| b.is_ascii_alphanumeric() || b"_)].".contains(b) || *b >= 0x80;
    bytes[at] == b'.'
        && bytes.get(at + 1).is_some_and(u8::is_ascii_digit)
        && !before.is_some_and(value)
}

/// `1`, `65,536`, `1_000`, `0.5`, `1e-5`, `0x1f`.
fn number_end(bytes: &[u8], start: usize) -> usize {
    let digit = |i: usize| bytes.get(i).is_some_and(u8::is_ascii_digit);
    let mut at = start;
    while let Some(b) = bytes.get(at) {
        let exponent = matches!(b, b'+' | b'-')
            && matches!(bytes.get(at - 1), Some(b'e' | b'E'))
            && !bytes[start..at].starts_with(b"0x");
        let grouped = *b == b',' && (1..4).all(|i| digit(at + i)) && !digit(at + 4);
        let inner = *b == b'.' && digit(at + 1);
        let plain = b.is_ascii_alphanumeric() || *b == b'_';
        if !(plain || grouped || inner || exponent && digit(at + 1)) {
            break;
        }
        at += 1;
    }
    at
}

fn string_end(bytes: &[u8], start: usize) -> usize {
    let quote = bytes[start];
    let long = bytes.get(start..start + 3) == Some(&[quote; 3]);
    let mut at = start + if long { 3 } else { 1 };
    while at < bytes.len() {
        match bytes[at] {
            b'\\' => at += 1,
            b'\n' if !long => return at,
            b if b == quote && long && bytes.get(at..at + 3) == Some(&[quote; 3]) => return at + 3,
            b if b == quote && !long => return at + 1,
            _ => {}
        }
        at += 1;
    }
    bytes.len()
}

/// A number's value in one form; `None` for what is written like one and is none (`2d4`).
pub(super) fn value(number: &str) -> Option<String> {
    parsed(number).map(plain)
}

/// Every value that a number of a prompt may stand for: with a unit (`73MB`), as a share of a
/// hundred (`81.25 %`).
pub(super) fn values(number: &str, percent: bool) -> Vec<String> {
    const LONGEST_UNIT: usize = 5;
    let mut found: Vec<f64> = parsed(number).into_iter().collect();
    let digits = number.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let unit = &number[digits.len()..];
    if found.is_empty()
        && unit.len() <= LONGEST_UNIT
        && let Some(n) = parsed(digits)
    {
        found.push(n);
        let power = match unit.to_ascii_lowercase().trim_end_matches(['b', 'i']) {
            "k" => 1,
            "m" => 2,
            "g" => 3,
            _ => 0,
        };
        if power > 0 {
            found.extend([n * 1000_f64.powi(power), n * 1024_f64.powi(power)]);
        }
    }
    if percent && let Some(n) = found.first() {
        const EXACT: f64 = 1e12;
        found.push((n / 100.0 * EXACT).round() / EXACT);
    }
    found.into_iter().map(plain).collect()
}

fn plain(number: f64) -> String {
    format!("{number}")
}

fn parsed(number: &str) -> Option<f64> {
    let digits = number.replace(['_', ','], "");
    let lower = digits.to_ascii_lowercase();
    for (prefix, radix) in [("0x", 16), ("0b", 2), ("0o", 8)] {
        if let Some(rest) = lower.strip_prefix(prefix) {
            // as exact as a number of that size can be
            return u64::from_str_radix(rest, radix).ok().map(|n| n as f64);
        }
    }
    digits.parse().ok()
}
