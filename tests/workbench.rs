//! The workbench in a real terminal: what it writes when nothing happens, and how it leaves.

#![allow(clippy::unwrap_used, clippy::expect_used)]

use std::collections::{BTreeSet, HashMap};
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use expectrl::Session;

mod common;
#[path = "workbench/habits.rs"]
mod habits;
#[path = "workbench/kept.rs"]
mod kept;
use expectrl::session::OsSession;

const BINARY: &str = env!("CARGO_BIN_EXE_infradev");

struct Pty {
    session: OsSession,
    dir: Option<tempfile::TempDir>,
    screen: vt100::Parser,
    seen: Vec<u8>,
    /// The workbench's command line.
    command: String,
}

impl Pty {
    /// Starts the workbench, or a shell line around it (`$W` is the workbench's command).
    fn start(shell: Option<&str>, env: &[(&str, &str)]) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let tasks = dir.path().join("tasks");
        std::fs::create_dir(&tasks).unwrap();
        let home = dir.path().join("home");
        let mut pty = Self::start_on(&home, &tasks, shell, env);
        pty.dir = Some(dir);
        pty
    }

    fn start_on(home: &Path, tasks: &Path, shell: Option<&str>, env: &[(&str, &str)]) -> Self {
        let (home, tasks) = (home.display(), tasks.display());
        let command = format!("'{BINARY}' --home '{home}' --tasks '{tasks}'");
        let line = match shell {
            Some(line) => line.replace("$W", &command),
            None => format!("exec {command}"),
        };
        let mut sh = Command::new("sh");
        sh.arg("-c").arg(line).env("TERM", "xterm-256color");
        for (name, value) in env {
            sh.env(name, value);
        }
        let mut session = Session::spawn(sh).unwrap();
        session.get_process_mut().set_window_size(100, 30).unwrap();
        Self {
            session,
            dir: None,
            screen: vt100::Parser::new(30, 100, 0),
            seen: Vec::new(),
            command,
        }
    }

    /// Reads what comes within a time; returns how many bytes.
    fn read_for(&mut self, time: Duration) -> usize {
        let end = Instant::now() + time;
        let before = self.seen.len();
        let mut buf = [0; 8192];
        while Instant::now() < end {
            match self.session.try_read(&mut buf) {
                Ok(n) if n > 0 => {
                    self.seen.extend_from_slice(&buf[..n]);
                    self.screen.process(&buf[..n]);
                }
                _ => std::thread::sleep(Duration::from_millis(5)),
            }
        }
        self.seen.len() - before
    }

    fn wait_for(&mut self, text: &str) {
        self.wait_long_for(text, Duration::from_secs(20));
    }

    fn wait_long_for(&mut self, text: &str, time: Duration) {
        let end = Instant::now() + time;
        while !self.screen.screen().contents().contains(text) {
            assert!(
                Instant::now() < end,
                "no {text:?} on the screen:\n{}",
                self.screen.screen().contents()
            );
            self.read_for(Duration::from_millis(20));
        }
    }

    fn wait_for_bytes(&mut self, bytes: &[u8]) {
        let end = Instant::now() + Duration::from_secs(20);
        while !self.seen.windows(bytes.len()).any(|w| w == bytes) {
            assert!(
                Instant::now() < end,
                "no {:?} in {:?}",
                String::from_utf8_lossy(bytes),
                String::from_utf8_lossy(&self.seen)
            );
            self.read_for(Duration::from_millis(20));
        }
    }

    fn send(&mut self, keys: &str) {
        use std::io::Write as _;
        self.session.write_all(keys.as_bytes()).unwrap();
        self.session.flush().unwrap();
    }

    fn pid(&self) -> i32 {
        self.session.get_process().pid().as_raw()
    }

    /// Whether the process that was started has ended.
    fn ended(&mut self, within: Duration) -> bool {
        let end = Instant::now() + within;
        while Instant::now() < end {
            if !self.session.get_process().is_alive().unwrap_or(false) {
                return true;
            }
            self.read_for(Duration::from_millis(10));
        }
        false
    }

    /// The other screen is left, the cursor shown, pasting plain again.
    fn assert_restored(&mut self) {
        for bytes in ["\u{1b}[?1049l", "\u{1b}[?25h", "\u{1b}[?2004l"] {
            self.wait_for_bytes(bytes.as_bytes());
        }
        assert!(!self.screen.screen().alternate_screen());
        assert!(!self.screen.screen().hide_cursor());
    }
}

/// How often the threads of a process went to sleep of themselves: once a wake-up. Unlike the time
/// that they used, a busy machine does not change it.
fn wakeups(pid: i32) -> HashMap<String, u64> {
    let mut all = HashMap::new();
    for thread in std::fs::read_dir(format!("/proc/{pid}/task")).unwrap() {
        let path = thread.unwrap().path();
        // an idle thread of a pool may just have ended
        let Ok(status) = std::fs::read_to_string(path.join("status")) else {
            continue;
        };
        let mut lines = status.lines();
        let count = lines.find_map(|l| l.strip_prefix("voluntary_ctxt_switches:"));
        all.insert(
            path.display().to_string(),
            count.unwrap().trim().parse().unwrap(),
        );
    }
    all
}

#[test]
fn idle_it_writes_nothing_and_sleeps() {
    let mut pty = Pty::start(None, &[]);
    pty.wait_for("no tasks found");
    // the sampler shows the machine for a moment, and stops
    pty.read_for(Duration::from_secs(5));
    let before = wakeups(pty.pid());
    let written = pty.read_for(Duration::from_secs(20));
    let woken: u64 = wakeups(pty.pid())
        .iter()
        .map(|(thread, count)| count - before.get(thread).unwrap_or(&0))
        .sum();
    assert_eq!(written, 0, "bytes while idle");
    // a clock of two seconds would make 10
    assert!(woken < 5, "woken {woken} times in 20 s");
    pty.send("q");
    assert!(pty.ended(Duration::from_secs(3)));
}

#[test]
fn the_last_key_is_followed_by_ten_seconds_of_samples_at_most() {
    let mut pty = Pty::start(None, &[]);
    pty.wait_for("no tasks found");
    pty.send("u");
    pty.wait_for("cores");
    pty.read_for(Duration::from_secs(13));
    assert_eq!(pty.read_for(Duration::from_secs(5)), 0);
    assert!(pty.screen.screen().contents().contains("any key samples"));
    pty.send("q");
    assert!(pty.ended(Duration::from_secs(3)));
}

#[test]
fn quitting_gives_the_terminal_back() {
    let mut pty = Pty::start(Some("$W; echo \"left $?\"; stty -a"), &[]);
    pty.wait_for("no tasks found");
    pty.send("q");
    pty.assert_restored();
    pty.wait_for_bytes(b"left 0");
    pty.wait_for_bytes(b"-parenb");
    pty.read_for(Duration::from_millis(200));
    let told = String::from_utf8_lossy(&pty.seen).into_owned();
    // (the harness itself turned echo off)
    for mode in ["isig icanon", "opost", " icrnl"] {
        assert!(told.contains(mode), "{mode} in {told:?}");
    }
}

#[test]
fn a_panic_gives_the_terminal_back_and_is_told() {
    let mut pty = Pty::start(
        Some("$W; echo \"left $?\""),
        &[("INFRADEV_DEBUG_PANIC", "1")],
    );
    pty.wait_for("no tasks found");
    pty.send("\u{1b}[24~");
    pty.assert_restored();
    pty.wait_for("the debug key was pressed");
    pty.wait_for("left 101");
}

#[test]
fn a_signal_ends_it_in_good_order() {
    for signal in [
        nix::sys::signal::Signal::SIGTERM,
        nix::sys::signal::Signal::SIGHUP,
    ] {
        let mut pty = Pty::start(None, &[]);
        pty.wait_for("no tasks found");
        let pid = nix::unistd::Pid::from_raw(pty.pid());
        nix::sys::signal::kill(pid, signal).unwrap();
        assert!(pty.ended(Duration::from_secs(3)), "{signal}");
        pty.assert_restored();
    }
}

#[test]
fn a_terminal_that_goes_away_ends_it_even_without_a_signal() {
    // in a session of its own it has no controlling terminal: nobody sends SIGHUP
    let mut pty = Pty::start(Some("trap '' HUP; setsid --wait $W"), &[]);
    pty.wait_for("no tasks found");
    let parent = pty.pid();
    let Some(pid) = descendant(parent, "infradev") else {
        panic!("no workbench below {parent}");
    };
    drop(pty);
    let gone = Instant::now();
    while alive(pid) {
        assert!(
            gone.elapsed() < Duration::from_secs(3),
            "still there 3 s after the terminal went"
        );
        std::thread::sleep(Duration::from_millis(20));
    }
}

fn alive(pid: i32) -> bool {
    std::fs::read_to_string(format!("/proc/{pid}/stat"))
        .is_ok_and(|stat| !stat.rsplit(')').next().unwrap_or("").starts_with(" Z"))
}

/// The process of that name below another.
fn descendant(root: i32, name: &str) -> Option<i32> {
    let children =
        std::fs::read_to_string(format!("/proc/{root}/task/{root}/children")).unwrap_or_default();
    children.split_whitespace().find_map(|child| {
        let child: i32 = child.parse().ok()?;
        let comm = std::fs::read_to_string(format!("/proc/{child}/comm")).ok()?;
        if comm.trim() == name {
            Some(child)
        } else {
            descendant(child, name)
        }
    })
}

#[test]
fn stopping_and_continuing_draws_everything_again() {
    let mut pty = Pty::start(None, &[]);
    pty.wait_for("no tasks found");
    // a session's leader has no shell to go back to: it says so instead of freezing
    pty.send("\u{1a}");
    pty.wait_for("no shell here");
    pty.send("?");
    pty.wait_for("everywhere");
    pty.send("qq");
    assert!(pty.ended(Duration::from_secs(3)));
    let mut pty = Pty::start(Some("exec bash --norc --noprofile -i"), &[]);
    let line = format!("{}\r", pty.command);
    pty.send(&line);
    pty.wait_for("no tasks found");
    pty.send("\u{1a}");
    pty.wait_for_bytes(b"Stopped");
    assert!(!pty.screen.screen().alternate_screen());
    pty.seen.clear();
    pty.send("fg\r");
    pty.wait_for_bytes(b"\x1b[?1049h");
    pty.wait_for("no tasks found");
    pty.send("q");
    pty.assert_restored();
    pty.send("exit\r");
    assert!(pty.ended(Duration::from_secs(5)));
}

#[test]
fn without_colours_nothing_is_reset_and_no_colour_is_sent() {
    let mut pty = Pty::start(None, &[("NO_COLOR", "1")]);
    pty.wait_for("no tasks found");
    pty.send("?");
    pty.wait_for("everywhere");
    let told = String::from_utf8_lossy(&pty.seen).into_owned();
    assert!(!told.contains("\u{1b}[38;5"), "{told:?}");
    pty.send("qq");
    assert!(pty.ended(Duration::from_secs(3)));
}

/// The newest run's status and verdict, as another program sees them.
fn newest(home: &Path, tasks: &Path) -> (String, String) {
    let output = common::infradev(home, tasks)
        .args(["runs", "--json"])
        .output()
        .unwrap();
    let document: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let run = document["runs"].as_array().unwrap().last().unwrap().clone();
    let text = |key: &str| run[key].as_str().unwrap_or_default().to_owned();
    (text("status"), text("verdict"))
}

/// What is tested here is the workbench: on every machine the engine is the same.
const NO_DOCKER: (&str, &str) = ("DOCKER_HOST", "unix:///nowhere/docker.sock");

/// A home of its own, with what other tests may have downloaded.
fn home_below(dir: &Path) -> std::path::PathBuf {
    let home = dir.join("home");
    std::fs::create_dir(&home).unwrap();
    // an environment belongs to the path at which it was built: each home makes its own
    for shared in ["cache", "tools"] {
        let from = common::home().join(shared);
        std::fs::create_dir_all(&from).unwrap();
        std::os::unix::fs::symlink(&from, home.join(shared)).unwrap();
    }
    home
}

#[test]
fn a_key_grades_and_the_run_goes_on_without_the_workbench() {
    // where the cache is: environments are links to it
    let dir = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let home = home_below(dir.path());
    let tasks = common::tasks();
    let mut pty = Pty::start_on(&home, &tasks, None, &[NO_DOCKER]);
    pty.wait_for("not graded");
    pty.send("g");
    pty.wait_for("1 running");
    // gold's outcomes come case by case while the submission's are waited for
    pty.wait_long_for("off ✔", Duration::from_secs(240));
    let pid = nix::unistd::Pid::from_raw(pty.pid());
    nix::sys::signal::kill(pid, nix::sys::signal::Signal::SIGTERM).unwrap();
    assert!(pty.ended(Duration::from_secs(3)));
    pty.assert_restored();
    pty.wait_for_bytes(b"1 run goes on");
    let end = Instant::now() + Duration::from_secs(240);
    loop {
        let (status, verdict) = newest(&home, &tasks);
        if status == "finished" {
            assert!(!verdict.is_empty());
            break;
        }
        assert_eq!(status, "running");
        assert!(Instant::now() < end, "the run does not end");
        std::thread::sleep(Duration::from_millis(200));
    }
    // opened again, it shows what came out
    pty = Pty::start_on(&home, &tasks, None, &[]);
    pty.wait_for("OFFICIAL ONLY");
    pty.send("q");
    assert!(pty.ended(Duration::from_secs(3)));
}

/// The beginnings of what the agent said in a recorded codex session.
fn messages(log: &Path) -> Vec<String> {
    let text = std::fs::read_to_string(log).unwrap();
    text.lines()
        .filter_map(|line| serde_json::from_str::<serde_json::Value>(line).ok())
        .filter(|event| event["item"]["type"] == "agent_message")
        .filter_map(|event| Some(event["item"]["text"].as_str()?.chars().take(20).collect()))
        .collect()
}

/// The number before a word on the screen.
fn number_before(screen: &str, word: &str) -> Option<u32> {
    let (before, _) = screen.split_once(word)?;
    before.split_whitespace().next_back()?.parse().ok()
}

#[test]
fn an_agent_is_started_by_keys_and_watched_to_its_verdict() {
    // where the cache is: environments are links to it
    let dir = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let home = home_below(dir.path());
    let tasks = common::tasks();
    let log = tasks.join("dp-buckets/submissions/right/agent.jsonl");
    let said = messages(&log);
    assert!(said.len() >= 3, "{said:?}");
    let edited = ["/flat.py", "/train.py"];
    let mut pty = Pty::start_on(&home, &tasks, None, &[NO_DOCKER]);
    pty.wait_for("not graded");
    pty.send("a");
    pty.wait_for("run an agent · dp-buckets");
    pty.wait_for("! shell");
    // what it lacks is said before anything starts
    pty.send(">\r");
    pty.wait_for("or drop it from");
    pty.send("k\r");
    pty.wait_for("replay · dp-buckets");
    pty.send("j");
    pty.wait_for("right: no times were kept");
    pty.send("\r");
    pty.wait_for("1 running");
    // gold is calibrated first
    pty.wait_long_for("agent (codex) · replay", Duration::from_secs(240));
    let end = Instant::now() + Duration::from_secs(240);
    let (mut heard, mut counts) = (Vec::new(), Vec::new());
    let mut tokens = false;
    let mut edits: BTreeSet<&str> = BTreeSet::new();
    loop {
        let screen = pty.screen.screen().contents();
        if screen.contains("RESOLVED") {
            break;
        }
        for row in screen.lines().filter(|row| row.contains(" edit ")) {
            edits.extend(edited.iter().filter(|name| row.contains(**name)));
        }
        let new = said.iter().filter(|words| screen.contains(*words));
        heard.extend(new.cloned());
        counts.extend(number_before(&screen, " commands "));
        tokens |= screen.contains("tokens in 15k");
        assert!(Instant::now() < end, "no verdict:\n{screen}");
        pty.read_for(Duration::from_millis(20));
    }
    heard.dedup();
    counts.dedup();
    assert!(!heard.is_empty(), "no message was seen while it worked");
    assert!(counts.len() >= 3, "commands came at once: {counts:?}");
    assert!(counts.is_sorted(), "{counts:?}");
    assert!(tokens, "tokens were seen only after the verdict");
    assert_eq!(
        edits.len(),
        edited.len(),
        "edits while it worked: {edits:?}"
    );
    assert_eq!(newest(&home, &tasks).1, "resolved");
    // its changes stand in the diff like anybody's
    pty.send("d");
    pty.wait_for("replay vs gold");
    pty.wait_for("Gradients are reduced in");
    pty.send("q");
    assert!(pty.ended(Duration::from_secs(3)));
}

/// The bundled task `kv-prefix` with few patches, not verified.
fn small_task(tasks: &Path) {
    let task = tasks.join("kv-prefix");
    std::fs::create_dir_all(tasks).unwrap();
    let copied = Command::new("cp")
        .arg("-r")
        .arg(common::tasks().join("kv-prefix"))
        .arg(&task)
        .status()
        .unwrap();
    assert!(copied.success());
    std::fs::remove_file(task.join("acceptance.json")).unwrap();
    let text = std::fs::read_to_string(task.join("task.toml")).unwrap();
    let (mut kept, mut seen) = (String::new(), HashMap::new());
    for block in text.split_inclusive("\n\n") {
        let kind = ["[[adversarial]]", "[[alternative]]"]
            .into_iter()
            .find(|kind| block.starts_with(kind));
        let count = seen.entry(kind).or_insert(0);
        *count += 1;
        if kind.is_none() || *count == 1 {
            kept.push_str(block);
            continue;
        }
        let patch = block.lines().find_map(|l| l.strip_prefix("patch = \""));
        std::fs::remove_file(task.join(patch.unwrap().trim_end_matches('"'))).unwrap();
    }
    std::fs::write(task.join("task.toml"), kept).unwrap();
}

/// Patch, suite and whether it was known, for each cell that the newest run told of.
fn cells_of_the_newest_run(home: &Path) -> Vec<(String, String, bool)> {
    let runs = std::fs::read_dir(home.join("runs")).unwrap().flatten();
    let newest = runs.map(|run| run.path()).max().unwrap();
    let text = std::fs::read_to_string(newest.join("journal.jsonl")).unwrap_or_default();
    text.lines()
        .filter_map(|line| serde_json::from_str::<serde_json::Value>(line).ok())
        .filter(|record| record["event"] == "cell_finished")
        .map(|cell| {
            assert!(!cell["cells"].as_array().unwrap().is_empty(), "{cell}");
            let text = |key: &str| cell[key].as_str().unwrap().to_owned();
            (text("patch"), text("suite"), cell["kept"] == true)
        })
        .collect()
}

#[test]
fn an_author_verifies_sees_why_a_cell_rejects_edits_and_verifies_what_changed() {
    use std::os::unix::fs::PermissionsExt as _;
    let long = Duration::from_secs(300);
    // where the cache is: environments are links to it
    let dir = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let (home, tasks) = (home_below(dir.path()), dir.path().join("tasks"));
    small_task(&tasks);
    // an editor that notes what it is given and adds a line
    let (editor, given) = (dir.path().join("vi"), dir.path().join("given"));
    let script = format!(
        "#!/bin/sh\necho \"$@\" > '{}'\necho '# edited' >> \"$2\"\n",
        given.display()
    );
    std::fs::write(&editor, script).unwrap();
    std::fs::set_permissions(&editor, std::fs::Permissions::from_mode(0o755)).unwrap();
    let editor = editor.display().to_string();
    let env = [NO_DOCKER, ("VISUAL", ""), ("EDITOR", editor.as_str())];
    let mut pty = Pty::start_on(&home, &tasks, None, &env);
    pty.wait_for("not graded");
    pty.send("A");
    pty.wait_for("not verified yet");
    pty.send("v");
    pty.wait_for("verifies");
    // gold's runs come while the others are waited for
    pty.wait_long_for("✔··", long);
    pty.wait_long_for("ACCEPTED", long);
    pty.wait_for("✔ passes all, 3 runs");
    let all = cells_of_the_newest_run(&home);
    // gold thrice, base, hollow, one adversarial and one alternative, on two suites
    assert_eq!(all.len(), 14, "{all:?}");
    // hollow's row: it is rejected because what is new raises
    pty.send("<jj");
    pty.wait_for("hollow × test_");
    pty.wait_for("NotImplementedError");
    pty.wait_for("▸");
    // the probe opens at the line, and its edit is seen
    pty.send("e");
    pty.wait_for("stale: ");
    let given = std::fs::read_to_string(&given).unwrap();
    let file = given.trim().rsplit('/').next().unwrap().to_owned();
    assert!(
        given.starts_with('+') && given.contains("/probes/test_"),
        "{given}"
    );
    pty.wait_for(&format!("{file} changed"));
    pty.send("v");
    let end = Instant::now() + long;
    loop {
        let screen = pty.screen.screen().contents();
        if screen.contains("ACCEPTED") && !screen.contains("stale: ") {
            break;
        }
        assert!(Instant::now() < end, "{screen}");
        pty.read_for(Duration::from_millis(20));
    }
    let again = cells_of_the_newest_run(&home);
    assert_eq!(again.len(), 14, "{again:?}");
    // only the file's cells ran
    assert!(
        again
            .iter()
            .all(|(_, suite, kept)| *kept == (suite == "official")),
        "{again:?}"
    );
    // one cell, though it is known
    let before = std::fs::read_dir(home.join("runs")).unwrap().count();
    pty.send("r");
    let end = Instant::now() + long;
    while std::fs::read_dir(home.join("runs")).unwrap().count() == before
        || cells_of_the_newest_run(&home).len() < 14
    {
        assert!(Instant::now() < end, "{}", pty.screen.screen().contents());
        pty.read_for(Duration::from_millis(50));
    }
    pty.wait_long_for("ACCEPTED", long);
    let ran: Vec<_> = cells_of_the_newest_run(&home)
        .into_iter()
        .filter(|(_, _, kept)| !kept)
        .collect();
    assert_eq!(ran, [("hollow".into(), "probes".into(), false)]);
    pty.send("q");
    assert!(pty.ended(Duration::from_secs(3)));
}
