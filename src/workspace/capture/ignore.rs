//! What base's `.gitignore` files ignore, as git reads them. An agent's own edits of them do not
//! count: they could hide its files.

use super::wildmatch::wildmatch;

/// The patterns of one folder's `.gitignore`.
#[derive(Debug, Default)]
pub(super) struct Rules {
    rules: Vec<Rule>,
    /// Bytes of a path that name the folder, with the slash; 0 for the root.
    below: usize,
}

#[derive(Debug)]
struct Rule {
    /// As it stands in the file, for notes.
    line: Vec<u8>,
    pattern: Vec<u8>,
    negated: bool,
    folders_only: bool,
    /// No slash in it: it is about the last name of a path.
    name_only: bool,
    /// Bytes of the pattern before its first wildcard.
    plain: usize,
}

impl Rules {
    /// `folder`: where the file lies, without a slash at its end.
    pub(super) fn parse(text: &[u8], folder: &[u8]) -> Self {
        let text = text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(text);
        let lines = text.split(|&b| b == b'\n');
        Self {
            rules: lines.filter_map(rule).collect(),
            below: if folder.is_empty() {
                0
            } else {
                folder.len() + 1
            },
        }
    }

    /// What the last pattern that matches says of a path: ignored by that line, or not.
    pub(super) fn verdict(&self, path: &[u8], is_folder: bool) -> Option<Result<&[u8], ()>> {
        let path = path.get(self.below..)?;
        let found = self.rules.iter().rev().find(|r| r.matches(path, is_folder));
        found.map(|rule| {
            if rule.negated {
                Err(())
            } else {
                Ok(rule.line.as_slice())
            }
        })
    }
}

/// The line that ignores a path; `rules` from the root down. Its parents are asked for first.
pub(super) fn ignored<'r>(rules: &'r [Rules], path: &[u8], is_folder: bool) -> Option<&'r [u8]> {
    rules
        .iter()
        .rev()
        .find_map(|r| r.verdict(path, is_folder))?
        .ok()
}

fn rule(line: &[u8]) -> Option<Rule> {
    let line = line.strip_suffix(b"\r").unwrap_or(line);
    if line.first() == Some(&b'#') {
        return None;
    }
    let line = without_trailing_spaces(line);
    let (negated, pattern) = match line.strip_prefix(b"!") {
        Some(rest) => (true, rest),
        None => (false, line),
    };
    let (folders_only, pattern) = match pattern.strip_suffix(b"/") {
        Some(rest) => (true, rest),
        None => (false, pattern),
    };
    if pattern.is_empty() {
        return None;
    }
    let name_only = !pattern.contains(&b'/');
    let pattern = pattern.strip_prefix(b"/").unwrap_or(pattern);
    let special = |b: &u8| matches!(b, b'*' | b'?' | b'[' | b'\\');
    Some(Rule {
        line: line.to_vec(),
        plain: pattern.iter().position(special).unwrap_or(pattern.len()),
        pattern: pattern.to_vec(),
        negated,
        folders_only,
        name_only,
    })
}

/// Spaces at the end do not count, unless a backslash stands before them.
fn without_trailing_spaces(line: &[u8]) -> &[u8] {
    let mut end = 0;
    let mut index = 0;
    while index < line.len() {
        match line[index] {
            b'\\' => {
                index += 2;
                end = index.min(line.len());
            }
            b' ' => index += 1,
            _ => {
                index += 1;
                end = index;
            }
        }
    }
    &line[..end]
}

impl Rule {
    /// `path` is relative to the folder of the file.
    fn matches(&self, path: &[u8], is_folder: bool) -> bool {
        if self.folders_only && !is_folder {
            return false;
        }
        if self.name_only {
            let name = path.rsplit(|&b| b == b'/').next().unwrap_or(path);
            return if self.plain == self.pattern.len() {
                name == self.pattern
            } else {
                wildmatch(&self.pattern, name, false)
            };
        }
        // git compares what is plain first, so that a `**` behind it stands at a beginning
        let (plain, glob) = self.pattern.split_at(self.plain);
        path.strip_prefix(plain)
            .is_some_and(|rest| wildmatch(glob, rest, true))
    }
}
