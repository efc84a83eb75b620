//! Whom the first bytes in a tunnel are for. A server behind an allowed name may serve others as
//! well, told apart by the name in TLS's first message or in a request's `Host`: that name must be
//! the one that the tunnel was asked for.

/// Longest first message.
const MOST: usize = 64 << 10;
/// TLS's record of a handshake, and its first message.
const HANDSHAKE: u8 = 22;
const CLIENT_HELLO: u8 = 1;
/// Extensions: the name in the clear, and one that nobody can read on the way.
const NAME: u16 = 0;
const ENCRYPTED: u16 = 0xfe0d;

/// What a client says first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum First {
    /// More has to come.
    More,
    /// For this host, in lower case, without its port.
    For(String),
    /// TLS that names none.
    Unnamed,
    /// TLS whose real name cannot be read.
    Hidden,
    /// Neither TLS nor a request of HTTP/1.
    Other,
}

pub(super) fn first(bytes: &[u8]) -> First {
    match bytes.first() {
        None => First::More,
        Some(&HANDSHAKE) => tls(bytes),
        Some(_) => plain(bytes),
    }
}

fn tls(bytes: &[u8]) -> First {
    // records of nothing would go on for ever
    if bytes.len() > 2 * MOST {
        return First::Other;
    }
    // the message may be cut into several records
    let (mut message, mut rest) = (Vec::new(), bytes);
    while let Some((head, after)) = rest.split_at_checked(5) {
        if head[0] != HANDSHAKE {
            return First::Other;
        }
        let length = usize::from(u16::from_be_bytes([head[3], head[4]]));
        let here = length.min(after.len());
        message.extend_from_slice(&after[..here]);
        rest = &after[here..];
    }
    if message.len() > MOST {
        return First::Other;
    }
    match message.split_at_checked(4) {
        None => First::More,
        Some(([CLIENT_HELLO, a, b, c], body)) => {
            let length = u32::from_be_bytes([0, *a, *b, *c]) as usize;
            match body.get(..length) {
                None if length > MOST => First::Other,
                None => First::More,
                Some(body) => hello(body).unwrap_or(First::Other),
            }
        }
        Some(_) => First::Other,
    }
}

/// `None`: malformed.
fn hello(body: &[u8]) -> Option<First> {
    let mut at = Reader(body);
    // version and random
    at.take(34)?;
    for length in [1, 2, 1] {
        at.vector(length)?;
    }
    if at.0.is_empty() {
        return Some(First::Unnamed);
    }
    let mut extensions = Reader(at.vector(2)?);
    let mut found = First::Unnamed;
    while !extensions.0.is_empty() {
        let kind = extensions.number(2)?;
        let content = extensions.vector(2)?;
        if kind == usize::from(ENCRYPTED) {
            return Some(First::Hidden);
        }
        if kind == usize::from(NAME) {
            let mut names = Reader(Reader(content).vector(2)?);
            // of its one kind of name there is at most one
            names.take(1).filter(|kind| kind == b"\0")?;
            let name = std::str::from_utf8(names.vector(2)?).ok()?;
            if !names.0.is_empty() || found != First::Unnamed {
                return None;
            }
            found = First::For(name.trim_end_matches('.').to_ascii_lowercase());
        }
    }
    Some(found)
}

struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    fn take(&mut self, length: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        Some(taken)
    }

    fn number(&mut self, bytes: usize) -> Option<usize> {
        let taken = self.take(bytes)?;
        Some(
            taken
                .iter()
                .fold(0, |sum, byte| sum << 8 | usize::from(*byte)),
        )
    }

    /// With its length before it, in so many bytes.
    fn vector(&mut self, length: usize) -> Option<&'a [u8]> {
        let length = self.number(length)?;
        self.take(length)
    }
}

fn plain(bytes: &[u8]) -> First {
    // no method is longer, and other protocols need not wait for a line's end
    let word = bytes.iter().take(16).take_while(|b| b.is_ascii_uppercase());
    let letters = word.count();
    if letters == 16
        || bytes
            .get(letters)
            .is_some_and(|b| *b != b' ' || letters == 0)
    {
        return First::Other;
    }
    let Some(end) = memchr::memmem::find(bytes, b"\r\n\r\n") else {
        return if bytes.len() > MOST {
            First::Other
        } else {
            First::More
        };
    };
    let text = String::from_utf8_lossy(&bytes[..end]);
    let mut lines = text.split("\r\n");
    // a whole address would be what the server goes by
    let target = lines.next().and_then(|line| {
        line.strip_suffix(" HTTP/1.1")
            .or(line.strip_suffix(" HTTP/1.0"))
    });
    let target = target.and_then(|line| line.split_once(' '));
    let own = |(_, path): (&str, &str)| path.starts_with('/') && !path.contains(' ');
    if !target.is_some_and(own) || text.replace("\r\n", "").contains(['\r', '\n']) {
        return First::Other;
    }
    let mut hosts = lines
        .filter_map(|line| line.split_once(':'))
        .filter(|(name, _)| name.trim().eq_ignore_ascii_case("host"))
        .map(|(_, value)| value.trim());
    match (hosts.next(), hosts.next()) {
        (Some(host), None) => {
            let name = host.rsplit_once(':').map_or(host, |(name, _)| name);
            First::For(name.trim_end_matches('.').to_ascii_lowercase())
        }
        _ => First::Other,
    }
}

#[cfg(test)]
pub(in crate::agent) mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    /// The first message of this machine's own TLS library.
    pub fn real(name: Option<&str>) -> Vec<u8> {
        let script = "import ssl,sys\n\
            c=ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT); c.check_hostname=False\n\
            i,o=ssl.MemoryBIO(),ssl.MemoryBIO()\n\
            s=c.wrap_bio(i,o,server_hostname=sys.argv[1] or None)\n\
            try: s.do_handshake()\n\
            except ssl.SSLWantReadError: pass\n\
            sys.stdout.buffer.write(o.read())";
        let mut command = std::process::Command::new("python3");
        let output = command
            .args(["-c", script, name.unwrap_or("")])
            .output()
            .unwrap();
        assert!(output.status.success() && output.stdout.len() > 100);
        output.stdout
    }

    #[test]
    fn a_real_library_names_its_host_and_every_cut_of_it_wants_more() {
        let bytes = real(Some("API.example.com"));
        let named = First::For("api.example.com".into());
        assert_eq!(first(&bytes), named);
        for cut in 0..bytes.len() {
            assert_eq!(first(&bytes[..cut]), First::More, "{cut}");
        }
        assert_eq!(first(&real(None)), First::Unnamed);
        // the same message in records of ten bytes
        let pieces = bytes[5..].chunks(10).flat_map(|piece| {
            let mut record = vec![HANDSHAKE, 3, 1, 0, piece.len() as u8];
            record.extend_from_slice(piece);
            record
        });
        assert_eq!(first(&pieces.collect::<Vec<u8>>()), named);
    }

    #[test]
    fn a_name_that_cannot_be_read_is_told() {
        let mut bytes = real(Some("api.example.com"));
        // one more extension: lengths of it, of the message and of the record grow
        let extra = [0xfe, 0x0d, 0, 1, 0];
        let body = 5 + 4;
        let session = body + 34;
        let suites = session + 1 + usize::from(bytes[session]);
        let number = |b: &[u8], at: usize| usize::from(u16::from_be_bytes([b[at], b[at + 1]]));
        let extensions = suites + 2 + number(&bytes, suites) + 2;
        for at in [3, 7, extensions] {
            let grown = number(&bytes, at) + extra.len();
            bytes[at..at + 2].copy_from_slice(&(grown as u16).to_be_bytes());
        }
        bytes.extend(extra);
        assert_eq!(first(&bytes), First::Hidden);
    }

    #[test]
    fn a_request_names_its_host_once_and_other_protocols_are_neither() {
        let named = |text: &str| first(text.as_bytes());
        assert_eq!(
            named("POST /v1 HTTP/1.1\r\nHOST: H.example.com:80\r\n\r\n"),
            First::For("h.example.com".into())
        );
        assert_eq!(named("GET / HTTP/1.1\r\nHost: a"), First::More);
        for other in [
            "GET / HTTP/1.1\r\n\r\n",
            "GET http://b/ HTTP/1.1\r\nHost: a\r\n\r\n",
            "GET / HTTP/1.1\nHost: b\r\nHost: a\r\n\r\n",
            "GET / HTTP/1.1\r\nHost: a\r\nhost: b\r\n\r\n",
            "SSH-2.0-x\r\n",
            "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
            "\0\0",
            " GET",
            "GETGETGETGETGETGETGET / HTTP/1.1\r\n",
        ] {
            assert_eq!(named(other), First::Other, "{other:?}");
        }
        // a record of something else behind the first one
        assert_eq!(
            first(&[HANDSHAKE, 3, 1, 0, 1, 1, 23, 3, 3, 0, 0]),
            First::Other
        );
    }

    proptest::proptest! {
        #[test]
        fn nothing_panics(mut bytes: Vec<u8>, at in 0usize..600, value: u8) {
            first(&bytes);
            bytes.insert(0, HANDSHAKE);
            first(&bytes);
            let mut near = HELLO.with(Clone::clone);
            let at = at % near.len();
            near[at] = value;
            first(&near);
        }
    }

    thread_local! {
        static HELLO: Vec<u8> = real(Some("api.example.com"));
    }
}
