//! How much of an alternative patch is gold's own text.

use std::collections::HashSet;

use super::patch::{FilePatch, LineKind, Patch, parse};

/// The share (0 to 1) of the alternative's added lines that stand among gold's added lines, both
/// trimmed, blank ones not counted; 0 where it adds none. An alternative is meant to differ in
/// algorithm or data structure, so that a high share says that it does not.
pub fn added_line_share(alternative: &[u8], gold: &[u8]) -> f64 {
    let parsed = parse(gold);
    let known: HashSet<&[u8]> = added(&parsed, gold).collect();
    let parsed = parse(alternative);
    let (mut all, mut shared) = (0usize, 0usize);
    for line in added(&parsed, alternative) {
        all += 1;
        shared += usize::from(known.contains(line));
    }
    if all == 0 {
        return 0.0;
    }
    shared as f64 / all as f64
}

fn added<'a>(patch: &'a Patch, bytes: &'a [u8]) -> impl Iterator<Item = &'a [u8]> {
    patch
        .files
        .iter()
        .flat_map(FilePatch::hunks)
        .flat_map(|h| &h.lines)
        .filter(|l| l.kind == LineKind::Added)
        .map(|l| l.text(bytes).trim_ascii())
        .filter(|l| !l.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_share_is_of_the_alternatives_lines() {
        let head = "--- a/x\n+++ b/x\n";
        let gold = format!("{head}@@ -0,0 +1,3 @@\n+import a\n+\n+x = 1\n");
        let other = format!("{head}@@ -0,0 +1,5 @@\n+  import a\n+\n+y = 1\n+y = 2\n+y = 3\n");
        assert!((added_line_share(other.as_bytes(), gold.as_bytes()) - 0.25).abs() < 1e-9);
        assert!((added_line_share(gold.as_bytes(), gold.as_bytes()) - 1.0).abs() < 1e-9);
        assert!(added_line_share(b"", gold.as_bytes()).abs() < 1e-9);
    }
}
