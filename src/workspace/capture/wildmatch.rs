//! git's glob patterns (`wildmatch.c`), on bytes.

#[derive(Clone, Copy, PartialEq, Eq)]
enum Found {
    Match,
    No,
    /// No later place of the text can match either.
    Abort,
    /// Nor can one behind the next slash, unless a `**` is on the way.
    AbortToStars,
}

/// Whether `pattern` matches all of `text`. `paths`: `*`, `?` and sets do not match a slash, `**`
/// does.
pub(super) fn wildmatch(pattern: &[u8], text: &[u8], paths: bool) -> bool {
    walk(pattern, 0, text, 0, paths) == Found::Match
}

fn at(bytes: &[u8], index: usize) -> u8 {
    bytes.get(index).copied().unwrap_or(0)
}

fn walk(pattern: &[u8], mut p: usize, text: &[u8], mut t: usize, paths: bool) -> Found {
    while p < pattern.len() {
        let want = pattern[p];
        let have = at(text, t);
        if have == 0 && want != b'*' {
            return Found::Abort;
        }
        match want {
            b'?' => {
                if paths && have == b'/' {
                    return Found::No;
                }
            }
            b'*' => match star(pattern, &mut p, text, &mut t, paths) {
                // the slash that it stopped at is passed below
                None => {}
                Some(found) => return found,
            },
            b'[' => match set(pattern, &mut p, have) {
                None => return Found::Abort,
                Some(matched) if !matched || (paths && have == b'/') => return Found::No,
                Some(_) => {}
            },
            _ => {
                if want == b'\\' {
                    p += 1;
                }
                if at(pattern, p) != have {
                    return Found::No;
                }
            }
        }
        p += 1;
        t += 1;
    }
    if t < text.len() {
        Found::No
    } else {
        Found::Match
    }
}

/// At a `*`. `None`: go on behind the slash at `t`, which the one at `p` matches.
fn star(pattern: &[u8], p: &mut usize, text: &[u8], t: &mut usize, paths: bool) -> Option<Found> {
    let first = *p;
    *p += 1;
    let mut slashes = !paths;
    if at(pattern, *p) == b'*' {
        while at(pattern, *p) == b'*' {
            *p += 1;
        }
        let opens = first == 0 || pattern[first - 1] == b'/';
        let rest = &pattern[(*p).min(pattern.len())..];
        if paths && opens && (rest.is_empty() || rest[0] == b'/' || rest.starts_with(b"\\/")) {
            // `**/` stands for no folder as well
            if at(rest, 0) == b'/' && walk(pattern, *p + 1, text, *t, paths) == Found::Match {
                return Some(Found::Match);
            }
            slashes = true;
        }
    }
    let rest_of_text = text.get(*t..).unwrap_or_default();
    if *p >= pattern.len() {
        return Some(if !slashes && rest_of_text.contains(&b'/') {
            Found::AbortToStars
        } else {
            Found::Match
        });
    }
    if !slashes && pattern[*p] == b'/' {
        let Some(slash) = rest_of_text.iter().position(|&b| b == b'/') else {
            return Some(Found::Abort);
        };
        *t += slash;
        return None;
    }
    let mut from = *t;
    while from < text.len() {
        match walk(pattern, *p, text, from, paths) {
            Found::No if !slashes && text[from] == b'/' => return Some(Found::AbortToStars),
            Found::AbortToStars if slashes => {}
            Found::No => {}
            found => return Some(found),
        }
        from += 1;
    }
    Some(Found::Abort)
}

/// At a `[`; leaves `p` at its `]`. `None`: the set has no end.
fn set(pattern: &[u8], p: &mut usize, have: u8) -> Option<bool> {
    *p += 1;
    let negated = matches!(at(pattern, *p), b'!' | b'^');
    if negated {
        *p += 1;
    }
    let mut previous = 0;
    let mut matched = false;
    loop {
        let mut this = at(pattern, *p);
        let next = at(pattern, *p + 1);
        if this == 0 {
            return None;
        }
        if this == b'\\' {
            *p += 1;
            this = at(pattern, *p);
            if this == 0 {
                return None;
            }
            matched |= this == have;
        } else if this == b'-' && previous != 0 && next != 0 && next != b']' {
            *p += 1;
            this = next;
            if this == b'\\' {
                *p += 1;
                this = at(pattern, *p);
                if this == 0 {
                    return None;
                }
            }
            matched |= (previous..=this).contains(&have);
            this = 0;
        } else if this == b'[' && next == b':' {
            let name = *p + 2;
            let end = name + pattern.get(name..)?.iter().position(|&b| b == b']')?;
            if end > name && pattern[end - 1] == b':' {
                matched |= class(&pattern[name..end - 1], have)?;
                *p = end;
                this = 0;
            } else {
                // no class after all
                matched |= have == b'[';
            }
        } else {
            matched |= this == have;
        }
        previous = this;
        *p += 1;
        if at(pattern, *p) == b']' {
            return Some(matched != negated);
        }
    }
}

fn class(name: &[u8], have: u8) -> Option<bool> {
    Some(match name {
        b"alnum" => have.is_ascii_alphanumeric(),
        b"alpha" => have.is_ascii_alphabetic(),
        b"blank" => matches!(have, b' ' | b'\t'),
        b"cntrl" => have.is_ascii_control(),
        b"digit" => have.is_ascii_digit(),
        b"graph" => have.is_ascii_graphic(),
        b"lower" => have.is_ascii_lowercase(),
        b"print" => have.is_ascii_graphic() || have == b' ',
        b"punct" => have.is_ascii_punctuation(),
        b"space" => have.is_ascii_whitespace() || have == 11,
        b"upper" => have.is_ascii_uppercase(),
        b"xdigit" => have.is_ascii_hexdigit(),
        _ => return None,
    })
}
