//! Everything that the workbench knows. Changed only by [`super::update`], shown by
//! [`super::draw`]; no I/O and no clock of its own.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use ratatui::layout::Rect;

use crate::domain::{
    CaseId, CaseResult, EngineChoice, Record, RunId, Source, Subject, Suite, Task, Work,
};

use crate::domain::run_state::RunState;

use super::agent_offer::AgentRequest;
use super::backend::{JournalChunk, RunStatus, RunSummary, TaskProblem};
use super::caps::{Caps, Depth};
use super::config::Config;
use super::effect::Effect;
use super::glyphs::{ASCII, Glyphs, UNICODE};
use super::keymap::{Key, Keymap};
use super::layout::{self, LayoutKind, PaneKind, Plan, Sizes, Wish};
use super::moment::TimeCursor;
use super::overlays::Overlay;
use super::panes::acceptance::AcceptanceState;
use super::panes::cases::CasesState;
use super::panes::cell::CellState;
use super::panes::claims::ClaimsState;
use super::panes::diff::DiffState;
use super::panes::diff::entries::By;
use super::panes::gpu::GpuState;
use super::panes::log::LogState;
use super::panes::tasks::TasksState;
use super::panes::tasks::bulk::Bulk;
use super::panes::tasks::status::TaskStanding;
use super::theme::Theme;

/// How long the sampler goes on after the last key.
pub const SAMPLER_IDLE_S: f64 = 10.0;

/// What is compared: two solutions of a task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Comparison {
    pub task: String,
    pub left: Source,
    pub right: Source,
    /// What is selected; it may stand aside.
    pub subject: Source,
    pub by: By,
}

impl Comparison {
    /// The two changes of base whose touch is marked; `None`: there is only one.
    pub fn marked(&self) -> Option<[&Source; 2]> {
        let pair = match (&self.left, &self.right) {
            (Source::Base, Source::Gold) => [&self.right, &self.subject],
            (Source::Base, right) => [&Source::Gold, right],
            (left, right) => [left, right],
        };
        let two = pair[0] != pair[1] && !pair.contains(&&Source::Base);
        two.then_some(pair)
    }
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
    /// All there are, at the terminal's depth.
    pub themes: Vec<Theme>,
    pub keymap: Keymap,
    pub glyphs: Glyphs,
    pub depth: Depth,
    /// Seconds east of Greenwich, for times of day.
    pub utc_offset_s: i32,
    /// The header's phrase about home and engine.
    pub label: String,
}

impl Ui {
    pub fn new(config: Config, theme: Theme, caps: Caps, label: String) -> Self {
        Self {
            theme,
            themes: config.themes,
            keymap: config.keymap,
            glyphs: if caps.unicode { UNICODE } else { ASCII },
            depth: caps.depth,
            utc_offset_s: 0,
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
    /// How the user shared out the screen, by layout.
    pub sizes: [Sizes; 3],
    /// The mouse is ours, not the terminal's.
    pub mouse: bool,
    /// The user said so.
    pub mouse_chosen: bool,
    pub theme_chosen: bool,
    /// The beginning of a chord.
    pub chord: Vec<Key>,

    pub tasks_loaded: bool,
    pub tasks: Vec<Arc<Task>>,
    pub problems: Vec<TaskProblem>,
    /// By task, in two words: its repository is not on this machine.
    pub missing: BTreeMap<String, &'static str>,
    /// Newest first.
    pub runs: Vec<RunSummary>,
    pub runs_loaded: bool,

    /// By task: how its judge stands.
    pub standings: BTreeMap<String, TaskStanding>,
    pub bulk: Bulk,

    pub target: Target,
    pub open: Option<OpenRun>,
    /// The newest rerun of cases of the open run.
    pub rerun: Option<OpenRun>,

    pub tree: TasksState,
    pub log: LogState,
    /// The moment that the log's cursor stands on.
    pub time: TimeCursor,
    pub diff: DiffState,
    pub cases: CasesState,
    pub gpu: GpuState,
    pub acceptance: AcceptanceState,
    pub claims: ClaimsState,
    pub cell: CellState,

    pub overlay: Option<Overlay>,
    /// Where new runs run.
    pub engine: EngineChoice,
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
            sizes: [Sizes::default(); 3],
            mouse: false,
            mouse_chosen: false,
            theme_chosen: false,
            chord: Vec::new(),
            tasks_loaded: false,
            tasks: Vec::new(),
            problems: Vec::new(),
            missing: BTreeMap::new(),
            runs: Vec::new(),
            runs_loaded: false,
            standings: BTreeMap::new(),
            bulk: Bulk::default(),
            target: Target::default(),
            open: None,
            rerun: None,
            tree: TasksState::default(),
            log: LogState::default(),
            time: TimeCursor::default(),
            diff: DiffState::default(),
            cases: CasesState::default(),
            gpu: GpuState::default(),
            acceptance: AcceptanceState::default(),
            claims: ClaimsState::default(),
            cell: CellState::default(),
            overlay: None,
            engine: EngineChoice::default(),
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

    /// What the layout is made of.
    pub fn wish(&self) -> Wish {
        Wish {
            layout: self.layout,
            focus: self.focus,
            beside: self.beside,
            zoom: self.zoom,
            matrix: self.acceptance.rows_wanted(),
            gpus: self.gpu.rows_wanted(),
            sizes: self.sizes[self.layout as usize],
        }
    }

    /// The whole screen.
    pub fn area(&self) -> Rect {
        Rect::new(0, 0, self.size.0, self.size.1)
    }

    pub fn plan(&self) -> Plan {
        layout::plan(self.area(), self.wish())
    }

    /// Whether text that is pasted has somewhere to go.
    pub fn wants_paste(&self) -> bool {
        match &self.overlay {
            Some(Overlay::Prompt(_) | Overlay::Palette(_)) => true,
            Some(Overlay::Agents(chooser)) => chooser.typing.is_some(),
            Some(Overlay::Help(help)) => help.typing,
            Some(Overlay::ConfirmCancel { .. } | Overlay::Pick(_)) | None => false,
        }
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

    /// The verify run of the selected task that a worker holds.
    pub fn live_verify(&self) -> Option<&RunSummary> {
        let task = self.target.task.as_ref()?;
        self.runs.iter().find(|run| {
            run.status.live() && run.task == *task && matches!(run.work, Work::Verify { .. })
        })
    }

    /// The run that is shown, or its rerun, where a worker still holds it.
    pub fn live_run(&self) -> Option<&RunSummary> {
        if self.focus.author()
            && let Some(run) = self.live_verify()
        {
            return Some(run);
        }
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

    /// Whether GPUs and the machine should be sampled now: while a run lives or GPUs are looked at,
    /// else for a while after a key.
    pub fn wants_samples(&self) -> bool {
        let gpus = self
            .gpu
            .view
            .as_ref()
            .is_some_and(|view| !view.gpus.is_empty());
        self.any_live()
            || (gpus && self.focus == PaneKind::Gpu)
            || self.now_s - self.last_key_s < SAMPLER_IDLE_S
    }

    /// The comparison that the diff pane shows, as far as one is selected.
    pub fn comparison(&self) -> Option<Comparison> {
        let task = self.target.task.as_deref()?;
        let subject = self.target.source.as_ref()?;
        Some(self.diff.wanted(task, subject))
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

    /// As [`Self::complain`], in our own words with the keys of actions in them: `{cancel}`.
    pub fn refuse(&mut self, words: &'static str) {
        let words = self.ui.keymap.fill(words);
        self.complain(words);
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
