//! What the CPU base image is made of, where no registry can be reached: Debian packages.

use std::fs;
use std::path::{Path, PathBuf};

/// The release of Debian. Its C library bounds on which machines infradev may have been built.
pub(super) const SUITE: &str = "bookworm";

/// On top of the smallest Debian: an interpreter with virtual environments, and what people and
/// agents expect of a shell. `assets/base/Dockerfile.cpu` installs the same.
pub(super) const PACKAGES: [&str; 8] = [
    "ca-certificates",
    "curl",
    "git",
    "less",
    "patch",
    "procps",
    "python3",
    "python3-venv",
];

/// Found by Debian's own redirection.
const DEFAULT_MIRROR: &str = "http://deb.debian.org/debian";

/// Of the made tree, what no container needs: caches, indices, the machine's own settings, texts
/// that nobody reads there. Licences stay.
pub(super) const LEFT_OUT: [&str; 16] = [
    "./debootstrap",
    "./dev/*",
    "./proc/*",
    "./sys/*",
    "./run/*",
    "./tmp/*",
    "./etc/hostname",
    "./etc/machine-id",
    "./etc/resolv.conf",
    "./usr/share/info/*",
    "./usr/share/locale/*",
    "./usr/share/man/*",
    "./var/cache/apt/*",
    "./var/cache/ldconfig/*",
    "./var/lib/apt/lists/*",
    "./var/log/*",
];

/// The image's settings.
pub(super) const CHANGES: [&str; 3] = [
    "ENV PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
    "ENV LANG=C.UTF-8",
    "CMD [\"bash\"]",
];

/// The mirror that this machine's apt takes Debian from, else Debian's own.
pub(super) fn mirror() -> String {
    mirror_below(Path::new("/etc/apt"))
}

fn mirror_below(apt: &Path) -> String {
    let mut files = vec![apt.join("sources.list")];
    let more = fs::read_dir(apt.join("sources.list.d"));
    let mut more: Vec<PathBuf> = more
        .into_iter()
        .flatten()
        .flatten()
        .map(|e| e.path())
        .collect();
    more.sort();
    files.extend(more);
    let mut sources = Vec::new();
    for file in files {
        let Ok(text) = fs::read_to_string(&file) else {
            continue;
        };
        match file.extension().and_then(|e| e.to_str()) {
            Some("list") => sources.extend(text.lines().filter_map(one_line_source)),
            Some("sources") => sources.extend(text.split("\n\n").flat_map(stanza_sources)),
            _ => {}
        }
    }
    let fits = |of: &dyn Fn(&Source) -> bool| sources.iter().find(|s| of(s)).map(|s| s.uri.clone());
    fits(&|s| s.suite == SUITE)
        // a mirror has all releases
        .or_else(|| fits(&|s| s.uri.ends_with("/debian")))
        .unwrap_or_else(|| DEFAULT_MIRROR.into())
}

struct Source {
    uri: String,
    suite: String,
}

impl Source {
    fn new(uri: &str, suite: &str) -> Option<Self> {
        let usable = ["http://", "https://", "file:/"];
        usable.iter().any(|s| uri.starts_with(s)).then(|| Self {
            uri: uri.trim_end_matches('/').to_owned(),
            suite: suite.to_owned(),
        })
    }
}

/// `deb [options] URI SUITE COMPONENT…`
fn one_line_source(line: &str) -> Option<Source> {
    let rest = line.trim().strip_prefix("deb ")?.trim_start();
    let rest = match rest.strip_prefix('[') {
        Some(options) => options.split_once(']')?.1,
        None => rest,
    };
    let mut words = rest.split_whitespace();
    Source::new(words.next()?, words.next()?)
}

/// Fields with a colon, one stanza a source.
fn stanza_sources(stanza: &str) -> Vec<Source> {
    let field = |name: &str| {
        stanza.lines().find_map(|line| {
            let (key, value) = line.split_once(':')?;
            key.eq_ignore_ascii_case(name).then(|| value.trim())
        })
    };
    let words = |name| field(name).unwrap_or("").split_whitespace();
    if field("Enabled").is_some_and(|v| v.eq_ignore_ascii_case("no"))
        || !words("Types").any(|t| t == "deb")
    {
        return Vec::new();
    }
    words("URIs")
        .flat_map(|uri| words("Suites").filter_map(move |suite| Source::new(uri, suite)))
        .collect()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn with(files: &[(&str, &str)]) -> String {
        let apt = tempfile::TempDir::new().unwrap();
        fs::create_dir(apt.path().join("sources.list.d")).unwrap();
        for (name, text) in files {
            fs::write(apt.path().join(name), text).unwrap();
        }
        mirror_below(apt.path())
    }

    #[test]
    fn the_machines_mirror_is_taken_in_either_way_of_writing() {
        assert_eq!(with(&[]), DEFAULT_MIRROR);
        let old = "# deb http://no/debian bookworm main\n\
                   deb cdrom:[x]/ bookworm main\n\
                   deb http://sec/debian-security bookworm-security main\n\
                   deb [arch=amd64 signed-by=/k] http://near/debian/ bookworm main\n";
        assert_eq!(with(&[("sources.list", old)]), "http://near/debian");
        let new = "Types: deb\nURIs: https://off/debian\nSuites: bookworm\nEnabled: no\n\n\
                   Types: deb deb-src\nURIs: https://near/x https://far/x\nSuites: trixie bookworm\n";
        let name = "sources.list.d/a.sources";
        assert_eq!(with(&[(name, new)]), "https://near/x");
        // another release of Debian, and another system
        let later = "deb http://u/ubuntu noble main\ndeb http://near/debian trixie main\n";
        assert_eq!(with(&[("sources.list", later)]), "http://near/debian");
        assert_eq!(
            with(&[("sources.list", "deb http://u/ubuntu noble main\n")]),
            DEFAULT_MIRROR
        );
        // set aside by its owner
        let aside = (
            "sources.list.d/a.sources.off",
            "deb http://x/debian bookworm main",
        );
        assert_eq!(with(&[aside]), DEFAULT_MIRROR);
    }

    #[test]
    fn the_dockerfile_installs_the_same() {
        let text = include_str!("../../../assets/base/Dockerfile.cpu");
        assert!(text.contains(&format!("debian:{SUITE}")));
        let mut installed: Vec<&str> = text
            .split("--no-install-recommends")
            .nth(1)
            .unwrap()
            .split("&&")
            .next()
            .unwrap()
            .split_whitespace()
            .filter(|word| *word != "\\")
            .collect();
        installed.sort_unstable();
        assert_eq!(installed, PACKAGES);
        for change in CHANGES {
            assert!(text.lines().any(|line| line == change), "{change}");
        }
    }
}
