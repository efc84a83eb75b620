//! What others do to a container, and to its daemon, while something runs in it: each fault is
//! named, and nothing runs on or is left.

use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant};

use infradev::engine::docker::{Docker, DockerUnavailable};
use infradev::engine::{Access, EngineError, Loss, ProcessSpec, ProcessStatus, SandboxEvent};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use tempfile::TempDir;

use crate::containers::owner;
use crate::dockerd::{self, Small};
use crate::house::{Box, Place, mount, process, python, shell, write};
use crate::seen::{Seen, wait_until_gone};

/// A sandbox in which two processes sleep, and all of its processes.
async fn sleeping(at: &Place, seconds: u32) -> (Box, Vec<Seen>) {
    let mut sandbox = at.start(at.spec()).await;
    let script = format!("sleep {seconds} & echo up; sleep {seconds}");
    sandbox.sandbox.spawn(shell(1, &script)).unwrap();
    sandbox
        .until(|e| matches!(e, SandboxEvent::Output { .. }))
        .await;
    let ours = at.whole_sandbox(&format!("sleep {seconds}")).await;
    (sandbox, ours)
}

/// Waits until it is closed; what others did.
async fn reason(sandbox: &mut Box) -> String {
    let seen = sandbox
        .until(|e| matches!(e, SandboxEvent::Closed { .. }))
        .await;
    match seen.last() {
        Some(SandboxEvent::Closed {
            reason: Some(Loss::Machine(why)),
        }) => why.clone(),
        _ => panic!("{seen:?}"),
    }
}

#[tokio::test]
async fn a_container_that_somebody_removes_is_named() {
    let Some(at) = Place::docker().await else {
        return;
    };
    let containers = at.containers.as_ref().unwrap();
    let (mut sandbox, ours) = sleeping(&at, 611).await;
    containers.remove(&containers.ids().await[0]).await;
    let why = reason(&mut sandbox).await;
    assert!(why.contains("removed by someone else"), "{why}");
    wait_until_gone(&ours, Duration::ZERO).await;
    at.is_empty().await;
}

#[tokio::test]
async fn a_container_that_somebody_kills_is_named() {
    let Some(at) = Place::docker().await else {
        return;
    };
    let containers = at.containers.as_ref().unwrap();
    let (mut sandbox, ours) = sleeping(&at, 612).await;
    containers.kill(&containers.ids().await[0]).await;
    let why = reason(&mut sandbox).await;
    assert!(why.contains("killed by someone else"), "{why}");
    wait_until_gone(&ours, Duration::ZERO).await;
    at.is_empty().await;
}

/// Takes memory far faster than anybody looks, once a file is there.
const HOG: &str = "import mmap, os, time\n\
    print('up', flush=True)\n\
    while not os.path.exists('/work/go'): time.sleep(0.01)\n\
    m = mmap.mmap(-1, 8 << 30, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | mmap.MAP_POPULATE)\n";

/// The same without holding any of it itself.
const FILES: &str = "import os, time\n\
    print('up', flush=True)\n\
    while not os.path.exists('/work/go'): time.sleep(0.01)\n\
    os.posix_fallocate(os.memfd_create('x'), 0, 8 << 30)\n";

/// A sandbox with a hog, and process 1 stopped, so that only the kernel sees what comes. Its
/// processes, process 1 last.
async fn hogging(at: &Place, go: &Path, hog: ProcessSpec) -> (Box, Vec<Seen>) {
    let mut spec = at.spec();
    spec.limits.file_bytes = 16 << 30;
    spec.mounts = vec![mount(go, "/work", Access::ReadOnly)];
    let mut sandbox = at.start(spec).await;
    sandbox.sandbox.spawn(hog).unwrap();
    sandbox
        .until(|e| matches!(e, SandboxEvent::Output { .. }))
        .await;
    let ours = at.sandboxes(0).await.remove(0);
    let (first, line) = ours.last().unwrap();
    assert!(line.contains("__init"), "{ours:?}");
    kill(Pid::from_raw(*first), Signal::SIGSTOP).unwrap();
    (sandbox, ours)
}

#[tokio::test]
async fn a_process_that_the_kernel_kills_for_its_memory_has_hit_the_limit() {
    let Some(at) = Place::docker().await else {
        return;
    };
    for below in [false, true] {
        let go = TempDir::new().unwrap();
        let mut hog = python(1, HOG);
        if below {
            hog = shell(1, "python3 -c \"$HOG\"; echo after $?");
            hog.env.insert("HOG".into(), HOG.into());
        }
        let (mut sandbox, ours) = hogging(&at, go.path(), hog).await;
        write(&go.path().join("go"), "");
        let (first, others) = ours.split_last().unwrap();
        // waits to be reaped, or for the shell that survived it to be
        wait_until_gone(others, Duration::from_secs(20)).await;
        kill(Pid::from_raw(first.0), Signal::SIGCONT).unwrap();
        let seen = sandbox
            .until(|e| matches!(e, SandboxEvent::Exited { .. }))
            .await;
        let hit = |e: &SandboxEvent| matches!(e, SandboxEvent::LimitHit { limit, detail } if limit == "memory" && detail.contains("kernel"));
        assert!(seen.iter().any(hit), "{below}: {seen:?}");
        let status = if below {
            ProcessStatus::Exited(0)
        } else {
            ProcessStatus::Signaled(9)
        };
        assert!(
            matches!(seen.last(), Some(SandboxEvent::Exited { status: said, .. }) if *said == status),
            "{below}: {seen:?}"
        );
        // told once, and the sandbox goes on
        let ran = sandbox.run(process(2, &["true"])).await;
        assert!(ran.succeeded().limits.is_empty());
        sandbox.sandbox.close().await;
    }
    at.is_empty().await;
}

#[tokio::test]
async fn a_container_that_the_kernel_kills_for_its_memory_has_hit_the_limit() {
    let Some(at) = Place::docker().await else {
        return;
    };
    let go = TempDir::new().unwrap();
    let (mut sandbox, ours) = hogging(&at, go.path(), python(1, FILES)).await;
    // process 1 is what the kernel would rather do without
    let first = ours.last().unwrap().0;
    std::fs::write(format!("/proc/{first}/oom_score_adj"), "1000").unwrap();
    write(&go.path().join("go"), "");
    let seen = sandbox
        .until(|e| matches!(e, SandboxEvent::Closed { .. }))
        .await;
    let hit = |e: &SandboxEvent| matches!(e, SandboxEvent::LimitHit { limit, detail } if limit == "memory" && detail.contains("process 1"));
    assert!(seen.iter().any(hit), "{seen:?}");
    assert!(
        matches!(
            seen.last(),
            Some(SandboxEvent::Closed {
                reason: Some(Loss::Inside(_))
            })
        ),
        "{seen:?}"
    );
    wait_until_gone(&ours, Duration::ZERO).await;
    at.is_empty().await;
}

#[tokio::test]
async fn a_daemon_that_stops_or_is_killed_is_named_and_leaves_nothing() {
    if !dockerd::is_possible() {
        return;
    }
    let (mut daemon, _) = dockerd::dockerd(None).await;
    for (signal, seconds) in [(Signal::SIGTERM, 613), (Signal::SIGKILL, 614)] {
        let at = dockerd::place(&daemon).await;
        let (mut sandbox, ours) = sleeping(&at, seconds).await;
        daemon.signal(signal);
        daemon.wait();
        wait_until_gone(&ours, Duration::from_secs(5)).await;
        let why = tokio::spawn(async move { reason(&mut sandbox).await });
        // nobody may have to wait for a daemon that does not come back
        tokio::time::sleep(Duration::from_secs(1)).await;
        daemon.up();
        let why = why.await.unwrap();
        assert!(
            why.contains("the container engine went away"),
            "{signal}: {why}"
        );
        let socket = daemon.socket().display().to_string();
        assert!(why.contains(&socket), "{signal}: {why}");
        at.is_empty().await;
        // and the next one starts
        at.start(at.spec()).await.sandbox.close().await;
        at.is_empty().await;
    }
}

#[tokio::test]
async fn a_daemon_that_hangs_is_told_in_time_and_leaves_nothing() {
    if !dockerd::is_possible() {
        return;
    }
    let (daemon, _) = dockerd::dockerd(None).await;
    let at = dockerd::place(&daemon).await;
    let containers = at.containers.as_ref().unwrap();
    let (sandbox, ours) = sleeping(&at, 615).await;
    daemon.signal(Signal::SIGSTOP);

    let begun = Instant::now();
    let refused = Docker::connect_at(&daemon.socket(), owner("x")).await;
    let hangs = |e: &DockerUnavailable| matches!(e, DockerUnavailable::Hangs { .. });
    assert!(refused.as_ref().is_err_and(hangs), "{refused:?}");
    let patient = begun.elapsed();
    assert!(patient < Duration::from_secs(4), "{patient:?}");

    let begun = Instant::now();
    let scratch = TempDir::new().unwrap();
    let refused = at.engine.start(at.spec(), scratch.path()).await;
    let told = matches!(&refused, Err(EngineError::Docker(e)) if hangs(e));
    assert!(told, "{refused:?}");
    let patient = begun.elapsed();
    assert!(patient < Duration::from_secs(15), "{patient:?}");

    let begun = Instant::now();
    sandbox.sandbox.close().await;
    let patient = begun.elapsed();
    assert!(patient < Duration::from_secs(30), "{patient:?}");

    daemon.signal(Signal::SIGCONT);
    wait_until_gone(&ours, Duration::from_secs(10)).await;
    // the one that was asked for in vain is made now, and removed
    tokio::time::sleep(Duration::from_secs(2)).await;
    containers.none_left().await;
}

#[tokio::test]
async fn a_socket_that_says_nothing_is_a_daemon_that_hangs() {
    let folder = TempDir::new().unwrap();
    let socket = folder.path().join("socket");
    let listener = std::os::unix::net::UnixListener::bind(&socket).unwrap();
    std::thread::spawn(move || {
        let mut kept = Vec::new();
        for stream in listener.incoming() {
            kept.push(stream);
        }
    });
    let begun = Instant::now();
    let refused = Docker::connect_at(&socket, owner("x")).await;
    assert!(
        matches!(refused, Err(DockerUnavailable::Hangs { .. })),
        "{refused:?}"
    );
    assert!(begun.elapsed() < Duration::from_secs(4));
}

#[tokio::test]
async fn a_full_disk_of_the_daemon_is_named_and_what_runs_goes_on() {
    if !dockerd::is_possible() {
        return;
    }
    let (daemon, disk) = dockerd::dockerd(Some(128 << 20)).await;
    let disk = disk.unwrap();
    let at = dockerd::place(&daemon).await;
    let mut running = at.start(at.spec()).await;
    disk.fill();
    let scratch = TempDir::new().unwrap();
    let refused = at.engine.start(at.spec(), scratch.path()).await;
    assert!(
        matches!(refused, Err(EngineError::NoSpace { .. })),
        "{refused:?}"
    );
    let ran = running.run(shell(1, "echo fine")).await;
    assert_eq!(ran.succeeded().out(), "fine\n");
    running.sandbox.close().await;
    at.is_empty().await;
    disk.make_room();
    at.start(at.spec()).await.sandbox.close().await;
    at.is_empty().await;
}

#[tokio::test]
async fn a_full_disk_of_ours_is_named() {
    if !dockerd::is_possible() {
        return;
    }
    let at = Place::docker().await.unwrap();
    let scratch = TempDir::new().unwrap();
    let disk = Small::new(scratch.path(), 1 << 16);
    disk.fill();
    match at.engine.start(at.spec(), scratch.path()).await {
        Err(EngineError::Io { source, .. }) => {
            assert_eq!(source.raw_os_error(), Some(nix::libc::ENOSPC));
        }
        other => panic!("{other:?}"),
    }
    at.is_empty().await;
}

#[tokio::test]
async fn only_what_dead_workers_left_is_reaped() {
    if !dockerd::is_possible() {
        return;
    }
    let (daemon, _) = dockerd::dockerd(None).await;
    let at = dockerd::place(&daemon).await;
    let containers = at.containers.as_ref().unwrap();
    // ours, alive; of another machine; of somebody who knows nothing of us
    let mut alive = at.start(at.spec()).await;
    let foreign = [
        containers
            .foreign(
                "another-machine",
                &[
                    ("infradev.home", "x"),
                    ("infradev.host", "y"),
                    ("infradev.pid", "1"),
                ],
            )
            .await,
        containers.foreign("somebodys", &[]).await,
    ];
    let host = format!("unix://{}", daemon.socket().display());
    let gc = |more: &[&str]| {
        let mut gc = std::process::Command::new(env!("CARGO_BIN_EXE_infradev"));
        let home = TempDir::new().unwrap();
        let gc = gc
            .arg("--home")
            .arg(home.path())
            .args(["gc", "--json"])
            .args(more);
        let output = gc.env("DOCKER_HOST", &host).output().unwrap();
        assert!(output.status.success(), "{output:?}");
        let said: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        said["reaped"].as_array().unwrap().len()
    };
    assert_eq!(gc(&[]), 0);
    let left = async || {
        let mut worker = (at.worker("kills", "a_killed_worker_leaves_nothing"))
            .env("DOCKER_HOST", &host)
            .env("INFRADEV_TEST_WORKER", format!("{}-dead", containers.run))
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let output = std::io::BufReader::new(worker.stdout.take().unwrap());
        let mut lines = std::io::BufRead::lines(output);
        while !lines.next().unwrap().unwrap().contains("holding") {}
        worker.kill().unwrap();
        worker.wait().unwrap();
    };
    // by hand, and then beside another run of the same home
    left().await;
    assert_eq!((gc(&["--dry-run"]), gc(&[]), gc(&[])), (1, 1, 0));
    left().await;
    containers.docker.reap_dead_in_background();
    let until = Instant::now() + crate::house::PATIENCE;
    while !containers.docker.leftovers().await.unwrap().is_empty() {
        assert!(Instant::now() < until);
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    let ran = alive.run(shell(1, "echo fine")).await;
    assert_eq!(ran.succeeded().out(), "fine\n");
    for id in foreign {
        containers.inspect(&id).await;
    }
}
