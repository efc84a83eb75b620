//! An agent that leaves a mess: graded as what it solved, and all of the mess is in the run.

use super::house::{alive, run, scripted};
use crate::common::tasks;
use crate::on_both_engines;

on_both_engines!(a_mess_is_captured_and_graded);

fn a_mess_is_captured_and_graded(engine: &str) {
    let name = format!("nasty-{engine}");
    let mark = if engine == "local" { "86421" } else { "86422" };
    let right = tasks().join("dp-buckets/alternative/arena.patch");
    // braces would be words of the adapter
    let right = std::process::Command::new("base64")
        .arg("-w0")
        .arg(right)
        .output()
        .unwrap()
        .stdout;
    let right = String::from_utf8(right).unwrap();
    // a right solution, committed on a branch; a test deleted; a conftest.py that turns everything
    // into a pass; caches; a process left behind; 3 GB of output
    scripted(
        &name,
        &format!(
            "git checkout -q -b side
             echo {right} | base64 -d | git apply
             git add -A; git commit -qm 'on a branch'
             echo '# a stash' >> README.md; git stash -q
             rm tests/test_comm.py
             printf 'import pytest\\n@pytest.hookimpl(hookwrapper=True)\\ndef pytest_runtest_makereport(item, call):\\n    out = yield\\n    out.get_result().outcome = \"passed\"\\n' > conftest.py
             mkdir -p tandem/__pycache__ && echo junk > tandem/__pycache__/x.cpython-311.pyc
             git init -q nested && echo inside > nested/file.txt
             ln -s /etc/passwd link
             mkfifo pipe
             (setsid sleep {mark} &) </dev/null >/dev/null 2>&1
             yes $(printf 'output-that-says-nothing-at-all-%.0s' $(seq 20)) | head -c 3221225472
             echo; echo the last words >&2"
        ),
    );
    let begun = std::time::Instant::now();
    let ran = run("dp-buckets", &name, &["--engine", engine]);
    println!(
        "{engine}: 3 GB of output and a grade in {:.1?}",
        begun.elapsed()
    );
    assert_eq!(ran.verdict(), "resolved", "cause {}", ran.grade["cause"]);
    assert_eq!(alive(&format!("sleep {mark}")), Vec::<String>::new());

    let ended = &ran.events("agent_ended")[0];
    assert_eq!(ended["end"]["how"], "exited");
    assert_eq!(ended["killed"], 1, "{ended}");
    assert!(
        ended["log_bytes"].as_u64().unwrap() >= 3_221_225_472,
        "{ended}"
    );
    let kept = std::fs::metadata(ran.run.join("agent.log")).unwrap().len();
    assert_eq!(
        ended["dropped_bytes"].as_u64().unwrap(),
        ended["log_bytes"].as_u64().unwrap() - (1 << 30),
        "{ended}"
    );
    assert!(kept < (1 << 30) + 100, "{kept}");

    let captured = &ran.events("captured")[0];
    let files: Vec<&str> = captured["files"]
        .as_array()
        .unwrap()
        .iter()
        .map(|f| f["path"].as_str().unwrap())
        .collect();
    for wanted in ["conftest.py", "tests/test_comm.py", "nested/file.txt"] {
        assert!(files.contains(&wanted), "{wanted}: {files:?}");
    }
    assert!(
        !files
            .iter()
            .any(|f| f.contains("__pycache__") || f.contains(".git/")),
        "{files:?}"
    );
    let notes = captured["notes"].as_array().unwrap();
    let note = |kind: &str| notes.iter().any(|n| n["kind"] == kind);
    for kind in ["cache", "nested-repository", "stash", "odd", "outward-link"] {
        assert!(note(kind), "{kind}: {notes:?}");
    }
    // the deleted test is back and the hook is gone before anything is judged
    let restored = ran.events("restored");
    let about = |path: &str| restored.iter().any(|e| e["path"] == path);
    assert!(about("conftest.py"), "{restored:?}");
    assert!(ran.patch().contains("deleted file mode"));
}
