//! File headers: `diff --git` with its extended lines, and the two lines of plain `diff -u`.

use super::name::{header_name, shared_name, show, strip_one, whole_name};
use super::parse::Cursor;
use super::types::{Body, Change, FilePatch, Problem};

const DEV_NULL: &[u8] = b"/dev/null";

/// What a `---` or `+++` line names.
#[derive(Clone, PartialEq, Eq)]
enum Named {
    DevNull,
    File(Vec<u8>),
}

impl Named {
    fn file(&self) -> Option<&Vec<u8>> {
        match self {
            Named::DevNull => None,
            Named::File(name) => Some(name),
        }
    }
}

/// What the lines of a header say, before they are judged together.
#[derive(Default)]
struct Said {
    shared: Option<Vec<u8>>,
    /// `---` and `+++`.
    old: Option<Named>,
    new: Option<Named>,
    rename: (Option<Vec<u8>>, Option<Vec<u8>>),
    copy: (Option<Vec<u8>>, Option<Vec<u8>>),
    created: bool,
    deleted: bool,
    old_mode: Option<u32>,
    new_mode: Option<u32>,
    old_id: Option<String>,
    new_id: Option<String>,
    similarity: Option<u8>,
}

/// Reads a `diff --git` header. `None`: prose that looks like one, or a problem was noted.
pub(super) fn read_git(cursor: &mut Cursor<'_>, problems: &mut Vec<Problem>) -> Option<FilePatch> {
    let line = cursor.line;
    let first = cursor.peek_text()?.strip_prefix(b"diff --git ")?;
    let mut said = Said {
        shared: shared_name(first),
        ..Said::default()
    };
    cursor.advance();
    while let Some(text) = cursor.peek_text() {
        match extended(text, &mut said) {
            Ok(true) => cursor.advance(),
            Ok(false) => break,
            Err(message) => {
                problems.push(Problem {
                    line: cursor.line,
                    message,
                });
                cursor.advance();
            }
        }
    }
    match judge(said, line) {
        Ok(file) => Some(file),
        Err(message) => {
            problems.push(Problem { line, message });
            None
        }
    }
}

/// One extended header line. `Ok(false)`: the header ended before it.
fn extended(text: &[u8], said: &mut Said) -> Result<bool, String> {
    let after = |prefix: &str| text.strip_prefix(prefix.as_bytes());
    if let Some(name) = after("--- ") {
        said.old = Some(side(name)?);
    } else if let Some(name) = after("+++ ") {
        said.new = Some(side(name)?);
    } else if let Some(mode) = after("old mode ") {
        said.old_mode = Some(octal(mode)?);
    } else if let Some(mode) = after("new mode ") {
        said.new_mode = Some(octal(mode)?);
    } else if let Some(mode) = after("deleted file mode ") {
        said.deleted = true;
        said.old_mode = Some(octal(mode)?);
    } else if let Some(mode) = after("new file mode ") {
        said.created = true;
        said.new_mode = Some(octal(mode)?);
    } else if let Some(name) = after("rename from ").or(after("rename old ")) {
        said.rename.0 = Some(whole_name(name));
    } else if let Some(name) = after("rename to ").or(after("rename new ")) {
        said.rename.1 = Some(whole_name(name));
    } else if let Some(name) = after("copy from ") {
        said.copy.0 = Some(whole_name(name));
    } else if let Some(name) = after("copy to ") {
        said.copy.1 = Some(whole_name(name));
    } else if let Some(percent) = after("similarity index ").or(after("dissimilarity index ")) {
        said.similarity = std::str::from_utf8(percent)
            .ok()
            .and_then(|p| p.trim_end_matches('%').parse().ok());
    } else if let Some(ids) = after("index ") {
        index_line(ids, said)?;
    } else {
        return Ok(false);
    }
    Ok(true)
}

/// A name of `---` or `+++` without its prefix.
fn side(text: &[u8]) -> Result<Named, String> {
    let name = header_name(text);
    if name == DEV_NULL {
        return Ok(Named::DevNull);
    }
    if name.first() == Some(&b'/') {
        return Err(format!("the absolute path {} is refused", show(&name)));
    }
    match strip_one(&name) {
        Some(inner) => Ok(Named::File(inner.to_vec())),
        None => Err(format!(
            "{} has no leading folder to drop (a/, b/); make the patch with the usual prefixes",
            show(&name)
        )),
    }
}

fn octal(text: &[u8]) -> Result<u32, String> {
    std::str::from_utf8(text)
        .ok()
        .and_then(|t| u32::from_str_radix(t.trim_end(), 8).ok())
        .ok_or_else(|| format!("{} is no file mode", show(text)))
}

/// `<old>..<new>` and perhaps a mode.
fn index_line(text: &[u8], said: &mut Said) -> Result<(), String> {
    let text = std::str::from_utf8(text).unwrap_or_default();
    let mut words = text.split(' ');
    let Some((old, new)) = words.next().and_then(|ids| ids.split_once("..")) else {
        return Ok(());
    };
    let is_id = |id: &str| !id.is_empty() && id.bytes().all(|b| b.is_ascii_hexdigit());
    if is_id(old) && is_id(new) {
        said.old_id = Some(old.to_ascii_lowercase());
        said.new_id = Some(new.to_ascii_lowercase());
    }
    if let Some(mode) = words.next() {
        let mode = octal(mode.as_bytes())?;
        said.old_mode = said.old_mode.or(Some(mode));
    }
    Ok(())
}

/// Puts a header together; what contradicts itself is refused rather than guessed.
fn judge(said: Said, line: usize) -> Result<FilePatch, String> {
    let (change, old, new) = if let (Some(from), Some(to)) = (&said.rename.0, &said.rename.1) {
        (Change::Rename, from.clone(), to.clone())
    } else if let (Some(from), Some(to)) = (&said.copy.0, &said.copy.1) {
        (Change::Copy, from.clone(), to.clone())
    } else if said.rename.0.is_some() || said.rename.1.is_some() {
        return Err("a rename that says only one of its two names".into());
    } else if said.copy.0.is_some() || said.copy.1.is_some() {
        return Err("a copy that says only one of its two names".into());
    } else {
        let old = said.old.as_ref().and_then(Named::file).cloned();
        let new = said.new.as_ref().and_then(Named::file).cloned();
        let created = said.created || said.old == Some(Named::DevNull);
        let deleted = said.deleted || said.new == Some(Named::DevNull);
        if let (Some(old), Some(new)) = (&old, &new)
            && old != new
        {
            return Err(format!(
                "{} and {} differ, and no rename is said",
                show(old),
                show(new)
            ));
        }
        let Some(name) = new.or(old).or_else(|| said.shared.clone()) else {
            return Err("the header names no file".into());
        };
        match (created, deleted) {
            (true, true) => {
                return Err(format!("{} is said to be new and deleted", show(&name)));
            }
            (true, false) => (Change::Add, Vec::new(), name),
            (false, true) => (Change::Delete, name, Vec::new()),
            (false, false) => (Change::Modify, name.clone(), name),
        }
    };
    agree(&said, change, &old, &new)?;
    Ok(FilePatch {
        line,
        change,
        old_path: old,
        new_path: new,
        old_mode: said.old_mode,
        new_mode: said.new_mode,
        old_id: said.old_id,
        new_id: said.new_id,
        similarity: said.similarity,
        body: Body::None,
        range: 0..0,
    })
}

/// The `---` and `+++` lines must name what the other lines name.
fn agree(said: &Said, change: Change, old: &[u8], new: &[u8]) -> Result<(), String> {
    for (spoken, meant) in [(&said.old, old), (&said.new, new)] {
        let Some(spoken) = spoken else { continue };
        let matches = match spoken {
            Named::DevNull => meant.is_empty(),
            Named::File(name) => name == meant,
        };
        if !matches {
            return Err(format!(
                "the header's lines disagree about the name: {} and {}",
                spoken.file().map_or("/dev/null".into(), |n| show(n)),
                if meant.is_empty() {
                    "/dev/null".into()
                } else {
                    show(meant)
                },
            ));
        }
    }
    let named = match change {
        Change::Rename | Change::Copy => return Ok(()),
        Change::Add => new,
        _ => old,
    };
    match &said.shared {
        Some(shared) if shared != named => Err(format!(
            "the header's lines disagree about the name: {} and {}",
            show(shared),
            show(named)
        )),
        _ => Ok(()),
    }
}

/// Whether `--- `, `+++ ` and a hunk follow: plain `diff -u`.
pub(super) fn is_plain(cursor: &Cursor<'_>) -> bool {
    let mut look = *cursor;
    for start in [&b"--- "[..], b"+++ ", b"@@ -"] {
        if !look.peek().is_some_and(|l| l.starts_with(start)) {
            return false;
        }
        look.advance();
    }
    true
}

/// Reads the two lines of a plain header, as `git apply` reads them.
pub(super) fn read_plain(
    cursor: &mut Cursor<'_>,
    problems: &mut Vec<Problem>,
) -> Option<FilePatch> {
    let line = cursor.line;
    let first = cursor.peek_text()?[4..].to_vec();
    cursor.advance();
    let second = cursor.peek_text()?[4..].to_vec();
    cursor.advance();
    match plain(&first, &second, line) {
        Ok(file) => Some(file),
        Err(message) => {
            problems.push(Problem { line, message });
            None
        }
    }
}

fn plain(first: &[u8], second: &[u8], line: usize) -> Result<FilePatch, String> {
    let (old, new) = (header_name(first), header_name(second));
    if old == DEV_NULL && new == DEV_NULL {
        return Err("both sides are /dev/null".into());
    }
    for name in [&old, &new] {
        if name.first() == Some(&b'/') && name != DEV_NULL {
            return Err(format!("the absolute path {} is refused", show(name)));
        }
    }
    // names without any folder have no prefix to drop
    let flat = |n: &[u8]| n == DEV_NULL || !n.contains(&b'/');
    let inner = |n: &[u8]| -> Result<Vec<u8>, String> {
        if flat(&old) && flat(&new) {
            Ok(n.to_vec())
        } else {
            strip_one(n)
                .map(<[u8]>::to_vec)
                .ok_or_else(|| format!("{} has no leading folder to drop (a/, b/)", show(n)))
        }
    };
    let (change, old, new) = if old == DEV_NULL {
        (Change::Add, Vec::new(), inner(&new)?)
    } else if new == DEV_NULL {
        (Change::Delete, inner(&old)?, Vec::new())
    } else {
        let (old, new) = (inner(&old)?, inner(&new)?);
        // `x.orig` against `x`: the shorter name is the file
        let name = if old.starts_with(&new) { new } else { old };
        if is_epoch(first) {
            (Change::Add, Vec::new(), name)
        } else if is_epoch(second) {
            (Change::Delete, name, Vec::new())
        } else {
            (Change::Modify, name.clone(), name)
        }
    };
    Ok(FilePatch {
        line,
        change,
        old_path: old,
        new_path: new,
        old_mode: None,
        new_mode: None,
        old_id: None,
        new_id: None,
        similarity: None,
        body: Body::None,
        range: 0..0,
    })
}

/// `diff -uN` gives a file that is not there the time 0, in the zone of its author.
fn is_epoch(text: &[u8]) -> bool {
    let Some(at) = text.iter().position(|&b| b == b'\t') else {
        return false;
    };
    let Ok(stamp) = std::str::from_utf8(&text[at + 1..]) else {
        return false;
    };
    let mut words = stamp.split(' ');
    let (Some(date), Some(time)) = (words.next(), words.next()) else {
        return false;
    };
    let zone = words.next().unwrap_or("+0000");
    let minutes = |t: &str| -> Option<i32> {
        let (hours, minutes) = (t.get(..2)?, t.get(2..4)?);
        Some(hours.parse::<i32>().ok()? * 60 + minutes.parse::<i32>().ok()?)
    };
    let Some(seconds) = time.get(5..) else {
        return false;
    };
    if !seconds.bytes().all(|b| matches!(b, b':' | b'.' | b'0')) {
        return false;
    }
    let clock = time.get(..5).and_then(|t| minutes(&t.replace(':', "")));
    let (Some(clock), Some(zone)) = (
        clock,
        zone.get(1..)
            .and_then(minutes)
            .map(|m| if zone.starts_with('-') { -m } else { m }),
    ) else {
        return false;
    };
    // local clock minus zone is midnight of 1970-01-01
    match date {
        "1970-01-01" => clock == zone,
        "1969-12-31" => clock - 24 * 60 == zone,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn epoch_in_any_zone_is_a_missing_file() {
        for stamp in [
            "1970-01-01 00:00:00.000000000 +0000",
            "1970-01-01 05:30:00 +0530",
            "1969-12-31 16:00:00.000000000 -0800",
        ] {
            assert!(is_epoch(format!("a/x\t{stamp}").as_bytes()), "{stamp}");
        }
        for stamp in [
            "1970-01-01 00:00:01.000000000 +0000",
            "1970-01-01 01:00:00 +0000",
            "2026-01-01 00:00:00 +0000",
            "",
        ] {
            assert!(!is_epoch(format!("a/x\t{stamp}").as_bytes()), "{stamp}");
        }
    }
}
