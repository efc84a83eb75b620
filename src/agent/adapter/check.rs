//! What an adapter must hold beyond its shape.

use std::collections::BTreeSet;

use super::load::Adapter;
use super::pass::{split, variable};
use super::shipped;
use super::words::{KNOWN, words_of};
use crate::agent::HostRule;
use crate::catalog::Step::{self, Index, Key};
use crate::catalog::{Problem, Severity, line_of};
use crate::domain::NetworkMode;
use crate::domain::task::stays_inside;

struct Checker<'a> {
    adapter: &'a Adapter,
    problems: &'a mut Vec<Problem>,
}

/// `name`: the file's, without its ending.
pub(super) fn check(adapter: &Adapter, name: &str, problems: &mut Vec<Problem>) {
    let mut c = Checker { adapter, problems };
    c.head(name);
    c.words();
    c.install();
    c.variables();
    c.network();
}

impl Checker<'_> {
    fn add(&mut self, severity: Severity, at: &[Step<'_>], message: String, mend: &str) {
        self.problems.push(Problem {
            severity,
            file: self.adapter.file.clone(),
            line: line_of(&self.adapter.text, at),
            message,
            mend: mend.into(),
        });
    }

    fn error(&mut self, at: &[Step<'_>], message: String, mend: &str) {
        self.add(Severity::Error, at, message, mend);
    }

    fn head(&mut self, name: &str) {
        let spec = &self.adapter.spec;
        if spec.schema != 1 {
            let message = format!("schema {} is not known here", spec.schema);
            self.error(&[Key("schema")], message, "this version reads schema = 1");
        }
        if spec.name != name {
            let message = format!("name {:?} is not the file's name {name:?}", spec.name);
            self.error(&[Key("name")], message, "make the two equal");
        }
        let plain = |b: u8| b.is_ascii_alphanumeric() || b"-_.".contains(&b);
        if name.is_empty() || !name.bytes().all(plain) {
            let message = format!("{name:?} holds more than letters, digits and -_.");
            self.error(&[Key("name")], message, "rename the file");
        }
        if spec.command.first().is_none_or(String::is_empty) {
            let message = "a command without a program".into();
            self.error(
                &[Key("command")],
                message,
                "write [\"program\", \"argument\"]",
            );
        }
        if let Some(trajectory) = &spec.trajectory
            && !stays_inside(trajectory)
        {
            let message = format!("{trajectory:?} leaves the folder {{out}}");
            let mend = "give a relative path without ..";
            self.error(&[Key("trajectory")], message, mend);
        }
        for (key, value) in [
            ("log_mib", spec.limits.log_mib),
            ("memory_mib", spec.limits.memory_mib),
            ("processes", spec.limits.processes),
        ] {
            if value == 0 {
                let message = format!("{key} of nothing");
                self.error(&[Key("limits"), Key(key)], message, "give 1 or more");
            }
        }
    }

    fn words(&mut self) {
        let spec = &self.adapter.spec;
        let mut used = BTreeSet::new();
        for (index, argument) in spec.command.iter().enumerate() {
            let words = words_of(argument);
            let at = [Key("command"), Index(index)];
            if words.iter().any(|w| w == "replay") && argument != "{replay}" {
                let message = "{replay} stands for several arguments".into();
                self.error(&at, message, "make it an argument of its own");
            }
            if words.iter().any(|w| w == "effort") && argument != "{effort}" {
                let message = "{effort} stands for the arguments that set it, or for none".into();
                let mend = "make it an argument of its own, and write those into `effort`";
                self.error(&at, message, mend);
            }
            self.known(&at, &words, &KNOWN);
            used.extend(words);
        }
        for (name, value) in &spec.env.set {
            let words = words_of(value);
            self.known(&[Key("env"), Key("set"), Key(name)], &words, &KNOWN[..8]);
            used.extend(words);
        }
        for (index, argument) in spec.effort.iter().enumerate() {
            self.known(
                &[Key("effort"), Index(index)],
                &words_of(argument),
                &["effort", "home"],
            );
        }
        let stands = spec.command.iter().any(|argument| argument == "{effort}");
        let message = match (stands, spec.effort.is_empty()) {
            (true, true) => Some("{effort} stands for nothing"),
            (false, false) => Some("`effort` stands nowhere in `command`"),
            _ => None,
        };
        if let Some(message) = message {
            let mend = "write the arguments that set an effort into `effort`, and \"{effort}\" as an argument of `command`";
            self.error(&[Key("command")], message.into(), mend);
        }
        let told = ["prompt", "prompt_file", "replay"];
        if !spec.command.is_empty() && !told.iter().any(|w| used.contains(*w)) {
            self.error(
                &[Key("command")],
                "the agent is never told its task".into(),
                "put {prompt} or {prompt_file} into its command or its variables",
            );
        }
        if used.contains("install") && spec.install.is_none() {
            self.error(
                &[Key("command")],
                "{install} stands for nothing".into(),
                "add [install], or name a program that is there",
            );
        }
    }

    fn known(&mut self, at: &[Step<'_>], words: &[String], known: &[&str]) {
        for word in words.iter().filter(|w| !known.contains(&w.as_str())) {
            let known: Vec<String> = known.iter().map(|w| format!("{{{w}}}")).collect();
            let mend = format!("known here: {}", known.join(" "));
            self.error(at, format!("{{{word}}} stands for nothing"), &mend);
        }
    }

    fn install(&mut self) {
        let adapter = self.adapter;
        let Some(install) = &adapter.spec.install else {
            return;
        };
        let at = |key| [Key("install"), Key(key)];
        match (&install.requirements, &install.script) {
            (Some(_), Some(_)) => self.error(
                &at("script"),
                "requirements and script both install into one folder".into(),
                "keep one of the two",
            ),
            (None, None) => self.error(
                &[Key("install")],
                "installs nothing".into(),
                "add requirements or script, or remove [install]",
            ),
            _ => {}
        }
        if let Some(script) = &install.script {
            self.known(&at("script"), &words_of(script), &["install"]);
        }
        let Some(name) = &install.requirements else {
            if install.python.is_some() {
                let message = "a Python version without requirements".into();
                self.error(&at("python"), message, "add requirements, or remove it");
            }
            return;
        };
        if name.contains('/') || name.starts_with('.') {
            let message = format!("{name:?} does not lie beside the adapter");
            self.error(&at("requirements"), message, "give a file name alone");
            return;
        }
        let there = if adapter.shipped {
            shipped::text(name).is_some()
        } else {
            adapter.file.with_file_name(name).is_file()
        };
        if !there {
            let message = format!("no file {name:?} beside the adapter");
            self.error(
                &at("requirements"),
                message,
                "create it or correct the name",
            );
        }
    }

    fn variables(&mut self) {
        let spec = &self.adapter.spec;
        let mut seen = BTreeSet::new();
        for (index, entry) in spec.env.pass.iter().enumerate() {
            let at = [Key("env"), Key("pass"), Index(index)];
            let (name, _) = split(entry);
            if !is_variable(name) {
                let message = format!("{entry:?} is no name of a variable");
                self.error(&at, message, "write NAME, or NAME? where it may be unset");
            }
            if !seen.insert(name) {
                let message = format!("{name} is listed twice");
                self.error(&at, message, "remove one of the two");
            }
            if spec.env.set.contains_key(name) {
                let message = format!("{name} is passed and set");
                self.error(&at, message, "keep one of the two");
            }
        }
        for name in spec.env.set.keys().filter(|n| !is_variable(n)) {
            let message = format!("{name:?} is no name of a variable");
            let at = [Key("env"), Key("set"), Key(name)];
            self.error(&at, message, "use letters, digits and _");
        }
    }

    fn network(&mut self) {
        let spec = &self.adapter.spec;
        for (index, host) in spec.network.hosts.iter().enumerate() {
            let at = [Key("network"), Key("hosts"), Index(index)];
            if let Some(name) = variable(host) {
                let passed = spec.env.pass.iter().any(|p| split(p).0 == name);
                if !passed && !spec.env.set.contains_key(name) {
                    let message = format!("{host} names a variable that the agent is not given");
                    self.error(&at, message, "add it to [env] pass or set");
                }
            } else if let Err(message) = HostRule::parse(host) {
                let mend = "write host, host:port, *.host or ${VARIABLE}";
                self.error(&at, message, mend);
            }
        }
        let at = [Key("network"), Key("hosts")];
        match (spec.network.mode, spec.network.hosts.is_empty()) {
            (NetworkMode::AllowList, true) if spec.command != ["{replay}"] => self.add(
                Severity::Warning,
                &at,
                "an allow-list without hosts lets nothing through".into(),
                "name the model's host, or set mode = \"none\"",
            ),
            (NetworkMode::None | NetworkMode::Open, false) => self.add(
                Severity::Warning,
                &at,
                format!(
                    "hosts have no effect with mode {}",
                    spec.network.mode.name()
                ),
                "they count for mode = \"allow-list\"",
            ),
            _ => {}
        }
    }
}

fn is_variable(name: &str) -> bool {
    let first = name.bytes().next();
    first.is_some_and(|b| b.is_ascii_alphabetic() || b == b'_')
        && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
}
