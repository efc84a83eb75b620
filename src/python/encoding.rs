//! The text of a Python file, by its byte order mark or its coding line (PEP 263).

use std::borrow::Cow;

const MARK: &[u8] = b"\xEF\xBB\xBF";
const LATIN_1: [&str; 5] = ["latin-1", "latin1", "iso-8859-1", "iso8859-1", "l1"];

/// How a text is written down.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Encoding {
    Utf8,
    /// With a byte order mark, which is no part of the text.
    Marked,
    Latin1,
}

/// A file's text, which can be written down again as it was.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Source<'b> {
    pub text: Cow<'b, str>,
    encoding: Encoding,
}

impl<'b> Source<'b> {
    /// Why not, in words, where it cannot be read.
    pub fn decode(bytes: &'b [u8]) -> Result<Self, String> {
        let utf8 = |bytes: &'b [u8], encoding| {
            let text = std::str::from_utf8(bytes).map_err(|_| "not UTF-8".to_owned())?;
            Ok(Self {
                text: text.into(),
                encoding,
            })
        };
        if let Some(rest) = bytes.strip_prefix(MARK) {
            return utf8(rest, Encoding::Marked);
        }
        let Some(name) = coding(bytes) else {
            return utf8(bytes, Encoding::Utf8);
        };
        if LATIN_1.contains(&name.as_str()) {
            let text: String = bytes.iter().map(|b| char::from(*b)).collect();
            return Ok(Self {
                text: text.into(),
                encoding: Encoding::Latin1,
            });
        }
        if bytes.is_ascii() || name.starts_with("utf-8") || name == "utf8" {
            return utf8(bytes, Encoding::Utf8);
        }
        Err(format!("written in {name}, which is not read here"))
    }

    /// Another text, written down in the same way.
    pub fn encode(&self, text: &str) -> Vec<u8> {
        match self.encoding {
            Encoding::Utf8 => text.as_bytes().to_vec(),
            Encoding::Marked => [MARK, text.as_bytes()].concat(),
            // what is put into a file is ASCII
            Encoding::Latin1 => text.chars().map(|c| c as u32 as u8).collect(),
        }
    }
}

/// The name in a coding line, which is one of the first two and a comment.
fn coding(bytes: &[u8]) -> Option<String> {
    for line in bytes.split(|b| *b == b'\n').take(2) {
        let line = line.trim_ascii();
        if line.first().is_some_and(|b| *b != b'#') {
            return None;
        }
        let line = String::from_utf8_lossy(line);
        let after = line.split_once("coding").map(|(_, after)| after);
        let Some(rest) = after.and_then(|a| a.strip_prefix([':', '='])) else {
            continue;
        };
        let part = |c: &char| c.is_ascii_alphanumeric() || "-_.".contains(*c);
        let name: String = rest.trim_start().chars().take_while(part).collect();
        if !name.is_empty() {
            return Some(name.to_ascii_lowercase().replace('_', "-"));
        }
    }
    None
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn a_file_is_read_by_its_mark_or_coding_line_and_written_back_the_same() {
        let files: [&[u8]; 6] = [
            b"x = 1\n",
            "x = 'ä'\n".as_bytes(),
            b"\xEF\xBB\xBFx = 1\n",
            b"# -*- coding: latin-1 -*-\nx = '\xe4'\n",
            b"#!/usr/bin/python\n# vim: set fileencoding=ISO_8859-1 :\nx = '\xe4'\n",
            b"# coding: cp1252\nx = 1\n",
        ];
        for bytes in files {
            let source = Source::decode(bytes).unwrap();
            assert!(source.text.starts_with(['x', '#']));
            assert_eq!(source.encode(&source.text), bytes);
        }
        assert!(Source::decode(files[3]).unwrap().text.contains('ä'));
    }

    #[test]
    fn what_cannot_be_read_says_why() {
        let why = |bytes: &[u8]| Source::decode(bytes).unwrap_err();
        assert_eq!(why(b"x = '\xe4'\n"), "not UTF-8");
        assert_eq!(
            why(b"# coding: cp1252\nx = '\xe4'\n"),
            "written in cp1252, which is not read here"
        );
        // only one of the first two lines tells
        assert_eq!(why(b"\n\n# coding: latin-1\nx = '\xe4'\n"), "not UTF-8");
        assert_eq!(why(b"x = 1\n# coding: latin-1\nx = '\xe4'\n"), "not UTF-8");
    }
}
