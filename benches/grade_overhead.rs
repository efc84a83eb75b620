//! What grading costs over the bare test command: 200 trivial cases on the local engine, with a
//! warm environment and gold's calibration on record. Prints medians; `cargo bench --bench
//! grade_overhead`. Goal (DESIGN.md, Budgets): less than 150 ms.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::print_stdout)]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

const CASES: usize = 200;
const ROUNDS: usize = 15;

const PATCH: &str = "\
diff --git a/calc.py b/calc.py
--- a/calc.py
+++ b/calc.py
@@ -1 +1,4 @@
 A = 1
+
+def triple(x):
+    return 3 * x
";

fn main() {
    // under `cargo test` a bench target is only built
    if !std::env::args().any(|a| a == "--bench") {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let tasks = dir.path().join("tasks");
    task(&tasks.join("tiny"));
    let home = Path::new(env!("CARGO_TARGET_TMPDIR")).join("bench-home");
    let patch = tasks.join("tiny/gold.patch");
    let grade = |suite: &str| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_infradev"));
        command.arg("--home").arg(&home).arg("--tasks").arg(&tasks);
        command
            .args(["grade", "tiny", "--json", "--suite", suite, "--patch"])
            .arg(&patch);
        command
    };
    // environment and calibration, once
    timed(grade("official"));
    timed(grade("all"));

    let tree = dir.path().join("tree");
    fs::create_dir_all(&tree).unwrap();
    copy(&tasks.join("tiny/official"), &tree.join("tests"));
    fs::write(
        tree.join("calc.py"),
        "A = 1\n\ndef triple(x):\n    return 3 * x\n",
    )
    .unwrap();
    let python = interpreter(&home);
    let bare = || {
        let mut command = Command::new(&python);
        command.args([
            "-s",
            "-B",
            "-m",
            "pytest",
            "-q",
            "-p",
            "no:cacheprovider",
            "tests",
        ]);
        command.current_dir(&tree);
        command
    };
    timed(bare());

    let mut figures: [Vec<f64>; 3] = Default::default();
    for _ in 0..ROUNDS {
        figures[0].push(timed(bare()));
        figures[1].push(timed(grade("official")));
        figures[2].push(timed(grade("all")));
    }
    let [bare, official, all] = figures.map(|f| median(&f));
    println!("{CASES} trivial cases, median of {ROUNDS} rounds, in turn");
    println!("bare pytest                                   {bare:8.1} ms");
    println!(
        "infradev grade --suite official, with twins   {official:8.1} ms  overhead {:.1} ms",
        official - bare
    );
    println!("infradev grade, official and one probe        {all:8.1} ms");
    println!(
        "goal: overhead under 150 ms: {}",
        if official - bare < 150.0 {
            "met"
        } else {
            "MISSED"
        }
    );
}

fn task(dir: &Path) {
    for folder in ["base", "official", "probes"] {
        fs::create_dir_all(dir.join(folder)).unwrap();
    }
    let lock = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/requirements.lock");
    fs::copy(lock, dir.join("requirements.lock")).unwrap();
    fs::write(dir.join("base/calc.py"), "A = 1\n").unwrap();
    fs::write(dir.join("gold.patch"), PATCH).unwrap();
    fs::write(dir.join("prompt.md"), "Add triple.\n").unwrap();
    let tests = format!(
        "import pytest\n\n@pytest.mark.parametrize(\"n\", range({CASES}))\ndef test_n(n):\n    assert n >= 0\n"
    );
    fs::write(dir.join("official/test_many.py"), tests).unwrap();
    fs::write(
        dir.join("probes/test_probe.py"),
        "import calc\n\ndef test_p():\n    assert calc.triple(1) == 3\n",
    )
    .unwrap();
    let toml = "schema = 1\nid = \"tiny\"\ntitle = \"t\"\narea = \"training\"\nkind = \"feature\"\nrepository = \"bench/tiny\"\n\
         [source]\nbase = \"base\"\n[gold]\npatch = \"gold.patch\"\n\
         [environment]\nkind = \"uv\"\nrequirements = \"requirements.lock\"\n\
         [suites.official]\nfrom = \"official\"\ninto = \"tests\"\n[suites.probes]\nfrom = \"probes\"\ninto = \"probes\"\n";
    fs::write(dir.join("task.toml"), toml).unwrap();
}

fn timed(mut command: Command) -> f64 {
    let begin = Instant::now();
    let output = command.stdin(Stdio::null()).output().unwrap();
    let took = begin.elapsed();
    assert!(
        output.status.success(),
        "{command:?}: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    // let what the last round left behind (reaped processes, removed trees) come to rest
    std::thread::sleep(Duration::from_millis(50));
    took.as_secs_f64() * 1000.0
}

fn median(figures: &[f64]) -> f64 {
    let mut sorted = figures.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted[sorted.len() / 2]
}

/// The interpreter of the environment that was just built.
fn interpreter(home: &Path) -> PathBuf {
    let found = fs::read_dir(home.join("env"))
        .unwrap()
        .filter_map(Result::ok);
    let mut found = found
        .map(|e| e.path().join("venv/bin/python"))
        .filter(|p| p.exists());
    found.next().expect("an environment")
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        fs::copy(entry.path(), to.join(entry.file_name())).unwrap();
    }
}
