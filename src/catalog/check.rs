//! What a task's files must hold beyond their shape. Whether patches apply is checked where trees
//! can be made ([`crate::pipeline`]).

use std::collections::HashSet;
use std::path::Path;

use super::claims::check_claims;
use super::locate::{Step, line_of};
use super::problem::{Problem, Severity};
use crate::domain::task::{EnvironmentKind, SuiteSpec, names_data, stays_inside};
use crate::domain::{ADDRESS_FORMS, Address, Submission, Suite, Task};

use Step::{Index, Key};

pub(super) struct Checker<'a> {
    text: &'a str,
    dir: &'a Path,
    file: &'static str,
    problems: &'a mut Vec<Problem>,
}

impl<'a> Checker<'a> {
    /// Of a task's `task.toml`, with its text.
    pub(super) fn of(task: &'a Task, text: &'a str, problems: &'a mut Vec<Problem>) -> Self {
        Self {
            text,
            dir: &task.dir,
            file: "task.toml",
            problems,
        }
    }

    pub(super) fn add(&mut self, severity: Severity, at: &[Step<'_>], message: String, mend: &str) {
        self.problems.push(Problem {
            severity,
            file: self.dir.join(self.file),
            line: line_of(self.text, at),
            message,
            mend: mend.into(),
        });
    }

    pub(super) fn error(&mut self, at: &[Step<'_>], message: String, mend: &str) {
        self.add(Severity::Error, at, message, mend);
    }

    /// A path of the task must stay inside its folder and exist. `what` is "file" or "folder".
    pub(super) fn path(&mut self, at: &[Step<'_>], relative: &str, what: &str) -> bool {
        if !stays_inside(relative) {
            self.error(
                at,
                format!("{relative:?} leaves the task's folder"),
                "give a relative path without ..",
            );
            return false;
        }
        let full = self.dir.join(relative);
        let there = if what == "folder" {
            full.is_dir()
        } else {
            full.is_file()
        };
        if !there {
            self.error(
                at,
                format!("no {what} {relative:?}"),
                "create it or correct the path",
            );
        }
        there
    }

    /// Names that must be unique in a list.
    pub(super) fn unique<'n>(
        &mut self,
        list: &str,
        field: &str,
        names: impl Iterator<Item = &'n str>,
    ) {
        let mut seen = HashSet::new();
        for (i, name) in names.enumerate() {
            if !seen.insert(name) {
                self.error(
                    &[Key(list), Index(i), Key(field)],
                    format!("{name:?} is listed twice"),
                    "remove one of the two, or rename it",
                );
            }
        }
    }
}

pub(super) fn check_task(task: &Task, text: &str, problems: &mut Vec<Problem>) {
    let mut c = Checker::of(task, text, problems);
    let spec = &task.spec;
    if spec.schema != 1 {
        let message = format!("schema {} is not known here", spec.schema);
        c.error(&[Key("schema")], message, "this version reads schema = 1");
    }
    let folder = task
        .dir
        .file_name()
        .map(|n| n.to_string_lossy().into_owned())
        .unwrap_or_default();
    if spec.id != folder {
        let message = format!("id {:?} is not the folder's name {folder:?}", spec.id);
        c.error(&[Key("id")], message, "make the two equal");
    }
    check_source(&mut c, task);
    check_environment(&mut c, task);
    check_suite(&mut c, task, Suite::Official, &spec.suites.official);
    if let Some(probes) = &spec.suites.probes {
        check_suite(&mut c, task, Suite::Probes, probes);
        if probes.into == spec.suites.official.into {
            c.error(
                &[Key("suites"), Key("probes"), Key("into")],
                "both suites replace the same folder".into(),
                "give the probes a folder of their own",
            );
        }
    }
    check_claims(&mut c, task);
    check_patches(&mut c, task);
    if !task.prompt_path().is_file() {
        c.problems.push(Problem {
            severity: Severity::Error,
            file: task.prompt_path(),
            line: None,
            message: "no prompt.md".into(),
            mend: "write the prompt that the agent is given (METHOD.md section 4)".into(),
        });
    }
}

fn check_source(c: &mut Checker<'_>, task: &Task) {
    let source = &task.spec.source;
    let gold = &task.spec.gold;
    match (&source.base, &source.git) {
        (Some(base), None) => {
            c.path(&[Key("source"), Key("base")], base, "folder");
        }
        (None, Some(git)) => {
            if let Some(Err(wrong)) = Address::parse(git) {
                let mend = format!("write {ADDRESS_FORMS}, or a path on this machine");
                c.error(
                    &[Key("source"), Key("git")],
                    format!("{git:?} is no address of a repository: {wrong}"),
                    &mend,
                );
            }
            if source.base_commit.is_none() {
                c.error(
                    &[Key("source")],
                    "a git source without base_commit".into(),
                    "add base_commit = \"<40 hex digits>\"",
                );
            }
        }
        _ => c.error(
            &[Key("source")],
            "base and git: exactly one is needed".into(),
            "keep one of the two",
        ),
    }
    for (key, commit) in [
        ("base_commit", &source.base_commit),
        ("commit", &gold.commit),
    ] {
        let bad = commit
            .as_ref()
            .is_some_and(|s| s.len() != 40 || !s.bytes().all(|b| b.is_ascii_hexdigit()));
        if bad {
            let at = if key == "commit" {
                [Key("gold"), Key(key)]
            } else {
                [Key("source"), Key(key)]
            };
            c.error(
                &at,
                format!("{key} is no full commit id"),
                "give all 40 hex digits",
            );
        }
    }
    match (&gold.patch, &gold.commit) {
        (Some(patch), None) => {
            c.path(&[Key("gold"), Key("patch")], patch, "file");
        }
        (None, Some(_)) if source.git.is_some() => {}
        (None, Some(_)) => c.error(
            &[Key("gold")],
            "a gold commit needs a git source".into(),
            "give gold.patch instead",
        ),
        _ => c.error(
            &[Key("gold")],
            "patch and commit: exactly one is needed".into(),
            "keep one of the two",
        ),
    }
}

fn check_environment(c: &mut Checker<'_>, task: &Task) {
    let env = &task.spec.environment;
    match (env.kind, &env.requirements) {
        (EnvironmentKind::Uv, Some(file)) => {
            c.path(&[Key("environment"), Key("requirements")], file, "file");
        }
        (EnvironmentKind::Uv, None) => c.error(
            &[Key("environment")],
            "kind uv without requirements".into(),
            "add requirements = \"requirements.lock\" (locked, with hashes)",
        ),
        _ => {}
    }
    for (i, path) in env.pythonpath.iter().enumerate() {
        if !stays_inside(path) {
            let at = [Key("environment"), Key("pythonpath"), Index(i)];
            c.error(
                &at,
                format!("{path:?} leaves the work tree"),
                "give a relative path without ..",
            );
        }
    }
    // whether it is there depends on the home: a run tells
    let mut seen = HashSet::new();
    for (i, name) in env.data.iter().enumerate() {
        let at = [Key("environment"), Key("data"), Index(i)];
        if !names_data(name) {
            let message = format!("{name:?} cannot name data");
            let mend = "use letters, digits, '.', '_' and '-': the name of an entry of the home's cache/data";
            c.error(&at, message, mend);
        }
        if !seen.insert(name) {
            let message = format!("{name:?} is listed twice");
            c.error(&at, message, "remove one of the two");
        }
    }
}

fn check_suite(c: &mut Checker<'_>, task: &Task, suite: Suite, spec: &SuiteSpec) {
    let at = |key| [Key("suites"), Key(suite.name()), Key(key)];
    match &spec.from {
        Some(from) => {
            c.path(&at("from"), from, "folder");
        }
        None if task.spec.source.git.is_none() || suite == Suite::Probes => {
            c.error(
                &at("from"),
                "no folder of tests".into(),
                "add from = \"<folder here>\"",
            );
        }
        None => {}
    }
    if !stays_inside(&spec.into) || spec.into == "." {
        let message = format!("{:?} is no folder inside the work tree", spec.into);
        c.error(
            &at("into"),
            message,
            "name the folder that is replaced as a whole",
        );
    }
    let mut seen = HashSet::new();
    for (i, path) in spec.paths.iter().enumerate() {
        let at = [Key("suites"), Key(suite.name()), Key("paths"), Index(i)];
        if !stays_inside(path.split("::").next().unwrap_or(path)) {
            c.error(
                &at,
                format!("{path:?} leaves the work tree"),
                "give a relative path without ..",
            );
        }
        if !seen.insert(path) {
            c.error(
                &at,
                format!("{path:?} is listed twice"),
                "remove one of the two",
            );
        }
    }
    if spec.ranks == 0 {
        c.error(
            &at("ranks"),
            "a suite with no rank".into(),
            "ranks is 1 or more",
        );
    }
    if spec.limit_s <= 0.0 {
        c.error(&at("limit_s"), "a limit of no time".into(), "give seconds");
    }
}

fn check_patches(c: &mut Checker<'_>, task: &Task) {
    let spec = &task.spec;
    c.unique(
        "adversarial",
        "name",
        spec.adversarial.iter().map(|a| a.name.as_str()),
    );
    c.unique(
        "alternative",
        "name",
        spec.alternative.iter().map(|a| a.name.as_str()),
    );
    c.unique(
        "equivalent",
        "mutant",
        spec.equivalent.iter().map(|e| e.mutant.as_str()),
    );
    for (i, e) in spec.equivalent.iter().enumerate() {
        if e.why.trim().is_empty() {
            let at = [Key("equivalent"), Index(i), Key("why")];
            let message = format!("mutant {:?} is marked without a reason", e.mutant);
            c.error(&at, message, "say why no test can tell it from gold");
        }
    }
    for (i, d) in spec.dropped.iter().enumerate() {
        if !spec.claims.iter().any(|claim| claim.id == d.claim) {
            let at = [Key("dropped"), Index(i), Key("claim")];
            c.error(
                &at,
                format!("no claim {:?}", d.claim),
                "name the claim that it was to violate",
            );
        }
    }
    let mut listed = HashSet::new();
    for (i, a) in spec.adversarial.iter().enumerate() {
        c.path(
            &[Key("adversarial"), Index(i), Key("patch")],
            &a.patch,
            "file",
        );
        listed.insert(a.patch.clone());
        if !spec.claims.iter().any(|claim| claim.id == a.claim) {
            let at = [Key("adversarial"), Index(i), Key("claim")];
            c.error(
                &at,
                format!("no claim {:?}", a.claim),
                "name the claim that it violates",
            );
        }
    }
    for (i, a) in spec.alternative.iter().enumerate() {
        c.path(
            &[Key("alternative"), Index(i), Key("patch")],
            &a.patch,
            "file",
        );
        listed.insert(a.patch.clone());
    }
    for folder in ["adversarial", "alternative"] {
        let Ok(entries) = std::fs::read_dir(task.dir.join(folder)) else {
            continue;
        };
        for entry in entries.filter_map(Result::ok) {
            let name = format!("{folder}/{}", entry.file_name().to_string_lossy());
            if !listed.contains(&name) {
                c.problems.push(Problem {
                    severity: Severity::Warning,
                    file: task.dir.join(&name),
                    line: None,
                    message: "not listed in task.toml, so nothing uses it".into(),
                    mend: format!("add [[{folder}]] for it, or remove it"),
                });
            }
        }
    }
}

pub(super) fn check_submission(submission: &Submission, text: &str, problems: &mut Vec<Problem>) {
    let mut c = Checker {
        text,
        dir: &submission.dir,
        file: "submission.toml",
        problems,
    };
    let spec = &submission.spec;
    if spec.schema != 1 {
        let message = format!("schema {} is not known here", spec.schema);
        c.error(&[Key("schema")], message, "this version reads schema = 1");
    }
    let folder = submission
        .dir
        .file_name()
        .map(|n| n.to_string_lossy().into_owned())
        .unwrap_or_default();
    if spec.name != folder {
        let message = format!("name {:?} is not the folder's name {folder:?}", spec.name);
        c.error(&[Key("name")], message, "make the two equal");
    }
    for (key, path) in [("patch", &spec.patch), ("log", &spec.log)] {
        if let Some(path) = path {
            c.path(&[Key(key)], path, "file");
        }
    }
    if spec.log.is_some() && spec.log_format.is_none() {
        c.error(
            &[Key("log")],
            "a log without its format".into(),
            "add log_format = \"codex\" (or claude, opencode, mini, text)",
        );
    }
}
