//! A file in the user's editor, at a line, with the terminal given to it meanwhile.

use std::path::Path;
use std::process::Command;

use nix::sys::signal::{Signal, kill, raise};
use nix::sys::wait::{WaitPidFlag, WaitStatus, waitpid};
use nix::unistd::{Pid, getpgrp, getsid};

use super::screen::Screen;
use crate::tui::effect::{EditAt, EditRequest};

/// Opens a file in `$VISUAL`, else `$EDITOR`, else `vi`, and waits until it is closed.
pub fn edit_file(screen: &mut Screen, request: &EditRequest) -> Result<(), String> {
    let path = &request.path;
    let text = std::fs::read(path).map_err(|e| format!("{}: {e}", path.display()))?;
    let line = line(&String::from_utf8_lossy(&text), &request.at);
    let editor = ["VISUAL", "EDITOR"]
        .iter()
        .filter_map(|name| std::env::var(name).ok())
        .find(|value| !value.trim().is_empty())
        .unwrap_or_else(|| "vi".into());
    // the variable is a line of a shell: it may carry arguments
    let mut command = Command::new("sh");
    command
        .arg("-c")
        .arg(format!("{editor} \"$@\""))
        .arg("editor")
        .args(arguments(&editor, path, line));
    screen.leave();
    let ended = run(&mut command);
    let back = screen.again();
    match (ended, back) {
        (_, Err(e)) => Err(format!("the terminal did not take us back: {e}")),
        (Ok(0), Ok(())) => Ok(()),
        (Ok(127), Ok(())) => Err(format!(
            "no editor: `{editor}` is not found; set $EDITOR to one that is"
        )),
        (Ok(code), Ok(())) => Err(format!("`{editor}` ended with {code}")),
        (Err(e), Ok(())) => Err(format!("`{editor}` did not start: {e}")),
    }
}

/// Waits for a program that has the terminal; where a key stops it, we stop with it.
pub(super) fn run(command: &mut Command) -> Result<i32, String> {
    let child = command.spawn().map_err(|e| e.to_string())?;
    let pid = Pid::from_raw(child.id().cast_signed());
    loop {
        match waitpid(pid, Some(WaitPidFlag::WUNTRACED)) {
            Ok(WaitStatus::Exited(_, code)) => return Ok(code),
            Ok(WaitStatus::Signaled(_, signal, _)) => return Ok(128 + signal as i32),
            Ok(WaitStatus::Stopped(..)) => {
                let leader = getsid(None).is_ok_and(|leader| leader == getpgrp());
                if !leader {
                    // the shell above sees its job stopped, and continues all of it later
                    raise(Signal::SIGSTOP).map_err(|e| e.to_string())?;
                }
                // the editor may have been stopped alone
                kill(pid, Signal::SIGCONT).map_err(|e| e.to_string())?;
            }
            Ok(_) | Err(nix::errno::Errno::EINTR) => {}
            Err(e) => return Err(e.to_string()),
        }
    }
}

/// A file and a line as an editor wants them; one that is not known gets the file alone.
fn arguments(editor: &str, path: &Path, line: Option<usize>) -> Vec<String> {
    let path = path.display().to_string();
    let Some(line) = line else {
        return vec![path];
    };
    let program = editor.split_whitespace().next().unwrap_or("");
    let name = program.rsplit('/').next().unwrap_or(program);
    match name {
        "vi" | "vim" | "nvim" | "view" | "nano" | "pico" | "emacs" | "emacsclient" | "micro"
        | "kak" | "joe" | "jed" | "mg" | "ne" | "gvim" | "ed.plus" | "vis" => {
            vec![format!("+{line}"), path]
        }
        "hx" | "helix" | "subl" | "zed" => vec![format!("{path}:{line}")],
        "code" | "codium" | "cursor" | "code-insiders" => {
            vec!["-g".into(), format!("{path}:{line}")]
        }
        _ => vec![path],
    }
}

/// Where a file is opened, from 1.
fn line(text: &str, at: &EditAt) -> Option<usize> {
    match at {
        EditAt::Start => None,
        EditAt::Line(line) => Some(*line as usize),
        EditAt::Function(name) => {
            let begins = |line: &str| {
                let line = line.trim_start().trim_start_matches("async ");
                let rest = line
                    .strip_prefix("def ")
                    .and_then(|rest| rest.strip_prefix(name.as_str()));
                rest.is_some_and(|rest| rest.starts_with('('))
            };
            text.lines().position(begins).map(|at| at + 1)
        }
        EditAt::Change(path, line) => change(text, path, *line),
    }
}

/// The line of a patch that becomes line `wanted` of a file, or the nearest before it; of symbol
/// edits, where the file is named.
fn change(patch: &str, path: &str, wanted: Option<u32>) -> Option<usize> {
    let mut found = None;
    let mut inside = false;
    let mut next = None;
    for (at, line) in patch.lines().enumerate() {
        if let Some(name) = line.strip_prefix("+++ ") {
            let name = name.strip_prefix("b/").unwrap_or(name);
            inside = name.trim_end() == path;
            next = None;
            if inside {
                found = Some(at + 1);
            }
        } else if line.starts_with("diff ") || line.starts_with("--- ") && next.is_none() {
            inside = false;
        } else if inside && line.starts_with("@@ ") {
            let new = line.split('+').nth(1).unwrap_or("");
            let digits: String = new.chars().take_while(char::is_ascii_digit).collect();
            next = digits.parse::<u32>().ok();
            if next
                .zip(wanted)
                .is_some_and(|(next, wanted)| next <= wanted)
            {
                found = Some(at + 1);
            }
        } else if let Some(number) = next.filter(|_| inside && !line.starts_with('-')) {
            if wanted.is_some_and(|wanted| number <= wanted) {
                found = Some(at + 1);
            }
            next = Some(number + 1);
        } else if found.is_none() && line.trim_start().starts_with("file") && line.contains(path) {
            found = Some(at + 1);
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_editor_is_told_the_line_in_its_own_way() {
        let args = |editor: &str| arguments(editor, Path::new("/t/p.py"), Some(7)).join(" ");
        assert_eq!(args("vi"), "+7 /t/p.py");
        assert_eq!(args("/usr/bin/nvim -u NONE"), "+7 /t/p.py");
        assert_eq!(args("hx"), "/t/p.py:7");
        assert_eq!(args("code -w"), "-g /t/p.py:7");
        assert_eq!(args("acme"), "/t/p.py");
        assert_eq!(arguments("vi", Path::new("/t/p.py"), None), ["/t/p.py"]);
    }

    const PATCH: &str = "diff --git a/x.py b/x.py\n--- a/x.py\n+++ b/x.py\n@@ -1,3 +1,3 @@\n a\n-b\n\
        +B\n c\n@@ -10,2 +10,3 @@\n j\n+k\n l\ndiff --git a/y.py b/y.py\n--- a/y.py\n+++ b/y.py\n\
        @@ -1 +1 @@\n-p\n+P\n";

    #[test]
    fn a_line_of_the_patched_file_is_found_in_the_patch() {
        let at = |path: &str, line: u32| change(PATCH, path, Some(line));
        assert_eq!(at("x.py", 2), Some(7), "+B");
        assert_eq!(at("x.py", 11), Some(11), "+k");
        // between two hunks: the end of the one before
        assert_eq!(at("x.py", 7), Some(8));
        assert_eq!(at("y.py", 1), Some(18));
        assert_eq!(change(PATCH, "y.py", None), Some(15));
        assert_eq!(at("z.py", 1), None);
        let edits = "schema = 1\n\n[[edit]]\nfile = \"a/x.py\"\n";
        assert_eq!(change(edits, "a/x.py", Some(3)), Some(4));
    }

    #[test]
    fn functions_and_lines_are_found() {
        let text = "import a\n\n\nasync def test_x(a):\n    pass\n";
        assert_eq!(line(text, &EditAt::Function("test_x".into())), Some(4));
        assert_eq!(line(text, &EditAt::Function("test".into())), None);
        assert_eq!(line(text, &EditAt::Line(3)), Some(3));
        assert_eq!(line(text, &EditAt::Start), None);
    }
}
