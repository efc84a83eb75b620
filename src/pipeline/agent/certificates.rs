//! The machine's public certificates, for whoever may reach a network from a sandbox: an image's
//! own may not know the ones that this machine's connections need.

use std::collections::BTreeMap;
use std::path::Path;

use crate::engine::{Access, Mount};

/// Where they are in a sandbox.
const INSIDE: &str = "/infradev/certificates.pem";
/// Where machines have them; the first that is there.
const BUNDLES: [&str; 4] = [
    "/etc/ssl/certs/ca-certificates.crt",
    "/etc/pki/tls/certs/ca-bundle.crt",
    "/etc/ssl/ca-bundle.pem",
    "/etc/ssl/cert.pem",
];
/// Variables by which programs find them.
const VARIABLES: [&str; 6] = [
    "SSL_CERT_FILE",
    "REQUESTS_CA_BUNDLE",
    "CURL_CA_BUNDLE",
    "NODE_EXTRA_CA_CERTS",
    "GIT_SSL_CAINFO",
    "PIP_CERT",
];

/// The mount, and the variables that point at it.
pub(super) fn certificates() -> Option<(Mount, BTreeMap<String, String>)> {
    let bundle = BUNDLES.iter().map(Path::new).find(|p| p.is_file())?;
    let mount = Mount {
        source: bundle.canonicalize().ok()?,
        target: INSIDE.into(),
        access: Access::ReadOnly,
    };
    let variables = VARIABLES.map(|name| (name.to_owned(), INSIDE.to_owned()));
    Some((mount, BTreeMap::from(variables)))
}
