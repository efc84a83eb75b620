//! Kills: nothing is left, whatever it did to hide.

use std::process::Stdio;
use std::time::{Duration, Instant};

use infradev::engine::{Loss, SandboxEvent};

use crate::house::{Box, Place, WORKER, python, shell};
use crate::seen::{Seen, wait_until_gone};

async fn up(sandbox: &mut Box, id: u32) {
    sandbox
        .until(|e| matches!(e, SandboxEvent::Output { id: said, .. } if *said == id))
        .await;
}

async fn kill_all_ends_sleepers_daemons_and_those_that_ignore_signals(at: &Place) {
    let mut sandbox = at.start(at.spec()).await;
    sandbox
        .sandbox
        .spawn(shell(
            1,
            "trap '' TERM INT HUP; echo up; sleep 600; sleep 600",
        ))
        .unwrap();
    up(&mut sandbox, 1).await;
    // a daemon: forked twice, in a session of its own, without our streams
    sandbox
        .run(python(
            2,
            "import os, signal, time\n\
             if os.fork() == 0:\n\
             \x20   os.setsid()\n\
             \x20   if os.fork() == 0:\n\
             \x20       signal.signal(signal.SIGTERM, signal.SIG_IGN)\n\
             \x20       for fd in range(3): os.close(fd)\n\
             \x20       time.sleep(600)\n\
             \x20   os._exit(0)\n\
             os.wait()",
        ))
        .await
        .succeeded();
    let begin = Instant::now();
    // the shell, its sleep, the daemon
    assert_eq!(sandbox.kill_all().await, 3);
    assert!(begin.elapsed() < Duration::from_secs(5));
    assert_eq!(sandbox.kill_all().await, 0);
    // process 1 and the shell itself
    let ran = sandbox.run(shell(3, "set -- /proc/[0-9]*; echo $#")).await;
    assert_eq!(ran.succeeded().out(), "2\n");
}

async fn ends_of_killed_processes_come_before_the_answer(at: &Place) {
    let mut sandbox = at.start(at.spec()).await;
    for id in 0..4 {
        sandbox
            .sandbox
            .spawn(shell(id, "echo up; sleep 600"))
            .unwrap();
        up(&mut sandbox, id).await;
    }
    sandbox.sandbox.kill_all().unwrap();
    let seen = sandbox
        .until(|e| matches!(e, SandboxEvent::Killed { .. }))
        .await;
    let ends = seen
        .iter()
        .filter(|e| matches!(e, SandboxEvent::Exited { .. }))
        .count();
    assert_eq!(ends, 4, "{seen:?}");
}

async fn close_and_drop_leave_nothing(at: &Place) {
    for (close, mark) in [(true, "sleep 601"), (false, "sleep 602")] {
        let mut sandbox = at.start(at.spec()).await;
        let script = format!("trap '' TERM; setsid {mark} & echo up; {mark}");
        sandbox.sandbox.spawn(shell(1, &script)).unwrap();
        up(&mut sandbox, 1).await;
        let ours = at.whole_sandbox(mark).await;
        // process 1, the shell, two sleeps
        assert_eq!(ours.len(), at.outer() + 4, "{ours:?}");
        if close {
            sandbox.sandbox.close().await;
            wait_until_gone(&ours, Duration::ZERO).await;
        } else {
            drop(sandbox.sandbox);
            wait_until_gone(&ours, Duration::from_secs(2)).await;
        }
    }
}

/// As a worker: holds a sandbox until it is killed. As a test: that such a worker, killed with -9,
/// leaves nothing within a second.
async fn a_killed_worker_leaves_nothing(at: &Place) {
    if std::env::var_os(WORKER).is_some() {
        let mut sandbox = at.start(at.spec()).await;
        sandbox
            .sandbox
            .spawn(shell(
                1,
                "trap '' TERM; setsid sleep 600 & echo up; sleep 600",
            ))
            .unwrap();
        up(&mut sandbox, 1).await;
        // for the test that started us
        std::io::Write::write_all(&mut std::io::stdout(), b"holding\n").unwrap();
        tokio::time::sleep(Duration::from_secs(60)).await;
        return;
    }
    let mut worker = (at.worker("kills", "a_killed_worker_leaves_nothing"))
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = std::io::BufRead::lines(std::io::BufReader::new(worker.stdout.take().unwrap()));
    while !lines.next().unwrap().unwrap().contains("holding") {}
    let ours = at.whole_sandbox_of(worker.id(), "sleep 600").await;
    assert_eq!(ours.len(), at.outer() + 4, "{ours:?}");
    worker.kill().unwrap();
    worker.wait().unwrap();
    // a daemon has its own ways
    let patience = if at.containers.is_some() { 5 } else { 1 };
    wait_until_gone(&ours, Duration::from_secs(patience)).await;
    if let Some(containers) = &at.containers {
        containers.ended().await;
        let left = containers.leftovers().await;
        assert_eq!(left.len(), 1, "{left:?}");
        assert!(left[0].of_this_home);
        assert!(containers.docker.reap(&left[0]).await.unwrap());
        assert!(!containers.docker.reap(&left[0]).await.unwrap());
    }
}

/// What holds the sandbox up: `__sandbox`; in a container process 1 itself.
async fn a_killed_supervisor_takes_everything_with_it(at: &Place) {
    let mut sandbox = at.start(at.spec()).await;
    let script = "setsid sleep 603 & echo up; sleep 603";
    sandbox.sandbox.spawn(shell(1, script)).unwrap();
    up(&mut sandbox, 1).await;
    let ours = at.whole_sandbox("sleep 603").await;
    let name = if at.outer() > 0 {
        "__sandbox"
    } else {
        "__init"
    };
    let supervisor = ours.iter().find(|p| p.1.contains(name)).unwrap().0;
    nix::sys::signal::kill(
        nix::unistd::Pid::from_raw(supervisor),
        nix::sys::signal::Signal::SIGKILL,
    )
    .unwrap();
    let seen = sandbox
        .until(|e| matches!(e, SandboxEvent::Closed { .. }))
        .await;
    assert!(
        matches!(
            seen.last(),
            Some(SandboxEvent::Closed {
                reason: Some(Loss::Machine(_))
            })
        ),
        "{seen:?}"
    );
    wait_until_gone(&ours, Duration::from_secs(1)).await;
}

/// Stops process 1 of the sandbox in which `mark` runs, as starving it from inside would.
async fn stop_process_1(at: &Place, mark: &str) -> Vec<Seen> {
    let ours = at.whole_sandbox(mark).await;
    let init = ours.iter().find(|p| p.1.contains("__init")).unwrap().0;
    nix::sys::signal::kill(
        nix::unistd::Pid::from_raw(init),
        nix::sys::signal::Signal::SIGSTOP,
    )
    .unwrap();
    ours
}

async fn a_kill_that_process_1_does_not_answer_comes_from_outside(at: &Place) {
    let mut sandbox = at.start(at.spec()).await;
    let script = "sleep 604 & echo up; sleep 604";
    sandbox.sandbox.spawn(shell(1, script)).unwrap();
    up(&mut sandbox, 1).await;
    let ours = stop_process_1(at, "sleep 604").await;
    sandbox.sandbox.kill_all().unwrap();
    let seen = sandbox
        .until(|e| matches!(e, SandboxEvent::Closed { .. }))
        .await;
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
}

async fn the_wall_limit_holds_without_process_1(at: &Place) {
    let mut spec = at.spec();
    spec.limits.wall = Duration::from_secs(2);
    let mut sandbox = at.start(spec).await;
    let script = "sleep 605 & echo up; sleep 605";
    sandbox.sandbox.spawn(shell(1, script)).unwrap();
    up(&mut sandbox, 1).await;
    let ours = stop_process_1(at, "sleep 605").await;
    let seen = sandbox
        .until(|e| matches!(e, SandboxEvent::Closed { .. }))
        .await;
    assert!(
        seen.iter()
            .any(|e| matches!(e, SandboxEvent::LimitHit { limit, .. } if limit == "wall")),
        "{seen:?}"
    );
    wait_until_gone(&ours, Duration::ZERO).await;
}

async fn an_owner_that_does_not_read_can_still_close(at: &Place) {
    let mut sandbox = at.start(at.spec()).await;
    let mut floods = python(
        1,
        "import os\nfd = int(os.environ['INFRADEV_CHANNEL_FD'])\nwhile True: os.write(fd, b'x' * 65536)",
    );
    floods.channel = true;
    sandbox.sandbox.spawn(floods).unwrap();
    up(&mut sandbox, 1).await;
    tokio::time::sleep(Duration::from_millis(300)).await;
    let begin = Instant::now();
    sandbox.sandbox.close().await;
    assert!(
        begin.elapsed() < Duration::from_secs(2),
        "{:?}",
        begin.elapsed()
    );
}

crate::house::both!(
    kill_all_ends_sleepers_daemons_and_those_that_ignore_signals,
    ends_of_killed_processes_come_before_the_answer,
    close_and_drop_leave_nothing,
    a_killed_worker_leaves_nothing,
    a_killed_supervisor_takes_everything_with_it,
    a_kill_that_process_1_does_not_answer_comes_from_outside,
    the_wall_limit_holds_without_process_1,
    an_owner_that_does_not_read_can_still_close,
);
