//! The only way out of an agent's sandbox: CONNECT and absolute http requests to hosts that are on
//! the list, over a socket that is mounted in. Names are resolved here, so that nothing inside can
//! make one mean another host.

use std::collections::BTreeSet;
use std::io;
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWriteExt, copy_bidirectional};
use tokio::net::{TcpStream, UnixListener, UnixStream, lookup_host};
use tokio::sync::Semaphore;
use tokio::task::JoinHandle;
use tokio::time::timeout;

use super::Hosts;
use super::hello::{First, first};

/// The socket's name in its folder.
pub const SOCKET: &str = "socket";
/// Connections at once; more wait.
const MOST: usize = 256;
/// Longest head of a request.
const HEAD: usize = 64 << 10;
/// A head comes within this time, or the connection ends.
const HEAD_PATIENCE: Duration = Duration::from_secs(30);
const CONNECT_PATIENCE: Duration = Duration::from_secs(30);
/// Refused hosts that are told, each once.
const MOST_TOLD: usize = 200;
const MOST_HEADERS: usize = 128;

/// A running proxy; ends with this.
pub struct Proxy {
    folder: PathBuf,
    task: JoinHandle<()>,
}

struct Rules {
    hosts: Hosts,
    told: Mutex<BTreeSet<String>>,
    refused: Box<dyn Fn(&str) + Send + Sync>,
}

impl Proxy {
    /// Listens on `folder/socket` for anybody who can reach the folder. `refused` is told of hosts
    /// that are not on the list, each once, up to a bound.
    pub fn start(
        folder: &Path,
        hosts: Hosts,
        refused: impl Fn(&str) + Send + Sync + 'static,
    ) -> io::Result<Self> {
        use std::os::fd::AsRawFd;
        use std::os::unix::fs::DirBuilderExt;
        use std::os::unix::fs::PermissionsExt;
        // others see nothing of it: the sandbox's mount begins inside
        let mut builder = std::fs::DirBuilder::new();
        builder.recursive(true).mode(0o711).create(folder)?;
        let socket = folder.join(SOCKET);
        // a killed worker's
        let _ = std::fs::remove_file(&socket);
        // a socket's whole path is bounded by the kernel, and a home may lie deep
        let open = std::fs::File::open(folder)?;
        let short = format!("/proc/self/fd/{}/{SOCKET}", open.as_raw_fd());
        let listener = UnixListener::bind(short)?;
        // a sandbox runs under another user
        std::fs::set_permissions(&socket, std::fs::Permissions::from_mode(0o666))?;
        let rules = Arc::new(Rules {
            hosts,
            told: Mutex::default(),
            refused: Box::new(refused),
        });
        Ok(Self {
            folder: folder.to_path_buf(),
            task: tokio::spawn(serve(listener, rules)),
        })
    }

    /// To be mounted.
    pub fn folder(&self) -> &Path {
        &self.folder
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.task.abort();
        let _ = std::fs::remove_file(self.folder.join(SOCKET));
        let _ = std::fs::remove_dir(&self.folder);
    }
}

async fn serve(listener: UnixListener, rules: Arc<Rules>) {
    let room = Arc::new(Semaphore::new(MOST));
    let mut open = tokio::task::JoinSet::new();
    while let Ok(place) = Arc::clone(&room).acquire_owned().await {
        while open.try_join_next().is_some() {}
        let Ok((client, _)) = listener.accept().await else {
            tokio::time::sleep(Duration::from_millis(50)).await;
            continue;
        };
        let rules = Arc::clone(&rules);
        open.spawn(async move {
            answer(client, &rules).await.ok();
            drop(place);
        });
    }
}

/// What a client asks for.
#[derive(Debug, PartialEq, Eq)]
struct Asked {
    host: String,
    port: u16,
    /// What is sent on; empty: a tunnel.
    head: Vec<u8>,
}

impl Asked {
    /// An address, or this machine: whoever lists it means just that.
    fn literal(&self) -> bool {
        self.host.parse::<IpAddr>().is_ok() || self.host == "localhost"
    }
}

async fn answer(mut client: UnixStream, rules: &Rules) -> io::Result<()> {
    let Ok(head) = timeout(HEAD_PATIENCE, read_head(&mut client)).await else {
        return Ok(());
    };
    let (head, rest) = head?;
    let asked = match parse(&head) {
        Ok(asked) => asked,
        Err(why) => return refuse(&mut client, "400 Bad Request", why).await,
    };
    if !rules.hosts.allow(&asked.host, asked.port) {
        rules.tell(&format!("{}:{}", asked.host, asked.port));
        let why = format!(
            "{}:{} is not on the list of hosts that this agent may reach",
            asked.host, asked.port
        );
        return refuse(&mut client, "403 Forbidden", &why).await;
    }
    let connect = connect(&asked);
    let mut server = match timeout(CONNECT_PATIENCE, connect).await {
        Ok(Ok(server)) => server,
        Ok(Err(e)) => {
            let why = format!("{}:{}: {e}", asked.host, asked.port);
            return refuse(&mut client, "502 Bad Gateway", &why).await;
        }
        Err(_) => {
            let why = format!("{}:{} does not answer", asked.host, asked.port);
            return refuse(&mut client, "504 Gateway Timeout", &why).await;
        }
    };
    server.set_nodelay(true)?;
    if asked.head.is_empty() {
        let yes = b"HTTP/1.1 200 Connection established\r\n\r\n";
        client.write_all(yes).await?;
    } else {
        server.write_all(&asked.head).await?;
    }
    let rest = if asked.head.is_empty() {
        let heard = timeout(HEAD_PATIENCE, listen(&mut client, rest, &asked, rules));
        match heard.await {
            Ok(Ok(Some(rest))) => rest,
            // what is for another host goes nowhere
            Ok(Ok(None)) | Err(_) => return Ok(()),
            Ok(Err(e)) => return Err(e),
        }
    } else {
        rest
    };
    server.write_all(&rest).await?;
    copy_bidirectional(&mut client, &mut server).await?;
    Ok(())
}

/// The first bytes in a tunnel, once they tell whom they are for; `None`: for another than the
/// tunnel was asked for, which is told. An address has no name to hold against.
async fn listen(
    client: &mut (impl AsyncRead + Unpin),
    mut bytes: Vec<u8>,
    asked: &Asked,
    rules: &Rules,
) -> io::Result<Option<Vec<u8>>> {
    if asked.literal() {
        return Ok(Some(bytes));
    }
    let mut chunk = [0; 4096];
    loop {
        let other = match first(&bytes) {
            First::More => {
                match client.read(&mut chunk).await? {
                    0 => return Ok(None),
                    read => bytes.extend_from_slice(&chunk[..read]),
                }
                continue;
            }
            First::For(host) if host == asked.host => return Ok(Some(bytes)),
            // it gets what stands behind the address for everybody
            First::Unnamed => return Ok(Some(bytes)),
            First::For(host) => format!("{host}:{} through {}", asked.port, asked.host),
            First::Hidden => format!("an encrypted name through {}:{}", asked.host, asked.port),
            First::Other => format!("{}:{} without TLS or HTTP/1", asked.host, asked.port),
        };
        rules.tell(&other);
        return Ok(None);
    }
}

/// To the first address of the host that answers. A name stands for another machine: one that
/// leads to this one, or to a link-local service, is somebody's trick.
async fn connect(asked: &Asked) -> io::Result<TcpStream> {
    let literal = asked.literal();
    let mut last = io::Error::other("the name leads to no address that may be reached");
    for address in lookup_host((asked.host.as_str(), asked.port)).await? {
        if !literal && is_near(address.ip()) {
            continue;
        }
        match TcpStream::connect(address).await {
            Ok(stream) => return Ok(stream),
            Err(e) => last = e,
        }
    }
    Err(last)
}

/// Loopback, link-local or unspecified.
fn is_near(ip: IpAddr) -> bool {
    match ip {
        IpAddr::V4(ip) => ip.is_loopback() || ip.is_link_local() || ip.is_unspecified(),
        IpAddr::V6(ip) => {
            let mapped = ip.to_ipv4_mapped();
            mapped.is_some_and(|ip| is_near(IpAddr::V4(ip)))
                || ip.is_loopback()
                || ip.is_unicast_link_local()
                || ip.is_unspecified()
        }
    }
}

impl Rules {
    fn tell(&self, what: &str) {
        let name: String = (what.chars())
            .filter(|c| !c.is_control())
            .take(260)
            .collect();
        let mut told = self.told.lock().unwrap_or_else(PoisonError::into_inner);
        if told.len() < MOST_TOLD && told.insert(name.clone()) {
            drop(told);
            (self.refused)(&name);
        }
    }
}

async fn refuse(client: &mut UnixStream, status: &str, why: &str) -> io::Result<()> {
    let text = format!(
        "HTTP/1.1 {status}\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: {}\r\n\
         Connection: close\r\n\r\n{why}\n",
        why.len() + 1
    );
    client.write_all(text.as_bytes()).await?;
    client.shutdown().await
}

/// The head of the request up to its empty line, and what came behind it.
async fn read_head(client: &mut (impl AsyncRead + Unpin)) -> io::Result<(Vec<u8>, Vec<u8>)> {
    let mut bytes = Vec::new();
    let mut chunk = [0; 4096];
    loop {
        let read = client.read(&mut chunk).await?;
        if read == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        let from = bytes.len().saturating_sub(3);
        bytes.extend_from_slice(&chunk[..read]);
        if let Some(at) = memchr::memmem::find(&bytes[from..], b"\r\n\r\n") {
            let rest = bytes.split_off(from + at + 4);
            return Ok((bytes, rest));
        }
        if bytes.len() > HEAD {
            return Err(io::Error::other("the head of a request is too long"));
        }
    }
}

fn parse(head: &[u8]) -> Result<Asked, &'static str> {
    let text = std::str::from_utf8(head).map_err(|_| "the request is no text")?;
    let mut lines = text.split("\r\n");
    if lines
        .clone()
        .any(|line| line.contains(|c: char| c.is_control() && c != '\t'))
    {
        return Err("the request has control characters");
    }
    let mut words = lines.next().unwrap_or_default().split(' ');
    let (Some(method), Some(target), Some(version), None) =
        (words.next(), words.next(), words.next(), words.next())
    else {
        return Err("this is no HTTP request");
    };
    if !version.starts_with("HTTP/1.") {
        return Err("only HTTP/1 is spoken here");
    }
    if method == "CONNECT" {
        let (host, port) = authority(target, None)?;
        return Ok(Asked {
            host,
            port,
            head: Vec::new(),
        });
    }
    // everything behind the proxy is a request with a whole address
    let rest = target
        .get(..7)
        .filter(|scheme| scheme.eq_ignore_ascii_case("http://"))
        .map(|_| &target[7..])
        .ok_or("this is a proxy: ask with a whole http:// address, or CONNECT")?;
    let (place, path) = match rest.find(['/', '?']) {
        Some(at) => rest.split_at(at),
        None => (rest, "/"),
    };
    let (host, port) = authority(place, Some(80))?;
    let slash = if path.starts_with('/') { "" } else { "/" };
    let mut sent = format!("{method} {slash}{path} {version}\r\nHost: {place}\r\n");
    for (n, line) in lines.enumerate() {
        if line.is_empty() {
            break;
        }
        let name = line.split(':').next().unwrap_or_default();
        if n > MOST_HEADERS || name.trim() != name {
            return Err("a header is malformed");
        }
        // one request a connection: a second one might be for another host
        let ours = [
            "host",
            "connection",
            "proxy-connection",
            "keep-alive",
            "upgrade",
        ];
        if !ours.iter().any(|own| name.eq_ignore_ascii_case(own))
            && !name.to_ascii_lowercase().starts_with("proxy-")
        {
            sent += line;
            sent += "\r\n";
        }
    }
    sent += "Connection: close\r\n\r\n";
    Ok(Asked {
        host,
        port,
        head: sent.into_bytes(),
    })
}

/// `host:port`, `[v6]:port`; without a port where there is one to take.
fn authority(text: &str, port: Option<u16>) -> Result<(String, u16), &'static str> {
    let wrong = "the host is malformed";
    if text.contains(['@', '/', '\\', '%']) || text.chars().any(char::is_control) {
        return Err(wrong);
    }
    let (host, given) = if let Some(rest) = text.strip_prefix('[') {
        let (host, rest) = rest.split_once(']').ok_or(wrong)?;
        (host, rest.strip_prefix(':'))
    } else {
        match text.rsplit_once(':') {
            Some((host, port)) => (host, Some(port)),
            None => (text, None),
        }
    };
    let port = match given {
        Some(text) => text.parse().map_err(|_| wrong)?,
        None => port.ok_or("the port is missing")?,
    };
    let host = host.trim_end_matches('.').to_ascii_lowercase();
    if host.is_empty() || host.len() > 253 {
        return Err(wrong);
    }
    Ok((host, port))
}

#[cfg(test)]
mod tests;
