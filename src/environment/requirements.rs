//! The lock of a `uv` environment: pinned requirements with hashes, one logical line each.
//!
//! Normalised, so that comments, order and line breaks do not make another environment.

use std::path::Path;

use super::EnvironmentError;

/// One pinned requirement.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Requirement {
    /// As written, without hashes: `numpy==2.2.6 ; python_version < '3.14'`.
    pub specifier: String,
    /// `sha256:…`, sorted.
    pub hashes: Vec<String>,
    /// Where it starts in the file, from 1.
    pub line: usize,
}

impl Requirement {
    /// `numpy==2.2.6`: without the marker.
    pub fn label(&self) -> &str {
        self.specifier
            .split(';')
            .next()
            .unwrap_or(&self.specifier)
            .trim()
    }

    /// A requirements file of this one alone.
    pub fn alone(&self) -> String {
        let mut text = self.specifier.clone();
        for hash in &self.hashes {
            text.push_str(" --hash=");
            text.push_str(hash);
        }
        text.push('\n');
        text
    }
}

/// Parses a lock. Refused: options (an index or a second file would make the lock depend on more
/// than itself) and requirements without a pin or a hash.
pub(super) fn parse(text: &str, path: &Path) -> Result<Vec<Requirement>, EnvironmentError> {
    let mut found = Vec::new();
    for (line, logical) in logical_lines(text) {
        let refuse = |reason: String| EnvironmentError::Requirements {
            path: path.to_path_buf(),
            line,
            reason,
        };
        if logical.starts_with('-') {
            return Err(refuse(format!(
                "option `{logical}`: a lock stands for itself; leave only pinned requirements with hashes"
            )));
        }
        let mut hashes = Vec::new();
        let mut words = Vec::new();
        for word in logical.split_whitespace() {
            match word.strip_prefix("--hash=") {
                Some(hash) => hashes.push(hash.to_string()),
                None => words.push(word),
            }
        }
        let specifier = words.join(" ");
        let mend = "compile the lock with hashes (uv pip compile --generate-hashes)";
        if hashes.is_empty() {
            return Err(refuse(format!("`{specifier}` has no --hash; {mend}")));
        }
        if !specifier.contains("==") && !specifier.contains(" @ ") {
            return Err(refuse(format!("`{specifier}` is not pinned; {mend}")));
        }
        hashes.sort();
        hashes.dedup();
        found.push(Requirement {
            specifier,
            hashes,
            line,
        });
    }
    Ok(found)
}

/// The text that is hashed.
pub(super) fn normalised(requirements: &[Requirement]) -> String {
    let mut lines: Vec<String> = requirements.iter().map(Requirement::alone).collect();
    lines.sort();
    lines.concat()
}

/// Lines with continuations joined and comments dropped, each with its first line's number.
fn logical_lines(text: &str) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    let mut open: Option<(usize, String)> = None;
    for (index, raw) in text.lines().enumerate() {
        let line = without_comment(raw).trim();
        let (part, goes_on) = match line.strip_suffix('\\') {
            Some(part) => (part.trim_end(), true),
            None => (line, false),
        };
        let (start, mut joined) = open.take().unwrap_or((index + 1, String::new()));
        if !joined.is_empty() && !part.is_empty() {
            joined.push(' ');
        }
        joined.push_str(part);
        if goes_on {
            open = Some((start, joined));
        } else if !joined.is_empty() {
            found.push((start, joined));
        }
    }
    found.extend(open.filter(|(_, joined)| !joined.is_empty()));
    found
}

/// A comment starts the line or follows white space (a `#` inside a URL is none).
fn without_comment(line: &str) -> &str {
    let bytes = line.as_bytes();
    for (at, byte) in bytes.iter().enumerate() {
        if *byte == b'#' && (at == 0 || bytes[at - 1].is_ascii_whitespace()) {
            return &line[..at];
        }
    }
    line
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn parsed(text: &str) -> Vec<Requirement> {
        parse(text, Path::new("r.lock")).unwrap()
    }

    #[test]
    fn comments_order_and_line_breaks_do_not_matter() {
        let a = "# made by a tool\na==1 \\\n    --hash=sha256:02 \\\n    --hash=sha256:01\n    # via b\nb==2 ; python_version < '3.11' --hash=sha256:03\n";
        let b = "b==2  ;  python_version < '3.11'   --hash=sha256:03\r\n\r\na==1 --hash=sha256:01 --hash=sha256:02";
        assert_eq!(normalised(&parsed(a)), normalised(&parsed(b)));
        assert_eq!(parsed(a)[1].label(), "b==2");
        assert_eq!(parsed(a)[1].line, 6);
        let c = a.replace("sha256:01", "sha256:04");
        assert_ne!(normalised(&parsed(a)), normalised(&parsed(&c)));
    }

    #[test]
    fn what_is_not_locked_is_refused_with_its_line() {
        for (text, line, word) in [
            ("a==1 --hash=sha256:01\nb==2\n", 2, "no --hash"),
            ("\na>=1 --hash=sha256:01\n", 2, "not pinned"),
            ("-e ./here\n", 1, "option"),
            ("--index-url x\n", 1, "option"),
        ] {
            let error = parse(text, Path::new("r.lock")).unwrap_err().to_string();
            assert!(
                error.starts_with(&format!("r.lock:{line}: ")) && error.contains(word),
                "{error}"
            );
        }
    }

    #[test]
    fn a_hash_sign_in_a_url_is_no_comment() {
        assert_eq!(without_comment("a @ file:///x#y # z"), "a @ file:///x#y ");
    }
}
