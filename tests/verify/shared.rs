//! State that tests share: what is recorded rests on gold's runs as a whole.

use std::path::Path;

use serde_json::{Value, json};

use crate::common::small::{NAME, write};
use crate::common::{grade, home};
use crate::{document, verify};

const STATEFUL: &str = "\
--- a/calc.py
+++ b/calc.py
@@ -1,2 +1,20 @@
 def double(x):
     return x + x
+
+
+def clip(values, low, high):
+    if not values:
+        return []
+    return [v for v in values if v >= low and v <= high]
+
+
+ENABLED = []
+
+
+def enable(name):
+    ENABLED.append(name)
+    return len(ENABLED)
+
+
+def enabled(name):
+    return name in ENABLED
";

fn put(tasks: &Path, file: &str, text: &str) {
    std::fs::write(tasks.join(NAME).join(file), text).unwrap();
}

fn stamp() -> String {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    format!("STAMP = '{}'\n", since.unwrap().as_nanos())
}

fn recorded(tasks: &Path) -> Option<Value> {
    let text = std::fs::read(tasks.join(NAME).join("acceptance.json")).ok()?;
    serde_json::from_slice(&text).ok()
}

fn rule<'v>(document: &'v Value, name: &str) -> &'v Value {
    let rules = document["rules"].as_array().unwrap();
    rules.iter().find(|r| r["rule"] == name).unwrap()
}

#[test]
fn a_test_that_needs_another_one_is_seen_when_that_one_is_edited() {
    let tasks = write("shared-project", "");
    put(&tasks, "gold.patch", STATEFUL);
    let probes = |name: &str, stamp: &str| {
        format!(
            "from calc import enable, enabled\n{stamp}\n\ndef test_low():\n    assert enable(\"{name}\") >= 1\n\n\n\
             def test_second():\n    assert enabled(\"x\")\n"
        )
    };
    let stamp = stamp();
    put(&tasks, "probes/test_bounds.py", &probes("x", &stamp));
    let (code, made) = document(&mut verify(&tasks, NAME));
    assert_eq!((code, &made["standing"]), (0, &json!("accepted")), "{made}");

    // the cells of test_second are kept, and gold fails the suite
    put(&tasks, "probes/test_bounds.py", &probes("z", &stamp));
    let (code, made) = document(&mut verify(&tasks, NAME));
    assert_eq!((code, &made["standing"]), (1, &json!("rejected")), "{made}");
    let evidence = rule(&made, "gold_passes")["evidence"].to_string();
    assert!(
        evidence.contains("test_second: failed, failed, failed"),
        "{evidence}"
    );
    let warnings = made["warnings"].as_array().unwrap();
    let shares = warnings
        .iter()
        .find(|w| w["kind"] == "shares_state")
        .unwrap();
    assert_eq!(shares["subject"], "probes/test_bounds.py");
    assert_eq!(recorded(&tasks).unwrap()["standing"], "rejected");
    // and what gold's calibration says is what a grade of gold finds
    let (_, grade) = grade(&home(), &tasks, NAME, &["--gold", "--engine", "local"]);
    assert_eq!(grade["verdict"], "resolved", "{grade}");
}

#[test]
fn so_is_one_that_needs_what_a_helper_holds() {
    let tasks = write("shared-helper", "");
    put(
        &tasks,
        "probes/kit.py",
        "SEEN = []\n\n\ndef see(x):\n    SEEN.append(x)\n    return SEEN\n",
    );
    let probes = |name: &str, stamp: &str| {
        format!(
            "from calc import clip\nfrom kit import see\n{stamp}\n\ndef test_low():\n    see({name})\n    \
             assert clip([2], 2, 8) == [2]\n\n\ndef test_second():\n    assert 2 in see(clip([3], 2, 8))\n"
        )
    };
    let stamp = stamp();
    put(&tasks, "probes/test_bounds.py", &probes("2", &stamp));
    let (code, made) = document(&mut verify(&tasks, NAME));
    assert_eq!((code, &made["standing"]), (0, &json!("accepted")), "{made}");
    put(&tasks, "probes/test_bounds.py", &probes("4", &stamp));
    let (_, made) = document(&mut verify(&tasks, NAME));
    assert_eq!(made["standing"], "rejected", "{made}");
}

#[test]
fn fewer_runs_of_gold_than_three_record_nothing() {
    let tasks = write("one-run", "");
    let (code, made) = document(verify(&tasks, NAME).args(["--runs", "1"]));
    assert_eq!((code, &made["standing"]), (0, &json!("accepted")), "{made}");
    let why = made["provisional"].as_str().unwrap();
    assert!(why.contains("1 of 3"), "{why}");
    assert_eq!(recorded(&tasks), None);
    let output = crate::common::infradev(&home(), &tasks)
        .args(["verify", NAME, "--engine", "local", "--runs", "2"])
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(said.contains("PROVISIONAL: gold ran 2 of 3"), "{said}");
    assert_eq!(recorded(&tasks), None);
    let (_, made) = document(&mut verify(&tasks, NAME));
    assert_eq!(made.get("provisional"), None);
    assert_eq!(recorded(&tasks).unwrap()["standing"], "accepted");
}

#[test]
fn a_record_that_was_edited_by_hand_is_not_believed() {
    let tasks = write("by-hand", "");
    put(
        &tasks,
        "probes/test_bounds.py",
        "from calc import clip\n\n\ndef test_low():\n    assert clip\n",
    );
    let (_, made) = document(&mut verify(&tasks, NAME));
    assert_eq!(made["standing"], "rejected");
    let standing = || {
        let output = crate::common::infradev(&home(), &tasks)
            .args(["tasks", "--json"])
            .output()
            .unwrap();
        let all: Value = serde_json::from_slice(&output.stdout).unwrap();
        all["tasks"][0]["acceptance"].as_str().unwrap().to_owned()
    };
    assert_eq!(standing(), "rejected");
    let path = tasks.join(NAME).join("acceptance.json");
    let text = std::fs::read_to_string(&path).unwrap();
    let edited = text.replace("\"standing\": \"rejected\"", "\"standing\": \"accepted\"");
    assert_ne!(edited, text);
    std::fs::write(&path, &edited).unwrap();
    assert_eq!(standing(), "edited by hand");
    // white space says nothing, and what it ran on is a part of what it rests on
    let parsed: Value = serde_json::from_str(&text).unwrap();
    std::fs::write(&path, parsed.to_string()).unwrap();
    assert_eq!(standing(), "rejected");
    std::fs::write(
        &path,
        text.replace("\"engine\": \"local\"", "\"engine\": \"docker\""),
    )
    .unwrap();
    assert_eq!(standing(), "edited by hand");
}

#[test]
fn a_library_that_dies_of_its_own_assertion_is_a_crash() {
    let adversarial =
        "[[adversarial]]\nname = \"own\"\nclaim = \"C1\"\npatch = \"adversarial/own.patch\"\n";
    let tasks = write("own-assert", adversarial);
    let gold = std::fs::read_to_string(tasks.join(NAME).join("gold.patch")).unwrap();
    // it dies where a value is a bound
    let own = gold
        .replace("+1,8 @@", "+1,9 @@")
        .replace("+    if not", "+    assert low not in values\n+    if not");
    std::fs::create_dir(tasks.join(NAME).join("adversarial")).unwrap();
    put(&tasks, "adversarial/own.patch", &own);
    let (_, made) = document(&mut verify(&tasks, NAME));
    let patches = made["patches"].as_array().unwrap();
    let own = patches
        .iter()
        .find(|p| p["patch"] == "adversarial/own")
        .unwrap();
    let rejection = &own["rejected_by"][0];
    assert_eq!(rejection["message"], "AssertionError", "{own}");
    assert_eq!(rejection["how"], "error", "{own}");
    assert!(
        made["warnings"].to_string().contains("only_by_crash"),
        "{made}"
    );
    // and the whole matrix is there, patch by case by run, and as a picture
    assert_eq!(
        made["cases"]["probes"],
        json!(["probes/test_bounds.py::test_low"])
    );
    assert_eq!(patches[0]["outcomes"]["probes"], json!([".", ".", "."]));
    assert_eq!(patches[0]["outcomes"]["official"], json!([".", ".", "."]));
    assert_eq!(own["outcomes"], json!({"official": ["."], "probes": ["F"]}));
    let output = crate::common::infradev(&home(), &tasks)
        .args(["verify", NAME, "--engine", "local"])
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    let row = said
        .lines()
        .find(|l| l.starts_with("test_low "))
        .unwrap_or_else(|| panic!("{said}"));
    let marks: Vec<&str> = row.split_whitespace().skip(1).collect();
    assert_eq!(marks.len(), 4, "{said}");
    assert_eq!((marks[0], marks[3]), (".", "E"), "{said}");
    assert!(said.contains("4 adversarial/own"), "{said}");
    assert!(said.lines().all(|l| l.chars().count() <= 100), "{said}");
}
