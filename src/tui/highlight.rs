//! Syntax colours of whole files, on a worker thread.
//!
//! A file is parsed from its first line (a hunk alone would start in a wrong state) and every
//! line's spans are kept, so that no jump waits again. They come in pieces while the plain text
//! is on the screen already; a newer file makes the worker stop at its next line.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

use syntect::parsing::{ParseState, Scope, ScopeStack, SyntaxReference, SyntaxSet};

use super::theme::Role;

/// Lines of a piece: a screen's worth comes first.
const PIECE: usize = 200;
/// Longer lines stay plain: one of 320 kB takes a second.
const LONGEST_LINE: usize = 5_000;
/// Larger files stay plain.
const LARGEST_FILE: usize = 4 << 20;

/// Byte range in a line, and what stands there.
pub type Colour = (u32, u32, Role);

/// One side of a file to colour.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wanted {
    pub ticket: u64,
    /// 0: left, 1: right.
    pub side: usize,
    pub path: String,
    pub text: std::sync::Arc<Vec<u8>>,
    /// Index of the line that is seen first: its surroundings come before all else.
    pub first: usize,
}

/// Colours of some lines.
#[derive(Clone, Debug)]
pub struct Piece {
    pub ticket: u64,
    pub side: usize,
    /// Index of the first line.
    pub from: usize,
    pub lines: Vec<Vec<Colour>>,
}

fn syntaxes() -> &'static SyntaxSet {
    static SET: OnceLock<SyntaxSet> = OnceLock::new();
    SET.get_or_init(two_face::syntax::extra_newlines)
}

/// Colours a file; `newest` holds the ticket that is still wanted.
pub fn highlight(wanted: &Wanted, newest: &AtomicU64, mut send: impl FnMut(Piece)) {
    if wanted.text.len() > LARGEST_FILE {
        return;
    }
    let set = syntaxes();
    let name = wanted.path.rsplit('/').next().unwrap_or(&wanted.path);
    let extension = name.rsplit('.').next().unwrap_or(name);
    let Some(syntax) = set
        .find_syntax_by_extension(name)
        .or_else(|| set.find_syntax_by_extension(extension))
    else {
        return;
    };
    if wanted.first >= PIECE {
        send(surroundings(wanted, set, syntax));
    }
    let table = table();
    let mut state = ParseState::new(syntax);
    let mut stack = ScopeStack::new();
    let mut lines = Vec::new();
    let mut from = 0;
    let mut count = 0;
    for raw in wanted.text.split_inclusive(|b| *b == b'\n') {
        if newest.load(Ordering::Relaxed) != wanted.ticket {
            return;
        }
        let colours = match std::str::from_utf8(raw) {
            Ok(line) if line.len() <= LONGEST_LINE => {
                parse(line, &mut state, &mut stack, set, table)
            }
            _ => Vec::new(),
        };
        lines.push(colours);
        count += 1;
        if lines.len() >= PIECE {
            send(Piece {
                ticket: wanted.ticket,
                side: wanted.side,
                from,
                lines: std::mem::take(&mut lines),
            });
            from = count;
        }
    }
    if !lines.is_empty() {
        send(Piece {
            ticket: wanted.ticket,
            side: wanted.side,
            from,
            lines,
        });
    }
}

/// Colours of the lines around the one that is seen first, as if the file began a little before
/// them, where nothing is indented. The pass over the whole file mends what that gets wrong.
fn surroundings(wanted: &Wanted, set: &SyntaxSet, syntax: &SyntaxReference) -> Piece {
    let lines: Vec<&[u8]> = wanted
        .text
        .split_inclusive(|b| *b == b'\n')
        .take(wanted.first + PIECE / 2)
        .collect();
    let earliest = wanted.first.saturating_sub(PIECE);
    let flat = |line: &[u8]| {
        line.first()
            .is_some_and(|b| b.is_ascii_alphabetic() || *b == b'@')
    };
    let from = (earliest..wanted.first)
        .find(|at| lines.get(*at).is_some_and(|line| flat(line)))
        .unwrap_or(earliest);
    let mut state = ParseState::new(syntax);
    let mut stack = ScopeStack::new();
    let colours = lines
        .iter()
        .skip(from)
        .map(|raw| match std::str::from_utf8(raw) {
            Ok(line) if line.len() <= LONGEST_LINE => {
                parse(line, &mut state, &mut stack, set, table())
            }
            _ => Vec::new(),
        });
    Piece {
        ticket: wanted.ticket,
        side: wanted.side,
        from,
        lines: colours.collect(),
    }
}

fn parse(
    line: &str,
    state: &mut ParseState,
    stack: &mut ScopeStack,
    set: &SyntaxSet,
    table: &[(Scope, Role)],
) -> Vec<Colour> {
    let Ok(ops) = state.parse_line(line, set) else {
        return Vec::new();
    };
    let mut colours: Vec<Colour> = Vec::new();
    let mut from = 0;
    for (at, op) in &ops {
        note(&mut colours, from, *at, stack, table);
        from = *at;
        if stack.apply(op).is_err() {
            return colours;
        }
    }
    note(&mut colours, from, line.len(), stack, table);
    colours
}

fn note(
    colours: &mut Vec<Colour>,
    from: usize,
    to: usize,
    stack: &ScopeStack,
    table: &[(Scope, Role)],
) {
    if from >= to {
        return;
    }
    let role = stack.as_slice().iter().rev().find_map(|scope| {
        table
            .iter()
            .find(|(prefix, _)| prefix.is_prefix_of(*scope))
            .map(|(_, role)| *role)
    });
    let Some(role) = role else { return };
    let (from, to) = (from as u32, to as u32);
    match colours.last_mut() {
        Some(last) if last.1 == from && last.2 == role => last.1 = to,
        _ => colours.push((from, to, role)),
    }
}

/// Scopes and what they are here; the first that fits counts.
fn table() -> &'static [(Scope, Role)] {
    static TABLE: OnceLock<Vec<(Scope, Role)>> = OnceLock::new();
    TABLE.get_or_init(|| {
        [
            ("comment", Role::Comment),
            ("punctuation.definition.comment", Role::Comment),
            ("string", Role::Str),
            ("punctuation.definition.string", Role::Str),
            ("constant.numeric", Role::Number),
            ("constant.character", Role::Constant),
            ("constant", Role::Constant),
            ("keyword.operator.logical", Role::Keyword),
            ("keyword.operator", Role::Operator),
            ("keyword", Role::Keyword),
            ("storage", Role::Keyword),
            ("entity.name.function", Role::Function),
            ("variable.function", Role::Function),
            ("support.function", Role::Function),
            ("entity.name.class", Role::Type),
            ("entity.name.type", Role::Type),
            ("entity.other.inherited-class", Role::Type),
            ("support.type", Role::Type),
            ("support.class", Role::Type),
            ("entity.name", Role::Function),
            ("markup.heading", Role::Keyword),
            ("variable.language", Role::Constant),
        ]
        .into_iter()
        .filter_map(|(name, role)| Some((Scope::new(name).ok()?, role)))
        .collect()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn colours(path: &str, text: &str, newest: u64) -> Vec<Vec<Colour>> {
        let wanted = Wanted {
            ticket: 7,
            side: 0,
            path: path.into(),
            text: std::sync::Arc::new(text.as_bytes().to_vec()),
            first: 0,
        };
        let mut lines = Vec::new();
        highlight(&wanted, &AtomicU64::new(newest), |piece| {
            assert_eq!(piece.from, lines.len());
            lines.extend(piece.lines);
        });
        lines
    }

    #[test]
    fn a_string_over_many_lines_is_a_string_on_each() {
        let mut text = String::from("x = '''\n");
        text.push_str(&"inside\n".repeat(450));
        text.push_str("'''\nreturn 1  # done\n");
        let lines = colours("a/b.py", &text, 7);
        assert_eq!(lines.len(), 453);
        assert_eq!(lines[449].first().map(|c| c.2), Some(Role::Str));
        let last: Vec<Role> = lines[452].iter().map(|c| c.2).collect();
        assert_eq!(last, [Role::Keyword, Role::Number, Role::Comment]);
    }

    #[test]
    fn what_is_seen_comes_first_and_the_whole_file_after_it() {
        let text = "def f():\n    return 1\n\n".repeat(400);
        let wanted = Wanted {
            ticket: 1,
            side: 0,
            path: "a.py".into(),
            text: std::sync::Arc::new(text.into_bytes()),
            first: 1000,
        };
        let mut pieces = Vec::new();
        highlight(&wanted, &AtomicU64::new(1), |piece| pieces.push(piece));
        let first = &pieces[0];
        assert!((800..=802).contains(&first.from));
        assert_eq!(first.from + first.lines.len(), 1100);
        // it says what the pass over the whole file says of the same lines
        let whole: Vec<&Vec<Colour>> = pieces[1..].iter().flat_map(|p| &p.lines).collect();
        assert_eq!(whole.len(), 1200);
        for (at, line) in first.lines.iter().enumerate() {
            assert_eq!(whole[first.from + at], line);
        }
    }

    #[test]
    fn a_newer_file_stops_the_work() {
        assert!(colours("a.py", "x = 1\n", 8).is_empty());
        assert!(colours("a.unknown-kind", "x = 1\n", 7).is_empty());
    }
}
