//! The command line on small tasks made for the purpose: bad input is named with its place and
//! mend, exit codes mean what they say, runs outlive and survive what people do to them.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::print_stdout)]

mod common;
mod cli {
    pub mod machine;
}

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use common::{code, grade, home, infradev};
use serde_json::{Value, json};

/// A task with one module, an official suite and a probe, in a folder of its own.
struct Tiny {
    _dir: tempfile::TempDir,
    tasks: PathBuf,
}

const GOLD: &str = "\
diff --git a/calc.py b/calc.py
--- a/calc.py
+++ b/calc.py
@@ -1,2 +1,5 @@
 def double(x):
     return 2 * x
+
+def triple(x):
+    return 3 * x
";

impl Tiny {
    fn new(official: &str) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let tasks = dir.path().join("tasks");
        let task = tasks.join("tiny");
        for folder in ["base/tests", "official", "probes"] {
            fs::create_dir_all(task.join(folder)).unwrap();
        }
        let lock = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/requirements.lock");
        fs::copy(lock, task.join("requirements.lock")).unwrap();
        fs::write(
            task.join("base/calc.py"),
            "def double(x):\n    return 2 * x\n",
        )
        .unwrap();
        fs::write(
            task.join("base/tests/test_old.py"),
            "def test_old():\n    pass\n",
        )
        .unwrap();
        fs::write(task.join("official/test_calc.py"), official).unwrap();
        fs::write(
            task.join("probes/test_probe.py"),
            "import calc\n\ndef test_negative():\n    assert calc.triple(-2) == -6\n",
        )
        .unwrap();
        fs::write(task.join("gold.patch"), GOLD).unwrap();
        fs::write(task.join("prompt.md"), "Add triple(x), three times x.\n").unwrap();
        fs::write(task.join("task.toml"), Self::toml()).unwrap();
        Self { _dir: dir, tasks }
    }

    fn toml() -> String {
        "schema = 1\nid = \"tiny\"\ntitle = \"triple\"\narea = \"training\"\nkind = \"feature\"\n\
         repository = \"test/tiny\"\n\n[source]\nbase = \"base\"\n\n[gold]\npatch = \"gold.patch\"\n\n\
         [environment]\nkind = \"uv\"\nrequirements = \"requirements.lock\"\n\n\
         [suites.official]\nfrom = \"official\"\ninto = \"tests\"\nlimit_s = 60\ncase_limit_s = 30\n\n\
         [suites.probes]\nfrom = \"probes\"\ninto = \"probes\"\nlimit_s = 60\ncase_limit_s = 30\n\n\
         [[claims]]\nid = \"C1\"\ntext = \"triples\"\nkind = \"numerics\"\noracles = [\"direct\", \"property\"]\n\
         probes = [\"probes/test_probe.py::test_negative\"]\nprompt = \"three times x\"\n"
            .into()
    }

    fn plain() -> Self {
        Self::new(
            "import calc\n\ndef test_triple():\n    assert calc.triple(2) == 6\n\ndef test_double():\n    assert calc.double(2) == 4\n",
        )
    }

    fn dir(&self) -> PathBuf {
        self.tasks.join("tiny")
    }

    /// `check --json` after a change to task.toml: exit code and problems.
    fn check_with(&self, change: impl FnOnce(String) -> String) -> (i32, Vec<Value>) {
        fs::write(self.dir().join("task.toml"), change(Self::toml())).unwrap();
        let output = infradev(&home(), &self.tasks)
            .args(["check", "--json"])
            .output()
            .unwrap();
        let document: Value = serde_json::from_slice(&output.stdout).unwrap();
        (
            code(&output),
            document["tasks"][0]["problems"].as_array().unwrap().clone(),
        )
    }

    fn patch(&self, text: &str) -> PathBuf {
        let path = self.dir().join("given.patch");
        fs::write(&path, text).unwrap();
        path
    }

    fn grade_patch(&self, text: &str) -> (i32, Value) {
        let path = self.patch(text);
        grade(
            &home(),
            &self.tasks,
            "tiny",
            &["--engine", "local", "--patch", path.to_str().unwrap()],
        )
    }
}

#[test]
fn a_tasks_need_of_gpus_is_listed_beside_what_is_here() {
    let tiny = Tiny::plain();
    let toml = format!(
        "{}\n[hardware]\ngpus = 2\ngpu_type = \"No Such GPU\"\n",
        Tiny::toml()
    );
    fs::write(tiny.dir().join("task.toml"), toml).unwrap();
    let list = |args: &[&str]| infradev(&home(), &tiny.tasks).args(args).output().unwrap();
    let text = String::from_utf8(list(&["tasks"]).stdout).unwrap();
    assert!(
        text.contains("needs 2 GPUs No Such GPU (none here)"),
        "{text}"
    );
    let document: Value = serde_json::from_slice(&list(&["tasks", "--json"]).stdout).unwrap();
    let row = &document["tasks"][0];
    assert_eq!((&row["gpus"], &row["gpus_here"]), (&json!(2), &json!(0)));
    assert_eq!(row["gpu_type"], "No Such GPU");
    // one that needs none is not compared
    fs::write(tiny.dir().join("task.toml"), Tiny::toml()).unwrap();
    let document: Value = serde_json::from_slice(&list(&["tasks", "--json"]).stdout).unwrap();
    assert!(document["tasks"][0]["gpus_here"].is_null());
}

#[test]
fn a_probe_that_no_must_fail_twin_guards_is_named() {
    let tiny = Tiny::plain();
    let probe = tiny.dir().join("probes/test_probe.py");
    let text = fs::read_to_string(&probe).unwrap();
    fs::write(
        &probe,
        format!("{text}\ndef check_it():\n    pass\n\ntest_made = check_it\n"),
    )
    .unwrap();
    let named = |name: &str| tiny.check_with(|t| t.replace("::test_negative", name));
    // assigned and not defined: it has one
    assert_eq!(named("::test_made"), (0, vec![]));
    let (code, problems) = named("::check_it");
    assert_eq!((code, problems.len()), (0, 1), "{problems:?}");
    assert_eq!(problems[0]["severity"], "warning");
    let message = problems[0]["message"].as_str().unwrap();
    assert!(
        message.contains("check_it") && message.contains("no must-fail twin"),
        "{message}"
    );
}

#[test]
fn bad_task_files_are_named_with_line_and_mend() {
    let tiny = Tiny::plain();
    let one = |change: &dyn Fn(String) -> String, what: &str, line: u64| {
        let (code, problems) = tiny.check_with(change);
        assert_eq!(code, 1, "{what}");
        let hit = problems
            .iter()
            .find(|p| p["message"].as_str().unwrap().contains(what));
        let hit = hit.unwrap_or_else(|| panic!("no problem says {what:?}: {problems:#?}"));
        assert_eq!(hit["line"].as_u64(), Some(line), "{hit}");
        assert!(
            hit["file"].as_str().unwrap().ends_with("task.toml"),
            "{hit}"
        );
        assert!(!hit["mend"].as_str().unwrap().is_empty(), "{hit}");
    };
    assert_eq!(tiny.check_with(|t| t), (0, vec![]));
    one(
        &|t| t.replace("kind = \"feature\"", "kind = \"feature\"\ncolour = \"red\""),
        "unknown field `colour`",
        6,
    );
    one(
        &|t| t.replace("\"official\"\ninto", "\"oficial\"\ninto"),
        "no folder \"oficial\"",
        19,
    );
    one(
        &|t| {
            t.replace(
                "test_negative\"]",
                "test_negative\", \"probes/test_probe.py::test_negative\"]",
            )
        },
        "is listed twice",
        35,
    );
    one(
        &|t| t.replace("::test_negative", "::test_positive"),
        "no probe function",
        35,
    );
    one(
        &|t| t.replace("three times x\"", "four times x\""),
        "prompt.md does not say",
        36,
    );
    one(
        &|t| t.replace("into = \"tests\"", "into = \"../tests\""),
        "no folder inside the work tree",
        20,
    );
    one(
        &|t| t.replace("id = \"tiny\"", "id = \"huge\""),
        "is not the folder's name",
        2,
    );
    fs::write(
        tiny.dir().join("gold.patch"),
        GOLD.replace("double", "halve"),
    )
    .unwrap();
    let (code, problems) = tiny.check_with(|t| t);
    assert_eq!(code, 1);
    assert!(
        problems[0]["message"]
            .as_str()
            .unwrap()
            .contains("gold does not apply to base"),
        "{problems:?}"
    );
}

#[test]
fn patches_that_are_none_are_told_apart_and_score_zero() {
    let tiny = Tiny::plain();
    for (text, cause, words) in [
        ("", "empty", "0 bytes"),
        (" \n\t\n", "empty", "white space"),
        ("I could not do it.\n", "apply", "no patch"),
        (&GOLD.replace("double", "halve"), "apply", "calc.py"),
        (
            &GOLD.replace("calc.py", "../calc.py"),
            "apply",
            "../calc.py",
        ),
    ] {
        let (code, document) = tiny.grade_patch(text);
        assert_eq!(
            (code, &document["verdict"]),
            (1, &Value::from("failed")),
            "{text:?}"
        );
        assert_eq!(document["cause"], cause, "{text:?}");
        assert_eq!(document["suites"]["official"]["passed"], 0);
        assert_eq!(
            document["suites"]["official"]["collected"], 2,
            "it stays in the denominator"
        );
        let message = document["cases"][0]["message"].as_str().unwrap();
        assert!(
            message.contains(words),
            "{message:?} does not say {words:?}"
        );
    }
    let submission = tiny.dir().join("submissions/silent");
    fs::create_dir_all(&submission).unwrap();
    fs::write(
        submission.join("submission.toml"),
        "schema = 1\nname = \"silent\"\nagent = \"none\"\nmodel = \"none\"\n",
    )
    .unwrap();
    let (code, document) = grade(&home(), &tiny.tasks, "tiny", &["--submission", "silent"]);
    assert_eq!((code, &document["cause"]), (1, &Value::from("missing")));
}

#[test]
fn the_document_is_the_published_contract() {
    let tiny = Tiny::plain();
    let (code, document) = tiny.grade_patch(&GOLD.replace("3 * x", "x + x + abs(x)"));
    assert_eq!(code, 1);
    let parsed: infradev::domain::Grade = serde_json::from_value(document.clone()).unwrap();
    assert_eq!(
        serde_json::to_value(&parsed).unwrap(),
        document,
        "nothing is lost"
    );
    let mut keys: Vec<&str> = document
        .as_object()
        .unwrap()
        .keys()
        .map(String::as_str)
        .collect();
    keys.sort_unstable();
    assert_eq!(
        keys,
        [
            "badges",
            "cases",
            "cause",
            "duration_s",
            "engine",
            "resolved",
            "resolved_official",
            "resolved_official_strict",
            "resolved_strict",
            "run",
            "schema",
            "suites",
            "task",
            "verdict"
        ]
    );
    assert_eq!(document["verdict"], "official_only");
    assert_eq!(document["cause"], "cases");
    assert_eq!(document["engine"], "local");
    assert_eq!(document["suites"]["official"]["score"], 1.0);
    let probe = document["cases"]
        .as_array()
        .unwrap()
        .iter()
        .find(|c| c["suite"] == "probes")
        .unwrap();
    assert_eq!(
        (&probe["outcome"], &probe["gold"]),
        (&Value::from("failed"), &Value::from("passed"))
    );
    assert!(
        probe["message"].as_str().unwrap().contains("assert"),
        "{probe}"
    );
}

#[test]
fn exit_codes_tell_whose_fault_it_is() {
    let tiny = Tiny::plain();
    let run = |args: &[&str]| infradev(&home(), &tiny.tasks).args(args).output().unwrap();
    for args in [
        &["grade", "nothing", "--gold"][..],
        &["grade", "tiny", "--patch", "/nowhere.patch"],
        &["grade", "tiny", "--submission", "nobody"],
        &["grade", "tiny"],
        &["grade", "tiny", "--gold", "--base"],
        &["cancel", "no-such-run"],
        &["check", "nothing"],
        &["--colour"],
    ] {
        let output = run(args);
        assert_eq!(
            code(&output),
            2,
            "{args:?}: {}",
            String::from_utf8_lossy(&output.stderr)
        );
        assert!(
            output.stdout.is_empty() && !output.stderr.is_empty(),
            "{args:?}"
        );
    }
    let no_daemon = infradev(&home(), &tiny.tasks)
        .args(["grade", "tiny", "--gold", "--engine", "docker"])
        .env("DOCKER_HOST", "unix:///nowhere/docker.sock")
        .output()
        .unwrap();
    assert_eq!(code(&no_daemon), 2);
    let said = String::from_utf8_lossy(&no_daemon.stderr);
    assert!(said.contains("/nowhere/docker.sock"), "{said}");
    let wrong_home = infradev(Path::new("/dev/null"), &tiny.tasks)
        .arg("runs")
        .output()
        .unwrap();
    assert_eq!(code(&wrong_home), 2);
    assert!(String::from_utf8_lossy(&wrong_home.stderr).contains("--home"));
    assert_eq!(code(&run(&["tasks"])), 0);
    assert_eq!(code(&run(&["--help"])), 0);
}

/// A gold that can be graded, and a patch whose first case waits for ten minutes.
fn waiting() -> (Tiny, PathBuf) {
    let tiny = Tiny::new(
        "import calc\n\ndef test_triple():\n    assert calc.triple(2) == 6\n\ndef test_after():\n    pass\n",
    );
    let toml = Tiny::toml().replace(
        "limit_s = 60\ncase_limit_s = 30",
        "limit_s = 900\ncase_limit_s = 800",
    );
    fs::write(tiny.dir().join("task.toml"), toml).unwrap();
    let (code, _) = grade(&home(), &tiny.tasks, "tiny", &["--gold"]);
    assert_eq!(code, 0);
    let slow = GOLD.replace(
        "+    return 3 * x",
        "+    import time; time.sleep(600); return 3 * x",
    );
    let patch = tiny.patch(&slow);
    (tiny, patch)
}

fn detached(tiny: &Tiny, patch: &Path) -> String {
    let output = infradev(&home(), &tiny.tasks)
        .args([
            "grade",
            "tiny",
            "--detach",
            "--patch",
            patch.to_str().unwrap(),
        ])
        .output()
        .unwrap();
    assert_eq!(code(&output), 0);
    String::from_utf8(output.stdout).unwrap().trim().to_string()
}

fn row(tiny: &Tiny, run: &str) -> Value {
    let output = infradev(&home(), &tiny.tasks)
        .args(["runs", "--json"])
        .output()
        .unwrap();
    let document: Value = serde_json::from_slice(&output.stdout).unwrap();
    document["runs"]
        .as_array()
        .unwrap()
        .iter()
        .find(|r| r["run"] == run)
        .cloned()
        .unwrap()
}

/// Processes of a run: its worker's, and everything that carries its id.
fn processes(run: &str) -> Vec<u32> {
    let mine = std::process::id();
    fs::read_dir("/proc")
        .unwrap()
        .filter_map(|e| e.ok()?.file_name().to_str()?.parse().ok())
        .filter(|pid| *pid != mine)
        .filter(|pid: &u32| {
            ["environ", "cmdline"].iter().any(|file| {
                fs::read(format!("/proc/{pid}/{file}")).is_ok_and(|bytes| {
                    bytes
                        .windows(run.len())
                        .any(|window| window == run.as_bytes())
                })
            })
        })
        .collect()
}

fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let begin = Instant::now();
    while !holds() {
        assert!(
            begin.elapsed() < Duration::from_secs(60),
            "not within 60 s: {what}"
        );
        std::thread::sleep(Duration::from_millis(50));
    }
}

/// The pid of the run's worker, once its first case runs.
fn worker_in_mid_suite(run: &str) -> i32 {
    let journal = home().join("runs").join(run).join("journal.jsonl");
    let text = || fs::read_to_string(&journal).unwrap_or_default();
    until("a case of the submission runs", || {
        text()
            .lines()
            .any(|l| l.contains("\"case_started\"") && l.contains("\"submission\""))
    });
    let first: Value = serde_json::from_str(text().lines().next().unwrap()).unwrap();
    i32::try_from(first["pid"].as_i64().unwrap()).unwrap()
}

#[test]
fn a_killed_worker_leaves_an_interrupted_run_and_nothing_running() {
    let (tiny, patch) = waiting();
    let run = detached(&tiny, &patch);
    let worker = worker_in_mid_suite(&run);
    assert_eq!(row(&tiny, &run)["status"], "running");
    assert!(
        processes(&run).len() > 1,
        "the worker and its sandbox are seen"
    );
    nix::sys::signal::kill(
        nix::unistd::Pid::from_raw(worker),
        nix::sys::signal::Signal::SIGKILL,
    )
    .unwrap();
    until("nothing of the run is left", || processes(&run).is_empty());
    // a dying process shows no variables any more a moment before it lets go of its lock
    until("the run is interrupted", || {
        row(&tiny, &run)["status"] == "interrupted"
    });
    let text = infradev(&home(), &tiny.tasks).arg("runs").output().unwrap();
    let text = String::from_utf8_lossy(&text.stdout).into_owned();
    assert!(
        text.lines()
            .any(|l| l.contains(&run) && l.contains("interrupted")),
        "{text}"
    );
    // grading again works, and so does taking the run up again
    let (code, document) = tiny.grade_patch(GOLD);
    assert_eq!((code, &document["verdict"]), (0, &Value::from("resolved")));
    fs::write(
        home().join("runs").join(&run).join("submission.patch"),
        GOLD,
    )
    .unwrap();
    let resumed = infradev(&home(), &tiny.tasks)
        .args(["resume", &run])
        .output()
        .unwrap();
    assert_eq!(
        common::code(&resumed),
        0,
        "{}",
        String::from_utf8_lossy(&resumed.stderr)
    );
    assert_eq!(row(&tiny, &run)["verdict"], "resolved");
}

#[test]
fn a_cancelled_run_ends_at_once_and_says_so() {
    let (tiny, patch) = waiting();
    let run = detached(&tiny, &patch);
    worker_in_mid_suite(&run);
    let begin = Instant::now();
    let output = infradev(&home(), &tiny.tasks)
        .args(["cancel", &run])
        .output()
        .unwrap();
    assert_eq!(
        code(&output),
        0,
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    assert!(begin.elapsed() < Duration::from_secs(10));
    assert_eq!(row(&tiny, &run)["status"], "cancelled");
    until("nothing of the run is left", || processes(&run).is_empty());
    assert!(!home().join("runs").join(&run).join("scratch").exists());
}

#[test]
fn a_chosen_case_runs_alone() {
    let tiny = Tiny::plain();
    let (code, document) = grade(
        &home(),
        &tiny.tasks,
        "tiny",
        &["--gold", "--case", "tests/test_calc.py::test_triple"],
    );
    assert_eq!(code, 0, "{document}");
    assert_eq!(document["cases"].as_array().unwrap().len(), 1);
    assert_eq!(document["suites"]["official"]["collected"], 1);
}

#[test]
fn the_build_step_runs_on_the_submissions_own_sources_and_its_failure_is_a_cause() {
    let tiny = Tiny::new("import generated\n\ndef test_built():\n    assert generated.V == 21\n");
    let toml = Tiny::toml().replace(
        "[suites.official]",
        "[build]\ncommand = [\"python\", \"-c\", \"import calc; open('generated.py', 'w').write('V = %d' % calc.triple(7))\"]\n\
         limit_s = 30\n\n[suites.official]",
    );
    fs::write(tiny.dir().join("task.toml"), toml).unwrap();
    let (code, document) = grade(&home(), &tiny.tasks, "tiny", &["--gold"]);
    assert_eq!(
        (code, &document["verdict"]),
        (0, &Value::from("resolved")),
        "{document}"
    );
    assert!(document["duration_s"]["build"].as_f64().unwrap() > 0.0);
    // the submission's source is what is built
    let (code, document) = tiny.grade_patch(&GOLD.replace("3 * x", "4 * x"));
    assert_eq!(
        (code, &document["cause"]),
        (1, &Value::from("cases")),
        "{document}"
    );
    // and a source that does not build scores 0
    let (code, document) = tiny.grade_patch(&GOLD.replace("3 * x", "unknown"));
    assert_eq!(
        (code, &document["cause"]),
        (1, &Value::from("build")),
        "{document}"
    );
    assert_eq!(document["suites"]["official"]["passed"], 0);
    // and one that leaves a tree that git cannot hold does too
    let names = GOLD.replace("3 * x", "open('git~1', 'w').close() or 3 * x");
    let (code, left) = tiny.grade_patch(&names);
    assert_eq!((code, &left["cause"]), (1, &Value::from("build")), "{left}");
    let message = document["cases"][0]["message"].as_str().unwrap();
    assert!(
        message.contains("the build exited with 1") && message.contains("NameError"),
        "{message}"
    );
}

/// Gold several times; what it gives travels with the task and calibrates another home.
#[test]
fn a_calibration_is_recorded_with_the_task_and_used() {
    let tiny = Tiny::new(
        "import calc\nimport pytest\n\ndef test_triple():\n    assert calc.triple(2) == 6\n\n\
         @pytest.mark.skip(reason='no reason')\ndef test_skipped():\n    pass\n",
    );
    let output = infradev(&home(), &tiny.tasks)
        .args(["calibrate", "tiny", "--runs", "2", "--json"])
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(code(&output), 0, "{said}");
    let made: Value = serde_json::from_slice(&output.stdout).unwrap();
    let official = &made["suites"]["official"];
    assert_eq!(
        (&official["runs"], &official["ranks"]),
        (&2.into(), &1.into())
    );
    let cases = official["cases"].as_array().unwrap();
    assert_eq!(cases[0]["outcome"], "passed");
    assert_eq!(cases[0]["runs"].as_array().unwrap().len(), 2);
    assert_eq!(cases[1]["outcome"], "skipped");
    let file = tiny.dir().join("calibration/cpu-r1.json");
    let kept: Value = serde_json::from_slice(&fs::read(&file).unwrap()).unwrap();
    assert_eq!(kept, made);

    // a home that does not know it yet: gold need not run again, and C is still both cases
    let forget = || {
        for suite in ["official", "probes"] {
            let key = made["suites"][suite]["key"].as_str().unwrap();
            fs::remove_file(home().join(format!("calibration/{key}.json"))).unwrap();
        }
    };
    forget();
    let (exit, graded) = grade(&home(), &tiny.tasks, "tiny", &["--gold"]);
    assert_eq!(exit, 0, "{graded:#}");
    assert_eq!(graded["suites"]["official"]["collected"], 2);
    assert_eq!(graded["suites"]["official"]["gold_passed"], 1);
    let run = graded["run"].as_str().unwrap();
    let journal = fs::read_to_string(home().join("runs").join(run).join("journal.jsonl")).unwrap();
    assert!(journal.contains("\"fresh\":false") && !journal.contains("\"fresh\":true"));

    // what somebody changed in it is believed no more, and `check` says where
    forget();
    let kept = fs::read_to_string(&file).unwrap();
    let changed = kept.replace("\"outcome\": \"passed\"", "\"outcome\": \"failed\"");
    fs::write(&file, changed).unwrap();
    let (exit, base) = grade(&home(), &tiny.tasks, "tiny", &["--base"]);
    assert_eq!((exit, &base["resolved"]), (1, &false.into()), "{base:#}");
    let output = infradev(&home(), &tiny.tasks)
        .args(["check"])
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr);
    assert!(said.contains("cpu-r1.json") && code(&output) == 1, "{said}");
    fs::write(&file, kept).unwrap();

    // another test tree is another key: the file does not fit, gold runs
    fs::write(
        tiny.dir().join("official/test_more.py"),
        "def test_more():\n    pass\n",
    )
    .unwrap();
    let (_, graded) = grade(&home(), &tiny.tasks, "tiny", &["--gold"]);
    assert_eq!(graded["suites"]["official"]["collected"], 3);
}

/// A calibration of another environment stands for gold only where somebody says so.
#[test]
fn another_machines_calibration_is_refused_or_marked() {
    // of which the home that all tests share knows nothing
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    let tiny = Tiny::new(&format!(
        "# {}\nimport calc\n\ndef test_triple():\n    assert calc.triple(2) == 6\n\ndef test_double():\n    assert calc.double(2) == 4\n",
        since.unwrap().as_nanos()
    ));
    let ask = |calibration: &str| {
        let mut command = infradev(&home(), &tiny.tasks);
        let args = ["grade", "tiny", "--base", "--engine", "local", "--json"];
        let output = command.args(args).args(["--calibration", calibration]);
        let output = output.output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        (code(&output), said, output.stdout)
    };
    let (exit, said, _) = ask("any");
    assert_eq!(exit, 2, "{said}");
    assert!(said.contains("no calibration of this task"), "{said}");
    let output = infradev(&home(), &tiny.tasks)
        .args(["calibrate", "tiny", "--runs", "2", "--engine", "local"])
        .output()
        .unwrap();
    let made = String::from_utf8_lossy(&output.stdout).into_owned();
    assert_eq!(code(&output), 0);
    assert!(made.contains("–") && made.contains("test_triple"), "{made}");
    assert!(made.contains("up to 78 %"), "{made}");
    let (exit, said, graded) = ask("recorded");
    let graded: Value = serde_json::from_slice(&graded).expect(&said);
    assert_eq!((exit, &graded["badges"]), (1, &json!([])));

    // the same task in another environment
    let lock = tiny.dir().join("requirements.lock");
    let text = fs::read_to_string(&lock).unwrap();
    let (before, rest) = text.split_once("numpy==").unwrap();
    let (_, after) = rest.split_once("\npackaging==").unwrap();
    fs::write(&lock, format!("{before}packaging=={after}")).unwrap();
    let (exit, said, _) = ask("recorded");
    assert_eq!(exit, 2, "{said}");
    for words in [
        "not of this machine (cpu-r1.json: environment ",
        " there, ",
        " here)",
        "--calibration any",
    ] {
        assert!(said.contains(words), "{words}: {said}");
    }
    let (exit, said, graded) = ask("any");
    let graded: Value = serde_json::from_slice(&graded).expect(&said);
    assert_eq!(exit, 1);
    assert_eq!(graded["badges"], json!(["uncalibrated"]));
    assert_eq!(graded["suites"]["official"]["gold_passed"], 2);

    // other tests are no other machine
    let tests = tiny.dir().join("official/test_more.py");
    fs::write(tests, "def test_more():\n    pass\n").unwrap();
    let (exit, said, _) = ask("any");
    assert_eq!(exit, 2);
    assert!(
        said.contains("official: no calibration of this task"),
        "{said}"
    );
    // gold runs first where nothing else is said
    let (exit, said, graded) = ask("auto");
    let graded: Value = serde_json::from_slice(&graded).expect(&said);
    assert_eq!((exit, &graded["badges"]), (1, &json!([])));
}

/// GPUs that this machine has not: the user's input, with what is missing.
#[test]
fn a_task_that_needs_other_gpus_is_refused() {
    let tiny = Tiny::plain();
    let toml = Tiny::toml() + "\n[hardware]\ngpus = 1\ngpu_type = \"None Such\"\n";
    fs::write(tiny.dir().join("task.toml"), toml).unwrap();
    let output = infradev(&home(), &tiny.tasks)
        .args(["grade", "tiny", "--gold"])
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(code(&output), 2, "{said}");
    assert!(said.contains("task tiny needs 1 GPU"), "{said}");
}

/// Another number of ranks is another suite: it has its own calibration.
#[test]
fn the_number_of_ranks_can_be_overridden() {
    let tiny = Tiny::new(
        "import os\n\nimport calc\nimport pytest\n\n\
         def test_triple():\n    assert calc.triple(2) == 6\n\n\
         @pytest.mark.skipif(os.environ['WORLD_SIZE'] != '2', reason='two ranks')\n\
         def test_two():\n    assert os.environ['RANK'] in '01'\n",
    );
    let (_, one) = grade(&home(), &tiny.tasks, "tiny", &["--gold"]);
    assert_eq!(one["suites"]["official"]["gold_passed"], 1);
    let (exit, two) = grade(&home(), &tiny.tasks, "tiny", &["--gold", "--ranks", "2"]);
    assert_eq!(exit, 0, "{two:#}");
    let official = &two["suites"]["official"];
    assert_eq!(
        (&official["ranks"], &official["gold_passed"]),
        (&2.into(), &2.into())
    );
}
