//! File names in patches: quoting, prefixes, and the two names of a `diff --git` line.

use std::borrow::Cow;

/// Reads a C-quoted name at the start of `text`: the bytes and what follows the closing quote.
pub(super) fn unquote(text: &[u8]) -> Option<(Vec<u8>, &[u8])> {
    let mut rest = text.strip_prefix(b"\"")?;
    let mut out = Vec::new();
    loop {
        let (&byte, after) = rest.split_first()?;
        rest = after;
        match byte {
            b'"' => return Some((out, rest)),
            b'\\' => {
                let (&escape, after) = rest.split_first()?;
                rest = after;
                out.push(match escape {
                    b'a' => 7,
                    b'b' => 8,
                    b't' => b'\t',
                    b'n' => b'\n',
                    b'v' => 11,
                    b'f' => 12,
                    b'r' => b'\r',
                    b'\\' | b'"' => escape,
                    b'0'..=b'3' => {
                        let digits = rest.get(..2)?;
                        rest = &rest[2..];
                        let mut value = escape - b'0';
                        for digit in digits {
                            if !(b'0'..=b'7').contains(digit) {
                                return None;
                            }
                            value = value * 8 + (digit - b'0');
                        }
                        value
                    }
                    _ => return None,
                });
            }
            _ => out.push(byte),
        }
    }
}

/// A name as git writes it with `core.quotepath`: quoted only where that is needed.
pub fn quote(name: &[u8]) -> Cow<'_, [u8]> {
    let plain = |b: &u8| (0x20..0x7f).contains(b) && *b != b'"' && *b != b'\\';
    if name.iter().all(plain) {
        return Cow::Borrowed(name);
    }
    let mut out = vec![b'"'];
    for byte in name {
        let escape = match byte {
            7 => b'a',
            8 => b'b',
            b'\t' => b't',
            b'\n' => b'n',
            11 => b'v',
            12 => b'f',
            b'\r' => b'r',
            b'"' | b'\\' => *byte,
            _ if plain(byte) => {
                out.push(*byte);
                continue;
            }
            _ => {
                out.extend_from_slice(format!("\\{byte:03o}").as_bytes());
                continue;
            }
        };
        out.extend_from_slice(&[b'\\', escape]);
    }
    out.push(b'"');
    Cow::Owned(out)
}

/// A name for messages: as it is where it is plain text, else quoted.
pub fn show(name: &[u8]) -> String {
    match std::str::from_utf8(name) {
        Ok(text) if !text.contains(['"', '\\']) && !text.chars().any(char::is_control) => {
            text.to_owned()
        }
        _ => String::from_utf8_lossy(&quote(name)).into_owned(),
    }
}

/// Drops the first component (`a/`, `b/`), as `-p1` does. `None`: there is none, or the name is
/// absolute.
pub(super) fn strip_one(name: &[u8]) -> Option<&[u8]> {
    match name.iter().position(|&b| b == b'/') {
        None | Some(0) => None,
        Some(at) => Some(&name[at + 1..]),
    }
}

/// The name behind `--- `, `+++ `, up to a tab (git puts one behind names with spaces, `diff -u`
/// puts the time behind it).
pub(super) fn header_name(text: &[u8]) -> Vec<u8> {
    if text.first() == Some(&b'"')
        && let Some((name, _)) = unquote(text)
    {
        return name;
    }
    let end = text.iter().position(|&b| b == b'\t').unwrap_or(text.len());
    text[..end].to_vec()
}

/// The name behind `rename from ` and its kind: no prefix, no tab rule.
pub(super) fn whole_name(text: &[u8]) -> Vec<u8> {
    match unquote(text) {
        Some((name, _)) => name,
        None => text.to_vec(),
    }
}

/// The name that both halves of a `diff --git` line share, without their prefixes. The halves are
/// not delimited, so a split is right only where both sides say the same name; git never prints
/// two different names without saying them again in `rename` or `copy` lines.
pub(super) fn shared_name(rest: &[u8]) -> Option<Vec<u8>> {
    if rest.first() == Some(&b'"') {
        let (first, after) = unquote(rest)?;
        let second = whole_name(after.strip_prefix(b" ")?);
        let (first, second) = (strip_one(&first)?, strip_one(&second)?);
        return (first == second).then(|| first.to_vec());
    }
    if let Some(at) = find(rest, b" \"") {
        // only the second half is quoted
        let (second, _) = unquote(&rest[at + 1..])?;
        let (first, second) = (strip_one(&rest[..at])?, strip_one(&second)?);
        return (first == second).then(|| first.to_vec());
    }
    let splits = memchr::memchr2_iter(b' ', b'\t', rest);
    for at in splits {
        let (Some(first), Some(second)) = (strip_one(&rest[..at]), strip_one(&rest[at + 1..]))
        else {
            continue;
        };
        if first == second && !first.is_empty() {
            return Some(first.to_vec());
        }
    }
    None
}

fn find(text: &[u8], what: &[u8]) -> Option<usize> {
    memchr::memmem::find(text, what)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn quoting_goes_there_and_back() {
        let name: Vec<u8> = (1..=255).filter(|b| *b != b'/').collect();
        let quoted = quote(&name);
        assert_eq!(unquote(&quoted).unwrap(), (name.clone(), &b""[..]));
        assert_eq!(quote(b"a b").as_ref(), b"a b");
        assert_eq!(quote("é".as_bytes()).as_ref(), br#""\303\251""#);
        assert_eq!(show("é b".as_bytes()), "é b");
        assert_eq!(show(b"a\x1b[2J"), r#""a\033[2J""#);
    }

    #[test]
    fn damaged_quotes_are_no_names() {
        for text in [
            &b"\"abc"[..],
            br#""\9""#,
            br#""\07""#,
            br#""\400""#,
            br#""a\"#,
        ] {
            assert_eq!(unquote(text), None, "{text:?}");
        }
    }

    #[test]
    fn a_git_line_names_one_file() {
        let same = |rest: &str| shared_name(rest.as_bytes()).map(|n| String::from_utf8(n).unwrap());
        assert_eq!(same("a/x b/x").as_deref(), Some("x"));
        assert_eq!(same("a/x b/x b/x b/x").as_deref(), Some("x b/x"));
        assert_eq!(
            same("a/two words b/two words").as_deref(),
            Some("two words")
        );
        assert_eq!(same("i/d/x w/d/x").as_deref(), Some("d/x"));
        assert_eq!(same(r#""a/\303\251" "b/\303\251""#).as_deref(), Some("é"));
        assert_eq!(same("a/x b/y"), None);
        assert_eq!(same("/x /x"), None);
        assert_eq!(same("x x"), None);
    }
}
