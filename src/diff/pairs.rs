//! Which removed line stands beside which added line.

use super::lines::Span;

/// Blocks with more lines on a side are paired in their order: the search is quadratic.
const MAX_BLOCK: usize = 32;
/// Bytes of a line that are looked at.
const MAX_BYTES: usize = 200;
/// Less alike than this (of 1000): not the same line.
const SIMILAR: u32 = 400;

/// A row of a change: indices into the old and the new lines.
pub type Pair = (Option<u32>, Option<u32>);

/// The rows of a block, side by side. `None`: the lines pair in their order, which is so for
/// blocks of the same size.
pub(super) fn align(
    old: &[Span],
    new: &[Span],
    texts: (&[u8], &[u8]),
    from: (u32, u32),
) -> Option<Vec<Pair>> {
    let (rows, columns) = (old.len(), new.len());
    if rows == columns || rows == 0 || columns == 0 || rows.max(columns) > MAX_BLOCK {
        return None;
    }
    let (left, right): (Vec<&[u8]>, Vec<&[u8]>) = (
        old.iter().map(|s| cut(s.text(texts.0))).collect(),
        new.iter().map(|s| cut(s.text(texts.1))).collect(),
    );
    // best[i][j]: the most likeness that lines from i and from j on can have in order
    let width = columns + 1;
    let mut best = vec![0u32; (rows + 1) * width];
    let mut alike = vec![0u32; rows * columns];
    for i in (0..rows).rev() {
        for j in (0..columns).rev() {
            let likeness = similarity(left[i], right[j]);
            alike[i * columns + j] = likeness;
            let skip = best[(i + 1) * width + j].max(best[i * width + j + 1]);
            let take = if likeness >= SIMILAR {
                best[(i + 1) * width + j + 1] + likeness
            } else {
                0
            };
            best[i * width + j] = skip.max(take);
        }
    }
    let mut pairs = Vec::with_capacity(rows.max(columns));
    let (mut i, mut j) = (0, 0);
    // lines without a partner share rows, in their order
    let (mut lone_old, mut lone_new) = (Vec::new(), Vec::new());
    while i < rows && j < columns {
        let here = best[i * width + j];
        let likeness = alike[i * columns + j];
        if likeness >= SIMILAR && here == best[(i + 1) * width + j + 1] + likeness {
            flush(&mut pairs, &mut lone_old, &mut lone_new);
            pairs.push((Some(from.0 + i as u32), Some(from.1 + j as u32)));
            i += 1;
            j += 1;
        } else if here == best[(i + 1) * width + j] {
            lone_old.push(from.0 + i as u32);
            i += 1;
        } else {
            lone_new.push(from.1 + j as u32);
            j += 1;
        }
    }
    lone_old.extend((i..rows).map(|i| from.0 + i as u32));
    lone_new.extend((j..columns).map(|j| from.1 + j as u32));
    flush(&mut pairs, &mut lone_old, &mut lone_new);
    Some(pairs)
}

fn flush(pairs: &mut Vec<Pair>, old: &mut Vec<u32>, new: &mut Vec<u32>) {
    for at in 0..old.len().max(new.len()) {
        pairs.push((old.get(at).copied(), new.get(at).copied()));
    }
    old.clear();
    new.clear();
}

fn cut(line: &[u8]) -> &[u8] {
    let line = line.trim_ascii();
    &line[..line.len().min(MAX_BYTES)]
}

/// What two lines share at their beginning and their end, of the longer one, in thousandths.
fn similarity(a: &[u8], b: &[u8]) -> u32 {
    let longer = a.len().max(b.len());
    if longer == 0 {
        return 1000;
    }
    let same = |(a, b): &(&u8, &u8)| a == b;
    let head = a.iter().zip(b).take_while(same).count();
    let tail = a[head..]
        .iter()
        .rev()
        .zip(b[head..].iter().rev())
        .take_while(same)
        .count();
    ((head + tail) * 1000 / longer) as u32
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diff::lines::spans;

    fn pairs(old: &str, new: &str) -> Option<Vec<Pair>> {
        align(
            &spans(old.as_bytes()),
            &spans(new.as_bytes()),
            (old.as_bytes(), new.as_bytes()),
            (10, 20),
        )
    }

    #[test]
    fn a_changed_line_finds_itself_among_added_ones() {
        let found = pairs(
            "total = sum(x) / world\n",
            "weights = [1, 2]\n# a comment\ntotal = sum(x) / weight\n",
        );
        assert_eq!(
            found,
            Some(vec![
                (None, Some(20)),
                (None, Some(21)),
                (Some(10), Some(22))
            ])
        );
    }

    #[test]
    fn lone_lines_share_rows() {
        let found = pairs("aaaa\n", "bbbb\ncccc\n");
        assert_eq!(found, Some(vec![(Some(10), Some(20)), (None, Some(21))]));
        assert_eq!(pairs("a\nb\n", "c\nd\n"), None, "in their order");
        assert_eq!(pairs("", "c\n"), None);
    }
}
