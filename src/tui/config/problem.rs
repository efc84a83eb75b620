//! What is wrong in a file of the user's, where, and the mend.

use std::fmt;
use std::ops::Range;

use toml::Spanned;
use toml::de::DeTable;

use crate::catalog::line_at;
use crate::tui::text;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// As it was opened.
    pub file: String,
    /// From 1.
    pub line: usize,
    pub words: String,
    pub mend: String,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Problem {
            file,
            line,
            words,
            mend,
        } = self;
        write!(f, "{file}:{line}: {words}\n    mend: {mend}")
    }
}

/// A file's text with its name, for messages.
#[derive(Clone, Copy, Debug)]
pub struct ConfigFile<'a> {
    pub file: &'a str,
    pub text: &'a str,
}

impl<'a> ConfigFile<'a> {
    pub fn problem(&self, span: &Range<usize>, words: &str, mend: impl AsRef<str>) -> Problem {
        Problem {
            file: self.file.to_owned(),
            line: line_at(self.text, span.start),
            // the file's own words may hold anything
            words: text::clean(words).into_owned(),
            mend: text::clean(mend.as_ref()).into_owned(),
        }
    }

    /// The text as a document; where it is none, that is told.
    pub fn document(&self, problems: &mut Vec<Problem>) -> Option<Spanned<DeTable<'a>>> {
        match DeTable::parse(self.text) {
            Ok(document) => Some(document),
            Err(error) => {
                let span = error.span().unwrap_or(0..0);
                let words = format!("this is not TOML: {}", error.message().trim());
                problems.push(self.problem(&span, &words, "correct the line"));
                None
            }
        }
    }
}
