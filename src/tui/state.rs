//! Everything that the workbench knows. Changed only by [`super::update`], shown by
//! [`super::draw`]; no I/O and no clock of its own.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use crate::domain::{CaseId, CaseResult, Record, RunId, Source, Subject, Suite, Task};

use crate::domain::run_state::RunState;

use super::agent_offer::AgentRequest;
use super::backend::{JournalChunk, RunStatus, RunSummary, TaskProblem};
use super::caps::{Caps, Depth};
use super::effect::Effect;
use super::glyphs::{ASCII, Glyphs, UNICODE};
use super::layout::{self, LayoutKind, PaneKind, Plan, Wish};
use super::overlays::Overlay;
use super::panes::cases::CasesState;
use super::panes::diff::DiffState;
use super::panes::gpu::GpuState;
use super::panes::log::LogState;
use super::panes::tasks::TasksState;
use super::theme::Theme;

/// How long the sampler goes on after the last key.
pub const SAMPLER_IDLE_S: f64 = 10.0;

/// What is compared: two solutions of a task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Comparison {
    pub task: String,
    pub left: Source,
    pub right: Source,
}

/// What the panes look at, as the tree's selection says.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Target {
    pub task: Option<String>,
    pub source: Option<Source>,
    pub run: Option<RunId>,
}

/// A run whose journal is followed.
#[derive(Clone, Debug)]
pub struct OpenRun {
    pub id: RunId,
    pub state: RunState,
    pub status: RunStatus,
    /// Byte offset of what was not read yet.
    pub next: u64,
    /// The first answer has come.
    pub loaded: bool,
    /// A read is on its way; `again`: the journal grew meanwhile.
    pub reading: bool,
    pub again: bool,
    /// Gold's outcomes from a calibration on record.
    pub gold: HashMap<(Suite, CaseId), CaseResult>,
    /// In the order of collection.
    pub gold_order: Vec<(Suite, CaseId)>,
    pub error: Option<String>,
}

impl OpenRun {
    pub fn new(id: RunId) -> Self {
        Self {
            id,
            state: RunState::default(),
            status: RunStatus::Waiting,
            next: 0,
            loaded: false,
            reading: false,
            again: false,
            gold: HashMap::new(),
            gold_order: Vec::new(),
            error: None,
        }
    }

    /// Folds a piece of the journal in; returns the keys of calibrations it speaks of.
    pub fn take(&mut self, chunk: &JournalChunk) -> Vec<String> {
        if chunk.restarted {
            self.state = RunState::default();
        }
        let mut keys = Vec::new();
        for record in &chunk.records {
            self.state.apply(record);
            if let Record {
                event: crate::domain::Event::Calibrated { key, .. },
                ..
            } = record
            {
                keys.push(key.clone());
            }
        }
        self.next = chunk.next;
        self.status = chunk.status;
        if self.state.finished() && self.status.live() {
            // the worker is about to leave
            self.status = if self.state.cancelled {
                RunStatus::Cancelled
            } else {
                RunStatus::Finished
            };
        }
        self.loaded = true;
        keys
    }

    /// Takes gold's outcomes from a calibration on record.
    pub fn learn_gold(&mut self, results: &[(Suite, CaseResult)]) {
        for (suite, result) in results {
            let key = (*suite, result.id.clone());
            if self.gold.insert(key.clone(), result.clone()).is_none() {
                self.gold_order.push(key);
            }
        }
    }

    /// The outcome of a case on a subject; gold's may come from the calibration or the grade.
    pub fn result(&self, subject: Subject, suite: Suite, id: &CaseId) -> Option<&CaseResult> {
        let own = self
            .state
            .suite(subject, suite)
            .and_then(|s| s.results.get(id));
        match (own, subject) {
            (Some(result), _) => Some(result),
            (None, Subject::Gold) => self.gold.get(&(suite, id.clone())),
            (None, Subject::Submission) => None,
        }
    }
}

/// What never changes while the workbench runs.
#[derive(Clone, Debug)]
pub struct Ui {
    pub theme: Theme,
    pub glyphs: Glyphs,
    pub depth: Depth,
    /// Seconds east of Greenwich, for times of day.
    pub utc_offset_s: i32,
    /// The header's phrase about home and engine.
    pub label: String,
}

impl Ui {
    pub fn new(theme: Theme, caps: Caps, utc_offset_s: i32, label: String) -> Self {
        Self {
            theme,
            glyphs: if caps.unicode { UNICODE } else { ASCII },
            depth: caps.depth,
            utc_offset_s,
            label,
        }
    }
}

/// A short message in the footer.
#[derive(Clone, Debug, PartialEq)]
pub struct Toast {
    pub text: String,
    pub bad: bool,
    /// When it goes by itself.
    pub until_s: f64,
}

/// The whole state.
pub struct App {
    pub ui: Ui,
    pub size: (u16, u16),
    /// Seconds since the epoch, as the loop last said.
    pub now_s: f64,
    pub last_key_s: f64,
    /// When runs were last asked whether their workers live.
    pub liveness_s: f64,
    pub layout: LayoutKind,
    pub focus: PaneKind,
    /// The pane shown beside the tasks while they have the focus.
    pub beside: PaneKind,
    pub zoom: bool,

    pub tasks_loaded: bool,
    pub tasks: Vec<Arc<Task>>,
    pub problems: Vec<TaskProblem>,
    /// By task, in two words: its repository is not on this machine.
    pub missing: BTreeMap<String, &'static str>,
    /// Newest first.
    pub runs: Vec<RunSummary>,
    pub runs_loaded: bool,

    pub target: Target,
    pub open: Option<OpenRun>,
    /// The newest rerun of cases of the open run.
    pub rerun: Option<OpenRun>,

    pub tree: TasksState,
    pub log: LogState,
    pub diff: DiffState,
    pub cases: CasesState,
    pub gpu: GpuState,

    pub overlay: Option<Overlay>,
    /// The agent that was started last.
    pub last_agent: Option<AgentRequest>,
    pub toast: Option<Toast>,
    /// Something that is seen changed since the last draw.
    pub dirty: bool,
    pub(super) effects: Vec<Effect>,
}

impl App {
    pub fn new(ui: Ui, size: (u16, u16), now_s: f64) -> Self {
        Self {
            ui,
            size,
            now_s,
            // two samples at the start, so that the pane is not empty
            last_key_s: now_s - SAMPLER_IDLE_S + 2.0,
            liveness_s: now_s,
            layout: LayoutKind::default(),
            focus: PaneKind::Tasks,
            beside: PaneKind::Diff,
            zoom: false,
            tasks_loaded: false,
            tasks: Vec::new(),
            problems: Vec::new(),
            missing: BTreeMap::new(),
            runs: Vec::new(),
            runs_loaded: false,
            target: Target::default(),
            open: None,
            rerun: None,
            tree: TasksState::default(),
            log: LogState::default(),
            diff: DiffState::default(),
            cases: CasesState::default(),
            gpu: GpuState::default(),
            overlay: None,
            last_agent: None,
            toast: None,
            dirty: true,
            effects: Vec::new(),
        }
    }

    /// What to do at the start.
    pub fn first_effects() -> Vec<Effect> {
        vec![Effect::LoadTasks, Effect::LoadRuns]
    }

    pub fn plan(&self) -> Plan {
        let (width, height) = self.size;
        layout::plan(
            ratatui::layout::Rect::new(0, 0, width, height),
            Wish {
                layout: self.layout,
                focus: self.focus,
                beside: self.beside,
                zoom: self.zoom,
            },
        )
    }

    /// Marks the screen dirty where the pane is on it.
    pub fn touch(&mut self, pane: PaneKind) {
        if !self.dirty && self.plan().shows(pane) {
            self.dirty = true;
        }
    }

    pub fn task(&self, id: &str) -> Option<&Arc<Task>> {
        self.tasks.iter().find(|task| task.id() == id)
    }

    pub fn summary(&self, run: &RunId) -> Option<&RunSummary> {
        self.runs.iter().find(|summary| summary.id == *run)
    }

    /// The run that is shown, or its rerun, where a worker still holds it.
    pub fn live_run(&self) -> Option<&RunSummary> {
        [self.rerun.as_ref(), self.open.as_ref()]
            .into_iter()
            .flatten()
            .filter_map(|run| self.summary(&run.id))
            .find(|summary| summary.status.live())
    }

    pub fn any_live(&self) -> bool {
        self.runs.iter().any(|summary| summary.status.live())
    }

    /// Whether elapsed times are on the screen and grow.
    pub fn wants_tick(&self) -> bool {
        self.any_live()
            && layout::size_class(self.size.0, self.size.1) != layout::SizeClass::TooSmall
    }

    /// Whether GPUs and the machine should be sampled now.
    pub fn wants_samples(&self) -> bool {
        self.any_live() || self.now_s - self.last_key_s < SAMPLER_IDLE_S
    }

    /// The comparison that the diff pane shows, as far as one is selected.
    pub fn comparison(&self) -> Option<Comparison> {
        let task = self.target.task.clone()?;
        let right = self.target.source.clone()?;
        let left = match (self.diff.against_base, &right) {
            // gold against itself says nothing
            (true, _) | (false, Source::Gold) => Source::Base,
            (false, _) => Source::Gold,
        };
        Some(Comparison { task, left, right })
    }

    pub fn ask(&mut self, effect: Effect) {
        self.effects.push(effect);
    }

    pub fn say(&mut self, text: impl Into<String>) {
        self.toast = Some(Toast {
            text: text.into(),
            bad: false,
            until_s: self.now_s + 5.0,
        });
        self.dirty = true;
    }

    pub fn complain(&mut self, text: impl Into<String>) {
        self.toast = Some(Toast {
            text: text.into(),
            bad: true,
            until_s: self.now_s + 12.0,
        });
        self.dirty = true;
    }
}
