//! What the tests share: a sandbox with small limits, and a process run to its end.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use infradev::engine::docker::{CPU_IMAGE, Docker};
use infradev::engine::local::LocalOptions;
use infradev::engine::{
    Access, Engine, Limits, Mount, Network, ProcessSpec, ProcessStatus, Sandbox, SandboxEvent,
    SandboxSpec, Stream, User,
};
use tempfile::TempDir;

use crate::common::docker_is_here;
use crate::containers::{Containers, owner};
use crate::seen::{Seen, all_of, children};

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

/// Set where this test program runs as a worker that a test has started: the run that it is.
pub const WORKER: &str = "INFRADEV_TEST_WORKER";

/// Where a test runs: one of the two engines.
#[derive(Clone)]
pub struct Place {
    pub engine: Engine,
    /// On the docker engine: what it has there.
    pub containers: Option<Containers>,
    pub image: Option<String>,
}

impl Place {
    pub fn local() -> Self {
        Self {
            engine: Engine::Local(options()),
            containers: None,
            image: None,
        }
    }

    /// `None` where there is none, which was said.
    pub async fn docker() -> Option<Self> {
        if !docker_is_here() {
            return None;
        }
        let run = fresh_run();
        Some(Self::on(
            Docker::connect(owner(&run)).await.unwrap(),
            run,
            CPU_IMAGE,
        ))
    }

    /// In containers of one daemon and image.
    pub fn on(docker: Docker, run: String, image: &str) -> Self {
        let docker = docker.with_binary(env!("CARGO_BIN_EXE_infradev"));
        Self {
            engine: Engine::Docker(docker.clone()),
            containers: Some(Containers::new(docker, run)),
            image: Some(image.into()),
        }
    }

    /// Runs a test of this program in a process of its own, where [`WORKER`] is set: on the same
    /// engine, and for the same run.
    pub fn worker(&self, file: &str, name: &str) -> Command {
        let run = self.containers.as_ref().map_or("local", |c| &c.run);
        let mut command = Command::new(std::env::current_exe().unwrap());
        command
            .arg("--exact")
            .arg(format!("{file}::{}::{name}", self.engine.kind().name()))
            .arg("--nocapture")
            .env(WORKER, run);
        command
    }

    pub fn spec(&self) -> SandboxSpec {
        SandboxSpec {
            image: self.image.clone(),
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

    /// Everything that runs for sandboxes of one worker, as the machine sees it: the sandboxes one
    /// by one.
    pub async fn sandboxes(&self, worker: u32) -> Vec<Vec<Seen>> {
        match &self.containers {
            None => children(worker).into_iter().map(all_of).collect(),
            Some(containers) => {
                let firsts = containers.firsts().await;
                firsts.into_iter().map(all_of).collect()
            }
        }
    }

    /// The user that processes inside see as themselves, unless a test chose one.
    pub fn inner_user(&self) -> u32 {
        match &self.engine {
            Engine::Local(_) => 1000,
            Engine::Docker(docker) if docker.daemon().rootless => 0,
            Engine::Docker(_) if nix::unistd::geteuid().is_root() => 65534,
            Engine::Docker(_) => nix::unistd::geteuid().as_raw(),
        }
    }

    /// How many processes hold a sandbox up on this side of process 1.
    pub fn outer(&self) -> usize {
        // `__sandbox`, and hakoniwa's process
        if self.containers.is_some() { 0 } else { 2 }
    }

    /// Every process of the sandbox of ours in which `mark` runs twice; waits until it does.
    pub async fn whole_sandbox(&self, mark: &str) -> Vec<Seen> {
        self.whole_sandbox_of(std::process::id(), mark).await
    }

    pub async fn whole_sandbox_of(&self, worker: u32, mark: &str) -> Vec<Seen> {
        let until = std::time::Instant::now() + PATIENCE;
        loop {
            let all = self.sandboxes(worker).await;
            let marked = |seen: &Vec<Seen>| seen.iter().filter(|p| p.1 == mark).count() == 2;
            if let Some(whole) = all.iter().find(|seen| marked(seen)) {
                return whole.clone();
            }
            assert!(std::time::Instant::now() < until, "{mark}: {all:?}");
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }

    /// After each test.
    pub async fn is_empty(&self) {
        if let Some(containers) = &self.containers {
            containers.none_left().await;
        }
    }
}

/// A name for what one test does with containers.
pub fn fresh_run() -> String {
    static NEXT: AtomicUsize = AtomicUsize::new(0);
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    let own = || format!("test-{}-{number}", std::process::id());
    std::env::var(WORKER).unwrap_or_else(|_| own())
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
                    place.is_empty().await;
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
