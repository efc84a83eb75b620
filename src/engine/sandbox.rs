//! The worker's handle on a sandbox, the same for every engine.
//!
//! A task of its own talks to process 1, so that limits hold and everything ends even when the
//! owner of the handle is slow, drops it, or never asks for events. Events wait in a bounded queue:
//! an owner that does not read slows the processes inside down, never the kill or the limits.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep_until, timeout};

use super::frame::{Decoder, FrameError, encode};
use super::{EngineError, Isolation, Message, ProcessSpec, Refusal, Request, SandboxEvent};

/// Events that wait for the owner before the sandbox is slowed down.
const QUEUE: usize = 256;
/// Process 1 enforces the wall limit; this much later it is enforced from outside.
const WALL_GRACE: Duration = Duration::from_secs(2);
/// What an orderly end may take before everything is killed from outside.
const END_PATIENCE: Duration = Duration::from_secs(3);
/// A start takes milliseconds; on a machine in trouble it fails instead of hanging.
const START_PATIENCE: Duration = Duration::from_secs(20);

/// What holds a sandbox up from outside: a process here, a container elsewhere.
pub(super) trait Vessel: Send + 'static {
    /// Kills the whole sandbox from outside; does not wait.
    fn kill(&mut self);
    /// Waits until nothing is left of the sandbox, with force after `patience`, and puts back what
    /// was borrowed (ownership of work trees). Gives what it said on standard error.
    fn gone(self, patience: Duration) -> impl Future<Output = String> + Send;
}

/// A running sandbox. Dropping it ends it too, only without waiting for the end.
#[derive(Debug)]
pub struct Sandbox {
    isolation: Isolation,
    /// Inside to outside, where there is no mount namespace to do it.
    paths: BTreeMap<PathBuf, PathBuf>,
    control: Control,
    events: mpsc::Receiver<SandboxEvent>,
    driver: JoinHandle<()>,
}

/// Starts and kills; can be cloned and used beside [`Sandbox::next`]. The sandbox ends with its
/// handle, whatever controls are left.
#[derive(Clone, Debug)]
pub struct Control {
    requests: mpsc::UnboundedSender<Vec<u8>>,
}

impl Control {
    /// Starts a process. What became of that comes as an event. Fails when the sandbox has ended
    /// or the specification is over the bounds of a frame.
    pub fn spawn(&self, mut process: ProcessSpec) -> Result<(), EngineError> {
        let stdin = std::mem::take(&mut process.stdin);
        self.send(&Request::Spawn(process), &stdin)
    }

    /// Kills every process in the sandbox, whatever it did to hide; answered by
    /// [`SandboxEvent::Killed`] when none is left. The sandbox can be used again afterwards.
    pub fn kill_all(&self) -> Result<(), EngineError> {
        self.send(&Request::KillAll, &[])
    }

    fn send(&self, request: &Request, payload: &[u8]) -> Result<(), EngineError> {
        let frame = encode(request, payload)?;
        self.requests.send(frame).map_err(|_| EngineError::Ended)
    }
}

impl Sandbox {
    pub fn isolation(&self) -> Isolation {
        self.isolation
    }

    pub fn control(&self) -> Control {
        self.control.clone()
    }

    /// See [`Control::spawn`].
    pub fn spawn(&self, mut process: ProcessSpec) -> Result<(), EngineError> {
        process.cwd = self.visible(&process.cwd);
        self.control.spawn(process)
    }

    /// See [`Control::kill_all`].
    pub fn kill_all(&self) -> Result<(), EngineError> {
        self.control.kill_all()
    }

    /// The path under which processes inside see a mount's target. The same path, except that
    /// without namespaces ([`Isolation::None`]) nothing can be mounted anywhere and the source is
    /// used in place. A process's folder is translated by [`Sandbox::spawn`]; paths in arguments
    /// and variables are the caller's.
    pub fn visible(&self, inside: &Path) -> PathBuf {
        inside
            .ancestors()
            .find_map(|a| Some((self.paths.get(a)?, inside.strip_prefix(a).ok()?)))
            .map_or_else(
                || inside.to_owned(),
                |(source, rest)| {
                    if rest.as_os_str().is_empty() {
                        source.clone()
                    } else {
                        source.join(rest)
                    }
                },
            )
    }

    /// The next event; after [`SandboxEvent::Closed`], `None`. Cancel-safe.
    pub async fn next(&mut self) -> Option<SandboxEvent> {
        self.events.recv().await
    }

    /// Ends the sandbox and waits until nothing of it is left: processes killed, ownership of
    /// read-write mounts given back. Events that were not read are dropped.
    pub async fn close(mut self) {
        self.ask_to_end();
        self.events.close();
        while self.events.recv().await.is_some() {}
        (&mut self.driver).await.ok();
    }

    fn ask_to_end(&self) {
        self.control.requests.send(Vec::new()).ok();
    }

    /// Sends `first` (the frames that set the sandbox up), waits until process 1 is ready and
    /// leaves the rest to a task. `Err` holds what set-up said, with the vessel already gone.
    pub(super) async fn over<R, W, V>(
        mut input: W,
        mut output: R,
        vessel: V,
        first: Vec<u8>,
        shape: Shape,
    ) -> Result<Self, Failed>
    where
        R: AsyncRead + Unpin + Send + 'static,
        W: AsyncWrite + Unpin + Send + 'static,
        V: Vessel,
    {
        let mut decoder = Decoder::default();
        let start = async {
            input.write_all(&first).await.map_err(FrameError::Io)?;
            read_message(&mut output, &mut decoder).await
        };
        let answer = match timeout(START_PATIENCE, start).await {
            Ok(Ok(Some((Message::Ready, _)))) => None,
            Ok(Ok(Some((Message::Refused(refusal), _)))) => Some(Answer::Refused(refusal)),
            Ok(Ok(Some(_) | None)) => Some(Answer::Silent),
            // the set-up closed its input: what it said last is still to be read
            Ok(Err(FrameError::Io(_))) => match read_message(&mut output, &mut decoder).await {
                Ok(Some((Message::Refused(refusal), _))) => Some(Answer::Refused(refusal)),
                _ => Some(Answer::Silent),
            },
            Ok(Err(error)) => Some(Answer::Broken(error)),
            Err(_) => Some(Answer::Late(START_PATIENCE.as_secs())),
        };
        if let Some(answer) = answer {
            drop(input);
            let said = vessel.gone(Duration::from_millis(500)).await;
            return Err(Failed { answer, said });
        }
        let (requests, request_queue) = mpsc::unbounded_channel();
        let (event_queue, events) = mpsc::channel(QUEUE);
        let deadline = Instant::now() + shape.wall + WALL_GRACE;
        let driver = tokio::spawn(drive(
            input,
            output,
            decoder,
            vessel,
            request_queue,
            event_queue,
            deadline,
        ));
        Ok(Self {
            isolation: shape.isolation,
            paths: shape.paths,
            control: Control { requests },
            events,
            driver,
        })
    }
}

impl Drop for Sandbox {
    fn drop(&mut self) {
        self.ask_to_end();
    }
}

/// What the handle has to know of a sandbox.
pub(super) struct Shape {
    pub isolation: Isolation,
    pub wall: Duration,
    pub paths: BTreeMap<PathBuf, PathBuf>,
}

/// A start that failed: what was answered, and what was written on standard error.
pub(super) struct Failed {
    pub answer: Answer,
    pub said: String,
}

pub(super) enum Answer {
    Refused(Refusal),
    /// It ended without an answer.
    Silent,
    Broken(FrameError),
    Late(u64),
}

/// Why the conversation ended.
enum End {
    /// The owner closed or dropped the sandbox.
    Asked,
    /// Process 1 closed its output; with the reason that it gave.
    Itself(Option<String>),
    Broken(FrameError),
    Wall,
}

async fn drive<R, W, V>(
    input: W,
    mut output: R,
    mut decoder: Decoder,
    mut vessel: V,
    requests: mpsc::UnboundedReceiver<Vec<u8>>,
    events: mpsc::Sender<SandboxEvent>,
    deadline: Instant,
) where
    R: AsyncRead + Unpin + Send,
    W: AsyncWrite + Unpin + Send,
    V: Vessel,
{
    let ended = {
        let reader = pass_events(&mut output, &mut decoder, &events);
        let writer = pass_requests(input, requests);
        tokio::pin!(reader, writer);
        tokio::select! {
            ended = &mut reader => ended,
            ended = &mut writer => ended,
            () = sleep_until(deadline) => End::Wall,
        }
    };
    let reason = match ended {
        End::Asked => None,
        End::Itself(reason) => Some(reason),
        End::Broken(error) => {
            vessel.kill();
            Some(Some(format!("the sandbox's messages are broken: {error}")))
        }
        End::Wall => {
            vessel.kill();
            let hit = SandboxEvent::LimitHit {
                limit: "wall".into(),
                detail: "process 1 did not end at its wall limit and was killed from outside"
                    .into(),
            };
            // never wait for an owner that does not read
            events.try_send(hit).ok();
            Some(Some("wall limit".into()))
        }
    };
    let said = vessel.gone(END_PATIENCE).await;
    let reason = reason.map(|given| {
        given.unwrap_or_else(|| {
            if said.is_empty() {
                "process 1 ended".into()
            } else {
                format!("process 1 ended: {said}")
            }
        })
    });
    events.send(SandboxEvent::Closed { reason }).await.ok();
}

async fn pass_requests(
    mut input: impl AsyncWrite + Unpin,
    mut requests: mpsc::UnboundedReceiver<Vec<u8>>,
) -> End {
    // an empty frame asks for the end; so does the loss of the last control
    while let Some(frame) = requests.recv().await {
        if frame.is_empty() {
            break;
        }
        if input.write_all(&frame).await.is_err() || input.flush().await.is_err() {
            // process 1 is gone: the reader has its last words and ends the conversation
            std::future::pending::<()>().await;
        }
    }
    input.shutdown().await.ok();
    End::Asked
}

async fn pass_events(
    output: &mut (impl AsyncRead + Unpin),
    decoder: &mut Decoder,
    events: &mpsc::Sender<SandboxEvent>,
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
            Message::Killed { processes } => SandboxEvent::Killed { processes },
            Message::Ending { reason } => return End::Itself(Some(reason)),
            // twice ready, or refused after being ready: nothing to tell the owner
            Message::Ready | Message::Refused(_) => continue,
        };
        // without an owner there is still the end of the stream to wait for
        events.send(event).await.ok();
    }
}

/// The next message; `None` at a clean end.
async fn read_message(
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
