//! A driver of our own: a library under the name of NVIDIA's, which the program loads as it would
//! load that.

use std::path::{Path, PathBuf};
use std::process::Command;

pub struct Fake {
    folder: PathBuf,
    script: PathBuf,
}

/// Builds it in a folder, with a script (`tests/fake_driver/nvml.c` says what stands there).
pub fn fake(folder: &Path, script: &str) -> Fake {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fake_driver/nvml.c");
    let library = folder.join("libnvidia-ml.so.1");
    let built = Command::new("cc")
        .args(["-shared", "-fPIC", "-O1", "-o"])
        .args([&library, &source])
        .status()
        .expect("cc, with which Rust links too");
    assert!(built.success());
    let path = folder.join("fake_nvml");
    std::fs::write(&path, script).unwrap();
    Fake {
        folder: folder.to_path_buf(),
        script: path,
    }
}

impl Fake {
    /// What it does from now on.
    #[allow(dead_code)] // the bench says it once
    pub fn change(&self, script: &str) {
        // whole at any moment
        let new = self.script.with_extension("new");
        std::fs::write(&new, script).unwrap();
        std::fs::rename(&new, &self.script).unwrap();
    }

    /// Before any other library of that name.
    pub fn give(&self, command: &mut Command) {
        command
            .env("LD_LIBRARY_PATH", &self.folder)
            .env("FAKE_NVML", &self.script);
    }
}
