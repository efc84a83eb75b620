//! What is to be said about two versions of a file, once, beside or instead of rows.

use super::lines::DiffOptions;

/// Bytes that are looked at for a NUL, as git does.
const BINARY_PROBE: usize = 8000;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Notice {
    /// One side ends its lines with LF, the other with CRLF (or one mixes them).
    LineEndingsDiffer,
    NoNewlineOld,
    NoNewlineNew,
    NotUtf8Old,
    NotUtf8New,
    /// No rows: sizes in bytes.
    Binary {
        old: u64,
        new: u64,
    },
    /// No rows unless asked for: sizes in bytes.
    TooLarge {
        old: u64,
        new: u64,
    },
    /// A patch without the data of the file.
    NoData,
    /// The mode changed.
    Mode {
        old: u32,
        new: u32,
    },
}

impl Notice {
    /// Said instead of rows.
    pub fn hides_rows(&self) -> bool {
        matches!(
            self,
            Notice::Binary { .. } | Notice::TooLarge { .. } | Notice::NoData
        )
    }

    pub fn text(&self) -> String {
        match self {
            Notice::LineEndingsDiffer => "line endings differ".into(),
            Notice::NoNewlineOld => "no newline at the end of the old file".into(),
            Notice::NoNewlineNew => "no newline at the end of the new file".into(),
            Notice::NotUtf8Old => "the old file is not UTF-8".into(),
            Notice::NotUtf8New => "the new file is not UTF-8".into(),
            Notice::Binary { old, new } => format!("binary, {old} -> {new} bytes"),
            Notice::TooLarge { old, new } => format!("large, {old} -> {new} bytes"),
            Notice::NoData => "binary, and the patch holds no data of it".into(),
            Notice::Mode { old, new } => format!("mode {old:06o} -> {new:06o}"),
        }
    }
}

pub(super) fn notices(old: &[u8], new: &[u8], options: DiffOptions) -> Vec<Notice> {
    let sizes = (old.len() as u64, new.len() as u64);
    if is_binary(old) || is_binary(new) {
        return vec![Notice::Binary {
            old: sizes.0,
            new: sizes.1,
        }];
    }
    // offsets of lines are 32 bits wide, whatever the user asks for
    let limit = options.max_bytes.min(u32::MAX as usize);
    if old.len() > limit || new.len() > limit {
        return vec![Notice::TooLarge {
            old: sizes.0,
            new: sizes.1,
        }];
    }
    let mut found = Vec::new();
    if !old.is_empty() && !new.is_empty() && endings(old) != endings(new) {
        found.push(Notice::LineEndingsDiffer);
    }
    for (text, newline, utf8) in [
        (old, Notice::NoNewlineOld, Notice::NotUtf8Old),
        (new, Notice::NoNewlineNew, Notice::NotUtf8New),
    ] {
        if !text.is_empty() && !text.ends_with(b"\n") {
            found.push(newline);
        }
        if std::str::from_utf8(text).is_err() {
            found.push(utf8);
        }
    }
    found
}

pub fn is_binary(text: &[u8]) -> bool {
    memchr::memchr(0, &text[..text.len().min(BINARY_PROBE)]).is_some()
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Endings {
    /// No line ends.
    None,
    Lf,
    Crlf,
    Mixed,
}

fn endings(text: &[u8]) -> Endings {
    let mut seen = Endings::None;
    for at in memchr::memchr_iter(b'\n', text) {
        let this = if at > 0 && text[at - 1] == b'\r' {
            Endings::Crlf
        } else {
            Endings::Lf
        };
        if seen == Endings::None {
            seen = this;
        } else if seen != this {
            return Endings::Mixed;
        }
    }
    seen
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(old: &[u8], new: &[u8]) -> Vec<Notice> {
        notices(old, new, DiffOptions::default())
    }

    #[test]
    fn each_is_said_once_and_for_its_side() {
        assert_eq!(said(b"a\nb\n", b"a\r\nb\r\n"), [Notice::LineEndingsDiffer]);
        assert_eq!(said(b"a\nb\n", b"a\r\nb\n"), [Notice::LineEndingsDiffer]);
        assert_eq!(said(b"a\n", b"b\n"), []);
        assert_eq!(said(b"a", b"b\n").last(), Some(&Notice::NoNewlineOld));
        assert_eq!(said(b"", b"b"), [Notice::NoNewlineNew]);
        assert_eq!(said(b"\xff\n", b"b\n"), [Notice::NotUtf8Old]);
        assert_eq!(said(b"a\n", b"\0"), [Notice::Binary { old: 2, new: 1 }]);
        let small = DiffOptions {
            max_bytes: 3,
            ..DiffOptions::default()
        };
        assert!(notices(b"a\n", b"long\n", small)[0].hides_rows());
    }
}
