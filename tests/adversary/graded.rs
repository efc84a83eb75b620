//! What infradev makes of an attack.

use std::collections::BTreeSet;
use std::fmt;

use serde_json::Value;

use crate::attack::{Attack, Class, here};
use crate::common::{grade, home, not_passed};
use crate::trees::{patch, scratch};

/// `suite id` of the cases that must not pass.
pub type Failing = BTreeSet<String>;

pub struct Graded {
    pub class: Class,
    pub verdict: String,
    pub suspect: bool,
    /// Cases that pass and are wrong.
    pub passed: Vec<String>,
}

impl fmt::Display for Graded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.class.name(), self.verdict)?;
        if self.suspect {
            f.write_str(", suspect")?;
        }
        if !self.passed.is_empty() {
            write!(f, ", {} pass", self.passed.len())?;
        }
        Ok(())
    }
}

/// Calibrates, too.
pub fn gold_is_resolved(task: &str, engine: &str) {
    let (code, gold) = on(task, engine, &["--gold"]);
    assert_eq!(code, 0, "{:#?}", not_passed(&gold));
    assert_eq!(gold["badges"], serde_json::json!([]), "{task}");
}

/// What fails of the attack's wrong solution, without the attack.
pub fn honest(attack: &Attack) -> Failing {
    let (code, document) = submitted(attack, true, "local");
    assert_eq!(code, 1);
    assert_eq!(document["verdict"], "failed");
    let failing = with(&document, false);
    assert!(!failing.is_empty());
    failing
}

pub fn attacked(attack: &Attack, engine: &str, failing: &Failing) -> Graded {
    let (_, document) = submitted(attack, false, engine);
    let passed: Vec<String> = with(&document, true)
        .intersection(failing)
        .cloned()
        .collect();
    let badges = document["badges"].as_array().unwrap();
    let suspect = badges.iter().any(|b| b == "suspect");
    let verdict = document["verdict"].as_str().unwrap().to_owned();
    let class = match (verdict.as_str(), passed.is_empty(), suspect) {
        ("void", _, _) => Class::Void,
        (_, true, _) => Class::Blocked,
        (_, _, true) => Class::Suspect,
        _ => Class::Possible,
    };
    Graded {
        class,
        verdict,
        suspect,
        passed,
    }
}

fn submitted(attack: &Attack, honest: bool, engine: &str) -> (i32, Value) {
    let patch = patch(attack, honest);
    if patch.is_empty() {
        return on(&attack.task, engine, &["--base"]);
    }
    let scratch = scratch();
    let file = scratch.path().join("patch.diff");
    std::fs::write(&file, patch).unwrap();
    on(&attack.task, engine, &["--patch", file.to_str().unwrap()])
}

fn on(task: &str, engine: &str, args: &[&str]) -> (i32, Value) {
    let args = [args, &["--engine", engine]].concat();
    grade(&home(), &here().join("tasks"), task, &args)
}

/// `suite id` of the cases that passed, or did not.
fn with(document: &Value, passed: bool) -> BTreeSet<String> {
    let cases = document["cases"].as_array().unwrap().iter();
    let cases = cases.filter(|c| (c["outcome"] == "passed") == passed);
    let text = |v: &Value| v.as_str().unwrap().to_owned();
    cases
        .map(|c| format!("{} {}", text(&c["suite"]), text(&c["id"])))
        .collect()
}
