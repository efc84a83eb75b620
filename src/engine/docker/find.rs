//! Where a container daemon of this machine listens, and whether it answers: a plain connection,
//! one request, a time limit.

use std::fmt;
use std::io::{ErrorKind, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::mpsc;
use std::time::Duration;

use serde_json::Value;
use sha2::{Digest, Sha256};

use super::DockerUnavailable;
use crate::domain::hex;

const SOCKET: &str = "/var/run/docker.sock";
/// Podman's own for the whole machine: by default nobody but root may look into its folder.
pub(super) const PODMAN: &str = "/run/podman/podman.sock";
/// Where a login puts a user's sockets; `sudo`, cron and the like set no variable.
const RUNTIME: &str = "/run/user";
/// What a daemon may take to say that it is there.
pub const ASK_LIMIT: Duration = Duration::from_secs(2);
/// A daemon's answer to a ping is far shorter.
const ANSWER_BYTES: u64 = 8192;
/// Device requests came with it.
pub(super) const OLDEST: Api = Api(1, 40);

/// A version of the daemon's interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Api(pub usize, pub usize);

impl fmt::Display for Api {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.0, self.1)
    }
}

/// A daemon that answers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    pub socket: PathBuf,
    pub api: Api,
    /// Podman, by its own interface beside Docker's.
    pub podman: bool,
}

/// The sockets to look at, the most wanted first: what `DOCKER_HOST` names, else what docker's
/// context names, else the usual places. `variable` gives environment variables.
pub fn places(
    variable: impl Fn(&str) -> Option<String>,
) -> Result<Vec<PathBuf>, DockerUnavailable> {
    if let Some(host) = variable("DOCKER_HOST") {
        let remote = |host| DockerUnavailable::Remote {
            named: "DOCKER_HOST".into(),
            host,
        };
        return Ok(vec![socket_of(&host).ok_or_else(|| remote(host.clone()))?]);
    }
    let home = variable("HOME").map(PathBuf::from);
    let settings = variable("DOCKER_CONFIG")
        .map(PathBuf::from)
        .or_else(|| Some(home.as_ref()?.join(".docker")));
    if let Some(settings) = settings {
        let name = variable("DOCKER_CONTEXT").or_else(|| current_context(&settings));
        if let Some(name) = name.filter(|name| name != "default") {
            return Ok(vec![context_socket(&settings, &name)?]);
        }
    }
    let mut places = vec![PathBuf::from(SOCKET)];
    let runtime = variable("XDG_RUNTIME_DIR").map_or_else(
        || Path::new(RUNTIME).join(nix::unistd::getuid().to_string()),
        PathBuf::from,
    );
    places.push(runtime.join("docker.sock"));
    places.extend(home.map(|dir| dir.join(".docker/run/docker.sock")));
    places.push(runtime.join("podman/podman.sock"));
    places.push(PODMAN.into());
    Ok(places)
}

fn socket_of(host: &str) -> Option<PathBuf> {
    host.strip_prefix("unix://").map(PathBuf::from)
}

fn read_json(path: &Path) -> Result<Value, String> {
    let text = std::fs::read_to_string(path).map_err(|e| format!("{}: {e}", path.display()))?;
    serde_json::from_str(&text).map_err(|e| format!("{}: {e}", path.display()))
}

fn current_context(settings: &Path) -> Option<String> {
    let settings = read_json(&settings.join("config.json")).ok()?;
    Some(settings.get("currentContext")?.as_str()?.to_owned())
}

fn context_socket(settings: &Path, name: &str) -> Result<PathBuf, DockerUnavailable> {
    let broken = |message| DockerUnavailable::Context {
        name: name.into(),
        message,
    };
    let folder = hex(&Sha256::digest(name.as_bytes()));
    let path = settings
        .join("contexts/meta")
        .join(folder)
        .join("meta.json");
    let meta = read_json(&path).map_err(broken)?;
    let host = meta
        .pointer("/Endpoints/docker/Host")
        .and_then(Value::as_str)
        .ok_or_else(|| broken(format!("{} names no docker endpoint", path.display())))?;
    socket_of(host).ok_or_else(|| DockerUnavailable::RemoteContext {
        name: name.into(),
        host: host.into(),
    })
}

/// Asks all places at once, each for at most `limit`: the first in order that answers, else the
/// trouble of the first that is more than absent. The whole machine's podman is as good as absent
/// to those who may not look for it, where nobody named it.
pub fn find(places: &[PathBuf], limit: Duration) -> Result<Found, DockerUnavailable> {
    let asked: Vec<_> = (places.iter().cloned())
        .map(|socket| std::thread::spawn(move || ask(&socket, limit)))
        .collect();
    let mut trouble = None;
    let closed = |error: &DockerUnavailable| {
        matches!(error, DockerUnavailable::PermissionDenied { socket }
            if places.len() > 1 && socket == Path::new(PODMAN))
    };
    for answer in asked {
        match answer.join() {
            Ok(Ok(found)) => return Ok(found),
            Ok(Err(error)) if !error.is_absence() && !closed(&error) => {
                trouble = trouble.or(Some(error));
            }
            _ => {}
        }
    }
    Err(trouble.unwrap_or_else(|| DockerUnavailable::Absent {
        looked: places.to_vec(),
    }))
}

/// Asks a daemon whether it is there; at most `limit`.
pub fn ask(socket: &Path, limit: Duration) -> Result<Found, DockerUnavailable> {
    let (sender, answer) = mpsc::channel();
    let asked = socket.to_path_buf();
    // connecting has no time limit of its own: a full queue of a stopped daemon blocks
    std::thread::spawn(move || {
        let _ = sender.send(ping(&asked, limit));
    });
    answer
        .recv_timeout(limit)
        .unwrap_or_else(|_| Err(hangs(socket, limit)))
}

fn hangs(socket: &Path, limit: Duration) -> DockerUnavailable {
    DockerUnavailable::Hangs {
        socket: socket.into(),
        seconds: limit.as_secs(),
    }
}

fn exchange(socket: &Path, path: &str, limit: Duration) -> std::io::Result<Vec<u8>> {
    let mut stream = UnixStream::connect(socket)?;
    stream.set_read_timeout(Some(limit))?;
    stream.set_write_timeout(Some(limit))?;
    let request = format!("GET {path} HTTP/1.1\r\nHost: docker\r\nConnection: close\r\n\r\n");
    stream.write_all(request.as_bytes())?;
    let mut bytes = Vec::new();
    match stream.take(ANSWER_BYTES).read_to_end(&mut bytes) {
        // a daemon that keeps the connection open has answered all the same
        Err(error) if bytes.is_empty() => Err(error),
        _ => Ok(bytes),
    }
}

/// The oldest version of the interface that a daemon speaks, by its own word; at most `limit`.
pub(super) fn oldest_spoken(socket: &Path, limit: Duration) -> Option<Api> {
    let bytes = exchange(socket, "/version", limit).ok()?;
    let text = String::from_utf8_lossy(&bytes);
    // headers before it, and the sizes of pieces around it
    let document = text.get(text.find('{')?..=text.rfind('}')?)?;
    let said: Value = serde_json::from_str(document).ok()?;
    version(said.get("MinAPIVersion")?.as_str()?)
}

fn version(text: &str) -> Option<Api> {
    let (major, minor) = text.split_once('.')?;
    Some(Api(major.parse().ok()?, minor.parse().ok()?))
}

fn ping(socket: &Path, limit: Duration) -> Result<Found, DockerUnavailable> {
    match exchange(socket, "/_ping", limit) {
        Ok(bytes) => answer(socket, &String::from_utf8_lossy(&bytes)),
        Err(error) => Err(trouble(socket, &error, limit)),
    }
}

fn trouble(socket: &Path, error: &std::io::Error, limit: Duration) -> DockerUnavailable {
    let socket = socket.to_path_buf();
    match error.kind() {
        ErrorKind::NotFound | ErrorKind::NotADirectory => DockerUnavailable::Absent {
            looked: vec![socket],
        },
        ErrorKind::ConnectionRefused => DockerUnavailable::Refused { socket },
        ErrorKind::PermissionDenied => DockerUnavailable::PermissionDenied { socket },
        ErrorKind::WouldBlock | ErrorKind::TimedOut => hangs(&socket, limit),
        _ => DockerUnavailable::Odd {
            socket,
            what: error.to_string(),
        },
    }
}

fn answer(socket: &Path, text: &str) -> Result<Found, DockerUnavailable> {
    let odd = |what| DockerUnavailable::Odd {
        socket: socket.into(),
        what,
    };
    let mut lines = text.lines();
    let status = lines.next().unwrap_or("");
    let mut words = status.split_whitespace();
    let http = words.next().is_some_and(|word| word.starts_with("HTTP/1."));
    if !http || words.next() != Some("200") {
        let shown: String = (status.chars())
            .filter(|c| !c.is_control())
            .take(80)
            .collect();
        return Err(odd(format!("it answers {shown:?}")));
    }
    let headers: Vec<(&str, &str)> = lines
        .take_while(|line| !line.is_empty())
        .filter_map(|line| line.split_once(':'))
        .collect();
    let header = |wanted: &str| {
        (headers.iter())
            .find(|(name, _)| name.eq_ignore_ascii_case(wanted))
            .map(|(_, value)| value.trim())
    };
    let Some(said) = header("api-version") else {
        return Err(odd(
            "it answers a ping, and not as a container daemon".into()
        ));
    };
    let api = version(said).ok_or_else(|| odd(format!("it says that its API is {said:?}")))?;
    if api < OLDEST {
        return Err(DockerUnavailable::TooOld {
            socket: socket.into(),
            api: api.to_string(),
        });
    }
    Ok(Found {
        socket: socket.into(),
        api,
        podman: header("libpod-api-version").is_some(),
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use std::collections::BTreeMap;
    use std::os::unix::net::UnixListener;
    use std::time::Instant;

    use super::*;

    /// A socket whose only visitor is answered with `text`.
    fn answering(folder: &Path, name: &str, text: &'static str) -> PathBuf {
        let path = folder.join(name);
        let listener = UnixListener::bind(&path).unwrap();
        std::thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            let mut request = [0; 14];
            stream.read_exact(&mut request).unwrap();
            assert_eq!(&request, b"GET /_ping HTT");
            stream.write_all(text.as_bytes()).unwrap();
        });
        path
    }

    const GOOD: &str = "HTTP/1.1 200 OK\r\nApi-Version: 1.47\r\nContent-Length: 2\r\n\r\nOK";
    const PODMAN: &str =
        "HTTP/1.1 200 OK\r\nAPI-Version: 1.41\r\nLibpod-Api-Version: 5.0.0\r\n\r\nOK";
    const OLD: &str = "HTTP/1.1 200 OK\r\nApi-Version: 1.39\r\n\r\nOK";

    #[test]
    fn a_daemon_that_answers_is_told_from_all_that_do_not() {
        let folder = tempfile::tempdir().unwrap();
        let limit = Duration::from_secs(5);
        let at = |name, text| ask(&answering(folder.path(), name, text), limit);
        let found = at("good", GOOD).unwrap();
        assert_eq!((found.api, found.podman), (Api(1, 47), false));
        assert!(at("podman", PODMAN).unwrap().podman);
        assert!(matches!(
            at("old", OLD),
            Err(DockerUnavailable::TooOld { api, .. }) if api == "1.39"
        ));
        for (name, text, said) in [
            ("ssh", "SSH-2.0-x\r\n", "it answers \"SSH-2.0-x\""),
            (
                "500",
                "HTTP/1.1 500 no\r\n\r\n",
                "it answers \"HTTP/1.1 500 no\"",
            ),
            (
                "web",
                "HTTP/1.1 200 OK\r\n\r\nhello",
                "it answers a ping, and not as a container daemon",
            ),
        ] {
            let Err(DockerUnavailable::Odd { what, .. }) = at(name, text) else {
                panic!("{name}");
            };
            assert_eq!(what, said);
        }
        let absent = folder.path().join("absent");
        let looked = vec![absent.clone()];
        assert_eq!(
            ask(&absent, limit),
            Err(DockerUnavailable::Absent { looked })
        );

        // a socket that its daemon left behind
        let socket = folder.path().join("left");
        drop(UnixListener::bind(&socket).unwrap());
        assert_eq!(
            ask(&socket, limit),
            Err(DockerUnavailable::Refused { socket })
        );

        // one that accepts nobody
        let socket = folder.path().join("stopped");
        let _listener = UnixListener::bind(&socket).unwrap();
        let begun = Instant::now();
        let limit = Duration::from_millis(300);
        assert!(matches!(
            ask(&socket, limit),
            Err(DockerUnavailable::Hangs { .. })
        ));
        assert!(begun.elapsed() < Duration::from_secs(4));
    }

    /// A daemon whose oldest version is newer than what is asked in, as dockerd answers.
    #[test]
    fn the_oldest_version_that_a_daemon_speaks_is_its_own_word() {
        let folder = tempfile::tempdir().unwrap();
        let limit = Duration::from_secs(5);
        let path = folder.path().join("new");
        let listener = UnixListener::bind(&path).unwrap();
        std::thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            let mut request = [0; 13];
            stream.read_exact(&mut request).unwrap();
            assert_eq!(&request, b"GET /version ");
            let body = r#"{"ApiVersion":"1.99","MinAPIVersion":"1.90"}"#;
            let head = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
            let text = format!("{head}{:x}\r\n{body}\r\n0\r\n\r\n", body.len());
            stream.write_all(text.as_bytes()).unwrap();
        });
        assert_eq!(oldest_spoken(&path, limit), Some(Api(1, 90)));
        assert_eq!(
            oldest_spoken(&answering(folder.path(), "odd", GOOD), limit),
            None
        );
    }

    #[test]
    fn the_first_that_answers_is_taken_else_the_first_that_is_in_trouble() {
        let folder = tempfile::tempdir().unwrap();
        let limit = Duration::from_secs(5);
        let absent = folder.path().join("absent");
        let left = folder.path().join("left");
        drop(UnixListener::bind(&left).unwrap());
        let places = [
            absent.clone(),
            left.clone(),
            answering(folder.path(), "good", GOOD),
        ];
        assert_eq!(find(&places, limit).unwrap().socket, places[2]);
        let refused = DockerUnavailable::Refused {
            socket: left.clone(),
        };
        assert_eq!(find(&[absent.clone(), left], limit), Err(refused));
        let both = [absent.clone(), absent];
        let error = find(&both, limit).unwrap_err();
        assert_eq!(
            error.to_string(),
            format!("no socket for this user at {0} or {0}", both[0].display())
        );
    }

    #[test]
    fn places_are_what_the_environment_names_in_dockers_order() {
        let folder = tempfile::tempdir().unwrap();
        let dot_docker = folder.path().join(".docker");
        let name = hex(&Sha256::digest(b"mine"));
        let meta = dot_docker.join("contexts/meta").join(name);
        std::fs::create_dir_all(&meta).unwrap();
        std::fs::write(
            meta.join("meta.json"),
            r#"{"Name":"mine","Endpoints":{"docker":{"Host":"unix:///run/mine.sock"}}}"#,
        )
        .unwrap();
        let look = |pairs: &[(&str, &str)]| {
            let mut env: BTreeMap<String, String> = (pairs.iter())
                .map(|(name, value)| (name.to_string(), value.to_string()))
                .collect();
            env.insert("HOME".into(), folder.path().display().to_string());
            places(move |name| env.get(name).cloned())
        };
        let one = |path: &str| Ok(vec![PathBuf::from(path)]);
        assert_eq!(
            look(&[("DOCKER_HOST", "unix:///a/b"), ("DOCKER_CONTEXT", "mine")]),
            one("/a/b")
        );
        assert_eq!(look(&[("DOCKER_CONTEXT", "mine")]), one("/run/mine.sock"));
        let own = look(&[]).unwrap();
        let uid = nix::unistd::getuid();
        assert_eq!(
            own[1],
            PathBuf::from(format!("/run/user/{uid}/docker.sock"))
        );
        let usual = look(&[("XDG_RUNTIME_DIR", "/run/user/7")]).unwrap();
        assert_eq!(
            usual,
            [
                PathBuf::from("/var/run/docker.sock"),
                "/run/user/7/docker.sock".into(),
                dot_docker.join("run/docker.sock"),
                "/run/user/7/podman/podman.sock".into(),
                "/run/podman/podman.sock".into(),
            ]
        );
        std::fs::write(
            dot_docker.join("config.json"),
            r#"{"currentContext":"mine"}"#,
        )
        .unwrap();
        assert_eq!(look(&[]), one("/run/mine.sock"));
        assert!(look(&[("DOCKER_CONTEXT", "default")]).unwrap().len() > 1);
        assert!(matches!(
            look(&[("DOCKER_CONTEXT", "gone")]),
            Err(DockerUnavailable::Context { name, .. }) if name == "gone"
        ));
        for host in ["tcp://1.2.3.4:2375", "ssh://there"] {
            let error = look(&[("DOCKER_HOST", host)]).unwrap_err();
            assert_eq!(
                error.to_string(),
                format!("DOCKER_HOST is {host}: only unix sockets are looked at")
            );
            assert!(error.advice().starts_with("unset DOCKER_HOST"));
        }
        std::fs::write(
            meta.join("meta.json"),
            r#"{"Name":"mine","Endpoints":{"docker":{"Host":"ssh://there"}}}"#,
        )
        .unwrap();
        // chosen in the settings: there is no variable to unset
        let error = look(&[]).unwrap_err();
        assert_eq!(
            error.to_string(),
            "the docker context mine is ssh://there: only unix sockets are looked at"
        );
        assert!(error.advice().contains("docker context use default"));
    }
}
