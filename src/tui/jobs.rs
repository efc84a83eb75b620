//! Effects carried out: on the blocking pool, their answers as messages.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use tokio::sync::mpsc;

use crate::domain::{CaseId, RunId, Source, Suite};

use super::backend::{Answer, Backend, FilePair, LogKey};
use super::effect::{Effect, LogWish};
use super::highlight::highlight;
use super::lanes::{LaneId, Lanes};
use super::msg::{Excerpt, LogDelta, Msg};
use super::panes::diff::state::DiffFile;
use super::panes::{cell, diff};
use super::reading::{Reading, read_on};

/// Source lines shown on each side of a frame.
const AROUND: u32 = 3;
/// Source lines of a function at most.
const FUNCTION: u32 = 60;

/// What a worker thread needs.
#[derive(Clone)]
struct Shared {
    backend: Arc<dyn Backend>,
    reading: Arc<Mutex<Option<Reading>>>,
}

pub struct Jobs {
    shared: Shared,
    answers: mpsc::UnboundedSender<(Option<LaneId>, Msg)>,
    lanes: Lanes,
    /// Tickets of the files whose colours are still wanted: the diff's, a cell's.
    newest: [Arc<AtomicU64>; 2],
}

pub type Answers = mpsc::UnboundedReceiver<(Option<LaneId>, Msg)>;

impl Jobs {
    pub fn new(backend: Arc<dyn Backend>) -> (Self, Answers) {
        let (answers, receiver) = mpsc::unbounded_channel();
        let jobs = Self {
            shared: Shared {
                backend,
                reading: Arc::default(),
            },
            answers,
            lanes: Lanes::default(),
            newest: Default::default(),
        };
        (jobs, receiver)
    }

    /// Starts a request, or lets it wait for its lane.
    pub fn start(&mut self, effect: Effect) {
        if let Effect::Highlight(wanted) = effect {
            let [diff, cell] = &self.newest;
            let newest = Arc::clone(if wanted.side == cell::state::SIDE {
                cell
            } else {
                diff
            });
            newest.store(wanted.ticket, Ordering::Relaxed);
            let answers = self.answers.clone();
            tokio::task::spawn_blocking(move || {
                highlight(&wanted, &newest, |piece| {
                    let _ = answers.send((None, Msg::Colours(piece)));
                });
            });
            return;
        }
        let Some((lane, effect)) = self.lanes.enter(effect) else {
            return;
        };
        let shared = self.shared.clone();
        let answers = self.answers.clone();
        tokio::task::spawn_blocking(move || {
            // a panic in a job costs that job: its lane is freed, and the footer says so
            let job = std::panic::AssertUnwindSafe(|| shared.carry_out(effect));
            let msg = std::panic::catch_unwind(job)
                .unwrap_or_else(|_| Msg::Toast("a job of the workbench failed".into()));
            // the receiver is gone when the workbench ends: nobody waits then
            let _ = answers.send((lane, msg));
        });
    }

    /// A request of this lane ended: the one that waited begins.
    pub fn ended(&mut self, lane: Option<LaneId>) {
        if let Some(waiting) = lane.and_then(|lane| self.lanes.leave(lane)) {
            self.start(waiting);
        }
    }
}

impl Shared {
    fn carry_out(&self, effect: Effect) -> Msg {
        let backend = &*self.backend;
        match effect {
            Effect::LoadTasks => Msg::Tasks(backend.tasks()),
            Effect::LoadRuns => Msg::Runs(backend.runs()),
            Effect::LoadStandings => Msg::Standings(backend.standings()),
            Effect::LoadRun(run) => {
                let answer = backend.run(&run);
                Msg::Run(run, answer)
            }
            Effect::LoadJournal { run, from } => {
                let answer = backend.journal(&run, from);
                Msg::Journal(run, answer)
            }
            Effect::LoadCalibration { run, key } => {
                Msg::Calibration(run, backend.calibration(&key))
            }
            Effect::Grade(request) => {
                let answer = backend.grade(&request);
                Msg::Started(request, answer)
            }
            Effect::LoadAgents(task) => {
                let answer = backend.agents(&task);
                Msg::Agents(task, answer)
            }
            Effect::RunAgent(request) => {
                let answer = backend.run_agent(&request);
                Msg::AgentStarted(request, answer)
            }
            Effect::Cancel(run) => {
                let answer = backend.cancel(&run);
                Msg::Cancelled(run, answer)
            }
            Effect::LoadChanges(comparison) => {
                let answer = diff::load::list(backend, &comparison);
                Msg::Changes(comparison, answer)
            }
            Effect::ShowPart {
                comparison,
                trees,
                entry,
                options,
            } => {
                let file = DiffFile::of_part(&trees, &entry, options);
                Msg::File(comparison, entry.key(), Ok(Box::new(file)))
            }
            Effect::LoadNotes(run) => {
                let answer = backend.notes(&run);
                Msg::Notes(run, answer)
            }
            Effect::KeepNote(run, note) => {
                let answer = backend.keep_note(&run, &note);
                Msg::Notes(run, answer)
            }
            Effect::LoadFile {
                comparison,
                path,
                old_path,
                modes,
                options,
            } => {
                let left_path = old_path.as_deref().unwrap_or(&path);
                let answer = backend
                    .file(&comparison.task, &comparison.left, left_path)
                    .and_then(|left| {
                        let right = backend.file(&comparison.task, &comparison.right, &path)?;
                        let pair = FilePair { left, right };
                        Ok(Box::new(DiffFile::with(pair, options, modes)))
                    });
                Msg::File(comparison, path, answer)
            }
            Effect::LoadDetail {
                run,
                subject,
                suite,
                result,
            } => {
                let answer = backend.case_detail(&run, subject, suite, &result);
                Msg::Detail(run, suite, result.id, answer)
            }
            Effect::LoadExcerpt {
                task,
                tree,
                suite,
                case,
                frame,
                path,
                line,
            } => {
                let answer = self.excerpt((&task, &tree), suite, &case, &path, line);
                Msg::Excerpt(case, frame, answer)
            }
            Effect::LoadOutcomes(runs) => {
                let cases = |run: &RunId| backend.outcomes(run);
                let all = runs.into_iter().map(|run| (cases(&run), run));
                Msg::Outcomes(all.map(|(cases, run)| (run, cases)).collect())
            }
            Effect::LoadAcceptance { task, runs } => {
                let answer = backend.acceptance(&task, &runs);
                Msg::Acceptance(task, answer)
            }
            Effect::LoadCellDetail { key, case } => {
                let answer = backend.cell_detail(&key, &case);
                Msg::CellDetail(key, case, answer)
            }
            Effect::LoadSource {
                task,
                suite,
                tree,
                path,
            } => {
                let answer = self.source(&task, suite, &tree, &path);
                Msg::Source(path, answer)
            }
            Effect::Verify(request) => {
                let answer = backend.verify(&request);
                Msg::VerifyStarted(request, answer)
            }
            Effect::FindAgentLog(key) => {
                let answer = backend.agent_log(&key);
                Msg::AgentLog(key, answer)
            }
            Effect::LoadOutputs(run) => {
                let answer = backend.outputs(&run);
                Msg::Outputs(run, answer)
            }
            Effect::ReadLog(wish) => {
                let answer = self.read_log(&wish);
                Msg::Log(wish.key, answer)
            }
            Effect::ScanLog(scan) => Msg::LogScanned(scan.run()),
            // the loop's own
            Effect::Highlight(_)
            | Effect::Edit(_)
            | Effect::Shell(_)
            | Effect::TellShell(_)
            | Effect::Repaint
            | Effect::Copy(_)
            | Effect::Save { .. }
            | Effect::Suspend
            | Effect::Quit => Msg::Tick,
        }
    }

    /// Tests first: their files may stand in the patched tree as well, and are replaced.
    fn source(
        &self,
        task: &str,
        suite: Suite,
        tree: &Source,
        path: &str,
    ) -> Answer<Option<Vec<u8>>> {
        match self.backend.test_file(task, suite, path)? {
            Some(bytes) => Ok(Some(bytes)),
            None => self.backend.file(task, tree, path),
        }
    }

    fn excerpt(
        &self,
        (task, tree): (&str, &Source),
        suite: Suite,
        case: &CaseId,
        path: &str,
        line: u32,
    ) -> Answer<Option<Excerpt>> {
        let bytes = self.source(task, suite, tree, path)?;
        Ok(bytes.and_then(|bytes| {
            let (from, count) = if line > 0 {
                let from = line.saturating_sub(AROUND).max(1);
                (from, (line + AROUND + 1).saturating_sub(from))
            } else {
                let text = cell::state::SourceText::new(path.to_owned(), bytes.clone());
                let name = case.function().rsplit("::").next()?;
                (u32::try_from(text.definition(name)?).ok()?, FUNCTION)
            };
            let text = String::from_utf8_lossy(&bytes);
            let lines: Vec<&str> = text.lines().skip(from as usize - 1).collect();
            let mut lines = lines.get(..count as usize).unwrap_or(&lines).to_vec();
            if line == 0 {
                // up to what stands no deeper than the function itself
                let depth = |l: &str| l.len() - l.trim_start().len();
                let own = lines.first().map_or(0, |l| depth(l));
                let next = |l: &&str| {
                    !l.trim().is_empty() && depth(l) <= own && !l.trim().starts_with(')')
                };
                let end = lines.iter().skip(1).position(next);
                lines.truncate(end.map_or(lines.len(), |end| end + 1));
            }
            Some(Excerpt {
                path: path.to_owned(),
                from,
                lines: lines.into_iter().map(str::to_owned).collect(),
            })
        }))
    }

    fn read_log(&self, wish: &LogWish) -> Answer<LogDelta> {
        let Ok(mut slot) = self.reading.lock() else {
            return Err(super::backend::BackendError::new("the log reader failed"));
        };
        let read = |key: &LogKey, from, max| self.backend.read_log(key, from, max);
        read_on(&mut slot, &read, wish)
    }
}
