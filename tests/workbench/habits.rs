//! What users of terminals expect of any program in theirs: keys go to whom has the terminal, and a
//! small change costs few bytes.

use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::time::Duration;

use super::{Pty, home_below};

#[test]
fn keys_typed_in_an_editor_are_the_editors_to_the_last_one() {
    let dir = tempfile::tempdir().unwrap();
    let home = home_below(dir.path());
    let (editor, typed) = (dir.path().join("vi"), dir.path().join("typed"));
    let script = format!(
        "#!/bin/sh\necho the editor has it\ncat > '{}'\n",
        typed.display()
    );
    std::fs::write(&editor, script).unwrap();
    std::fs::set_permissions(&editor, std::fs::Permissions::from_mode(0o755)).unwrap();
    let editor = editor.display().to_string();
    let env = [("VISUAL", ""), ("EDITOR", editor.as_str())];
    let mut pty = Pty::start_on(&home, Path::new("tasks"), None, &env);
    pty.wait_for("dp-buckets");
    pty.send("A");
    pty.wait_for("from the record");
    pty.send("e");
    pty.wait_for("the editor has it");
    // each is a key of ours, and `q` ends us
    let keys: String = "jkqeAOR?:/ vrFfn0123".chars().cycle().take(1000).collect();
    for piece in keys.as_bytes().chunks(10) {
        pty.send(std::str::from_utf8(piece).unwrap());
        pty.read_for(Duration::from_millis(1));
    }
    // the line's end, and the end of all
    pty.send("\n\u{4}");
    pty.wait_for("from the record");
    assert_eq!(
        std::fs::read_to_string(&typed).unwrap(),
        format!("{keys}\n")
    );
    pty.send("q");
    assert!(pty.ended(Duration::from_secs(5)));
}

#[test]
fn a_letter_that_changes_one_cell_costs_few_bytes_and_clears_nothing() {
    let tmux = [
        ("TMUX", "/tmp/tmux-0/default,1,0"),
        ("TERM", "tmux-256color"),
    ];
    let mut pty = Pty::start(None, &tmux);
    pty.wait_for("no tasks found");
    // nothing is found by it: from now on a letter more is all that changes
    pty.send(":qzqzq");
    pty.wait_for("qzqzq");
    pty.read_for(Duration::from_millis(300));
    for length in 6..12 {
        pty.seen.clear();
        pty.send("z");
        pty.wait_for(&format!("qzqzq{}", "z".repeat(length - 5)));
        pty.read_for(Duration::from_millis(100));
        let seen = String::from_utf8_lossy(&pty.seen).into_owned();
        assert!(pty.seen.len() < 200, "{} bytes: {seen:?}", pty.seen.len());
        assert!(!seen.contains("\u{1b}[2J"), "{seen:?}");
    }
    pty.send("\u{1b}");
    pty.read_for(Duration::from_millis(200));
    pty.send("q");
    assert!(pty.ended(Duration::from_secs(5)));
}
