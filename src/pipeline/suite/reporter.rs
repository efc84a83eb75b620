//! The reporter: what a rank runs, put where a sandbox can mount it (`assets/reporter/`).

use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use sha2::{Digest, Sha256};

use super::files::io;
use super::spec::SuiteError;
use crate::domain::hex;
use crate::engine::{Access, Mount};

/// Where a sandbox sees the reporter.
pub const REPORTER: &str = "/infradev/reporter";

const SOURCES: [(&str, &str); 6] = [
    (
        "runner.py",
        include_str!("../../../assets/reporter/runner.py"),
    ),
    (
        "infradev_reporter.py",
        include_str!("../../../assets/reporter/infradev_reporter.py"),
    ),
    (
        "infradev_probe.py",
        include_str!("../../../assets/reporter/infradev_probe.py"),
    ),
    (
        "infradev_places.py",
        include_str!("../../../assets/reporter/infradev_places.py"),
    ),
    (
        "infradev_compare.py",
        include_str!("../../../assets/reporter/infradev_compare.py"),
    ),
    (
        "infradev_watch.py",
        include_str!("../../../assets/reporter/infradev_watch.py"),
    ),
];

/// Writes the reporter into `dir`, readable by the sandbox's user.
pub fn install_reporter(dir: &Path) -> Result<(), SuiteError> {
    use std::os::unix::fs::PermissionsExt;
    let mode = |path: &Path, bits: u32| {
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(bits))
            .map_err(|e| io("setting the mode of", path, e))
    };
    std::fs::create_dir_all(dir).map_err(|e| io("making", dir, e))?;
    mode(dir, 0o755)?;
    for (name, source) in SOURCES {
        let path = dir.join(name);
        std::fs::write(&path, source).map_err(|e| io("writing", &path, e))?;
        mode(&path, 0o644)?;
    }
    Ok(())
}

/// The mount that every suite's sandbox needs.
pub fn reporter_mount(dir: &Path) -> Mount {
    Mount {
        source: dir.to_owned(),
        target: PathBuf::from(REPORTER),
        access: Access::ReadOnly,
    }
}

/// Content hash of the reporter, for the key of a calibration.
pub fn reporter_hash() -> String {
    static HASH: LazyLock<String> = LazyLock::new(|| {
        let mut hasher = Sha256::new();
        for (name, source) in SOURCES {
            hasher.update(name);
            hasher.update([0]);
            hasher.update(source);
            hasher.update([0]);
        }
        hex(&hasher.finalize())
    });
    HASH.clone()
}
