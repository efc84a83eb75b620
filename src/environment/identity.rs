//! What makes a `uv` environment the one that it is.

use sha2::{Digest, Sha256};

use super::interpreter::Facts;
use super::requirements::{self, Requirement};
use super::types::LinkMode;
use crate::domain::hex;

/// Changes where the same lock would be built differently.
pub const FORMAT: u32 = 1;

/// Same hash, same environment (METHOD.md section 8).
pub(super) fn hash(
    requirements: &[Requirement],
    facts: &Facts,
    link: LinkMode,
    in_image: bool,
) -> String {
    let mut hasher = Sha256::new();
    let mut add = |part: &str| {
        hasher.update(part.len().to_le_bytes());
        hasher.update(part.as_bytes());
    };
    for part in [
        "infradev environment",
        &FORMAT.to_string(),
        &facts.implementation,
        &facts.version,
        &facts.abi,
        &facts.platform,
        // decides which wheels fit
        &facts.libc,
        link.name(),
        &requirements::normalised(requirements),
    ] {
        add(part);
    }
    if in_image {
        // images that have the same interpreter at the same place share what was built in one
        add("interpreter of an image");
        add(&facts.base_executable.to_string_lossy());
    }
    hex(&hasher.finalize())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hash_stays_what_it_is() {
        let facts = Facts {
            executable: "/v/bin/python".into(),
            base_executable: "/usr/bin/python3.11".into(),
            prefix: "/v".into(),
            base_prefix: "/usr".into(),
            base_exec_prefix: "/usr".into(),
            implementation: "cpython".into(),
            version: "3.11.2".into(),
            abi: "cpython-311-x86_64-linux-gnu".into(),
            platform: "linux-x86_64".into(),
            libc: "glibc-2.36".into(),
            libraries: Vec::new(),
            path: Vec::new(),
            user_base: None,
            packages: Vec::new(),
            pytest: false,
        };
        let requirements = [Requirement {
            specifier: "a==1".into(),
            hashes: vec!["sha256:01".into()],
            line: 1,
        }];
        // computed apart from this code: calibrations that are committed depend on the first
        for (in_image, expected) in [
            (
                false,
                "adfacb1aec91848e42b102cb47d3f105f789f4e01f401e85668f353616786c9c",
            ),
            (
                true,
                "46c48a272ece9fd38fd2f2f9df686d2509d6109590149d4e76ceb31043ab0ae4",
            ),
        ] {
            let hash = hash(&requirements, &facts, LinkMode::Hardlink, in_image);
            assert_eq!(hash, expected);
        }
    }
}
