//! The task between a [`Sandbox`](super::Sandbox)'s owner and process 1.
//!
//! It holds the sandbox's life in its hand: whatever the owner does, and whatever becomes of
//! process 1, the wall limit holds and a kill is a kill.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::sync::{mpsc, watch};
use tokio::time::{Instant, sleep, sleep_until, timeout};

use super::frame::{Decoder, FrameError};
use super::{Loss, Message, SandboxEvent};

/// Process 1 enforces the wall limit; this much later it is enforced from outside.
const WALL_GRACE: Duration = Duration::from_secs(2);
/// Process 1 answers a kill in milliseconds, or gives up after 10 s; starved from inside it may do
/// neither.
const KILL_PATIENCE: Duration = Duration::from_secs(12);
/// What an orderly end may take before everything is killed from outside.
const END_PATIENCE: Duration = Duration::from_secs(3);
/// What closing the input may take.
const CLOSE_PATIENCE: Duration = Duration::from_secs(1);
/// A wall limit that the clock cannot hold is this far away.
const FOREVER: Duration = Duration::from_secs(1 << 31);

/// What holds a sandbox up from outside: a process here, a container elsewhere.
pub(super) trait Vessel: Send + 'static {
    /// Ends the sandbox, whose input is closed, by force where it does not end by itself within
    /// `patience`; waits until nothing of it is left, and puts back what was borrowed (ownership of
    /// work trees). Only where `asks` does it look for what ended the sandbox.
    fn gone(self, patience: Duration, asks: bool) -> impl Future<Output = Gone> + Send;
}

/// The last of a vessel.
#[derive(Debug, Default)]
pub(super) struct Gone {
    /// What it said on standard error.
    pub said: String,
    /// What ended it, where that was not process 1's doing, and not ours.
    pub fault: Option<Fault>,
}

/// What a vessel knows of the end of process 1.
#[derive(Debug)]
pub(super) enum Fault {
    /// From outside.
    Machine(String),
    /// By the kernel, for the memory of the sandbox alone.
    Memory(String),
}

/// From the owner to process 1.
pub(super) enum Outgoing {
    Frame(Vec<u8>),
    /// A frame that is to be answered by [`Message::Killed`].
    Kill(Vec<u8>),
    /// No more: the sandbox is to end.
    End,
}

/// The streams to and from process 1.
pub(super) struct Lines<R, W> {
    pub input: W,
    pub output: R,
    /// With what was read already.
    pub decoder: Decoder,
}

/// Why the conversation ended.
enum End {
    /// The owner closed or dropped the sandbox.
    Asked,
    /// Process 1 closed its output; with the reason that it gave.
    Itself(Option<String>),
    /// What held process 1 up has failed.
    Unheld(String),
    Broken(FrameError),
    Wall,
    /// A kill was not answered.
    Deaf,
}

/// Passes requests and events until the end, and sees the sandbox out.
pub(super) async fn drive<R, W, V>(
    lines: Lines<R, W>,
    vessel: V,
    requests: mpsc::UnboundedReceiver<Outgoing>,
    events: mpsc::Sender<SandboxEvent>,
    wall: Duration,
) where
    R: AsyncRead + Unpin + Send,
    W: AsyncWrite + Unpin + Send,
    V: Vessel,
{
    let Lines {
        mut input,
        mut output,
        mut decoder,
    } = lines;
    let deadline = Instant::now() + wall.min(FOREVER) + WALL_GRACE;
    let kills = Kills::default();
    let ended = {
        let reader = pass_events(&mut output, &mut decoder, &events, &kills);
        let writer = pass_requests(&mut input, requests, &kills);
        let deaf = kills.unanswered();
        tokio::pin!(reader, writer, deaf);
        tokio::select! {
            ended = &mut reader => ended,
            ended = &mut writer => ended,
            () = &mut deaf => End::Deaf,
            () = sleep_until(deadline) => End::Wall,
        }
    };
    // what is known of the reason; a vessel may know better
    let reason = match ended {
        End::Asked => None,
        End::Itself(None) => Some(Reason::Open(None)),
        End::Itself(Some(reason)) => Some(Reason::Given(Loss::Inside(reason))),
        End::Unheld(reason) => Some(Reason::Given(Loss::Machine(reason))),
        End::Broken(error) => Some(Reason::Open(Some(format!(
            "the sandbox's messages are broken: {error}"
        )))),
        End::Wall => {
            let hit = SandboxEvent::LimitHit {
                limit: "wall".into(),
                detail: "process 1 did not end at its wall limit and was killed from outside"
                    .into(),
            };
            // never wait for an owner that does not read
            events.try_send(hit).ok();
            Some(Reason::Given(Loss::Inside("wall limit".into())))
        }
        End::Deaf => Some(Reason::Open(Some(
            "process 1 did not answer a kill, and everything was killed from outside".into(),
        ))),
    };
    timeout(CLOSE_PATIENCE, input.shutdown()).await.ok();
    drop(input);
    // nobody may wait for us to read on
    drop(output);
    let asks = matches!(reason, Some(Reason::Open(_)));
    let gone = vessel.gone(END_PATIENCE, asks).await;
    if let Some(Fault::Memory(detail)) = &gone.fault {
        let (limit, detail) = ("memory".into(), detail.clone());
        let hit = SandboxEvent::LimitHit { limit, detail };
        events.send(hit).await.ok();
    }
    let reason = reason.map(|reason| reason.told(gone));
    events.send(SandboxEvent::Closed { reason }).await.ok();
}

/// Why a sandbox ended that was not asked to.
enum Reason {
    Given(Loss),
    /// What the vessel knows explains it better.
    Open(Option<String>),
}

impl Reason {
    fn told(self, Gone { said, fault }: Gone) -> Loss {
        match (self, fault) {
            (Self::Given(loss), _) => loss,
            (Self::Open(_), Some(Fault::Machine(why))) => Loss::Machine(why),
            (Self::Open(_), Some(Fault::Memory(why))) | (Self::Open(Some(why)), None) => {
                Loss::Inside(why)
            }
            (Self::Open(None), None) if said.is_empty() => Loss::Inside("process 1 ended".into()),
            (Self::Open(None), None) => Loss::Inside(format!("process 1 ended: {said}")),
        }
    }
}

/// Kills that are not answered yet.
struct Kills {
    /// Until when an answer is waited for.
    until: watch::Sender<Option<Instant>>,
    /// The answer may be there, behind events that the owner has not read.
    owner_is_slow: AtomicBool,
}

impl Default for Kills {
    fn default() -> Self {
        Self {
            until: watch::Sender::new(None),
            owner_is_slow: AtomicBool::new(false),
        }
    }
}

impl Kills {
    fn asked(&self) {
        self.until
            .send_replace(Some(Instant::now() + KILL_PATIENCE));
    }

    fn answered(&self) {
        self.until.send_replace(None);
    }

    /// Returns when a kill has not been answered in time.
    async fn unanswered(&self) {
        let mut until = self.until.subscribe();
        loop {
            let now = *until.borrow_and_update();
            let Some(deadline) = now else {
                // the sender lives as long as we do
                until.changed().await.ok();
                continue;
            };
            tokio::select! {
                _ = until.changed() => {}
                () = sleep_until(deadline) => {
                    if !self.owner_is_slow.load(Ordering::Relaxed) {
                        return;
                    }
                    sleep(KILL_PATIENCE).await;
                }
            }
        }
    }
}

async fn pass_requests(
    input: &mut (impl AsyncWrite + Unpin),
    mut requests: mpsc::UnboundedReceiver<Outgoing>,
    kills: &Kills,
) -> End {
    while let Some(outgoing) = requests.recv().await {
        let frame = match outgoing {
            Outgoing::Frame(frame) => frame,
            Outgoing::Kill(frame) => {
                kills.asked();
                frame
            }
            Outgoing::End => break,
        };
        if input.write_all(&frame).await.is_err() || input.flush().await.is_err() {
            // process 1 is gone: the reader has its last words and ends the conversation
            std::future::pending::<()>().await;
        }
    }
    End::Asked
}

async fn pass_events(
    output: &mut (impl AsyncRead + Unpin),
    decoder: &mut Decoder,
    events: &mpsc::Sender<SandboxEvent>,
    kills: &Kills,
) -> End {
    loop {
        let (message, bytes) = match read_message(output, decoder).await {
            Ok(Some(frame)) => frame,
            Ok(None) => return End::Itself(None),
            Err(error) => return End::Broken(error),
        };
        let event = match message {
            Message::Started { id } => SandboxEvent::Started { id },
            Message::NotStarted { id, message } => SandboxEvent::NotStarted { id, message },
            Message::Output { id, stream } => SandboxEvent::Output { id, stream, bytes },
            Message::Truncated { id, stream } => SandboxEvent::Truncated { id, stream },
            Message::Exited {
                id,
                status,
                dropped_bytes,
            } => SandboxEvent::Exited {
                id,
                status,
                dropped_bytes,
            },
            Message::LimitHit { limit, detail } => SandboxEvent::LimitHit { limit, detail },
            Message::Killed { processes } => {
                kills.answered();
                SandboxEvent::Killed { processes }
            }
            Message::Ending { reason } => return End::Itself(Some(reason)),
            Message::Refused(refusal) => return End::Unheld(refusal.message),
            Message::Ready => continue,
        };
        kills.owner_is_slow.store(true, Ordering::Relaxed);
        // without an owner there is still the end of the stream to wait for
        events.send(event).await.ok();
        kills.owner_is_slow.store(false, Ordering::Relaxed);
    }
}

/// The next message; `None` at a clean end.
pub(super) async fn read_message(
    output: &mut (impl AsyncRead + Unpin),
    decoder: &mut Decoder,
) -> Result<Option<(Message, Vec<u8>)>, FrameError> {
    let mut chunk = vec![0; 64 << 10];
    loop {
        if let Some(frame) = decoder.take()? {
            return Ok(Some(frame));
        }
        match output.read(&mut chunk).await? {
            0 if decoder.at_boundary() => return Ok(None),
            0 => return Err(FrameError::Torn),
            n => decoder.push(&chunk[..n]),
        }
    }
}
