//! A file's part of a patch as a [`FileDiff`], for showing a patch without its base.

use super::lines::{Break, FileDiff, Span};
use super::notice::Notice;
use super::patch::{Body, FilePatch, Hunk, LineKind};

impl FileDiff {
    /// The spans of both sides are in `patch`, which is what `file` was parsed from.
    pub fn from_patch(file: &FilePatch, patch: &[u8]) -> Self {
        let mut diff = Self::default();
        if let (Some(old), Some(new)) = (file.old_mode, file.new_mode)
            && old != new
        {
            diff.notices.push(Notice::Mode { old, new });
        }
        match &file.body {
            Body::Hunks(hunks) => {
                for hunk in hunks {
                    add_hunk(&mut diff, hunk, patch);
                }
            }
            Body::Binary(binary) => diff.notices.push(Notice::Binary {
                old: 0,
                new: binary.forward.size,
            }),
            Body::BinaryWithoutData => diff.notices.push(Notice::NoData),
            Body::None => {}
        }
        diff
    }
}

fn add_hunk(diff: &mut FileDiff, hunk: &Hunk, patch: &[u8]) {
    diff.breaks.push(Break {
        old: diff.old.len() as u32,
        new: diff.new.len() as u32,
        section: hunk.section.start as u32..hunk.section.end as u32,
    });
    let (mut old_no, mut new_no) = (hunk.old_start as u32, hunk.new_start as u32);
    // where the change that is being read began
    let mut change: Option<(u32, u32)> = None;
    for line in &hunk.lines {
        let text = line.text(patch);
        let text = text.strip_suffix(b"\n").unwrap_or(text);
        let text = text.strip_suffix(b"\r").unwrap_or(text);
        let span = |no: u32| Span {
            no,
            start: line.start,
            end: line.start + text.len() as u32,
        };
        let at = (diff.old.len() as u32, diff.new.len() as u32);
        if line.kind == LineKind::Context {
            if let Some((old, new)) = change.take() {
                diff.push_change(old..at.0, new..at.1, (patch, patch));
            }
        } else {
            change.get_or_insert(at);
        }
        if line.kind != LineKind::Added {
            diff.old.push(span(old_no));
            old_no += 1;
            note_newline(diff, line.no_newline, Notice::NoNewlineOld);
        }
        if line.kind != LineKind::Removed {
            diff.new.push(span(new_no));
            new_no += 1;
            note_newline(diff, line.no_newline, Notice::NoNewlineNew);
        }
    }
    if let Some((old, new)) = change {
        let end = (diff.old.len() as u32, diff.new.len() as u32);
        diff.push_change(old..end.0, new..end.1, (patch, patch));
    }
}

fn note_newline(diff: &mut FileDiff, missing: bool, notice: Notice) {
    if missing && !diff.notices.contains(&notice) {
        diff.notices.push(notice);
    }
}
