//! What the tests share: a sandbox with small limits, and a process run to its end.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use infradev::engine::docker::{CPU_IMAGE, Docker, Owner};
use infradev::engine::local::LocalOptions;
use infradev::engine::{
    Access, Engine, Limits, Mount, Network, ProcessSpec, ProcessStatus, Sandbox, SandboxEvent,
    SandboxSpec, Stream, User,
};
use tempfile::TempDir;

use crate::common::docker_is_here;

/// Everything here answers within this time, or a test fails.
pub const PATIENCE: Duration = Duration::from_secs(30);

pub fn options() -> LocalOptions {
    LocalOptions {
        binary: Some(env!("CARGO_BIN_EXE_infradev").into()),
        ..LocalOptions::default()
    }
}

pub fn limits() -> Limits {
    Limits {
        wall: Duration::from_secs(60),
        memory_bytes: 512 << 20,
        processes: 64,
        file_bytes: 64 << 20,
        output_bytes: 1 << 20,
        scratch_bytes: 32 << 20,
        shm_bytes: 32 << 20,
        cpus: None,
    }
}

pub fn spec() -> SandboxSpec {
    SandboxSpec {
        label: "test".into(),
        mounts: Vec::new(),
        env: BTreeMap::from([("PATH".into(), "/usr/bin:/bin".into())]),
        limits: limits(),
        network: Network::Loopback,
        devices: Vec::new(),
        image: None,
        gpus: Vec::new(),
        user: User::default(),
    }
}

pub fn mount(source: impl Into<PathBuf>, target: &str, access: Access) -> Mount {
    Mount {
        source: source.into(),
        target: target.into(),
        access,
    }
}

pub fn process(id: u32, argv: &[&str]) -> ProcessSpec {
    ProcessSpec {
        id,
        argv: argv.iter().map(ToString::to_string).collect(),
        env: BTreeMap::new(),
        cwd: "/".into(),
        stdin: Vec::new(),
        channel: false,
    }
}

pub fn shell(id: u32, script: &str) -> ProcessSpec {
    process(id, &["/bin/sh", "-c", script])
}

pub fn python(id: u32, script: &str) -> ProcessSpec {
    process(id, &["python3", "-c", script])
}

/// A sandbox, and the folder that it may stage in.
pub struct Box {
    pub sandbox: Sandbox,
    /// Removed with the box.
    pub _scratch: TempDir,
}

/// Where a test runs: one of the two engines.
#[derive(Clone)]
pub struct Place {
    pub engine: Engine,
}

impl Place {
    pub fn local() -> Self {
        Self {
            engine: Engine::Local(options()),
        }
    }

    /// `None` where there is none, which was said.
    pub async fn docker() -> Option<Self> {
        if !docker_is_here() {
            return None;
        }
        let owner = Owner {
            home: env!("CARGO_TARGET_TMPDIR").into(),
            run: "tests".into(),
        };
        let docker = Docker::connect(owner).await.unwrap();
        Some(Self {
            engine: Engine::Docker(docker.with_binary(env!("CARGO_BIN_EXE_infradev"))),
        })
    }

    /// The full name of a test here, for running it alone.
    pub fn test(&self, file: &str, name: &str) -> String {
        format!("{file}::{}::{name}", self.engine.kind().name())
    }

    pub fn is_docker(&self) -> bool {
        matches!(self.engine, Engine::Docker(_))
    }

    pub fn spec(&self) -> SandboxSpec {
        SandboxSpec {
            image: self.is_docker().then(|| CPU_IMAGE.to_owned()),
            ..spec()
        }
    }

    pub async fn start(&self, spec: SandboxSpec) -> Box {
        let scratch = TempDir::new().unwrap();
        let sandbox = self.engine.start(spec, scratch.path()).await.unwrap();
        Box {
            sandbox,
            _scratch: scratch,
        }
    }
}

/// Makes tests of functions: one on each engine.
macro_rules! both {
    ($($name:ident),* $(,)?) => {
        mod local {
            $(#[tokio::test]
            async fn $name() {
                super::$name(&$crate::house::Place::local()).await;
            })*
        }
        mod docker {
            $(#[tokio::test]
            async fn $name() {
                if let Some(place) = $crate::house::Place::docker().await {
                    super::$name(&place).await;
                }
            })*
        }
    };
}
pub(crate) use both;

/// What a process did.
#[derive(Debug, Default)]
pub struct Ran {
    pub stdout: Vec<u8>,
    pub stderr: Vec<u8>,
    pub channel: Vec<u8>,
    pub status: Option<ProcessStatus>,
    pub dropped_bytes: u64,
    pub truncated: Vec<Stream>,
    pub limits: Vec<String>,
}

impl Ran {
    pub fn out(&self) -> String {
        String::from_utf8_lossy(&self.stdout).into_owned()
    }

    #[track_caller]
    pub fn succeeded(&self) -> &Self {
        assert_eq!(
            self.status,
            Some(ProcessStatus::Exited(0)),
            "{}{}",
            self.out(),
            String::from_utf8_lossy(&self.stderr)
        );
        self
    }
}

impl Box {
    pub async fn next(&mut self) -> SandboxEvent {
        tokio::time::timeout(PATIENCE, self.sandbox.next())
            .await
            .expect("an event in time")
            .expect("the sandbox is open")
    }

    /// Events up to and including the one that is looked for.
    pub async fn until(&mut self, found: impl Fn(&SandboxEvent) -> bool) -> Vec<SandboxEvent> {
        let mut seen = Vec::new();
        loop {
            let event = self.next().await;
            let done = found(&event);
            seen.push(event);
            if done {
                return seen;
            }
        }
    }

    /// Runs one process to its end.
    pub async fn run(&mut self, process: ProcessSpec) -> Ran {
        let wanted = process.id;
        self.sandbox.spawn(process).unwrap();
        let events = self
            .until(|e| matches!(e, SandboxEvent::Exited { id, .. } | SandboxEvent::NotStarted { id, .. } if *id == wanted))
            .await;
        let mut ran = Ran::default();
        for event in events {
            match event {
                SandboxEvent::Output { id, stream, bytes } if id == wanted => match stream {
                    Stream::Stdout => ran.stdout.extend(bytes),
                    Stream::Stderr => ran.stderr.extend(bytes),
                    Stream::Channel => ran.channel.extend(bytes),
                },
                SandboxEvent::Truncated { id, stream } if id == wanted => {
                    ran.truncated.push(stream);
                }
                SandboxEvent::Exited {
                    id,
                    status,
                    dropped_bytes,
                } if id == wanted => {
                    ran.status = Some(status);
                    ran.dropped_bytes = dropped_bytes;
                }
                SandboxEvent::LimitHit { limit, .. } => ran.limits.push(limit),
                SandboxEvent::NotStarted { message, .. } => panic!("{message}"),
                _ => {}
            }
        }
        ran
    }

    pub async fn kill_all(&mut self) -> u32 {
        self.sandbox.kill_all().unwrap();
        let events = self
            .until(|e| matches!(e, SandboxEvent::Killed { .. }))
            .await;
        match events.last() {
            Some(SandboxEvent::Killed { processes }) => *processes,
            other => panic!("{other:?}"),
        }
    }
}

pub fn write(path: &Path, text: &str) {
    std::fs::write(path, text).unwrap();
}

/// A process of the machine: its number and its command line.
pub type Seen = (i32, String);

fn parents() -> Vec<(i32, i32)> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir("/proc").unwrap().flatten() {
        let Some(pid) = entry.file_name().to_str().and_then(|n| n.parse().ok()) else {
            continue;
        };
        if let Ok(stat) = std::fs::read_to_string(entry.path().join("stat")) {
            let (_, rest) = stat.rsplit_once(')').unwrap();
            let parent = rest.split_ascii_whitespace().nth(1).unwrap();
            found.push((pid, parent.parse().unwrap()));
        }
    }
    found
}

fn command_line(pid: i32) -> String {
    let bytes = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    String::from_utf8_lossy(&bytes)
        .trim_end_matches('\0')
        .replace('\0', " ")
}

/// Everything below a process, as the machine sees it.
pub fn descendants(of: u32) -> Vec<Seen> {
    let parents = parents();
    let mut family = vec![of.cast_signed()];
    let mut at = 0;
    while at < family.len() {
        let parent = family[at];
        family.extend(parents.iter().filter(|p| p.1 == parent).map(|p| p.0));
        at += 1;
    }
    family[1..]
        .iter()
        .map(|pid| (*pid, command_line(*pid)))
        .collect()
}

/// Every process of the sandbox of ours in which `mark` runs, from `__sandbox` down; waits until
/// there is one.
pub fn whole_sandbox(mark: &str) -> Vec<Seen> {
    let own = std::process::id();
    let until = std::time::Instant::now() + PATIENCE;
    loop {
        let all = descendants(own);
        if all.iter().filter(|p| p.1 == mark).count() == 2 {
            let parents = parents();
            let above = |pid: i32| parents.iter().find(|p| p.0 == pid).map(|p| p.1);
            let mut top = all.iter().find(|p| p.1 == mark).unwrap().0;
            while let Some(parent) = above(top).filter(|p| *p != own.cast_signed()) {
                top = parent;
            }
            let mut whole = descendants(top.cast_unsigned());
            whole.push((top, command_line(top)));
            return whole;
        }
        assert!(std::time::Instant::now() < until, "{mark}: {all:?}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Fails when one of them is still there, under its number and command line, after `patience`.
pub async fn wait_until_gone(seen: &[Seen], patience: Duration) {
    let until = std::time::Instant::now() + patience;
    loop {
        let left: Vec<_> = seen
            .iter()
            .filter(|(pid, line)| !line.is_empty() && command_line(*pid) == *line)
            .collect();
        if left.is_empty() {
            return;
        }
        assert!(std::time::Instant::now() < until, "still there: {left:?}");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}
