//! What the list of the pane holds: files, or parts of files that stand for each other.

use std::ops::Range;
use std::sync::Arc;

use crate::diff::align::{Aligned, At, How, SourceFile, Touched, UnitKind};
use crate::tui::backend::{ChangeKind, FileChange};

use super::marks;
use super::state::Goal;

/// By what two solutions are laid beside each other.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum By {
    #[default]
    Path,
    /// Functions and classes, wherever they stand.
    Symbol,
}

/// The files that either change touches, cut into parts.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Trees {
    pub sides: [Vec<SourceFile>; 2],
}

impl Trees {
    pub fn part(&self, side: usize, at: Option<At>) -> Option<(&SourceFile, usize)> {
        let at = at?;
        Some((self.sides.get(side)?.get(at.file)?, at.unit))
    }
}

/// A part of a file, and what stands for it on the other side.
#[derive(Clone, Debug, PartialEq)]
pub struct Part {
    /// Its name on the right, else on the left; the other one where it differs.
    pub name: String,
    pub old_name: Option<String>,
    pub pair: Aligned,
    /// First and last lines of either side, from 1.
    pub lines: [Option<Range<u32>>; 2],
}

/// A line of the list.
#[derive(Clone, Debug, PartialEq)]
pub struct Entry {
    /// On the right; of what only the left has, there.
    pub path: String,
    /// On the left, where it is another.
    pub old_path: Option<String>,
    pub kind: ChangeKind,
    pub added: usize,
    pub deleted: usize,
    pub binary: bool,
    /// Modes of both sides, where they differ.
    pub modes: Option<[u32; 2]>,
    /// Which of the two changes touches it, against base; `None`: not known.
    pub touched: Option<Touched>,
    pub part: Option<Part>,
}

/// The answer to what differs.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Listed {
    pub entries: Vec<Entry>,
    /// What the parts are parts of.
    pub trees: Arc<Trees>,
}

impl From<FileChange> for Entry {
    fn from(file: FileChange) -> Self {
        Self {
            path: file.path,
            old_path: file.old_path,
            kind: file.kind,
            added: file.added,
            deleted: file.deleted,
            binary: file.binary,
            modes: file.modes,
            touched: None,
            part: None,
        }
    }
}

impl From<Vec<FileChange>> for Listed {
    fn from(files: Vec<FileChange>) -> Self {
        Self {
            entries: files.into_iter().map(Entry::from).collect(),
            trees: Arc::default(),
        }
    }
}

impl Entry {
    /// The file's path on a side.
    pub fn path_on(&self, side: usize) -> &str {
        match &self.old_path {
            Some(old) if side == 0 => old,
            _ => &self.path,
        }
    }

    /// As the list and the title name it.
    pub fn name(&self) -> &str {
        self.part.as_ref().map_or(&self.path, |part| &part.name)
    }

    /// Names it among the entries of its list.
    pub fn key(&self) -> String {
        match &self.part {
            None => self.path.clone(),
            Some(part) => format!("{:?} {:?}", part.pair.left, part.pair.right),
        }
    }

    /// Stands on one side only, and nothing stands for it on the other.
    pub fn alone(&self) -> bool {
        self.part
            .as_ref()
            .is_some_and(|part| part.pair.how.is_none())
    }

    /// Whether a line is in it.
    pub fn holds(&self, goal: &Goal) -> bool {
        let side = marks::index(goal.side);
        let absent = [ChangeKind::Added, ChangeKind::Deleted][side];
        self.path_on(side) == goal.path
            && match &self.part {
                None => self.kind != absent,
                Some(part) => part.lines[side]
                    .as_ref()
                    .is_some_and(|lines| lines.contains(&goal.line)),
            }
    }

    /// A pair, or a part without a counterpart.
    pub fn of_part(trees: &Trees, pair: Aligned) -> Option<Self> {
        let old = trees.part(0, pair.left);
        let new = trees.part(1, pair.right);
        let (file, unit) = new.or(old)?;
        let name = |(file, unit): (&SourceFile, usize)| {
            let unit = file.units.get(unit)?;
            Some(match unit.kind {
                UnitKind::Rest => "module code".to_owned(),
                UnitKind::File => file.path.clone(),
                UnitKind::Function | UnitKind::Class => unit.name.clone(),
            })
        };
        let own = name((file, unit))?;
        let diff = SourceFile::diff(old, new, crate::diff::DiffOptions::default());
        let kind = match (pair.left, pair.right, pair.how) {
            (None, _, _) => ChangeKind::Added,
            (_, None, _) => ChangeKind::Deleted,
            _ if diff.is_same() && diff.notices.is_empty() => ChangeKind::Same,
            (.., Some(How::Place)) => ChangeKind::Modified,
            _ => ChangeKind::Renamed,
        };
        let span = |part: Option<(&SourceFile, usize)>| {
            let (file, unit) = part?;
            let mut lines = file.lines_of(unit).map(|span| span.no);
            let first = lines.next()?;
            Some(first..lines.last().unwrap_or(first) + 1)
        };
        let old_path = old.map(|(file, _)| file.path.clone());
        let old_name = old.filter(|_| new.is_some()).and_then(name);
        Some(Self {
            old_path: old_path.filter(|old| *old != file.path),
            path: file.path.clone(),
            kind,
            added: diff.added,
            deleted: diff.removed,
            binary: diff.notices.iter().any(crate::diff::Notice::hides_rows),
            modes: None,
            touched: Some(pair.touched),
            part: Some(Part {
                old_name: old_name.filter(|old| *old != own),
                name: own,
                pair,
                lines: [span(old), span(new)],
            }),
        })
    }
}
