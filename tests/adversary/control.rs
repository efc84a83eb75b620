//! The control: plain pytest, as harnesses run it that trust what they run. The patch's files lie
//! over base, the test files that came with the change are copied over that, pytest runs, and what
//! it wrote is read. In a sandbox, because attacks attack.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::fs;
use std::path::Path;
use std::process::Command;
use std::sync::OnceLock;
use std::time::Duration;

use infradev::catalog::Catalog;
use infradev::engine::local::LocalOptions;
use infradev::engine::{
    Access, Limits, Mount, Network, ProcessSpec, ProcessStatus, Sandbox, SandboxEvent, SandboxSpec,
    User,
};
use infradev::environment::{Environment, Request, prepare};

use crate::attack::{Attack, Control, here};
use crate::common::home;
use crate::trees::{lay, scratch, task};

/// What a run said, in three ways.
#[derive(Debug, Default)]
pub struct Said {
    /// The JUnit report: the cases that did not fail, were no error and not skipped; and the rest.
    passed: BTreeSet<String>,
    others: BTreeSet<String>,
    /// The last word of the output on each case.
    text: BTreeMap<String, String>,
    code: Option<i32>,
    output: String,
}

/// How many cases the control is wrong about; a run as a whole counts as one.
pub struct Fooled {
    pub cases: usize,
    of: usize,
    control: Control,
    pub output: String,
}

impl fmt::Display for Fooled {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.control, self.cases) {
            (_, 0) => f.write_str("not fooled"),
            (Control::Exit, _) => f.write_str("exit: the run"),
            (control, cases) => write!(f, "{}: {cases} of {}", control.name(), self.of),
        }
    }
}

/// What plain pytest says of the attack's wrong solution, without the attack.
pub fn honest(attack: &Attack) -> Said {
    let said = run(attack, true);
    assert!(!said.others.is_empty(), "{}", said.output);
    assert_eq!(said.code, Some(1), "{}", said.output);
    said
}

pub fn attacked(attack: &Attack, honest: &Said) -> Fooled {
    let said = run(attack, false);
    let is_passed = |word: Option<&String>| word.is_some_and(|w| w == "PASSED");
    let failing = || honest.text.iter().filter(|(_, w)| *w != "PASSED");
    let (cases, of) = match attack.control {
        Control::Junit => (
            honest.others.intersection(&said.passed).count(),
            honest.others.len(),
        ),
        Control::Text => {
            let fooled = failing().filter(|(id, _)| is_passed(said.text.get(*id)));
            (fooled.count(), failing().count())
        }
        Control::Exit => (usize::from(said.code == Some(0)), 1),
    };
    Fooled {
        cases,
        of,
        control: attack.control,
        output: said.output,
    }
}

/// The tasks' own, as grading builds it: all have the same requirements.
fn environment() -> &'static Environment {
    static BUILT: OnceLock<Environment> = OnceLock::new();
    BUILT.get_or_init(|| {
        let task = Catalog::open(&here().join("tasks")).unwrap();
        let task = task.usable("purse").unwrap();
        let request = Request::new(task.spec.environment.clone(), &task.dir, &home());
        prepare(&request, &|_| {}).unwrap()
    })
}

fn run(attack: &Attack, honest: bool) -> Said {
    let scratch = scratch();
    let work = scratch.path().join("work");
    lay(attack, honest, &work);
    copy_tests(attack, &work);
    let mut mounts = environment().mounts.clone();
    if attack.environment_writable && !honest {
        own_environment(&mut mounts, &scratch.path().join("environment"));
    }
    mounts.push(Mount {
        source: work.clone(),
        target: "/naive".into(),
        access: Access::ReadWrite,
    });
    let mut runs = vec![vec!["tests", "-rA", "--junitxml=report.xml"]];
    if !attack.before.is_empty() && !honest {
        runs.insert(0, attack.before.iter().map(String::as_str).collect());
    }
    let wait = Duration::from_secs_f64(if honest { 0.0 } else { attack.wait_s });
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    let (code, output) = runtime.block_on(in_sandbox(mounts, &runs, wait, scratch.path()));
    let mut said = Said {
        code,
        text: last_words(&output),
        output,
        ..Said::default()
    };
    let report = fs::read_to_string(work.join("report.xml")).unwrap_or_default();
    for (case, passed) in cases(&report) {
        if passed {
            said.passed.insert(case);
        } else {
            said.others.insert(case);
        }
    }
    said
}

/// The test files that the change adds or edits, over whatever is there.
fn copy_tests(attack: &Attack, work: &Path) {
    let (official, base) = (
        task(attack).join("official"),
        task(attack).join("base/tests"),
    );
    for entry in fs::read_dir(official).unwrap() {
        let entry = entry.unwrap();
        let bytes = fs::read(entry.path()).unwrap();
        let before = fs::read(base.join(entry.file_name())).ok();
        if before.as_ref() != Some(&bytes) {
            // `fs::write` follows links, as cp does
            fs::write(work.join("tests").join(entry.file_name()), bytes).unwrap();
        }
    }
}

/// A copy of the environment that can be written to, in its place.
fn own_environment(mounts: &mut [Mount], copy: &Path) {
    let python = &environment().python;
    let mount = mounts
        .iter_mut()
        .find(|m| python.starts_with(&m.target))
        .expect("a mount of the environment");
    // what is installed is linked from a cache: these are files of their own
    let copied = Command::new("cp")
        .arg("-r")
        .arg(&mount.source)
        .arg(copy)
        .status();
    assert!(copied.unwrap().success());
    let writable = Command::new("chmod").args(["-R", "u+w"]).arg(copy).status();
    assert!(writable.unwrap().success());
    mount.source = copy.into();
    mount.access = Access::ReadWrite;
}

async fn in_sandbox(
    mounts: Vec<Mount>,
    runs: &[Vec<&str>],
    wait: Duration,
    scratch: &Path,
) -> (Option<i32>, String) {
    let mut env = environment().env.clone();
    env.insert("HOME".into(), "/tmp".into());
    env.insert("PYTHONPATH".into(), ".".into());
    env.insert("PYTHONDONTWRITEBYTECODE".into(), "1".into());
    let spec = SandboxSpec {
        label: "control".into(),
        mounts,
        env,
        limits: Limits {
            wall: Duration::from_secs(60),
            memory_bytes: 1 << 30,
            processes: 64,
            file_bytes: 64 << 20,
            output_bytes: 1 << 20,
            scratch_bytes: 64 << 20,
            shm_bytes: 64 << 20,
            cpus: None,
        },
        network: Network::Loopback,
        devices: Vec::new(),
        image: None,
        gpus: Vec::new(),
        user: User::default(),
    };
    let options = LocalOptions {
        binary: Some(env!("CARGO_BIN_EXE_infradev").into()),
        ..LocalOptions::default()
    };
    let mut sandbox = Sandbox::start_local_with(spec, scratch, &options)
        .await
        .unwrap();
    let (mut code, mut output) = (None, String::new());
    for (id, args) in (0..).zip(runs) {
        let python = environment().python.to_str().unwrap();
        let mut argv = vec![python, "-m", "pytest"];
        argv.extend(args);
        sandbox
            .spawn(ProcessSpec {
                id,
                argv: argv.iter().map(ToString::to_string).collect(),
                env: BTreeMap::new(),
                cwd: "/naive".into(),
                stdin: Vec::new(),
                channel: false,
            })
            .unwrap();
        (code, output) = ended(&mut sandbox, wait).await;
    }
    sandbox.close().await;
    (code, output)
}

/// The exit code and the output of the one process that runs. Its streams may stay open in others'
/// hands: then it is over when it has been silent for a while.
async fn ended(sandbox: &mut Sandbox, wait: Duration) -> (Option<i32>, String) {
    let mut output = Vec::new();
    let mut code = None;
    while let Some(event) = sandbox.next().await {
        match event {
            SandboxEvent::Output { bytes, .. } => output.extend(bytes),
            SandboxEvent::Exited { status, .. } => {
                if let ProcessStatus::Exited(n) = status {
                    code = Some(n);
                }
                break;
            }
            SandboxEvent::NotStarted { message, .. } => panic!("{message}"),
            SandboxEvent::Closed { reason } => panic!("{reason:?}"),
            _ => {}
        }
    }
    tokio::time::sleep(wait).await;
    (code, String::from_utf8_lossy(&output).into_owned())
}

/// Cases of a JUnit report, `class::name`, and whether they passed.
fn cases(report: &str) -> Vec<(String, bool)> {
    let attribute = |tag: &str, name: &str| {
        let start = tag.find(&format!(" {name}=\""))? + name.len() + 3;
        let end = start + tag[start..].find('"')?;
        Some(tag[start..end].to_owned())
    };
    let mut found = Vec::new();
    for part in report.split("<testcase").skip(1) {
        let Some((tag, rest)) = part.split_once('>') else {
            continue;
        };
        let inside = if tag.ends_with('/') {
            ""
        } else {
            rest.split("</testcase>").next().unwrap_or("")
        };
        let bad = ["<failure", "<error", "<skipped"];
        let passed = !bad.iter().any(|b| inside.contains(b));
        if let (Some(class), Some(name)) = (attribute(tag, "classname"), attribute(tag, "name")) {
            found.push((format!("{class}::{name}"), passed));
        }
    }
    found
}

/// `PASSED id` and the like, line by line: the last one counts.
fn last_words(output: &str) -> BTreeMap<String, String> {
    let mut words = BTreeMap::new();
    for line in output.lines() {
        let mut parts = line.split_ascii_whitespace();
        if let (Some(word @ ("PASSED" | "FAILED" | "ERROR")), Some(id)) =
            (parts.next(), parts.next())
        {
            words.insert(id.to_owned(), word.to_owned());
        }
    }
    words
}
