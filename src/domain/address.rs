//! Addresses of repositories elsewhere: what `[source] git` of a task holds where it is no path.

/// The address of a repository that is not on this machine. Every part is made of letters, digits
/// and `._~-`, so that it is safe in a path and in a command line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Address {
    /// As it was written.
    pub url: String,
    /// Lower case, without user and port.
    pub host: String,
    /// Usually one name; a group and its subgroups in some places, separated by `/`.
    pub owner: String,
    /// Without `.git`.
    pub name: String,
}

/// What an address may look like, for messages.
pub const ADDRESS_FORMS: &str =
    "https://host/owner/name, ssh://git@host/owner/name or git@host:owner/name";

impl Address {
    /// `None`: a path on this machine. The error says what is wrong with an address.
    pub fn parse(text: &str) -> Option<Result<Self, String>> {
        let (authority, path) = if let Some((scheme, rest)) = text.split_once("://") {
            if !["https", "http", "ssh"].contains(&scheme) {
                return Some(Err(format!("{scheme}:// is not known here")));
            }
            rest.split_once('/').unwrap_or((rest, ""))
        } else {
            // git's own short form: user@host:path
            let (before, path) = text.split_once(':')?;
            if before.contains('/') || !before.contains('@') {
                return None;
            }
            (before, path)
        };
        Some(Self::from_parts(text, authority, path))
    }

    fn from_parts(url: &str, authority: &str, path: &str) -> Result<Self, String> {
        let (user, host) = match authority.rsplit_once('@') {
            Some((user, host)) => (Some(user), host),
            None => (None, authority),
        };
        if user.is_some_and(|user| user.contains(':')) {
            return Err("a password or token stands in the address".into());
        }
        let (host, port) = match host.split_once(':') {
            Some((host, port)) => (host, Some(port)),
            None => (host, None),
        };
        let path = path.trim_matches('/');
        let path = path.strip_suffix(".git").unwrap_or(path);
        let Some((owner, name)) = path.rsplit_once('/') else {
            return Err("no owner/name in it".into());
        };
        let port_is_good =
            port.is_none_or(|p| !p.is_empty() && p.bytes().all(|b| b.is_ascii_digit()));
        let mut parts = [host, name].into_iter().chain(user).chain(owner.split('/'));
        if !port_is_good || !parts.all(is_plain) {
            return Err("a part of it is empty or holds characters that no name has".into());
        }
        Ok(Self {
            url: url.to_owned(),
            host: host.to_ascii_lowercase(),
            owner: owner.to_owned(),
            name: name.to_owned(),
        })
    }
}

/// A name that is one folder, and no option of a command.
fn is_plain(name: &str) -> bool {
    !name.is_empty()
        && !name.starts_with(['.', '-'])
        && name
            .bytes()
            .all(|b| b.is_ascii_alphanumeric() || b"._~-".contains(&b))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn forms_of_one_repository() {
        for url in [
            "https://github.com/NVIDIA/Megatron-LM",
            "https://github.com/NVIDIA/Megatron-LM.git",
            "https://GitHub.com/NVIDIA/Megatron-LM/",
            "http://github.com:8080/NVIDIA/Megatron-LM",
            "ssh://git@github.com/NVIDIA/Megatron-LM.git",
            "ssh://git@github.com:22/NVIDIA/Megatron-LM.git",
            "git@github.com:NVIDIA/Megatron-LM.git",
        ] {
            let found = Address::parse(url).unwrap().unwrap();
            let parts = [&*found.host, &*found.owner, &*found.name];
            assert_eq!(parts, ["github.com", "NVIDIA", "Megatron-LM"], "{url}");
            assert_eq!(found.url, url);
        }
        let deep = Address::parse("https://gitlab.com/a/b/c").unwrap().unwrap();
        assert_eq!((&*deep.owner, &*deep.name), ("a/b", "c"));
    }

    #[test]
    fn paths_are_none() {
        for path in ["/data/repo", "../repo.git", "repo", "a/b@c:d", "C:repo", ""] {
            assert_eq!(Address::parse(path), None, "{path:?}");
        }
    }

    #[test]
    fn what_would_leave_a_folder_or_a_command_line_is_refused() {
        for url in [
            "https://github.com/NVIDIA",
            "https://github.com",
            "https:///a/b",
            "https://github.com/../b",
            "https://github.com/a/..",
            "https://github.com/a//b",
            "https://github.com/a/b;id",
            "https://github.com/a/$(id)",
            "https://github.com/a/b c",
            "https://-oProxyCommand/a/b",
            "https://me:secret@github.com/a/b",
            "https://github.com:x/a/b",
            "file:///data/repo",
            "ext::sh/a@b:c",
            "git@github.com:a/\u{e9}",
        ] {
            assert!(!matches!(Address::parse(url), Some(Ok(_))), "{url}");
        }
    }
}
