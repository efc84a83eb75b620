//! Whose process is this: its command, its user, and the run that it belongs to.

use std::collections::{BTreeMap, VecDeque};
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use super::Reading;
use super::clocks::Clocks;
use super::proc;
use super::snapshot::{GpuProcess, WorkerProcess};
use super::source::RawProcess;

/// Set by an engine for every process of a run.
const VARIABLE: &str = "INFRADEV_RUN";
/// A control group of a run is named with this before the run's id.
const GROUP: &str = "infradev-";
/// Set by a suite for every rank.
const RANK: &str = "RANK";
/// Of an environment; a process may make its own as large as it likes.
const ENVIRON: u64 = 1 << 20;
/// Processes of live runs that are looked at; a fork bomb must not take our time as well.
const MOST_PROCESSES: usize = 1024;
/// Characters of a command line.
const COMMAND: usize = 200;

/// Looks into a `/proc`.
#[derive(Clone, Debug)]
pub(super) struct Attribution {
    proc: PathBuf,
    users: BTreeMap<u32, Option<String>>,
    clocks: Clocks,
}

impl Attribution {
    pub fn new(proc: &Path) -> Self {
        Self {
            proc: proc.to_path_buf(),
            users: BTreeMap::new(),
            clocks: Clocks::new(proc),
        }
    }

    /// All processes below the workers, each with its run; in breadth, and bounded.
    pub fn trees(&self, workers: &[WorkerProcess]) -> BTreeMap<u32, String> {
        let mut found = BTreeMap::new();
        let mut waiting: VecDeque<(u32, &str)> =
            workers.iter().map(|w| (w.pid, w.run.as_str())).collect();
        let mut parents: Option<BTreeMap<u32, Vec<u32>>> = None;
        while let Some((pid, run)) = waiting.pop_front() {
            if found.len() >= MOST_PROCESSES || found.contains_key(&pid) {
                continue;
            }
            found.insert(pid, run.to_string());
            let children = proc::children(&self.proc, pid).unwrap_or_else(|| {
                // a kernel without lists of children: all processes are asked for their parent
                let all = parents.get_or_insert_with(|| self.by_parent());
                all.get(&pid).cloned().unwrap_or_default()
            });
            waiting.extend(children.into_iter().map(|child| (child, run)));
        }
        found
    }

    fn by_parent(&self) -> BTreeMap<u32, Vec<u32>> {
        let mut found: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
        for entry in std::fs::read_dir(&self.proc)
            .into_iter()
            .flatten()
            .flatten()
        {
            let Some(pid) = entry
                .file_name()
                .to_str()
                .and_then(|n| n.parse::<u32>().ok())
            else {
                continue;
            };
            let text = std::fs::read_to_string(entry.path().join("stat")).unwrap_or_default();
            if let Some(stat) = proc::stat(&text) {
                found.entry(stat.parent).or_default().push(pid);
            }
        }
        found
    }

    /// Completes what the driver said about a process.
    pub fn describe(&mut self, raw: &RawProcess, trees: &BTreeMap<u32, String>) -> GpuProcess {
        let run = trees.get(&raw.pid).cloned().or_else(|| self.run(raw.pid));
        let (cpu_pct, started_s) = self.clocks.read(raw.pid);
        GpuProcess {
            pid: raw.pid,
            kind: raw.kind,
            memory_bytes: raw.memory_bytes,
            sm_pct: raw.sm_pct,
            cpu_pct,
            started_s,
            instance: raw.instance,
            container: self.container(raw.pid),
            command: self.command(raw.pid),
            user: self.user(raw.pid),
            // the word means nothing outside a run
            rank: run.as_ref().and_then(|_| self.rank(raw.pid)),
            run,
        }
    }

    fn environ(&self, pid: u32) -> Option<Vec<u8>> {
        let file = File::open(self.proc.join(pid.to_string()).join("environ")).ok()?;
        let mut bytes = Vec::new();
        file.take(ENVIRON).read_to_end(&mut bytes).ok()?;
        Some(bytes)
    }

    /// The rank that a process itself tells: a small number, or nothing.
    pub fn rank(&self, pid: u32) -> Option<u32> {
        let text = proc::variable(&self.environ(pid)?, RANK)?;
        let small = text.len() <= 4 && text.bytes().all(|byte| byte.is_ascii_digit());
        text.parse().ok().filter(|_| small)
    }

    /// The run that a process itself tells.
    fn run(&self, pid: u32) -> Option<String> {
        let folder = self.proc.join(pid.to_string());
        let told = self
            .environ(pid)
            .and_then(|environ| proc::variable(&environ, VARIABLE));
        let run = told.or_else(|| {
            let groups = std::fs::read_to_string(folder.join("cgroup")).ok()?;
            let mut names = groups.split(['/', '\n']);
            let name = names.find_map(|name| name.strip_prefix(GROUP))?;
            Some(name.to_string())
        })?;
        // a process may put anything there
        let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
        (!run.is_empty() && run.len() <= 100 && run.chars().all(plain)).then_some(run)
    }

    /// The container that holds it, as its control groups name one.
    fn container(&self, pid: u32) -> Option<String> {
        let path = self.proc.join(pid.to_string()).join("cgroup");
        proc::container(&std::fs::read_to_string(path).ok()?)
    }

    pub fn command(&self, pid: u32) -> Reading<String> {
        let folder = self.proc.join(pid.to_string());
        match std::fs::read(folder.join("cmdline")) {
            Ok(bytes) => match proc::command_line(&bytes, COMMAND) {
                Some(line) => Reading::Value(line),
                // a kernel thread or a zombie has only its short name
                None => std::fs::read_to_string(folder.join("comm"))
                    .map(|name| proc::command_line(name.as_bytes(), COMMAND).unwrap_or_default())
                    .into(),
            },
            Err(error) => Err(error).into(),
        }
    }

    fn user(&mut self, pid: u32) -> Reading<String> {
        let path = self.proc.join(pid.to_string()).join("status");
        let id = match std::fs::read_to_string(path) {
            Ok(text) => proc::user_id(&text),
            Err(error) => return Err(error).into(),
        };
        let Some(id) = id else {
            return Reading::Unsupported;
        };
        let name = self.users.entry(id).or_insert_with(|| {
            nix::unistd::User::from_uid(nix::unistd::Uid::from_raw(id))
                .ok()
                .flatten()
                .map(|user| user.name)
        });
        Reading::Value(name.clone().unwrap_or_else(|| id.to_string()))
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use std::process::{Command, Stdio};

    use super::super::snapshot::ProcessKind;
    use super::*;

    #[test]
    fn a_process_below_a_worker_belongs_to_its_run() {
        // a worker whose grandchild outlives no one: sh -> sleep
        let mut worker = Command::new("sh")
            .args(["-c", "sleep 60 & echo $!; wait"])
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        let mut out = std::io::BufReader::new(worker.stdout.take().unwrap());
        std::io::BufRead::read_line(&mut out, &mut line).unwrap();
        let child: u32 = line.trim().parse().unwrap();
        // the shell tells the number before the child has become another program
        let command = || std::fs::read(format!("/proc/{child}/cmdline")).unwrap();
        while !command().starts_with(b"sleep") {
            std::thread::yield_now();
        }
        let mut attribution = Attribution::new(Path::new("/proc"));
        let workers = [WorkerProcess {
            run: "run-7".into(),
            pid: worker.id(),
        }];
        let trees = attribution.trees(&workers);
        let by_parent = attribution.by_parent();
        let raw = RawProcess::new(child, ProcessKind::Compute, Reading::Unsupported);
        let found = attribution.describe(&raw, &trees);
        let _ = Command::new("kill").arg(child.to_string()).status();
        worker.wait().unwrap();
        assert_eq!(trees.get(&child).map(String::as_str), Some("run-7"));
        assert!(by_parent.get(&worker.id()).unwrap().contains(&child));
        assert_eq!(found.run.as_deref(), Some("run-7"));
        assert_eq!(found.command, Reading::Value("sleep 60".into()));
        assert!(matches!(found.user, Reading::Value(name) if !name.is_empty()));
    }

    #[test]
    fn a_rank_is_a_small_number_or_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let told: [(&[u8], Option<u32>); 9] = [
            (b"A=1\0RANK=0\0", Some(0)),
            (b"RANK=13\0RANK=2\0", Some(13)),
            (b"RANK=\0", None),
            (b"RANK=+1\0", None),
            (b"RANK=-1\0", None),
            (b"RANK=99999\0", None),
            (b"RANK=1\x1b[2J\0", None),
            (b"LOCAL_RANK=3\0", None),
            (b"RANK=\xff\0", None),
        ];
        for (at, (environ, _)) in told.iter().enumerate() {
            let process = folder.path().join((at + 1).to_string());
            std::fs::create_dir(&process).unwrap();
            std::fs::write(process.join("environ"), environ).unwrap();
        }
        let mut attribution = Attribution::new(folder.path());
        let trees: BTreeMap<u32, String> = (1..=9).map(|pid| (pid, "run-1".into())).collect();
        let raw = |pid| RawProcess::new(pid, ProcessKind::Compute, Reading::Unsupported);
        for (at, (environ, rank)) in told.iter().enumerate() {
            let found = attribution.describe(&raw(at as u32 + 1), &trees);
            let shown = String::from_utf8_lossy(environ);
            assert_eq!(found.rank, *rank, "{shown:?}");
        }
        // of no run: of no rank either; and one that is not there
        let none = BTreeMap::new();
        assert_eq!(attribution.describe(&raw(1), &none).rank, None);
        let far = attribution.describe(&raw(10), &none);
        assert_eq!(
            (far.run, far.rank, far.command),
            (None, None, Reading::Unsupported)
        );
    }

    #[test]
    fn a_process_tells_its_run_and_is_not_believed_blindly() {
        let folder = tempfile::tempdir().unwrap();
        for (pid, environ, cgroup) in [
            (1, &b"INFRADEV_RUN=run-1\0"[..], "0::/"),
            (2, b"", "0::/user.slice/infradev-run-2/init\n"),
            (3, b"INFRADEV_RUN=\x1b[2J\0", "0::/"),
            (4, b"A=1\0", "0::/user.slice"),
        ] {
            let process = folder.path().join(pid.to_string());
            std::fs::create_dir(&process).unwrap();
            std::fs::write(process.join("environ"), environ).unwrap();
            std::fs::write(process.join("cgroup"), cgroup).unwrap();
        }
        let attribution = Attribution::new(folder.path());
        let runs: Vec<_> = (1..6).map(|pid| attribution.run(pid)).collect();
        assert_eq!(
            runs,
            [
                Some("run-1".to_string()),
                Some("run-2".to_string()),
                None,
                None,
                None
            ]
        );
    }
}
