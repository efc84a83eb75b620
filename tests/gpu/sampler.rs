//! 16 slow GPUs, a lost one, a driver replaced underneath.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use infradev::gpu::{
    GpuDocument, GpuLease, Holder, Leases, ProcessKind, RawProcess, Reading, Sampler, Script,
    ScriptedSource, Settings, Snapshot, Unavailable, UseKind, Why, WorkerProcess, here, once,
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
fn a_gpu_that_is_not_listed_any_more_keeps_its_row() {
    let (source, _sampler, receiver) = start(Script {
        gpus: 4,
        ..Script::default()
    });
    until(&receiver, "first round", |s| s.rounds > 0);
    let lost = |s: &Snapshot| -> Vec<String> {
        let lost = s.gpus.iter().filter(|gpu| gpu.lost_since_s.is_some());
        lost.map(|gpu| gpu.uuid.clone()).collect()
    };
    // the others move up
    source.change(|script| script.unlisted = vec![1]);
    let fewer = until(&receiver, "loss", |s| !lost(s).is_empty());
    assert_eq!(lost(&fewer), ["GPU-00000001"]);
    let there: Vec<(u32, &str)> = fewer
        .gpus
        .iter()
        .filter(|gpu| gpu.lost_since_s.is_none())
        .map(|gpu| (gpu.index, gpu.uuid.as_str()))
        .collect();
    assert_eq!(
        there,
        [
            (0, "GPU-00000000"),
            (1, "GPU-00000002"),
            (2, "GPU-00000003")
        ]
    );
    // and the driver is opened anew meanwhile: it is still known
    let none = Unavailable {
        why: Why::Failed,
        reason: "reset".into(),
        advice: String::new(),
    };
    source.change(|script| script.unavailable = Some(none));
    until(&receiver, "reset", |s| s.unavailable.is_some());
    source.change(|script| script.unavailable = None);
    let again = until(&receiver, "after the reset", |s| s.gpus.len() == 4);
    assert_eq!(lost(&again), ["GPU-00000001"]);
    source.change(|script| script.unlisted.clear());
    let back = until(&receiver, "return", |s| {
        s.gpus.len() == 4 && lost(s).is_empty()
    });
    assert_eq!(back.gpus[1].uuid, "GPU-00000001");
}

#[test]
fn instances_of_a_gpu_are_told_and_its_whole_has_no_utilisation() {
    let (_, _sampler, receiver) = start(Script {
        gpus: 2,
        mig: vec![1],
        ..Script::default()
    });
    let snapshot = until(&receiver, "first round", |s| s.rounds > 0);
    assert_eq!(snapshot.gpus[0].mig, Reading::Value(Vec::new()));
    assert_eq!(snapshot.gpus[1].utilisation_pct, Reading::Unsupported);
    let Reading::Value(parts) = &snapshot.gpus[1].mig else {
        panic!("{:?}", snapshot.gpus[1].mig);
    };
    assert_eq!(parts.len(), 2);
    assert_eq!((parts[1].index, parts[1].profile.as_str()), (1, "1g.10gb"));
    let text = serde_json::to_value(&*snapshot).unwrap();
    assert_eq!(text["gpus"][1]["mig"][0]["uuid"], "MIG-0001-0");
    assert_eq!(text["gpus"][1]["bus_id"], "00000000:01:00.0");
    assert_eq!(text["gpus"][1]["shutdown_c"], "unsupported");
    let back: Snapshot = serde_json::from_value(text).unwrap();
    assert_eq!(back.gpus[1].fixed, snapshot.gpus[1].fixed);
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
        .env("RANK", "3")
        .spawn()
        .unwrap();
    let raw = |pid| RawProcess::new(pid, ProcessKind::Compute, Reading::Value(5));
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
        // the first round may come before the workers are known
        s.rounds > 0
            && of(s, 1).run.as_deref() == Some("run-of-the-test")
            && s.host.processes_total > 0
    });
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!(of(&snapshot, 0).command, Reading::Value("sleep 60".into()));
    assert!(of(&snapshot, 0).run.is_some());
    assert_eq!(of(&snapshot, 0).rank, Some(3));
    assert_eq!(of(&snapshot, 1).run.as_deref(), Some("run-of-the-test"));
    assert_eq!(of(&snapshot, 2).command, Reading::Unsupported);
    assert_eq!((of(&snapshot, 2).run, of(&snapshot, 2).rank), (None, None));
    let last = snapshot.gpus[0].uses().pop().unwrap();
    let words = format!("pid {} other namespace", u32::MAX);
    assert_eq!((last.kind, last.words), (UseKind::Other, words));
    assert!(
        snapshot
            .host
            .processes
            .iter()
            .any(|p| p.run == "run-of-the-test")
    );
}

#[test]
fn a_lease_is_seen_from_its_taking_to_its_end() {
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path().join("leases");
    let mut settings = settings();
    // a folder that is not there yet is not made by looking
    settings.leases = Leases::look_at(&place);
    let source = ScriptedSource::new(Script {
        gpus: 3,
        lost: vec![2],
        ..Script::default()
    });
    let sampler = Sampler::with_source(Box::new(source), settings);
    let receiver = sampler.subscribe();
    let first = until(&receiver, "first round", |s| s.rounds > 0);
    assert_eq!(first.gpus[1].lease, Reading::Value(GpuLease::Free));
    assert!(!place.exists());
    let words = |snapshot: &Snapshot, at: usize| -> Vec<String> {
        let uses = snapshot.gpus[at].uses();
        uses.into_iter().map(|found| found.words).collect()
    };
    assert_eq!(words(&first, 1), ["free"]);

    let holder = Holder {
        run: "20261129-174101-ab12".into(),
        pid: std::process::id(),
        user: "me".into(),
        host: "here".into(),
    };
    let leases = Leases::at(&place).unwrap();
    let lease = leases.acquire("GPU-00000001", &holder).unwrap();
    let held = until(&receiver, "lease", |s| {
        s.gpus[1].lease != Reading::Value(GpuLease::Free)
    });
    assert_eq!(words(&held, 1), ["leased: run ab12"]);
    assert_eq!(words(&held, 0), ["free"]);
    let text = serde_json::to_value(&*held).unwrap();
    assert_eq!(text["gpus"][0]["lease"]["state"], "free");
    assert_eq!(text["gpus"][1]["lease"]["run"], "20261129-174101-ab12");
    assert_eq!(text["gpus"][1]["lease"]["user"], "me");
    let back: Snapshot = serde_json::from_value(text).unwrap();
    assert_eq!(back.gpus[1].lease, held.gpus[1].lease);
    drop(lease);
    until(&receiver, "end", |s| {
        s.gpus[1].lease == Reading::Value(GpuLease::Free)
    });
    // a record whose writer is gone
    let text = serde_json::to_string(&holder).unwrap();
    std::fs::write(place.join("GPU-00000000.lease"), text).unwrap();
    let stale = until(&receiver, "stale", |s| {
        matches!(s.gpus[0].lease, Reading::Value(GpuLease::Stale { .. }))
    });
    assert_eq!(words(&stale, 0), ["stale lease: run ab12"]);
}

#[test]
fn a_look_tells_which_gpus_a_run_could_take() {
    let folder = tempfile::tempdir().unwrap();
    let leases = Leases::at(&folder.path().join("leases")).unwrap();
    let holder = Holder {
        run: "r".into(),
        pid: 1,
        user: "me".into(),
        host: "here".into(),
    };
    let _lease = leases.acquire("GPU-00000001", &holder).unwrap();
    let script = Script {
        gpus: 4,
        lost: vec![2],
        forbidden: vec![3],
        ..Script::default()
    };
    let look = |script: Script| here(ScriptedSource::new(script), leases.clone(), folder.path());
    let free: Vec<(u32, bool)> = look(script.clone())
        .unwrap()
        .iter()
        .map(|gpu| (gpu.index, gpu.free()))
        .collect();
    // those that do not answer are not to be had
    assert_eq!(free, [(0, true), (1, false)]);
    let unavailable = Unavailable {
        why: Why::NoGpu,
        reason: "none".into(),
        advice: "none".into(),
    };
    let none = look(Script {
        unavailable: Some(unavailable.clone()),
        ..script
    });
    assert_eq!(none.unwrap_err(), unavailable);
}

#[test]
fn live_runs_of_the_home_are_found_without_being_told() {
    let home = tempfile::tempdir().unwrap();
    let mut worker = std::process::Command::new("sleep")
        .arg("60")
        .spawn()
        .unwrap();
    let stat = std::fs::read_to_string(format!("/proc/{}/stat", worker.id())).unwrap();
    let after = stat.rsplit_once(')').unwrap().1;
    let begun: u64 = after.split_whitespace().nth(19).unwrap().parse().unwrap();
    let journal = |run: &str, start: u64| {
        let folder = home.path().join("runs").join(run);
        std::fs::create_dir_all(&folder).unwrap();
        let line = serde_json::json!({
            "v": 1, "seq": 1, "at_s": 1.0, "event": "run_started", "pid": worker.id(), "pid_start": start,
            "host": "here", "boot": "b", "version": "1", "attempt": 1,
        });
        std::fs::write(folder.join("journal.jsonl"), format!("{line}\n")).unwrap();
        folder
    };
    let live = journal("live", begun);
    // its number is another process's now
    journal("dead", begun - 1);
    let mut settings = Settings::new(home.path());
    settings.interval = Duration::from_millis(100);
    let sampler = Sampler::with_source(Box::new(ScriptedSource::default()), settings);
    let receiver = sampler.subscribe();
    let found = until(&receiver, "the run", |s| s.host.processes_total > 0);
    assert_eq!(found.host.processes[0].run, "live");
    assert_eq!(found.host.processes[0].pid, worker.id());
    assert_eq!(found.host.processes_total, 1);
    // a finished run is not looked into again
    std::fs::write(live.join("summary.json"), "{}").unwrap();
    until(&receiver, "its end", |s| s.host.processes_total == 0);
    worker.kill().unwrap();
    worker.wait().unwrap();
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
