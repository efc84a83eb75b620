//! What a sandbox on the docker engine costs over a bare `docker run` in the same image: to its
//! first answer, and to its end; one at a time and two at once. Prints medians; `cargo bench
//! --bench docker_overhead`. Needs a daemon with the base image (`infradev image import`).

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::print_stdout)]

use std::collections::BTreeMap;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use infradev::engine::docker::{CPU_IMAGE, Docker, Owner};
use infradev::engine::{Limits, Network, ProcessSpec, SandboxEvent, SandboxSpec, User};

const ROUNDS: usize = 15;

fn main() {
    // under `cargo test` a bench target is only built
    if !std::env::args().any(|a| a == "--bench") {
        return;
    }
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(measure());
}

async fn measure() {
    let owner = Owner {
        home: env!("CARGO_TARGET_TMPDIR").into(),
        run: "bench".into(),
    };
    let begun = Instant::now();
    let docker = Docker::connect(owner).await.unwrap();
    println!(
        "connecting                 {:>5} ms",
        begun.elapsed().as_millis()
    );
    let docker = docker.with_binary(env!("CARGO_BIN_EXE_infradev"));
    let scratch = tempfile::tempdir().unwrap();
    // what is warm afterwards is warm for all
    sandbox(&docker, scratch.path()).await;

    let mut bare = Vec::new();
    let mut parts: [Vec<Duration>; 4] = Default::default();
    let mut pairs = Vec::new();
    for _ in 0..ROUNDS {
        bare.push(docker_run());
        let one = sandbox(&docker, scratch.path()).await;
        parts
            .iter_mut()
            .zip(one)
            .for_each(|(all, one)| all.push(one));
        let begun = Instant::now();
        tokio::join!(
            sandbox(&docker, scratch.path()),
            sandbox(&docker, scratch.path())
        );
        pairs.push(begun.elapsed());
    }
    let bare = line("docker run --rm IMAGE true", bare);
    let [start, run, close, all] = parts;
    line("start", start);
    line("run true", run);
    line("close", close);
    let all = line("all of one sandbox", all);
    let pair = line("two at once", pairs);
    println!(
        "over docker run: one {:.2}, two at once {:.2}",
        all.as_secs_f64() / bare.as_secs_f64(),
        pair.as_secs_f64() / bare.as_secs_f64()
    );
}

fn line(what: &str, mut times: Vec<Duration>) -> Duration {
    times.sort();
    let median = times[times.len() / 2];
    println!(
        "{what:<26} {:>5} ms  ({} to {})",
        median.as_millis(),
        times[0].as_millis(),
        times[times.len() - 1].as_millis()
    );
    median
}

fn docker_run() -> Duration {
    let begun = Instant::now();
    let status = Command::new("docker")
        .args(["run", "--rm", "--network", "none", CPU_IMAGE, "true"])
        .stdin(Stdio::null())
        .status();
    assert!(status.unwrap().success());
    begun.elapsed()
}

/// To be ready, to have run `true`, to be gone; and all of it.
async fn sandbox(docker: &Docker, scratch: &Path) -> [Duration; 4] {
    let mut marks = vec![Instant::now()];
    let mut sandbox = docker.start(spec(), scratch).await.unwrap();
    marks.push(Instant::now());
    let process = ProcessSpec {
        id: 1,
        argv: vec!["true".into()],
        env: BTreeMap::new(),
        cwd: "/".into(),
        stdin: Vec::new(),
        channel: false,
    };
    sandbox.spawn(process).unwrap();
    while !matches!(sandbox.next().await, Some(SandboxEvent::Exited { .. })) {}
    marks.push(Instant::now());
    sandbox.close().await;
    marks.push(Instant::now());
    let part = |at: usize| marks[at + 1] - marks[at];
    [part(0), part(1), part(2), marks[3] - marks[0]]
}

fn spec() -> SandboxSpec {
    SandboxSpec {
        label: "bench".into(),
        mounts: Vec::new(),
        env: BTreeMap::from([("PATH".into(), "/usr/bin:/bin".into())]),
        limits: Limits {
            wall: Duration::from_secs(60),
            memory_bytes: 512 << 20,
            processes: 64,
            file_bytes: 64 << 20,
            output_bytes: 1 << 20,
            scratch_bytes: 32 << 20,
            shm_bytes: 32 << 20,
            cpus: None,
        },
        network: Network::Loopback,
        devices: Vec::new(),
        image: Some(CPU_IMAGE.into()),
        gpus: Vec::new(),
        user: User::default(),
    }
}
