//! What is chosen so far, and what a key does to it.

use crossterm::event::KeyCode;

use crate::domain::EngineChoice;
use crate::tui::action::Action;
use crate::tui::agent_offer::{AgentChoice, AgentOffer, AgentRequest, Recording};
use crate::tui::keymap::{Key, Keymap};
use crate::tui::overlays::prompt::{Typed, edit, insert};

/// Limits that `+` and `-` go through, in minutes.
const LIMITS: [f64; 17] = [
    1.0, 2.0, 5.0, 10.0, 15.0, 30.0, 45.0, 60.0, 90.0, 120.0, 150.0, 180.0, 240.0, 300.0, 480.0,
    720.0, 1440.0,
];
/// Lines a second that a recording can be replayed at instead of its own times.
const RATES: [Option<f64>; 3] = [None, Some(20.0), Some(200.0)];
/// Rows that a page key goes.
const PAGE: usize = 5;

const NOTHING_RECORDED: &str =
    "nothing to replay: no submission of this task has a log, and no agent worked on it yet";

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Step {
    #[default]
    Agent,
    /// `replay`: what it replays.
    Recording,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Chooser {
    pub task: String,
    /// Absent until the backend answers.
    pub offer: Option<AgentOffer>,
    pub step: Step,
    /// Indices into the offer.
    pub agent: usize,
    pub variant: usize,
    pub recording: usize,
    pub limit_s: f64,
    /// Index into the rates.
    rate: usize,
    /// Empty: the agent's own.
    pub model: String,
    /// The model is being typed; what it was before.
    pub typing: Option<String>,
    /// It was asked for, and did not begin yet.
    pub starting: bool,
    /// Why it could not be offered or started.
    pub error: Option<String>,
    /// What was run last: the first thing offered.
    last: Option<AgentRequest>,
}

/// What a key asks of the workbench.
#[derive(Clone, Debug, PartialEq)]
pub enum Answered {
    Nothing,
    Close,
    Start(AgentRequest),
}

impl Chooser {
    pub fn new(task: String, last: Option<AgentRequest>) -> Self {
        Self {
            task,
            offer: None,
            step: Step::Agent,
            agent: 0,
            variant: 0,
            recording: 0,
            limit_s: 0.0,
            rate: 0,
            model: String::new(),
            typing: None,
            starting: false,
            error: None,
            last,
        }
    }

    /// Takes what there is to choose from.
    pub fn take(&mut self, offer: AgentOffer) {
        self.limit_s = offer.limit_s;
        self.variant = offer.variant;
        if let Some(last) = &self.last {
            let at = offer.agents.iter().position(|a| a.name == last.agent);
            self.agent = at.unwrap_or(0);
            self.model = last.model.clone().unwrap_or_default();
        }
        self.offer = Some(offer);
    }

    pub fn choice(&self) -> Option<&AgentChoice> {
        self.offer.as_ref()?.agents.get(self.agent)
    }

    pub fn chosen_recording(&self) -> Option<&Recording> {
        self.offer.as_ref()?.recordings.get(self.recording)
    }

    pub fn variant_name(&self) -> Option<&str> {
        let offer = self.offer.as_ref()?;
        offer.variants.get(self.variant).map(String::as_str)
    }

    /// Lines a second instead of the recorded times.
    pub fn rate(&self) -> Option<f64> {
        RATES.get(self.rate).copied().flatten()
    }

    pub fn key(&mut self, key: Key, keymap: &Keymap) -> Answered {
        if let Some(before) = &self.typing {
            match edit(&mut self.model, key) {
                Typed::Accept => self.typing = None,
                Typed::Abort => {
                    self.model.clone_from(before);
                    self.typing = None;
                }
                Typed::Changed | Typed::Nothing => {}
            }
            return Answered::Nothing;
        }
        let leaves = matches!(
            (key.code, key.ctrl),
            (KeyCode::Char('q'), false) | (KeyCode::Char('c'), true)
        );
        if leaves {
            return Answered::Close;
        }
        if key.code == KeyCode::Esc {
            if self.step == Step::Agent || self.starting {
                return Answered::Close;
            }
            self.step = Step::Agent;
            self.error = None;
            return Answered::Nothing;
        }
        if self.starting || self.offer.is_none() {
            return Answered::Nothing;
        }
        self.error = None;
        match (key.code, key.ctrl) {
            (KeyCode::Enter, _) => match self.enter() {
                Ok(answered) => return answered,
                Err(why) => self.error = Some(why),
            },
            (KeyCode::Char('p'), false) => {
                let count = self.offer.as_ref().map_or(1, |o| o.variants.len()).max(1);
                self.variant = (self.variant + 1) % count;
            }
            // the plus without its shift
            (KeyCode::Char('+' | '='), false) => {
                let longer = LIMITS.iter().map(|m| m * 60.0).find(|s| *s > self.limit_s);
                self.limit_s = longer.unwrap_or(self.limit_s);
            }
            (KeyCode::Char('-'), false) => {
                let mut limits = LIMITS.iter().map(|m| m * 60.0).rev();
                self.limit_s = limits.find(|s| *s < self.limit_s).unwrap_or(self.limit_s);
            }
            (KeyCode::Char('m'), false) if self.choice().is_some_and(|c| c.takes_model) => {
                self.typing = Some(self.model.clone());
            }
            (KeyCode::Char('r'), false) if self.choice().is_some_and(|c| c.replays) => {
                self.rate = (self.rate + 1) % RATES.len();
            }
            _ => self.step_row(key, keymap),
        }
        Answered::Nothing
    }

    /// Adds pasted text to the model that is being typed.
    pub fn paste(&mut self, text: &str) {
        if self.typing.is_some() {
            insert(&mut self.model, text);
        }
    }

    fn step_row(&mut self, key: Key, keymap: &Keymap) {
        let Some(offer) = &self.offer else { return };
        let (at, len) = match self.step {
            Step::Agent => (&mut self.agent, offer.agents.len()),
            Step::Recording => (&mut self.recording, offer.recordings.len()),
        };
        let last = len.saturating_sub(1);
        // the keys that move in every pane
        let to = match keymap.movement(key) {
            Some(Action::Up) => at.saturating_sub(1),
            Some(Action::Down) => (*at + 1).min(last),
            Some(Action::PageUp) => at.saturating_sub(PAGE),
            Some(Action::PageDown) => (*at + PAGE).min(last),
            Some(Action::Top) => 0,
            Some(Action::Bottom) => last,
            _ => return,
        };
        *at = to;
    }

    /// Goes on with what is selected, or says why not.
    fn enter(&mut self) -> Result<Answered, String> {
        let Some(choice) = self.choice().cloned() else {
            return Err("there is no agent to run".into());
        };
        if let Some(missing) = choice.missing {
            return Err(missing);
        }
        if choice.needs_model() && self.model.trim().is_empty() {
            return Err(format!("{} must be told a model: m names one", choice.name));
        }
        if choice.replays && self.step == Step::Agent {
            if self.offer.as_ref().is_some_and(|o| o.recordings.is_empty()) {
                return Err(NOTHING_RECORDED.into());
            }
            self.step = Step::Recording;
            return Ok(Answered::Nothing);
        }
        let recording = self.chosen_recording().map(|r| r.what.clone());
        let model = self.model.trim();
        self.starting = true;
        Ok(Answered::Start(AgentRequest {
            task: self.task.clone(),
            agent: choice.name,
            limit_s: self.limit_s,
            variant: self.variant_name().unwrap_or_default().to_owned(),
            model: (choice.takes_model && !model.is_empty()).then(|| model.to_owned()),
            recording: recording.filter(|_| choice.replays),
            rate: self.rate().filter(|_| choice.replays),
            // the workbench's own, whoever starts it says
            engine: EngineChoice::default(),
        }))
    }
}
