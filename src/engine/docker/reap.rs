//! What dead workers left: containers of ours whose owner is no more.

use std::collections::HashMap;
use std::time::Duration;

use bollard::models::ContainerSummary;
use bollard::query_parameters::{ListContainersOptions, ListContainersOptionsBuilder};
use tokio::time::{Instant, sleep};

use super::Docker;
use super::call::{is_missing, is_unread};
use super::container::{SETTLE_PATIENCE, remove};
use super::held::is_held;
use super::owner::{self, Fate, fate};
use crate::engine::EngineError;

/// A container whose owner is dead.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Leftover {
    pub id: String,
    pub name: String,
    /// The run that it was for, and what it did there.
    pub run: String,
    pub purpose: String,
    /// The hash of its home; whether that is ours.
    pub home: String,
    pub of_this_home: bool,
    /// `running`, `exited` and the like.
    pub state: String,
}

impl Docker {
    /// Containers with our labels whose owner is surely dead, of any home on this machine; and those
    /// of this process that it lost sight of.
    pub async fn leftovers(&self) -> Result<Vec<Leftover>, EngineError> {
        let ours = HashMap::from([("label", vec![owner::HOME])]);
        let options = ListContainersOptionsBuilder::new()
            .all(true)
            .filters(&ours)
            .build();
        let listed = self
            .call("listing containers", self.listed(options))
            .await?;
        let own_home = owner::home_label(&self.owner.home);
        let mut found = Vec::new();
        for container in listed {
            let labels = container.labels.unwrap_or_default();
            let name = (container.names.unwrap_or_default().first())
                .map_or_else(String::new, |name| name.trim_start_matches('/').to_owned());
            let left = match fate(&labels) {
                Fate::Dead => true,
                Fate::Own => !is_held(&name),
                Fate::Alive | Fate::Unknown => false,
            };
            let Some(id) = container.id.filter(|_| left) else {
                continue;
            };
            let label = |name: &str| labels.get(name).cloned().unwrap_or_default();
            found.push(Leftover {
                id,
                name,
                run: label(owner::RUN),
                purpose: label(owner::PURPOSE),
                of_this_home: label(owner::HOME) == own_home,
                home: label(owner::HOME),
                state: container.state.map_or_else(String::new, |s| s.to_string()),
            });
        }
        Ok(found)
    }

    /// Asks again while one of them is on its way out.
    async fn listed(
        &self,
        options: ListContainersOptions,
    ) -> Result<Vec<ContainerSummary>, bollard::errors::Error> {
        let until = Instant::now() + SETTLE_PATIENCE;
        loop {
            let listed = self.client.list_containers(Some(options.clone())).await;
            match listed {
                Err(error) if is_unread(&error) && Instant::now() < until => {
                    sleep(Duration::from_millis(20)).await;
                }
                listed => return listed,
            }
        }
    }

    /// Removes a leftover, running or not; `false` when it was gone already.
    pub async fn reap(&self, leftover: &Leftover) -> Result<bool, EngineError> {
        match remove(self, &leftover.id).await {
            Ok(()) => Ok(true),
            Err(error) if is_missing(&error) => Ok(false),
            Err(error) => Err(self.explain("removing a container", &error).await),
        }
    }

    /// Removes what dead workers of this home left, beside whatever else is done. Nobody waits for
    /// it and nothing fails with it: what it cannot remove is there for the next one.
    pub fn reap_dead_in_background(&self) {
        let docker = self.clone();
        let Ok(runtime) = tokio::runtime::Handle::try_current() else {
            return;
        };
        runtime.spawn(async move {
            let leftovers = docker.leftovers().await.unwrap_or_else(|error| {
                tracing::debug!(%error, "no look at what dead workers left");
                Vec::new()
            });
            for leftover in leftovers.iter().filter(|l| l.of_this_home) {
                match docker.reap(leftover).await {
                    Ok(_) => tracing::debug!(name = leftover.name, "removed a dead worker's container"),
                    Err(error) => {
                        tracing::debug!(name = leftover.name, %error, "a dead worker's container stays");
                    }
                }
            }
        });
    }
}
