//! Calls of the daemon: bounded in time, and their errors in our own words.

use std::time::Duration;

use bollard::errors::Error;
use tokio::time::error::Elapsed;
use tokio::time::{Instant, timeout};

use super::find::{ASK_LIMIT, ask};
use super::{Docker, DockerUnavailable};
use crate::engine::EngineError;

/// What any one call may take; creating a container on a slow disk takes seconds.
pub(super) const CALL_PATIENCE: Duration = Duration::from_secs(60);

/// After this long a call is slow, and it is time to ask whether anybody is there at all.
const PROMPT: Duration = Duration::from_secs(8);

/// The call's own answer, or that there was none in time.
pub(super) async fn within<T>(
    limit: Duration,
    call: impl Future<Output = Result<T, Error>>,
) -> Result<Result<T, Error>, Elapsed> {
    timeout(limit, call).await
}

/// The daemon's words, where it has answered.
pub(super) fn refusal(error: &Error) -> Option<(u16, &str)> {
    match error {
        Error::DockerResponseServerError {
            status_code,
            message,
        } => Some((*status_code, message)),
        _ => None,
    }
}

/// Whether what was asked about is not there (any more).
pub(super) fn is_missing(error: &Error) -> bool {
    refusal(error).is_some_and(|(code, _)| code == 404)
}

/// Whether the answer has a word that Docker's API does not know: podman calls a container `stopped`
/// until it has looked after its end.
pub(super) fn is_unread(error: &Error) -> bool {
    matches!(error, Error::JsonDataError { .. })
}

impl Docker {
    /// Calls the daemon; an error that is not the daemon's own is looked into.
    pub(super) async fn call<T>(
        &self,
        doing: &'static str,
        call: impl Future<Output = Result<T, Error>>,
    ) -> Result<T, EngineError> {
        tokio::pin!(call);
        let begun = Instant::now();
        let mut answer = within(PROMPT, &mut call).await;
        if answer.is_err() {
            self.reachable().await.map_err(EngineError::Docker)?;
            let left = CALL_PATIENCE.saturating_sub(begun.elapsed());
            answer = within(left, &mut call).await;
        }
        match answer {
            Ok(Ok(value)) => Ok(value),
            Ok(Err(error)) => Err(self.explain(doing, &error).await),
            Err(_) => Err(EngineError::Docker(DockerUnavailable::Hangs {
                socket: self.daemon().socket.clone(),
                seconds: CALL_PATIENCE.as_secs(),
            })),
        }
    }

    /// What an error means.
    pub(super) async fn explain(&self, doing: &'static str, error: &Error) -> EngineError {
        if let Some((_, message)) = refusal(error) {
            return refused(doing, message);
        }
        // no answer at all: is the daemon there?
        match self.reachable().await {
            Err(unavailable) => EngineError::Docker(unavailable),
            Ok(()) => EngineError::Daemon {
                doing,
                message: error.to_string(),
            },
        }
    }

    /// Whether the daemon answers now.
    pub(super) async fn reachable(&self) -> Result<(), DockerUnavailable> {
        let socket = self.daemon().socket.clone();
        let asked = tokio::task::spawn_blocking(move || ask(&socket, ASK_LIMIT));
        match asked.await {
            Ok(answer) => answer.map(drop),
            Err(_) => Ok(()),
        }
    }
}

/// A refusal by the daemon, by its words: it has no codes for these.
fn refused(doing: &'static str, message: &str) -> EngineError {
    let message = one_line(message);
    if message.contains("no space left on device") {
        return EngineError::NoSpace { message };
    }
    if let Some(path) = message.split("bind source path does not exist: ").nth(1) {
        return EngineError::Mount {
            what: path.trim().into(),
            message: "the container engine does not see it: is it a file of this machine, outside \
                      private /tmp folders?"
                .into(),
        };
    }
    if message.contains("could not select device driver")
        || message.contains("nvidia-container-cli")
    {
        return EngineError::NoGpus { message };
    }
    EngineError::Daemon { doing, message }
}

/// Untrusted text as one line of bounded length.
pub(super) fn one_line(text: &str) -> String {
    const LONGEST: usize = 400;
    let flat: String = text
        .split_whitespace()
        .collect::<Vec<_>>()
        .join(" ")
        .chars()
        .filter(|c| !c.is_control())
        .collect();
    match flat.char_indices().nth(LONGEST) {
        Some((at, _)) => format!("{}…", &flat[..at]),
        None => flat,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_daemons_words_become_named_errors() {
        let kind = |text| match refused("starting", text) {
            EngineError::NoSpace { .. } => "space",
            EngineError::Mount { what, .. } if what == "/x y" => "mount",
            EngineError::NoGpus { .. } => "gpus",
            EngineError::Daemon { .. } => "daemon",
            _ => "other",
        };
        assert_eq!(
            kind("mkdir /var/lib/docker/x: no space left on device"),
            "space"
        );
        assert_eq!(
            kind("invalid mount config for type \"bind\": bind source path does not exist: /x y"),
            "mount"
        );
        assert_eq!(
            kind("could not select device driver \"\" with capabilities: [[gpu]]"),
            "gpus"
        );
        assert_eq!(kind("anything else"), "daemon");
    }

    #[test]
    fn a_long_text_is_one_short_line() {
        assert_eq!(one_line("a\n\tb\u{1b}[31m"), "a b[31m");
        assert_eq!(one_line(&"é".repeat(1000)).chars().count(), 401);
    }
}
