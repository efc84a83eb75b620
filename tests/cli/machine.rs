//! What is the machine's doing is no submission's score, and nothing that it makes gold fail stays.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::common::{code, home, infradev};
use crate::{GOLD, Tiny};

/// A grade of gold's own patch: exit code, the run's folder and what `grade --json` printed.
fn graded(home: &Path, tiny: &Tiny, args: &[&str]) -> (i32, PathBuf, String) {
    let patch = tiny.patch(GOLD);
    let output = infradev(home, &tiny.tasks)
        .args(["grade", "tiny", "--engine", "local", "--json", "--patch"])
        .arg(&patch)
        .args(args)
        .output()
        .unwrap();
    let mut runs: Vec<PathBuf> = fs::read_dir(home.join("runs"))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| {
            fs::read_to_string(path.join("manifest.json"))
                .is_ok_and(|m| m.contains(tiny.tasks.to_str().unwrap()))
        })
        .collect();
    runs.sort();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    (code(&output), runs.pop().unwrap(), said)
}

/// Whether gold ran for a suite.
fn fresh(run: &Path, suite: &str) -> bool {
    let text = fs::read_to_string(run.join("journal.jsonl")).unwrap();
    let events = text
        .lines()
        .filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let mut calibrated = events.filter(|e| e["event"] == "calibrated" && e["suite"] == suite);
    calibrated.next().unwrap()["fresh"] == true
}

#[test]
fn gold_runs_again_on_probes_when_the_tests_beside_them_change() {
    let tiny = Tiny::plain();
    // a text that no earlier run of this test has a calibration of
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    let stamp = since.unwrap().as_nanos();
    let helpers = tiny.dir().join("official/helpers.py");
    fs::write(&helpers, format!("TWO = 2  # {stamp}\n")).unwrap();
    let (first, run, said) = graded(&home(), &tiny, &[]);
    assert_eq!((first, fresh(&run, "probes")), (0, true), "{said}");
    let (_, run, _) = graded(&home(), &tiny, &[]);
    assert!(!fresh(&run, "official") && !fresh(&run, "probes"));
    // probes may import it
    fs::write(&helpers, format!("TWO = 3  # {stamp}\n")).unwrap();
    let (_, run, _) = graded(&home(), &tiny, &[]);
    assert!(fresh(&run, "official") && fresh(&run, "probes"));
    fs::write(tiny.dir().join("probes/more.py"), "").unwrap();
    let (_, run, _) = graded(&home(), &tiny, &[]);
    assert!(!fresh(&run, "official") && fresh(&run, "probes"));
}

#[test]
fn an_environment_that_broke_is_a_fault_and_no_score() {
    // a home of its own, whose environment may be broken; below the cache, for the links
    let dir = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let own = dir.path().join("home");
    fs::create_dir(&own).unwrap();
    for shared in ["cache", "tools"] {
        fs::create_dir_all(home().join(shared)).unwrap();
        symlink(home().join(shared), own.join(shared)).unwrap();
    }
    let tiny = Tiny::plain();
    let (first, _, said) = graded(&own, &tiny, &[]);
    assert_eq!(first, 0, "{said}");
    let env = fs::read_dir(own.join("env")).unwrap();
    let mut pytest = env.filter_map(|e| find(&e.unwrap().path(), "_pytest/config/__init__.py"));
    let broken = pytest.next().unwrap();
    // a file of its own: the cache and other environments share the old one
    let text = fs::read_to_string(&broken).unwrap();
    let folder = broken.parent().unwrap();
    fs::set_permissions(folder, fs::Permissions::from_mode(0o755)).unwrap();
    fs::remove_file(&broken).unwrap();
    // what was compiled of it is believed without a look at it
    let compiled = folder.join("__pycache__");
    fs::set_permissions(&compiled, fs::Permissions::from_mode(0o755)).unwrap();
    fs::remove_dir_all(&compiled).unwrap();
    fs::write(&broken, format!("raise OSError(5, 'a disk')\n{text}")).unwrap();
    let (again, run, said) = graded(&own, &tiny, &[]);
    assert_eq!(again, 3, "{said}");
    let journal = fs::read_to_string(run.join("journal.jsonl")).unwrap();
    assert!(
        journal.contains("env check") && !journal.contains("\"graded\""),
        "{journal}"
    );
    let score = infradev(&own, &tiny.tasks)
        .args(["score", "--json"])
        .output()
        .unwrap();
    let score: Value = serde_json::from_slice(&score.stdout).unwrap();
    let faults = score["faults"].to_string();
    assert!(faults.contains("any more"), "the fault is listed: {faults}");
}

/// The file below a folder whose path ends so.
fn find(below: &Path, end: &str) -> Option<PathBuf> {
    let mut folders = vec![below.to_path_buf()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).into_iter().flatten().flatten() {
            let path = entry.path();
            if path.ends_with(end) {
                return Some(path);
            }
            if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                folders.push(path);
            }
        }
    }
    None
}

#[test]
fn a_run_does_not_begin_on_a_disk_that_is_full() {
    let small = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("tiny-disk");
    fs::create_dir_all(&small).unwrap();
    let flags = nix::mount::MsFlags::empty();
    let none = None::<&str>;
    if let Err(e) = nix::mount::mount(none, &small, Some("tmpfs"), flags, Some("size=40m")) {
        assert!(std::env::var_os("INFRADEV_REQUIRE_DOCKER").is_none(), "{e}");
        println!("not run: no small file system can be mounted here ({e})");
        return;
    }
    let tiny = Tiny::plain();
    fs::create_dir_all(small.join("runs")).unwrap();
    fs::write(small.join("others"), vec![1; 39 << 20]).unwrap();
    let (ended, run, said) = graded(&small, &tiny, &[]);
    let journal = fs::read_to_string(run.join("journal.jsonl")).unwrap();
    nix::mount::umount2(&small, nix::mount::MntFlags::MNT_DETACH).unwrap();
    assert_eq!(ended, 2, "{said}");
    assert!(journal.contains("MiB are free"), "{journal}");
}

#[test]
fn an_image_that_is_not_here_is_named_with_what_fetches_it() {
    if !crate::common::docker_is_here() {
        return;
    }
    let tiny = Tiny::plain();
    let spec = tiny.dir().join("task.toml");
    let text = fs::read_to_string(&spec).unwrap();
    let image = "kind = \"uv\"\nimage = \"infradev-nowhere/none:1\"\n";
    fs::write(&spec, text.replace("kind = \"uv\"\n", image)).unwrap();
    let graded = |engine: &str| {
        let output = infradev(&home(), &tiny.tasks)
            .args(["grade", "tiny", "--base", "--engine", engine])
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        (code(&output), said)
    };
    let (refused, said) = graded("docker");
    assert_eq!(refused, 2, "{said}");
    assert!(
        said.contains("image infradev-nowhere/none:1 is not here"),
        "{said}"
    );
    assert!(said.contains("docker pull"), "{said}");
    // the other engine needs none, and says why it was taken
    let (other, said) = graded("auto");
    assert_eq!(other, 1, "{said}");
    assert!(said.contains("none:1 is not here"), "{said}");
}
