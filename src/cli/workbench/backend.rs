//! The workbench's seam, over this machine's store.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::catalog::Catalog;
use crate::domain::case::CaseDetail;
use crate::domain::notes::{LineNote, Notes};
use crate::domain::{
    CalibrationChoice, CaseId, CaseResult, GradedCase, Phase, RunId, Source, Stage, Subject, Suite,
    SuiteChoice, Task, Work,
};
use crate::launch;
use crate::pipeline::Comparer;
use crate::report::acceptance::{Matrix, Reader};
use crate::store::{self, Home, Request, RunDir, Summary};
use crate::tui::agent_offer::{AgentOffer, AgentRequest};
use crate::tui::backend::{
    Answer, Backend, BackendError, Change, ChangeKind, Count, FileChange, GradeRequest, Guard,
    JournalChunk, LogChunk, LogInfo, LogKey, RunStatus, RunSummary, ShellCommand, Sink, TaskList,
    TaskProblem, VerifyRequest,
};
use crate::tui::gpu_view::GpuView;
use crate::tui::panes::tasks::status::TaskStanding;
use crate::workspace::{FileStat, Mirrors, Origin};

use super::{agents, judged, logs, machine, watch};

pub struct Store {
    home: Home,
    tasks: PathBuf,
    trees: Comparer,
    cells: Reader,
}

impl Store {
    pub fn new(home: Home, tasks: PathBuf) -> Self {
        Self {
            trees: Comparer::new(home.clone()),
            cells: Reader::new(home.clone()),
            home,
            tasks,
        }
    }

    fn task(&self, id: &str) -> Answer<Task> {
        let catalog = Catalog::open(&self.tasks).map_err(BackendError::new)?;
        catalog.usable(id).map_err(BackendError::new)
    }

    fn summarise(run: &RunDir) -> Answer<RunSummary> {
        let (summary, agent) = agents::summary(run)?;
        let live = summary.status.live();
        let work = summary.work();
        Ok(RunSummary {
            id: summary.run,
            task: summary.task,
            source: summary.source,
            parent: summary.parent,
            only: summary.only,
            created_s: summary.created_s,
            started_s: Some(summary.created_s),
            ended_s: summary
                .duration_s
                .filter(|_| !live)
                .map(|seconds| summary.created_s + seconds),
            status: status(summary.status),
            stage: summary.stage.as_deref().and_then(stage),
            agent,
            engine: summary.engine,
            waits_for_gpus: summary.waits_for_gpus,
            work,
            standing: summary.standing,
            verdict: summary.verdict,
            cause: summary.cause,
            badges: summary.badges,
            official: summary.official.map(count),
            probes: summary.probes.map(count),
            fault: summary.fault,
        })
    }
}

fn count(pair: store::Pair) -> Count {
    Count {
        passed: pair.passed,
        collected: pair.collected,
    }
}

fn status(status: store::RunStatus) -> RunStatus {
    match status {
        store::RunStatus::Queued => RunStatus::Waiting,
        store::RunStatus::Running => RunStatus::Running,
        store::RunStatus::Interrupted => RunStatus::Interrupted,
        store::RunStatus::Cancelled => RunStatus::Cancelled,
        store::RunStatus::Fault | store::RunStatus::Finished => RunStatus::Finished,
    }
}

/// `probes submission`, as the summary writes it.
fn stage(words: &str) -> Option<(Stage, Subject)> {
    let (stage, subject) = words.split_once(' ')?;
    let subject = [Subject::Gold, Subject::Submission]
        .into_iter()
        .find(|s| s.name() == subject)?;
    let stage = Stage::ALL.into_iter().find(|s| s.name() == stage)?;
    Some((stage, subject))
}

impl Backend for Store {
    fn label(&self) -> String {
        format!("home {}", self.home.root().display())
    }

    fn tasks(&self) -> Answer<TaskList> {
        self.trees.forget();
        let mut list = TaskList {
            dir: self.tasks.clone(),
            ..TaskList::default()
        };
        // a folder without tasks is said in the pane, not as an error
        if !self.tasks.is_dir() {
            return Ok(list);
        }
        let catalog = Catalog::open(&self.tasks).map_err(BackendError::new)?;
        let mirrors = Mirrors::from_env(Some(self.home.mirrors()));
        for loaded in catalog.load_all().map_err(BackendError::new)? {
            let broken = loaded.broken();
            match loaded.task {
                Some(task) if !broken => {
                    let origin = Origin::of(&task, &mirrors);
                    if let Some(words) = origin.and_then(|o| o.missing()) {
                        list.missing.insert(task.id().into(), words);
                    }
                    list.tasks.push(Arc::new(task));
                }
                _ => {
                    let problems: Vec<String> =
                        loaded.problems.iter().map(ToString::to_string).collect();
                    list.problems.push(TaskProblem {
                        id: loaded.id,
                        message: problems.join("\n"),
                    });
                }
            }
        }
        Ok(list)
    }

    fn standings(&self) -> Answer<BTreeMap<String, TaskStanding>> {
        judged::standings(&self.tasks)
    }

    fn runs(&self) -> Answer<Vec<RunSummary>> {
        let runs = self.home.list().map_err(BackendError::new)?;
        // a broken run does not hide the others
        Ok(runs
            .iter()
            .filter_map(|run| Self::summarise(run).ok())
            .collect())
    }

    fn run(&self, run: &RunId) -> Answer<Option<RunSummary>> {
        let run = self.home.run(run);
        if !run.manifest_path().exists() {
            return Ok(None);
        }
        Self::summarise(&run).map(Some)
    }

    fn journal(&self, run: &RunId, from: u64) -> Answer<JournalChunk> {
        let run = self.home.run(run);
        let mut chunk = logs::journal(&run.journal_path(), from)?;
        // a held lock tells without folding the whole journal for each new line of it
        chunk.status = if store::Lock::is_held(&run.lock_path()) {
            RunStatus::Running
        } else {
            status(Summary::of(&run).map_err(BackendError::new)?.status)
        };
        Ok(chunk)
    }

    fn calibration(&self, key: &str) -> Answer<Vec<(Suite, CaseResult)>> {
        let found = store::kept_calibration(&self.home, key).map_err(BackendError::new)?;
        let mut results = Vec::new();
        for (suite, calibrated) in found.map(|c| c.suites).unwrap_or_default() {
            results.extend(calibrated.cases.into_iter().map(|case| {
                let result = CaseResult {
                    id: case.id,
                    outcome: case.outcome,
                    phase: Phase::Call,
                    duration_s: case.duration_s,
                    ranks: Vec::new(),
                    message: None,
                    detail_offset: None,
                };
                (suite, result)
            }));
        }
        Ok(results)
    }

    fn acceptance(&self, task: &str, runs: &[RunId]) -> Answer<Box<Matrix>> {
        let task = self.task(task)?;
        let matrix = self.cells.matrix(&task, runs);
        matrix.map(Box::new).map_err(BackendError::new)
    }

    fn cell_detail(&self, key: &str, case: &CaseId) -> Answer<Option<CaseDetail>> {
        Ok(self.cells.detail(key, case.as_str()))
    }

    fn verify(&self, request: &VerifyRequest) -> Answer<RunId> {
        let task = self.task(&request.task)?;
        let order = launch::Order {
            source: Source::Gold,
            work: Work::Verify {
                runs: request.runs,
                again: request.again.clone(),
                watch_s: None,
            },
            agent: None,
            suites: SuiteChoice::All,
            engine: request.engine,
            ranks: None,
            only: Vec::new(),
            calibration: CalibrationChoice::Auto,
            parent: None,
        };
        let run = launch::start(&self.home, &task, order).map_err(BackendError::new)?;
        Ok(run.id())
    }

    fn grade(&self, request: &GradeRequest) -> Answer<RunId> {
        let task = self.task(&request.task)?;
        // cases that are run again run on as many ranks as they did
        let parent = request.parent.as_ref().map(|p| self.home.run(p).manifest());
        let ranks = match parent {
            Some(manifest) => manifest.map_err(BackendError::new)?.ranks,
            None => None,
        };
        let order = launch::Order {
            source: request.source.clone(),
            work: Work::Grade,
            agent: None,
            suites: request.suites,
            engine: request.engine,
            calibration: CalibrationChoice::Auto,
            ranks,
            only: request.only.clone(),
            parent: request.parent.clone(),
        };
        let run = launch::start(&self.home, &task, order).map_err(BackendError::new)?;
        Ok(run.id())
    }

    fn agents(&self, task: &str) -> Answer<AgentOffer> {
        agents::offer(&self.home, &self.task(task)?)
    }

    fn run_agent(&self, request: &AgentRequest) -> Answer<RunId> {
        agents::start(&self.home, &self.task(&request.task)?, request)
    }

    fn cancel(&self, run: &RunId) -> Answer<()> {
        let run = self.home.run(run);
        run.request(Request::Cancel).map_err(BackendError::new)
    }

    fn shell(&self, words: &[String]) -> ShellCommand {
        let (home, tasks) = (self.home.root(), &self.tasks);
        let mut arguments = vec!["--home".into(), home.display().to_string()];
        arguments.extend(["--tasks".into(), tasks.display().to_string()]);
        arguments.push("shell".into());
        arguments.extend(words.iter().cloned());
        ShellCommand {
            program: std::env::current_exe().unwrap_or_else(|_| "infradev".into()),
            arguments,
            line: crate::cli::output::safe(&crate::cli::shell::line(home, tasks, words)),
        }
    }

    fn changes(&self, task: &str, left: &Source, right: &Source) -> Answer<Vec<FileChange>> {
        for source in [left, right] {
            agents::left_a_patch(&self.home, source)?;
        }
        let task = self.task(task)?;
        let files = self
            .trees
            .changes(&task, left, right)
            .map_err(BackendError::new)?;
        Ok(files.iter().map(change).collect())
    }

    fn file(&self, task: &str, source: &Source, path: &str) -> Answer<Option<Vec<u8>>> {
        let task = self.task(task)?;
        self.trees
            .file(&task, source, path.as_bytes())
            .map_err(BackendError::new)
    }

    fn files(&self, task: &str, source: &Source, paths: &[String]) -> Answer<Vec<Option<Vec<u8>>>> {
        let task = self.task(task)?;
        self.trees
            .files(&task, source, paths)
            .map_err(BackendError::new)
    }

    fn notes(&self, run: &RunId) -> Answer<Notes> {
        store::notes_of(&self.home.run(run)).map_err(BackendError::new)
    }

    fn keep_note(&self, run: &RunId, note: &LineNote) -> Answer<Notes> {
        let by = crate::cli::context::user();
        let note = LineNote { by, ..note.clone() };
        store::put_note(&self.home.run(run), note).map_err(BackendError::new)
    }

    fn test_file(&self, task: &str, suite: Suite, path: &str) -> Answer<Option<Vec<u8>>> {
        let task = self.task(task)?;
        self.trees
            .test_file(&task, suite, path)
            .map_err(BackendError::new)
    }

    fn outcomes(&self, run: &RunId) -> Answer<Vec<GradedCase>> {
        judged::outcomes(&self.home.run(run))
    }

    fn case_detail(
        &self,
        run: &RunId,
        subject: Subject,
        suite: Suite,
        result: &CaseResult,
    ) -> Answer<Option<CaseDetail>> {
        let path = self.home.run(run).cases_path(subject, suite);
        logs::case_detail(&path, result)
    }

    fn agent_log(&self, log: &LogKey) -> Answer<Option<LogInfo>> {
        match log {
            LogKey::Agent { task, submission } => {
                let task = self.task(task)?;
                task.submission(submission)
                    .map_or(Ok(None), agents::recorded)
            }
            LogKey::Run { run } => Ok(agents::kept(&self.home.run(run))),
            _ => Ok(None),
        }
    }

    fn outputs(&self, run: &RunId) -> Answer<Vec<LogKey>> {
        logs::outputs(&self.home.run(run))
    }

    fn read_log(&self, log: &LogKey, from: u64, max: usize) -> Answer<LogChunk> {
        let path = match log {
            LogKey::Agent { task, submission } => {
                let task = self.task(task)?;
                task.submission(submission)
                    .and_then(crate::domain::Submission::log_path)
                    .ok_or_else(|| BackendError::new("the submission has no log"))?
            }
            LogKey::Output {
                run,
                subject,
                suite,
                rank,
            } => logs::output_path(&self.home.run(run), *subject, *suite, *rank),
            LogKey::Run { run } => self.home.run(run).agent_log_path(),
            LogKey::Times { run } => self.home.run(run).agent_times_path(),
            LogKey::Attempt { run, attempt } => self.home.run(run).earlier_log_path(*attempt),
            LogKey::AttemptTimes { run, attempt } => {
                self.home.run(run).earlier_times_path(*attempt)
            }
            LogKey::Beside { run, name } => logs::beside_path(&self.home.run(run), name)
                .ok_or_else(|| BackendError::new("no file that an agent leaves has that name"))?,
        };
        logs::read(&path, from, max)
    }

    fn watch(&self, sink: Sink<Change>) -> Answer<Guard> {
        watch::start(&self.home, &self.tasks, sink)
    }

    fn sample(&self, sink: Sink<GpuView>) -> Answer<Guard> {
        Ok(machine::sample(&self.home, sink))
    }
}

pub fn place(path: &Path, error: &std::io::Error) -> BackendError {
    BackendError::new(format!("{}: {error}", path.display()))
}

fn change(file: &FileStat) -> FileChange {
    use crate::diff::patch::Change as Kind;
    FileChange {
        path: String::from_utf8_lossy(&file.path).into_owned(),
        old_path: None,
        kind: match file.change {
            Kind::Add => ChangeKind::Added,
            Kind::Delete => ChangeKind::Deleted,
            _ if file.modes.is_some() && file.added + file.removed == 0 && !file.binary => {
                ChangeKind::Mode
            }
            _ => ChangeKind::Modified,
        },
        added: file.added,
        deleted: file.removed,
        binary: file.binary,
        modes: file.modes,
    }
}
