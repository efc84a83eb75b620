//! Sections of `setup.cfg` and `tox.ini`, as pytest's reader (iniconfig) sees them: a section
//! begins with `[` in the first column, wherever it stands.

/// A file whose test sections are gold's.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Sections {
    Same,
    /// The submission's text with gold's sections.
    Set(String),
    /// The text cannot be cut safely: gold's file as a whole.
    Whole,
}

/// Sections that say how tests run. `options.entry_points` counts where it registers a plugin.
fn is_test_section(name: &str, body: &str) -> bool {
    match name.trim() {
        "pytest" | "tool:pytest" => true,
        "options.entry_points" => body.contains("pytest11"),
        _ => false,
    }
}

pub(super) fn compare(gold: Option<&[u8]>, work: &[u8]) -> Sections {
    let (Ok(gold), Ok(work)) = (
        std::str::from_utf8(gold.unwrap_or_default()),
        std::str::from_utf8(work),
    ) else {
        return Sections::Whole;
    };
    // the reader splits lines at all of these: a section could hide behind one
    let odd = |c: char| {
        matches!(
            c,
            '\u{b}' | '\u{c}' | '\u{1c}'
                ..='\u{1e}' | '\u{85}' | '\u{2028}' | '\u{2029}' | '\u{feff}'
        )
    };
    if work.contains(odd) || work.replace("\r\n", "\n").contains('\r') {
        return Sections::Whole;
    }
    let (wanted, there) = (split(gold).1, split(work).1);
    if meaning(&wanted) == meaning(&there) {
        return Sections::Same;
    }
    let mut text = split(work).0;
    if !text.is_empty() && !text.ends_with('\n') {
        text.push('\n');
    }
    text.push_str(&wanted);
    Sections::Set(text)
}

/// The text without its test sections, and those.
fn split(text: &str) -> (String, String) {
    let (mut rest, mut tests) = (String::new(), String::new());
    let mut lines = text.split_inclusive('\n').peekable();
    while let Some(first) = lines.next() {
        let mut block = first.to_owned();
        while let Some(line) = lines.next_if(|l| !l.starts_with('[')) {
            block.push_str(line);
        }
        if header(first).is_some_and(|name| is_test_section(name, &block)) {
            tests.push_str(&block);
        } else {
            rest.push_str(&block);
        }
    }
    if !tests.is_empty() && !tests.ends_with('\n') {
        tests.push('\n');
    }
    (rest, tests)
}

/// The name of a section: comments behind it are allowed.
fn header(line: &str) -> Option<&str> {
    let name = line.strip_prefix('[')?;
    let name = name.split(['#', ';']).next()?.trim_end();
    name.strip_suffix(']')
}

/// What counts of a section: no comments, no empty lines, no space at the end.
fn meaning(text: &str) -> Vec<&str> {
    text.lines()
        .map(str::trim_end)
        .filter(|l| !l.is_empty() && !l.starts_with(['#', ';']))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(gold: &str, work: &str) -> Sections {
        compare(Some(gold.as_bytes()), work.as_bytes())
    }

    #[test]
    fn only_the_test_section_is_golds() {
        let gold = "[metadata]\nname = x\n\n[tool:pytest]\naddopts = -q\n";
        let work = "[tool:pytest]\naddopts = -q\n    --deselect a\n[metadata]\nname = mine";
        assert_eq!(
            set(gold, work),
            Sections::Set("[metadata]\nname = mine\n[tool:pytest]\naddopts = -q\n".into())
        );
        assert_eq!(
            set(
                gold,
                "[metadata]\nname = mine\n[tool:pytest]\n# why\naddopts = -q\n"
            ),
            Sections::Same
        );
        assert_eq!(
            compare(None, b"[pytest] ; x\naddopts = -x\n[a]\nb = 1\n"),
            Sections::Set("[a]\nb = 1\n".into())
        );
        assert_eq!(
            set("", "[options.entry_points]\npytest11 =\n  x = evil\n"),
            Sections::Set(String::new())
        );
        assert_eq!(
            set("", "[options.entry_points]\nconsole_scripts =\n  x = y\n"),
            Sections::Same
        );
    }

    #[test]
    fn a_section_behind_an_odd_line_end_takes_the_whole_file() {
        for text in [
            "[a]\n# c\u{c}[pytest]\n",
            "[a]\n# c\r[pytest]\n",
            "[a]\n# c\u{2028}[pytest]\n",
        ] {
            assert_eq!(set("", text), Sections::Whole, "{text:?}");
        }
        assert_eq!(compare(None, b"[a]\nx = \xff\n"), Sections::Whole);
        assert_eq!(set("", "[a]\r\nb = 1\r\n"), Sections::Same);
    }
}
