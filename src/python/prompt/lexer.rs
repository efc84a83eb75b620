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
}

/// Tokens of Python source: comments and strings are left out.
pub(super) fn python(text: &str) -> Vec<Token<'_>> {
    tokens(text, true, 1)
}

/// Tokens of prose.
pub(super) fn prose(text: &str, first_line: usize) -> Vec<Token<'_>> {
    tokens(text, false, first_line)
}

fn tokens(text: &str, python: bool, first_line: usize) -> Vec<Token<'_>> {
    let bytes = text.as_bytes();
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
            at = string_end(bytes, at);
            line += memchr::memchr_iter(b'\n', &bytes[start..at]).count();
            continue;
        } else if c.is_ascii_digit() {
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

/// A number's value in one form; `None` for what is written like one and is none (`2d`).
pub(super) fn value(number: &str) -> Option<String> {
    let plain = number.replace(['_', ','], "");
    if let Some(hex) = plain.strip_prefix("0x") {
        return u64::from_str_radix(hex, 16).ok().map(|n| n.to_string());
    }
    let parsed: f64 = plain.parse().ok()?;
    Some(format!("{parsed}"))
}
