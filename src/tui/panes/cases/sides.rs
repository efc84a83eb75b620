//! What a failed comparison wanted and what it got, out of what the runner printed.

/// The two sides of a comparison; untrusted text, one line each.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sides {
    /// What stands before the wanted side: `<= ` and the like; empty where both should be equal.
    pub relation: &'static str,
    pub expected: String,
    pub got: String,
}

/// Relations as pytest shows them, the longer ones first.
const RELATIONS: [(&str, &str); 10] = [
    (" == ", ""),
    (" != ", "not "),
    (" <= ", "<= "),
    (" >= ", ">= "),
    (" < ", "< "),
    (" > ", "> "),
    (" is not ", "not "),
    (" is ", ""),
    (" not in ", "not in "),
    (" in ", "in "),
];

/// The sides of the comparison that failed: numpy's `ACTUAL` and `DESIRED`, else those of pytest's
/// `assert got == expected`, in the innermost part of a traceback, else in the message.
pub fn sides(traceback: &str, message: Option<&str>) -> Option<Sides> {
    let errors: Vec<&str> = traceback
        .lines()
        .filter_map(|line| line.strip_prefix('E'))
        .map(str::trim)
        .collect();
    let arrays = || {
        let expected = block(&errors, &["DESIRED:", "y:"])?;
        let got = block(&errors, &["ACTUAL:", "x:"])?;
        Some(Sides {
            relation: "",
            expected,
            got,
        })
    };
    let asserted = || errors.iter().rev().find_map(|line| compared(line));
    arrays()
        .or_else(asserted)
        .or_else(|| message?.lines().find_map(compared))
}

/// What follows a heading, up to the next one, in one line.
fn block(lines: &[&str], names: &[&str]) -> Option<String> {
    let (at, first) = lines.iter().enumerate().find_map(|(at, line)| {
        let rest = names.iter().find_map(|name| line.strip_prefix(name))?;
        Some((at, rest))
    })?;
    let mut out = first.trim().to_owned();
    let heads = ["DESIRED:", "ACTUAL:", "x:", "y:"];
    for line in lines.iter().skip(at + 1) {
        if line.is_empty() || heads.iter().any(|head| line.starts_with(head)) {
            break;
        }
        out.push(' ');
        out.push_str(line);
    }
    Some(out)
}

/// `assert 3 == 2`, with whatever stands before it.
fn compared(line: &str) -> Option<Sides> {
    let from = match line.find("assert ") {
        Some(0) => 0,
        // not the end of another word
        Some(at) if line.get(..at)?.ends_with([' ', ':']) => at,
        _ => return None,
    };
    let text = line.get(from + "assert ".len()..)?.trim();
    let text = without_parentheses(text);
    let (at, relation, shown) = outside(text)?;
    let got = text.get(..at)?.trim();
    let expected = text.get(at + relation.len()..)?.trim();
    let whole = !got.is_empty() && !expected.is_empty();
    whole.then(|| Sides {
        relation: shown,
        expected: expected.to_owned(),
        got: got.to_owned(),
    })
}

/// `(a is None)` is `a is None`, where the two parentheses belong together.
fn without_parentheses(text: &str) -> &str {
    let Some(inner) = text.strip_prefix('(').and_then(|t| t.strip_suffix(')')) else {
        return text;
    };
    let mut depth = 0_i32;
    for c in inner.chars() {
        match c {
            '(' => depth += 1,
            ')' => depth -= 1,
            _ => {}
        }
        if depth < 0 {
            return text;
        }
    }
    inner
}

/// The first relation that stands in no bracket and no string.
fn outside(text: &str) -> Option<(usize, &'static str, &'static str)> {
    let mut depth = 0_i32;
    let mut quote = None;
    let mut escaped = false;
    for (at, c) in text.char_indices() {
        if let Some(open) = quote {
            match c {
                _ if escaped => escaped = false,
                '\\' => escaped = true,
                c if c == open => quote = None,
                _ => {}
            }
            continue;
        }
        match c {
            '\'' | '"' => quote = Some(c),
            '(' | '[' | '{' => depth += 1,
            ')' | ']' | '}' => depth -= 1,
            ' ' if depth == 0 => {
                let rest = text.get(at..).unwrap_or("");
                let found = RELATIONS.iter().find(|(sign, _)| rest.starts_with(sign));
                if let Some((sign, shown)) = found {
                    return Some((at, sign, shown));
                }
            }
            _ => {}
        }
    }
    None
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::unnecessary_wraps)]
    use super::*;

    fn of(line: &str) -> Option<(&'static str, String, String)> {
        compared(line).map(|s| (s.relation, s.got, s.expected))
    }

    fn pair(
        relation: &'static str,
        got: &str,
        expected: &str,
    ) -> Option<(&'static str, String, String)> {
        Some((relation, got.into(), expected.into()))
    }

    #[test]
    fn the_sides_of_an_assertion_are_told_apart() {
        assert_eq!(of("assert 3 == 2"), pair("", "3", "2"));
        assert_eq!(of("AssertionError: assert 3 == 2"), pair("", "3", "2"));
        assert_eq!(
            of("assert {'a': 'x == y'} == {'a': (1 == 2)}"),
            pair("", "{'a': 'x == y'}", "{'a': (1 == 2)}")
        );
        assert_eq!(
            of("assert (array([[0., 0.]], dtype=float32) is None)"),
            pair("", "array([[0., 0.]], dtype=float32)", "None")
        );
        assert_eq!(of("assert (1) == (2)"), pair("", "(1)", "(2)"));
        assert_eq!(of("assert 0.1 <= 1e-12"), pair("<= ", "0.1", "1e-12"));
        assert_eq!(of("assert 'a' not in 'ab'"), pair("not in ", "'a'", "'ab'"));
        assert_eq!(
            of(r"assert 'it\'s == ' == 2"),
            pair("", r"'it\'s == '", "2")
        );
        for none in [
            "assert False",
            "reassert 1 == 2",
            "KeyError: 1 == 2",
            "assert  == ",
        ] {
            assert_eq!(of(none), None, "{none}");
        }
    }

    #[test]
    fn numpys_blocks_go_before_the_assertion_around_them() {
        let traceback = ">       close(a, b)\n\
            E       AssertionError: \n\
            E       Not equal to tolerance rtol=1e-07, atol=0\n\
            E        ACTUAL: array([1.,\n\
            E              3.])\n\
            E        DESIRED: array([1., 2.])\n";
        let found = sides(traceback, None).unwrap();
        assert_eq!(found.got, "array([1., 3.])");
        assert_eq!(found.expected, "array([1., 2.])");
        let found = sides("E   assert 1 == 2\nE    +  where 1 = f()\n", None).unwrap();
        assert_eq!((found.got.as_str(), found.expected.as_str()), ("1", "2"));
        let told = sides("", Some("ranks 0, 1: AssertionError: assert 3 == 2"));
        assert_eq!(told.unwrap().got, "3");
        assert_eq!(sides("> x\nE   KeyError: 1", Some("KeyError: 1")), None);
    }
}
