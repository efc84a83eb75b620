//! The subcommands that read a task's sources: what they say of the bundled tasks, as documents.

#![allow(clippy::unwrap_used, clippy::expect_used)]

mod common;

use std::fs;
use std::path::Path;

use common::{code, home, infradev, tasks};
use serde_json::Value;

/// The bundled tasks whose sources are here.
const BUNDLED: [&str; 3] = ["dp-buckets", "kv-prefix", "sparse-sync"];

/// Exit code and document of a subcommand.
fn document(tasks: &Path, args: &[&str]) -> (i32, Value) {
    let output = infradev(&home(), tasks)
        .args(args)
        .arg("--json")
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    let document = serde_json::from_str(&text).unwrap_or_else(|e| {
        let said = String::from_utf8_lossy(&output.stderr);
        panic!("{args:?}: no document ({e})\n{text}\n{said}")
    });
    (code(&output), document)
}

/// What it says to people, no line of it wider than 100 columns, paths of their own line aside.
fn lines(tasks: &Path, args: &[&str]) -> String {
    let output = infradev(&home(), tasks).args(args).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    for line in text.lines() {
        assert!(line.chars().count() <= 100, "{args:?}: {line}");
    }
    text
}

/// A copy of a bundled task in a folder of its own.
fn copy(task: &str, to: &Path) {
    let from = tasks().join(task);
    let mut folders = vec![from.clone()];
    while let Some(folder) = folders.pop() {
        let inside = folder.strip_prefix(&from).unwrap();
        let target = to.join(task).join(inside);
        fs::create_dir_all(&target).unwrap();
        for entry in fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else {
                fs::copy(&path, target.join(path.file_name().unwrap())).unwrap();
            }
        }
    }
}

#[test]
fn the_hollow_patches_of_the_bundled_tasks_are_what_is_made_now() {
    for task in BUNDLED {
        let (exit, found) = document(&tasks(), &["hollow", task]);
        assert_eq!(exit, 0, "{task}");
        assert_eq!(
            found["patch"]["state"], "same",
            "{task}: infradev hollow {task} --write"
        );
        assert_eq!(found["rule"], "new", "{task}");
        assert!(found["raised"].as_array().unwrap().len() > 10, "{task}");
        assert_eq!(found["compiled"]["failed"].as_array().unwrap().len(), 0);
        assert!(
            found["compiled"]["by"]
                .as_str()
                .unwrap()
                .starts_with("Python 3")
        );
        lines(&tasks(), &["hollow", task]);
    }
}

#[test]
fn a_hollow_patch_is_written_where_that_is_asked_for_and_tried_as_a_patch() {
    let dir = tempfile::tempdir().unwrap();
    copy("dp-buckets", dir.path());
    let file = dir.path().join("dp-buckets/hollow.patch");
    fs::remove_file(&file).unwrap();
    let state = |args: &[&str]| document(dir.path(), args).1["patch"]["state"].clone();
    assert_eq!(state(&["hollow", "dp-buckets"]), "missing");
    assert!(!file.exists());
    assert_eq!(state(&["hollow", "dp-buckets", "--write"]), "written");
    let patch = fs::read_to_string(&file).unwrap();
    assert!(patch.contains("+        raise NotImplementedError(\"hollow\")"));
    assert!(
        !patch.contains("sums[slot.start : slot.stop]"),
        "a body of gold is in it"
    );
    assert_eq!(state(&["hollow", "dp-buckets", "--write"]), "same");
    fs::write(&file, "other").unwrap();
    assert_eq!(state(&["hollow", "dp-buckets"]), "differs");
    assert_eq!(fs::read_to_string(&file).unwrap(), "other");
    let refused = infradev(&home(), dir.path())
        .args(["hollow", "gone"])
        .output()
        .unwrap();
    assert_eq!(code(&refused), 2);
}

#[test]
fn the_assertions_of_the_bundled_suites_are_classed() {
    for task in BUNDLED {
        let (exit, found) = document(&tasks(), &["audit", task]);
        assert_eq!(exit, 0, "{task}");
        let suites = found["suites"].as_array().unwrap();
        assert_eq!(suites.len(), 2, "{task}");
        for suite in suites {
            let classes = suite["all"]["classes"].as_object().unwrap();
            let sum: u64 = classes.values().map(|n| n.as_u64().unwrap()).sum();
            assert_eq!(sum, suite["all"]["assertions"].as_u64().unwrap());
            assert_eq!(suite["assertions"].as_array().unwrap().len() as u64, sum);
            assert_eq!(suite["unparsed"].as_array().unwrap().len(), 0);
        }
        // every promised saving of a bundled task is measured by its probes
        for saving in found["savings"].as_array().unwrap() {
            assert!(
                !saving["measured_by"].as_array().unwrap().is_empty(),
                "{saving}"
            );
        }
        lines(&tasks(), &["audit", task]);
    }
    let (_, found) = document(&tasks(), &["audit", "kv-prefix"]);
    let flags = found["flags"].as_array().unwrap();
    assert_eq!(flags.len(), 1);
    assert_eq!(flags[0]["flag"], "promised_saving_unmeasured");
    assert_eq!(flags[0]["suite"], "official");
}

#[test]
fn the_contracts_of_the_bundled_tasks_hold_what_their_tests_use() {
    let new = |task: &str| -> Vec<String> {
        let (exit, found) = document(&tasks(), &["contract", task]);
        assert_eq!(exit, 0, "{task}");
        assert_eq!(found["unparsed"].as_array().unwrap().len(), 0);
        let symbols = found["symbols"].as_array().unwrap();
        let new = symbols.iter().filter(|s| s["state"] != "in_base");
        new.map(|s| s["name"].as_str().unwrap().to_owned())
            .collect()
    };
    assert_eq!(
        new("dp-buckets"),
        [
            "tandem.parallel.DataParallel",
            "tandem.parallel.DataParallel.backward",
            "tandem.parallel.DataParallel.buckets",
            "tandem.parallel.DataParallel.finish",
            "tandem.parallel.DataParallel.no_sync",
            "tandem.train.Trainer"
        ]
    );
    for task in BUNDLED {
        assert!(new(task).len() >= 4, "{task}");
        lines(&tasks(), &["contract", task]);
    }
}

#[test]
fn the_prompts_of_the_bundled_tasks_are_sound() {
    for task in BUNDLED {
        let (exit, found) = document(&tasks(), &["lint", task]);
        assert_eq!(
            (exit, &found["findings"]),
            (0, &serde_json::json!([])),
            "{task}"
        );
    }
    // what is rendered gives nothing away either; and a claim that does is found
    let dir = tempfile::tempdir().unwrap();
    copy("dp-buckets", dir.path());
    let spec = dir.path().join("dp-buckets/task.toml");
    let text = fs::read_to_string(&spec).unwrap();
    let claim = "id = \"C1\"\ntext = \"";
    let telling = format!("{claim}As test_buckets tells, to 1.0000001e-6: ");
    assert!(text.contains(claim));
    fs::write(&spec, text.replacen(claim, &telling, 1)).unwrap();
    let probe = dir.path().join("dp-buckets/probes/test_mean.py");
    let source = fs::read_to_string(&probe).unwrap();
    fs::write(&probe, format!("{source}\nTOLERANCE = 1.0000001e-6\n")).unwrap();
    let (exit, found) = document(dir.path(), &["lint", "dp-buckets"]);
    let told: Vec<(&str, &str)> = found["findings"]
        .as_array()
        .unwrap()
        .iter()
        .map(|f| (f["variant"].as_str().unwrap(), f["kind"].as_str().unwrap()))
        .collect();
    let wanted = [("behaviour", "constant"), ("behaviour", "checking")];
    assert_eq!((exit, told.as_slice()), (1, &wanted[..]));
    assert!(lines(dir.path(), &["lint", "dp-buckets"]).contains("variant behaviour:"));

    let dir = tempfile::tempdir().unwrap();
    copy("dp-buckets", dir.path());
    let prompt = dir.path().join("dp-buckets/prompt.md");
    let text = fs::read_to_string(&prompt).unwrap();
    fs::write(
        &prompt,
        text.replace("`no_sync()`", "`quiet()`")
            .replace("no_sync", "quiet"),
    )
    .unwrap();
    let quoted = fs::read_to_string(dir.path().join("dp-buckets/task.toml")).unwrap();
    fs::write(
        dir.path().join("dp-buckets/task.toml"),
        quoted.replace("under `no_sync` talks", "under `quiet` talks"),
    )
    .unwrap();
    let (exit, found) = document(dir.path(), &["lint", "dp-buckets"]);
    assert_eq!(exit, 1);
    let findings = found["findings"].as_array().unwrap();
    assert_eq!(findings.len(), 1, "{findings:?}");
    assert_eq!(findings[0]["kind"], "missing_symbol");
    assert!(
        findings[0]["message"]
            .as_str()
            .unwrap()
            .contains("DataParallel.no_sync")
    );
    lines(dir.path(), &["lint", "dp-buckets"]);
}

#[test]
fn a_prompt_has_its_variants_and_says_which_are_not_there() {
    let (exit, found) = document(
        &tasks(),
        &["prompt", "dp-buckets", "--variant", "interface"],
    );
    assert_eq!(exit, 0);
    // from the contract: the qualified name with its signature, and what is given by keyword
    let text = found["text"].as_str().unwrap();
    assert!(text.contains("\n- `tandem.parallel.DataParallel.finish() -> int`: a method.\n"));
    assert!(text.contains("; given by keyword: "), "{text}");
    let behaviour = document(
        &tasks(),
        &["prompt", "dp-buckets", "--variant", "behaviour"],
    )
    .1;
    let claims = document(&tasks(), &["coverage", "dp-buckets"]).1;
    for claim in claims["claims"].as_array().unwrap() {
        let claim = claim["text"].as_str().unwrap();
        assert!(
            behaviour["text"].as_str().unwrap().contains(claim),
            "{claim}"
        );
        assert!(!text.contains(claim), "{claim}");
    }
    let full = document(&tasks(), &["prompt", "dp-buckets"]).1;
    let own = fs::read_to_string(tasks().join("dp-buckets/prompt.md")).unwrap();
    assert_eq!(full["text"].as_str().unwrap(), own);
    assert_eq!(
        found["variants"],
        serde_json::json!(["behaviour", "full", "interface", "process"])
    );
    let refused = |variant: &str| {
        let output = infradev(&home(), &tasks())
            .args(["prompt", "dp-buckets", "--variant", variant])
            .output()
            .unwrap();
        assert_eq!(code(&output), 2, "{variant}");
        String::from_utf8(output.stderr).unwrap()
    };
    assert!(refused("original").contains("no pull request came with it"));
    assert!(refused("../x").contains("letters, digits"));
    assert!(refused("short").contains("there is no prompt.short.md"));
    let (exit, found) = document(&tasks(), &["prompt", "dp-buckets", "--draft"]);
    assert_eq!((exit, &found["variant"]), (0, &serde_json::json!("draft")));
    assert!(
        found["text"]
            .as_str()
            .unwrap()
            .contains("- `tandem.parallel.DataParallel.finish() -> int`")
    );
}

#[test]
fn a_variant_is_the_same_text_each_time_and_holds_no_more_than_its_part() {
    for task in BUNDLED {
        let text = |variant: &str| {
            let (exit, found) = document(&tasks(), &["prompt", task, "--variant", variant]);
            assert_eq!(exit, 0, "{task} {variant}");
            found["text"].as_str().unwrap().to_owned()
        };
        let titles = |text: &str| -> Vec<String> {
            let all = text.lines().filter(|l| l.starts_with("## "));
            all.map(str::to_owned).collect()
        };
        for (variant, title) in [
            ("interface", "## Interface"),
            ("behaviour", "## Required behaviour"),
            ("process", "## Working rules"),
        ] {
            let rendered = text(variant);
            assert_eq!(titles(&rendered), [title], "{task}");
            assert_eq!(text(variant), rendered, "{task}");
        }
    }
}

/// What needs no sources is rendered where they are not, and names neither a probe nor where the
/// change can be read.
#[test]
fn a_task_whose_sources_are_elsewhere_renders_its_claims() {
    const TASK: &str = "megatron-dbuffer";
    let mut probes = Vec::new();
    for entry in fs::read_dir(tasks().join(TASK).join("probes")).unwrap() {
        let path = entry.unwrap().path();
        let source = fs::read_to_string(&path).unwrap();
        let functions = source.lines().filter_map(|l| l.strip_prefix("def test_"));
        probes.extend(functions.map(|l| format!("test_{}", l.split('(').next().unwrap())));
        probes.push(path.file_stem().unwrap().to_string_lossy().into_owned());
    }
    probes.retain(|p| p.starts_with("test_"));
    assert!(probes.len() > 10, "{probes:?}");
    for variant in ["behaviour", "process"] {
        let (exit, found) = document(&tasks(), &["prompt", TASK, "--variant", variant]);
        assert_eq!(exit, 0);
        let text = found["text"].as_str().unwrap();
        let named: Vec<&String> = probes.iter().filter(|p| text.contains(*p)).collect();
        assert!(named.is_empty(), "{variant}: {named:?}");
        for origin in ["pull request", "github.com", "commit"] {
            assert!(!text.to_lowercase().contains(origin), "{variant}: {origin}");
        }
    }
}

/// A change to the judge, to the reporter or to a task must not leave the acceptance of before.
#[test]
fn no_acceptance_of_a_bundled_cpu_task_is_stale() {
    let (_, found) = document(&tasks(), &["tasks"]);
    let all = found["tasks"].as_array().unwrap();
    // what it ran on is as recorded, whatever this machine has; but for the processor's kind
    let standing = if cfg!(target_arch = "x86_64") {
        "accepted"
    } else {
        "stale"
    };
    for task in BUNDLED {
        let row = all.iter().find(|t| t["id"] == task).unwrap();
        assert_eq!(
            row["acceptance"], standing,
            "infradev verify {task}, and commit its acceptance.json"
        );
    }
}

#[test]
fn mutants_of_the_bundled_tasks_compile_and_apply() {
    for task in BUNDLED {
        let dir = tempfile::tempdir().unwrap();
        let out = dir.path().join("mutants");
        let (exit, found) = document(&tasks(), &["mutants", task, "--out", out.to_str().unwrap()]);
        assert_eq!(exit, 0);
        let mutants = found["mutants"].as_array().unwrap();
        assert!(mutants.len() >= 40, "{task}: {}", mutants.len());
        assert_eq!(found["bare"], serde_json::json!([]), "{task}");
        assert_eq!(found["compiled"]["failed"], serde_json::json!([]), "{task}");
        let mut operators: Vec<&str> = mutants
            .iter()
            .map(|m| m["operator"].as_str().unwrap())
            .collect();
        operators.sort_unstable();
        operators.dedup();
        assert!(operators.len() >= 7, "{task}: {operators:?}");
        let names: Vec<String> = mutants
            .iter()
            .map(|m| m["name"].as_str().unwrap().to_owned())
            .collect();
        assert_eq!(fs::read_dir(&out).unwrap().count(), names.len());
        // git takes some of them, spread over all
        let base = tasks().join(task).join("base");
        for name in names.iter().step_by(names.len() / 5) {
            let check = std::process::Command::new("git")
                .args(["apply", "--check"])
                .arg(out.join(format!("{name}.patch")))
                .current_dir(&base)
                .env("GIT_DIR", dir.path())
                .output()
                .unwrap();
            assert!(
                check.status.success(),
                "{name}: {}",
                String::from_utf8_lossy(&check.stderr)
            );
        }
        lines(&tasks(), &["mutants", task]);
    }
}
