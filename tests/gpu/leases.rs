//! Leases between processes, some of which die.

use std::io::{BufRead, BufReader};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use infradev::gpu::{Holder, LeaseError, LeaseState, Leases};

fn holder(run: &str) -> Holder {
    Holder {
        run: run.into(),
        pid: std::process::id(),
        user: "me".into(),
        host: "here".into(),
    }
}

/// Another process that takes a lease and keeps it until it is killed.
fn other(folder: &Path, uuid: &str) -> Child {
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args([
            "--exact",
            "leases::a_lease_ends_with_its_process",
            "--nocapture",
        ])
        .env("LEASE_TEST_FOLDER", folder)
        .env("LEASE_TEST_UUID", uuid)
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
    assert!(
        lines.any(|line| line.unwrap() == "taken"),
        "the other process took nothing"
    );
    child
}

#[test]
fn a_lease_ends_with_its_process() {
    if let Some(folder) = std::env::var_os("LEASE_TEST_FOLDER") {
        let leases = Leases::at(Path::new(&folder)).unwrap();
        let uuid = std::env::var("LEASE_TEST_UUID").unwrap();
        let _lease = leases.acquire(&uuid, &holder("other")).unwrap();
        eprintln!("taken");
        std::thread::sleep(std::time::Duration::from_secs(60));
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let leases = Leases::at(&folder.path().join("leases")).unwrap();
    let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o7777;
    assert_eq!(mode(&folder.path().join("leases")), 0o1777);

    let mut child = other(&folder.path().join("leases"), "GPU-1");
    let Err(LeaseError::Held {
        holder: Some(who), ..
    }) = leases.acquire("GPU-1", &holder("mine"))
    else {
        panic!("taken twice");
    };
    assert_eq!((who.run.as_str(), who.pid), ("other", child.id()));
    assert_eq!(
        leases.state("GPU-1").unwrap(),
        LeaseState::Held(Some(who.clone()))
    );

    child.kill().unwrap();
    child.wait().unwrap();
    // its record is left, its lock is not
    assert_eq!(
        leases.list().unwrap(),
        [("GPU-1".to_string(), LeaseState::Stale(who))]
    );
    let mine = leases.acquire("GPU-1", &holder("mine")).unwrap();
    assert_eq!(
        leases.state("GPU-1").unwrap(),
        LeaseState::Held(Some(holder("mine")))
    );
    assert_eq!(mode(&folder.path().join("leases/GPU-1.lease")), 0o666);
    drop(mine);
    assert_eq!(leases.state("GPU-1").unwrap(), LeaseState::Free);
    assert_eq!(leases.state("GPU-never-seen").unwrap(), LeaseState::Free);
}

#[test]
fn what_others_put_into_the_folder_leads_nowhere() {
    let folder = tempfile::tempdir().unwrap();
    let leases = Leases::at(folder.path()).unwrap();
    let victim = folder.path().join("victim");
    std::fs::write(&victim, "keep").unwrap();
    std::os::unix::fs::symlink(&victim, folder.path().join("GPU-1.lease")).unwrap();
    assert!(matches!(
        leases.acquire("GPU-1", &holder("x")),
        Err(LeaseError::Io { .. })
    ));
    assert_eq!(std::fs::read_to_string(&victim).unwrap(), "keep");
    for uuid in ["../GPU-2", "", "GPU/3", "GPU\n4"] {
        assert!(matches!(
            leases.acquire(uuid, &holder("x")),
            Err(LeaseError::NoUuid { .. })
        ));
    }
    // a pipe must not hold us
    let pipe = folder.path().join("GPU-5.lease");
    assert!(
        Command::new("mkfifo")
            .arg(&pipe)
            .status()
            .unwrap()
            .success()
    );
    assert!(matches!(
        leases.acquire("GPU-5", &holder("x")),
        Err(LeaseError::Io { .. })
    ));
    std::fs::write(folder.path().join("GPU-6.lease"), "no record").unwrap();
    assert_eq!(leases.state("GPU-6").unwrap(), LeaseState::Free);
    leases.acquire("GPU-6", &holder("x")).unwrap();
    // a folder that is a link is none
    let link = folder.path().join("link");
    std::os::unix::fs::symlink(folder.path(), &link).unwrap();
    assert!(Leases::at(&link).is_err());
}
