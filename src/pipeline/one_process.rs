//! A sandbox for one process: run to its end, its output kept in a file.

use std::fs::File;
use std::io::Write;
use std::path::Path;

use super::error::Stop;
use crate::engine::{Loss, ProcessStatus, Sandbox, SandboxEvent};

/// The end of the output that is told with a failure.
const TOLD_BYTES: usize = 600;

/// Hears the only process of a sandbox out, into `log`. `Err` inside: it failed, with the end of
/// what it said. `what` names it ("the build").
pub(super) async fn to_its_end(
    sandbox: &mut Sandbox,
    what: &str,
    log: &Path,
) -> Result<Result<(), String>, Stop> {
    let io = |e: std::io::Error| Stop::Fault(format!("{}: {e}", log.display()));
    let mut file = File::create(log).map_err(io)?;
    let mut tail: Vec<u8> = Vec::new();
    while let Some(event) = sandbox.next().await {
        match event {
            SandboxEvent::Output { bytes, .. } => {
                file.write_all(&bytes).map_err(io)?;
                tail.extend_from_slice(&bytes);
                let extra = tail.len().saturating_sub(TOLD_BYTES);
                tail.drain(..extra);
            }
            SandboxEvent::Exited {
                status: ProcessStatus::Exited(0),
                ..
            } => return Ok(Ok(())),
            SandboxEvent::Exited { status, .. } => {
                let how = match status {
                    ProcessStatus::Exited(code) => format!("{what} exited with {code}"),
                    ProcessStatus::Signaled(signal) => {
                        format!("{what} was ended by signal {signal}")
                    }
                };
                return Ok(Err(format!(
                    "{how}: {}",
                    String::from_utf8_lossy(&tail).trim()
                )));
            }
            SandboxEvent::LimitHit { limit, detail } => {
                return Ok(Err(format!("{what} hit its {limit} limit: {detail}")));
            }
            SandboxEvent::Closed {
                reason: Some(Loss::Inside(reason)),
            } => return Ok(Err(format!("{what} ended its sandbox: {reason}"))),
            SandboxEvent::Closed { reason } => {
                return Err(Stop::Fault(format!(
                    "the sandbox of {what} ended: {}",
                    Loss::told(reason)
                )));
            }
            SandboxEvent::NotStarted { message, .. } => {
                return Ok(Err(format!("{what} did not start: {message}")));
            }
            _ => {}
        }
    }
    Err(Stop::Fault(format!("the sandbox of {what} ended")))
}
