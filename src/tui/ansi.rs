//! One line of a log as it would look in a terminal: colours become styles, carriage returns and
//! backspaces overwrite, every other sequence is dropped, what is left is made safe.

use std::borrow::Cow;

use ratatui::style::{Color, Modifier, Style};
use ratatui::text::Span;
use unicode_width::UnicodeWidthChar;

use super::caps::Depth;
use super::text;

/// Bytes of a line that are looked at: no screen shows more.
const LONGEST: usize = 64 * 1024;
/// Bytes from which on a line is shown as [`flat`] text: played back, each character would be held
/// with its style.
pub const LONG: usize = 16 << 10;

/// Safe spans of a raw line, at most `columns` wide.
pub fn spans(
    line: &str,
    columns: usize,
    base: Style,
    marked: Style,
    depth: Depth,
) -> Vec<Span<'static>> {
    let mut end = line.len().min(LONGEST);
    while !line.is_char_boundary(end) {
        end -= 1;
    }
    let line = &line[..end];
    if !drives(line) {
        return text::spans(line, columns, marked, |_| base);
    }
    let (plain, styles) = play(line, base, depth);
    text::spans(&plain, columns, marked, |at| {
        styles.get(at).copied().unwrap_or(base)
    })
}

/// Plays a line back; returns its text and a style for each byte of it.
fn play(line: &str, base: Style, depth: Depth) -> (String, Vec<Style>) {
    // cells as progress bars leave them: text with its combining marks, and a style
    let mut cells: Vec<(String, Style)> = Vec::new();
    let mut at = 0_usize;
    let mut style = base;
    let mut chars = line.chars();
    while let Some(c) = chars.next() {
        match c {
            '\u{1b}' | '\u{9b}' | '\u{9d}' | '\u{90}' => {
                if let Some(parameters) = escape(c, &mut chars) {
                    style = sgr(&parameters, style, base, depth);
                }
            }
            // a trailing return only ends the line
            '\r' if !chars.as_str().is_empty() => at = 0,
            '\r' => {}
            '\u{8}' => at = at.saturating_sub(1),
            c if c.width() == Some(0) && !text::is_hidden(c) && at > 0 => {
                if let Some(cell) = cells.get_mut(at - 1)
                    && cell.0.len() < 32
                {
                    cell.0.push(c);
                }
            }
            c => {
                let cell = (c.to_string(), style);
                if let Some(place) = cells.get_mut(at) {
                    *place = cell;
                } else {
                    cells.push(cell);
                }
                at += 1;
            }
        }
    }
    let mut plain = String::with_capacity(line.len());
    let mut styles = Vec::with_capacity(line.len());
    for (text, style) in cells {
        styles.extend(std::iter::repeat_n(style, text.len()));
        plain.push_str(&text);
    }
    (plain, styles)
}

/// Takes a sequence that `c` begins; returns the parameters where it sets colours.
fn escape(c: char, chars: &mut std::str::Chars<'_>) -> Option<String> {
    let kind = match c {
        '\u{1b}' => chars.next(),
        '\u{9b}' => Some('['),
        '\u{9d}' => Some(']'),
        _ => Some('P'),
    };
    match kind {
        Some('[') => {
            let mut parameters = String::new();
            for c in chars.by_ref() {
                if ('@'..='~').contains(&c) {
                    return (c == 'm').then_some(parameters);
                }
                parameters.push(c);
            }
        }
        Some(']' | 'P' | 'X' | '^' | '_') => skip_string(chars),
        Some('(' | ')' | '#' | '%') => {
            chars.next();
        }
        _ => {}
    }
    None
}

/// The text of a line that is looked through, not shown: played back, without its sequences.
pub fn plain(line: &str) -> Cow<'_, str> {
    if !drives(line) {
        return Cow::Borrowed(line);
    }
    if line.len() >= LONG {
        return Cow::Owned(flat(line));
    }
    Cow::Owned(play(line, Style::default(), Depth::None).0)
}

/// Whether anything in a line is not text.
fn drives(line: &str) -> bool {
    let bytes = line.as_bytes();
    memchr::memchr3(0x1b, b'\r', 0x08, bytes).is_some() || memchr::memchr(0xc2, bytes).is_some()
}

/// Safe text of a line of any length, without colours; a carriage return begins it anew.
pub fn flat(line: &str) -> String {
    let line = line.trim_end_matches('\r');
    let mut out = String::with_capacity(line.len());
    let mut column = 0;
    let mut rest = line;
    while !rest.is_empty() {
        let run = rest.bytes().position(|b| !(b' '..=b'~').contains(&b));
        let (run, after) = rest.split_at(run.unwrap_or(rest.len()));
        out.push_str(run);
        column += run.len();
        let mut chars = after.chars();
        let Some(c) = chars.next() else { break };
        match c {
            '\u{1b}' | '\u{9b}' | '\u{9d}' | '\u{90}' => {
                escape(c, &mut chars);
            }
            '\r' => {
                out.clear();
                column = 0;
            }
            '\u{8}' => {}
            '\t' => {
                let fill = text::TAB - column % text::TAB;
                out.extend(std::iter::repeat_n(' ', fill));
                column += fill;
            }
            c => {
                if let Some(shown) = text::stand_in(c) {
                    out.push_str(&shown);
                    column += shown.len();
                } else {
                    out.push(c);
                    column += c.width().unwrap_or(0);
                }
            }
        }
        rest = chars.as_str();
    }
    out
}

/// Skips a string up to its terminator (BEL, ST).
fn skip_string(chars: &mut std::str::Chars<'_>) {
    while let Some(c) = chars.next() {
        match c {
            '\u{7}' | '\u{9c}' => return,
            '\u{1b}' => {
                if chars.as_str().starts_with('\\') {
                    chars.next();
                }
                return;
            }
            _ => {}
        }
    }
}

fn sgr(parameters: &str, mut style: Style, base: Style, depth: Depth) -> Style {
    let mut numbers = parameters.split([';', ':']).map(|n| {
        if n.is_empty() {
            Some(0)
        } else {
            n.parse::<u16>().ok()
        }
    });
    while let Some(number) = numbers.next() {
        let Some(number) = number else { continue };
        style = match number {
            0 => base,
            1 => style.add_modifier(Modifier::BOLD),
            2 => style.add_modifier(Modifier::DIM),
            3 => style.add_modifier(Modifier::ITALIC),
            4 => style.add_modifier(Modifier::UNDERLINED),
            7 => style.add_modifier(Modifier::REVERSED),
            9 => style.add_modifier(Modifier::CROSSED_OUT),
            22 => style.remove_modifier(Modifier::BOLD | Modifier::DIM),
            23 => style.remove_modifier(Modifier::ITALIC),
            24 => style.remove_modifier(Modifier::UNDERLINED),
            27 => style.remove_modifier(Modifier::REVERSED),
            29 => style.remove_modifier(Modifier::CROSSED_OUT),
            30..=37 => colour(style, true, Color::Indexed((number - 30) as u8), depth),
            90..=97 => colour(style, true, Color::Indexed((number - 82) as u8), depth),
            40..=47 => colour(style, false, Color::Indexed((number - 40) as u8), depth),
            100..=107 => colour(style, false, Color::Indexed((number - 92) as u8), depth),
            39 => Style {
                fg: base.fg,
                ..style
            },
            49 => Style {
                bg: base.bg,
                ..style
            },
            38 | 48 => {
                let wide = match numbers.next().flatten() {
                    Some(5) => numbers
                        .next()
                        .flatten()
                        .and_then(|n| u8::try_from(n).ok())
                        .map(Color::Indexed),
                    Some(2) => {
                        let mut byte =
                            || u8::try_from(numbers.next().flatten().unwrap_or(0)).unwrap_or(255);
                        Some(Color::Rgb(byte(), byte(), byte()))
                    }
                    _ => None,
                };
                wide.map_or(style, |wide| colour(style, number == 38, wide, depth))
            }
            _ => style,
        };
    }
    style
}

/// A log's own colour, where the terminal can show it.
fn colour(style: Style, foreground: bool, colour: Color, depth: Depth) -> Style {
    let shown = match (colour, depth) {
        (Color::Rgb(..), Depth::Ansi16 | Depth::Ansi256) | (_, Depth::None) => return style,
        (Color::Indexed(n), Depth::Ansi16) if n > 15 => return style,
        (colour, _) => colour,
    };
    if foreground {
        style.fg(shown)
    } else {
        style.bg(shown)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(line: &str) -> String {
        spans(line, 200, Style::default(), Style::default(), Depth::True)
            .iter()
            .map(|s| s.content.to_string())
            .collect()
    }

    #[test]
    fn nothing_that_drives_a_terminal_survives() {
        for (raw, clean) in [
            ("\u{1b}[31mred\u{1b}[0m", "red"),
            ("a\u{1b}]0;title\u{7}b", "ab"),
            ("a\u{1b}]52;c;aGk=\u{1b}\\b", "ab"),
            ("a\u{1b}[2Jb\u{1b}[?1049lc", "abc"),
            ("a\u{1b}Pq#0\u{1b}\\b", "ab"),
            ("a\u{9b}2Jb", "ab"),
            ("bell\u{7} nul\0", "bell^G nul^@"),
            ("\u{202e}evil", "<U+202E>evil"),
            ("cut\u{1b}[3", "cut"),
        ] {
            assert_eq!(shown(raw), clean, "{raw:?}");
        }
    }

    #[test]
    fn progress_bars_show_their_last_state() {
        assert_eq!(shown(" 10%\r 50%\r100%"), "100%");
        assert_eq!(shown("abc\rX"), "Xbc");
        assert_eq!(shown("ab\u{8}c"), "ac");
        assert_eq!(shown("line\r"), "line");
    }

    #[test]
    fn colours_are_kept_where_they_can_be_shown() {
        let style_of = |depth| {
            spans(
                "\u{1b}[1;31mx",
                9,
                Style::default(),
                Style::default(),
                depth,
            )
            .first()
            .map(|s| s.style)
        };
        let bold = Style::default().add_modifier(Modifier::BOLD);
        assert_eq!(style_of(Depth::None), Some(bold));
        assert_eq!(style_of(Depth::Ansi16), Some(bold.fg(Color::Indexed(1))));
    }
}
