//! 16 slow GPUs, a lost one, a driver replaced underneath.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use infradev::gpu::{
    GpuDocument, ProcessKind, RawProcess, Reading, Sampler, Script, ScriptedSource, Settings,
    Snapshot, Unavailable, Why, WorkerProcess, once,
};
use tokio::sync::watch::Receiver;

fn settings() -> Settings {
    let mut settings = Settings::new(Path::new("/"));
    settings.interval = Duration::from_millis(100);
    settings
}

fn start(script: Script) -> (ScriptedSource, Sampler, Receiver<Arc<Snapshot>>) {
    let source = ScriptedSource::new(script);
    let sampler = Sampler::with_source(Box::new(source.clone()), settings());
    let receiver = sampler.subscribe();
    (source, sampler, receiver)
}

fn newest(receiver: &Receiver<Arc<Snapshot>>) -> Arc<Snapshot> {
    Arc::clone(&receiver.borrow())
}

/// Waits for a snapshot that fulfils a condition.
fn until(
    receiver: &Receiver<Arc<Snapshot>>,
    what: &str,
    condition: impl Fn(&Snapshot) -> bool,
) -> Arc<Snapshot> {
    let deadline = Instant::now() + Duration::from_secs(30);
    loop {
        let snapshot = newest(receiver);
        if condition(&snapshot) {
            return snapshot;
        }
        assert!(Instant::now() < deadline, "{what}: {snapshot:?}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Numbers to three places: a time as text and back may differ in its last bit.
fn rounded(value: &serde_json::Value) -> serde_json::Value {
    use serde_json::Value;
    match value {
        Value::Number(number) => {
            let number = number.as_f64().unwrap();
            format!("{number:.3}").into()
        }
        Value::Array(values) => values.iter().map(rounded).collect(),
        Value::Object(fields) => fields
            .iter()
            .map(|(name, value)| (name.clone(), rounded(value)))
            .collect(),
        other => other.clone(),
    }
}

#[test]
fn sixteen_slow_gpus_hold_no_reader_and_tell_their_age() {
    let (_, sampler, receiver) = start(Script {
        gpus: 16,
        call: Duration::from_millis(50),
        ..Script::default()
    });
    // a round takes 16 x 2 x 50 ms; parts of it are seen before it ends, and every look is at once
    let mut slowest = Duration::ZERO;
    let mut partial = false;
    let deadline = Instant::now() + Duration::from_secs(30);
    let snapshot = loop {
        let begun = Instant::now();
        let snapshot = newest(&receiver);
        slowest = slowest.max(begun.elapsed());
        let read = snapshot.gpus.iter().filter(|g| g.read_at_s > 0.0).count();
        partial |= (1..16).contains(&read);
        if snapshot.rounds >= 2 {
            break snapshot;
        }
        assert!(Instant::now() < deadline);
        std::thread::sleep(Duration::from_millis(1));
    };
    assert!(partial);
    assert!(slowest < Duration::from_millis(500), "{slowest:?}");
    let ages: Vec<f64> = snapshot
        .gpus
        .iter()
        .map(|g| g.age_s(snapshot.at_s))
        .collect();
    assert_eq!(ages.len(), 16);
    // the first was read 15 GPUs before the last
    assert!(ages[0] > 1.2 && ages[15] < ages[0] - 1.2, "{ages:?}");
    assert!(ages.windows(2).all(|pair| pair[0] > pair[1]), "{ages:?}");
    // the machine's load is read beside it, at its own pace
    assert!(snapshot.host.cpu_pct.value().is_some());
    assert!(snapshot.at_s - snapshot.host.read_at_s < 1.5);

    // and a stop in mid-round is quick
    let begun = Instant::now();
    sampler.stop();
    assert!(
        begun.elapsed() < Duration::from_secs(2),
        "{:?}",
        begun.elapsed()
    );
}

#[test]
fn a_stop_does_not_wait_for_a_call_that_hangs() {
    let (source, sampler, receiver) = start(Script {
        gpus: 1,
        ..Script::default()
    });
    until(&receiver, "first round", |s| s.rounds > 0);
    source.change(|script| script.call = Duration::from_secs(20));
    std::thread::sleep(Duration::from_millis(300));
    // the machine goes on being read meanwhile
    let before = newest(&receiver).host.read_at_s;
    until(&receiver, "host load", |s| s.host.read_at_s > before);
    let begun = Instant::now();
    drop(sampler);
    assert!(
        begun.elapsed() < Duration::from_secs(3),
        "{:?}",
        begun.elapsed()
    );
}

#[test]
fn a_lost_gpu_keeps_the_others() {
    let (source, _sampler, receiver) = start(Script {
        gpus: 8,
        ..Script::default()
    });
    let whole = until(&receiver, "first round", |s| s.rounds > 0);
    source.change(|script| script.lost = vec![3]);
    let hurt = until(&receiver, "loss", |s| {
        s.gpus.iter().any(|g| g.lost_since_s.is_some())
    });
    assert_eq!(hurt.gpus.len(), 8);
    for (before, after) in whole.gpus.iter().zip(&hurt.gpus) {
        assert_eq!((before.index, &before.uuid), (after.index, &after.uuid));
        if after.index == 3 {
            assert_eq!(after.utilisation_pct, Reading::Lost);
            assert_eq!(after.memory_total_bytes, Reading::Lost);
            assert_eq!(after.processes, Reading::Lost);
        } else {
            assert_eq!(after.lost_since_s, None);
            assert_eq!(after.utilisation_pct, Reading::Value(after.index));
        }
    }
    // the time of the loss stays what it was, and the others go on
    let since = hurt.gpus[3].lost_since_s;
    let rounds = hurt.rounds;
    let later = until(&receiver, "three rounds more", |s| s.rounds > rounds + 3);
    assert_eq!(later.gpus[3].lost_since_s, since);
    assert!(later.gpus[4].read_at_s > hurt.gpus[4].read_at_s);
    source.change(|script| script.lost.clear());
    let back = until(&receiver, "return", |s| s.gpus[3].lost_since_s.is_none());
    assert_eq!(back.gpus[3].utilisation_pct, Reading::Value(3));
}

#[test]
fn unknown_is_never_zero() {
    let (_, _sampler, receiver) = start(Script {
        gpus: 3,
        silent: vec![1],
        forbidden: vec![2],
        ..Script::default()
    });
    let snapshot = until(&receiver, "first round", |s| s.rounds > 0);
    assert_eq!(snapshot.gpus[0].utilisation_pct, Reading::Value(0));
    assert_eq!(snapshot.gpus[1].utilisation_pct, Reading::Unsupported);
    assert_eq!(snapshot.gpus[1].ecc_uncorrected, Reading::Unsupported);
    assert_eq!(snapshot.gpus[1].memory_used_bytes, Reading::Value(1 << 30));
    assert_eq!(snapshot.gpus[2].power_w, Reading::NoPermission);
    let text = serde_json::to_value(&*snapshot).unwrap();
    assert_eq!(text["gpus"][0]["utilisation_pct"], 0);
    assert_eq!(text["gpus"][1]["utilisation_pct"], "unsupported");
    assert_eq!(text["gpus"][2]["utilisation_pct"], "no_permission");
    let back: Snapshot = serde_json::from_value(text.clone()).unwrap();
    assert_eq!(
        rounded(&serde_json::to_value(&back).unwrap()),
        rounded(&text)
    );
}

#[test]
fn a_driver_that_was_replaced_recovers_without_a_restart() {
    let mismatch = Unavailable {
        why: Why::DriverMismatch,
        reason: "driver/library version mismatch".into(),
        advice: "reload".into(),
    };
    let (source, _sampler, receiver) = start(Script {
        gpus: 2,
        ..Script::default()
    });
    until(&receiver, "first round", |s| s.gpus.len() == 2);
    source.change(|script| script.unavailable = Some(mismatch.clone()));
    let broken = until(&receiver, "mismatch", |s| {
        s.unavailable
            .as_ref()
            .is_some_and(|u| u.why == Why::DriverMismatch)
    });
    assert!(broken.gpus.is_empty());
    let wait = broken.retry_at_s.unwrap() - broken.at_s;
    assert!(wait <= 2.1, "{wait}");
    // the waits grow: it is not asked again and again
    let opened = source.change(|script| script.opened);
    std::thread::sleep(Duration::from_millis(2500));
    let tries = source.change(|script| script.opened) - opened;
    assert!((1..=3).contains(&tries), "{tries}");
    source.change(|script| script.unavailable = None);
    let mended = until(&receiver, "recovery", |s| s.gpus.len() == 2);
    assert_eq!(
        (mended.unavailable.clone(), mended.retry_at_s),
        (None, None)
    );
    assert!(mended.driver.is_some());
}

#[test]
fn the_slow_lane_is_read_only_when_asked_for() {
    let (source, sampler, receiver) = start(Script {
        gpus: 1,
        ..Script::default()
    });
    let snapshot = until(&receiver, "rounds", |s| s.rounds > 2);
    assert_eq!(snapshot.gpus[0].pcie, Reading::Unsupported);
    sampler.set_slow_lane(true);
    until(&receiver, "PCIe", |s| s.gpus[0].pcie.value().is_some());
    // it stays between its readings
    let (rounds, calls) = (newest(&receiver).rounds, source.change(|s| s.calls));
    let later = until(&receiver, "rounds", |s| s.rounds > rounds + 5);
    assert!(later.gpus[0].pcie.value().is_some());
    // counting, figures, processes: three calls a round, and hardly a fourth
    let made = source.change(|s| s.calls) - calls;
    assert!(made <= (later.rounds - rounds + 1) * 3 + 1, "{made}");
    sampler.set_slow_lane(false);
    until(&receiver, "no PCIe", |s| {
        s.gpus[0].pcie == Reading::Unsupported
    });
}

#[test]
fn a_process_on_a_gpu_is_told_with_its_run() {
    let mut child = std::process::Command::new("sleep")
        .arg("60")
        .env("INFRADEV_RUN", "run-of-its-own")
        .spawn()
        .unwrap();
    let raw = |pid| RawProcess {
        pid,
        kind: ProcessKind::Compute,
        memory_bytes: Reading::Value(5),
    };
    let (_, sampler, receiver) = start(Script {
        gpus: 1,
        // the last: of another name space
        processes: vec![raw(child.id()), raw(std::process::id()), raw(u32::MAX)],
        ..Script::default()
    });
    sampler.set_workers(vec![WorkerProcess {
        run: "run-of-the-test".into(),
        pid: std::process::id(),
    }]);
    let of = |snapshot: &Snapshot, at: usize| match &snapshot.gpus[0].processes {
        Reading::Value(processes) => processes[at].clone(),
        unknown => panic!("{unknown:?}"),
    };
    let snapshot = until(&receiver, "attribution", |s| {
        s.rounds > 0 && of(s, 1).run.is_some() && s.host.processes_total > 0
    });
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!(of(&snapshot, 0).command, Reading::Value("sleep 60".into()));
    assert!(of(&snapshot, 0).run.is_some());
    assert_eq!(of(&snapshot, 1).run.as_deref(), Some("run-of-the-test"));
    assert_eq!(of(&snapshot, 2).command, Reading::Unsupported);
    assert_eq!(of(&snapshot, 2).run, None);
    assert!(
        snapshot
            .host
            .processes
            .iter()
            .any(|p| p.run == "run-of-the-test")
    );
}

#[test]
fn the_document_of_this_machine() {
    let document = once(Path::new("/"));
    assert_eq!(document.schema, 1);
    assert!(document.complete);
    assert!(document.snapshot.host.cpu_pct.value().is_some());
    // GPUs, or the reason why there are none
    assert_ne!(
        document.snapshot.gpus.is_empty(),
        document.snapshot.unavailable.is_none()
    );
    let text = serde_json::to_value(&document).unwrap();
    let back: GpuDocument = serde_json::from_str(&text.to_string()).unwrap();
    assert_eq!(
        rounded(&serde_json::to_value(&back).unwrap()),
        rounded(&text)
    );
    let schema = serde_json::to_value(schemars::schema_for!(GpuDocument)).unwrap();
    assert!(schema["properties"]["host"].is_object(), "{schema}");
}
