//! Tasks whose repository is named by URL: what is said where it is not on this machine, and that
//! the commands that are said bring it. Real repositories of the real git; the URL is led to a
//! folder by git's own configuration.

#![allow(clippy::unwrap_used, clippy::expect_used)]

mod common;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use common::{code, infradev};
use serde_json::Value;

const URL: &str = "https://git.example.org/team/calc";

/// A repository elsewhere with base and gold, a task of it, and two empty folders of mirrors.
struct World {
    dir: tempfile::TempDir,
    base: String,
    gold: String,
}

impl World {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let mut world = Self {
            dir,
            base: String::new(),
            gold: String::new(),
        };
        let remote = world.path("remote");
        for folder in ["remote/tests", "m1", "m2", "home", "tasks/tiny"] {
            fs::create_dir_all(world.path(folder)).unwrap();
        }
        let led = format!(
            "[url \"file://{}\"]\n\tinsteadOf = {URL}\n[user]\n\tname = t\n\temail = t@example.org\n",
            remote.display()
        );
        fs::write(world.path("gitconfig"), led).unwrap();
        world.git(&remote, &["init", "-q"]);
        world.git(&remote, &["config", "uploadpack.allowFilter", "true"]);
        // ids of their own: a home knows base by its commit
        let own = format!("# {}\n", remote.display());
        fs::write(remote.join("calc.py"), own + "def one():\n    return 1\n").unwrap();
        fs::write(remote.join("old.py"), "OLD = 1\n").unwrap();
        fs::write(
            remote.join("tests/test_calc.py"),
            "def test_old():\n    pass\n",
        )
        .unwrap();
        world.base = world.commit("base");
        fs::write(
            remote.join("calc.py"),
            "def one():\n    return 1\n\ndef two():\n    return 2\n",
        )
        .unwrap();
        fs::write(
            remote.join("tests/test_calc.py"),
            "import calc\n\ndef test_two():\n    assert calc.two() == 2\n",
        )
        .unwrap();
        world.gold = world.commit("gold");
        let task = world.path("tasks/tiny");
        let lock = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/requirements.lock");
        fs::copy(lock, task.join("requirements.lock")).unwrap();
        fs::write(task.join("prompt.md"), "Add two().\n").unwrap();
        world.source(URL);
        world
    }

    fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    /// Writes the task with this source.
    fn source(&self, git: &str) {
        let text = format!(
            "schema = 1\nid = \"tiny\"\ntitle = \"two\"\narea = \"training\"\nkind = \"feature\"\n\
             repository = \"team/calc\"\n\n[source]\ngit = \"{git}\"\nbase_commit = \"{}\"\n\n\
             [gold]\ncommit = \"{}\"\n\n[environment]\nkind = \"uv\"\n\
             requirements = \"requirements.lock\"\n\n\
             [suites.official]\ninto = \"tests\"\nlimit_s = 60\ncase_limit_s = 30\n",
            self.base, self.gold
        );
        fs::write(self.path("tasks/tiny/task.toml"), text).unwrap();
    }

    fn command(&self, program: &str, dir: &Path) -> Command {
        let mut command = Command::new(program);
        command
            .current_dir(dir)
            .env("GIT_CONFIG_GLOBAL", self.path("gitconfig"))
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .env("GIT_CEILING_DIRECTORIES", self.dir.path())
            .stdin(Stdio::null());
        command
    }

    fn git(&self, dir: &Path, args: &[&str]) -> String {
        let output = self.command("git", dir).args(args).output();
        let output = output.expect("git is needed for this test");
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success(), "git {args:?}: {said}");
        String::from_utf8(output.stdout).unwrap().trim().to_owned()
    }

    fn commit(&self, message: &str) -> String {
        let remote = self.path("remote");
        self.git(&remote, &["add", "-A"]);
        self.git(&remote, &["commit", "-qm", message]);
        self.git(&remote, &["rev-parse", "HEAD"])
    }

    /// A whole clone of the repository under a name in a folder of mirrors.
    fn mirror(&self, name: &str, options: &[&str]) -> PathBuf {
        let place = self.path(name);
        let mut args = vec!["clone", "-q"];
        args.extend(options);
        args.extend([URL, place.to_str().unwrap()]);
        self.git(self.dir.path(), &args);
        place
    }

    fn infradev(&self, home: &Path, args: &[&str]) -> (i32, String, String) {
        let mirrors = format!(
            "{}:{}",
            self.path("m1").display(),
            self.path("m2").display()
        );
        let output = infradev(home, &self.path("tasks"))
            .args(args)
            .env("INFRADEV_MIRRORS", mirrors)
            .output()
            .unwrap();
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        (code(&output), text(&output.stdout), text(&output.stderr))
    }

    fn json(&self, args: &[&str]) -> (i32, Value) {
        let (code, out, err) = self.infradev(&self.path("home"), args);
        let document = serde_json::from_str(&out);
        (
            code,
            document.unwrap_or_else(|e| panic!("{e}\n{out}\n{err}")),
        )
    }

    /// The only problem that `check` has with the task, as a note that breaks nothing.
    fn note(&self) -> (String, String) {
        let (code, document) = self.json(&["check", "--json"]);
        assert_eq!(
            (code, &document["ok"]),
            (0, &Value::Bool(true)),
            "{document}"
        );
        let task = &document["tasks"][0];
        assert_eq!(task["ok"], true, "{document}");
        let problems = task["problems"].as_array().unwrap();
        assert_eq!(problems.len(), 1, "{document}");
        assert_eq!(problems[0]["severity"], "note");
        let text = |key: &str| problems[0][key].as_str().unwrap().to_owned();
        let message = text("message");
        assert!(
            message.starts_with("patches and gold were not checked: "),
            "{message}"
        );
        (message, text("mend"))
    }

    fn nothing_is_wrong(&self) {
        let (code, document) = self.json(&["check", "--json"]);
        assert_eq!(
            (code, &document["ok"]),
            (0, &Value::Bool(true)),
            "{document}"
        );
        assert_eq!(document["tasks"][0]["problems"], Value::Array(vec![]));
    }

    fn missing(&self) -> Value {
        self.json(&["tasks", "--json"]).1["tasks"][0]["missing"].clone()
    }

    /// Does what a message says, as a person would paste it.
    fn paste(&self, commands: &[&str]) {
        let script = format!("set -e\n{}", commands.join("\n"));
        let output = self
            .command("sh", self.dir.path())
            .args(["-c", &script])
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{script}\n{said}");
    }
}

fn commands(text: &str) -> Vec<&str> {
    let lines = text.lines().map(str::trim);
    lines.filter(|line| line.starts_with("git ")).collect()
}

fn count(text: &str, what: &str) -> usize {
    text.matches(what).count()
}

#[test]
fn without_a_mirror_the_commands_that_make_it_are_said_and_work() {
    let world = World::new();
    let (message, mend) = world.note();
    for part in [
        URL,
        world.path("m1").to_str().unwrap(),
        world.path("m2").to_str().unwrap(),
        world.path("home/mirrors").to_str().unwrap(),
        "git.example.org/team/calc.git",
        "team+calc",
    ] {
        assert!(message.contains(part), "no {part} in {message}");
    }
    assert_eq!(
        count(&message, &format!("base {}", world.base)),
        1,
        "{message}"
    );
    assert_eq!(
        count(&message, &format!("gold {}", world.gold)),
        1,
        "{message}"
    );
    let place = world.path("m1/git.example.org/team/calc.git");
    let init = format!("git init --bare {}", place.display());
    let fetch = format!(
        "git -C {} fetch --depth 1 {URL} {} {}",
        place.display(),
        world.base,
        world.gold
    );
    assert_eq!(commands(&mend), [&*init, &*fetch]);
    assert_eq!(world.missing(), "no mirror");
    let (_, table, _) = world.infradev(&world.path("home"), &["tasks"]);
    assert!(table.contains("  no mirror"), "{table}");
    let (code, text, _) = world.infradev(&world.path("home"), &["check"]);
    assert_eq!(code, 0);
    assert!(text.contains("task.toml: note: patches and gold"), "{text}");
    assert!(text.contains(&fetch) && text.contains("tiny: ok"), "{text}");

    // the first command alone: a mirror, but an empty one
    world.paste(&[&init]);
    let (message, mend) = world.note();
    let lacks = format!("lacks base {}; needed are base", world.base);
    assert!(message.contains(&lacks), "{message}");
    assert!(message.contains(&world.gold), "{message}");
    assert_eq!(commands(&mend), [&*fetch]);
    assert_eq!(world.missing(), Value::Null);
    world.paste(&[&fetch]);
    world.nothing_is_wrong();
}

#[test]
fn a_grade_without_a_mirror_is_bad_input_and_with_one_it_is_graded() {
    let world = World::new();
    let home = common::home();
    let (code, out, err) = world.infradev(&home, &["grade", "tiny", "--gold", "--json"]);
    assert_eq!(code, 2, "{out}{err}");
    assert!(out.is_empty(), "{out}");
    // after what the worker told on the way
    let (_, err) = err.split_once("infradev: ").unwrap();
    assert!(err.contains(&format!("no mirror of {URL}")), "{err}");
    assert_eq!(count(err, &format!("base {}", world.base)), 1, "{err}");
    assert_eq!(count(err, &format!("gold {}", world.gold)), 1, "{err}");
    assert_eq!(commands(err).len(), 2, "{err}");
    world.paste(&commands(err));
    let (code, out, err) = world.infradev(&home, &["grade", "tiny", "--gold", "--json"]);
    assert_eq!(code, 0, "{out}{err}");
    let grade: Value = serde_json::from_str(&out).unwrap();
    assert_eq!(grade["suites"]["official"]["passed"], 1, "{grade}");
}

#[test]
fn a_partial_clone_is_told_from_a_whole_one_and_made_whole() {
    let world = World::new();
    let place = world.mirror("m1/team/calc.git", &["--bare", "--filter=blob:none"]);
    let blob = world.git(
        &world.path("remote"),
        &["rev-parse", &format!("{}:calc.py", world.base)],
    );
    let (message, mend) = world.note();
    let says = format!(
        "is not whole: file calc.py (object {blob}) of base {}",
        world.base
    );
    assert!(message.contains(&says), "{message}");
    assert!(!message.contains("no mirror"), "{message}");
    assert_eq!(world.missing(), Value::Null);
    assert_eq!(commands(&mend).len(), 1, "{mend}");
    world.paste(&commands(&mend));
    world.nothing_is_wrong();
    assert!(!place.join("shallow").exists(), "its history is kept");
}

#[test]
fn a_mirror_that_lost_an_object_is_told_which_and_made_whole() {
    let world = World::new();
    world.paste(&commands(&world.note().1));
    let place = world.path("m1/git.example.org/team/calc.git");
    let blob = world.git(
        &world.path("remote"),
        &["rev-parse", &format!("{}:calc.py", world.gold)],
    );
    fs::remove_file(place.join("objects").join(&blob[..2]).join(&blob[2..])).unwrap();
    let (message, mend) = world.note();
    let says = format!("file calc.py (object {blob}) of gold {}", world.gold);
    assert!(message.contains(&says), "{message}");
    world.paste(&commands(&mend));
    world.nothing_is_wrong();
}

#[test]
fn a_clone_behind_gets_only_the_commits_and_keeps_its_history() {
    let world = World::new();
    let place = world.mirror("m2/team+calc", &[]);
    let remote = world.path("remote");
    let later = "def two():\n    return 3\n";
    fs::write(remote.join("calc.py"), later).unwrap();
    let world = World {
        base: world.gold.clone(),
        gold: world.commit("later"),
        ..world
    };
    world.source(URL);
    let (message, mend) = world.note();
    assert!(
        message.contains(&format!("lacks gold {}", world.gold)),
        "{message}"
    );
    let fetch = format!(
        "git -C {} fetch {URL} {} {}",
        place.display(),
        world.base,
        world.gold
    );
    assert_eq!(commands(&mend), [&*fetch]);
    // another mirror has it
    let second = world.mirror("home/mirrors/team/calc.git", &["--bare"]);
    world.nothing_is_wrong();
    fs::remove_dir_all(second).unwrap();
    world.paste(&[&fetch]);
    world.nothing_is_wrong();
    assert_eq!(world.git(&place, &["rev-list", "--count", "HEAD"]), "2");
}

#[test]
fn a_mirror_is_found_by_each_of_its_names() {
    let world = World::new();
    let mut place = world.mirror("m1/elsewhere", &["--bare"]);
    assert_eq!(world.missing(), "no mirror");
    for name in [
        "m1/git.example.org/team/calc.git",
        "m2/team/calc.git",
        "m2/team+calc.git",
        "home/mirrors/team+calc",
    ] {
        let next = world.path(name);
        fs::create_dir_all(next.parent().unwrap()).unwrap();
        fs::rename(&place, &next).unwrap();
        place = next;
        assert_eq!(world.missing(), Value::Null, "{name}");
        fs::remove_dir_all(world.path("home/snapshots")).ok();
        world.nothing_is_wrong();
    }
    // a folder of that name that is no repository
    fs::remove_file(place.join("HEAD")).unwrap();
    assert_eq!(world.missing(), "no mirror");
}

#[test]
fn a_path_is_taken_as_it_is_and_a_wrong_one_is_the_tasks_error() {
    let world = World::new();
    world.source(world.path("remote").to_str().unwrap());
    world.nothing_is_wrong();
    assert_eq!(world.missing(), Value::Null);
    world.source(world.path("nowhere").to_str().unwrap());
    fs::remove_dir_all(world.path("home/snapshots")).unwrap();
    let (code, document) = world.json(&["check", "--json"]);
    let problem = &document["tasks"][0]["problems"][0];
    assert_eq!((code, &problem["severity"]), (1, &Value::from("error")));
    let message = problem["message"].as_str().unwrap();
    assert!(message.contains("no git repository"), "{message}");
    assert_eq!(world.missing(), "no repository");
    // an address that is none
    world.source("https://git.example.org/calc");
    let (code, document) = world.json(&["check", "--json"]);
    let problem = &document["tasks"][0]["problems"][0];
    assert_eq!((code, &problem["line"]), (1, &Value::from(9)), "{document}");
    assert!(
        problem["mend"]
            .as_str()
            .unwrap()
            .contains("https://host/owner/name")
    );
}
