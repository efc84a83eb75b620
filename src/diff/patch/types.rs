//! What a patch says. Byte ranges refer to the parsed input, which the owner keeps.

use std::ops::Range;

/// A parsed patch.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Patch {
    pub files: Vec<FilePatch>,
    /// What was not understood, in the order of lines.
    pub problems: Vec<Problem>,
}

/// Something that cannot be applied as it stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// 1-based line of the patch.
    pub line: usize,
    pub message: String,
}

/// What a patch does with a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Change {
    Modify,
    Add,
    Delete,
    Rename,
    Copy,
}

impl Change {
    /// The letter that `git diff --name-status` has for it.
    pub fn letter(self) -> char {
        match self {
            Change::Modify => 'M',
            Change::Add => 'A',
            Change::Delete => 'D',
            Change::Rename => 'R',
            Change::Copy => 'C',
        }
    }
}

/// The part of a patch that is about one file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FilePatch {
    /// 1-based line of its header.
    pub line: usize,
    pub change: Change,
    /// Bytes without `a/`; empty for an added file.
    pub old_path: Vec<u8>,
    /// Bytes without `b/`; empty for a deleted file.
    pub new_path: Vec<u8>,
    pub old_mode: Option<u32>,
    pub new_mode: Option<u32>,
    /// Hexadecimal, as long as the `index` line gives it.
    pub old_id: Option<String>,
    pub new_id: Option<String>,
    /// Percent, of a rename or a copy.
    pub similarity: Option<u8>,
    pub body: Body,
    /// All bytes from the header to the end of the body.
    pub range: Range<usize>,
}

impl FilePatch {
    /// The path that lists show: the new one, or the old one of a deleted file.
    pub fn path(&self) -> &[u8] {
        if self.change == Change::Delete {
            &self.old_path
        } else {
            &self.new_path
        }
    }

    pub fn hunks(&self) -> &[Hunk] {
        match &self.body {
            Body::Hunks(hunks) => hunks,
            _ => &[],
        }
    }

    /// Lines added and removed.
    pub fn counts(&self) -> (usize, usize) {
        let lines = || self.hunks().iter().flat_map(|h| &h.lines);
        (
            lines().filter(|l| l.kind == LineKind::Added).count(),
            lines().filter(|l| l.kind == LineKind::Removed).count(),
        )
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Body {
    /// Header only: a mode, a rename, an empty file.
    None,
    Hunks(Vec<Hunk>),
    Binary(BinaryPatch),
    /// "Binary files differ": that they do, without data.
    BinaryWithoutData,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hunk {
    /// 1-based line of the patch.
    pub line: usize,
    /// 1-based first line in the file; 0 where there is none.
    pub old_start: usize,
    pub old_count: usize,
    pub new_start: usize,
    pub new_count: usize,
    /// What stands behind the second `@@`.
    pub section: Range<usize>,
    pub lines: Vec<HunkLine>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum LineKind {
    Context,
    Removed,
    Added,
}

/// One line of a hunk; compact, as patches of 50 MB have a million of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HunkLine {
    pub kind: LineKind,
    /// The file ends here without a newline.
    pub no_newline: bool,
    /// The text, without the mark and with its newline (unless `no_newline`).
    pub start: u32,
    pub end: u32,
}

impl HunkLine {
    pub fn text<'a>(&self, patch: &'a [u8]) -> &'a [u8] {
        patch
            .get(self.start as usize..self.end as usize)
            .unwrap_or_default()
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BinaryPatch {
    pub forward: BinaryHunk,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BinaryKind {
    /// The whole new content.
    Literal,
    /// A delta against the old content.
    Delta,
}

/// Deflated data of a `GIT binary patch`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BinaryHunk {
    /// 1-based line of the patch.
    pub line: usize,
    pub kind: BinaryKind,
    /// Bytes when inflated.
    pub size: u64,
    pub deflated: Vec<u8>,
}
