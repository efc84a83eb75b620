//! Text to the terminal's clipboard, and into a file for terminals that take none.

use std::fmt::Write as _;
use std::io::{self, Write as _};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::process::{Command, Stdio};

use crossterm::Command as _;
use crossterm::clipboard::CopyToClipboard;

/// What terminals take at most, in bytes of text: the least of the common limits.
const LONGEST: usize = 74_000;

/// Copies; says in words what became of it. The file is always written: whether a terminal took
/// the text, it does not tell.
pub fn copy(text: &str, file: &Path, in_tmux: bool) -> Result<String, String> {
    let kept = keep(text, file);
    let place = file.display();
    let size = match text.len() {
        1 => "1 byte".to_owned(),
        n => format!("{n} bytes"),
    };
    let sent = if text.len() > LONGEST {
        Err(format!("{size} are more than terminals take"))
    } else if in_tmux && tmux(text) {
        Ok(())
    } else {
        send(text, in_tmux).map_err(|e| e.to_string())
    };
    match (sent, kept) {
        (Ok(()), Ok(())) => Ok(format!("copied {size}; also in {place}")),
        (Err(why), Ok(())) => Ok(format!("{why}: the text is in {place}")),
        (Ok(()), Err(e)) => Ok(format!("copied {size}; not kept: {place}: {e}")),
        (Err(why), Err(e)) => Err(format!("not copied: {why}; {place}: {e}")),
    }
}

fn keep(text: &str, file: &Path) -> io::Result<()> {
    let mut options = std::fs::OpenOptions::new();
    options.write(true).create(true).truncate(true).mode(0o600);
    // a link that somebody put there is not written through
    options.custom_flags(nix::fcntl::OFlag::O_NOFOLLOW.bits());
    options.open(file)?.write_all(text.as_bytes())
}

/// tmux' own buffer, which it passes on to the terminal; `false`: this tmux does not.
fn tmux(text: &str) -> bool {
    let child = Command::new("tmux")
        .args(["load-buffer", "-w", "-"])
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn();
    let Ok(mut child) = child else { return false };
    let written = child
        .stdin
        .take()
        .is_some_and(|mut stdin| stdin.write_all(text.as_bytes()).is_ok());
    child.wait().is_ok_and(|status| status.success()) && written
}

fn send(text: &str, in_tmux: bool) -> io::Result<()> {
    let mut out = io::stdout().lock();
    out.write_all(sequence(text, in_tmux).as_bytes())?;
    out.flush()
}

/// OSC 52; for a tmux that has to be asked to pass it on, wrapped.
fn sequence(text: &str, in_tmux: bool) -> String {
    let mut plain = String::new();
    // a string takes everything
    let _ = CopyToClipboard::to_clipboard_from(text).write_ansi(&mut plain);
    if !in_tmux {
        return plain;
    }
    let mut wrapped = String::new();
    let _ = write!(
        wrapped,
        "\u{1b}Ptmux;{}\u{1b}\\",
        plain.replace('\u{1b}', "\u{1b}\u{1b}")
    );
    wrapped
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn a_multiplexer_gets_it_wrapped() {
        assert_eq!(sequence("hi", false), "\u{1b}]52;c;aGk=\u{1b}\\");
        assert_eq!(
            sequence("hi", true),
            "\u{1b}Ptmux;\u{1b}\u{1b}]52;c;aGk=\u{1b}\u{1b}\\\u{1b}\\"
        );
    }

    #[test]
    fn what_no_terminal_takes_is_in_the_file_alone() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("copied.txt");
        let text = "x".repeat(LONGEST + 1);
        let words = copy(&text, &file, false).unwrap();
        assert!(words.starts_with("74001 bytes are more"), "{words}");
        assert!(words.ends_with("copied.txt"), "{words}");
        assert_eq!(std::fs::read_to_string(&file).unwrap(), text);
        let nowhere = dir.path().join("no/copied.txt");
        assert!(
            copy(&text, &nowhere, false)
                .unwrap_err()
                .contains("not copied")
        );
    }
}
