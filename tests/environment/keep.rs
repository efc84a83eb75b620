//! What a home keeps: listed, collected, counted.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, SystemTime};

use infradev::catalog::load_task;
use infradev::environment::keep::{
    Collect, Collected, CollectedKind, EnvironmentState, Wanted, collect, list, usage,
};
use infradev::environment::{Environment, verify};

use super::keep_support::*;
use super::support::*;

const NOW: Collect = Collect {
    dry_run: false,
    days: 0,
};

fn use_file(home: &Path, hash: &str) -> PathBuf {
    home.join("env").join(format!("{hash}.use"))
}

fn last_used_days_ago(home: &Path, hash: &str, days: u64) {
    let at = SystemTime::now() - Duration::from_secs(days * 86_400 + 60);
    let file = File::options().write(true).open(use_file(home, hash));
    file.unwrap().set_modified(at).unwrap();
}

fn removed(collected: &Collected, kind: CollectedKind) -> Vec<String> {
    let items = collected.removed.iter().filter(|i| i.kind == kind);
    items.map(|i| i.path.display().to_string()).collect()
}

#[test]
fn what_nobody_wants_goes_and_what_is_used_stays() {
    let place = Place::new(SMALL);
    let (small, smaller) = two(&place);
    let home = place.home();
    let rows = list(&home, &Wanted::default()).unwrap().environments;
    assert!(
        rows.iter()
            .all(|r| r.in_use && r.state == EnvironmentState::Ready)
    );

    // in use, however long ago that began
    last_used_days_ago(&home, &small.hash, 40);
    let none = Wanted::default();
    let collected = collect(&home, &none, NOW).unwrap();
    assert_eq!(collected.removed, []);
    assert_eq!(collected.kept.len(), 2);
    assert_eq!(collected.kept[0].why, "a live run uses it");
    let (small_hash, smaller_hash) = (small.hash.clone(), smaller.hash.clone());
    drop((small, smaller));
    let rows = list(&home, &none).unwrap().environments;
    assert!(rows.iter().all(|r| !r.in_use));

    // used lately, or long ago
    let month = Collect {
        dry_run: true,
        days: 30,
    };
    let would = collect(&home, &none, month).unwrap();
    let environment = vec![format!("env/{small_hash}")];
    assert_eq!(removed(&would, CollectedKind::Environment), environment);
    // of the cache: the package that only this one had
    let only = in_cache(&home, "pluggy/_hooks.py");
    let only = only.parent().unwrap().parent().unwrap();
    let below = only.strip_prefix(&home).unwrap().display().to_string();
    assert_eq!(removed(&would, CollectedKind::Cache), [below]);
    assert!(home.join(&environment[0]).exists() && only.exists());

    let before = usage(&home).unwrap();
    let pooled = files(&home.join("cache/files")).len();
    assert_eq!(removed(&would, CollectedKind::Pool), ["cache/files"]);
    let did = Collect {
        dry_run: false,
        ..month
    };
    let did = collect(&home, &none, did).unwrap();
    assert_eq!(did.freed_bytes, would.freed_bytes);
    assert_eq!(did.removed, would.removed);
    // what is left has a link elsewhere
    let left = files(&home.join("cache/files"));
    assert!(left.len() < pooled && !left.is_empty());
    for file in left {
        assert!(fs::metadata(&file).unwrap().nlink() > 1, "{file:?}");
    }
    assert!(!home.join(&environment[0]).exists() && !only.exists());
    let after = usage(&home).unwrap();
    let less = before.total_bytes - after.total_bytes;
    assert!(did.freed_bytes.abs_diff(less) < 64 << 10, "{less} {did:?}");
    assert!(!use_file(&home, &small_hash).exists());
    assert!(!home.join(format!("env/{small_hash}.lock")).exists());
    assert_eq!(verify(&home, &smaller_hash).unwrap(), []);
    assert!(checked(&home).ok);

    // what went comes again
    fs::write(place.folder.path().join("task/requirements.lock"), SMALL).unwrap();
    let (again, _) = build(&place.request());
    assert!(again.built && again.hash == small_hash);
    python(&again, "import pluggy, packaging");
}

#[test]
fn what_a_task_wants_stays_and_half_builds_go() {
    let place = Place::new(SMALL);
    let (small, smaller) = {
        let (small, smaller) = two(&place);
        (small.hash, smaller.hash)
    };
    let home = place.home();
    // the task has the smaller lock now
    let task = place.folder.path().join("task");
    fs::write(task.join("task.toml"), TASK).unwrap();
    let loaded = load_task(&task).task.unwrap();
    let wanted = Wanted::by([&loaded], &home);
    assert_eq!(
        (wanted.of(&smaller), wanted.notes.len()),
        (["task".to_string()].as_slice(), 0)
    );
    let rows = list(&home, &wanted).unwrap().environments;
    let tasks: Vec<_> = rows.iter().filter(|r| !r.tasks.is_empty()).collect();
    assert_eq!(tasks.len(), 1);
    assert_eq!(tasks[0].hash, smaller);

    // what killed processes leave
    let half = "e".repeat(64);
    let building = "b".repeat(64);
    for hash in [&half, &building] {
        fs::create_dir_all(home.join("env").join(hash).join("venv/lib")).unwrap();
        File::create(home.join(format!("env/{hash}.lock"))).unwrap();
    }
    let lock = File::open(home.join(format!("env/{building}.lock"))).unwrap();
    lock.lock().unwrap();
    let old = SystemTime::now() - Duration::from_secs(7200);
    for (name, at) in [
        ("env/interpreters.json.1", old),
        ("env/interpreters.json.2", SystemTime::now()),
        ("cache/uv/.tmpAbc", old),
        ("env/notes.txt", old),
    ] {
        File::create(home.join(name))
            .unwrap()
            .set_modified(at)
            .unwrap();
    }
    let state = |hash: &str| {
        let rows = list(&home, &wanted).unwrap().environments;
        rows.into_iter().find(|r| r.hash == hash).unwrap().state
    };
    assert_eq!(state(&half), EnvironmentState::Unfinished);
    assert_eq!(state(&building), EnvironmentState::Building);
    let collected = collect(&home, &wanted, NOW).unwrap();
    assert_eq!(
        removed(&collected, CollectedKind::Environment),
        [format!("env/{small}")]
    );
    assert_eq!(
        removed(&collected, CollectedKind::Unfinished),
        [format!("env/{half}")]
    );
    assert_eq!(
        removed(&collected, CollectedKind::Temporary),
        ["env/interpreters.json.1"]
    );
    // uv of that build may be writing there
    assert_eq!(removed(&collected, CollectedKind::Cache), [""; 0]);
    assert_eq!(collected.notes.len(), 1);
    assert!(home.join("env").join(&building).exists());
    drop(lock);
    let collected = collect(&home, &wanted, NOW).unwrap();
    assert_eq!(
        removed(&collected, CollectedKind::Unfinished),
        [format!("env/{building}")]
    );
    let cache = removed(&collected, CollectedKind::Cache);
    assert!(
        cache.contains(&"cache/uv/.tmpAbc".to_string()) && cache.len() == 2,
        "{cache:?}"
    );
    let left: BTreeSet<String> = fs::read_dir(home.join("env"))
        .unwrap()
        .map(|e| e.unwrap().file_name().into_string().unwrap())
        .collect();
    let names = ["interpreters.json", "interpreters.json.2", "notes.txt"];
    let mut expected: BTreeSet<String> = names.map(String::from).into();
    expected.extend(["", ".lock", ".use"].map(|end| format!("{smaller}{end}")));
    assert_eq!(left, expected);
}

pub const TASK: &str = r#"schema = 1
id = "task"
title = "t"
area = "training"
kind = "feature"
repository = "r"
source = { base = "base" }
gold = { patch = "gold.patch" }
environment = { kind = "uv", requirements = "requirements.lock" }
suites = { official = { from = "official", into = "tests" } }
"#;

#[test]
fn a_collector_beside_builders_takes_nothing_from_under_them() {
    let place = Place::new(SMALL);
    // packages stay in this one's reach: the race is about environments
    let (_first, _) = build(&place.request());
    let home = place.home();
    let over = AtomicBool::new(false);
    let request = |lock: &str| {
        let mut request = place.request();
        request.task_dir = place.folder.path().join(format!("task-{}", lock.len()));
        fs::create_dir(&request.task_dir).unwrap();
        fs::write(request.task_dir.join("requirements.lock"), lock).unwrap();
        request
    };
    // how often it was built until so often; most turns race with the collector and find it as the
    // last one left it, every tenth lets go of it until the collector took it
    let turns = |lock: &str, most: u32, builds: u32| {
        let request = request(lock);
        let mut built = 0;
        for turn in 0..most {
            let (environment, _) = build(&request);
            built += u32::from(environment.built);
            python(&environment, "import iniconfig, packaging");
            if built == builds {
                break;
            }
            let root = home.join("env").join(&environment.hash);
            drop(environment);
            while turn % 10 == 9 && builds > 1 && root.exists() {
                std::thread::sleep(Duration::from_millis(5));
            }
        }
        built
    };
    std::thread::scope(|scope| {
        let collector = scope.spawn(|| {
            while !over.load(Ordering::Relaxed) {
                collect(&home, &Wanted::default(), NOW).unwrap();
            }
        });
        // this one is held all the time, and the other is collected again and again
        let held = scope.spawn(|| turns(SMALL, 20, 1));
        let collected = turns(smaller(), 50, 4);
        let held = held.join().unwrap();
        over.store(true, Ordering::Relaxed);
        collector.join().unwrap();
        assert_eq!((held, collected), (0, 4));
    });
    assert!(checked(&home).ok);
}

#[test]
fn shared_files_are_counted_once() {
    let place = Place::new(SMALL);
    let (small, smaller) = two(&place);
    let home = place.home();
    let document = usage(&home).unwrap();
    let of = |e: &Environment| {
        let rows = &document.environments;
        rows.iter().find(|row| row.hash == e.hash).unwrap()
    };
    let sum = of(&small).bytes + of(&smaller).bytes;
    assert_eq!(document.copies_bytes, sum);
    assert_eq!(
        document.total_bytes,
        document.environments_bytes + document.cache_bytes
    );
    // as du counts them together
    let du = std::process::Command::new("du")
        .args(["-s", "-B1"])
        .args(place.environments())
        .args([home.join("cache/uv"), home.join("cache/files")])
        .output()
        .unwrap();
    let counted: u64 = String::from_utf8_lossy(&du.stdout)
        .lines()
        .map(|line| {
            line.split_whitespace()
                .next()
                .unwrap()
                .parse::<u64>()
                .unwrap()
        })
        .sum();
    assert_eq!(counted, document.total_bytes);
    let shared = of(&small).bytes - of(&small).own_bytes;
    assert!(shared > 300_000, "{document:?}");
}
