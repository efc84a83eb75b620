//! A connection to a daemon, and what is known of it.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use bollard::models::SystemInfo;
use bollard::{API_DEFAULT_VERSION, ClientVersion};

use super::call::{CALL_PATIENCE, within};
use super::find::{ASK_LIMIT, Api, Found, ask, find, oldest_spoken, places};
use super::{DockerUnavailable, Owner};

/// What a daemon may take to tell about itself.
const INFO_LIMIT: Duration = Duration::from_secs(3);
/// What one may take that did not answer in time: on a busy machine it is late, and a run that went
/// to the other engine for that would not be like its neighbours.
const PATIENCE: Duration = Duration::from_secs(12);

/// A daemon, as found when we connected.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Daemon {
    pub socket: PathBuf,
    pub api: Api,
    pub podman: bool,
    /// Its own version, and the driver that keeps its images.
    pub version: String,
    pub storage: String,
    /// It runs as an ordinary user: root in its containers is that user outside.
    pub rootless: bool,
    /// Users in its containers are others outside, unless a container asks for the host's.
    pub remapped: bool,
    /// Mounts need a label, unless a container goes without.
    pub labelled: bool,
    /// It has a way to give NVIDIA GPUs to containers; whether there are any is another question.
    pub gpus: bool,
}

/// Starts sandboxes in containers of one daemon, for one owner.
#[derive(Clone, Debug)]
pub struct Docker {
    pub(super) client: Arc<bollard::Docker>,
    daemon: Arc<Daemon>,
    pub(super) owner: Arc<Owner>,
    pub(super) binary: Option<Arc<PathBuf>>,
}

impl Docker {
    /// The daemon of this machine that this process's environment leads to. A few seconds, where
    /// one hangs some twenty.
    pub async fn connect(owner: Owner) -> Result<Self, DockerUnavailable> {
        let variable = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
        let places = places(variable)?;
        let look = |limit| {
            let places = places.clone();
            Self::over(move || find(&places, limit), owner.clone())
        };
        match look(ASK_LIMIT).await {
            Err(DockerUnavailable::Hangs { .. }) => look(PATIENCE).await,
            answer => answer,
        }
    }

    /// The daemon behind a socket.
    pub async fn connect_at(socket: &Path, owner: Owner) -> Result<Self, DockerUnavailable> {
        let socket = socket.to_owned();
        Self::over(move || ask(&socket, ASK_LIMIT), owner).await
    }

    async fn over(
        look: impl FnOnce() -> Result<Found, DockerUnavailable> + Send + 'static,
        owner: Owner,
    ) -> Result<Self, DockerUnavailable> {
        let found = match tokio::task::spawn_blocking(look).await {
            Ok(found) => found?,
            Err(_) => return Err(DockerUnavailable::Absent { looked: Vec::new() }),
        };
        let client = client(&found)?;
        let odd = |what| DockerUnavailable::Odd {
            socket: found.socket.clone(),
            what,
        };
        let info = match within(INFO_LIMIT, client.info()).await {
            Ok(Ok(info)) => info,
            Ok(Err(error)) => {
                let (socket, said) = (found.socket.clone(), error.to_string());
                let too_new = tokio::task::spawn_blocking(move || too_new(&socket));
                return Err(too_new.await.ok().flatten().unwrap_or_else(|| odd(said)));
            }
            Err(_) => {
                return Err(DockerUnavailable::Hangs {
                    socket: found.socket.clone(),
                    seconds: INFO_LIMIT.as_secs(),
                });
            }
        };
        let gpus = knows_gpus(&info);
        let options = info.security_options.unwrap_or_default();
        let option = |name: &str| {
            let named = format!("name={name}");
            options
                .iter()
                .any(|o| o.split(',').any(|part| part == named))
        };
        let daemon = Daemon {
            version: info.server_version.unwrap_or_default(),
            storage: info.driver.unwrap_or_default(),
            rootless: option("rootless"),
            remapped: option("userns"),
            labelled: option("selinux"),
            gpus,
            socket: found.socket,
            api: found.api,
            podman: found.podman,
        };
        Ok(Self {
            client: Arc::new(client),
            daemon: Arc::new(daemon),
            owner: Arc::new(owner),
            binary: None,
        })
    }

    /// With another binary of ours as process 1 than the running one.
    #[must_use]
    pub fn with_binary(mut self, binary: impl Into<PathBuf>) -> Self {
        self.binary = Some(Arc::new(binary.into()));
        self
    }

    pub fn daemon(&self) -> &Daemon {
        &self.daemon
    }
}

/// A runtime for NVIDIA GPUs, devices found by their CDI description, or the toolkit's hook, which
/// the daemon finds by itself: it runs on this machine.
fn knows_gpus(info: &SystemInfo) -> bool {
    const HOOK: &str = "/usr/bin/nvidia-container-runtime-hook";
    let runtimes = info.runtimes.iter().flatten();
    let devices = info.discovered_devices.iter().flatten();
    runtimes.into_iter().any(|(name, _)| name == "nvidia")
        || (devices.filter_map(|d| d.id.as_deref())).any(|id| id.starts_with("nvidia.com/gpu"))
        || Path::new(HOOK).exists()
}

/// Whether a daemon that refused us did so because it no longer speaks any version of ours.
fn too_new(socket: &Path) -> Option<DockerUnavailable> {
    let oldest = oldest_spoken(socket, ASK_LIMIT)?;
    (oldest > newest()).then(|| DockerUnavailable::TooNew {
        socket: socket.into(),
        oldest: oldest.to_string(),
        newest: newest().to_string(),
    })
}

fn newest() -> Api {
    Api(
        API_DEFAULT_VERSION.major_version,
        API_DEFAULT_VERSION.minor_version,
    )
}

/// In the newest version of the interface that both sides speak. (The client's own negotiation asks
/// in its newest version, which daemons before 24 refuse.)
fn client(found: &Found) -> Result<bollard::Docker, DockerUnavailable> {
    let Api(major_version, minor_version) = found.api.min(newest());
    let version = ClientVersion {
        major_version,
        minor_version,
    };
    let odd = |what| DockerUnavailable::Odd {
        socket: found.socket.clone(),
        what,
    };
    let path = (found.socket.to_str()).ok_or_else(|| odd("its path is no UTF-8".into()))?;
    bollard::Docker::connect_with_unix(path, CALL_PATIENCE.as_secs(), &version)
        .map_err(|error| odd(error.to_string()))
}
