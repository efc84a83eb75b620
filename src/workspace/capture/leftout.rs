//! How much a folder holds that is left out as a whole.

use std::fs;
use std::path::{Path, PathBuf};

/// Entries that are looked at: a folder of a million files is told as more than these.
const MOST: u64 = 100_000;

#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Size {
    pub(super) files: u64,
    pub(super) bytes: u64,
    /// There is more.
    pub(super) cut: bool,
}

impl Size {
    pub(super) fn of_file(bytes: u64) -> Self {
        Self {
            files: 1,
            bytes,
            cut: false,
        }
    }

    /// Nothing is followed; what cannot be read counts as nothing.
    pub(super) fn of_folder(dir: &Path) -> Self {
        let mut size = Self::default();
        let mut seen = 0;
        let mut pending: Vec<PathBuf> = vec![dir.to_path_buf()];
        while let Some(dir) = pending.pop() {
            for entry in fs::read_dir(&dir)
                .into_iter()
                .flatten()
                .filter_map(Result::ok)
            {
                seen += 1;
                if seen > MOST {
                    size.cut = true;
                    return size;
                }
                let Ok(meta) = entry.metadata() else { continue };
                if meta.is_dir() {
                    pending.push(entry.path());
                } else {
                    size.files += 1;
                    size.bytes += meta.len();
                }
            }
        }
        size
    }

    pub(super) fn add(&mut self, other: Self) {
        self.files += other.files;
        self.bytes = self.bytes.saturating_add(other.bytes);
        self.cut |= other.cut;
    }

    /// `12 files, 3.4 MiB`.
    pub(super) fn words(self) -> String {
        let files = if self.files == 1 { "file" } else { "files" };
        let more = if self.cut { "more than " } else { "" };
        format!("{more}{} {files}, {}", self.files, bytes(self.bytes))
    }
}

/// `3.4 MiB`.
pub(super) fn bytes(count: u64) -> String {
    const UNITS: [&str; 4] = ["KiB", "MiB", "GiB", "TiB"];
    if count == 1 {
        return "1 byte".into();
    }
    if count < 1024 {
        return format!("{count} bytes");
    }
    let mut value = count as f64 / 1024.0;
    let mut unit = 0;
    while value >= 1024.0 && unit + 1 < UNITS.len() {
        value /= 1024.0;
        unit += 1;
    }
    format!("{value:.1} {}", UNITS[unit])
}
