//! Killed, stopped, cut off, deceived, moved.

use std::ffi::OsString;
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use infradev::environment::{EnvironmentError, Request, Step, prepare, verify};

use super::support::*;

#[test]
fn a_killed_build_leaves_nothing_half_usable() {
    if let Some(folder) = std::env::var_os("ENVIRONMENT_TEST_BUILD") {
        // the child that is killed
        prepare(&request_without_uv(Path::new(&folder)), &|_| {}).unwrap();
        return;
    }
    let place = Place::new(&without_numpy());
    let site = |folder: &Path| folder.join("venv/lib");
    // killed when the virtual environment is there, when packages are, when it is being sealed
    let phases: [&dyn Fn(&Path) -> bool; 3] = [
        &|folder| site(folder).exists(),
        &|folder| site(folder).exists() && files(&site(folder)).len() > 50,
        &|folder| {
            folder
                .join("venv/bin")
                .metadata()
                .is_ok_and(|m| m.mode() & 0o222 == 0)
                || folder.join("manifest.txt").exists()
        },
    ];
    let mut killed_in_the_middle = 0;
    for reached in phases {
        let mut child = spawn(&place.request());
        let deadline = Instant::now() + Duration::from_secs(300);
        while child.try_wait().unwrap().is_none() && Instant::now() < deadline {
            if place.environments().iter().any(|folder| reached(folder)) {
                child.kill().unwrap();
                break;
            }
            std::thread::yield_now();
        }
        let _ = child.wait().unwrap();
        let folders = place.environments();
        assert_eq!(folders.len(), 1);
        if !folders[0].join("ready.json").exists() {
            killed_in_the_middle += 1;
        }
        let hash = folders[0]
            .file_name()
            .unwrap()
            .to_str()
            .unwrap()
            .to_string();
        let (environment, _) = build(&place.request());
        assert_eq!(environment.hash, hash);
        python(&environment, "import pytest");
        assert_eq!(verify(&place.home(), &hash).unwrap(), []);
        // and once more from the start, with what is in the cache by now
        let moved = place
            .folder
            .path()
            .join(format!("old-{killed_in_the_middle}"));
        fs::rename(&folders[0], moved).unwrap();
    }
    assert!(
        killed_in_the_middle >= 2,
        "{killed_in_the_middle} builds were killed in time"
    );
}

#[test]
fn an_orphan_of_a_killed_worker_still_holds_the_lock() {
    let place = Place::new(SMALL);
    let mut request = place.request();
    // a uv that takes its time, and notes when it ends
    let uv = shared_uv().join("uv");
    let bin = place.folder.path().join("slow");
    let log = place.folder.path().join("ended.log");
    fs::create_dir(&bin).unwrap();
    let script = format!(
        "#!/bin/sh\ncase \"$1\" in venv) sleep 2; '{0}' \"$@\"; echo ended >> '{1}';; *) exec '{0}' \"$@\";; esac\n",
        uv.display(),
        log.display()
    );
    fs::write(bin.join("uv"), script).unwrap();
    fs::set_permissions(bin.join("uv"), fs::Permissions::from_mode(0o755)).unwrap();
    put_first_on_path(&mut request, &bin);
    let stop = request.stop.clone();
    let first = request.clone();
    std::thread::scope(|scope| {
        let begun = scope.spawn(move || prepare(&first, &|_| {}));
        std::thread::sleep(Duration::from_millis(700));
        // the stop kills uv's whole group: the lock is free at once
        stop.store(true, std::sync::atomic::Ordering::Relaxed);
        assert!(matches!(
            begun.join().unwrap(),
            Err(EnvironmentError::Stopped)
        ));
    });
    assert!(!log.exists());
    request
        .stop
        .store(false, std::sync::atomic::Ordering::Relaxed);

    // a worker that is killed leaves its uv: the next one waits for that
    let mut child = spawn(&request);
    let deadline = Instant::now() + Duration::from_secs(60);
    while place.environments().is_empty() && Instant::now() < deadline {
        std::thread::sleep(Duration::from_millis(5));
    }
    std::thread::sleep(Duration::from_millis(200));
    child.kill().unwrap();
    let _ = child.wait();
    let (environment, said) = build(&request);
    assert_eq!(said.first().map(|p| p.step), Some(Step::Wait), "{said:?}");
    assert!(environment.built);
    assert_eq!(fs::read_to_string(&log).unwrap().lines().count(), 2);
    assert_eq!(verify(&place.home(), &environment.hash).unwrap(), []);
}

#[test]
fn what_the_lock_does_not_promise_is_refused() {
    let wrong = "0".repeat(64);
    let lock = format!("iniconfig==2.3.1 --hash=sha256:{wrong}\n");
    let place = Place::new(&lock);
    let error = prepare(&place.request(), &|_| {}).unwrap_err();
    assert!(error.is_input());
    let EnvironmentError::HashMismatch { package, .. } = &error else {
        panic!("{error}");
    };
    assert_eq!(package, "iniconfig==2.3.1");
    assert_eq!(place.environments(), Vec::<PathBuf>::new());

    let place = Place::new("iniconfig==2.3.1\n");
    let error = prepare(&place.request(), &|_| {}).unwrap_err();
    assert!(
        error.is_input() && error.to_string().contains("requirements.lock:1: "),
        "{error}"
    );
}

#[test]
fn without_a_network_the_packages_that_are_missing_are_named() {
    let place = Place::new(SMALL);
    let mut request = place.request();
    request.host_env.insert("UV_OFFLINE".into(), "1".into());
    let missing = |request: &Request| match prepare(request, &|_| {}).unwrap_err() {
        EnvironmentError::Missing { packages, .. } => packages,
        other => panic!("{other}"),
    };
    let all = ["iniconfig==2.3.1", "packaging==26.4", "pluggy==1.7.0"];
    assert_eq!(missing(&request), all);
    assert_eq!(place.environments(), Vec::<PathBuf>::new());

    // a proxy that nobody answers at, and one package in the cache
    request.host_env.remove(&OsString::from("UV_OFFLINE"));
    let lock = request.task_dir.join("requirements.lock");
    fs::write(&lock, SMALL.split("packaging==").next().unwrap()).unwrap();
    build(&request);
    fs::write(&lock, SMALL).unwrap();
    for name in [
        "HTTPS_PROXY",
        "https_proxy",
        "ALL_PROXY",
        "HTTP_PROXY",
        "http_proxy",
    ] {
        request
            .host_env
            .insert(name.into(), "http://127.0.0.1:9".into());
    }
    request.host_env.insert("NO_PROXY".into(), "".into());
    request.host_env.insert("no_proxy".into(), "".into());
    request
        .host_env
        .insert("UV_HTTP_RETRIES".into(), "0".into());
    assert_eq!(missing(&request), all[1..]);
    let error = prepare(&request, &|_| {}).unwrap_err();
    assert!(!error.is_input());
    let message = error.to_string();
    assert!(
        message.contains("packaging==26.4, pluggy==1.7.0; go online once"),
        "{message}"
    );
}

#[test]
fn a_home_that_moved_and_an_interpreter_that_went_are_noticed() {
    let place = Place::new(SMALL);
    let (first, _) = build(&place.request());
    fs::rename(place.home(), place.folder.path().join("elsewhere")).unwrap();
    let mut request = place.request();
    request.home = place.folder.path().join("elsewhere");
    let (moved, _) = build(&request);
    assert!(moved.built && moved.hash == first.hash && moved.python != first.python);
    let bin = moved.python.parent().unwrap();
    fs::set_permissions(bin, fs::Permissions::from_mode(0o755)).unwrap();
    fs::remove_file(&moved.python).unwrap();
    std::os::unix::fs::symlink("/nowhere/python", &moved.python).unwrap();
    let (again, _) = build(&request);
    assert!(again.built);
    python(&again, "import pluggy");
}

#[test]
fn after_a_restart_files_that_were_cut_short_are_noticed_once() {
    let place = Place::new(SMALL);
    let (first, _) = build(&place.request());
    let folder = &place.environments()[0];
    let ready = folder.join("ready.json");
    let own = fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap();
    let text = fs::read_to_string(&ready).unwrap();
    assert!(text.contains(own.trim()));
    // as built under another boot
    let earlier = text.replace(own.trim(), "00000000-0000-0000-0000-000000000000");
    fs::write(&ready, &earlier).unwrap();
    assert!(!build(&place.request()).0.built);
    assert!(fs::read_to_string(&ready).unwrap().contains(own.trim()));

    fs::write(&ready, &earlier).unwrap();
    let venv = first.python.parent().unwrap().parent().unwrap();
    let victim = files(&venv.join("lib"))
        .into_iter()
        .find(|file| file.ends_with("pluggy/_hooks.py"))
        .unwrap();
    // the cache's copy is left as it is
    let folder = victim.parent().unwrap();
    fs::set_permissions(folder, fs::Permissions::from_mode(0o755)).unwrap();
    fs::remove_file(&victim).unwrap();
    fs::write(&victim, "").unwrap();
    let (again, _) = build(&place.request());
    assert!(again.built && again.hash == first.hash);
    python(&again, "import pluggy");
}
