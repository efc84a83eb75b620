//! Built once, shared by hard links, sealed; found again without a process.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::{Duration, Instant};

use infradev::engine::spec::Access;
use infradev::environment::{Environment, Step, find, verify};

use super::support::*;

#[test]
fn the_bundled_lock_is_built_once_shared_and_sealed() {
    let place = Place::new(FULL);
    let mut request = place.request();
    let real = find(None, &request.host_env, &place.home()).unwrap();
    let uv = shared_uv().join("uv");
    let (bin, log) = noting(
        place.folder.path(),
        &[("python3", real.base_executable.as_path()), ("uv", &uv)],
    );
    put_first_on_path(&mut request, &bin);

    let begun = Instant::now();
    let (environment, said) = build(&request);
    eprintln!("cold build: {:?}", begun.elapsed());
    assert!(environment.built);
    assert!(said.iter().any(|p| p.step == Step::Install), "{said:?}");
    let names: BTreeSet<&str> = environment
        .packages
        .iter()
        .map(|p| p.name.as_str())
        .collect();
    assert!(
        names.is_superset(&BTreeSet::from(["numpy", "pytest"])),
        "{names:?}"
    );
    let answer = python(
        &environment,
        "import numpy, pytest, sys, os; print(numpy.__version__, sys.prefix, os.environ['TASK_SETS'])",
    );
    let venv = environment.python.parent().unwrap().parent().unwrap();
    assert_eq!(answer.trim(), format!("2.2.6 {} this", venv.display()));

    // hard links: the very inodes of the cache, what was made here in the pool, nothing writable
    let inodes = |folder: &str| -> BTreeSet<u64> {
        let files = files(&place.home().join(folder));
        let of = |file| fs::metadata(file).unwrap().ino();
        files.iter().map(of).collect()
    };
    let (cached, pooled) = (inodes("cache/uv"), inodes("cache/files"));
    let site = fs::read_dir(venv.join("lib"))
        .unwrap()
        .next()
        .unwrap()
        .unwrap();
    let site = site.path().join("site-packages");
    let (mut shared, mut compiled) = (0, 0);
    for file in files(&site) {
        let metadata = fs::metadata(&file).unwrap();
        assert_eq!(metadata.mode() & 0o222, 0, "{}", file.display());
        assert_eq!(metadata.mode() & 0o444, 0o444, "{}", file.display());
        if file.extension().is_some_and(|e| e == "pyc") {
            assert!(pooled.contains(&metadata.ino()), "{}", file.display());
            compiled += 1;
        } else if cached.contains(&metadata.ino()) {
            shared += 1;
        } else {
            let is_ours = metadata.len() == 0 || pooled.contains(&metadata.ino());
            assert!(is_ours, "{}", file.display());
        }
    }
    assert!(
        shared > 500 && compiled > 500,
        "{shared} shared, {compiled} compiled"
    );
    assert_eq!(verify(&place.home(), &environment.hash).unwrap(), []);

    // what a sandbox must see: the environment and the interpreter's real prefix, read-only
    assert!(
        environment
            .mounts
            .iter()
            .all(|m| m.access == Access::ReadOnly)
    );
    let visible = |path: &Path| {
        path.starts_with("/usr")
            || environment
                .mounts
                .iter()
                .any(|m| path.starts_with(&m.target))
    };
    let mut hop = environment.python.clone();
    while let Ok(target) = fs::read_link(&hop) {
        hop = hop.parent().unwrap().join(target);
        assert!(
            visible(&hop),
            "{} in {:?}",
            hop.display(),
            environment.mounts
        );
    }
    assert!(visible(&real.base_prefix) && visible(venv));

    // warm: the same, and no process
    let started = fs::read_to_string(&log).unwrap();
    assert!(
        started.contains("python3") && started.contains("uv"),
        "{started}"
    );
    let mut fastest = Duration::MAX;
    for _ in 0..20 {
        let begun = Instant::now();
        let (again, said) = build(&request);
        fastest = fastest.min(begun.elapsed());
        assert_eq!(said, []);
        assert_eq!(
            again,
            Environment {
                built: false,
                ..environment.clone()
            }
        );
    }
    eprintln!("warm: {fastest:?}");
    assert_eq!(fs::read_to_string(&log).unwrap(), started);

    // a second task with the same lock in other words: no build; another lock: one from the cache
    fs::write(
        request.task_dir.join("requirements.lock"),
        format!("# by hand\n{FULL}\n"),
    )
    .unwrap();
    assert!(!build(&request).0.built);
    let fewer = FULL.split("pygments==").next().unwrap();
    fs::write(request.task_dir.join("requirements.lock"), fewer).unwrap();
    request.host_env.insert("UV_OFFLINE".into(), "1".into());
    let (other, _) = build(&request);
    assert!(other.built && other.hash != environment.hash);
    let inode = |e: &Environment| {
        let lib = e.python.parent().unwrap().parent().unwrap().join("lib");
        let site = fs::read_dir(lib).unwrap().next().unwrap().unwrap().path();
        fs::metadata(site.join("site-packages/numpy/__init__.py"))
            .unwrap()
            .ino()
    };
    assert_eq!(inode(&other), inode(&environment));
}

#[test]
fn without_uv_on_path_it_is_installed_once_into_the_home() {
    let place = Place::new("");
    let mut request = request_without_uv(place.folder.path());
    let real = find(None, &request.host_env, &place.home()).unwrap();
    let (bin, _) = noting(
        place.folder.path(),
        &[("python3", real.base_executable.as_path())],
    );
    let path = format!("{}:/bin", bin.display());
    request.host_env.insert("PATH".into(), path.into());
    if infradev::environment::find_uv(&request.host_env).is_some() {
        // a system-wide uv: an empty folder and python are all there is
        request.host_env.insert("PATH".into(), bin.into());
    }
    let (environment, said) = build(&request);
    assert!(environment.built);
    assert!(said.iter().any(|p| p.step == Step::Tool), "{said:?}");
    let uv = place.home().join("tools/uv/bin/uv");
    let inode = fs::metadata(&uv).unwrap().ino();
    fs::write(request.task_dir.join("requirements.lock"), SMALL).unwrap();
    assert!(build(&request).0.built);
    assert_eq!(fs::metadata(&uv).unwrap().ino(), inode);
}

#[test]
fn two_workers_build_once() {
    let place = Place::new(SMALL);
    let request = place.request();
    let (a, b) = std::thread::scope(|scope| {
        let a = scope.spawn(|| build(&request));
        let b = scope.spawn(|| build(&request));
        (a.join().unwrap(), b.join().unwrap())
    });
    assert_eq!(u8::from(a.0.built) + u8::from(b.0.built), 1);
    assert_eq!(a.0.hash, b.0.hash);
    let waited = if a.0.built { &b.1 } else { &a.1 };
    assert!(waited.iter().all(|p| p.step == Step::Wait), "{waited:?}");
    assert_eq!(place.environments().len(), 1);
}
