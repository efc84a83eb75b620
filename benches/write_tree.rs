//! What it costs to lay a work tree of a big repository: base from a commit, written out again and
//! again into a new folder, plain and as the repository that an agent works in. Prints medians; `cargo bench --bench write_tree -- REPOSITORY COMMIT`;
//! without a repository, on a made tree of 2,800 files and 55 MB.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::print_stdout)]

use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use infradev::workspace::{Origin, Snapshot, hash_tree};

const ROUNDS: usize = 15;
const FILES: usize = 2_800;
const BYTES: usize = 20_000;

fn main() {
    // under `cargo test` a bench target is only built
    let args: Vec<String> = std::env::args().skip(1).collect();
    if !args.iter().any(|a| a == "--bench") {
        return;
    }
    let given: Vec<&String> = args.iter().filter(|a| *a != "--bench").collect();
    // where runs lie, not where temporary files do: that may be memory
    let dir = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let store = dir.path().join("snapshots");
    let started = Instant::now();
    let snapshot = if let [repository, commit] = given[..] {
        Snapshot::from_git(&Origin::here(Path::new(repository)), commit, &[], &store).unwrap()
    } else {
        let folder = dir.path().join("base");
        make(&folder);
        Snapshot::from_dir(&folder, &store).unwrap()
    };
    println!("base imported in {:.0} ms", ms(started.elapsed()));
    let mut next = 0;
    let mut fresh = || -> PathBuf {
        next += 1;
        dir.path().join(format!("tree{next}"))
    };
    let first = fresh();
    snapshot.write_tree(snapshot.tree(), &first).unwrap();
    let files = snapshot.files(snapshot.tree()).unwrap().len();
    println!("{files} files; hash_tree of them:");
    median(|| drop(hash_tree(&first).unwrap()));
    println!("write_tree:");
    let mut trees = Vec::new();
    let plain = median(|| {
        let tree = fresh();
        snapshot.write_tree(snapshot.tree(), &tree).unwrap();
        trees.push(tree);
    });
    for tree in trees.drain(..) {
        fs::remove_dir_all(tree).unwrap();
    }
    println!("agent_repository:");
    let repository = median(|| {
        let tree = fresh();
        snapshot.agent_repository(snapshot.tree(), &tree).unwrap();
        trees.push(tree);
    });
    let last = trees.last().unwrap().join(".git");
    println!(
        "    {:.2} times write_tree, {:.1} MB in .git",
        ms(repository) / ms(plain),
        bytes(&last) as f64 / 1e6
    );
    for tree in trees {
        fs::remove_dir_all(tree).unwrap();
    }
}

fn bytes(dir: &Path) -> u64 {
    let entries = fs::read_dir(dir).unwrap().map(|e| e.unwrap().path());
    let size = |path: PathBuf| {
        if path.is_dir() {
            bytes(&path)
        } else {
            fs::metadata(path).unwrap().len()
        }
    };
    entries.map(size).sum()
}

/// Text that deflates about as well as code does.
fn make(dir: &Path) {
    let mut seed = 1_u64;
    for file in 0..FILES {
        let folder = dir.join(format!("package{}/module{}", file / 200, file / 20));
        fs::create_dir_all(&folder).unwrap();
        let mut text = String::with_capacity(BYTES + 64);
        while text.len() < BYTES {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let (name, value) = ((seed >> 33) % 5_000, seed >> 52);
            writeln!(text, "        self.value_{name} = other[{value}]").unwrap();
        }
        fs::write(folder.join(format!("file{file}.py")), text).unwrap();
    }
}

fn median(mut run: impl FnMut()) -> Duration {
    let mut times: Vec<Duration> = (0..ROUNDS)
        .map(|_| {
            let started = Instant::now();
            run();
            started.elapsed()
        })
        .collect();
    times.sort();
    println!(
        "    median {:.0} ms, best {:.0}, worst {:.0} of {ROUNDS}",
        ms(times[ROUNDS / 2]),
        ms(times[0]),
        ms(times[ROUNDS - 1])
    );
    times[ROUNDS / 2]
}

fn ms(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}
