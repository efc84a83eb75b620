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

    /// Returns what is held back: nothing at the end.
    fn replace<'t>(&self, mut text: &'t [u8], end: bool, out: &mut Vec<u8>) -> &'t [u8] {
        loop {
            let found = self.first(text);
            let open = if end { text.len() } else { self.open(text) };
            match found {
                // a longer secret may begin at the same place, or before
                Some((at, secret, name)) if at < open => {
                    out.extend_from_slice(&text[..at]);
                    out.extend_from_slice(name);
                    text = &text[at + secret.len()..];
                }
                _ => {
                    out.extend_from_slice(&text[..open]);
                    return &text[open..];
                }
            }
        }
    }

    /// The first secret, the longest of those that begin there.
    fn first(&self, text: &[u8]) -> Option<(usize, &[u8], &[u8])> {
        self.secrets
            .iter()
            .filter_map(|(secret, name)| {
                let at = memchr::memmem::find(text, secret)?;
                Some((at, secret.as_slice(), name.as_slice()))
            })
            .min_by_key(|(at, secret, _)| (*at, usize::MAX - secret.len()))
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
