//! Starting, streams, ends.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use infradev::engine::{EngineError, ProcessStatus, SandboxEvent, Stream};

use crate::house::{Place, process, python, shell};

async fn output_and_exit_codes_come_back(at: &Place) {
    let mut sandbox = at.start(at.spec()).await;
    let ran = sandbox.run(process(1, &["echo", "hello"])).await;
    assert_eq!(ran.succeeded().out(), "hello\n");
    let ran = sandbox
        .run(shell(2, "echo out; echo err >&2; exit 7"))
        .await;
    assert_eq!(ran.status, Some(ProcessStatus::Exited(7)));
    assert_eq!(
        (ran.out().as_str(), ran.stderr.as_slice()),
        ("out\n", &b"err\n"[..])
    );
    let ran = sandbox.run(shell(3, "kill -SEGV $$")).await;
    assert_eq!(ran.status, Some(ProcessStatus::Signaled(11)));
    sandbox.sandbox.close().await;
}

async fn what_cannot_be_started_is_said_and_the_sandbox_goes_on(at: &Place) {
    let mut sandbox = at.start(at.spec()).await;
    let nowhere = infradev::engine::ProcessSpec {
        cwd: "/no/such".into(),
        ..process(2, &["true"])
    };
    for (id, process) in [
        (1, process(1, &["/no/such"])),
        (2, nowhere),
        (3, process(3, &[])),
    ] {
        sandbox.sandbox.spawn(process).unwrap();
        let event = sandbox.next().await;
        assert!(
            matches!(event, SandboxEvent::NotStarted { id: said, .. } if said == id),
            "{event:?}"
        );
    }
    sandbox.run(process(4, &["true"])).await.succeeded();
}

async fn the_environment_is_what_was_given_and_nothing_else(at: &Place) {
    // PATH and HOME are in the environment of this test, and so in the worker's
    let mut spec = at.spec();
    spec.env = BTreeMap::from([("A".into(), "1".into()), ("B".into(), "2".into())]);
    let mut sandbox = at.start(spec).await;
    let mut process = process(1, &["/usr/bin/env"]);
    process.env = BTreeMap::from([("B".into(), "3".into())]);
    let ran = sandbox.run(process).await;
    let mut lines: Vec<_> = ran.succeeded().out().lines().map(str::to_owned).collect();
    lines.sort();
    assert_eq!(lines, ["A=1", "B=3"]);
}

async fn standard_input_is_given_and_then_ends(at: &Place) {
    let mut sandbox = at.start(at.spec()).await;
    let mut bytes: Vec<u8> = (0..=255).collect();
    bytes.extend(vec![b'x'; 3 << 20]);
    let mut counts = shell(1, "wc -c; cat /dev/stdin | wc -c");
    counts.stdin.clone_from(&bytes);
    let ran = sandbox.run(counts).await;
    assert_eq!(
        ran.succeeded().out().lines().next(),
        Some(bytes.len().to_string().as_str())
    );
    let ran = sandbox.run(process(2, &["cat"])).await;
    assert_eq!(ran.succeeded().out(), "");
}

async fn the_side_channel_is_a_stream_of_its_own_that_is_never_cut(at: &Place) {
    let mut spec = at.spec();
    spec.limits.output_bytes = 10;
    let mut sandbox = at.start(spec).await;
    let mut talks = python(
        1,
        "import os\nfd = int(os.environ['INFRADEV_CHANNEL_FD'])\n\
         for i in range(100): os.write(fd, b'x' * 1000)\n\
         print('y' * 100)",
    );
    talks.channel = true;
    let ran = sandbox.run(talks).await;
    assert_eq!(ran.succeeded().channel, vec![b'x'; 100_000]);
    assert_eq!(ran.stdout, b"yyyyyyyyyy");
    assert_eq!(
        (ran.truncated, ran.dropped_bytes),
        (vec![Stream::Stdout], 91)
    );
    // nobody else has it
    let ran = sandbox
        .run(shell(
            2,
            "echo ${INFRADEV_CHANNEL_FD-none}$(ls /proc/self/fd | tr -d '\\n')",
        ))
        .await;
    // the last is the folder that is listed
    assert_eq!(ran.succeeded().out(), "none0123\n");
}

async fn processes_run_side_by_side_and_output_comes_while_they_run(at: &Place) {
    let mut sandbox = at.start(at.spec()).await;
    let fifo = process(1, &["mkfifo", "/tmp/fifo"]);
    sandbox.run(fifo).await.succeeded();
    let waits = shell(2, "echo first; read wait < /tmp/fifo; echo second");
    sandbox.sandbox.spawn(waits).unwrap();
    // the first line is here while the process waits
    let seen = sandbox
        .until(|e| matches!(e, SandboxEvent::Output { id: 2, .. }))
        .await;
    assert!(
        matches!(seen.last(), Some(SandboxEvent::Output { bytes, .. }) if bytes == b"first\n"),
        "{seen:?}"
    );
    sandbox
        .sandbox
        .spawn(shell(3, "echo go > /tmp/fifo"))
        .unwrap();
    let seen = sandbox
        .until(|e| matches!(e, SandboxEvent::Exited { id: 2, .. }))
        .await;
    let second = |e: &SandboxEvent| matches!(e, SandboxEvent::Output { id: 2, bytes, .. } if bytes == b"second\n");
    assert!(seen.iter().any(second), "{seen:?}");
}

async fn a_child_that_keeps_the_streams_does_not_hold_the_end_back(at: &Place) {
    let mut sandbox = at.start(at.spec()).await;
    let begin = Instant::now();
    let ran = sandbox
        .run(shell(1, "echo before; setsid sleep 600 & exit 3"))
        .await;
    assert_eq!(ran.status, Some(ProcessStatus::Exited(3)));
    assert_eq!(ran.out(), "before\n");
    assert!(begin.elapsed() < Duration::from_secs(5));
    assert_eq!(sandbox.kill_all().await, 1);
}

async fn signals_and_limits_of_a_process_are_as_after_a_login(at: &Place) {
    let mut sandbox = at.start(at.spec()).await;
    let ran = sandbox
        .run(shell(
            1,
            "grep -E '^Sig(Blk|Ign)' /proc/self/status; ulimit -c",
        ))
        .await;
    let out = ran.succeeded().out();
    let values: Vec<_> = out
        .lines()
        .map(|l| u64::from_str_radix(l.rsplit('\t').next().unwrap(), 16).unwrap())
        .collect();
    // bits 31 and 32 are the C library's own signals, which nobody can send or reset by name
    assert_eq!(
        (values[0], values[1] & !(0b11 << 31), values[2]),
        (0, 0, 0),
        "{out}"
    );
}

async fn after_the_end_nothing_can_be_started(at: &Place) {
    let sandbox = at.start(at.spec()).await;
    let control = sandbox.sandbox.control();
    sandbox.sandbox.close().await;
    assert!(matches!(
        control.spawn(process(1, &["true"])),
        Err(EngineError::Ended)
    ));
}

async fn a_request_over_the_bound_is_refused_before_it_is_sent(at: &Place) {
    let mut sandbox = at.start(at.spec()).await;
    let mut process_too_big = process(1, &["cat"]);
    process_too_big.stdin = vec![0; infradev::engine::frame::PAYLOAD_MAX + 1];
    assert!(matches!(
        sandbox.sandbox.spawn(process_too_big),
        Err(EngineError::Protocol(_))
    ));
    sandbox.run(process(2, &["true"])).await.succeeded();
}

crate::house::both!(
    output_and_exit_codes_come_back,
    what_cannot_be_started_is_said_and_the_sandbox_goes_on,
    the_environment_is_what_was_given_and_nothing_else,
    standard_input_is_given_and_then_ends,
    the_side_channel_is_a_stream_of_its_own_that_is_never_cut,
    processes_run_side_by_side_and_output_comes_while_they_run,
    a_child_that_keeps_the_streams_does_not_hold_the_end_back,
    signals_and_limits_of_a_process_are_as_after_a_login,
    after_the_end_nothing_can_be_started,
    a_request_over_the_bound_is_refused_before_it_is_sent,
);
