//! A container that holds a sandbox up: its end, and who brought it about.

use std::time::Duration;

use bollard::models::{ContainerState, ContainerStateStatusEnum};
use bollard::query_parameters::RemoveContainerOptionsBuilder;
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep, timeout};

use super::call::{is_missing, is_unread, one_line, refusal, within};
use super::held::Held;
use super::{Docker, by_hand};
use crate::engine::driver::{Fault, Gone, Vessel};
use crate::engine::ownership::Lent;

/// What the daemon may take to say what became of a container.
const LOOK_PATIENCE: Duration = Duration::from_secs(5);
/// What passes between the end of a container's streams and the daemon's word that it has ended.
pub(super) const SETTLE_PATIENCE: Duration = Duration::from_secs(3);
/// What removing it may take, with a restart of the daemon meanwhile. What is not removed by then
/// is left to whoever reaps.
const REMOVE_PATIENCE: Duration = Duration::from_secs(15);
/// For how long, and how often, one that nobody waits for any more is tried to be removed.
const LOST_PATIENCE: Duration = Duration::from_secs(60);
const LOST_PAUSE: Duration = Duration::from_millis(500);
/// Killed by somebody: 128 and the signal's number.
const KILLED: i64 = 137;
const REMOVED: &str = "the container was removed by someone else while it ran";

/// From before its creation to its removal.
pub(super) struct Container {
    docker: Docker,
    held: Option<Held>,
    /// Absent: its creation was not confirmed (yet).
    id: Option<String>,
    said: Option<JoinHandle<String>>,
    lent: Option<Lent>,
    removed: bool,
}

impl Container {
    /// One that is to be created, under the name that is held.
    pub(super) fn new(docker: Docker, lent: Lent) -> Self {
        Self {
            docker,
            held: Some(Held::new()),
            id: None,
            said: None,
            lent: Some(lent),
            removed: false,
        }
    }

    /// Its id; before that is known its name, which the daemon takes as well.
    pub(super) fn id(&self) -> &str {
        let name = || self.held.as_ref().map_or("", Held::name);
        self.id.as_deref().unwrap_or_else(name)
    }

    pub(super) fn created(&mut self, id: String) {
        self.id = Some(id);
    }

    /// The daemon refused to create it.
    pub(super) async fn was_refused(mut self) {
        self.removed = true;
        self.give_back().await;
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

    /// What ended it, as far as can be told before we end it ourselves. `silent`: its streams are
    /// closed.
    async fn fault(&self, silent: bool) -> Option<Fault> {
        let until = Instant::now() + SETTLE_PATIENCE;
        let machine = |why: String| Some(Fault::Machine(why));
        loop {
            let looked = self.docker.client.inspect_container(self.id(), None);
            return match within(LOOK_PATIENCE, looked).await {
                Ok(Ok(inspected)) => {
                    let state = inspected.state.unwrap_or_default();
                    // it says only afterwards by what it ended
                    let stopping = state.status == Some(ContainerStateStatusEnum::STOPPING);
                    if stopping && Instant::now() < until {
                        sleep(Duration::from_millis(20)).await;
                        continue;
                    }
                    if silent && state.running == Some(true) {
                        if Instant::now() < until {
                            sleep(Duration::from_millis(20)).await;
                            continue;
                        }
                        return machine("the container engine dropped its streams".into());
                    }
                    verdict(&state)
                }
                Ok(Err(error)) if is_missing(&error) => machine(REMOVED.into()),
                Ok(Err(error)) if is_unread(&error) && Instant::now() < until => {
                    sleep(Duration::from_millis(20)).await;
                    continue;
                }
                Ok(Err(error)) => match self.docker.reachable().await {
                    Err(gone) => machine(format!("the container engine went away: {gone}")),
                    Ok(()) if refusal(&error).is_some() => None,
                    Ok(()) => {
                        machine("the container engine was restarted while the container ran".into())
                    }
                },
                Err(_) => machine(format!(
                    "the container engine hangs: it said nothing about the container for {} s",
                    LOOK_PATIENCE.as_secs()
                )),
            };
        }
    }

    /// Ends what runs in it where the daemon does not.
    async fn kill_by_hand(&self) {
        if let Some(id) = self.id.clone() {
            let killing = move || by_hand::kill_first(&id);
            tokio::task::spawn_blocking(killing).await.ok();
        }
    }

    /// Kills and removes it; whether it is gone.
    async fn remove(&mut self) -> bool {
        let until = Instant::now() + REMOVE_PATIENCE;
        let mut by_hand = false;
        while Instant::now() < until {
            let left = until - Instant::now();
            match within(left, remove(&self.docker, self.id())).await {
                Ok(Ok(())) => {
                    self.removed = true;
                    return true;
                }
                Ok(Err(error)) if is_missing(&error) => {
                    self.removed = true;
                    return true;
                }
                // somebody else is at it, or the daemon is on its way back
                Ok(Err(_)) => {
                    if !std::mem::replace(&mut by_hand, true) {
                        self.kill_by_hand().await;
                    }
                    sleep(Duration::from_millis(100)).await;
                }
                Err(_) => break,
            }
        }
        tracing::warn!(container = self.id(), "a container was not removed");
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
    async fn gone(mut self, patience: Duration, asks: bool) -> Gone {
        // its streams close when process 1 has ended, and everything with it
        let mut said = self.said.take();
        let mut ended = None;
        if let Some(said) = &mut said {
            ended = timeout(patience, &mut *said).await.ok();
        }
        // before a kill of ours, which would look like somebody's
        let fault = if asks {
            self.fault(ended.is_some()).await
        } else {
            None
        };
        if said.is_some() && ended.is_none() {
            self.kill_by_hand().await;
        }
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
    /// A start that was given up half way, or a daemon that did not remove it in time. What this
    /// does not reach is left to whoever reaps.
    fn drop(&mut self) {
        if self.removed {
            return;
        }
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            let (docker, held) = (self.docker.clone(), self.held.take());
            runtime.spawn(remove_lost(docker, held, self.id.take()));
        }
    }
}

async fn remove_lost(docker: Docker, held: Option<Held>, id: Option<String>) {
    let until = Instant::now() + LOST_PATIENCE;
    let named = id.as_deref().or(held.as_ref().map(Held::name));
    while let Some(named) = named.filter(|_| Instant::now() < until) {
        match within(LOST_PATIENCE, remove(&docker, named)).await {
            Ok(Ok(())) => return,
            // where its creation was not confirmed it may still be under way
            Ok(Err(error)) if is_missing(&error) && id.is_some() => return,
            _ => sleep(LOST_PAUSE).await,
        }
    }
}

/// Who ended a container, by how it ended.
fn verdict(state: &ContainerState) -> Option<Fault> {
    let machine = |why: String| Some(Fault::Machine(why));
    if state.paused == Some(true) {
        return machine("the container was paused by someone else while it ran".into());
    }
    if state.running == Some(true) {
        return None;
    }
    let going = [
        ContainerStateStatusEnum::REMOVING,
        ContainerStateStatusEnum::DEAD,
    ];
    if state.status.is_some_and(|status| going.contains(&status)) {
        return machine(REMOVED.into());
    }
    let error = state.error.as_deref().unwrap_or("");
    if error.contains("no space left on device") {
        return machine(format!(
            "no space is left on the disk of the container engine: {error}"
        ));
    }
    match (state.oom_killed, state.exit_code) {
        // what took the memory is in the container: its group is its own
        (Some(true), Some(KILLED)) => Some(Fault::Memory(
            "the kernel killed process 1: the sandbox was out of memory, beyond all its limits"
                .into(),
        )),
        (_, Some(KILLED)) => {
            machine("the container was killed by someone else while it ran".into())
        }
        _ if !error.is_empty() => machine(format!("the container engine: {}", one_line(error))),
        _ => None,
    }
}
