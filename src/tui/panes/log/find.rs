//! What a reader looks for in a log: a pattern, the lines that match it, and where they are.

use std::ops::Range;

use regex::{Regex, RegexBuilder};

use crate::agent::trace::Entry;
use crate::tui::ansi;

use super::parts::Parts;

/// A pattern that was typed.
#[derive(Clone, Debug)]
pub struct Pattern {
    pub words: String,
    regex: Regex,
}

impl PartialEq for Pattern {
    fn eq(&self, other: &Self) -> bool {
        self.words == other.words
    }
}

impl Pattern {
    /// A regular expression; without capitals it finds these as well. `None`: nothing was typed.
    pub fn new(words: &str) -> Result<Option<Self>, String> {
        if words.is_empty() {
            return Ok(None);
        }
        let made = RegexBuilder::new(words)
            .case_insensitive(!has_capitals(words))
            .multi_line(true)
            .build();
        match made {
            Ok(regex) => Ok(Some(Self {
                words: words.to_owned(),
                regex,
            })),
            Err(error) => {
                let why = error.to_string();
                let last = why.lines().last().unwrap_or_default();
                let why = last.trim_start_matches("error: ");
                Err(format!("`{words}` is no regular expression: {why}"))
            }
        }
    }

    /// Numbers of the lines of an entry that match.
    pub fn lines(&self, entry: &Entry) -> Vec<usize> {
        if !self.any(entry) {
            return Vec::new();
        }
        let parts = Parts::of(entry);
        let numbered = parts.lines().enumerate();
        let hit = numbered.filter(|(_, line)| self.regex.is_match(&ansi::plain(line)));
        hit.map(|(number, _)| number).collect()
    }

    /// Whether any line of an entry matches.
    pub fn any(&self, entry: &Entry) -> bool {
        let parts = Parts::of(entry);
        let text = |text: &str| {
            let plain = memchr::memchr3(0x1b, b'\r', 0x08, text.as_bytes()).is_none();
            // line by line: no match goes over a line's end, and sequences are no text
            let mut lines = text.lines();
            if plain {
                // the whole at once first: most texts have no match at all
                self.regex.is_match(text) && lines.any(|line| self.regex.is_match(line))
            } else {
                lines.any(|line| self.regex.is_match(&ansi::plain(line)))
            }
        };
        parts.head.as_deref().is_some_and(text) || parts.blocks.iter().any(|block| text(block.text))
    }

    /// Where it matches in a line, in bytes; a match of nothing is none.
    pub fn ranges<'a>(&'a self, line: &'a str) -> impl Iterator<Item = Range<usize>> + 'a {
        let found = self.regex.find_iter(line).map(|found| found.range());
        found.filter(|range| !range.is_empty())
    }
}

/// A capital that is no part of an escape such as `\S`.
fn has_capitals(words: &str) -> bool {
    let mut escaped = false;
    words.chars().any(|c| {
        let after = escaped;
        escaped = c == '\\' && !after;
        c.is_uppercase() && !after
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::agent::trace::{Kind, Progress};

    fn pattern(words: &str) -> Pattern {
        Pattern::new(words).unwrap().unwrap()
    }

    fn command(output: &str) -> Entry {
        let kind = Kind::Command {
            command: "make test\n--all".into(),
            output: output.into(),
            exit: Some(1),
            progress: Progress::Failed,
            duration_s: None,
        };
        Entry::new(None, kind)
    }

    #[test]
    fn lines_are_numbered_from_the_head_through_what_is_folded() {
        let entry = command("one\n\u{1b}[31mt\u{1b}[0mwo\none two\n");
        assert_eq!(pattern("two").lines(&entry), [3, 4]);
        assert_eq!(pattern("^two$").lines(&entry), [3]);
        assert_eq!(pattern("make|--all").lines(&entry), [0, 1]);
        assert_eq!(pattern("one\\s+t").lines(&entry), [4]);
        assert!(pattern("three").lines(&entry).is_empty());
        // a sequence is no text
        assert!(!pattern("31m").any(&entry));
    }

    #[test]
    fn capitals_are_asked_for_by_capitals() {
        let entry = command("Error: É");
        assert!(pattern("error").any(&entry));
        assert!(pattern(r"\Serror|rror: \S").any(&entry));
        assert!(pattern("Error").any(&entry) && !pattern("ERROR").any(&entry));
        assert!(pattern("é").any(&entry));
    }

    #[test]
    fn what_is_no_pattern_says_why() {
        let why = Pattern::new("a(b").unwrap_err();
        assert!(
            why.contains("`a(b`") && why.contains("unclosed group"),
            "{why}"
        );
        assert!(Pattern::new("").unwrap().is_none());
    }
}
