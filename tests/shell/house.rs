//! A person at a terminal, and what is left when the shell is gone.

use std::collections::HashMap;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::Mutex;
use std::time::{Duration, Instant};

use bollard::query_parameters::ListContainersOptionsBuilder;
use expectrl::Session;
use expectrl::session::OsSession;
use serde_json::Value;

use crate::common::{grade, home, infradev, tasks};

/// Environments may have to be built first.
pub const PATIENCE: Duration = Duration::from_secs(240);
/// What a submission of a bundled task fails in.
pub const TASK: &str = "kv-prefix";
pub const WRONG: &str = "wrong-positions";
pub const CASE: &str = "probes/test_order.py::test_at_most_so_many_stay[eager]";

/// Makes tests of functions: one on each engine.
macro_rules! both {
    ($($name:ident),* $(,)?) => {
        mod local {
            $(#[test]
            fn $name() {
                super::$name("local");
            })*
        }
        mod docker {
            $(#[test]
            fn $name() {
                if $crate::common::docker_is_here() {
                    super::$name("docker");
                }
            })*
        }
    };
}
pub(crate) use both;

/// `infradev shell … --engine ENGINE`, in the tests' own home.
pub fn shell(engine: &str, words: &[&str]) -> Command {
    let mut command = infradev(&home(), &tasks());
    command.arg("shell").args(words).args(["--engine", engine]);
    command
}

/// A command in the sandbox of the bundled case: exit code, standard output and error.
pub fn run(engine: &str, words: &[&str], line: &str) -> (i32, String, String) {
    told(&shell(engine, words).args(["-c", line]).output().unwrap())
}

pub fn told(output: &Output) -> (i32, String, String) {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let code = output.status.code().expect("an exit code");
    (code, text(&output.stdout), text(&output.stderr))
}

/// A run that graded the case alone, once an engine: its id, and what the case said.
pub fn graded(engine: &str) -> (String, String) {
    static DONE: Mutex<Option<HashMap<String, (String, String)>>> = Mutex::new(None);
    let mut done = DONE.lock().unwrap();
    let known = done.get_or_insert_with(HashMap::new);
    let made = known.entry(engine.to_owned()).or_insert_with(|| {
        let words = ["--submission", WRONG, "--suite", "probes", "--case", CASE];
        let words = [&words[..], &["--engine", engine]].concat();
        let (code, document) = grade(&home(), &tasks(), TASK, &words);
        assert_eq!(code, 1, "{document}");
        let case = &document["cases"][0];
        assert_eq!(case["id"], CASE);
        let first = |v: &Value| v.as_str().unwrap().lines().next().unwrap().to_owned();
        // its worker's last word comes after the verdict
        let summary = home()
            .join("runs")
            .join(first(&document["run"]))
            .join("summary.json");
        let end = Instant::now() + Duration::from_secs(30);
        while !summary.is_file() {
            assert!(Instant::now() < end, "the worker does not end");
            std::thread::sleep(Duration::from_millis(20));
        }
        (first(&document["run"]), first(&case["message"]))
    });
    made.clone()
}

pub struct Person {
    session: OsSession,
    seen: Vec<u8>,
    /// What was looked for and found ends here.
    at: usize,
}

impl Person {
    /// Starts a line of a shell, in which `$W` is the command.
    pub fn start(command: &Command, line: &str) -> Self {
        let words = std::iter::once(command.get_program()).chain(command.get_args());
        let words: Vec<String> = words
            .map(|w| format!("'{}'", w.to_str().unwrap().replace('\'', r"'\''")))
            .collect();
        let mut sh = Command::new("sh");
        sh.arg("-c").arg(line.replace("$W", &words.join(" ")));
        sh.env("TERM", "xterm-256color");
        let mut session = Session::spawn(sh).unwrap();
        session.get_process_mut().set_window_size(100, 30).unwrap();
        Self {
            session,
            seen: Vec::new(),
            at: 0,
        }
    }

    /// Opens a shell and waits for its prompt.
    pub fn open(engine: &str, words: &[&str]) -> Self {
        let mut person = Self::start(&shell(engine, words), "$W; echo \"left $?\"");
        person.sees("exit or Ctrl-D leaves");
        person.sees("(infradev) /workspace$ ");
        person
    }

    fn read(&mut self) {
        let mut chunk = [0; 8192];
        match self.session.try_read(&mut chunk) {
            Ok(n) if n > 0 => self.seen.extend_from_slice(&chunk[..n]),
            _ => std::thread::sleep(Duration::from_millis(5)),
        }
    }

    /// Waits until a text follows what was found last; what stands before it, without colours.
    #[track_caller]
    pub fn sees(&mut self, text: &str) -> String {
        let until = Instant::now() + PATIENCE;
        loop {
            let plain = plain(&self.seen);
            if let Some(found) = plain[self.at..].find(text) {
                let before = plain[self.at..self.at + found].to_owned();
                self.at += found + text.len();
                return before;
            }
            assert!(
                Instant::now() < until,
                "no {text:?} in {:?}",
                &plain[self.at..]
            );
            self.read();
        }
    }

    pub fn bytes(&self) -> &[u8] {
        &self.seen
    }

    pub fn types(&mut self, keys: &str) {
        self.session.write_all(keys.as_bytes()).unwrap();
        self.session.flush().unwrap();
    }

    /// The next answer of a command whose words are not on the screen before.
    pub fn asks(&mut self, line: &str, answer: &str) -> String {
        self.types(&format!("{line}\r"));
        self.sees(answer)
    }

    pub fn resize(&mut self, columns: u16, rows: u16) {
        let process = self.session.get_process_mut();
        process.set_window_size(columns, rows).unwrap();
    }

    pub fn pid(&self) -> i32 {
        self.session.get_process().pid().as_raw()
    }

    /// The name of the shell's folder.
    pub fn room(&mut self) -> String {
        self.types("echo \"room=<$INFRADEV_RUN>\"\r");
        self.sees("\nroom=<");
        self.sees(">")
    }
}

/// Text as it was meant: without escape sequences. (What is cut off at the end is not yet text.)
fn plain(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    let mut out = String::new();
    let mut rest = text.chars().peekable();
    while let Some(c) = rest.next() {
        match c {
            '\u{1b}' if rest.peek() == Some(&'[') => {
                while rest
                    .next()
                    .is_some_and(|c| !('@'..='~').contains(&c) || c == '[')
                {}
            }
            '\r' => {}
            c => out.push(c),
        }
    }
    out
}

/// Processes below one: numbers and command lines.
pub fn below(of: i32) -> Vec<(i32, String)> {
    let mut all = Vec::new();
    for entry in std::fs::read_dir("/proc").unwrap().flatten() {
        let Some(pid) = entry
            .file_name()
            .to_str()
            .and_then(|n| n.parse::<i32>().ok())
        else {
            continue;
        };
        if let Ok(stat) = std::fs::read_to_string(entry.path().join("stat")) {
            let (_, rest) = stat.rsplit_once(')').unwrap();
            let parent: i32 = rest.split_whitespace().nth(1).unwrap().parse().unwrap();
            all.push((pid, parent));
        }
    }
    let mut family = vec![of];
    let mut at = 0;
    while at < family.len() {
        let parent = family[at];
        family.extend(all.iter().filter(|p| p.1 == parent).map(|p| p.0));
        at += 1;
    }
    family[1..]
        .iter()
        .map(|pid| (*pid, line_of(*pid)))
        .collect()
}

pub fn line_of(pid: i32) -> String {
    let bytes = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    String::from_utf8_lossy(&bytes).replace('\0', " ")
}

pub fn folder(room: &str) -> PathBuf {
    home().join("shells").join(room)
}

/// Ids of the containers of a shell.
pub fn containers(room: &str) -> Vec<String> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(async {
        let docker = bollard::Docker::connect_with_defaults().unwrap();
        let filter = HashMap::from([("label", vec![format!("infradev.run={room}")])]);
        let options = ListContainersOptionsBuilder::new()
            .all(true)
            .filters(&filter)
            .build();
        let listed = docker.list_containers(Some(options)).await.unwrap();
        listed.into_iter().filter_map(|c| c.id).collect()
    })
}

/// Waits until nothing of a shell is left: no folder, no container, none of these processes.
#[track_caller]
pub fn nothing_left(engine: &str, room: &str, family: &[(i32, String)]) {
    let until = Instant::now() + Duration::from_secs(30);
    loop {
        let mut left: Vec<String> = family
            .iter()
            .filter(|(pid, line)| !line.is_empty() && line_of(*pid) == *line)
            .map(|(pid, line)| format!("{pid} {line}"))
            .collect();
        if folder(room).exists() {
            left.push(folder(room).display().to_string());
        }
        if engine == "docker" {
            left.extend(containers(room));
        }
        if left.is_empty() {
            return;
        }
        assert!(Instant::now() < until, "left: {left:?}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Everything in a folder, by path: what has changed in it shows.
pub fn contents(folder: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let mut found = Vec::new();
    let mut folders = vec![folder.to_path_buf()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap().flatten() {
            let path = entry.path();
            if path.is_dir() {
                folders.push(path);
            } else {
                found.push((path.clone(), std::fs::read(&path).unwrap()));
            }
        }
    }
    found.sort();
    found
}
