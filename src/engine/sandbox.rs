//! The worker's handle on a sandbox, the same for every engine.
//!
//! A task of its own talks to process 1, so that limits hold and everything ends even when the
//! owner of the handle is slow, drops it, or never asks for events. Events wait in a bounded queue:
//! an owner that does not read slows the processes inside down, never the kill or the limits.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio::time::timeout;

use super::driver::{Fault, Gone, Lines, Outgoing, Vessel, drive, read_message};
use super::frame::{Decoder, FrameError, encode};
use super::{
    EngineError, Isolation, Message, ProcessSpec, Refusal, Request, SandboxEvent, TerminalSize,
};

/// Events that wait for the owner before the sandbox is slowed down.
const QUEUE: usize = 256;
/// A start takes milliseconds; on a machine in trouble it fails instead of hanging.
const START_PATIENCE: Duration = Duration::from_secs(20);

/// What the end of a failed start may take before it is enforced.
const FAILED_PATIENCE: Duration = Duration::from_millis(500);

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
    requests: mpsc::UnboundedSender<Outgoing>,
}

impl Control {
    /// Starts a process. What became of that comes as an event. Fails when the sandbox has ended
    /// or the specification is over the bounds of a frame.
    pub fn spawn(&self, mut process: ProcessSpec) -> Result<(), EngineError> {
        let stdin = std::mem::take(&mut process.stdin);
        self.send(Outgoing::Frame(encode(&Request::Spawn(process), &stdin)?))
    }

    /// As [`Control::spawn`], with a terminal of its own for all its streams: what it writes comes as
    /// standard output, and no output limit holds.
    pub fn spawn_on_terminal(
        &self,
        process: ProcessSpec,
        size: TerminalSize,
    ) -> Result<(), EngineError> {
        let request = Request::SpawnOnTerminal(process, size);
        self.send(Outgoing::Frame(encode(&request, &[])?))
    }

    /// Types on the terminal of a process; nothing happens where it has none.
    pub fn typed(&self, id: u32, bytes: &[u8]) -> Result<(), EngineError> {
        self.send(Outgoing::Frame(encode(&Request::Typed { id }, bytes)?))
    }

    /// Sets the size of a process's terminal, which is told so.
    pub fn resize(&self, id: u32, size: TerminalSize) -> Result<(), EngineError> {
        self.send(Outgoing::Frame(encode(&Request::Resize { id, size }, &[])?))
    }

    /// Kills every process in the sandbox, whatever it did to hide; answered by
    /// [`SandboxEvent::Killed`] when none is left, after the ends of the processes that were asked
    /// for. The sandbox can be used again afterwards. Where process 1 does not answer (it can be
    /// starved from inside) the sandbox is killed from outside and closes.
    pub fn kill_all(&self) -> Result<(), EngineError> {
        self.send(Outgoing::Kill(encode(&Request::KillAll, &[])?))
    }

    fn send(&self, outgoing: Outgoing) -> Result<(), EngineError> {
        self.requests.send(outgoing).map_err(|_| EngineError::Ended)
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

    /// See [`Control::spawn_on_terminal`].
    pub fn spawn_on_terminal(
        &self,
        mut process: ProcessSpec,
        size: TerminalSize,
    ) -> Result<(), EngineError> {
        process.cwd = self.visible(&process.cwd);
        self.control.spawn_on_terminal(process, size)
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
        self.control.send(Outgoing::End).ok();
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
            timeout(FAILED_PATIENCE, input.shutdown()).await.ok();
            drop((input, output));
            let Gone { said, fault } = vessel.gone(FAILED_PATIENCE, true).await;
            return Err(Failed {
                answer,
                said,
                fault,
            });
        }
        let (requests, request_queue) = mpsc::unbounded_channel();
        let (event_queue, events) = mpsc::channel(QUEUE);
        let lines = Lines {
            input,
            output,
            decoder,
        };
        let driver = tokio::spawn(drive(lines, vessel, request_queue, event_queue, shape.wall));
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
    pub fault: Option<Fault>,
}

pub(super) enum Answer {
    Refused(Refusal),
    /// It ended without an answer.
    Silent,
    Broken(FrameError),
    Late(u64),
}
