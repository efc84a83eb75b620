//! While a shell is open: what is typed goes in, what it says comes out.

use tokio::sync::mpsc;

use super::order::{FromPerson, ToPerson};
use super::serve::Out;
use super::site::{SHELL, Site};
use crate::engine::{Loss, ProcessStatus, SandboxEvent, TerminalSize};
use crate::pipeline::error::Stop;

/// Starts the shell and stays with it until it ends, or the person is gone.
pub(super) async fn stay(
    site: &mut Site,
    terminal: Option<TerminalSize>,
    mut typed: mpsc::UnboundedReceiver<(FromPerson, Vec<u8>)>,
    out: &Out,
) -> Result<(), Stop> {
    let fault = |e: crate::engine::EngineError| Stop::Fault(e.to_string());
    let process = site.process.clone();
    match terminal {
        Some(size) => site.sandbox.spawn_on_terminal(process, size),
        None => site.sandbox.spawn(process),
    }
    .map_err(fault)?;
    // beside the output: an interrupt gets in however much there is to read
    let control = site.sandbox.control();
    let typing = tokio::spawn(async move {
        while let Some((said, bytes)) = typed.recv().await {
            let passed = match said {
                FromPerson::Typed => control.typed(SHELL, &bytes),
                FromPerson::Resize(size) => control.resize(SHELL, size),
                FromPerson::Order(_) => Ok(()),
            };
            if passed.is_err() {
                break;
            }
        }
    });
    let stayed = hear(site, out).await;
    typing.abort();
    stayed
}

async fn hear(site: &mut Site, out: &Out) -> Result<(), Stop> {
    while let Some(event) = site.sandbox.next().await {
        match event {
            SandboxEvent::Output {
                id: SHELL,
                stream,
                bytes,
            } => {
                out.put(&ToPerson::Output(stream), &bytes).await;
            }
            SandboxEvent::Exited {
                id: SHELL, status, ..
            } => {
                out.say(ToPerson::Ended(status)).await;
                return Ok(());
            }
            SandboxEvent::NotStarted { message, .. } => return Err(Stop::Fault(message)),
            SandboxEvent::Truncated { .. } => {
                let note = "the output limit was reached: the rest is dropped";
                out.say(ToPerson::Note(note.into())).await;
            }
            SandboxEvent::LimitHit { limit, detail } => {
                let note = format!("{limit} limit: {detail}; everything in the sandbox was ended");
                out.say(ToPerson::Note(note)).await;
            }
            SandboxEvent::Closed {
                reason: Some(Loss::Inside(reason)),
            } => {
                let note = format!("the sandbox was ended from inside: {reason}");
                out.say(ToPerson::Note(note)).await;
                let killed = ProcessStatus::Signaled(nix::libc::SIGKILL);
                out.say(ToPerson::Ended(killed)).await;
                return Ok(());
            }
            SandboxEvent::Closed { reason } => {
                let why = Loss::told(reason);
                return Err(Stop::Fault(format!("the sandbox ended: {why}")));
            }
            _ => {}
        }
    }
    Err(Stop::Fault("the sandbox ended".into()))
}
