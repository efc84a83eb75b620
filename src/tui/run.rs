//! The loop: signals, keys, answers, samples, in this order; draws when something changed.

use std::collections::HashSet;
use std::future::poll_fn;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::task::Poll;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use crossterm::event::{Event, EventStream, KeyCode};
use futures_util::StreamExt;
use tokio::sync::mpsc;
use tokio::time::{Instant as Alarm, sleep_until};

use super::backend::{Backend, Guard, ShellCommand};
use super::caps::Caps;
use super::config::Config;
use super::draw;
use super::effect::{EditRequest, Effect};
use super::input;
use super::jobs::Jobs;
use super::msg::Msg;
use super::remember::Remembered;
use super::state::{App, Ui};
use super::term::{Screen, Signals, copy, edit_file, hangup, open_shell, save, suspend};
use super::update::update;

/// Draws made for data alone are this far apart at least.
const DATA_FRAME: Duration = Duration::from_millis(33);
/// Between looks at what the store told: a log that grows by each line tells thousands a second.
const NEWS_PACE: Duration = Duration::from_millis(25);
/// Events of the terminal that are taken for one frame at most.
const BATCH: usize = 512;

/// How the workbench looks, and where it keeps what it keeps.
#[derive(Clone, Debug)]
pub struct Options {
    /// A theme's name; `None`: the one that was chosen last time.
    pub theme: Option<String>,
    pub caps: Caps,
    /// Seconds east of Greenwich.
    pub utc_offset_s: i32,
    /// Where `keymap.toml` and `themes/` lie.
    pub config: PathBuf,
    /// How it was left the last time.
    pub kept: Remembered,
    /// What is copied is written here as well.
    pub copied: PathBuf,
    /// F12 panics: for the test that the terminal is given back then.
    pub panic_key: bool,
}

impl Options {
    /// From the environment's usual variables, for a home and a folder of configuration.
    pub fn detect(theme: Option<String>, home: &Path, config: PathBuf, kept: Remembered) -> Self {
        let offset = jiff::tz::TimeZone::system().to_offset(jiff::Timestamp::now());
        Self {
            theme,
            caps: Caps::detect(|name| std::env::var(name).ok()),
            utc_offset_s: offset.seconds(),
            config,
            kept,
            copied: home.join("copied.txt"),
            panic_key: std::env::var_os("INFRADEV_DEBUG_PANIC").is_some(),
        }
    }
}

/// How the workbench was left.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Left {
    /// Runs that go on without it.
    pub live: usize,
    pub kept: Remembered,
}

#[derive(Debug, thiserror::Error)]
pub enum WorkbenchError {
    /// Every error of the user's keymap and themes, or a theme that is not there.
    #[error("{0}")]
    Config(String),
    #[error(
        "the workbench needs a terminal on standard input and output; every subcommand works without one"
    )]
    NoTerminal,
    #[error("the terminal cannot be used: {0}")]
    Terminal(#[from] io::Error),
}

/// Opens the workbench and returns when it is left. Must not be called inside a runtime.
pub fn run(backend: Arc<dyn Backend>, options: &Options) -> Result<Left, WorkbenchError> {
    let app = prepare(backend.label(), options)?;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .max_blocking_threads(8)
        .build()?;
    let outcome = runtime.block_on(session(backend, app, options));
    // a backend call that hangs must not keep the terminal
    runtime.shutdown_timeout(Duration::from_millis(100));
    outcome
}

/// The state at the start: configured, and as it was left the last time.
fn prepare(label: String, options: &Options) -> Result<App, WorkbenchError> {
    let config = Config::read(&options.config, options.caps.depth);
    if !config.problems.is_empty() {
        let all: Vec<String> = config.problems.iter().map(ToString::to_string).collect();
        return Err(WorkbenchError::Config(all.join("\n")));
    }
    // one that was chosen and then deleted is no error
    let kept = options.kept.theme.as_deref();
    let kept = kept.filter(|name| config.theme(name).is_ok());
    let name = options.theme.as_deref().or(kept).unwrap_or("default");
    let theme = config.theme(name).map_err(WorkbenchError::Config)?.clone();
    let mut ui = Ui::new(config, theme, options.caps, label);
    ui.utc_offset_s = options.utc_offset_s;
    let mut app = App::new(ui, (0, 0), now_s());
    app.mouse = options.caps.mouse;
    app.recall(&options.kept);
    Ok(app)
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
    /// To be opened in the user's editor.
    edit: Option<EditRequest>,
    /// To be given the terminal.
    shell: Option<ShellCommand>,
    options: Options,
}

async fn session(
    backend: Arc<dyn Backend>,
    mut app: App,
    options: &Options,
) -> Result<Left, WorkbenchError> {
    let mut signals = Signals::new()?;
    let screen = Screen::enter()?;
    let gone = hangup()?;
    app.size = screen.size();
    let (jobs, mut answers) = Jobs::new(Arc::clone(&backend));
    let (changes, mut changed) = mpsc::unbounded_channel();
    let mut session = Session {
        app,
        jobs,
        screen,
        backend,
        changes,
        sampler: None,
        last_draw: Instant::now(),
        urgent: true,
        end: None,
        suspended: false,
        edit: None,
        shell: None,
        options: options.clone(),
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
        let (edit, shell) = (session.edit.take(), session.shell.take());
        if std::mem::take(&mut session.suspended) || edit.is_some() || shell.is_some() {
            // the reader must not eat keys meant for a shell, or for the editor
            drop(events);
            let outcome = match (edit, shell) {
                (Some(request), _) => edit_file(&mut session.screen, &request),
                (None, Some(shell)) => open_shell(&mut session.screen, &shell),
                (None, None) => suspend(&mut session.screen).map_err(str::to_owned),
            };
            // a key that the editor took as an interrupt was not meant for us
            signals.forget_keys()?;
            events = EventStream::new();
            let size = session.screen.size();
            session.handle(Msg::Resize(size.0, size.1));
            session.handle(Msg::Resumed);
            if let Err(words) = outcome {
                session.handle(Msg::Toast(words));
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
                super::term::Signal::Continued => session.continued()?,
            },
            event = events.next() => session.inputs(event, &mut events).await,
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
    Ok(Left {
        live: live.count(),
        kept: session.app.remembered(),
    })
}

impl Session {
    /// Takes an event and those that are there already, for one frame: a window that is dragged
    /// and a wheel that is turned send hundreds.
    async fn inputs(&mut self, first: Option<io::Result<Event>>, events: &mut EventStream) {
        let mut batch = Vec::new();
        let mut next = Poll::Ready(first);
        while let Poll::Ready(event) = next {
            let Some(Ok(event)) = event else {
                self.end = Some(End::Hangup);
                break;
            };
            batch.push(event);
            if batch.len() == BATCH {
                break;
            }
            // with our own waker: the stream keeps the one that it was asked with
            next = poll_fn(|cx| Poll::Ready(events.poll_next_unpin(cx))).await;
        }
        let panic_key = self.options.panic_key;
        let pressed =
            |event: &Event| matches!(event, Event::Key(key) if key.code == KeyCode::F(12));
        assert!(
            !(panic_key && batch.iter().any(pressed)),
            "the debug key was pressed"
        );
        for msg in input::messages(batch) {
            self.urgent = true;
            self.handle(msg);
        }
    }

    /// After a stop by somebody else: raw mode and the other screen are taken again.
    fn continued(&mut self) -> Result<(), WorkbenchError> {
        self.screen.retake()?;
        let (width, height) = self.screen.size();
        self.handle(Msg::Resize(width, height));
        self.handle(Msg::Resumed);
        Ok(())
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
            Effect::Edit(request) => self.edit = Some(request),
            Effect::Shell(words) => self.shell = Some(self.backend.shell(&words)),
            Effect::TellShell(words) => {
                let line = self.backend.shell(&words).line;
                self.carry_out(Effect::Copy(line));
            }
            Effect::Repaint => self.screen.forget(),
            Effect::Copy(text) => {
                let copied = copy(&text, &self.options.copied, self.options.caps.tmux);
                let msg = copied.map_or_else(Msg::Toast, Msg::Said);
                self.handle(msg);
            }
            Effect::Save { name, text } => {
                let dir = self.options.copied.with_file_name("saved");
                let told = self.changes.clone();
                tokio::task::spawn_blocking(move || {
                    let saved = save(&text, &dir, &name);
                    let _ = told.send(saved.map_or_else(Msg::Toast, Msg::Said));
                });
            }
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
        let modes = self.screen.modes(app.wants_paste(), app.mouse);
        match modes.and_then(|()| self.screen.draw(|buf| draw::draw(app, buf))) {
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
