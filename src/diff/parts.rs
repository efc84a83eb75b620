//! The difference of some lines of two texts, where the lines keep their numbers.

use imara_diff::InternedInput;

use super::lines::{DiffOptions, FileDiff, Line, Span};

/// A text and those lines of it that count, in their order.
pub type Part<'a> = (&'a [u8], Vec<Span>);

impl FileDiff {
    /// Compares some lines of two texts. Nothing is said of the files as wholes.
    pub fn of_lines(old: Part<'_>, new: Part<'_>, options: DiffOptions) -> Self {
        let mut input = InternedInput::default();
        input.update_before(old.1.iter().map(|span| line(old.0, span, options)));
        input.update_after(new.1.iter().map(|span| line(new.0, span, options)));
        let mut diff = Self {
            old: old.1,
            new: new.1,
            ..Self::default()
        };
        diff.find_changes(&input, (old.0, new.0));
        diff
    }
}

/// A line with its end, where ends count.
fn line<'a>(text: &'a [u8], span: &Span, options: DiffOptions) -> Line<'a> {
    let own = span.text(text);
    let rest = text.get(span.end as usize..).unwrap_or_default();
    let end = match rest {
        _ if options.ignore_line_endings => 0,
        [b'\r', b'\n', ..] => 2,
        [b'\n', ..] => 1,
        _ => 0,
    };
    let whole = span.start as usize..span.end as usize + end;
    Line {
        text: text.get(whole).unwrap_or(own),
        spaceless: options.ignore_space,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diff::lines::spans;

    #[test]
    fn lines_keep_their_numbers() {
        let (old, new) = (b"x\na\nb\r\n", b"a\ny\nz\nb\n");
        let pick = |text: &[u8], lines: &[usize]| -> Vec<Span> {
            let all = spans(text);
            lines.iter().map(|at| all[*at]).collect()
        };
        let of = |options| {
            let diff = FileDiff::of_lines(
                (old, pick(old, &[1, 2])),
                (new, pick(new, &[0, 3])),
                options,
            );
            (diff.new[1].no, diff.changes.len())
        };
        assert_eq!(of(DiffOptions::default()), (4, 1), "the line ends differ");
        let options = DiffOptions {
            ignore_line_endings: true,
            ..DiffOptions::default()
        };
        assert_eq!(of(options), (4, 0));
    }
}
