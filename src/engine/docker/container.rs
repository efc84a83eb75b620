//! A container that holds a sandbox up: its end, and who brought it about.

use std::time::Duration;

use bollard::models::ContainerState;
use bollard::query_parameters::RemoveContainerOptionsBuilder;
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep, timeout};

use super::Docker;
use super::call::{is_missing, one_line, refusal, within};
use crate::engine::driver::{Gone, Vessel};
use crate::engine::ownership::Lent;

/// What the daemon may take to say what became of a container.
const LOOK_PATIENCE: Duration = Duration::from_secs(5);
/// What removing it may take, with a restart of the daemon meanwhile. What is not removed by then
/// is left to whoever reaps.
const REMOVE_PATIENCE: Duration = Duration::from_secs(15);
/// Killed by somebody: 128 and the signal's number.
const KILLED: i64 = 137;

/// From its creation to its removal.
pub(super) struct Container {
    docker: Docker,
    id: String,
    said: Option<JoinHandle<String>>,
    lent: Option<Lent>,
    removed: bool,
}

impl Container {
    pub(super) fn new(docker: Docker, id: String, lent: Lent) -> Self {
        Self {
            docker,
            id,
            said: None,
            lent: Some(lent),
            removed: false,
        }
    }

    pub(super) fn id(&self) -> &str {
        &self.id
    }

    /// What becomes what it said when its streams are closed.
    pub(super) fn listens(&mut self, said: JoinHandle<String>) {
        self.said = Some(said);
    }

    /// Removes a container that never came to run.
    pub(super) async fn discard(mut self) {
        self.remove().await;
        self.give_back().await;
    }

    /// What ended it from outside, as far as can be told before we end it ourselves.
    async fn fault(&self) -> Option<String> {
        let looked = self.docker.client.inspect_container(&self.id, None);
        match within(LOOK_PATIENCE, looked).await {
            Ok(Ok(inspected)) => verdict(&inspected.state.unwrap_or_default()),
            Ok(Err(error)) if is_missing(&error) => {
                Some("the container was removed by someone else while it ran".into())
            }
            Ok(Err(error)) => match self.docker.reachable().await {
                Err(unavailable) => Some(format!("the container engine went away: {unavailable}")),
                Ok(()) if refusal(&error).is_some() => None,
                Ok(()) => Some("the container engine was restarted while the container ran".into()),
            },
            Err(_) => Some(format!(
                "the container engine hangs: it said nothing about the container for {} s",
                LOOK_PATIENCE.as_secs()
            )),
        }
    }

    /// Kills and removes it; whether it is gone.
    async fn remove(&mut self) -> bool {
        let until = Instant::now() + REMOVE_PATIENCE;
        while Instant::now() < until {
            let left = until - Instant::now();
            match within(left, remove(&self.docker, &self.id)).await {
                Ok(Ok(())) => {
                    self.removed = true;
                    return true;
                }
                Ok(Err(error)) if is_missing(&error) => {
                    self.removed = true;
                    return true;
                }
                // somebody else is at it, or the daemon is on its way back
                Ok(Err(_)) => sleep(Duration::from_millis(100)).await,
                Err(_) => break,
            }
        }
        tracing::warn!(container = self.id, "a container was not removed");
        false
    }

    async fn give_back(&mut self) {
        if let Some(lent) = self.lent.take() {
            tokio::task::spawn_blocking(move || drop(lent)).await.ok();
        }
    }
}

/// With force: what runs in it is killed first, and its own volumes go with it.
pub(super) async fn remove(docker: &Docker, id: &str) -> Result<(), bollard::errors::Error> {
    let options = RemoveContainerOptionsBuilder::new()
        .force(true)
        .v(true)
        .build();
    docker.client.remove_container(id, Some(options)).await
}

impl Vessel for Container {
    async fn gone(mut self, patience: Duration) -> Gone {
        // its streams close when process 1 has ended, and everything with it
        let mut said = self.said.take();
        let mut ended = None;
        if let Some(said) = &mut said {
            ended = timeout(patience, &mut *said).await.ok();
        }
        let fault = self.fault().await;
        self.remove().await;
        if let (None, Some(said)) = (&ended, &mut said) {
            ended = timeout(Duration::from_secs(1), &mut *said).await.ok();
            said.abort();
        }
        self.give_back().await;
        Gone {
            said: ended.and_then(Result::ok).unwrap_or_default(),
            fault,
        }
    }
}

impl Drop for Container {
    /// A start that was given up half way.
    fn drop(&mut self) {
        if self.removed {
            return;
        }
        let (docker, id) = (self.docker.clone(), std::mem::take(&mut self.id));
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            runtime.spawn(async move { remove(&docker, &id).await.ok() });
        }
    }
}

/// Who ended a container, by how it ended.
fn verdict(state: &ContainerState) -> Option<String> {
    if state.running == Some(true) {
        return None;
    }
    let error = state.error.as_deref().unwrap_or("");
    if error.contains("no space left on device") {
        return Some(format!(
            "no space is left on the disk of the container engine: {error}"
        ));
    }
    match (state.oom_killed, state.exit_code) {
        (Some(true), Some(KILLED)) => Some(
            "the kernel killed the container: it was out of memory, beyond all its limits".into(),
        ),
        (_, Some(KILLED)) => Some("the container was killed by someone else while it ran".into()),
        _ if !error.is_empty() => Some(format!("the container engine: {}", one_line(error))),
        _ => None,
    }
}

/// Eight hexadecimal digits that nobody else has.
pub(super) fn random_name() -> String {
    let mut bytes = [0; 4];
    // without the kernel's randomness a clash is refused by name, not silent
    getrandom::fill(&mut bytes).ok();
    crate::domain::hex(&bytes)
}
