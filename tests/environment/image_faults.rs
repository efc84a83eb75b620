//! Builds in containers that are killed, stopped, or led astray by what they build.

use std::fs;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use infradev::environment::{EnvironmentError, Request, prepare, verify};

use super::image_support::*;
use super::support::*;

const NAME: &str = "image_faults::a_killed_build_in_an_image_leaves_nothing_half_usable";
const FOLDER: &str = "ENVIRONMENT_TEST_IMAGE_BUILD";

/// Another process that builds the same.
fn worker(place: &Place, request: &Request) -> Child {
    let ours = ["PATH", "UV_FIND_LINKS"];
    let ours = ours.map(std::ffi::OsString::from);
    Command::new(std::env::current_exe().unwrap())
        .args(["--exact", NAME])
        .env(FOLDER, place.folder.path())
        .envs(
            request
                .host_env
                .iter()
                .filter(|(name, _)| ours.contains(name)),
        )
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap()
}

fn wait_for(what: &str, mut is_there: impl FnMut() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(120);
    while !is_there() {
        assert!(Instant::now() < deadline, "{what}");
        std::thread::sleep(Duration::from_millis(2));
    }
}

#[test]
fn a_killed_build_in_an_image_leaves_nothing_half_usable() {
    if let Some(folder) = std::env::var_os(FOLDER) {
        // the child that is killed
        let request = in_base_image(request_without_uv(Path::new(&folder))).unwrap();
        prepare(&request, &|_| {}).unwrap();
        return;
    }
    let Some((place, request)) = place(&without_numpy()) else {
        return;
    };
    let site = |folder: &Path| folder.join("venv/lib");
    // killed when the folder is there, when the virtual environment is, when packages are
    let phases: [&dyn Fn(&Path) -> bool; 3] =
        [&|_| true, &|folder| site(folder).exists(), &|folder| {
            site(folder).exists() && files(&site(folder)).len() > 50
        }];
    let mut in_the_middle = 0;
    for (at, reached) in phases.into_iter().enumerate() {
        let mut child = worker(&place, &request);
        wait_for("the build goes on", || {
            place.environments().iter().any(|folder| reached(folder))
                || child.try_wait().unwrap().is_some()
        });
        let _ = child.kill();
        let _ = child.wait();
        let folder = place.environments().remove(0);
        if !folder.join("ready.json").exists() {
            in_the_middle += 1;
        }
        // at once: its container may be on its way down still
        let (environment, _) = build(&request);
        assert!(folder.ends_with(&environment.hash));
        assert!(environment.packages.iter().any(|p| p.name == "pytest"));
        assert_eq!(verify(&place.home(), &environment.hash).unwrap(), []);
        assert_eq!(containers(&place.home()), Vec::<String>::new());
        fs::rename(&folder, place.folder.path().join(format!("old-{at}"))).unwrap();
    }
    assert!(in_the_middle >= 2, "{in_the_middle} were killed in time");
}

/// A package that takes longer to build than anybody waits here.
const SLOW: &str = "import time; time.sleep(600); seen = 1";

#[test]
fn a_container_that_outlives_its_worker_is_ended_before_the_next_build() {
    let Some((place, mut request)) = place(SMALL) else {
        return;
    };
    let (links, lock) = source_package(place.folder.path(), "slow", SLOW);
    fs::write(request.task_dir.join("requirements.lock"), lock).unwrap();
    request
        .host_env
        .insert("UV_FIND_LINKS".into(), links.into());
    let mut child = worker(&place, &request);
    let venv = || {
        place
            .environments()
            .iter()
            .any(|f| f.join("venv/lib").exists())
    };
    wait_for("the build goes on", venv);
    let left = containers(&place.home());
    assert_eq!(left.len(), 1);
    // held still, it cannot notice that its worker is gone
    wait_for("it is held", || {
        // on a busy machine the kernel does not always manage at the first try
        let held = Command::new("docker").args(["pause", &left[0]]).output();
        held.unwrap().status.success()
    });
    child.kill().unwrap();
    let _ = child.wait();
    assert_eq!(containers(&place.home()), left);

    let stop = request.stop.clone();
    let stopped = std::thread::scope(|scope| {
        let next = scope.spawn(|| prepare(&request, &|_| {}));
        wait_for("the next build has its own container", || {
            let now = containers(&place.home());
            now.len() == 1 && now != left
        });
        wait_for("the next build goes on", venv);
        let begun = Instant::now();
        stop.store(true, Ordering::Relaxed);
        let stopped = next.join().unwrap();
        assert!(begun.elapsed() < Duration::from_secs(5));
        stopped
    });
    assert!(matches!(stopped, Err(EnvironmentError::Stopped)));
    assert_eq!(containers(&place.home()), Vec::<String>::new());
    assert_eq!(place.environments(), Vec::<std::path::PathBuf>::new());
}

/// Puts a link where the record of the build is to be, and one in the place of the environment.
const ASTRAY: &str = r#"
import os, pathlib
home = pathlib.Path(os.environ["UV_CACHE_DIR"]).parent.parent
own, = [d for d in (home / "env").iterdir() if d.is_dir() and (d / "requirements.lock").exists()]
(own / "manifest.txt").symlink_to(home.parent / "victim")
(own / "ready.json").write_text("{}")
seen = 1
"#;
const ASTRAY_LOCK: &str = r#"
import os, pathlib
home = pathlib.Path(os.environ["UV_CACHE_DIR"]).parent.parent
own, = [d for d in (home / "env").iterdir() if d.is_dir() and (d / "requirements.lock").exists()]
(own / "requirements.lock").unlink()
(own / "requirements.lock").symlink_to("/etc/hostname")
seen = 1
"#;

#[test]
fn what_a_package_leaves_beside_the_environment_leads_us_nowhere() {
    let Some((place, mut request)) = place(SMALL) else {
        return;
    };
    let victim = place.folder.path().join("victim");
    fs::write(&victim, "as it was").unwrap();
    let (links, lock) = source_package(place.folder.path(), "astray", ASTRAY);
    let file = request.task_dir.join("requirements.lock");
    fs::write(&file, lock).unwrap();
    request
        .host_env
        .insert("UV_FIND_LINKS".into(), links.into());
    let (environment, _) = build(&request);
    assert_eq!(fs::read_to_string(&victim).unwrap(), "as it was");
    assert_eq!(verify(&place.home(), &environment.hash).unwrap(), []);
    assert!(!build(&request).0.built);

    let (links, lock) = source_package(place.folder.path(), "strange", ASTRAY_LOCK);
    fs::write(&file, lock).unwrap();
    request
        .host_env
        .insert("UV_FIND_LINKS".into(), links.into());
    let error = prepare(&request, &|_| {}).unwrap_err();
    assert!(matches!(error, EnvironmentError::Strange { .. }), "{error}");
    assert_eq!(place.environments().len(), 1);
}
