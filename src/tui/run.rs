//! The loop: signals, keys, answers, samples, in this order; draws when something changed.

use std::collections::HashSet;
use std::io;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use crossterm::event::{Event, EventStream, KeyCode, KeyEventKind};
use futures_util::StreamExt;
use tokio::sync::mpsc;
use tokio::time::{Instant as Alarm, sleep_until};

use super::backend::{Backend, Guard};
use super::caps::Caps;
use super::draw;
use super::effect::Effect;
use super::jobs::Jobs;
use super::msg::Msg;
use super::state::{App, Ui};
use super::term::{Screen, Signals, hangup, suspend};
use super::theme::{Theme, ThemeError};
use super::update::update;

/// Draws made for data alone are this far apart at least.
const DATA_FRAME: Duration = Duration::from_millis(33);
/// Between looks at what the store told: a log that grows by each line tells thousands a second.
const NEWS_PACE: Duration = Duration::from_millis(25);

/// How the workbench looks.
#[derive(Clone, Debug)]
pub struct Options {
    /// A bundled theme's name.
    pub theme: String,
    pub caps: Caps,
    /// Seconds east of Greenwich.
    pub utc_offset_s: i32,
    /// F12 panics: for the test that the terminal is given back then.
    pub panic_key: bool,
}

impl Options {
    /// From the environment's usual variables.
    pub fn detect(theme: Option<String>) -> Self {
        let offset = jiff::tz::TimeZone::system().to_offset(jiff::Timestamp::now());
        Self {
            theme: theme.unwrap_or_else(|| "default".into()),
            caps: Caps::detect(|name| std::env::var(name).ok()),
            utc_offset_s: offset.seconds(),
            panic_key: std::env::var_os("INFRADEV_DEBUG_PANIC").is_some(),
        }
    }
}

#[derive(Debug, thiserror::Error)]
pub enum WorkbenchError {
    #[error("{0}")]
    Theme(#[from] ThemeError),
    #[error(
        "the workbench needs a terminal on standard input and output; every subcommand works without one"
    )]
    NoTerminal,
    #[error("the terminal cannot be used: {0}")]
    Terminal(#[from] io::Error),
}

/// Opens the workbench and returns when it is left, with the number of runs that go on without
/// it. Must not be called inside a runtime.
pub fn run(backend: Arc<dyn Backend>, options: &Options) -> Result<usize, WorkbenchError> {
    let theme = Theme::bundled(&options.theme, options.caps.depth)?;
    let ui = Ui::new(theme, options.caps, options.utc_offset_s, backend.label());
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .max_blocking_threads(8)
        .build()?;
    let outcome = runtime.block_on(session(backend, ui, options.panic_key));
    // a backend call that hangs must not keep the terminal
    runtime.shutdown_timeout(Duration::from_millis(100));
    outcome
}

fn now_s() -> f64 {
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .map_or(0.0, |d| d.as_secs_f64())
}

/// Why the loop ended.
enum End {
    Quit,
    /// The terminal is gone: nothing can be restored, and nobody reads.
    Hangup,
}

struct Session {
    app: App,
    jobs: Jobs,
    screen: Screen,
    backend: Arc<dyn Backend>,
    changes: mpsc::UnboundedSender<Msg>,
    sampler: Option<Guard>,
    last_draw: Instant,
    /// A key changed something: it is drawn at once.
    urgent: bool,
    end: Option<End>,
    suspended: bool,
    panic_key: bool,
}

async fn session(
    backend: Arc<dyn Backend>,
    ui: Ui,
    panic_key: bool,
) -> Result<usize, WorkbenchError> {
    let mut signals = Signals::new()?;
    let screen = Screen::enter()?;
    let gone = hangup()?;
    let size = screen.size();
    let (jobs, mut answers) = Jobs::new(Arc::clone(&backend));
    let (changes, mut changed) = mpsc::unbounded_channel();
    let mut session = Session {
        app: App::new(ui, size, now_s()),
        jobs,
        screen,
        backend,
        changes,
        sampler: None,
        last_draw: Instant::now(),
        urgent: true,
        end: None,
        suspended: false,
        panic_key,
    };
    for effect in App::first_effects() {
        session.carry_out(effect);
    }
    let sink = session.changes.clone();
    let watch = session.backend.watch(Box::new(move |change| {
        let _ = sink.send(Msg::Changed(change));
    }));
    if let Err(error) = &watch {
        session.handle(Msg::Toast(error.0.clone()));
    }
    let mut events = EventStream::new();
    let mut next_tick = Alarm::now() + Duration::from_secs(1);
    let (mut paced, mut next_news) = (false, Alarm::now());
    loop {
        session.sampling();
        if session.draw_if_due()? {
            continue;
        }
        if let Some(end) = &session.end {
            if matches!(end, End::Hangup) {
                session.screen.abandon();
            }
            break;
        }
        if std::mem::take(&mut session.suspended) {
            // the reader must not eat keys meant for the shell
            drop(events);
            let outcome = suspend(&mut session.screen);
            events = EventStream::new();
            let size = session.screen.size();
            session.handle(Msg::Resize(size.0, size.1));
            session.handle(Msg::Resumed);
            if let Err(words) = outcome {
                session.handle(Msg::Toast(words.into()));
            }
            continue;
        }
        let frame = Alarm::from_std(session.last_draw + DATA_FRAME);
        let toast_s = session
            .app
            .toast
            .as_ref()
            .map_or(0.0, |t| t.until_s - now_s());
        let toast_end = Alarm::now() + Duration::from_secs_f64(toast_s.clamp(0.05, 60.0));
        tokio::select! {
            biased;
            signal = signals.next() => match signal {
                super::term::Signal::End => session.end = Some(End::Quit),
                super::term::Signal::Stop => session.suspended = true,
            },
            event = events.next() => match event {
                Some(Ok(event)) => session.input(event),
                Some(Err(_)) | None => session.end = Some(End::Hangup),
            },
            Some((lane, msg)) = answers.recv() => {
                session.jobs.ended(lane);
                session.handle(msg);
                // what is there already belongs in the same frame
                while let Ok((lane, msg)) = answers.try_recv() {
                    session.jobs.ended(lane);
                    session.handle(msg);
                }
            },
            Some(msg) = changed.recv(), if !paced => {
                session.news(msg, &mut changed);
                paced = true;
                next_news = Alarm::now() + NEWS_PACE;
            },
            () = sleep_until(next_news), if paced => paced = false,
            () = sleep_until(frame), if session.app.dirty => {},
            () = sleep_until(toast_end), if session.app.toast.is_some() => {
                session.handle(Msg::ToastOver);
            },
            () = sleep_until(next_tick), if session.app.wants_tick() || session.sampler.is_some() => {
                next_tick = Alarm::now() + Duration::from_secs(1);
                session.handle(Msg::Tick);
            },
            () = gone.notified() => session.end = Some(End::Hangup),
        }
    }
    drop(watch);
    let live = session.app.runs.iter().filter(|run| run.status.live());
    Ok(live.count())
}

impl Session {
    fn input(&mut self, event: Event) {
        let msg = match event {
            Event::Key(key) if self.panic_key && key.code == KeyCode::F(12) => {
                panic!("the debug key was pressed")
            }
            Event::Key(key) if key.kind != KeyEventKind::Release => Msg::Key(key.into()),
            Event::Paste(text) => Msg::Paste(text),
            Event::Resize(width, height) => Msg::Resize(width, height),
            _ => return,
        };
        self.urgent = true;
        self.handle(msg);
    }

    fn handle(&mut self, msg: Msg) {
        self.app.now_s = now_s();
        for effect in update(&mut self.app, msg) {
            self.carry_out(effect);
        }
    }

    /// Takes what the store and the sampler told since the last time, the same thing once.
    fn news(&mut self, first: Msg, rest: &mut mpsc::UnboundedReceiver<Msg>) {
        let mut told = HashSet::new();
        let mut next = Some(first);
        while let Some(msg) = next {
            let again = matches!(&msg, Msg::Changed(change) if !told.insert(change.clone()));
            if !again {
                self.handle(msg);
            }
            next = rest.try_recv().ok();
        }
    }

    fn carry_out(&mut self, effect: Effect) {
        match effect {
            Effect::Quit => self.end = Some(End::Quit),
            Effect::Suspend => self.suspended = true,
            Effect::Repaint => self.screen.forget(),
            other => self.jobs.start(other),
        }
    }

    /// Starts and stops the sampler: it runs while a run lives, and shortly after a key.
    fn sampling(&mut self) {
        self.app.now_s = now_s();
        let wanted = self.app.wants_samples();
        if wanted && self.sampler.is_none() && self.app.gpu.error.is_none() {
            let sink = self.changes.clone();
            let started = self.backend.sample(Box::new(move |view| {
                let _ = sink.send(Msg::Gpu(view));
            }));
            match started {
                Ok(guard) => self.sampler = Some(guard),
                Err(error) => self.app.gpu.error = Some(error.0),
            }
            self.app.gpu.sampling = self.sampler.is_some();
            self.app.touch(super::layout::PaneKind::Gpu);
        } else if !wanted && self.sampler.is_some() {
            self.sampler = None;
            self.app.gpu.sampling = false;
            self.app.touch(super::layout::PaneKind::Gpu);
        }
    }

    /// Draws where something changed and it is time; tells whether it did.
    fn draw_if_due(&mut self) -> Result<bool, WorkbenchError> {
        if !self.app.dirty || !(self.urgent || self.last_draw.elapsed() >= DATA_FRAME) {
            return Ok(false);
        }
        self.app.dirty = false;
        self.urgent = false;
        let app = &self.app;
        match self.screen.draw(|buf| draw::draw(app, buf)) {
            Ok(()) => {}
            Err(error) if gone(&error) => self.end = Some(End::Hangup),
            Err(error) => return Err(error.into()),
        }
        self.last_draw = Instant::now();
        Ok(true)
    }
}

/// The terminal's other end is closed.
fn gone(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::BrokenPipe
        || error.raw_os_error() == Some(nix::errno::Errno::EIO as i32)
}
