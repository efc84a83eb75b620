//! Why no container daemon can be used, and what to do about it.

use std::path::{Path, PathBuf};

/// One word a cause, a message and an advice for each.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DockerUnavailable {
    /// No socket at any of the places.
    #[error("no socket for this user at {}", list(looked))]
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
    /// The other way round.
    #[error("{} speaks API {oldest} or later, and this infradev {newest} at most", socket.display())]
    TooNew {
        socket: PathBuf,
        oldest: String,
        newest: String,
    },
    /// A daemon of another machine sees none of the files here.
    #[error("{named} is {host}: only unix sockets are looked at")]
    Remote { named: String, host: String },
    #[error("the docker context {name} is {host}: only unix sockets are looked at")]
    RemoteContext { name: String, host: String },
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
            Self::Refused { socket } => format!("start the daemon: {}", unit(socket, "start")),
            Self::PermissionDenied { socket } if is_podman(socket) => {
                "start one of this user's own: systemctl --user start podman.socket".into()
            }
            Self::PermissionDenied { .. } => {
                "join its group (usermod -aG docker USER, then log in again); whoever may use \
                 docker is as good as root"
                    .into()
            }
            Self::Hangs { socket, .. } => format!(
                "the machine may be busy: try again, or restart the daemon: {}",
                unit(socket, "restart")
            ),
            Self::Odd { .. } => "see what listens there, or point DOCKER_HOST at the daemon".into(),
            Self::TooOld { .. } => "install Docker Engine 19.03 or later".into(),
            Self::TooNew { oldest, .. } => format!(
                "a later infradev knows it; till then let the daemon speak older versions as well \
                 (DOCKER_MIN_API_VERSION below {oldest} in its environment)"
            ),
            Self::Remote { named, .. } => format!("unset {named}, or point it at a unix socket"),
            Self::RemoteContext { .. } => {
                "`docker context use default` goes back to this machine's daemon".into()
            }
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

fn is_podman(socket: &Path) -> bool {
    socket.file_name().is_some_and(|name| name == "podman.sock")
}

/// What starts or restarts what listens there: the machine's service, or the user's own.
fn unit(socket: &Path, verb: &str) -> String {
    let theirs = socket.starts_with("/run/user") || socket.to_string_lossy().contains("/.docker/");
    let whose = if theirs { "--user " } else { "" };
    let what = if is_podman(socket) {
        "podman.socket"
    } else {
        "docker"
    };
    format!("systemctl {whose}{verb} {what}")
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn advice_is_about_what_listens_there() {
        for (socket, said) in [
            ("/var/run/docker.sock", "systemctl restart docker"),
            ("/run/user/7/docker.sock", "systemctl --user restart docker"),
            (
                "/run/user/7/podman/podman.sock",
                "systemctl --user restart podman.socket",
            ),
            ("/run/podman/podman.sock", "systemctl restart podman.socket"),
        ] {
            let hangs = DockerUnavailable::Hangs {
                socket: socket.into(),
                seconds: 2,
            };
            assert!(hangs.advice().ends_with(said), "{}", hangs.advice());
        }
        let denied = |socket: &str| {
            let socket = socket.into();
            DockerUnavailable::PermissionDenied { socket }.advice()
        };
        assert!(denied("/var/run/docker.sock").contains("usermod"));
        assert!(!denied("/run/podman/podman.sock").contains("usermod"));
    }
}
