#![allow(clippy::unwrap_used)]
use super::*;
use crate::agent::HostRule;

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
async fn a_tunnel_leads_to_the_host_that_it_was_asked_for() {
    let told = Arc::new(Mutex::new(Vec::new()));
    let keep = Arc::clone(&told);
    let rules = Rules {
        hosts: Hosts::default(),
        told: Mutex::default(),
        refused: Box::new(move |host| keep.lock().unwrap().push(host.to_owned())),
    };
    let real = crate::agent::hello::tests::real;
    let asked = |host: &str| Asked {
        host: host.into(),
        port: 443,
        head: Vec::new(),
    };
    let hear = async |host: &str, bytes: Vec<u8>| {
        let (mut ours, mut theirs) = tokio::io::duplex(8192);
        // a part of it came with the request
        let rest = bytes[..3].to_vec();
        theirs.write_all(&bytes[3..]).await.unwrap();
        drop(theirs);
        let heard = listen(&mut ours, rest, &asked(host), &rules).await.unwrap();
        // and nothing of it is lost, whatever was waited for
        heard.is_some_and(|heard| bytes.starts_with(&heard))
    };
    let tls = real(Some("api.example.com"));
    assert!(hear("api.example.com", tls.clone()).await);
    assert!(hear("api.example.com", real(None)).await);
    assert!(hear("192.0.2.1", tls.clone()).await);
    assert!(!hear("cdn.example.com", tls.clone()).await);
    assert!(!hear("cdn.example.com", tls).await);
    let plain = |host: &str| format!("GET / HTTP/1.1\r\nHost: {host}\r\n\r\n").into_bytes();
    assert!(hear("cdn.example.com", plain("cdn.example.com:443")).await);
    assert!(!hear("cdn.example.com", plain("other.example.com")).await);
    assert!(!hear("cdn.example.com", b"SSH-2.0-x\r\n".to_vec()).await);
    // one that ends before it says anything gets nothing, and there is nothing to tell
    assert!(!hear("cdn.example.com", b"\x16\x03\x01\x02".to_vec()).await);
    assert_eq!(
        *told.lock().unwrap(),
        [
            "api.example.com:443 through cdn.example.com",
            "other.example.com:443 through cdn.example.com",
            "cdn.example.com:443 without TLS or HTTP/1",
        ]
    );
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
