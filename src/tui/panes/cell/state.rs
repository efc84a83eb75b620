//! The cases behind a cell, the story of one of them, and the source that it tells of.

use std::sync::Arc;

use crate::domain::case::{CaseDetail, Frame};
use crate::report::acceptance::CellCase;
use crate::tui::backend::Answer;
use crate::tui::highlight::{Colour, Piece};

/// The side of a file whose colours are this pane's.
pub const SIDE: usize = 2;

/// A file's text with its colours as far as they have come.
#[derive(Clone, Debug, Default)]
pub struct SourceText {
    pub path: String,
    pub text: Arc<Vec<u8>>,
    /// Where each line begins.
    pub starts: Vec<usize>,
    pub colours: Vec<Vec<Colour>>,
}

impl SourceText {
    pub fn new(path: String, text: Vec<u8>) -> Self {
        let mut starts = vec![0];
        starts.extend(memchr::memchr_iter(b'\n', &text).map(|at| at + 1));
        if starts.last() == Some(&text.len()) {
            starts.pop();
        }
        Self {
            path,
            text: Arc::new(text),
            starts,
            colours: Vec::new(),
        }
    }

    /// Line `number`, from 1.
    pub fn line(&self, number: usize) -> Option<String> {
        let from = *self.starts.get(number.checked_sub(1)?)?;
        let to = self
            .starts
            .get(number)
            .map_or(self.text.len(), |next| next - 1);
        let bytes = self.text.get(from..to.max(from))?;
        Some(
            String::from_utf8_lossy(bytes)
                .trim_end_matches(['\r', '\n'])
                .to_owned(),
        )
    }

    /// Where a function begins, from 1.
    pub fn definition(&self, name: &str) -> Option<usize> {
        let begins = |line: &str| {
            let line = line.trim_start();
            let line = line.strip_prefix("async ").unwrap_or(line);
            let rest = line
                .strip_prefix("def ")
                .and_then(|rest| rest.strip_prefix(name));
            rest.is_some_and(|rest| rest.trim_start().starts_with('('))
        };
        (1..=self.starts.len()).find(|at| self.line(*at).is_some_and(|line| begins(&line)))
    }
}

#[derive(Clone, Debug, Default)]
pub struct CellState {
    /// Patch, and probe function; no function: the official suite.
    pub of: Option<(String, Option<String>)>,
    pub cases: Vec<CellCase>,
    pub chosen: usize,
    pub detail: Option<CaseDetail>,
    pub loading: bool,
    pub error: Option<String>,
    /// The work tree's first, then those of libraries.
    pub frames: Vec<Frame>,
    pub frame: usize,
    pub source: Option<SourceText>,
    /// The file that is asked for or shown.
    pub wanted: Option<String>,
    /// Why there is no source.
    pub no_source: Option<String>,
    pub ticket: u64,
    pub scroll: usize,
    pub skip: usize,
}

impl CellState {
    pub fn case(&self) -> Option<&CellCase> {
        self.cases.get(self.chosen)
    }

    /// Takes the story of the chosen case.
    pub fn take(&mut self, answer: Answer<Option<CaseDetail>>) {
        self.loading = false;
        match answer {
            Ok(detail) => {
                let detail = detail.unwrap_or_default();
                let (mut frames, library): (Vec<_>, Vec<_>) = detail
                    .frames
                    .iter()
                    .cloned()
                    .partition(|frame| !frame.path.starts_with('/'));
                let file = self.case().map(|case| case.result.id.file().to_owned());
                // the test's own line, else a helper's beside it: what the author writes
                let in_file = |frame: &Frame| Some(&frame.path) == file.as_ref();
                let test = self.function().map(str::to_owned);
                let in_test = |frame: &Frame| {
                    let name = frame.function.rsplit('.').next();
                    in_file(frame) && name == test.as_deref()
                };
                let own =
                    (frames.iter().rposition(in_test)).or_else(|| frames.iter().rposition(in_file));
                self.frame = own.unwrap_or(frames.len().saturating_sub(1));
                frames.extend(library);
                self.frames = frames;
                self.detail = Some(detail);
            }
            Err(error) => self.error = Some(error.0),
        }
    }

    pub fn clear_story(&mut self) {
        self.detail = None;
        self.loading = false;
        self.error = None;
        self.frames.clear();
        self.frame = 0;
        self.scroll = 0;
    }

    pub fn step_frame(&mut self, forward: bool) -> bool {
        let last = self.frames.len().saturating_sub(1);
        let to = if forward {
            (self.frame + 1).min(last)
        } else {
            self.frame.saturating_sub(1)
        };
        std::mem::replace(&mut self.frame, to) != to
    }

    /// The file whose source belongs beside the story, and the line that it tells of.
    pub fn place(&self) -> Option<(String, Option<u32>)> {
        if let Some(frame) = self.frames.get(self.frame) {
            return Some((frame.path.clone(), Some(frame.line)));
        }
        let file = self.case().map(|case| case.result.id.file().to_owned());
        let function = || self.of.as_ref()?.1.as_deref()?.split("::").next();
        Some((file.or_else(|| function().map(str::to_owned))?, None))
    }

    /// The name of the test function.
    pub fn function(&self) -> Option<&str> {
        let of = self
            .of
            .as_ref()
            .and_then(|(_, function)| function.as_deref());
        let own = self.case().map(|case| case.result.id.function());
        own.or(of)?.rsplit("::").next()
    }

    /// The line that is marked: the frame's, or where the function begins.
    pub fn line(&self) -> Option<usize> {
        let told = self.frames.get(self.frame).map(|frame| frame.line as usize);
        told.or_else(|| self.source.as_ref()?.definition(self.function()?))
    }

    pub fn take_colours(&mut self, piece: Piece) {
        if piece.ticket == self.ticket
            && let Some(source) = &mut self.source
            && source.colours.len() == piece.from
        {
            source.colours.extend(piece.lines);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_and_definitions_are_found() {
        let text = "import x\r\n\n\nclass K:\n    async def test_a_b(self):\n        pass\n";
        let source = SourceText::new("p.py".into(), text.into());
        assert_eq!(source.starts.len(), 6);
        assert_eq!(source.line(1).as_deref(), Some("import x"));
        assert_eq!(source.line(6).as_deref(), Some("        pass"));
        assert_eq!((source.line(0), source.line(7)), (None, None));
        assert_eq!(source.definition("test_a_b"), Some(5));
        assert_eq!(source.definition("test_a"), None);
        let empty = SourceText::new("p.py".into(), Vec::new());
        assert_eq!(empty.line(1), None);
    }
}
