//! Taking GPUs for a run: leased, looked at, given back. The hardware is scripted.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use infradev::gpu::{
    HoldError, Holder, LeaseState, Leases, ProcessKind, RawProcess, Reading, Script,
    ScriptedSource, Unavailable, Wanted, Why, equip, hold,
};

fn holder(run: &str) -> Holder {
    Holder {
        run: run.into(),
        pid: std::process::id(),
        user: "me".into(),
        host: "here".into(),
    }
}

fn gpus(count: u32) -> ScriptedSource {
    ScriptedSource::new(Script {
        gpus: count,
        ..Script::default()
    })
}

fn any(count: u32) -> Wanted<'static> {
    Wanted {
        count,
        kind: None,
        share: None,
    }
}

#[test]
fn several_are_taken_together_or_not_at_all() {
    let folder = tempfile::tempdir().unwrap();
    let leases = Leases::at(folder.path()).unwrap();
    let other = leases.acquire("GPU-00000001", &holder("x")).unwrap();
    let error = hold(&mut gpus(3), &leases, any(3), &holder("y")).unwrap_err();
    let HoldError::Busy { free: 2, why, .. } = &error else {
        panic!("{error}");
    };
    assert_eq!(why, "GPU 1 is leased by run x");
    assert_eq!(leases.state("GPU-00000000").unwrap(), LeaseState::Free);

    let held = hold(&mut gpus(3), &leases, any(2), &holder("y")).unwrap();
    let indices: Vec<u32> = held.gpus.iter().map(|g| g.index).collect();
    assert_eq!(indices, [0, 2]);
    drop(other);
    let last = hold(&mut gpus(3), &leases, any(1), &holder("z")).unwrap();
    assert_eq!(last.gpus[0].uuid, "GPU-00000001");
    drop(held);
    assert_eq!(leases.state("GPU-00000002").unwrap(), LeaseState::Free);
}

#[test]
fn a_gpu_on_which_somebody_computes_is_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    let leases = Leases::at(folder.path()).unwrap();
    let process = |kind| RawProcess::new(4242, kind, Reading::Unsupported);
    let mut source = gpus(1);
    source.change(|s| s.processes = vec![process(ProcessKind::Compute)]);
    let error = hold(&mut source, &leases, any(1), &holder("y")).unwrap_err();
    assert!(error.to_string().contains("pid 4242"), "{error}");
    assert_eq!(leases.state("GPU-00000000").unwrap(), LeaseState::Free);
    // a desktop only draws
    source.change(|s| s.processes = vec![process(ProcessKind::Graphics)]);
    let held = hold(&mut source, &leases, any(1), &holder("y")).unwrap();

    source.change(|s| s.processes = vec![process(ProcessKind::Compute)]);
    let left = held.left(&mut source);
    assert_eq!(left[0].processes, Reading::Value(vec![4242]));
    assert!(left[0].answers);
    source.change(|s| s.lost = vec![0]);
    assert!(!held.left(&mut source)[0].answers);
}

#[test]
fn a_held_gpu_is_known_by_its_uuid() {
    let folder = tempfile::tempdir().unwrap();
    let leases = Leases::at(folder.path()).unwrap();
    let mut source = gpus(3);
    let _first = leases.acquire("GPU-00000000", &holder("x")).unwrap();
    let held = hold(&mut source, &leases, any(1), &holder("y")).unwrap();
    assert_eq!(held.gpus[0].uuid, "GPU-00000001");
    // another one goes from the list: ours has another number now
    source.change(|s| s.unlisted = vec![0]);
    assert!(held.left(&mut source)[0].answers);
    source.change(|s| s.unlisted = vec![1]);
    assert!(
        !held.left(&mut source)[0].answers,
        "GPU 2 is not taken for it"
    );
    source.change(|s| {
        s.unavailable = Some(Unavailable {
            why: Why::DriverNotLoaded,
            reason: "gone".into(),
            advice: "restart".into(),
        });
    });
    assert!(!held.left(&mut source)[0].answers);
}

/// Two runs that both want both GPUs: one has them at once, and the other waits for it.
#[test]
fn runs_that_want_several_do_not_take_them_from_each_other() {
    let folder = tempfile::tempdir().unwrap();
    let leases = Leases::at(folder.path()).unwrap();
    let barrier = std::sync::Barrier::new(4);
    let got: Vec<bool> = std::thread::scope(|scope| {
        let runs: Vec<_> = (0..4)
            .map(|i| {
                let (leases, barrier) = (&leases, &barrier);
                scope.spawn(move || {
                    let mut source = ScriptedSource::new(Script {
                        gpus: 2,
                        call: std::time::Duration::from_millis(5),
                        ..Script::default()
                    });
                    barrier.wait();
                    let held = hold(&mut source, leases, any(2), &holder(&format!("r{i}")));
                    barrier.wait();
                    held.is_ok()
                })
            })
            .collect();
        runs.into_iter().map(|run| run.join().unwrap()).collect()
    });
    assert_eq!(got.iter().filter(|got| **got).count(), 1);
}

#[test]
fn memory_in_use_tells_where_the_process_list_does_not() {
    let folder = tempfile::tempdir().unwrap();
    let leases = Leases::at(folder.path()).unwrap();
    let mut source = gpus(1);
    source.change(|s| s.memory_used_bytes = Some(70 << 30));
    let error = hold(&mut source, &leases, any(1), &holder("y")).unwrap_err();
    assert!(error.to_string().contains("71680 MiB in use"), "{error}");
}

#[test]
fn only_whole_gpus_of_the_schedulers_share_are_taken() {
    let folder = tempfile::tempdir().unwrap();
    let leases = Leases::at(folder.path()).unwrap();
    let mut source = gpus(3);
    let of = |share| Wanted {
        share: Some(share),
        ..any(1)
    };
    for (share, index) in [("2", 2), ("GPU-00000001", 1), ("1,0", 0)] {
        let held = hold(&mut source, &leases, of(share), &holder("y")).unwrap();
        assert_eq!(held.gpus[0].index, index, "{share}");
    }
    for share in ["", "-1", "7", "MIG-1"] {
        let error = hold(&mut source, &leases, of(share), &holder("y")).unwrap_err();
        assert!(
            error
                .to_string()
                .contains("GPU 0 is not in CUDA_VISIBLE_DEVICES")
        );
    }
    source.change(|s| s.mig = vec![0, 1, 2]);
    let error = hold(&mut source, &leases, any(1), &holder("y")).unwrap_err();
    assert!(
        error.to_string().contains("GPU 2 is in MIG mode"),
        "{error}"
    );
}

#[test]
fn lost_gpus_and_other_kinds_are_not_taken() {
    let folder = tempfile::tempdir().unwrap();
    let leases = Leases::at(folder.path()).unwrap();
    let mut source = gpus(2);
    source.change(|s| s.lost = vec![0]);
    let held = hold(&mut source, &leases, any(1), &holder("y")).unwrap();
    assert_eq!(held.gpus[0].index, 1);
    drop(held);

    let of = |kind| Wanted {
        count: 1,
        kind: Some(kind),
        share: None,
    };
    let held = hold(&mut source, &leases, of("scripted gpu"), &holder("y")).unwrap();
    assert_eq!(held.gpus[0].name, "Scripted GPU");
    let error = hold(&mut source, &leases, of("NVIDIA H200"), &holder("y")).unwrap_err();
    assert!(
        error
            .to_string()
            .contains("this machine has 1 (Scripted GPU), GPU 0 does not answer (lost)"),
        "{error}"
    );
    let error = hold(&mut source, &leases, any(2), &holder("y")).unwrap_err();
    assert!(
        matches!(error, HoldError::TooFew { wanted: 2, .. }),
        "{error}"
    );

    source.change(|s| {
        s.unavailable = Some(Unavailable {
            why: Why::LibraryAbsent,
            reason: "no library".into(),
            advice: "install it".into(),
        });
    });
    let error = hold(&mut source, &leases, any(1), &holder("y")).unwrap_err();
    assert_eq!(error.to_string(), "no library; install it");
}

/// A made-up `/dev` and driver folder.
fn machine(nodes: &[&str]) -> (tempfile::TempDir, PathBuf, BTreeMap<OsString, OsString>) {
    let folder = tempfile::tempdir().unwrap();
    let (dev, driver) = (folder.path().join("dev"), folder.path().join("driver"));
    for dir in [&dev, &driver, &folder.path().join("other")] {
        std::fs::create_dir(dir).unwrap();
    }
    for node in nodes {
        std::fs::write(dev.join(node), "").unwrap();
    }
    std::fs::write(driver.join("libcuda.so.1"), "").unwrap();
    let link = folder.path().join("link");
    std::os::unix::fs::symlink(&driver, &link).unwrap();
    let path = format!(
        "{}:{}:{}:relative",
        folder.path().join("other").display(),
        link.display(),
        driver.display()
    );
    let env = [
        ("LD_LIBRARY_PATH", path.as_str()),
        ("NCCL_NVLS_ENABLE", "0"),
        ("AWS_SECRET_ACCESS_KEY", "secret"),
    ]
    .map(|(k, v)| (OsString::from(k), OsString::from(v)));
    (folder, dev, env.into())
}

#[test]
fn a_sandbox_is_given_the_held_gpus_and_no_other() {
    let leases_at = tempfile::tempdir().unwrap();
    let leases = Leases::at(leases_at.path()).unwrap();
    let other = leases.acquire("GPU-00000000", &holder("x")).unwrap();
    let held = hold(&mut gpus(2), &leases, any(1), &holder("y")).unwrap();
    drop(other);
    let nodes = [
        "nvidiactl",
        "nvidia-uvm",
        "nvidia-uvm-tools",
        "nvidia0",
        "nvidia1",
    ];
    let (folder, dev, env) = machine(&nodes);
    let found = equip(&held, &dev, &env).unwrap();
    let names: Vec<&str> = found
        .devices
        .iter()
        .map(|d| d.strip_prefix(&dev).unwrap().to_str().unwrap())
        .collect();
    assert_eq!(names, ["nvidiactl", "nvidia-uvm", "nvidia1"]);
    let driver = folder.path().canonicalize().unwrap().join("driver");
    assert_eq!(found.mounts.len(), 1, "the folder behind the link, once");
    assert_eq!(found.mounts[0].target, driver);
    assert_eq!(found.env["LD_LIBRARY_PATH"], driver.to_str().unwrap());
    assert_eq!(found.env["NCCL_NVLS_ENABLE"], "0");
    assert!(!found.env.contains_key("AWS_SECRET_ACCESS_KEY"));
    assert!(!found.env.contains_key("CUDA_VISIBLE_DEVICES"));
    assert_eq!(found.unisolated_env["CUDA_VISIBLE_DEVICES"], "GPU-00000001");
}

#[test]
fn a_missing_node_is_named_with_its_mend() {
    let leases_at = tempfile::tempdir().unwrap();
    let leases = Leases::at(leases_at.path()).unwrap();
    let held = hold(&mut gpus(1), &leases, any(1), &holder("y")).unwrap();
    for (nodes, missing) in [
        (&["nvidiactl", "nvidia0"][..], "nvidia-uvm"),
        (&["nvidiactl", "nvidia-uvm"][..], "nvidia0"),
    ] {
        let (_folder, dev, env) = machine(nodes);
        let error = equip(&held, &dev, &env).unwrap_err();
        assert!(
            error.contains(&Path::new("dev").join(missing).display().to_string())
                && error.contains("nvidia-modprobe"),
            "{error}"
        );
    }
}
