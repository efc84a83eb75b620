//! `-c`, `--print`, `--keep-patch`, and what has changed since a run.

use std::process::Command;

use crate::common::{grade, home, infradev, tasks};
use crate::house::{CASE, TASK, WRONG, both, contents, folder, graded, run, shell, told};

fn a_command_answers_with_its_exit_code(engine: &str) {
    let words = [TASK, "--submission", WRONG, "--case", CASE];
    let (code, out, err) = run(
        engine,
        &words,
        "echo out; echo err >&2; printenv INFRADEV_RUN; exit 41",
    );
    assert_eq!(code, 41, "{err}");
    assert!(
        out.starts_with("out\nshell-") && err.ends_with("err\n"),
        "{out}{err}"
    );
    assert!(!folder(out.lines().last().unwrap()).exists());
    let (code, ..) = run(engine, &words, "kill -9 $$");
    assert_eq!(code, 137);
    let (code, out, err) = run(engine, &words, "testcase");
    assert_eq!(code, 1, "{out}{err}");
    assert!(
        out.contains("assert 4 == 3") && out.contains("1 failed"),
        "{out}"
    );
    let (code, out, _) = run(engine, &[TASK, "--gold", "--case", CASE], "testcase -q");
    assert_eq!((code, out.contains("1 passed")), (0, true), "{out}");
}

/// The project's own pytest options that grading sets aside, and what probes import of ours.
#[test]
fn pytest_is_the_tasks_own() {
    let words = [
        TASK,
        "--hollow",
        "--suite",
        "official",
        "--case",
        "tests/test_prefix_cache.py",
    ];
    let script = "printf '[pytest]\\naddopts = --strict-markers -n 4 --cov=x\\n' > pytest.ini; \
                  printf 'from infradev_probe import plain\\nimport os\\ndef test_x():\\n \
                  assert plain(1) == 1 and \"/infradev\" not in os.environ[\"PATH\"]\\n' > t.py; \
                  testcase t.py::test_x";
    let (code, out, err) = run("local", &words, script);
    assert_eq!((code, out.contains("1 passed")), (0, true), "{out}{err}");
    let (code, out, _) = run("local", &words, "testcase");
    assert_eq!(
        (code, out.contains("NotImplementedError")),
        (1, true),
        "{out}"
    );
}

fn what_is_done_is_kept_as_a_patch_only_where_asked(engine: &str) {
    let (id, _) = graded(engine);
    let before = contents(&home().join("runs").join(&id));
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("mine.patch");
    let file = file.to_str().unwrap();
    let script = "echo 'mine = 1' >> pagelm/engine.py; mkdir -p pagelm/__pycache__; \
                  echo x > pagelm/__pycache__/a.pyc; echo new > 'a b'; touch /tmp/elsewhere";
    let (code, _, err) = run(engine, &[&id, "--keep-patch", file], script);
    assert_eq!(code, 0, "{err}");
    let patch = std::fs::read_to_string(file).unwrap();
    assert_eq!(patch.matches("diff --git").count(), 2, "{patch}");
    assert!(
        patch.contains("+mine = 1\n") && patch.contains("b/a b"),
        "{patch}"
    );
    assert_eq!(contents(&home().join("runs").join(&id)), before);
    // and the next shell begins anew
    std::fs::remove_file(file).unwrap();
    let script = "! grep mine pagelm/engine.py && ! test -e 'a b'";
    let (code, _, err) = run(engine, &[&id, "--keep-patch", file], script);
    assert_eq!(
        (code, std::path::Path::new(file).exists()),
        (0, false),
        "{err}"
    );
    assert!(err.contains("nothing was changed"), "{err}");
}

fn the_line_that_is_printed_reproduces_the_failure(engine: &str) {
    let (id, message) = graded(engine);
    let (code, out, err) = told(&shell(engine, &[&id, "--print"]).output().unwrap());
    assert_eq!((code, out.lines().count()), (0, 1), "{err}");
    let line = out.trim().strip_prefix("infradev ").unwrap();
    assert!(
        line.contains(&id) && line.ends_with(" -c testcase"),
        "{line}"
    );
    let program = env!("CARGO_BIN_EXE_infradev");
    let mut sh = Command::new("bash");
    sh.arg("-c")
        .arg(format!("'{program}' {line}"))
        .current_dir("/");
    let (code, out, err) = told(&sh.output().unwrap());
    assert_eq!(code, 1, "{line}: {err}");
    assert!(out.contains(&message), "{out}");
}

/// A copy of the task, which then changes under a run.
#[test]
fn what_changed_since_the_run_is_told() {
    let dir = tempfile::tempdir().unwrap();
    let all = dir.path().join("tasks");
    let task = all.join(TASK);
    std::fs::create_dir(&all).unwrap();
    let copied = Command::new("cp")
        .arg("-r")
        .arg(tasks().join(TASK))
        .arg(&all)
        .status();
    assert!(copied.unwrap().success());
    let words = [
        "--submission",
        WRONG,
        "--suite",
        "probes",
        "--case",
        CASE,
        "--engine",
        "local",
    ];
    let (_, document) = grade(&home(), &all, TASK, &words);
    let id = document["run"].as_str().unwrap();
    let look = || {
        let mut command = infradev(&home(), &all);
        command.args(["shell", id, "-c", "true"]);
        let (code, _, err) = told(&command.output().unwrap());
        assert_eq!(code, 0, "{err}");
        err
    };
    assert!(!look().contains("note:"));
    let probe = task.join("probes/test_order.py");
    let text = std::fs::read_to_string(&probe).unwrap();
    std::fs::write(&probe, text + "# changed\n").unwrap();
    let err = look();
    assert!(err.contains("the probes tests"), "{err}");
    assert!(!err.contains("this is the patch"), "{err}");
    let patch = task.join(format!("submissions/{WRONG}/patch.diff"));
    assert!(patch.is_file());
    std::fs::write(&patch, "").unwrap();
    let err = look();
    assert!(err.contains("has changed since run"), "{err}");
    // the tree is that of the run all the same
    let mut command = infradev(&home(), &all);
    command.args(["shell", id, "-c", "testcase"]);
    let (code, out, _) = told(&command.output().unwrap());
    assert!(code == 1 && out.contains("assert 4 == 3"), "{out}");
}

#[test]
fn what_cannot_be_opened_is_refused_before_anything_is_made() {
    let refused = |words: &[&str], said: &str| {
        let (code, out, err) = told(&shell("local", words).output().unwrap());
        assert_eq!((code, out.as_str()), (2, ""), "{words:?}: {err}");
        assert!(err.contains(said), "{words:?}: {err}");
    };
    refused(&[TASK, "-c", "true"], "--submission NAME");
    refused(&[TASK, "--submission", "nobody", "-c", "true"], WRONG);
    refused(&["no-such-thing", "-c", "true"], "no task of that name");
    refused(&[TASK, "--gold"], "needs a terminal");
    refused(&[TASK, "--patch", "/no/such", "-c", "true"], "/no/such");
    refused(
        &[
            TASK,
            "--gold",
            "-c",
            "true",
            "--keep-patch",
            "/no/such/file",
        ],
        "/no/such/file",
    );
    let dir = tempfile::tempdir().unwrap();
    let broken = dir.path().join("broken.patch");
    std::fs::write(&broken, "nothing of the kind").unwrap();
    refused(
        &[TASK, "--patch", broken.to_str().unwrap(), "-c", "true"],
        "does not apply",
    );
    let (id, _) = graded("local");
    refused(
        &[&id, "--case", "test_nowhere", "-c", "true"],
        "no case test_nowhere",
    );
    refused(
        &[&id, "--suite", "unit", "-c", "true"],
        "official or probes",
    );
}

both!(
    a_command_answers_with_its_exit_code,
    what_is_done_is_kept_as_a_patch_only_where_asked,
    the_line_that_is_printed_reproduces_the_failure,
);
