//! Passed values taken out of a stream, wherever its pieces are cut.

use super::Passed;

/// Shorter values are flags and numbers: taking them out would hide half of a log, and keep no
/// secret.
const SHORTEST: usize = 6;

/// Replaces every passed value by `[NAME]`; also as JSON and as a URL write it. What could be the
/// beginning of one is held back until the next piece, or [`Redactor::finish`].
#[derive(Clone, Default)]
pub struct Redactor {
    /// What is looked for, longest first, and what stands in its place.
    secrets: Vec<(Vec<u8>, Vec<u8>)>,
    held: Vec<u8>,
}

impl Redactor {
    pub fn new(passed: &Passed) -> Self {
        let mut secrets: Vec<(Vec<u8>, Vec<u8>)> = Vec::new();
        for (name, value) in passed.variables() {
            let mut forms = vec![value.to_owned(), json(value), percent(value)];
            // a key file is often passed with its newline, and used without
            forms.push(value.trim().to_owned());
            forms.extend(json_slashes(value));
            for form in forms {
                if form.len() >= SHORTEST && !secrets.iter().any(|s| s.0 == form.as_bytes()) {
                    secrets.push((form.into_bytes(), format!("[{name}]").into_bytes()));
                }
            }
        }
        secrets.sort_by(|a, b| b.0.len().cmp(&a.0.len()).then_with(|| a.0.cmp(&b.0)));
        Self {
            secrets,
            held: Vec::new(),
        }
    }

    /// Whether there is anything to take out.
    pub fn is_idle(&self) -> bool {
        self.secrets.is_empty()
    }

    /// What of the stream so far can be kept now.
    pub fn push(&mut self, piece: &[u8]) -> Vec<u8> {
        if self.secrets.is_empty() {
            return piece.to_vec();
        }
        self.held.extend_from_slice(piece);
        let all = std::mem::take(&mut self.held);
        let mut out = Vec::with_capacity(all.len());
        let rest = self.replace(&all, false, &mut out);
        self.held = rest.to_vec();
        out
    }

    /// What was held back, at the end of the stream.
    pub fn finish(&mut self) -> Vec<u8> {
        let all = std::mem::take(&mut self.held);
        let mut out = Vec::with_capacity(all.len());
        self.replace(&all, true, &mut out);
        out
    }

    /// A whole text.
    pub fn text(&self, text: &str) -> String {
        let mut out = Vec::with_capacity(text.len());
        self.replace(text.as_bytes(), true, &mut out);
        String::from_utf8_lossy(&out).into_owned()
    }

    /// Returns what is held back: nothing at the end. One pass for each secret, whatever the text:
    /// where it is found next is looked for again only behind its last place.
    fn replace<'t>(&self, text: &'t [u8], end: bool, out: &mut Vec<u8>) -> &'t [u8] {
        let open = if end { text.len() } else { self.open(text) };
        let after = |secret: &[u8], from: usize| {
            memchr::memmem::find(&text[from..], secret).map(|at| from + at)
        };
        let mut next: Vec<Option<usize>> = self
            .secrets
            .iter()
            .map(|(secret, _)| after(secret, 0))
            .collect();
        let mut from = 0;
        loop {
            for (place, (secret, _)) in next.iter_mut().zip(&self.secrets) {
                if place.is_some_and(|at| at < from) {
                    *place = after(secret, from);
                }
            }
            // the first one; of those that begin there the longest, which stands first
            let first = (0..next.len())
                .filter_map(|n| Some((next[n]?, n)))
                .min_by_key(|found| *found);
            match first {
                // a longer secret may begin at the same place, or before
                Some((at, n)) if at < open => {
                    let (secret, name) = &self.secrets[n];
                    out.extend_from_slice(&text[from..at]);
                    out.extend_from_slice(name);
                    from = at + secret.len();
                }
                _ => {
                    let open = open.max(from);
                    out.extend_from_slice(&text[from..open]);
                    return &text[open..];
                }
            }
        }
    }

    /// Where the end of `text` could be the beginning of a secret.
    fn open(&self, text: &[u8]) -> usize {
        let longest = self.secrets.first().map_or(0, |s| s.0.len());
        let from = text.len().saturating_sub(longest.saturating_sub(1));
        (from..text.len())
            .find(|&at| {
                let tail = &text[at..];
                self.secrets
                    .iter()
                    .any(|(secret, _)| secret.len() > tail.len() && secret.starts_with(tail))
            })
            .unwrap_or(text.len())
    }
}

/// As it stands inside a JSON string.
fn json(value: &str) -> String {
    let text = serde_json::to_string(value).unwrap_or_default();
    let inner = text.strip_prefix('"').and_then(|t| t.strip_suffix('"'));
    inner.unwrap_or_default().to_owned()
}

/// Some writers escape the slash as well.
fn json_slashes(value: &str) -> Option<String> {
    value.contains('/').then(|| json(value).replace('/', "\\/"))
}

fn percent(value: &str) -> String {
    use std::fmt::Write;
    value.bytes().fold(String::new(), |mut out, byte| {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            out.push(char::from(byte));
        } else {
            write!(out, "%{byte:02X}").ok();
        }
        out
    })
}
