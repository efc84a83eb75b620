//! What of the client's settings on this machine holds in a container, and the files that they name.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use super::certificates::public_certificates;
use super::client::REMOVED;
use super::mounts::Mounts;
use crate::engine::Mount;

/// How packages are reached, whatever the beginning's case.
const KEPT: [&str; 15] = [
    "ALL_PROXY",
    "CURL_CA_BUNDLE",
    "FTP_PROXY",
    "GIT_SSL_CAINFO",
    "HTTPS_PROXY",
    "HTTP_PROXY",
    "NETRC",
    "NO_COLOR",
    "NO_PROXY",
    "PIP_",
    "REQUESTS_CA_BUNDLE",
    "SSL_CERT_DIR",
    "SSL_CERT_FILE",
    "SSL_CLIENT_CERT",
    "UV_",
];
/// Programs and folders of this machine.
const NOT_KEPT: [&str; 3] = ["PIP_CACHE_DIR", "PIP_PYTHON", "UV_KEYRING_PROVIDER"];
/// Name a file or a folder of this machine, or several.
const PATHS: [&str; 13] = [
    "CURL_CA_BUNDLE",
    "GIT_SSL_CAINFO",
    "NETRC",
    "PIP_CERT",
    "PIP_CLIENT_CERT",
    "PIP_CONFIG_FILE",
    "PIP_FIND_LINKS",
    "REQUESTS_CA_BUNDLE",
    "SSL_CERT_DIR",
    "SSL_CERT_FILE",
    "SSL_CLIENT_CERT",
    "UV_CONFIG_FILE",
    "UV_FIND_LINKS",
];
/// Indexes, which may be folders as well.
const INDEXES: [&str; 6] = [
    "PIP_EXTRA_INDEX_URL",
    "PIP_INDEX_URL",
    "UV_DEFAULT_INDEX",
    "UV_EXTRA_INDEX_URL",
    "UV_INDEX",
    "UV_INDEX_URL",
];
/// The system's settings of package clients.
const SYSTEM_FILES: [&str; 3] = ["/etc/uv/uv.toml", "/etc/xdg/pip/pip.conf", "/etc/pip.conf"];
/// Without one of the image's own.
const PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// An image's variables for a process inside, with a search path in any case.
pub(super) fn of_image(image: &BTreeMap<String, String>) -> BTreeMap<String, String> {
    let mut env = image.clone();
    env.retain(|name, _| name != "HOME" && name != "TMPDIR");
    env.entry("PATH".into()).or_insert(PATH.into());
    env
}

/// Of them those that are not about the image's own Python.
pub(super) fn without_python(image: &BTreeMap<String, String>) -> BTreeMap<String, String> {
    let mut env = of_image(image);
    env.retain(|name, _| !REMOVED.contains(&name.as_str()));
    env
}

/// A client's variables and files in a container.
pub(super) struct Inside {
    pub env: BTreeMap<OsString, OsString>,
    pub mounts: Vec<Mount>,
}

impl Inside {
    /// Of a client that would have `client` as its variables here, on a machine with variables
    /// `host`; `image`: the image's own.
    pub fn new(
        client: &BTreeMap<OsString, OsString>,
        host: &BTreeMap<OsString, OsString>,
        image: &BTreeMap<String, String>,
    ) -> Self {
        let mut env: BTreeMap<OsString, OsString> = without_python(image)
            .into_iter()
            .map(|(name, value)| (name.into(), value.into()))
            .collect();
        let kept = client.iter().filter(|(name, _)| is_kept(name));
        env.extend(kept.map(|(name, value)| (name.clone(), value.clone())));
        for name in ["HOME", "TMPDIR"] {
            env.insert(name.into(), "/tmp".into());
        }
        env.insert("LANG".into(), "C.UTF-8".into());

        let mut mounts = Mounts::in_image();
        let file = |path: PathBuf| path.is_file().then_some(path);
        if !env.contains_key(OsStr::new("SSL_CERT_FILE"))
            && let Some(bundle) = public_certificates()
        {
            env.insert("SSL_CERT_FILE".into(), bundle.into());
        }
        // what a client would find in the user's home folder
        if let Some(home) = host.get(OsStr::new("HOME")).map(PathBuf::from) {
            let config = match host.get(OsStr::new("XDG_CONFIG_HOME")) {
                Some(config) => config.into(),
                None => home.join(".config"),
            };
            if let Some(settings) = file(config.join("uv/uv.toml")) {
                mounts.add(&settings);
                env.insert("XDG_CONFIG_HOME".into(), config.clone().into());
            }
            let pip = [config.join("pip/pip.conf"), home.join(".pip/pip.conf")];
            for (variable, found) in [
                ("PIP_CONFIG_FILE", pip.into_iter().find_map(file)),
                ("NETRC", file(home.join(".netrc"))),
            ] {
                if let Some(found) = found {
                    env.entry(variable.into()).or_insert(found.into());
                }
            }
        }
        for path in SYSTEM_FILES {
            mounts.add(Path::new(path));
        }
        for name in PATHS.iter().chain(&INDEXES) {
            let value = env.get(OsStr::new(name)).and_then(|value| value.to_str());
            for path in value.into_iter().flat_map(paths_in) {
                mounts.add(&path);
            }
        }
        Self {
            env,
            mounts: mounts.into_vec(),
        }
    }
}

fn is_kept(name: &OsStr) -> bool {
    let Some(name) = name.to_str() else {
        return false;
    };
    let upper = name.to_uppercase();
    !NOT_KEPT.contains(&name)
        && KEPT.iter().any(|kept| {
            if kept.ends_with('_') {
                name.starts_with(kept)
            } else {
                upper == *kept
            }
        })
}

/// Absolute paths of a setting: of files, of lists of them, of `file:` addresses.
fn paths_in(value: &str) -> Vec<PathBuf> {
    let whole = Path::new(value);
    if whole.is_absolute() && whole.exists() {
        return vec![whole.into()];
    }
    value
        .split(|c: char| c.is_whitespace() || c == ',')
        .flat_map(|part| match part.split_once("file://") {
            // an index may have a name: name=file:///folder
            Some((_, path)) => vec![path],
            None if part.contains("://") => Vec::new(),
            None => part.split(':').collect(),
        })
        .map(PathBuf::from)
        .filter(|path| path.is_absolute())
        .collect()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use std::fs;

    use super::*;

    #[test]
    fn what_reaches_packages_goes_in_with_its_files_and_nothing_else_does() {
        let place = tempfile::tempdir().unwrap();
        let folder = place.path().canonicalize().unwrap();
        for file in [
            "certs/a.pem",
            "wheels/x.whl",
            "home/.netrc",
            "home/.config/uv/uv.toml",
        ] {
            let file = folder.join(file);
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            fs::write(file, "").unwrap();
        }
        let at = |path: &str| folder.join(path).display().to_string();
        let pairs = [
            ("HOME", at("home")),
            ("PATH", "/here/bin".into()),
            ("SECRET", "s".into()),
            ("https_proxy", "http://proxy:1".into()),
            ("SSL_CERT_FILE", at("certs/a.pem")),
            (
                "UV_FIND_LINKS",
                format!("https://x.example,{}", at("wheels")),
            ),
            ("UV_INDEX", format!("own=file://{}", at("index"))),
            ("UV_KEYRING_PROVIDER", "subprocess".into()),
        ];
        let host: BTreeMap<OsString, OsString> = pairs
            .into_iter()
            .map(|(name, value)| (name.into(), value.into()))
            .collect();
        let image = [
            ("PATH", "/opt/bin:/bin"),
            ("CUDA_HOME", "/cuda"),
            ("PYTHONPATH", "/x"),
        ]
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .into();
        let inside = Inside::new(&host, &host, &image);
        let has = |name: &str| {
            inside
                .env
                .get(OsStr::new(name))
                .map(|v| v.to_str().unwrap())
        };
        for absent in ["SECRET", "UV_KEYRING_PROVIDER", "PYTHONPATH"] {
            assert_eq!(has(absent), None, "{absent}");
        }
        assert_eq!(has("PATH"), Some("/opt/bin:/bin"));
        assert_eq!(has("CUDA_HOME"), Some("/cuda"));
        assert_eq!(has("HOME"), Some("/tmp"));
        assert_eq!(has("https_proxy"), Some("http://proxy:1"));
        assert_eq!(has("NETRC"), Some(at("home/.netrc").as_str()));
        assert_eq!(has("XDG_CONFIG_HOME"), Some(at("home/.config").as_str()));
        let seen: Vec<String> = inside
            .mounts
            .iter()
            .map(|m| m.target.display().to_string())
            .filter(|target| target.starts_with(&at("")))
            .collect();
        assert_eq!(
            seen,
            [
                at("certs/a.pem"),
                at("home/.config/uv/uv.toml"),
                at("home/.netrc"),
                at("wheels")
            ]
        );
    }
}
