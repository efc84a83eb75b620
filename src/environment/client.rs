//! The environment variables that package clients (uv, pip) are run with.
//!
//! They are the host's own, so that certificates, proxies, credentials and index settings hold;
//! without those that would send the work elsewhere or weaken the lock. Settings that only pip
//! would read (its variables and configuration files) are handed to uv as well, so that a machine
//! on which pip works needs nothing more.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

/// Would redirect an installation, or are about another environment.
pub(super) const REMOVED: [&str; 14] = [
    "VIRTUAL_ENV",
    "CONDA_PREFIX",
    "PYTHONPATH",
    "PYTHONHOME",
    "PYTHONSTARTUP",
    "PYTHONUSERBASE",
    "PIP_TARGET",
    "PIP_PREFIX",
    "PIP_ROOT",
    "PIP_USER",
    "PIP_REQUIRE_VIRTUALENV",
    "PIP_REQUIRE_HASHES",
    "PIP_DRY_RUN",
    "PIP_CONSTRAINT",
];

/// Of uv's own settings only those that say how to reach packages; others could switch off the
/// verification of hashes, the cache or the choice of interpreter.
const UV_KEPT: [&str; 18] = [
    "UV_INDEX",
    "UV_DEFAULT_INDEX",
    "UV_INDEX_URL",
    "UV_EXTRA_INDEX_URL",
    "UV_INDEX_STRATEGY",
    "UV_FIND_LINKS",
    "UV_NO_INDEX",
    "UV_OFFLINE",
    "UV_KEYRING_PROVIDER",
    "UV_INSECURE_HOST",
    "UV_NATIVE_TLS",
    "UV_SYSTEM_CERTS",
    "UV_HTTP_TIMEOUT",
    "UV_HTTP_CONNECT_TIMEOUT",
    "UV_HTTP_RETRIES",
    "UV_CONCURRENT_DOWNLOADS",
    "UV_CONFIG_FILE",
    "UV_NO_CONFIG",
];

/// pip's setting and uv's variable for the same thing.
const PIP_TO_UV: [(&str, &str); 4] = [
    ("index-url", "UV_DEFAULT_INDEX"),
    ("extra-index-url", "UV_INDEX"),
    ("find-links", "UV_FIND_LINKS"),
    ("cert", "SSL_CERT_FILE"),
];

/// For pip, and for asking interpreters.
pub(super) fn pip_env(host: &BTreeMap<OsString, OsString>) -> BTreeMap<OsString, OsString> {
    let mut env: BTreeMap<OsString, OsString> = host
        .iter()
        .filter(|(name, _)| !REMOVED.iter().any(|r| *name == r))
        .map(|(name, value)| (name.clone(), value.clone()))
        .collect();
    env.insert("PIP_DISABLE_PIP_VERSION_CHECK".into(), "1".into());
    env.insert("PIP_NO_INPUT".into(), "1".into());
    env.insert("NO_COLOR".into(), "1".into());
    env
}

/// For uv; `cache` becomes its cache.
pub(super) fn uv_env(
    host: &BTreeMap<OsString, OsString>,
    cache: &Path,
) -> BTreeMap<OsString, OsString> {
    let mut env: BTreeMap<OsString, OsString> = pip_env(host)
        .into_iter()
        .filter(|(name, _)| {
            let name = name.to_string_lossy();
            // credentials of named indexes: UV_INDEX_<NAME>_USERNAME, _PASSWORD
            !name.starts_with("UV_")
                || UV_KEPT.contains(&name.as_ref())
                || (name.starts_with("UV_INDEX_")
                    && (name.ends_with("_USERNAME") || name.ends_with("_PASSWORD")))
        })
        .collect();
    let files = pip_files(host);
    let own_index = ["UV_DEFAULT_INDEX", "UV_INDEX_URL", "UV_NO_INDEX"];
    for (setting, variable) in PIP_TO_UV {
        let taken = match setting {
            "index-url" => own_index.iter().any(|v| env.contains_key(OsStr::new(v))),
            _ => env.contains_key(OsStr::new(variable)),
        };
        if taken {
            continue;
        }
        let name = format!("PIP_{}", setting.replace('-', "_").to_uppercase());
        let value = match host.get(OsStr::new(&name)) {
            Some(value) => Some(value.to_string_lossy().into_owned()),
            None => files.get(setting).cloned(),
        };
        if let Some(value) = value.filter(|v| !v.trim().is_empty()) {
            // pip separates with white space, uv takes folders separated by commas
            let value = match setting {
                "find-links" => value.split_whitespace().collect::<Vec<_>>().join(","),
                "extra-index-url" => value.split_whitespace().collect::<Vec<_>>().join(" "),
                _ => value.trim().to_string(),
            };
            env.insert(variable.into(), value.into());
        }
    }
    env.insert("UV_CACHE_DIR".into(), cache.into());
    env.insert("UV_NO_PROGRESS".into(), "1".into());
    env
}

/// Settings of pip's configuration files; a later file wins.
fn pip_files(host: &BTreeMap<OsString, OsString>) -> BTreeMap<String, String> {
    let variable = |name: &str| host.get(OsStr::new(name)).map(PathBuf::from);
    let mut files: Vec<PathBuf> = vec!["/etc/xdg/pip/pip.conf".into(), "/etc/pip.conf".into()];
    if let Some(home) = variable("HOME") {
        files.push(home.join(".pip/pip.conf"));
        let config = variable("XDG_CONFIG_HOME").unwrap_or_else(|| home.join(".config"));
        files.push(config.join("pip/pip.conf"));
    }
    files.extend(variable("PIP_CONFIG_FILE"));
    let mut settings = BTreeMap::new();
    for file in files {
        if let Ok(text) = std::fs::read_to_string(file) {
            settings.extend(pip_settings(&text));
        }
    }
    settings
}

/// `[global]` and `[install]` of one configuration file; values may go on in indented lines.
fn pip_settings(text: &str) -> BTreeMap<String, String> {
    let mut settings: BTreeMap<String, String> = BTreeMap::new();
    let mut ours = false;
    let mut last: Option<String> = None;
    for line in text.lines() {
        let trimmed = line.trim();
        if trimmed.is_empty() || trimmed.starts_with(['#', ';']) {
            continue;
        }
        if line.starts_with([' ', '\t']) {
            if let Some(value) = last.as_ref().and_then(|key| settings.get_mut(key)) {
                value.push(' ');
                value.push_str(trimmed);
            }
        } else if let Some(section) = trimmed.strip_prefix('[') {
            ours = matches!(section.trim_end_matches(']'), "global" | "install");
            last = None;
        } else if let Some((key, value)) = trimmed.split_once(['=', ':']).filter(|_| ours) {
            let key = key.trim().replace('_', "-").to_lowercase();
            settings.insert(key.clone(), value.trim().to_string());
            last = Some(key);
        }
    }
    settings
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn env(pairs: &[(&str, &str)]) -> BTreeMap<OsString, OsString> {
        pairs
            .iter()
            .map(|(k, v)| ((*k).into(), (*v).into()))
            .collect()
    }

    #[test]
    fn what_weakens_the_lock_does_not_pass_and_what_reaches_packages_does() {
        let host = env(&[
            ("UV_NO_VERIFY_HASHES", "1"),
            ("UV_PYTHON", "3.8"),
            ("UV_CACHE_DIR", "/elsewhere"),
            ("VIRTUAL_ENV", "/v"),
            ("PYTHONPATH", "/p"),
            ("UV_INDEX_MINE_PASSWORD", "secret"),
            ("https_proxy", "p"),
            ("SSL_CERT_FILE", "/c"),
        ]);
        let got = uv_env(&host, Path::new("/cache"));
        let has = |name: &str| got.get(OsStr::new(name)).and_then(|v| v.to_str());
        for absent in [
            "UV_NO_VERIFY_HASHES",
            "UV_PYTHON",
            "VIRTUAL_ENV",
            "PYTHONPATH",
        ] {
            assert_eq!(has(absent), None, "{absent}");
        }
        assert_eq!(has("UV_CACHE_DIR"), Some("/cache"));
        assert_eq!(has("UV_INDEX_MINE_PASSWORD"), Some("secret"));
        assert_eq!(has("https_proxy"), Some("p"));
        assert_eq!(has("SSL_CERT_FILE"), Some("/c"));
    }

    #[test]
    fn settings_of_pip_hold_for_uv() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("pip.conf");
        std::fs::write(
            &file,
            "# mine\n[global]\nindex-url = https://index.example/simple\n[download]\nindex-url = no\n\
             [install]\nfind-links =\n    /a\n    /b\n",
        )
        .unwrap();
        let file = file.to_str().unwrap();
        let got = uv_env(&env(&[("PIP_CONFIG_FILE", file)]), Path::new("/cache"));
        let has = |name: &str| got.get(OsStr::new(name)).and_then(|v| v.to_str());
        assert_eq!(
            has("UV_DEFAULT_INDEX"),
            Some("https://index.example/simple")
        );
        assert_eq!(has("UV_FIND_LINKS"), Some("/a,/b"));
        // the variable wins over the file, uv's own over both
        let host = env(&[
            ("PIP_CONFIG_FILE", file),
            ("PIP_INDEX_URL", "https://other.example"),
        ]);
        let got = uv_env(&host, Path::new("/cache"));
        assert_eq!(
            got.get(OsStr::new("UV_DEFAULT_INDEX")).unwrap(),
            "https://other.example"
        );
        let host = env(&[("PIP_CONFIG_FILE", file), ("UV_INDEX_URL", "u")]);
        assert!(!uv_env(&host, Path::new("/c")).contains_key(OsStr::new("UV_DEFAULT_INDEX")));
    }
}
