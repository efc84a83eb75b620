//! Where this machine keeps the certificates that it trusts.

use std::path::{Path, PathBuf};

const BUNDLES: [&str; 4] = [
    "/etc/ssl/certs/ca-certificates.crt",
    "/etc/pki/tls/certs/ca-bundle.crt",
    "/etc/ssl/ca-bundle.pem",
    "/etc/ssl/cert.pem",
];

/// The first bundle that is there.
pub fn public_certificates() -> Option<PathBuf> {
    let bundle = BUNDLES.iter().map(Path::new).find(|p| p.is_file())?;
    Some(bundle.to_path_buf())
}
