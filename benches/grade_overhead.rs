//! What grading costs over the bare test command: 200 trivial cases on either engine, with a warm
//! environment and gold's calibration on record; and over a bare `docker run` of the same command
//! in the same image and environment. Prints medians; `cargo bench --bench grade_overhead`. Goals
//! (DESIGN.md, Budgets): local less than 150 ms over, docker less than 1.5 times.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::print_stdout)]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

const IMAGE: &str = "infradev/base:cpu";
const TESTS: [&str; 8] = [
    "-s",
    "-B",
    "-m",
    "pytest",
    "-q",
    "-p",
    "no:cacheprovider",
    "tests",
];
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
    let grade = |engine: &str, suite: &str| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_infradev"));
        command.arg("--home").arg(&home).arg("--tasks").arg(&tasks);
        command
            .args([
                "grade", "tiny", "--json", "--suite", suite, "--engine", engine,
            ])
            .arg("--patch")
            .arg(&patch);
        command
    };
    let tree = dir.path().join("tree");
    fs::create_dir_all(&tree).unwrap();
    copy(&tasks.join("tiny/official"), &tree.join("tests"));
    fs::write(
        tree.join("calc.py"),
        "A = 1\n\ndef triple(x):\n    return 3 * x\n",
    )
    .unwrap();

    println!("{CASES} trivial cases, medians of {ROUNDS} rounds in turn, ms");
    let python = warm(
        &home,
        || grade("local", "official"),
        || grade("local", "all"),
    );
    let bare = || {
        let mut command = Command::new(&python);
        command.args(TESTS).current_dir(&tree);
        command
    };
    timed(bare());
    let [plain, official, all] = rounds([&bare, &|| grade("local", "official"), &|| {
        grade("local", "all")
    }]);
    let over = official - plain;
    println!("local   bare pytest                             {plain:8.1}");
    println!("        grade --suite official, with twins      {official:8.1}   {over:.1} over");
    println!("        grade, official and one probe           {all:8.1}");
    println!("        goal under 150 over: {}", met(over < 150.0));

    let here = Command::new("docker")
        .args(["image", "inspect", IMAGE])
        .output();
    if !here.is_ok_and(|o| o.status.success()) {
        println!("docker  not run: no daemon, or no image {IMAGE} (infradev image import)");
        return;
    }
    let python = warm(
        &home,
        || grade("docker", "official"),
        || grade("docker", "all"),
    );
    let environment = python.ancestors().nth(3).unwrap().display().to_string();
    let bare = || {
        let mut command = Command::new("docker");
        command
            .args(["run", "--rm", "--network", "none", "-v"])
            .arg(format!("{environment}:{environment}:ro"))
            .arg("-v")
            .arg(format!("{}:/workspace", tree.display()))
            .args(["-w", "/workspace", IMAGE])
            .arg(&python)
            .args(TESTS);
        command
    };
    timed(bare());
    let [plain, official, all] = rounds([&bare, &|| grade("docker", "official"), &|| {
        grade("docker", "all")
    }]);
    let ratio = official / plain;
    println!("docker  bare docker run                         {plain:8.1}");
    println!("        grade --suite official, with twins      {official:8.1}   {ratio:.2} times");
    println!(
        "        grade, official and one probe           {all:8.1}   {:.2} times",
        all / plain
    );
    println!("        goal under 1.5 times: {}", met(ratio < 1.5));
}

fn met(met: bool) -> &'static str {
    if met { "met" } else { "MISSED" }
}

/// Makes environment and calibration; the interpreter that was used.
fn warm(home: &Path, official: impl Fn() -> Command, all: impl Fn() -> Command) -> PathBuf {
    timed(official());
    let output = all().output().unwrap();
    let grade: Value = serde_json::from_slice(&output.stdout).unwrap();
    let run = home.join("runs").join(grade["run"].as_str().unwrap());
    let journal = fs::read_to_string(run.join("journal.jsonl")).unwrap();
    let ready = journal
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap())
        .find(|event| event["event"] == "environment_ready")
        .unwrap();
    let hash = ready["hash"].as_str().unwrap();
    home.canonicalize()
        .unwrap()
        .join("env")
        .join(hash)
        .join("venv/bin/python")
}

fn rounds(commands: [&dyn Fn() -> Command; 3]) -> [f64; 3] {
    let mut figures: [Vec<f64>; 3] = Default::default();
    for _ in 0..ROUNDS {
        for (figures, command) in figures.iter_mut().zip(commands) {
            figures.push(timed(command()));
        }
    }
    figures.map(|f| median(&f))
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

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        fs::copy(entry.path(), to.join(entry.file_name())).unwrap();
    }
}
