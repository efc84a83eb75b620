//! The workbench in a terminal of ours, against DESIGN.md's budgets: first frame, idle, keys while
//! a log grows, large logs. Prints what was measured; `cargo bench --bench workbench`, parts of it
//! by name (`cargo bench --bench workbench -- idle`).

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout
)]

#[path = "../../tests/fake_driver/driver.rs"]
mod driver;
mod pty;
mod store;

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use infradev::store::Home;

use pty::Pty;
use store::Live;

const WIDE: (u16, u16) = (200, 60);
/// What only the help page says.
const HELP: &str = "everywhere";
/// Long enough for anything that is measured here; past it something is wrong.
const PATIENCE: Duration = Duration::from_secs(60);

fn main() {
    // under `cargo test` a bench target is only built
    if !std::env::args().any(|a| a == "--bench") {
        return;
    }
    let asked: Vec<String> = std::env::args()
        .skip(1)
        .filter(|a| !a.starts_with('-'))
        .collect();
    let parts: [(&str, fn()); 11] = [
        ("first-frame", first_frame),
        ("keys", keys_while_a_log_grows),
        ("hidden", hidden_log),
        ("large-log", large_log),
        ("gpu-keys", gpu_keys),
        ("gpu-live", gpu_live),
        ("draw", draw),
        ("escape", escape),
        ("tmux-escape", escape_under_tmux),
        ("long-line", long_line),
        ("idle", idle),
    ];
    for (name, part) in parts {
        if asked.is_empty() || asked.iter().any(|a| name.contains(a.as_str())) {
            part();
        }
    }
}

fn tasks() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tasks")
}

/// The workbench on a home.
fn workbench(home: &Home, size: (u16, u16)) -> Pty {
    Pty::start(&mut command(home), size)
}

fn command(home: &Home) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_infradev"));
    command
        .arg("--home")
        .arg(home.root())
        .arg("--tasks")
        .arg(tasks());
    // the same on every machine
    command.env("DOCKER_HOST", "unix:///nowhere/docker.sock");
    command
}

fn home() -> (tempfile::TempDir, Home) {
    let dir = tempfile::tempdir().unwrap();
    let home = Home::open(&dir.path().join("home")).unwrap();
    (dir, home)
}

/// The value that so many hundredths of all are at most.
fn percentile(sorted: &[Duration], hundredths: usize) -> Duration {
    sorted[(sorted.len() * hundredths / 100).min(sorted.len() - 1)]
}

fn told(what: &str, mut times: Vec<Duration>, goal: &str) {
    times.sort();
    let ms = |t: Duration| format!("{:.1} ms", t.as_secs_f64() * 1e3);
    println!(
        "{what}: p50 {}, p99 {}, most {} of {} ({goal})",
        ms(percentile(&times, 50)),
        ms(percentile(&times, 99)),
        ms(times[times.len() - 1]),
        times.len()
    );
}

fn first_frame() {
    let (_dir, home) = home();
    let all: Vec<PathBuf> = ["dp-buckets", "kv-prefix", "sparse-sync"]
        .map(|t| tasks().join(t))
        .into();
    let all: Vec<&Path> = all.iter().map(PathBuf::as_path).collect();
    store::ended(&home, &all, 1_000);
    let (mut first, mut runs) = (Vec::new(), Vec::new());
    for _ in 0..15 {
        let begun = Instant::now();
        let mut pty = workbench(&home, (120, 40));
        first.push(pty.next_frame(PATIENCE).unwrap() - begun);
        runs.push(pty.shows("dp-buckets", true, PATIENCE) - begun);
    }
    told("first frame, 1,000 runs in the store", first, "goal 50 ms");
    told("  until the tasks are on the screen", runs, "no goal");
}

/// A run whose agent is at work, on the screen as an operator looks at it.
fn operator(home: &Home) -> (Live, Pty) {
    let mut live = Live::start(home, &tasks().join("dp-buckets"));
    live.write(1_000);
    let mut pty = workbench(home, WIDE);
    pty.shows("dp-buckets", true, PATIENCE);
    pty.send("Ol");
    pty.shows("step 99", true, PATIENCE);
    (live, pty)
}

/// Lets a log grow by 10,000 lines a second for a while, and calls `each` between.
fn growing(live: &mut Live, time: Duration, mut each: impl FnMut(Instant)) {
    let begun = Instant::now();
    let mut written = 0;
    while begun.elapsed() < time {
        let due = (begun.elapsed().as_secs_f64() * 10_000.0) as u64;
        live.write(due.saturating_sub(written));
        written = due.max(written);
        each(Instant::now() + Duration::from_millis(10));
    }
}

fn keys_while_a_log_grows() {
    let (_dir, home) = home();
    let (mut live, mut pty) = operator(&home);
    let mut times = Vec::new();
    let before = pty.drawn;
    // keys at odd moments, not in step with the frames of the log
    let (mut next, mut turn) = (Instant::now(), 0);
    let begun = Instant::now();
    growing(&mut live, Duration::from_secs(20), |until| {
        if Instant::now() >= next {
            turn += 1;
            // a page that lies over the log, and its end: no frame of the log is taken for them
            let (key, there) = if turn % 2 == 1 {
                ("?", true)
            } else {
                ("q", false)
            };
            let sent = pty.send(key);
            times.push(pty.shows(HELP, there, PATIENCE) - sent);
            next = Instant::now() + Duration::from_millis(37 + turn * 13 % 50);
        }
        pty.frames(until.saturating_duration_since(Instant::now()));
    });
    let rate = (pty.drawn - before) as f64 / begun.elapsed().as_secs_f64();
    told(
        "key to frame, a visible log grows by 10,000 lines/s",
        times,
        "goal p99 16 ms",
    );
    println!("  {rate:.1} frames/s, anonymous memory {} MB", pty.memory());
}

fn hidden_log() {
    let (_dir, home) = home();
    let (mut live, mut pty) = operator(&home);
    // a pane that has nothing of the log in it
    pty.send("dz");
    pty.frames(Duration::from_secs(12));
    let time = Duration::from_secs(10);
    let still = pty.frames(time);
    let before = pty.drawn;
    growing(&mut live, time, |until| {
        pty.frames(until.saturating_duration_since(Instant::now()));
    });
    let grown = pty.drawn - before;
    println!(
        "frames in 10 s: {grown} while a hidden log grows by 10,000 lines/s, {still} while it does not (the clock of the live run; goal: no more)"
    );
}

fn large_log() {
    let (_dir, home) = home();
    let mut live = Live::start(&home, &tasks().join("dp-buckets"));
    live.write(10);
    let open = |home: &Home| {
        let mut pty = workbench(home, WIDE);
        let first = pty.next_frame(PATIENCE).unwrap();
        let text = pty.shows("the bucket is looked at again", true, PATIENCE);
        pty.frames(Duration::from_secs(5));
        ((text - first).as_secs_f64() * 1e3, pty)
    };
    let (small_ms, pty) = open(&home);
    let small = pty.memory();
    drop(pty);
    store::large_log(&live.run.agent_log_path(), 1 << 30);
    let (ms, mut pty) = open(&home);
    println!(
        "from the first frame until a log of 1 GiB is on the screen: {ms:.0} ms (goal 100), one of 10 lines: {small_ms:.0} ms"
    );
    for (keys, what) in [
        ("l<", "to its beginning"),
        (">", "to its end"),
        ("<", "and back"),
    ] {
        let sent = pty.send(keys);
        let at = pty.next_frame(PATIENCE).unwrap();
        println!("  {what}: {:.0} ms", (at - sent).as_secs_f64() * 1e3);
        pty.frames(Duration::from_secs(2));
    }
    println!(
        "  anonymous memory {} MB, {small} MB with the small one (goal 50 MB and what is kept of the log)",
        pty.memory()
    );
}

/// A driver of 16 GPUs that takes 50 ms a call, and what the keys of the pane feel of it.
fn gpu_keys() {
    let (dir, home) = home();
    let fake = driver::fake(dir.path(), "gpus 16\ncall_us 50000\n");
    let mut command = command(&home);
    fake.give(&mut command);
    let mut pty = Pty::start(&mut command, WIDE);
    pty.shows("dp-buckets", true, PATIENCE);
    pty.send("uz");
    pty.shows("16x H200", true, PATIENCE);
    // a round takes half a minute: figures come, and grow old
    pty.shows(" old", true, Duration::from_secs(120));
    let mut times = Vec::new();
    for turn in 0..400 {
        let (key, there) = [("\r", true), ("\x1b", false)][turn % 2];
        let sent = pty.send(key);
        times.push(pty.shows("of the time", there, PATIENCE) - sent);
        pty.frames(Duration::from_millis(31 + turn as u64 * 13 % 50));
    }
    let what = "key to frame, 16 GPUs that answer in 50 ms a call";
    told(what, times, "goal p99 16 ms");
    let screen = pty.screen.screen().contents();
    let ages = screen.lines().filter(|line| line.contains(" old")).count();
    println!("  {ages} of 16 GPUs say how old their figures are");
}

/// The pane on eight GPUs with a process each, and nobody at the keys.
fn gpu_live() {
    let (dir, home) = home();
    let script = format!("gpus 8\npid {}\n", std::process::id());
    let fake = driver::fake(dir.path(), &script);
    let mut command = command(&home);
    fake.give(&mut command);
    let mut pty = Pty::start(&mut command, WIDE);
    pty.shows("dp-buckets", true, PATIENCE);
    pty.send("uz");
    pty.shows("8x H200", true, PATIENCE);
    pty.frames(Duration::from_secs(15));
    let time = Duration::from_secs(60);
    let (bytes, cpu) = (pty.bytes, pty.cpu());
    let frames = pty.frames(time);
    let spent = pty.cpu().saturating_sub(cpu).as_secs_f64();
    println!(
        "gpu pane live on 8 GPUs for 60 s: {spent:.2} s of CPU, {:.1} % of a core (goal 1 %), {frames} frames, {} bytes each",
        spent / time.as_secs_f64() * 100.0,
        (pty.bytes - bytes) / frames.max(1)
    );
}

/// The whole screen, drawn and written anew by a key: what a draw costs at most.
fn draw() {
    let (_dir, home) = home();
    store::ended(&home, &[&tasks().join("dp-buckets")], 20);
    let mut pty = workbench(&home, WIDE);
    pty.shows("dp-buckets", true, PATIENCE);
    pty.frames(Duration::from_secs(2));
    let mut times = Vec::new();
    for _ in 0..200 {
        let sent = pty.send("\x0c");
        times.push(pty.next_frame(PATIENCE).unwrap() - sent);
        pty.frames(Duration::from_millis(20));
    }
    told(
        "key to frame, all of 200x60 drawn anew",
        times,
        "goal of the draw in it 2 ms",
    );
}

/// From an Esc that no other key follows until what it does is seen.
fn escapes(pty: &mut Pty) -> Vec<Duration> {
    let mut times = Vec::new();
    for turn in 0..100 {
        pty.send("?");
        pty.shows(HELP, true, PATIENCE);
        // not in step with any timer
        pty.frames(Duration::from_millis(31 + turn * 13 % 50));
        let sent = pty.send("\x1b");
        times.push(pty.shows(HELP, false, PATIENCE) - sent);
    }
    times
}

fn escape() {
    let (_dir, home) = home();
    let mut pty = workbench(&home, (120, 40));
    pty.shows("dp-buckets", true, PATIENCE);
    let times = escapes(&mut pty);
    told("a lone Esc takes effect", times, "goal 60 ms");
}

/// As over SSH in tmux, with the time for which it holds an Esc back set as most people set it.
fn escape_under_tmux() {
    let (dir, home) = home();
    if Command::new("tmux").arg("-V").output().is_err() {
        println!("a lone Esc under tmux: not measured, there is no tmux");
        return;
    }
    let own = command(&home);
    let words: Vec<String> = std::iter::once(own.get_program())
        .chain(own.get_args())
        .map(|word| format!("'{}'", word.to_string_lossy()))
        .collect();
    for hold_ms in [0, 10, 50] {
        let config = dir.path().join("tmux.conf");
        let text = format!("set -s escape-time {hold_ms}\nset -g default-terminal tmux-256color\n");
        std::fs::write(&config, text).unwrap();
        let mut tmux = Command::new("tmux");
        let socket = dir.path().join(format!("tmux{hold_ms}"));
        tmux.arg("-f").arg(&config).arg("-S").arg(&socket);
        tmux.arg("new-session").arg(words.join(" "));
        tmux.env("DOCKER_HOST", "unix:///nowhere/docker.sock");
        let mut pty = Pty::start(&mut tmux, (120, 40));
        pty.shows("dp-buckets", true, PATIENCE);
        let times = escapes(&mut pty);
        told(
            &format!("a lone Esc takes effect, tmux holds it for {hold_ms} ms"),
            times,
            "goal 60 ms",
        );
        pty.send("q");
        pty.frames(Duration::from_secs(1));
    }
}

/// A log with one line of 5 MB between others.
fn long_line() {
    let (_dir, home) = home();
    let mut live = Live::start(&home, &tasks().join("dp-buckets"));
    live.write(10);
    live.message(&"0123456789".repeat(5 << 17));
    live.write(10);
    let begun = Instant::now();
    let mut pty = workbench(&home, WIDE);
    let shown = pty.shows("step 18", true, PATIENCE) - begun;
    println!(
        "a log with a line of 5 MB is on the screen after {:.0} ms",
        shown.as_secs_f64() * 1e3
    );
    pty.send("Ol");
    pty.frames(Duration::from_secs(3));
    let mut times = Vec::new();
    for turn in 0..60 {
        // over it line by line, to both ends
        let key = if turn % 30 < 15 { "k" } else { "j" };
        let sent = pty.send(key);
        times.extend(pty.next_frame(Duration::from_secs(2)).map(|at| at - sent));
        pty.frames(Duration::from_millis(20));
    }
    told("  key to frame around it", times, "goal p99 16 ms");
}

fn idle() {
    let (_dir, home) = home();
    store::ended(&home, &[&tasks().join("dp-buckets")], 20);
    let mut pty = workbench(&home, (120, 40));
    pty.shows("dp-buckets", true, PATIENCE);
    // the sampler shows the machine for a moment, and stops
    pty.frames(Duration::from_secs(15));
    let (bytes, cpu) = (pty.bytes, pty.cpu());
    pty.frames(Duration::from_secs(60));
    println!(
        "idle for 60 s: {} bytes (goal 0), {:.2} s of CPU (goal 0.06)",
        pty.bytes - bytes,
        pty.cpu().saturating_sub(cpu).as_secs_f64()
    );
}
