//! What the tests share: an environment provisioned as the product does it, a work tree, a run.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use infradev::domain::case::CaseDetail;
use infradev::domain::task::{EnvironmentKind, EnvironmentSpec};
use infradev::domain::{
    CaseId, CaseResult, Discrepancy, DiscrepancyKind, Event, Outcome, Subject, Suite,
};
use infradev::engine::local::LocalOptions;
use infradev::engine::{Access, EngineError, Limits, Mount, Network, Sandbox, SandboxSpec, User};
use infradev::environment::{Environment, Request, prepare};
use infradev::pipeline::suite::{
    Sandboxes, SuiteError, SuiteOutcome, SuiteRun, install_reporter, reporter_mount, run_suite,
};
use tempfile::TempDir;

/// What a limit may be overrun by.
pub const GRACE: Duration = Duration::from_secs(5);

/// Built once under `target/`, reused by every test and every later run.
pub fn environment() -> &'static Environment {
    static BUILT: OnceLock<Environment> = OnceLock::new();
    BUILT.get_or_init(|| {
        let spec = EnvironmentSpec {
            kind: EnvironmentKind::Uv,
            requirements: Some("requirements.lock".into()),
            python: None,
            image: None,
            pythonpath: vec![".".into()],
            env: BTreeMap::new(),
            data: Vec::new(),
        };
        let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures");
        let home = Path::new(env!("CARGO_TARGET_TMPDIR")).join("home");
        prepare(&Request::new(spec, &fixtures, &home), &|_| {}).unwrap()
    })
}

/// A work tree and how its suite is run.
pub struct House {
    pub scratch: TempDir,
    pub run: SuiteRun,
    pub limits: Limits,
}

pub struct Local<'a> {
    pub house: &'a House,
}

impl Sandboxes for Local<'_> {
    async fn start(&mut self) -> Result<Sandbox, EngineError> {
        let reporter = self.house.path("reporter");
        install_reporter(&reporter).unwrap();
        let environment = environment();
        let mut mounts = environment.mounts.clone();
        mounts.push(reporter_mount(&reporter));
        mounts.push(Mount {
            source: self.house.path("project"),
            target: "/project".into(),
            access: Access::ReadWrite,
        });
        let spec = SandboxSpec {
            label: "suite test".into(),
            mounts,
            env: environment.env.clone(),
            limits: self.house.limits,
            network: Network::Loopback,
            devices: Vec::new(),
            image: None,
            gpus: Vec::new(),
            user: User::default(),
        };
        let options = LocalOptions {
            binary: Some(env!("CARGO_BIN_EXE_infradev").into()),
            ..LocalOptions::default()
        };
        Sandbox::start_local_with(spec, self.house.scratch.path(), &options).await
    }
}

pub fn block_on<T>(work: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(work)
}

/// What came of a run, with the events that told of it and the time that it took.
#[derive(Debug)]
pub struct Ran {
    pub outcome: SuiteOutcome,
    pub events: Vec<(Instant, Event)>,
    pub took: Duration,
}

impl House {
    /// A work tree with these files below `tests/`, or anywhere when the name holds a slash.
    pub fn new(files: &[(&str, &str)]) -> Self {
        let scratch = TempDir::new_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        let project = scratch.path().join("project");
        for (name, text) in files {
            let path = if name.contains('/') {
                project.join(name.trim_start_matches("./"))
            } else {
                project.join("tests").join(name)
            };
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        std::fs::create_dir_all(project.join("tests")).unwrap();
        let run = SuiteRun {
            subject: Subject::Submission,
            suite: Suite::Official,
            python: environment().python.clone(),
            worktree: "/project".into(),
            pythonpath: vec![".".into()],
            paths: vec!["tests".into()],
            args: Vec::new(),
            ranks: 1,
            env: BTreeMap::new(),
            expected: None,
            only: None,
            limit: Duration::from_secs(60),
            case_limit: Duration::from_secs(20),
            collect_limit: Duration::from_secs(20),
            record: Some(scratch.path().join("run")),
            output_bytes: 1 << 20,
        };
        let limits = Limits {
            wall: Duration::from_secs(120),
            memory_bytes: 1 << 30,
            processes: 128,
            file_bytes: 512 << 20,
            output_bytes: 1 << 20,
            scratch_bytes: 512 << 20,
            shm_bytes: 64 << 20,
            cpus: None,
        };
        Self {
            scratch,
            run,
            limits,
        }
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.scratch.path().join(name)
    }

    pub fn ranks(mut self, ranks: u32) -> Self {
        self.run.ranks = ranks;
        self
    }

    pub fn case_limit(mut self, seconds: f64) -> Self {
        self.run.case_limit = Duration::from_secs_f64(seconds);
        self
    }

    pub fn expect(mut self, ids: &[&str]) -> Self {
        self.run.expected = Some(ids.iter().map(|i| CaseId((*i).into())).collect());
        self
    }

    #[track_caller]
    pub fn run(&self) -> Ran {
        self.try_run().unwrap()
    }

    pub fn try_run(&self) -> Result<Ran, SuiteError> {
        environment();
        let start = Instant::now();
        let mut events = Vec::new();
        let outcome = block_on(run_suite(&mut Local { house: self }, &self.run, |event| {
            events.push((Instant::now(), event));
        }))?;
        Ok(Ran {
            outcome,
            events,
            took: start.elapsed(),
        })
    }

    /// What a rank printed.
    pub fn output(&self, rank: u32) -> String {
        let path = self.path(&format!("run/output/submission-official-{rank}.log"));
        String::from_utf8_lossy(&std::fs::read(path).unwrap()).into_owned()
    }

    /// The stories of what could not be collected.
    pub fn detail_of_collection(&self) -> String {
        std::fs::read_to_string(self.path("run/cases/submission-official.jsonl")).unwrap()
    }

    /// The long story of a case.
    pub fn detail(&self, result: &CaseResult) -> CaseDetail {
        let text = std::fs::read(self.path("run/cases/submission-official.jsonl")).unwrap();
        let at = usize::try_from(result.detail_offset.expect("a detail")).unwrap();
        let line = text[at..].split(|b| *b == b'\n').next().unwrap();
        let detail: CaseDetail = serde_json::from_slice(line).unwrap();
        assert_eq!(detail.id, result.id.0);
        detail
    }
}

impl Ran {
    /// The result of the one case whose id ends so.
    #[track_caller]
    pub fn case(&self, end: &str) -> &CaseResult {
        let found: Vec<_> = self
            .outcome
            .results
            .iter()
            .filter(|r| r.id.0.ends_with(end))
            .collect();
        assert_eq!(found.len(), 1, "{end}: {:#?}", self.outcome.results);
        found[0]
    }

    #[track_caller]
    pub fn message(&self, end: &str) -> &str {
        self.case(end).message.as_deref().unwrap_or_default()
    }

    /// Compares all results, by the last part of their ids, in order.
    #[track_caller]
    pub fn assert(&self, expected: &[(&str, Outcome)]) {
        let got: Vec<(&str, Outcome)> = self
            .outcome
            .results
            .iter()
            .map(|r| (r.id.0.rsplit("::").next().unwrap(), r.outcome))
            .collect();
        assert_eq!(got, expected, "{}", self.story());
        self.assert_events();
    }

    /// The journal tells the same as the outcome.
    #[track_caller]
    pub fn assert_events(&self) {
        let mut last: BTreeMap<&CaseId, &CaseResult> = BTreeMap::new();
        for (_, event) in &self.events {
            if let Event::CaseFinished { result, .. } = event {
                last.insert(&result.id, result);
            }
        }
        assert_eq!(last.len(), self.outcome.results.len(), "{}", self.story());
        for result in &self.outcome.results {
            assert_eq!(last.get(&result.id), Some(&result));
        }
        assert!(matches!(
            self.events.last(),
            Some((_, Event::SuiteFinished { .. }))
        ));
    }

    #[track_caller]
    pub fn within(&self, limit: Duration) {
        assert!(self.took < limit, "took {:?}, {}", self.took, self.story());
    }

    /// From the first start of a case to its result.
    #[track_caller]
    pub fn case_within(&self, end: &str, limit: Duration) {
        let id = &self.case(end).id;
        let begun = self.events.iter().find_map(|(at, event)| match event {
            Event::CaseStarted { id: started, .. } if started == id => Some(*at),
            _ => None,
        });
        let over = self
            .events
            .iter()
            .rev()
            .find_map(|(at, event)| match event {
                Event::CaseFinished { result, .. } if result.id == *id => Some(*at),
                _ => None,
            });
        let took = over.unwrap() - begun.expect("a start");
        assert!(took < limit, "took {took:?}: {}", self.story());
    }

    pub fn kinds(&self) -> Vec<DiscrepancyKind> {
        self.outcome.discrepancies.iter().map(|d| d.kind).collect()
    }

    #[track_caller]
    pub fn no_discrepancy(&self) {
        assert_eq!(self.outcome.discrepancies, Vec::<Discrepancy>::new());
    }

    pub fn story(&self) -> String {
        let mut story = String::new();
        for result in &self.outcome.results {
            let message = result.message.as_deref().unwrap_or_default();
            writeln!(story, "{} {}: {message}", result.id, result.outcome).unwrap();
        }
        for odd in &self.outcome.discrepancies {
            writeln!(story, "{odd:?}").unwrap();
        }
        story
    }
}
