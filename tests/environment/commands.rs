//! `infradev env …` as people and programs call it: documents and exit codes.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Output};

use serde_json::Value;

use super::support::*;

fn env(place: &Place, args: &[&str]) -> Output {
    let request = place.request();
    Command::new(env!("CARGO_BIN_EXE_infradev"))
        .arg("--home")
        .arg(place.home())
        .arg("--tasks")
        .arg(place.folder.path().join("tasks"))
        .arg("env")
        .args(args)
        .envs(&request.host_env)
        .output()
        .unwrap()
}

fn json(place: &Place, args: &[&str]) -> (i32, Value) {
    let output = env(place, &[args, &["--json"]].concat());
    let document = serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|e| panic!("{args:?}: {e}: {}", String::from_utf8_lossy(&output.stderr)));
    (output.status.code().unwrap(), document)
}

/// A task that is complete, and its lock.
fn task(place: &Place, id: &str, lock: &str) {
    let task = place.folder.path().join("tasks").join(id);
    for folder in ["base", "official"] {
        fs::create_dir_all(task.join(folder)).unwrap();
    }
    let toml = format!(
        "schema = 1\nid = \"{id}\"\ntitle = \"t\"\narea = \"training\"\nkind = \"feature\"\n\
         repository = \"r\"\n[source]\nbase = \"base\"\n[gold]\npatch = \"gold.patch\"\n\
         [environment]\nkind = \"uv\"\nrequirements = \"requirements.lock\"\n\
         [suites.official]\nfrom = \"official\"\ninto = \"tests\"\n"
    );
    fs::write(task.join("task.toml"), toml).unwrap();
    fs::write(task.join("gold.patch"), "").unwrap();
    fs::write(task.join("prompt.md"), "Do it.\n").unwrap();
    fs::write(task.join("requirements.lock"), lock).unwrap();
}

#[test]
fn environments_are_built_listed_checked_counted_and_collected() {
    let place = Place::new("");
    for (id, lock) in [("one", SMALL), ("two", SMALL), ("bad", "pluggy>=1\n")] {
        task(&place, id, lock);
    }
    let output = env(&place, &["build", "--engine", "local", "one"]);
    assert_eq!(output.status.code(), Some(0));
    let progress = String::from_utf8_lossy(&output.stderr);
    assert!(
        progress.contains("one: environment: install: "),
        "{progress}"
    );
    let (code, built) = json(&place, &["build", "--engine", "local", "one", "two"]);
    assert_eq!((code, &built["ok"]), (0, &Value::Bool(true)));
    let rows = built["tasks"].as_array().unwrap();
    assert!(rows.iter().all(|row| row["built"] == false), "{built}");
    let hash = rows[0]["hash"].as_str().unwrap();

    // one that cannot be built does not hide the others
    let (code, built) = json(&place, &["build", "--engine", "local"]);
    assert_eq!((code, &built["ok"]), (2, &Value::Bool(false)));
    let bad = &built["tasks"][0];
    assert_eq!((&bad["task"], &bad["hash"]), (&"bad".into(), &Value::Null));
    assert!(
        bad["error"]
            .as_str()
            .unwrap()
            .contains("requirements.lock:1:")
    );
    assert_eq!(built["tasks"].as_array().unwrap().len(), 3);
    let output = env(&place, &["build", "--engine", "local", "three"]);
    assert_eq!(output.status.code(), Some(2));

    let (code, listed) = json(&place, &["list"]);
    let row = &listed["environments"][0];
    assert_eq!((code, row["hash"].as_str()), (0, Some(hash)));
    assert_eq!(row["tasks"], serde_json::json!(["one", "two"]));
    assert!(listed["notes"][0].as_str().unwrap().contains("task bad: "));
    let text = env(&place, &["list"]);
    let text = String::from_utf8_lossy(&text.stdout).into_owned();
    assert!(
        text.contains(&hash[..12]) && text.contains("one, two"),
        "{text}"
    );
    let (code, used) = json(&place, &["usage"]);
    assert_eq!(
        (code, used["environments"][0]["hash"].as_str()),
        (0, Some(hash))
    );

    let (code, document) = json(&place, &["check", &hash[..8]]);
    assert_eq!((code, &document["ok"]), (0, &Value::Bool(true)));
    assert_eq!(env(&place, &["check", "ffff"]).status.code(), Some(2));
    let cfg = place.home().join("env").join(hash).join("venv/pyvenv.cfg");
    fs::set_permissions(&cfg, fs::Permissions::from_mode(0o644)).unwrap();
    fs::write(&cfg, "home = /elsewhere\n").unwrap();
    let output = env(&place, &["check"]);
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert_eq!(output.status.code(), Some(1));
    assert!(text.contains("modified: venv/pyvenv.cfg"), "{text}");
    let mend = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(mend.contains("env check --discard"), "{mend}");
    // with what later environments would have been linked to
    let (code, document) = json(&place, &["check", "--discard"]);
    let discarded = document["discarded"].as_array().unwrap();
    let kinds: Vec<&str> = discarded
        .iter()
        .filter_map(|item| item["kind"].as_str())
        .collect();
    assert_eq!((code, kinds), (1, vec!["pool", "environment"]));
    let (code, document) = json(&place, &["build", "--engine", "local", "one"]);
    assert_eq!(
        (code, &document["tasks"][0]["built"]),
        (0, &Value::Bool(true))
    );

    let (code, document) = json(&place, &["gc", "--dry-run", "--days", "0"]);
    assert_eq!(
        (code, document["removed"].as_array().unwrap().len()),
        (0, 0)
    );
    let why = document["kept"][0]["why"].as_str().unwrap();
    assert_eq!(why, "wanted by one, two");
    fs::remove_dir_all(place.folder.path().join("tasks/one")).unwrap();
    fs::remove_dir_all(place.folder.path().join("tasks/two")).unwrap();
    let (code, document) = json(&place, &["gc", "--days", "0"]);
    assert_eq!(
        (code, &document["removed"][0]["kind"]),
        (0, &"environment".into())
    );
    let last = document["removed"].as_array().unwrap().last().unwrap();
    assert_eq!(last["path"], "cache/files");
    assert!(place.environments().is_empty());
    // without a catalog nobody can tell what is wanted
    fs::remove_dir_all(place.folder.path().join("tasks")).unwrap();
    assert_eq!(env(&place, &["gc"]).status.code(), Some(2));
    assert_eq!(env(&place, &["list"]).status.code(), Some(0));
}

#[test]
fn ctrl_c_stops_a_build_and_leaves_nothing_half_usable() {
    let place = Place::new("");
    task(&place, "one", SMALL);
    // a uv that would take a minute
    let bin = place.folder.path().join("slow");
    fs::create_dir(&bin).unwrap();
    let uv = shared_uv().join("uv");
    let script = format!(
        "#!/bin/sh\ncase \"$1\" in --version) exec '{}' \"$@\";; esac\ntouch '{}/begun'\nsleep 60\n",
        uv.display(),
        bin.display()
    );
    fs::write(bin.join("uv"), script).unwrap();
    fs::set_permissions(bin.join("uv"), fs::Permissions::from_mode(0o755)).unwrap();
    let mut request = place.request();
    put_first_on_path(&mut request, &bin);
    let begun = std::time::Instant::now();
    let mut child = Command::new(env!("CARGO_BIN_EXE_infradev"))
        .arg("--home")
        .arg(place.home())
        .arg("--tasks")
        .arg(place.folder.path().join("tasks"))
        .args(["env", "build", "one", "--engine", "local"])
        .envs(&request.host_env)
        .stderr(std::process::Stdio::null())
        .spawn()
        .unwrap();
    wait_until(|| bin.join("begun").exists());
    let pid = nix::unistd::Pid::from_raw(i32::try_from(child.id()).unwrap());
    nix::sys::signal::kill(pid, nix::sys::signal::Signal::SIGINT).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(3));
    assert!(begun.elapsed() < std::time::Duration::from_secs(30));
    let (code, listed) = json(&place, &["list"]);
    let rows = listed["environments"].as_array().unwrap();
    assert!(
        code == 0 && rows.iter().all(|row| row["state"] == "unfinished"),
        "{listed}"
    );
    let (code, _) = json(&place, &["build", "--engine", "local", "one"]);
    assert_eq!(code, 0);
}

fn wait_until(there: impl Fn() -> bool) {
    for _ in 0..600 {
        if there() {
            return;
        }
        std::thread::sleep(std::time::Duration::from_millis(50));
    }
    panic!("it did not come");
}

#[test]
fn names_of_data_are_checked_with_the_task() {
    let place = Place::new("");
    task(&place, "one", SMALL);
    let file = place.folder.path().join("tasks/one/task.toml");
    let toml = fs::read_to_string(&file).unwrap();
    let data = "kind = \"uv\"\ndata = [\n  \"gpt2\",\n  \"../x\",\n  \"gpt2\",\n]";
    fs::write(&file, toml.replace("kind = \"uv\"", data)).unwrap();
    let output = Command::new(env!("CARGO_BIN_EXE_infradev"))
        .arg("--home")
        .arg(place.home())
        .arg("--tasks")
        .arg(place.folder.path().join("tasks"))
        .args(["check", "one", "--json"])
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(1));
    let document: Value = serde_json::from_slice(&output.stdout).unwrap();
    let problems = document["tasks"][0]["problems"].as_array().unwrap();
    let errors: Vec<(u64, &str)> = problems
        .iter()
        .filter(|p| p["severity"] == "error")
        .map(|p| (p["line"].as_u64().unwrap(), p["message"].as_str().unwrap()))
        .collect();
    let expected = [
        (15, "\"../x\" cannot name data"),
        (16, "\"gpt2\" is listed twice"),
    ];
    assert_eq!(errors, expected);
}

/// Every document says what its schema says: no field of ours is undocumented.
#[test]
fn documents_have_the_fields_of_their_schemas() {
    let place = Place::new("");
    task(&place, "one", SMALL);
    for command in ["build", "list", "usage", "check", "gc"] {
        let (code, document) = json(&place, &[command]);
        assert_eq!(code, 0, "{command}: {document}");
        let path = format!("assets/schema/env-{command}.json");
        let text = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(path)).unwrap();
        let schema: Value = serde_json::from_str(&text).unwrap();
        let named =
            |value: &Value| -> Vec<String> { value.as_object().unwrap().keys().cloned().collect() };
        assert_eq!(named(&document), named(&schema["properties"]), "{command}");
    }
}
