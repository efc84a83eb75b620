//! Files cut into parts that are compared one by one.

use std::ops::Range;
use std::sync::Arc;

use crate::diff::lines::{DiffOptions, FileDiff, Span, spans};
use crate::diff::notice::is_binary;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum UnitKind {
    /// A class without its methods and the classes in it.
    Class,
    Function,
    /// What stands in a module beside its functions and classes; without a name.
    Rest,
    /// A file that has no parts; without a name.
    File,
}

/// A part of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unit {
    pub kind: UnitKind,
    /// Qualified: `f`, `Class.method`.
    pub name: String,
    /// Its lines, from 0, in order; several stretches where other parts stand in it.
    pub lines: Vec<Range<u32>>,
}

/// A file of a tree, cut into parts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SourceFile {
    pub path: String,
    pub text: Arc<Vec<u8>>,
    pub units: Vec<Unit>,
    /// Every line; none where the file is binary or too large.
    pub(super) lines: Vec<Span>,
}

impl SourceFile {
    /// Lines of `units` that the file does not have are left out. A binary or very large file is
    /// one part, whatever `units` says.
    pub fn new(path: impl Into<String>, text: Arc<Vec<u8>>, units: Vec<Unit>) -> Self {
        let opaque = is_binary(&text) || text.len() > DiffOptions::default().max_bytes;
        let lines = if opaque { Vec::new() } else { spans(&text) };
        let count = lines.len() as u32;
        let mut units = if opaque { Vec::new() } else { units };
        for unit in &mut units {
            tidy(&mut unit.lines, count);
        }
        if units.is_empty() {
            units.push(Unit {
                kind: UnitKind::File,
                name: String::new(),
                lines: std::iter::once(0..count).collect(),
            });
        }
        Self {
            path: path.into(),
            text,
            units,
            lines,
        }
    }

    /// A file without parts.
    pub fn whole(path: impl Into<String>, text: Arc<Vec<u8>>) -> Self {
        Self::new(path, text, Vec::new())
    }

    /// The lines of a part.
    pub fn lines_of(&self, unit: usize) -> impl Iterator<Item = Span> + '_ {
        let stretches = self.units.get(unit).map_or(&[][..], |u| &u.lines);
        stretches
            .iter()
            .filter_map(|r| self.lines.get(r.start as usize..r.end as usize))
            .flatten()
            .copied()
    }

    /// Number of a part's first line, from 1.
    pub fn first_line(&self, unit: usize) -> Option<u32> {
        self.lines_of(unit).next().map(|span| span.no)
    }

    /// Whether two parts have the same text, line ends aside.
    pub(super) fn same(&self, unit: usize, other: &SourceFile, theirs: usize) -> bool {
        if self.lines.is_empty() && other.lines.is_empty() {
            return self.text == other.text;
        }
        let mine = self.lines_of(unit).map(|s| s.text(&self.text));
        mine.eq(other.lines_of(theirs).map(|s| s.text(&other.text)))
    }

    /// A pair of parts as rows. Numbers and places of the lines are those of their files, so that
    /// what knows a file by its lines (colours, notes) fits. `None`: nothing stands on that side.
    pub fn diff(
        old: Option<(&SourceFile, usize)>,
        new: Option<(&SourceFile, usize)>,
        options: DiffOptions,
    ) -> FileDiff {
        if whole(old) && whole(new) {
            // whole files say what is to be said of whole files
            let (old, new) = (old.map(|_| text(&old)), new.map(|_| text(&new)));
            return FileDiff::new(old, new, options);
        }
        let (before, after) = (lines(old), lines(new));
        FileDiff::of_lines((text(&old), before), (text(&new), after), options)
    }
}

type Part<'a> = Option<(&'a SourceFile, usize)>;

/// A file without parts, or nothing.
fn whole(part: Part<'_>) -> bool {
    part.is_none_or(|(file, unit)| {
        let unit = file.units.get(unit);
        unit.is_some_and(|unit| unit.kind == UnitKind::File)
    })
}

fn lines(part: Part<'_>) -> Vec<Span> {
    part.map_or_else(Vec::new, |(file, unit)| file.lines_of(unit).collect())
}

fn text<'a>(part: &Part<'a>) -> &'a [u8] {
    part.map_or(&[], |(file, _)| file.text.as_slice())
}

/// In order, within the file, and apart.
fn tidy(lines: &mut Vec<Range<u32>>, count: u32) {
    for range in lines.iter_mut() {
        range.end = range.end.min(count);
    }
    lines.retain(|r| r.start < r.end);
    lines.sort_by_key(|r| (r.start, r.end));
    let mut end = 0;
    for range in lines.iter_mut() {
        range.start = range.start.max(end);
        end = end.max(range.end);
    }
    lines.retain(|r| r.start < r.end);
}
