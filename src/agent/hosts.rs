//! The hosts that an allow-list names.

use std::fmt;
use std::net::{IpAddr, Ipv6Addr};

/// Of a host that is named without one.
pub const DEFAULT_PORT: u16 = 443;

/// One entry: a name, all names below a name, or an address, with a port.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostRule {
    name: Name,
    port: u16,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Name {
    /// Lower case, without a dot at its end.
    Exact(String),
    /// `.example.com`: what ends with it, and not `example.com` itself.
    Below(String),
    Address(IpAddr),
}

impl HostRule {
    /// `host`, `host:port`, `*.host`, `*.host:port`, an IPv4 address, or an IPv6 address in
    /// brackets where a port follows.
    pub fn parse(text: &str) -> Result<Self, String> {
        let wrong = |why: &str| Err(format!("{text:?} is no host of an allow-list: {why}"));
        if text.contains("://") || text.contains('/') {
            return wrong("give host or host:port, without a scheme or a path");
        }
        let (host, port) = match split_port(text) {
            Ok((host, port)) => (host, port.unwrap_or(DEFAULT_PORT)),
            Err(why) => return wrong(why),
        };
        if let Some(address) = address(host) {
            let name = Name::Address(address);
            return Ok(Self { name, port });
        }
        let (below, plain) = match host.strip_prefix("*.") {
            Some(rest) => (true, rest),
            None => (false, host),
        };
        let plain = canonical(plain);
        if !is_name(&plain) {
            return wrong("a name has letters, digits and - between dots");
        }
        let name = if below {
            Name::Below(format!(".{plain}"))
        } else {
            Name::Exact(plain)
        };
        Ok(Self { name, port })
    }

    /// The host of an address as variables hold it: `https://host/path`, `http://host:port`,
    /// `host:port` or `host`. `None`: there is no host in it.
    pub fn of_url(text: &str) -> Option<Self> {
        let (scheme, rest) = match text.trim().split_once("://") {
            Some((scheme, rest)) => (scheme.to_ascii_lowercase(), rest),
            None => (String::new(), text.trim()),
        };
        let authority = rest.split(['/', '?', '#']).next()?;
        let host = authority.rsplit('@').next()?;
        let mut rule = Self::parse(host).ok()?;
        let says_port = split_port(host).is_ok_and(|(_, port)| port.is_some());
        if !says_port && matches!(scheme.as_str(), "http" | "ws") {
            rule.port = 80;
        }
        Some(rule)
    }

    fn matches(&self, host: &str, port: u16) -> bool {
        if self.port != port {
            return false;
        }
        let address = address(host);
        match (&self.name, address) {
            (Name::Address(mine), Some(asked)) => *mine == asked,
            // an address is let in only where it is listed as one
            (Name::Address(_), None) | (_, Some(_)) => false,
            (Name::Exact(name), None) => *name == canonical(host),
            (Name::Below(end), None) => canonical(host).ends_with(end),
        }
    }
}

impl fmt::Display for HostRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.name {
            Name::Exact(name) => f.write_str(name)?,
            Name::Below(end) => write!(f, "*{end}")?,
            Name::Address(IpAddr::V6(address)) => write!(f, "[{address}]")?,
            Name::Address(address) => write!(f, "{address}")?,
        }
        write!(f, ":{}", self.port)
    }
}

/// An allow-list.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Hosts(Vec<HostRule>);

impl Hosts {
    pub fn new(rules: Vec<HostRule>) -> Self {
        Self(rules)
    }

    /// `host` without brackets.
    pub fn allow(&self, host: &str, port: u16) -> bool {
        self.0.iter().any(|rule| rule.matches(host, port))
    }

    /// Whether one of them is this machine itself.
    pub fn lead_here(&self) -> bool {
        self.0.iter().any(|rule| match &rule.name {
            Name::Exact(name) => name == "localhost",
            Name::Below(_) => false,
            Name::Address(address) => address.is_loopback(),
        })
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// As records list them: `api.example.com:443`.
    pub fn names(&self) -> Vec<String> {
        self.0.iter().map(ToString::to_string).collect()
    }
}

/// `host`, `host:port`, `[v6]:port`, or a bare IPv6 address.
pub(super) fn split_port(text: &str) -> Result<(&str, Option<u16>), &'static str> {
    let port = |text: &str| match text.parse::<u16>() {
        Ok(port) if port > 0 && text.bytes().all(|b| b.is_ascii_digit()) => Ok(Some(port)),
        _ => Err("the port is a number from 1 to 65535"),
    };
    if let Some(rest) = text.strip_prefix('[') {
        let (host, after) = rest.split_once(']').ok_or("a [ without its ]")?;
        if !matches!(address(host), Some(IpAddr::V6(_))) {
            return Err("brackets hold an IPv6 address");
        }
        return match after.strip_prefix(':') {
            Some(after) => Ok((host, port(after)?)),
            None if after.is_empty() => Ok((host, None)),
            None => Err("something stands behind the ]"),
        };
    }
    if text.parse::<Ipv6Addr>().is_ok() {
        return Ok((text, None));
    }
    match text.split_once(':') {
        Some((host, after)) => Ok((host, port(after)?)),
        None => Ok((text, None)),
    }
}

/// A literal address; one that IPv6 wraps around IPv4 is the IPv4 address.
pub(super) fn address(host: &str) -> Option<IpAddr> {
    let host = host.strip_suffix('.').unwrap_or(host);
    host.parse::<IpAddr>().ok().map(|a| a.to_canonical())
}

/// Lower case, without the dot that ends a full name.
pub(super) fn canonical(host: &str) -> String {
    host.strip_suffix('.').unwrap_or(host).to_ascii_lowercase()
}

/// A name that resolvers take for nothing else: `0x7f.1` and `2130706433` are addresses to some.
pub(super) fn is_name(host: &str) -> bool {
    let label = |label: &str| {
        !label.is_empty()
            && label.len() <= 63
            && !label.starts_with('-')
            && !label.ends_with('-')
            && label
                .bytes()
                .all(|b| b.is_ascii_alphanumeric() || b == b'-' || b == b'_')
    };
    let last = host.rsplit('.').next().unwrap_or_default();
    let numeric = last.starts_with("0x") || last.bytes().all(|b| b.is_ascii_digit());
    host.len() <= 253 && host.split('.').all(label) && !numeric
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn hosts(rules: &[&str]) -> Hosts {
        Hosts::new(rules.iter().map(|r| HostRule::parse(r).unwrap()).collect())
    }

    #[test]
    fn names_are_matched_whole_and_in_any_case() {
        let list = hosts(&["API.example.com", "other.org:8443", "*.cdn.net"]);
        for (host, port, allowed) in [
            ("api.example.com", 443, true),
            ("Api.Example.COM.", 443, true),
            ("api.example.com", 80, false),
            ("api.example.com", 8443, false),
            ("xapi.example.com", 443, false),
            ("example.com", 443, false),
            ("api.example.com.evil.org", 443, false),
            ("other.org", 8443, true),
            ("other.org", 443, false),
            ("a.cdn.net", 443, true),
            ("a.b.cdn.net", 443, true),
            ("cdn.net", 443, false),
            ("evilcdn.net", 443, false),
            ("127.0.0.1", 443, false),
        ] {
            assert_eq!(list.allow(host, port), allowed, "{host}:{port}");
        }
    }

    #[test]
    fn addresses_are_let_in_only_where_they_are_listed() {
        let list = hosts(&["127.0.0.1:8000", "[::1]:8001", "2001:db8::1", "localhost:1"]);
        for (host, port, allowed) in [
            ("127.0.0.1", 8000, true),
            // the same address, written otherwise
            ("::ffff:127.0.0.1", 8000, true),
            ("127.0.0.1", 8001, false),
            ("127.0.0.2", 8000, false),
            ("::1", 8001, true),
            ("0:0:0:0:0:0:0:1", 8001, true),
            ("2001:DB8::1", 443, true),
            ("127.0.0.1", 1, false),
            ("localhost", 8000, false),
        ] {
            assert_eq!(list.allow(host, port), allowed, "{host}:{port}");
        }
    }

    #[test]
    fn what_is_no_host_is_refused_and_the_rest_is_written_as_it_is_read() {
        for bad in [
            "",
            "*",
            "*.",
            "a b",
            "https://x",
            "x/y",
            "x:0",
            "x:99999",
            "x:+1",
            "[::1",
            "[x]:1",
            "0x7f.1",
            "2130706433",
            "1.2.3",
            "-a.b",
            "a..b",
            "*.*.x",
            "x:1:2",
            "[::1]x",
        ] {
            assert!(HostRule::parse(bad).is_err(), "{bad:?}");
        }
        for (text, shown) in [
            ("Host", "host:443"),
            ("*.A.b:1", "*.a.b:1"),
            ("::1", "[::1]:443"),
            ("[::1]:5", "[::1]:5"),
            ("10.0.0.1", "10.0.0.1:443"),
        ] {
            let rule = HostRule::parse(text).unwrap();
            assert_eq!(rule.to_string(), shown);
            assert_eq!(HostRule::parse(shown).unwrap(), rule);
        }
    }

    #[test]
    fn a_variable_may_hold_an_address_or_a_host() {
        for (text, shown) in [
            ("https://api.example.com/v1", Some("api.example.com:443")),
            ("http://127.0.0.1:8123/v1", Some("127.0.0.1:8123")),
            ("http://proxy.example.com", Some("proxy.example.com:80")),
            ("https://user:word@h.org?x", Some("h.org:443")),
            ("h.org:99", Some("h.org:99")),
            ("http://[::1]:9", Some("[::1]:9")),
            ("", None),
            ("file:///etc", None),
        ] {
            let rule = HostRule::of_url(text).map(|r| r.to_string());
            assert_eq!(rule.as_deref(), shown, "{text}");
        }
    }
}
