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
        rules.tell(&asked);
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
    server.write_all(&rest).await?;
    copy_bidirectional(&mut client, &mut server).await?;
    Ok(())
}

/// To the first address of the host that answers. A name stands for another machine: one that
/// leads to this one, or to a link-local service, is somebody's trick.
async fn connect(asked: &Asked) -> io::Result<TcpStream> {
    let literal = asked.host.parse::<IpAddr>().is_ok() || asked.host == "localhost";
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
    fn tell(&self, asked: &Asked) {
        let name: String = format!("{}:{}", asked.host, asked.port)
            .chars()
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
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::super::HostRule;
    use super::*;

    #[test]
    fn requests_are_read_strictly() {
        let asked = parse(b"CONNECT API.Example.com.:443 HTTP/1.1\r\n\r\n").unwrap();
        assert_eq!((asked.host.as_str(), asked.port), ("api.example.com", 443));
        let get = b"GET http://h:81/a?b HTTP/1.1\r\nHost: other\r\nProxy-Authorization: x\r\n\
                    Connection: keep-alive\r\nAccept: */*\r\n\r\n";
        let asked = parse(get).unwrap();
        assert_eq!((asked.host.as_str(), asked.port), ("h", 81));
        assert_eq!(
            String::from_utf8(asked.head).unwrap(),
            "GET /a?b HTTP/1.1\r\nHost: h:81\r\nAccept: */*\r\nConnection: close\r\n\r\n"
        );
        for bad in [
            "GET /path HTTP/1.1\r\n\r\n",
            "CONNECT host HTTP/1.1\r\n\r\n",
            "CONNECT good@bad:443 HTTP/1.1\r\n\r\n",
            "CONNECT h:99999 HTTP/1.1\r\n\r\n",
            "GET http://h/ HTTP/1.1 x\r\n\r\n",
            "GET http://h/ HTTP/1.1\r\nTransfer-Encoding : chunked\r\n\r\n",
            "PRI * HTTP/2.0\r\n\r\n",
            "GET http://h/\nX: y HTTP/1.1\r\n\r\n",
        ] {
            assert!(parse(bad.as_bytes()).is_err(), "{bad}");
        }
        assert_eq!(authority("[::1]:80", None).unwrap(), ("::1".into(), 80));
    }

    #[test]
    fn names_lead_to_other_machines() {
        let near = |text: &str| is_near(text.parse().unwrap());
        for ip in [
            "127.0.0.1",
            "169.254.169.254",
            "0.0.0.0",
            "::1",
            "fe80::1",
            "::ffff:127.0.0.1",
        ] {
            assert!(near(ip), "{ip}");
        }
        assert!(!near("192.0.2.1") && !near("10.0.0.1") && !near("2001:db8::1"));
    }

    #[tokio::test]
    async fn only_listed_hosts_are_reached_and_others_are_told_once() {
        let server = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = server.local_addr().unwrap().port();
        tokio::spawn(async move {
            while let Ok((mut stream, _)) = server.accept().await {
                let mut bytes = [0; 1024];
                let read = stream.read(&mut bytes).await.unwrap_or(0);
                stream.write_all(&bytes[..read]).await.ok();
            }
        });
        let dir = tempfile::tempdir().unwrap();
        let hosts = Hosts::new(vec![HostRule::parse(&format!("127.0.0.1:{port}")).unwrap()]);
        let told = Arc::new(Mutex::new(Vec::new()));
        let keep = Arc::clone(&told);
        // a home may lie deeper than a socket's path is long
        let mut deep = dir.path().to_path_buf();
        deep.extend(std::iter::repeat_n("folder", 20));
        let proxy = Proxy::start(&deep, hosts, move |host| {
            keep.lock().unwrap().push(host.to_owned());
        })
        .unwrap();
        let link = dir.path().join("link");
        std::os::unix::fs::symlink(proxy.folder(), &link).unwrap();
        let socket = link.join(SOCKET);
        let ask = async |text: String| {
            let mut stream = UnixStream::connect(&socket).await.unwrap();
            stream.write_all(text.as_bytes()).await.unwrap();
            stream.shutdown().await.unwrap();
            let mut answer = Vec::new();
            stream.read_to_end(&mut answer).await.unwrap();
            String::from_utf8(answer).unwrap()
        };
        let tunnel = ask(format!("CONNECT 127.0.0.1:{port} HTTP/1.1\r\n\r\nhello")).await;
        assert!(
            tunnel.starts_with("HTTP/1.1 200") && tunnel.ends_with("hello"),
            "{tunnel}"
        );
        let plain = ask(format!("GET http://127.0.0.1:{port}/x HTTP/1.1\r\n\r\n")).await;
        assert!(
            plain.starts_with("GET /x HTTP/1.1\r\nHost: 127.0.0.1"),
            "{plain}"
        );
        for _ in 0..2 {
            let no = ask(format!("CONNECT localhost:{port} HTTP/1.1\r\n\r\n")).await;
            assert!(
                no.starts_with("HTTP/1.1 403") && no.contains("not on the list"),
                "{no}"
            );
        }
        assert_eq!(*told.lock().unwrap(), [format!("localhost:{port}")]);
    }
}
