//! A hollow patch that breaks imports shows nothing: it is mended by what a run tells, and where
//! that is no help its task is rejected for it.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::common::small::{NAME, write};
use crate::common::{home, infradev};
use crate::{broken, document, verify};

const PROBE: &str = "probes/test_bounds.py::test_low";
const NEEDED: &str = "tests cannot be collected without it";

/// The small task with another change: the new file `inh.py`, and a probe that asks for a name.
fn task(folder: &str, module: &str) -> PathBuf {
    let tasks = write(folder, "");
    let added: Vec<String> = module.lines().map(|l| format!("+{l}\n")).collect();
    let added = added.concat();
    let count = module.lines().count();
    for (file, text) in [
        (
            "gold.patch",
            format!("--- /dev/null\n+++ b/inh.py\n@@ -0,0 +1,{count} @@\n{added}"),
        ),
        (
            "official/test_clip.py",
            "from inh import B\n\n\ndef test_clip():\n    assert B(1).value() == 2\n".into(),
        ),
        (
            "probes/test_bounds.py",
            "from inh import B\n\n\ndef test_low():\n    assert callable(B)\n".into(),
        ),
    ] {
        fs::write(tasks.join(NAME).join(file), text).unwrap();
    }
    tasks
}

fn hollow(tasks: &Path) -> Value {
    let mut command = infradev(&home(), tasks);
    document(command.args(["hollow", NAME, "--json"])).1
}

const CLASSES: &str = "\
class A:
    def __init__(self, n):
        self.n = n + 1
        self.note = self.words()
    def words(self):
        return 'of ' + str(self.n)
    def value(self):
        return self.n
class B(A):
    pass
";

#[test]
fn what_only_a_run_tells_to_be_needed_at_import_keeps_its_body() {
    // reading does not tell what is called here
    let tasks = task("hollow-mended", &format!("{CLASSES}DEFAULT = [B][0](1)\n"));
    let before = hollow(&tasks);
    assert_eq!(before["import_tried"], false);
    assert_eq!(before["raised"].as_array().unwrap().len(), 3, "{before}");
    let (exit, made) = document(&mut verify(&tasks, NAME));
    // the probe ran on hollow, and a name is all that it asks for
    let evidence = vec![format!("{PROBE} accepts hollow")];
    assert_eq!(broken(&made), [("hollow_rejected".to_owned(), evidence)]);
    assert_eq!(exit, 1);
    let need = json!({"path": "inh.py", "function": "A.__init__", "why": NEEDED});
    assert_eq!(made["hollow_needs"], json!([need]));
    let after = hollow(&tasks);
    assert_eq!(after["import_tried"], true);
    let raised = after["raised"].as_array().unwrap();
    assert_eq!(raised.len(), 1, "{after}");
    assert_eq!(raised[0]["function"], "A.value");
    let kept = after["kept"].as_array().unwrap();
    assert_eq!(kept[0]["note"], NEEDED);
}

#[test]
fn a_probe_that_fails_as_hollow_cannot_be_imported_does_not_reject_it() {
    let module = format!(
        "{CLASSES}try:\n    DEFAULT = [B][0](1)\nexcept NotImplementedError:\n    DEFAULT = None\nLIMIT = DEFAULT.n\n"
    );
    let tasks = task("hollow-broken", &module);
    let (exit, made) = document(&mut verify(&tasks, NAME));
    assert_eq!((exit, &made["standing"]), (1, &json!("rejected")));
    let broken = broken(&made);
    let rules: Vec<&str> = broken.iter().map(|(rule, _)| rule.as_str()).collect();
    assert_eq!(rules, ["hollow_collects", "hollow_rejected"], "{made}");
    for (suite, line) in ["official", "probes"].iter().zip(&broken[0].1) {
        assert!(line.starts_with(&format!("{suite}: 1 case of ")), "{line}");
        assert!(
            line.ends_with("'NoneType' object has no attribute 'n' (inh.py:14 in <module>)"),
            "{line}"
        );
    }
    let line = format!("{PROBE} has not run on hollow (error at collection)");
    assert_eq!(broken[1].1, [line]);
}

/// The same, by fixtures: the suites' conftest.py imports what hollow breaks.
fn by_fixture(folder: &str, module: &str) -> PathBuf {
    let tasks = task(folder, module);
    let conftest =
        "import pytest\nimport inh\n\n\n@pytest.fixture\ndef made():\n    return inh.B(1)\n";
    for (file, text) in [
        ("official/conftest.py", conftest),
        ("probes/conftest.py", conftest),
        (
            "official/test_clip.py",
            "def test_clip(made):\n    assert made.value() == 2\n",
        ),
        (
            "probes/test_bounds.py",
            "def test_low(made):\n    assert callable(made.value)\n",
        ),
    ] {
        fs::write(tasks.join(NAME).join(file), text).unwrap();
    }
    tasks
}

#[test]
fn a_conftest_that_hollow_breaks_is_named_and_rejects_nothing() {
    let module = format!(
        "{CLASSES}try:\n    DEFAULT = [B][0](1)\nexcept NotImplementedError:\n    DEFAULT = None\nLIMIT = DEFAULT.n\n"
    );
    let tasks = by_fixture("hollow-conftest", &module);
    let (exit, made) = document(&mut verify(&tasks, NAME));
    assert_eq!((exit, &made["standing"]), (1, &json!("rejected")));
    let broken = broken(&made);
    let rules: Vec<&str> = broken.iter().map(|(rule, _)| rule.as_str()).collect();
    assert_eq!(rules, ["hollow_collects", "hollow_rejected"], "{made}");
    let files = [
        ("official", "tests/test_clip.py", "tests/conftest.py"),
        ("probes", "probes/test_bounds.py", "probes/conftest.py"),
    ];
    assert_eq!(broken[0].1.len(), files.len());
    for ((suite, file, conftest), line) in files.iter().zip(&broken[0].1) {
        let head = format!("{suite}: 1 case of {file} not collected on hollow: ");
        assert!(line.starts_with(&head), "{line}");
        let error = "AttributeError: 'NoneType' object has no attribute 'n'";
        let tail = format!(": {conftest}: {error} (inh.py:14 in <module>)");
        assert!(line.ends_with(&tail), "{line}");
    }
    let line = format!("{PROBE} has not run on hollow (error at collection)");
    assert_eq!(broken[1].1, [line]);
}

#[test]
fn what_a_conftest_needs_at_import_keeps_its_body() {
    let tasks = by_fixture(
        "hollow-conftest-mended",
        &format!("{CLASSES}DEFAULT = [B][0](1)\n"),
    );
    let (_, made) = document(&mut verify(&tasks, NAME));
    let need = json!({"path": "inh.py", "function": "A.__init__", "why": NEEDED});
    assert_eq!(made["hollow_needs"], json!([need]), "{made}");
    // both suites are collected, and a name is all that the probe asks for
    let evidence = vec![format!("{PROBE} accepts hollow")];
    assert_eq!(broken(&made), [("hollow_rejected".to_owned(), evidence)]);
}

#[test]
fn a_probe_without_a_twin_is_told_by_verify_too() {
    let tasks = write("untwinned", "");
    let file = tasks.join(NAME).join("probes/test_bounds.py");
    let text = fs::read_to_string(&file).unwrap();
    let config = "[pytest]\npython_functions = test_* check_*\n";
    fs::write(tasks.join(NAME).join("base/pytest.ini"), config).unwrap();
    fs::write(&file, text.replace("def test_low", "def check_low")).unwrap();
    let spec = tasks.join(NAME).join("task.toml");
    let toml = fs::read_to_string(&spec).unwrap();
    fs::write(&spec, toml.replace("::test_low", "::check_low")).unwrap();
    let (exit, made) = document(&mut verify(&tasks, NAME));
    let warnings = made["warnings"].as_array().unwrap();
    let told: Vec<&Value> = (warnings.iter())
        .filter(|w| w["kind"] == "without_twin")
        .collect();
    assert_eq!(told.len(), 1, "{made}");
    assert_eq!(told[0]["subject"], "probes/test_bounds.py::check_low");
    let detail = told[0]["detail"].as_str().unwrap();
    assert!(detail.contains("none of a test's"), "{detail}");
    // a warning changes nothing
    assert_eq!((exit, broken(&made)), (0, vec![]));
}
