//! Takes the shell off a command: `/bin/bash -lc 'ls -la'` is `ls -la` to a reader.

/// The command inside, or the text as it is where it is not wrapped in one word.
pub fn unwrap(command: &str) -> String {
    let Some(rest) = strip_shell(command) else {
        return command.to_owned();
    };
    one_word(rest).unwrap_or_else(|| command.to_owned())
}

fn strip_shell(command: &str) -> Option<&str> {
    let (program, rest) = command.split_once(' ')?;
    let name = program.rsplit('/').next()?;
    if !matches!(name, "bash" | "sh" | "zsh" | "dash") {
        return None;
    }
    ["-lc ", "-c ", "-l -c "]
        .iter()
        .find_map(|flag| rest.strip_prefix(flag))
}

/// Reads one shell word with its quotes; `None`: more than one word, or an open quote.
fn one_word(text: &str) -> Option<String> {
    let mut out = String::new();
    let mut chars = text.trim_end().chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '\'' => loop {
                match chars.next()? {
                    '\'' => break,
                    inner => out.push(inner),
                }
            },
            '"' => loop {
                match chars.next()? {
                    '"' => break,
                    '\\' => match chars.next()? {
                        escaped @ ('"' | '\\' | '$' | '`') => out.push(escaped),
                        '\n' => {}
                        other => {
                            out.push('\\');
                            out.push(other);
                        }
                    },
                    inner => out.push(inner),
                }
            },
            '\\' => out.push(chars.next()?),
            c if c.is_whitespace() => return None,
            c => out.push(c),
        }
    }
    Some(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_word_is_unwrapped_and_the_rest_stays() {
        for (wrapped, command) in [
            ("/bin/bash -lc 'ls -la && cat x'", "ls -la && cat x"),
            ("bash -lc true", "true"),
            (r#"/bin/bash -lc "printf 'a\\n'""#, r"printf 'a\n'"),
            (r"bash -c 'it'\''s'", "it's"),
            (r#"bash -lc 'a'"'"'b'"#, "a'b"),
            ("bash -lc two words", "bash -lc two words"),
            ("bash -lc 'open", "bash -lc 'open"),
            ("ls -la", "ls -la"),
        ] {
            assert_eq!(unwrap(wrapped), command);
        }
    }
}
