//! What the tests see of a container daemon, past our own code: the containers of one test.

use std::collections::HashMap;
use std::path::Path;
use std::time::{Duration, Instant};

use bollard::ClientVersion;
use bollard::models::{ContainerCreateBody, ContainerInspectResponse, ContainerState};
use bollard::query_parameters::{
    CreateContainerOptionsBuilder, KillContainerOptionsBuilder, ListContainersOptionsBuilder,
    RemoveContainerOptionsBuilder,
};
use infradev::engine::docker::{CPU_IMAGE, Docker, Leftover, Owner};

use crate::house::PATIENCE;

/// The containers of one run, which is one test's.
#[derive(Clone)]
pub struct Containers {
    client: bollard::Docker,
    pub docker: Docker,
    pub run: String,
}

/// Who starts the containers of a test.
pub fn owner(run: &str) -> Owner {
    Owner {
        home: env!("CARGO_TARGET_TMPDIR").into(),
        run: run.into(),
    }
}

impl Containers {
    pub fn new(docker: Docker, run: String) -> Self {
        let api = docker.daemon().api;
        let version = ClientVersion {
            major_version: api.0,
            minor_version: api.1,
        };
        let socket = docker.daemon().socket.to_str().unwrap();
        let client =
            bollard::Docker::connect_with_unix(socket, PATIENCE.as_secs(), &version).unwrap();
        Self {
            client,
            docker,
            run,
        }
    }

    /// Their ids, whatever state they are in.
    pub async fn ids(&self) -> Vec<String> {
        let filter = HashMap::from([("label", vec![format!("infradev.run={}", self.run)])]);
        let options = ListContainersOptionsBuilder::new()
            .all(true)
            .filters(&filter)
            .build();
        // podman has a word of its own for one that is on its way out
        let mut listed = self.client.list_containers(Some(options.clone())).await;
        while let Err(bollard::errors::Error::JsonDataError { .. }) = listed {
            tokio::time::sleep(Duration::from_millis(20)).await;
            listed = self.client.list_containers(Some(options.clone())).await;
        }
        let listed = listed.unwrap();
        listed.into_iter().map(|c| c.id.unwrap()).collect()
    }

    pub async fn inspect(&self, id: &str) -> ContainerInspectResponse {
        self.client.inspect_container(id, None).await.unwrap()
    }

    /// The only one.
    pub async fn only(&self) -> ContainerInspectResponse {
        let ids = self.ids().await;
        assert_eq!(ids.len(), 1, "{ids:?}");
        self.inspect(&ids[0]).await
    }

    /// The process 1 of each that runs, as the machine numbers it.
    pub async fn firsts(&self) -> Vec<u32> {
        let mut found = Vec::new();
        for id in self.ids().await {
            if let Ok(inspected) = self.client.inspect_container(&id, None).await {
                let pid = inspected.state.and_then(|s| s.pid).unwrap_or(0);
                found.extend(u32::try_from(pid).ok().filter(|pid| *pid > 0));
            }
        }
        found
    }

    /// A container that is none of ours; its id.
    pub async fn foreign(&self, name: &str, labels: &[(&str, &str)]) -> String {
        let options = CreateContainerOptionsBuilder::new().name(name).build();
        let labels = labels.iter().map(|(n, v)| (n.to_string(), v.to_string()));
        let body = ContainerCreateBody {
            image: Some(CPU_IMAGE.into()),
            cmd: Some(vec!["/bin/sh".into()]),
            labels: Some(labels.collect()),
            ..ContainerCreateBody::default()
        };
        let created = self.client.create_container(Some(options), body).await;
        created.unwrap().id
    }

    pub async fn kill(&self, id: &str) {
        let options = KillContainerOptionsBuilder::new().signal("KILL").build();
        self.client.kill_container(id, Some(options)).await.unwrap();
    }

    pub async fn remove(&self, id: &str) {
        let options = RemoveContainerOptionsBuilder::new().force(true).build();
        let removed = self.client.remove_container(id, Some(options)).await;
        removed.unwrap();
    }

    /// Waits until none runs any more; their last states.
    pub async fn ended(&self) -> Vec<ContainerState> {
        let until = Instant::now() + PATIENCE;
        loop {
            let mut states = Vec::new();
            for id in self.ids().await {
                states.extend(self.inspect(&id).await.state);
            }
            if states.iter().all(|s| s.running == Some(false)) {
                return states;
            }
            assert!(Instant::now() < until, "{states:?}");
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }

    /// Fails when one is left after a while: what is dropped is removed without anybody waiting.
    pub async fn none_left(&self) {
        let until = Instant::now() + PATIENCE;
        loop {
            let ids = self.ids().await;
            if ids.is_empty() {
                return;
            }
            assert!(Instant::now() < until, "left: {ids:?}");
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }

    /// What a reaper would take, of this run.
    pub async fn leftovers(&self) -> Vec<Leftover> {
        let found = self.docker.leftovers().await.unwrap();
        found.into_iter().filter(|l| l.run == self.run).collect()
    }

    /// What is in the daemon's own folder of a container, in bytes, where it can be seen.
    pub fn folder_bytes(inspected: &ContainerInspectResponse) -> Option<u64> {
        let folder = Path::new(inspected.resolv_conf_path.as_ref()?).parent()?;
        let mut bytes = 0;
        for entry in folder.read_dir().ok()? {
            let metadata = entry.ok()?.metadata().ok()?;
            bytes += if metadata.is_file() {
                metadata.len()
            } else {
                0
            };
        }
        Some(bytes)
    }
}
