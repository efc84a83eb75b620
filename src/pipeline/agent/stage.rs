//! The agent at work: its own copy of base, its prompt, its limits, and what it says meanwhile.

use std::io::ErrorKind;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio::time::sleep_until;

use super::super::disk::{Disk, Over};
use super::changes::{Changes, Counts};
use super::log::LogWriter;
use super::rollout::Rollout;
use super::site::{RELAY, Site};
use super::trajectory::{Follower, Trajectory};
use crate::agent::adapter::Redactor;
use crate::domain::{AgentEnd, Event, Level};
use crate::engine::{Loss, ProcessStatus, Sandbox, SandboxEvent, Stream};
use crate::pipeline::error::Stop;
use crate::pipeline::ground::Ground;
use crate::pipeline::recorder::Recorder;

/// The agent's own process in its sandbox.
pub(super) const AGENT: u32 = 0;
/// The limit that is ours to enforce.
const DISK: &str = "disk";
/// Between two looks at whether its log is kept.
const LOOK: Duration = Duration::from_millis(500);
/// Between two counts of what changed in the tree; a count that takes long makes them rarer.
const COUNT: Duration = Duration::from_secs(3);
/// A sandbox that is asked to kill everything answers within this time, or is ended from outside.
const KILL_PATIENCE: Duration = Duration::from_secs(60);

/// What is kept of an agent's words.
pub(super) struct Ears {
    log: Option<LogWriter>,
    aside: LogWriter,
    /// For standard output and standard error: a secret may be cut by a frame's edge.
    clean: [Redactor; 2],
    trajectory: Option<Follower>,
    joined: bool,
}

impl Ears {
    pub(super) fn open(
        log: Option<LogWriter>,
        aside: LogWriter,
        trajectory: Option<Trajectory>,
        secrets: Redactor,
    ) -> Self {
        Self {
            log,
            aside,
            clean: [secrets.clone(), secrets.clone()],
            trajectory: trajectory.map(|followed| Follower::start(followed, secrets)),
            joined: false,
        }
    }

    /// Both streams are the log.
    pub(super) fn join(&mut self, joined: bool) {
        self.joined = joined;
    }

    fn hear(&mut self, stream: Stream, bytes: &[u8]) -> std::io::Result<()> {
        let (clean, to) = match (stream, &mut self.log) {
            (Stream::Stdout, Some(log)) => (&mut self.clean[0], log),
            (Stream::Stdout, None) => (&mut self.clean[0], &mut self.aside),
            (_, Some(log)) if self.joined => (&mut self.clean[1], log),
            _ => (&mut self.clean[1], &mut self.aside),
        };
        to.push(&clean.push(bytes))
    }

    /// Its log cannot be kept any more.
    fn deaf(&self) -> bool {
        self.trajectory.as_ref().is_some_and(Follower::failed)
    }

    /// Writes what is left and tells how much came, and how much of it was dropped.
    async fn finish(mut self) -> std::io::Result<(u64, u64)> {
        let rest = self.clean.each_mut().map(Redactor::finish);
        for (rest, joined) in rest.iter().zip([true, self.joined]) {
            match &mut self.log {
                Some(log) if joined => log.push(rest)?,
                _ => self.aside.push(rest)?,
            }
        }
        let mut counts = (0, self.aside.counts().1);
        if let Some(log) = self.log {
            counts = (log.counts().0, counts.1 + log.counts().1);
            log.finish()?;
        }
        if let Some(follower) = self.trajectory {
            let trajectory = follower.finish().await?;
            counts = (
                counts.0 + trajectory.bytes + trajectory.dropped,
                counts.1 + trajectory.dropped,
            );
        }
        self.aside.finish()?;
        Ok(counts)
    }
}

/// Listens to the agent until it ends or its time is over; nothing of it runs afterwards, whatever
/// comes of it.
pub(super) async fn at_work(
    ground: &Ground,
    site: &Site,
    mut sandbox: Sandbox,
    mut ears: Ears,
    changes: Changes,
    limit: Duration,
    recorder: &Recorder,
) -> Result<(), Stop> {
    let since = Instant::now();
    let counter = Counter::start(ground, site, changes, recorder);
    let (guard, over) = Disk::guard(&site.disk);
    let mut ours = Helpers::new(site.helpers, recorder);
    let heard = listen(
        site,
        &mut sandbox,
        &mut ears,
        &mut ours,
        over,
        since + limit,
    )
    .await;
    let duration_s = since.elapsed().as_secs_f64();
    let cleared = match heard {
        Ok(heard) => clear(&mut sandbox, &mut ears, &mut ours, &heard)
            .await
            .map(|killed| (heard, killed)),
        Err(stop) => Err(stop),
    };
    sandbox.close().await;
    drop(guard);
    counter.stop().await;
    // nothing of it runs now
    let cleared = match cleared {
        Ok((Heard::End { end, .. }, killed)) => Ok((end, killed)),
        Ok((Heard::Full, killed)) => full(&site.disk).await.map(|end| (end, killed)),
        Err(stop) => Err(stop),
    };
    let finished = ears.finish().await.map_err(fault);
    // why the log could not be kept, before what came of it
    let (log_bytes, dropped_bytes) = finished?;
    let (end, killed) = cleared?;
    recorder.record(Event::AgentEnded {
        end,
        duration_s,
        killed,
        log_bytes,
        dropped_bytes,
    });
    Ok(())
}

/// What is known of an agent's time when we hear no more.
enum Heard {
    End {
        end: AgentEnd,
        /// It runs still: ending it is ours.
        alive: bool,
    },
    /// The disk is full; by whose doing shows when nothing of the agent runs any more.
    Full,
}

impl Heard {
    fn ended(end: AgentEnd) -> Self {
        Self::End { end, alive: false }
    }

    fn stopped(end: AgentEnd) -> Self {
        Self::End { end, alive: true }
    }
}

/// Our own processes beside the agent's, which it may have ended.
struct Helpers<'a> {
    alive: u32,
    recorder: &'a Recorder,
}

impl<'a> Helpers<'a> {
    fn new(alive: u32, recorder: &'a Recorder) -> Self {
        Self { alive, recorder }
    }

    /// `stopped`: by us.
    fn hear(&mut self, event: &SandboxEvent, stopped: bool) {
        if let SandboxEvent::Exited {
            id: RELAY, status, ..
        } = event
            && !stopped
        {
            self.alive = self.alive.saturating_sub(1);
            let text = format!("the relay to the proxy ended before the agent: {status:?}");
            self.recorder.say(Level::Warn, text);
        }
    }
}

/// Whether the agent filled the disk: by what stands in its folders, or by what went with its
/// processes. As a fault it would escape its score.
async fn full(disk: &Arc<Disk>) -> Result<AgentEnd, Stop> {
    let disk = Arc::clone(disk);
    let blamed = tokio::task::spawn_blocking(move || disk.blamed()).await;
    match blamed.map_err(|e| Stop::Fault(format!("the disk: {e}")))? {
        Ok(detail) => Ok(AgentEnd::Killed {
            limit: DISK.into(),
            detail,
        }),
        Err(why) => Err(Stop::Fault(why)),
    }
}

#[allow(clippy::needless_pass_by_value)] // as `map_err` wants it
fn fault(e: std::io::Error) -> Stop {
    Stop::Fault(format!("the agent's log: {e}"))
}

/// Hears the agent to its end, or to its deadline.
async fn listen(
    site: &Site,
    sandbox: &mut Sandbox,
    ears: &mut Ears,
    ours: &mut Helpers<'_>,
    mut over: mpsc::Receiver<Over>,
    until: Instant,
) -> Result<Heard, Stop> {
    let look = sleep_until((Instant::now() + LOOK).into());
    tokio::pin!(look);
    let deadline = sleep_until(until.into());
    tokio::pin!(deadline);
    let mut hit: Option<AgentEnd> = None;
    let end = loop {
        let event = tokio::select! {
            event = sandbox.next() => event,
            () = &mut deadline => break Heard::stopped(AgentEnd::Limit),
            Some(over) = over.recv() => break match over {
                Over::Limit(detail) => Heard::stopped(AgentEnd::Killed { limit: DISK.into(), detail }),
                Over::Full => Heard::Full,
            },
            () = &mut look => {
                if ears.deaf() {
                    return Err(Stop::Fault("the agent's log cannot be kept".into()));
                }
                look.as_mut().reset((Instant::now() + LOOK).into());
                continue;
            }
        };
        if let Some(event) = &event {
            ours.hear(event, hit.is_some());
        }
        match event {
            Some(SandboxEvent::Output {
                id: AGENT,
                stream,
                bytes,
            }) => match ears.hear(stream, &bytes) {
                Err(e) if e.kind() == ErrorKind::StorageFull => break Heard::Full,
                heard => heard.map_err(fault)?,
            },
            Some(SandboxEvent::Exited {
                id: AGENT, status, ..
            }) => {
                break Heard::ended(hit.take().unwrap_or(match status {
                    ProcessStatus::Exited(code) => AgentEnd::Exited { code },
                    ProcessStatus::Signaled(signal) => AgentEnd::Signaled { signal },
                }));
            }
            Some(SandboxEvent::NotStarted { id: AGENT, message }) => {
                return Err(Stop::Input(format!(
                    "agent {} cannot be started: {message}; is it installed, and on PATH in the sandbox?",
                    site.agent
                )));
            }
            Some(SandboxEvent::LimitHit { limit, detail }) => {
                // everything was killed: its end comes next
                hit = Some(AgentEnd::Killed { limit, detail });
            }
            // its own doing: as a fault it would escape its score
            Some(SandboxEvent::Closed {
                reason: Some(Loss::Inside(detail)),
            }) => {
                let limit = "sandbox".into();
                break Heard::ended(hit.unwrap_or(AgentEnd::Killed { limit, detail }));
            }
            Some(SandboxEvent::Closed { reason }) => return Err(lost(reason)),
            None => return Err(lost(None)),
            Some(_) => {}
        }
    };
    Ok(end)
}

fn lost(reason: Option<Loss>) -> Stop {
    Stop::Fault(format!("the agent's sandbox ended: {}", Loss::told(reason)))
}

/// Kills what is left and hears what it had still to say: how many there were beside the agent's
/// own process and our helpers.
async fn clear(
    sandbox: &mut Sandbox,
    ears: &mut Ears,
    ours: &mut Helpers<'_>,
    heard: &Heard,
) -> Result<u32, Stop> {
    let agent_alive = !matches!(heard, Heard::End { alive: false, .. });
    // where it has ended, that is what comes next
    sandbox.kill_all().ok();
    let until = tokio::time::Instant::now() + KILL_PATIENCE;
    loop {
        let event = tokio::time::timeout_at(until, sandbox.next()).await;
        if let Ok(Some(event)) = &event {
            // those that we kill end before the answer
            ours.hear(event, true);
        }
        match event {
            Ok(Some(SandboxEvent::Killed { processes })) => {
                let own = ours.alive + u32::from(agent_alive);
                return Ok(processes.saturating_sub(own));
            }
            Ok(Some(SandboxEvent::Output {
                id: AGENT,
                stream,
                bytes,
            })) => match ears.hear(stream, &bytes) {
                Err(e) if e.kind() == ErrorKind::StorageFull && matches!(heard, Heard::Full) => {}
                heard => heard.map_err(fault)?,
            },
            // nothing of it is left, and nobody counted
            Ok(
                None
                | Some(SandboxEvent::Closed {
                    reason: Some(Loss::Inside(_)),
                }),
            ) => return Ok(0),
            // what took it away may have taken the agent's time as well
            Ok(Some(SandboxEvent::Closed { reason })) => return Err(lost(reason)),
            Err(_) => return Err(Stop::Fault("the agent's sandbox does not end".into())),
            Ok(Some(_)) => {}
        }
    }
}

/// Counts changed lines and looks for tokens beside the agent, on a thread of its own; ends with this.
struct Counter {
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Counter {
    fn start(ground: &Ground, site: &Site, mut changes: Changes, recorder: &Recorder) -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let (trees, recorder) = (Arc::clone(&ground.trees), recorder.clone());
        let stopped = Arc::clone(&stop);
        let mut rollout = Rollout::new(site.home.clone(), ground.run.agent_log_path());
        let thread = tokio::task::spawn_blocking(move || {
            let (mut told, mut used) = (Counts::default(), None);
            while !stopped.load(Ordering::Relaxed) {
                let begun = Instant::now();
                let counts = changes.count(&trees.snapshot, trees.base);
                if counts != told {
                    told = counts;
                    recorder.record(Event::AgentChanged {
                        files: counts.files,
                        added: counts.added,
                        deleted: counts.deleted,
                    });
                }
                let usage = rollout.tokens();
                if let Some(usage) = usage.filter(|_| usage != used) {
                    used = Some(usage);
                    recorder.record(Event::AgentUsage { usage });
                }
                // at most a twentieth of a core
                let until = begun + (begun.elapsed() * 20).max(COUNT);
                while Instant::now() < until && !stopped.load(Ordering::Relaxed) {
                    std::thread::sleep(Duration::from_millis(50));
                }
            }
        });
        Self {
            stop,
            thread: Some(thread),
        }
    }

    async fn stop(mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            thread.await.ok();
        }
    }
}

impl Drop for Counter {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
    }
}
