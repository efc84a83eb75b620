//! Python distributions by what their files and folders are called, installed or as archives.

use super::interpreter::Package;

/// Ends of what holds or describes one; what stands before is `name-version` and more.
pub(super) const ENDS: [&str; 9] = [
    ".dist-info",
    ".egg-info",
    ".egg-link",
    ".egg",
    ".whl",
    ".tar.gz",
    ".zip",
    // conda's
    ".conda",
    ".tar.bz2",
];

/// Where a name tells no version.
const UNKNOWN: &str = "(version unknown)";

/// `Package-1.0.dist-info`, `package-1.0-py3-none-any.whl`, `package.egg-info`.
pub(super) fn named(entry: &str) -> Option<Package> {
    let (stem, end) = ENDS
        .iter()
        .find_map(|end| Some((entry.strip_suffix(end)?, *end)))?;
    let mut parts = stem.match_indices('-').map(|(at, _)| stem.split_at(at));
    // a source archive's name may have a `-`: its version begins with a digit
    let version = parts.find_map(|(name, rest)| {
        let version = rest[1..].split('-').next()?;
        let begins = version.starts_with(|c: char| c.is_ascii_digit());
        begins.then(|| (name.to_owned(), version.to_owned()))
    });
    let (name, version) = match version {
        Some(both) => both,
        // any archive may be called like that
        None if matches!(end, ".tar.gz" | ".tar.bz2" | ".zip") => return None,
        None => (stem.to_owned(), UNKNOWN.to_owned()),
    };
    (!name.is_empty()).then_some(Package { name, version })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn names_tell_what_they_hold() {
        for (entry, told) in [
            (
                "Megatron_core-0.9.dist-info",
                Some(("Megatron_core", "0.9")),
            ),
            ("tandem.egg-info", Some(("tandem", UNKNOWN))),
            ("tandem-1.2-py3.11.egg-info", Some(("tandem", "1.2"))),
            ("tandem-1.2-py3.11.egg", Some(("tandem", "1.2"))),
            ("my-tandem.egg-link", Some(("my-tandem", UNKNOWN))),
            ("tandem-2-py3-none-any.whl", Some(("tandem", "2"))),
            ("my-tandem-2.0.tar.gz", Some(("my-tandem", "2.0"))),
            ("py-torch-2.9.1-py311_0.conda", Some(("py-torch", "2.9.1"))),
            ("numpy-1.26.0-py311h_1.tar.bz2", Some(("numpy", "1.26.0"))),
            ("node-v20.tar.gz", None),
            ("tandem", None),
            (".egg-info", None),
        ] {
            let expected = told.map(|(name, version)| Package {
                name: name.into(),
                version: version.into(),
            });
            assert_eq!(named(entry), expected, "{entry}");
        }
    }
}
