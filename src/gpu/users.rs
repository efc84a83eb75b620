//! Who uses a GPU, in words. Parts of them come from others' processes and files: whoever shows
//! them makes them safe.

use super::Reading;
use super::leased::GpuLease;
use super::snapshot::{Gpu, GpuProcess, ProcessKind};

/// One user of a GPU.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Use {
    pub kind: UseKind,
    pub words: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UseKind {
    Free,
    /// A process of a run.
    Run,
    /// Leased, and no process of its run is there yet.
    Leased,
    /// A lease whose worker died.
    Stale,
    /// A process that is of no run.
    Other,
}

/// `ab12` of `20261129-174101-ab12`, by which the commands find it too; another id as it is.
pub fn short_run(id: &str) -> &str {
    let digits = |text: &str, n: usize| text.len() == n && text.bytes().all(|b| b.is_ascii_digit());
    let mut parts = id.split('-');
    match (parts.next(), parts.next(), parts.next(), parts.next()) {
        (Some(day), Some(time), Some(last), None)
            if digits(day, 8) && digits(time, 6) && last.len() == 4 =>
        {
            last
        }
        _ => id,
    }
}

impl GpuProcess {
    /// Whose it is, beside its pid and command: `run ab12 rank 0`, `container 3f2a3f2a3f2a`,
    /// `other namespace` where the driver names it and `/proc` does not, else `other`.
    pub fn owner(&self) -> String {
        match (&self.run, &self.container, &self.command) {
            (Some(_), _, _) => self.who(),
            (None, Some(container), _) => format!("container {container}"),
            (None, None, Reading::Unsupported) => "other namespace".into(),
            (None, None, _) => "other".into(),
        }
    }

    /// `run ab12 rank 0`, `python (123)`, `pid 123 other namespace`.
    pub fn who(&self) -> String {
        let pid = self.pid;
        match (&self.run, self.rank, &self.command) {
            (Some(run), Some(rank), _) => format!("run {} rank {rank}", short_run(run)),
            (Some(run), None, _) => format!("run {}", short_run(run)),
            (None, _, Reading::Value(command)) => match command.split_whitespace().next() {
                Some(program) => format!("{program} ({pid})"),
                None => format!("pid {pid}"),
            },
            // the driver names it and `/proc` does not
            (None, _, Reading::Unsupported) => format!("pid {pid} other namespace"),
            (None, _, _) => format!("pid {pid}"),
        }
    }
}

impl Gpu {
    /// A run could take it now: nobody has leased it and nobody is known to compute on it.
    pub fn free(&self) -> bool {
        let leased = matches!(self.lease, Reading::Value(GpuLease::Held { .. }));
        let busy = match &self.processes {
            Reading::Value(all) => all.iter().any(|p| p.kind != ProcessKind::Graphics),
            Reading::Lost => true,
            Reading::Unsupported | Reading::NoPermission => false,
        };
        self.lost_since_s.is_none() && !leased && !busy
    }

    /// Who holds it, then who is on it, each once; empty where nothing of it is known.
    pub fn uses(&self) -> Vec<Use> {
        let mut uses: Vec<Use> = Vec::new();
        let processes = match &self.processes {
            Reading::Value(processes) => Some(processes),
            _ => None,
        };
        if let Reading::Value(lease) = &self.lease {
            let there = |run: &str| {
                processes
                    .into_iter()
                    .flatten()
                    .any(|process| process.run.as_deref() == Some(run))
            };
            match lease {
                GpuLease::Held { run: Some(run), .. } if !there(run) => uses.push(Use {
                    kind: UseKind::Leased,
                    words: format!("leased: run {}", short_run(run)),
                }),
                GpuLease::Held { run: None, .. } => uses.push(Use {
                    kind: UseKind::Leased,
                    words: "leased: somebody".into(),
                }),
                GpuLease::Stale { run, .. } => uses.push(Use {
                    kind: UseKind::Stale,
                    words: format!("stale lease: run {}", short_run(run)),
                }),
                GpuLease::Held { .. } | GpuLease::Free => {}
            }
        }
        for process in processes.into_iter().flatten() {
            let kind = if process.run.is_some() {
                UseKind::Run
            } else {
                UseKind::Other
            };
            let words = process.who();
            // a rank and its helpers are one user
            if !uses.iter().any(|u| u.words == words) {
                uses.push(Use { kind, words });
            }
        }
        if uses.is_empty() && processes.is_some() {
            uses.push(Use {
                kind: UseKind::Free,
                words: "free".into(),
            });
        }
        uses
    }
}

#[cfg(test)]
mod tests {
    use super::super::snapshot::ProcessKind;
    use super::super::source::Fixed;
    use super::*;

    fn process(pid: u32, run: Option<&str>, rank: Option<u32>) -> GpuProcess {
        GpuProcess {
            pid,
            kind: ProcessKind::Compute,
            memory_bytes: Reading::Value(1 << 20),
            sm_pct: Reading::Unsupported,
            cpu_pct: Reading::Unsupported,
            started_s: Reading::Unsupported,
            instance: None,
            container: None,
            command: Reading::Value("python -m pytest".into()),
            user: Reading::Value("me".into()),
            run: run.map(str::to_string),
            rank,
        }
    }

    fn words(gpu: &Gpu) -> Vec<String> {
        gpu.uses().into_iter().map(|u| u.words).collect()
    }

    fn held(run: &str) -> Reading<GpuLease> {
        Reading::Value(GpuLease::Held {
            run: Some(run.into()),
            user: Some("me".into()),
            pid: Some(1),
            host: Some("here".into()),
        })
    }

    #[test]
    fn a_run_is_called_by_the_end_of_its_id() {
        assert_eq!(short_run("20261129-174101-ab12"), "ab12");
        assert_eq!(short_run("41"), "41");
        assert_eq!(short_run("2026-17-ab12"), "2026-17-ab12");
        assert_eq!(
            short_run("20261129-174101-ab12-x"),
            "20261129-174101-ab12-x"
        );
    }

    #[test]
    fn the_lease_is_told_until_its_run_is_on_the_gpu() {
        let id = "20261129-174101-ab12";
        let mut gpu = Gpu::new(0, "GPU-0".into(), "H200".into(), Fixed::default());
        assert!(words(&gpu).is_empty(), "nothing is known");
        gpu.lease = held(id);
        assert_eq!(words(&gpu), ["leased: run ab12"]);
        assert!(!gpu.free());
        gpu.processes = Reading::Value(Vec::new());
        assert_eq!(words(&gpu), ["leased: run ab12"]);
        // somebody else is on it: both are told
        gpu.processes = Reading::Value(vec![process(7, None, None)]);
        assert_eq!(words(&gpu), ["leased: run ab12", "python (7)"]);
        gpu.processes = Reading::Value(vec![
            process(8, Some(id), Some(0)),
            process(9, Some(id), Some(0)),
            process(10, Some(id), Some(1)),
        ]);
        assert_eq!(words(&gpu), ["run ab12 rank 0", "run ab12 rank 1"]);
        gpu.processes = Reading::Value(Vec::new());
        gpu.lease = Reading::Value(GpuLease::Stale {
            run: id.into(),
            user: "me".into(),
        });
        assert_eq!(words(&gpu), ["stale lease: run ab12"]);
        assert!(gpu.free());
        gpu.lease = Reading::Value(GpuLease::Free);
        assert_eq!(words(&gpu), ["free"]);
        assert!(gpu.free());
        gpu.processes = Reading::Value(vec![process(7, None, None)]);
        assert!(!gpu.free());
    }

    #[test]
    fn a_process_of_another_name_space_is_a_number() {
        let mut far = process(123, None, None);
        far.command = Reading::Unsupported;
        assert_eq!(far.who(), "pid 123 other namespace");
        assert_eq!(far.owner(), "other namespace");
        far.command = Reading::NoPermission;
        assert_eq!(far.who(), "pid 123");
        assert_eq!(far.owner(), "other");
        far.container = Some("3f2a3f2a3f2a".into());
        assert_eq!(far.owner(), "container 3f2a3f2a3f2a");
        far.run = Some("41".into());
        assert_eq!(far.owner(), "run 41");
    }
}
