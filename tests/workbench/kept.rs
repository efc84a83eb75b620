//! What the user configured and chose, in a real terminal: keys, the mouse, the clipboard, and how
//! the workbench was left.

use std::path::Path;
use std::time::Duration;

use super::{Pty, home_below};

/// A tmux or an SSH around these tests changes nothing.
const ALONE: [(&str, &str); 4] = [
    ("TMUX", ""),
    ("STY", ""),
    ("SSH_TTY", ""),
    ("SSH_CONNECTION", ""),
];

fn count(pty: &Pty, bytes: &[u8]) -> usize {
    pty.seen
        .windows(bytes.len())
        .filter(|w| *w == bytes)
        .count()
}

#[test]
fn the_users_keys_hold_and_it_opens_as_it_was_left() {
    let dir = tempfile::tempdir().unwrap();
    let home = home_below(dir.path());
    std::fs::create_dir_all(home.join("themes")).unwrap();
    let keys = "[everywhere]\nquit = \"Q Q\"\nnext-theme = \"f2\"\n";
    std::fs::write(home.join("keymap.toml"), keys).unwrap();
    let mine =
        "[meta]\nname = \"mine\"\nvariant = \"any\"\n[roles]\ntitle = { fg = \"#123456\" }\n";
    std::fs::write(home.join("themes/mine.toml"), mine).unwrap();
    let tasks = Path::new("tasks");
    let env = [("COLORTERM", "truecolor"), ("TMUX", "")];
    let mut pty = Pty::start_on(&home, tasks, None, &env);
    pty.wait_for("dp-buckets");
    pty.wait_for("Q Q quit");
    // six themes are bundled, the user's is the seventh
    pty.send("O\u{1b}OQ\u{1b}OQ\u{1b}OQ\u{1b}OQ\u{1b}OQ\u{1b}OQ");
    pty.wait_for("theme: mine");
    pty.send("qQQ");
    assert!(pty.ended(Duration::from_secs(5)));
    let mut pty = Pty::start_on(&home, tasks, None, &env);
    pty.wait_for("dp-buckets");
    pty.wait_for_bytes(b"38;2;18;52;86");
    pty.send("z");
    // the operator's layout has its log in the focus: zoomed it is alone
    pty.wait_for("2 log ");
    pty.send("QQ");
    assert!(pty.ended(Duration::from_secs(5)));
    let kept = std::fs::read_to_string(home.join("workbench.json")).unwrap();
    for words in ["operator", "\"zoom\": true", "mine"] {
        assert!(kept.contains(words), "{words}: {kept}");
    }
}

#[test]
fn the_mouse_is_taken_by_a_key_where_it_is_far_and_given_back() {
    let mut pty = Pty::start(None, &[("SSH_TTY", "/dev/pts/9")]);
    pty.wait_for("no tasks found");
    assert_eq!(count(&pty, b"\x1b[?1000h"), 0);
    pty.send("M");
    pty.wait_for_bytes(b"\x1b[?1000h\x1b[?1006h");
    // motion is never asked for
    assert_eq!(count(&pty, b"\x1b[?1002h") + count(&pty, b"\x1b[?1003h"), 0);
    // a click on `R reviewer` of the header, which is not the layout at first
    pty.send("O");
    pty.wait_for("operator");
    pty.send("\u{1b}[<0;26;1M\u{1b}[<0;26;1m?");
    pty.wait_for("in diff");
    pty.send("qq");
    pty.assert_restored();
    pty.wait_for_bytes(b"\x1b[?1006l\x1b[?1000l");
    let mut near = Pty::start(None, &ALONE);
    near.wait_for("no tasks found");
    near.wait_for_bytes(b"\x1b[?1000h\x1b[?1006h");
    near.send("q");
    near.assert_restored();
}

#[test]
fn what_is_copied_reaches_the_terminal_and_a_file_whose_path_is_said() {
    let dir = tempfile::tempdir().unwrap();
    let home = home_below(dir.path());
    let mut pty = Pty::start_on(&home, Path::new("tasks"), None, &ALONE);
    pty.wait_for("dp-buckets");
    pty.send("ky");
    pty.wait_for_bytes(b"\x1b]52;c;");
    pty.wait_for("copied.txt");
    let copied = std::fs::read_to_string(home.join("copied.txt")).unwrap();
    assert!(!copied.is_empty());
    pty.send("q");
    assert!(pty.ended(Duration::from_secs(5)));
}

#[test]
fn pasted_text_comes_as_one_piece_only_while_a_line_is_typed() {
    let mut pty = Pty::start(None, &ALONE);
    pty.wait_for("no tasks found");
    assert_eq!(count(&pty, b"\x1b[?2004h"), 0);
    pty.send(":");
    pty.wait_for_bytes(b"\x1b[?2004h");
    pty.send("\u{1b}[200~zoom\u{1b}[201~");
    pty.wait_for("give the whole screen");
    pty.seen.clear();
    pty.send("\r");
    pty.wait_for_bytes(b"\x1b[?2004l");
    pty.send("q");
    assert!(pty.ended(Duration::from_secs(5)));
}

#[test]
fn stopped_and_continued_by_somebody_else_it_takes_the_terminal_again() {
    use nix::sys::signal::{Signal, kill};
    let mut pty = Pty::start(None, &ALONE);
    pty.wait_for("no tasks found");
    let pid = nix::unistd::Pid::from_raw(pty.pid());
    kill(pid, Signal::SIGSTOP).unwrap();
    pty.read_for(Duration::from_millis(100));
    pty.seen.clear();
    kill(pid, Signal::SIGCONT).unwrap();
    // raw mode, the other screen, the mouse, and every cell
    for bytes in [&b"\x1b[?1049h"[..], b"\x1b[?1006h", b"no tasks found"] {
        pty.wait_for_bytes(bytes);
    }
    pty.send("q");
    pty.assert_restored();
    assert!(pty.ended(Duration::from_secs(5)));
}

#[test]
fn a_storm_of_sizes_ends_with_the_last_one() {
    let mut pty = Pty::start(None, &ALONE);
    pty.wait_for("no tasks found");
    for step in 0..200_u16 {
        let (columns, rows) = (20 + step % 90, 5 + step % 30);
        let process = pty.session.get_process_mut();
        process.set_window_size(columns, rows).unwrap();
    }
    let process = pty.session.get_process_mut();
    process.set_window_size(39, 9).unwrap();
    pty.wait_for("too small (39x9; 40x10 is needed)");
    let process = pty.session.get_process_mut();
    process.set_window_size(100, 30).unwrap();
    pty.wait_for("no tasks found");
    pty.send("q");
    assert!(pty.ended(Duration::from_secs(5)));
}
