//! Which of a prompt is code: backticks, fences of backticks or tildes, indented blocks.

/// A piece of a prompt and its first line, from 1.
pub(super) type Span<'t> = (&'t str, usize);

#[derive(Debug, Default)]
pub(super) struct Spans<'t> {
    pub code: Vec<Span<'t>>,
    pub prose: Vec<Span<'t>>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Block {
    /// A paragraph, with its items and headings.
    Text,
    Indented,
    /// Its mark and how often it stands there.
    Fence(u8, usize),
}

pub(super) fn spans(prompt: &str) -> Spans<'_> {
    let mut found = Spans::default();
    let (mut block, mut start, mut first) = (Block::Text, 0, 1);
    // where the contents of the item that is open begin
    let (mut item, mut blank, mut at) = (0, true, 0);
    for (index, line) in prompt.split_inclusive('\n').enumerate() {
        let end = at + line.len();
        let text = line.trim();
        let indent = indent(line);
        let mark = fence(text);
        let next = match block {
            Block::Fence(mark, n) => {
                if fence(text).is_some_and(|(m, k)| m == mark && k >= n && text.len() == k) {
                    found.close(block, &prompt[start..at], first);
                    (block, start, first, at) = (Block::Text, end, index + 2, end);
                    blank = true;
                } else {
                    at = end;
                }
                continue;
            }
            _ if mark.is_some() => mark.map_or(block, |(m, n)| Block::Fence(m, n)),
            Block::Indented if text.is_empty() => block,
            _ if !text.is_empty() && indent >= item + 4 && (blank || block == Block::Indented) => {
                Block::Indented
            }
            _ => Block::Text,
        };
        if next == Block::Text && !text.is_empty() {
            let marker = marker(text);
            if marker > 0 {
                item = indent + marker;
            } else if indent == 0 && blank {
                item = 0;
            }
        }
        if next != block || blank && next == Block::Text {
            found.close(block, &prompt[start..at], first);
            (start, first) = (at, index + 1);
            if let Block::Fence(..) = next {
                (start, first) = (end, index + 2);
            }
            block = next;
        }
        blank = text.is_empty();
        at = end;
    }
    found.close(block, &prompt[start..], first);
    found
}

impl<'t> Spans<'t> {
    fn close(&mut self, block: Block, text: &'t str, line: usize) {
        match block {
            _ if text.trim().is_empty() => {}
            Block::Text => self.inline(text, line),
            _ => self.code.push((text, line)),
        }
    }

    /// What stands between backticks in a paragraph, and the rest of it.
    fn inline(&mut self, text: &'t str, first: usize) {
        let line = |at: usize| first + text[..at].matches('\n').count();
        let (mut at, mut from) = (0, 0);
        while let Some(open) = text[at..].find('`').map(|n| at + n) {
            let ticks = text[open..].bytes().take_while(|b| *b == b'`').count();
            let start = open + ticks;
            let Some(length) = text[start..].find(&text[open..start]) else {
                at = start;
                continue;
            };
            self.code.push((&text[start..start + length], line(start)));
            self.prose.push((&text[from..open], line(from)));
            at = start + length + ticks;
            from = at;
        }
        self.prose.push((&text[from..], line(from)));
    }
}

fn indent(line: &str) -> usize {
    let white = line.bytes().take_while(|b| *b == b' ' || *b == b'\t');
    white.map(|b| if b == b'\t' { 4 } else { 1 }).sum()
}

/// The mark of a fence, and how often it stands there.
fn fence(text: &str) -> Option<(u8, usize)> {
    let mark = text.bytes().next().filter(|b| [b'`', b'~'].contains(b))?;
    let n = text.bytes().take_while(|b| *b == mark).count();
    // `code` on a line of its own is none
    let closed = mark == b'`' && text[n..].contains('`');
    (n >= 3 && !closed).then_some((mark, n))
}

/// How wide the mark of a list's item is: `- `, `* `, `12. `; 0: the text is none.
pub(super) fn marker(text: &str) -> usize {
    if ["- ", "* ", "+ "].iter().any(|m| text.starts_with(m)) {
        return 2;
    }
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let rest = &text[digits..];
    let numbered = (1..=3).contains(&digits) && (rest.starts_with(". ") || rest.starts_with(") "));
    if numbered { digits + 2 } else { 0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_is_told_from_prose() {
        let prompt = "Use `a.b` and\n``c`d`` now.\n\n    x = 1\n\n    y = 2\nEnd `open.\n\n~~~py\nf(`)\n~~~\n- item\n\n    still the item\n\n      z = 3\n\n```\ng()\n```\nlast `h`\n";
        let found = spans(prompt);
        let code: Vec<Span<'_>> = found.code.iter().map(|(t, l)| (t.trim(), *l)).collect();
        assert_eq!(
            code,
            [
                ("a.b", 1),
                ("c`d", 2),
                ("x = 1\n\n    y = 2", 4),
                ("f(`)", 10),
                ("z = 3", 16),
                ("g()", 19),
                ("h", 21),
            ]
        );
        let prose: String = found.prose.iter().map(|(t, _)| *t).collect();
        for word in ["Use", "now", "End", "open", "item", "still", "last"] {
            assert!(prose.contains(word), "{word}: {prose}");
        }
        assert!(!prose.contains("g()") && !prose.contains("x = 1"));
    }
}
