//! What dead workers left: containers of ours whose owner is no more.

use std::collections::HashMap;

use bollard::query_parameters::ListContainersOptionsBuilder;

use super::Docker;
use super::call::is_missing;
use super::container::remove;
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
    /// Containers with our labels whose owner is surely dead, of any home on this machine.
    pub async fn leftovers(&self) -> Result<Vec<Leftover>, EngineError> {
        let ours = HashMap::from([("label", vec![owner::HOME])]);
        let options = ListContainersOptionsBuilder::new()
            .all(true)
            .filters(&ours)
            .build();
        let listed = self
            .call(
                "listing containers",
                self.client.list_containers(Some(options)),
            )
            .await?;
        let own_home = owner::home_label(&self.owner.home);
        let mut found = Vec::new();
        for container in listed {
            let labels = container.labels.unwrap_or_default();
            let Some(id) = container.id.filter(|_| fate(&labels) == Fate::Dead) else {
                continue;
            };
            let label = |name: &str| labels.get(name).cloned().unwrap_or_default();
            found.push(Leftover {
                id,
                name: (container.names.unwrap_or_default().first())
                    .map_or_else(String::new, |name| name.trim_start_matches('/').to_owned()),
                run: label(owner::RUN),
                purpose: label(owner::PURPOSE),
                of_this_home: label(owner::HOME) == own_home,
                home: label(owner::HOME),
                state: container.state.map_or_else(String::new, |s| s.to_string()),
            });
        }
        Ok(found)
    }

    /// Removes a leftover, running or not; `false` when it was gone already.
    pub async fn reap(&self, leftover: &Leftover) -> Result<bool, EngineError> {
        match remove(self, &leftover.id).await {
            Ok(()) => Ok(true),
            Err(error) if is_missing(&error) => Ok(false),
            Err(error) => Err(self.explain("removing a container", &error).await),
        }
    }

    /// Removes every leftover; those that were there.
    pub async fn reap_all(&self) -> Result<Vec<Leftover>, EngineError> {
        let mut reaped = Vec::new();
        for leftover in self.leftovers().await? {
            if self.reap(&leftover).await? {
                reaped.push(leftover);
            }
        }
        Ok(reaped)
    }
}
