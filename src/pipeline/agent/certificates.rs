//! The machine's public certificates, for whoever may reach a network from a sandbox: an image's
//! own may not know the ones that this machine's connections need.

use std::collections::BTreeMap;

use crate::engine::{Access, Mount};
use crate::environment::public_certificates;

/// Where they are in a sandbox.
const INSIDE: &str = "/infradev/certificates.pem";
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
    let mount = Mount {
        source: public_certificates()?.canonicalize().ok()?,
        target: INSIDE.into(),
        access: Access::ReadOnly,
    };
    let variables = VARIABLES.map(|name| (name.to_owned(), INSIDE.to_owned()));
    Some((mount, BTreeMap::from(variables)))
}
