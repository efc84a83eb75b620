//! What is printed arrives as it was printed, whatever lies on the way, and is kept nowhere.

use std::time::{Duration, Instant};

use infradev::engine::{SandboxEvent, Stream};
use sha2::{Digest, Sha256};

use crate::containers::Containers;
use crate::house::{Place, WORKER, python, shell};

/// Random bytes in pieces of all sizes; their hash is said beside them.
const NOISE: &str = "import hashlib, os, random, sys\n\
    random.seed(7); h = hashlib.sha256(); left = 40_000_001\n\
    while left:\n\
    \x20   b = os.urandom(min(left, random.choice([1, 3, 100, 4095, 16384, 16385, 65536, 300_007])))\n\
    \x20   left -= len(b); h.update(b)\n\
    \x20   view = memoryview(b)\n\
    \x20   while view: view = view[os.write(1, view):]\n\
    print(h.hexdigest(), file=sys.stderr, end='')\n";

async fn random_bytes_arrive_as_they_were_written(at: &Place) {
    let mut spec = at.spec();
    spec.limits.output_bytes = 1 << 30;
    let mut sandbox = at.start(spec).await;
    let ran = sandbox.run(python(1, NOISE)).await;
    assert_eq!(ran.succeeded().stdout.len(), 40_000_001);
    let hash: String = (Sha256::digest(&ran.stdout).iter())
        .map(|byte| format!("{byte:02x}"))
        .collect();
    assert_eq!(String::from_utf8_lossy(&ran.stderr), hash);
}

async fn lines_progress_and_characters_arrive_whole(at: &Place) {
    let mut spec = at.spec();
    spec.limits.output_bytes = 1 << 30;
    let mut sandbox = at.start(spec).await;
    let ran = sandbox
        .run(python(1, "print('x' * 5_000_000); print('end')"))
        .await;
    let line = [vec![b'x'; 5_000_000], b"\nend\n".to_vec()].concat();
    assert!(ran.succeeded().stdout == line);
    let ran = sandbox
        .run(python(
            2,
            "import sys\nfor i in range(5000): print(f'\\r{i / 50:5.1f} %', end='', flush=True)",
        ))
        .await;
    let expected: String = (0..5000)
        .map(|i| format!("\r{:5.1} %", f64::from(i) / 50.0))
        .collect();
    assert_eq!(ran.succeeded().out(), expected);
    // each character in two pieces, with time to be sent alone
    let ran = sandbox
        .run(python(
            3,
            "import os, time\nfor c in 'é€😀' * 20:\n\
             \x20   b = c.encode()\n\
             \x20   for piece in (b[:1], b[1:]): os.write(1, piece); time.sleep(0.003)",
        ))
        .await;
    assert_eq!(ran.succeeded().stdout, "é€😀".repeat(20).as_bytes());
}

/// As a worker: takes 2 GB of one process, and says what that took. As a test: that it took little.
async fn two_gigabytes_pass_through_and_nobody_keeps_them(at: &Place) {
    const BYTES: u64 = 2 << 30;
    if std::env::var_os(WORKER).is_none() {
        let name = "two_gigabytes_pass_through_and_nobody_keeps_them";
        let output = at.worker("streams", name).output().unwrap();
        let said = String::from_utf8_lossy(&output.stdout);
        let line = said.lines().find(|line| line.starts_with("took "));
        eprintln!(
            "2 GiB on the engine {}: {}",
            at.engine.kind().name(),
            line.unwrap_or(&said)
        );
        assert!(output.status.success(), "{said}");
        return;
    }
    let mut spec = at.spec();
    spec.limits.output_bytes = 2 * BYTES;
    spec.limits.wall = Duration::from_secs(300);
    let mut sandbox = at.start(spec).await;
    let begun = Instant::now();
    sandbox
        .sandbox
        .spawn(shell(1, &format!("head -c {BYTES} /dev/zero")))
        .unwrap();
    let mut seen = 0;
    loop {
        match sandbox.next().await {
            SandboxEvent::Output {
                stream: Stream::Stdout,
                bytes,
                ..
            } => seen += bytes.len() as u64,
            SandboxEvent::Exited { dropped_bytes, .. } => {
                assert_eq!(dropped_bytes, 0);
                break;
            }
            _ => {}
        }
    }
    assert_eq!(seen, BYTES);
    let took = begun.elapsed();
    if let Some(containers) = &at.containers {
        let inspected = containers.only().await;
        assert_eq!(inspected.log_path.as_deref().unwrap_or(""), "");
        if let Some(bytes) = Containers::folder_bytes(&inspected) {
            assert!(bytes < 1 << 20, "{bytes}");
        }
    }
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let peak: u64 = peak
        .unwrap()
        .split_whitespace()
        .next()
        .unwrap()
        .parse()
        .unwrap();
    let line = format!("\ntook {took:.1?}, at most {} MiB of memory\n", peak >> 10);
    std::io::Write::write_all(&mut std::io::stdout(), line.as_bytes()).unwrap();
    assert!(peak >> 10 < 160, "{peak} KiB");
    sandbox.sandbox.close().await;
}

crate::house::both!(
    random_bytes_arrive_as_they_were_written,
    lines_progress_and_characters_arrive_whole,
    two_gigabytes_pass_through_and_nobody_keeps_them,
);
