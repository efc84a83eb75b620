//! Why no container daemon can be used, and what to do about it.

use std::path::{Path, PathBuf};

/// One word a cause, a message and an advice for each.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DockerUnavailable {
    /// No socket at any of the places.
    #[error("no socket at {}", list(looked))]
    Absent { looked: Vec<PathBuf> },
    /// The socket is there and nobody listens.
    #[error("{} refuses: nobody listens", socket.display())]
    Refused { socket: PathBuf },
    #[error("{} is not for this user", socket.display())]
    PermissionDenied { socket: PathBuf },
    /// Connected, or not even that, and no answer in time.
    #[error("{} does not answer within {seconds} s", socket.display())]
    Hangs { socket: PathBuf, seconds: u64 },
    /// Something else answers.
    #[error("{}: {what}", socket.display())]
    Odd { socket: PathBuf, what: String },
    /// It speaks no version of the interface that we do.
    #[error("{} speaks API {api}, and {} or later is needed", socket.display(), super::find::OLDEST)]
    TooOld { socket: PathBuf, api: String },
    /// A daemon of another machine sees none of the files here.
    #[error("{named} is {host}: only unix sockets are looked at")]
    Remote { named: String, host: String },
    /// A context that docker's settings name.
    #[error("the docker context {name}: {message}")]
    Context { name: String, message: String },
}

impl DockerUnavailable {
    /// A sentence without its full stop.
    pub fn advice(&self) -> String {
        match self {
            Self::Absent { .. } => {
                "nothing to do where namespaces work; else install docker and start it".into()
            }
            Self::Refused { .. } => "start the daemon: systemctl start docker".into(),
            Self::PermissionDenied { .. } => {
                "join its group (usermod -aG docker USER, then log in again); whoever may use \
                 docker is as good as root"
                    .into()
            }
            Self::Hangs { .. } => "restart the daemon: systemctl restart docker".into(),
            Self::Odd { .. } => "see what listens there, or point DOCKER_HOST at the daemon".into(),
            Self::TooOld { .. } => "install Docker Engine 19.03 or later".into(),
            Self::Remote { named, .. } => format!("unset {named}, or point it at a unix socket"),
            Self::Context { .. } => {
                "`docker context ls` lists them, `docker context use default` goes back".into()
            }
        }
    }

    /// How much it tells: of several places that do not work, the one that nearly does.
    pub(super) fn is_absence(&self) -> bool {
        matches!(self, Self::Absent { .. })
    }
}

fn list(places: &[impl AsRef<Path>]) -> String {
    let names: Vec<String> = (places.iter())
        .map(|p| p.as_ref().display().to_string())
        .collect();
    match names.split_last() {
        None => "any place".into(),
        Some((last, [])) => last.clone(),
        Some((last, rest)) => format!("{} or {last}", rest.join(", ")),
    }
}
