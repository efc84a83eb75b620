//! Whether a container daemon answers: a plain connection, one request, a time limit.

use std::io::{ErrorKind, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::mpsc;
use std::time::Duration;

use super::document::Check;
use super::examine::Examination;

const SOCKET: &str = "/var/run/docker.sock";
const LIMIT: Duration = Duration::from_secs(2);
/// A daemon's answer to a ping is far shorter.
const ANSWER_BYTES: u64 = 8192;

/// How a socket behaved.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Daemon {
    /// With its API version, where it tells one.
    Answers {
        api: Option<String>,
    },
    Absent,
    /// The socket is there and nobody listens.
    Refused,
    PermissionDenied,
    /// Connected, or not even that, and no answer in time.
    Hangs,
    /// Something else answers.
    Odd(String),
}

/// Asks a daemon whether it is there; at most `limit`.
pub fn ask(socket: &Path, limit: Duration) -> Daemon {
    let (sender, answer) = mpsc::channel();
    let socket = socket.to_path_buf();
    // connecting has no time limit of its own: a full queue of a stopped daemon blocks
    std::thread::spawn(move || {
        let _ = sender.send(ping(&socket, limit));
    });
    answer.recv_timeout(limit).unwrap_or(Daemon::Hangs)
}

fn ping(socket: &Path, limit: Duration) -> Daemon {
    let exchange = || {
        let mut stream = UnixStream::connect(socket)?;
        stream.set_read_timeout(Some(limit))?;
        stream.set_write_timeout(Some(limit))?;
        stream.write_all(b"GET /_ping HTTP/1.1\r\nHost: docker\r\nConnection: close\r\n\r\n")?;
        let mut bytes = Vec::new();
        match stream.take(ANSWER_BYTES).read_to_end(&mut bytes) {
            // a daemon that keeps the connection open has answered all the same
            Err(error) if bytes.is_empty() => Err(error),
            _ => Ok(bytes),
        }
    };
    match exchange() {
        Ok(bytes) => answer(&String::from_utf8_lossy(&bytes)),
        Err(error) => match error.kind() {
            ErrorKind::NotFound => Daemon::Absent,
            ErrorKind::ConnectionRefused => Daemon::Refused,
            ErrorKind::PermissionDenied => Daemon::PermissionDenied,
            ErrorKind::WouldBlock | ErrorKind::TimedOut => Daemon::Hangs,
            _ => Daemon::Odd(error.to_string()),
        },
    }
}

fn answer(text: &str) -> Daemon {
    let mut lines = text.lines();
    let status = lines.next().unwrap_or("");
    let mut words = status.split_whitespace();
    let http = words.next().is_some_and(|word| word.starts_with("HTTP/1."));
    if !http || words.next() != Some("200") {
        let shown: String = status
            .chars()
            .filter(|c| !c.is_control())
            .take(80)
            .collect();
        return Daemon::Odd(format!("it answers {shown:?}"));
    }
    let api = lines
        .take_while(|line| !line.is_empty())
        .filter_map(|line| line.split_once(':'))
        .find(|(name, _)| name.eq_ignore_ascii_case("api-version"))
        .map(|(_, value)| value.trim().to_string());
    Daemon::Answers { api }
}

/// Docker is never needed where namespaces work.
pub(super) fn check(examination: &Examination<'_>) -> Check {
    const NAME: &str = "docker";
    let socket = match examination.variable("DOCKER_HOST") {
        None => PathBuf::from(SOCKET),
        Some(host) => match host.strip_prefix("unix://") {
            Some(path) => PathBuf::from(path),
            None => {
                return Check::warn(
                    NAME,
                    format!("DOCKER_HOST is {host}: only unix sockets are looked at"),
                    "unset DOCKER_HOST, or point it at a unix socket",
                );
            }
        },
    };
    let at = socket.display();
    match ask(&socket, LIMIT) {
        Daemon::Answers { api } => {
            let api = api.map_or_else(String::new, |api| format!(", API {api}"));
            Check::ok(NAME, format!("{at} answers{api}"))
        }
        Daemon::Absent => Check::warn(
            NAME,
            format!("no socket at {at}"),
            "nothing to do where namespaces work; else install docker and start it",
        ),
        Daemon::Refused => Check::warn(
            NAME,
            format!("{at} refuses: nobody listens"),
            "start the daemon: systemctl start docker",
        ),
        Daemon::PermissionDenied => Check::warn(
            NAME,
            format!("{at} is not for this user"),
            "join its group (usermod -aG docker USER, then log in again); whoever may use docker \
             is as good as root",
        ),
        Daemon::Hangs => Check::warn(
            NAME,
            format!("{at} does not answer within {} s", LIMIT.as_secs()),
            "restart the daemon: systemctl restart docker",
        ),
        Daemon::Odd(what) => Check::warn(
            NAME,
            format!("{at}: {what}"),
            "see what listens there, or point DOCKER_HOST at the daemon",
        ),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
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

    #[test]
    fn a_daemon_that_answers_is_told_from_all_that_do_not() {
        let folder = tempfile::tempdir().unwrap();
        let limit = Duration::from_secs(5);
        let good = "HTTP/1.1 200 OK\r\nApi-Version: 1.47\r\nContent-Length: 2\r\n\r\nOK";
        assert_eq!(
            ask(&answering(folder.path(), "good", good), limit),
            Daemon::Answers {
                api: Some("1.47".into())
            }
        );
        let odd = ask(&answering(folder.path(), "odd", "SSH-2.0-x\r\n"), limit);
        assert_eq!(odd, Daemon::Odd("it answers \"SSH-2.0-x\"".into()));
        let broken = ask(
            &answering(folder.path(), "500", "HTTP/1.1 500 no\r\n\r\n"),
            limit,
        );
        assert!(matches!(broken, Daemon::Odd(_)));
        assert_eq!(ask(&folder.path().join("absent"), limit), Daemon::Absent);

        // a socket that its daemon left behind
        let left = folder.path().join("left");
        drop(UnixListener::bind(&left).unwrap());
        assert_eq!(ask(&left, limit), Daemon::Refused);

        // one that accepts nobody, and one whose queue is full
        let stopped = folder.path().join("stopped");
        let listener = UnixListener::bind(&stopped).unwrap();
        let begun = Instant::now();
        assert_eq!(ask(&stopped, Duration::from_millis(300)), Daemon::Hangs);
        assert!(begun.elapsed() < Duration::from_secs(4));
        drop(listener);
    }
}
