//! Starting, streams, ends.

use std::time::Instant;

use infradev::engine::{ProcessStatus, SandboxEvent};

use crate::house::{process, shell, spec, start};

#[tokio::test]
async fn a_program_runs_and_its_output_and_code_come_back() {
    let begin = Instant::now();
    let mut sandbox = start(spec()).await;
    eprintln!("start: {:?}", begin.elapsed());
    let begin = Instant::now();
    let ran = sandbox.run(process(1, &["echo", "hello"])).await;
    eprintln!("run: {:?}", begin.elapsed());
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
    sandbox.sandbox.spawn(process(4, &["/no/such"])).unwrap();
    let event = sandbox.next().await;
    assert!(
        matches!(event, SandboxEvent::NotStarted { id: 4, .. }),
        "{event:?}"
    );
    sandbox.sandbox.close().await;
}
