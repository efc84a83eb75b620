//! All checks, in the order in which they are read.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use super::document::{Check, DoctorDocument};
use super::sandbox::try_local;
use super::{disk, docker, machine, python, sandbox, terminal};
use crate::engine::local::LocalSupport;
use crate::gpu::{NvmlSource, Source};

/// What is examined.
pub struct Examination<'a> {
    pub home: PathBuf,
    /// `PATH`, `DOCKER_HOST`, `TERM` and the rest.
    pub env: BTreeMap<OsString, OsString>,
    /// Tries a sandbox in a temporary folder.
    pub sandbox: Box<dyn Fn(&Path) -> LocalSupport + 'a>,
}

impl Examination<'_> {
    /// This process's own environment variables and program.
    pub fn new(home: &Path) -> Self {
        Self {
            home: home.to_path_buf(),
            env: std::env::vars_os().collect(),
            sandbox: Box::new(|scratch| try_local(scratch, None)),
        }
    }

    /// A variable that is set and not empty.
    pub(super) fn variable(&self, name: &str) -> Option<String> {
        self.env
            .get(&OsString::from(name))
            .map(|value| value.to_string_lossy().into_owned())
            .filter(|value| !value.is_empty())
    }
}

/// Runs every check; some seconds at most, most of them for interpreters that are asked.
pub fn examine(examination: &Examination<'_>) -> DoctorDocument {
    let mut checks = vec![machine::kernel(), machine::user()];
    checks.push(sandbox::check(examination));
    checks.push(docker::check(examination));
    checks.push(gpus(&mut NvmlSource::new()));
    checks.extend(python::checks(examination));
    checks.extend(disk::checks(examination));
    checks.push(machine::memory());
    checks.push(machine::cores());
    checks.push(terminal::check(examination));
    DoctorDocument { schema: 1, checks }
}

/// GPUs are never needed for grading as such: tasks that want them say so.
fn gpus(source: &mut dyn Source) -> Check {
    let counted = source
        .open()
        .and_then(|driver| Ok((driver, source.count()?)));
    match counted {
        Ok((driver, 0)) => Check::warn(
            "gpus",
            format!("driver {driver}, no GPU"),
            "in a container or a job, ask for GPUs; else look at nvidia-smi and dmesg",
        ),
        Ok((driver, count)) => {
            let names: Vec<String> = (0..count)
                .map(|index| match source.identity(index) {
                    Ok(identity) => identity.name,
                    Err(_) => "one that does not answer".into(),
                })
                .collect();
            let mut kinds: Vec<(String, u32)> = Vec::new();
            for name in names {
                match kinds.iter_mut().find(|(kind, _)| *kind == name) {
                    Some((_, n)) => *n += 1,
                    None => kinds.push((name, 1)),
                }
            }
            let kinds: Vec<String> = kinds
                .iter()
                .map(|(kind, n)| format!("{n} x {kind}"))
                .collect();
            Check::ok("gpus", format!("driver {driver}, {}", kinds.join(", ")))
        }
        Err(unavailable) => Check::warn("gpus", unavailable.reason, unavailable.advice),
    }
}

#[cfg(test)]
mod tests {
    use super::super::Status;
    use super::*;
    use crate::gpu::{Script, ScriptedSource, Unavailable, Why};

    #[test]
    fn gpus_are_counted_by_kind_and_a_lost_driver_is_told_with_its_mend() {
        let script = Script {
            gpus: 3,
            forbidden: vec![1],
            ..Script::default()
        };
        let check = gpus(&mut ScriptedSource::new(script));
        assert_eq!(check.status, Status::Ok);
        assert_eq!(
            check.found,
            "driver scripted 1.0, 2 x Scripted GPU, 1 x one that does not answer"
        );
        let script = Script {
            unavailable: Some(Unavailable {
                why: Why::DriverMismatch,
                reason: "mismatch\u{1b}[31m".into(),
                advice: "reload".into(),
            }),
            ..Script::default()
        };
        let check = gpus(&mut ScriptedSource::new(script));
        assert_eq!(check.status, Status::Warn);
        assert_eq!(check.found, "mismatch[31m");
        assert_eq!(check.mend.as_deref(), Some("reload"));
    }
}
