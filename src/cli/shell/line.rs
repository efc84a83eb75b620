//! The one line that opens it again, to be copied.

use std::fmt::Write;
use std::path::Path;

use super::args::ShellArgs;
use crate::pipeline::shell::COMMAND;

/// Where a home and tasks are when nobody says.
const HOME: &str = ".infradev";
const TASKS: &str = "tasks";

/// `infradev shell … -c testcase`; `words`: from the target on. Home and tasks are named where they
/// are not those of this folder.
pub fn line(home: &Path, tasks: &Path, words: &[String]) -> String {
    let mut all = vec!["infradev".to_owned()];
    for (name, path, default) in [("--home", home, HOME), ("--tasks", tasks, TASKS)] {
        let path = absolute(path);
        if path != absolute(Path::new(default)) {
            all.extend([name.to_owned(), path]);
        }
    }
    all.push("shell".into());
    all.extend(words.iter().cloned());
    all.extend(["-c".into(), COMMAND.into()]);
    all.iter().map(|w| quoted(w)).collect::<Vec<_>>().join(" ")
}

/// The words of a shell from `target` on; `target` and the case with their full names.
pub fn words(args: &ShellArgs, target: String, case: Option<&str>) -> Vec<String> {
    let mut words = vec![target];
    let mut say = |name: &str, value: Option<String>| {
        if let Some(value) = value {
            words.extend([name.to_owned(), value]);
        }
    };
    say("--patch", args.what.patch.as_deref().map(absolute));
    say("--submission", args.what.submission.clone());
    say("--suite", args.suite.map(|s| s.name().to_owned()));
    say("--ranks", args.ranks.map(|n| n.to_string()));
    let engine = args
        .engine
        .and_then(|e| clap::ValueEnum::to_possible_value(&e));
    say("--engine", engine.map(|e| e.get_name().to_owned()));
    let flags = [
        ("--gold", args.what.gold),
        ("--base", args.what.base),
        ("--hollow", args.what.hollow),
    ];
    // an id may begin as an option does
    words.extend(case.map(|case| format!("--case={case}")));
    words.extend(flags.iter().filter(|f| f.1).map(|f| f.0.to_owned()));
    words
}

fn absolute(path: &Path) -> String {
    let whole = std::path::absolute(path).unwrap_or_else(|_| path.to_path_buf());
    whole.canonicalize().unwrap_or(whole).display().to_string()
}

/// A word as a shell takes it, on one line whatever is in it.
pub fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "_@%+=:,./-".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        return word.to_owned();
    }
    if word
        .chars()
        .any(|c| c.is_control() || !c.is_ascii() && unseen(c))
    {
        // bytes that are not seen are written as such
        let mut out = String::from("$'");
        let mut bytes = [0; 4];
        for c in word.chars() {
            match c {
                '\'' | '\\' => out.extend(['\\', c]),
                c if c.is_control() || !c.is_ascii() => {
                    for byte in c.encode_utf8(&mut bytes).bytes() {
                        let _ = write!(out, "\\x{byte:02x}");
                    }
                }
                c => out.push(c),
            }
        }
        out.push('\'');
        return out;
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

/// Turns text around, or is nothing.
fn unseen(c: char) -> bool {
    matches!(c, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn a_shell_reads_back_what_was_quoted() {
        for word in [
            "tests/test_a.py::test_b[1-x]",
            "",
            "it's $HOME `id` \"x\"",
            "a\nb\u{1b}[2J\\'",
            "é\u{202e}x",
            "naïve",
        ] {
            let line = quoted(word);
            assert!(!line.chars().any(char::is_control), "{line:?}");
            let read = std::process::Command::new("bash")
                .args(["-c", &format!("printf %s {line}")])
                .output()
                .unwrap();
            assert_eq!(String::from_utf8_lossy(&read.stdout), word, "{line}");
        }
    }
}
