//! What a process prints, as plain lines of bounded length and number.

use std::collections::VecDeque;

/// Lines kept of what a client said.
pub(super) const LINES_KEPT: usize = 200;
/// Longest line, in bytes; a longer one is several.
const LINE_BYTES: usize = 2000;

/// Cuts a stream into lines that are not blank.
#[derive(Default)]
pub(super) struct Cutter {
    open: Vec<u8>,
}

impl Cutter {
    pub fn push(&mut self, bytes: &[u8], each: &mut dyn FnMut(String)) {
        for byte in bytes {
            if *byte != b'\n' {
                self.open.push(*byte);
            }
            if *byte == b'\n' || self.open.len() == LINE_BYTES {
                self.end(each);
            }
        }
    }

    /// The line that was begun, at the stream's end.
    pub fn end(&mut self, each: &mut dyn FnMut(String)) {
        let line = plain(&String::from_utf8_lossy(&self.open));
        self.open.clear();
        if !line.is_empty() {
            each(line);
        }
    }
}

/// Passes lines on, and keeps the last.
pub(super) struct Kept<'a> {
    each: &'a dyn Fn(&str),
    lines: VecDeque<String>,
}

impl<'a> Kept<'a> {
    pub fn new(each: &'a dyn Fn(&str)) -> Self {
        Self {
            each,
            lines: VecDeque::new(),
        }
    }

    pub fn add(&mut self, line: String) {
        (self.each)(&line);
        if self.lines.len() == LINES_KEPT {
            self.lines.pop_front();
        }
        self.lines.push_back(line);
    }

    pub fn text(self) -> String {
        Vec::from(self.lines).join("\n")
    }
}

/// Text without control characters, escape sequences included, and without trailing space.
pub(super) fn plain(text: &str) -> String {
    let mut clean = String::with_capacity(text.len());
    let mut characters = text.chars().peekable();
    while let Some(character) = characters.next() {
        match character {
            '\u{1b}' => {
                // CSI: up to its final byte; anything else: one more character
                if characters.next() == Some('[') {
                    for c in characters.by_ref() {
                        if ('@'..='~').contains(&c) {
                            break;
                        }
                    }
                }
            }
            '\t' => clean.push(' '),
            c if c.is_control() => {}
            c => clean.push(c),
        }
    }
    clean.truncate(clean.trim_end().len());
    clean
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_whole_wherever_a_stream_is_cut() {
        let text = format!("é\r\n\n \nb\u{1b}[31mc\n{}\nlast", "x".repeat(4500));
        let mut expected = vec!["é".to_owned(), "bc".to_owned()];
        expected.extend([2000, 2000, 500].map(|n| "x".repeat(n)));
        expected.push("last".to_owned());
        for piece in [1, 3, 7, 10_000] {
            let mut found = Vec::new();
            let mut cutter = Cutter::default();
            for bytes in text.as_bytes().chunks(piece) {
                cutter.push(bytes, &mut |line| found.push(line));
            }
            cutter.end(&mut |line| found.push(line));
            assert_eq!(found, expected, "in pieces of {piece}");
        }
    }
}
