//! `infradev coverage`: what is known of each claim, what is missing, and who signed it.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use crate::common::small::{NAME, write};
use crate::common::{code, home, infradev};
use crate::{document, verify};

fn coverage(tasks: &Path, more: &[&str]) -> (i32, Value) {
    let mut command = infradev(&home(), tasks);
    command.args(["coverage", NAME, "--json"]).args(more);
    document(&mut command)
}

/// Puts something in place of something else in a file of the task.
fn replace(tasks: &Path, file: &str, from: &str, to: &str) {
    let path = tasks.join(NAME).join(file);
    let text = fs::read_to_string(&path).unwrap();
    assert!(text.contains(from), "{file}: {from}");
    fs::write(&path, text.replace(from, to)).unwrap();
}

#[test]
fn a_record_says_what_is_missing_until_nothing_is() {
    let tasks = write("coverage", "");
    let (exit, made) = coverage(&tasks, &[]);
    let claim = &made["claims"][0];
    assert_eq!((exit, &made["seen"]), (1, &json!("never")));
    assert_eq!(
        claim["missing"],
        json!(["observable", "blind_spots", "adversarial", "signoff"])
    );
    // a resource says how it is measured as well
    replace(
        &tasks,
        "task.toml",
        "kind = \"behaviour\"",
        "kind = \"resource\"",
    );
    let told = coverage(&tasks, &[]).1["claims"][0]["missing"].to_string();
    assert!(told.contains("\"method\",\"noise\""), "{told}");
    replace(
        &tasks,
        "task.toml",
        "oracles =",
        "observable = \"the list\"\nblind_spots = [\"other types\"]\nmethod = \"counted\"\nnoise = \"none: it is a count\"\noracles =",
    );
    let adversarial = "[[adversarial]]\nname = \"open\"\nclaim = \"C1\"\npatch = \"adversarial/open.patch\"\n\
         [[dropped]]\nname = \"shut\"\nclaim = \"C1\"\nwhy = \"the official suite rejects it\"\n";
    let toml = tasks.join(NAME).join("task.toml");
    let text = fs::read_to_string(&toml).unwrap() + adversarial;
    fs::write(&toml, text).unwrap();
    let gold = fs::read_to_string(tasks.join(NAME).join("gold.patch")).unwrap();
    fs::create_dir(tasks.join(NAME).join("adversarial")).unwrap();
    let open = gold.replace("v >= low", "v > low");
    fs::write(tasks.join(NAME).join("adversarial/open.patch"), open).unwrap();
    let (exit, _) = document(&mut verify(&tasks, NAME));
    assert_eq!(exit, 0);
    let (_, made) = coverage(&tasks, &["--sign", "A. Person"]);
    let claim = &made["claims"][0];
    assert_eq!(
        (&made["seen"], &made["rounds"]),
        (&json!("fresh"), &json!(1))
    );
    assert_eq!(claim["missing"], json!([]));
    assert_eq!(made["complete"], true);
    assert_eq!(claim["adversarial"]["tried"], 2);
    assert_eq!(
        claim["adversarial"]["rejected"],
        json!(["adversarial/open"])
    );
    assert_eq!(claim["signed"]["who"], "A. Person");
    // what people read says it too
    let output = infradev(&home(), &tasks)
        .args(["coverage", NAME])
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert_eq!(code(&output), 0, "{said}");
    for words in [
        "verified: accepted",
        "A. Person",
        "other types",
        "shut",
        "nothing is missing",
    ] {
        assert!(said.contains(words), "{words}: {said}");
    }
}

#[test]
fn a_word_on_a_claim_is_stale_once_claim_or_probes_change() {
    let tasks = write("signed", "");
    let state = |tasks: &Path| coverage(tasks, &[]).1["claims"][0]["signoff"].clone();
    assert_eq!(state(&tasks), "unsigned");
    coverage(&tasks, &["--sign", "A. Person", "--claim", "C1"]);
    assert_eq!(state(&tasks), "signed");
    // a comment says nothing
    replace(
        &tasks,
        "probes/test_bounds.py",
        "    assert",
        "    # the bound\n    assert",
    );
    assert_eq!(state(&tasks), "signed");
    replace(&tasks, "probes/test_bounds.py", "[2], 2", "[3], 2");
    assert_eq!(state(&tasks), "stale");
    let missing = coverage(&tasks, &[]).1["claims"][0]["missing"].to_string();
    assert!(missing.contains("fresh_signoff"), "{missing}");
    coverage(&tasks, &["--sign", "B. Person"]);
    assert_eq!(state(&tasks), "signed");
    replace(&tasks, "task.toml", "Bounds belong", "No bounds belong");
    assert_eq!(state(&tasks), "stale");

    for wrong in [&["--sign", " "][..], &["--sign", "A", "--claim", "C9"]] {
        let mut command = infradev(&home(), &tasks);
        let output = command
            .args(["coverage", NAME])
            .args(wrong)
            .output()
            .unwrap();
        assert_eq!(code(&output), 2, "{wrong:?}");
    }
    fs::write(tasks.join(NAME).join("signoff.json"), "{").unwrap();
    let output = infradev(&home(), &tasks)
        .args(["coverage", NAME])
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(code(&output), 2);
    assert!(
        said.contains("signoff.json:1") && said.contains("sign again"),
        "{said}"
    );
}

#[test]
fn what_verify_found_before_a_change_stays_as_a_round() {
    let tasks = write("rounds", "");
    let right = "assert clip([2], 2, 8) == [2]";
    replace(&tasks, "probes/test_bounds.py", right, "assert clip");
    assert_eq!(document(&mut verify(&tasks, NAME)).0, 1);
    replace(
        &tasks,
        "probes/test_bounds.py",
        "assert clip\n",
        &format!("{right}\n"),
    );
    assert_eq!(coverage(&tasks, &[]).1["seen"], "stale");
    assert_eq!(document(&mut verify(&tasks, NAME)).0, 0);
    // the same once more is no other round
    assert_eq!(document(&mut verify(&tasks, NAME)).0, 0);
    let (_, made) = coverage(&tasks, &[]);
    assert_eq!(
        (&made["rounds"], &made["standing"]),
        (&json!(2), &json!("accepted"))
    );
    assert_eq!(made["earlier"].as_array().unwrap().len(), 1);
    assert_eq!(made["earlier"][0]["standing"], "rejected");
    assert_eq!(made["earlier"][0]["broken"], json!(["hollow_rejected"]));
}
