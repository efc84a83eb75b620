//! Calibrations: by key in the home, by machine in the task's folder.

use std::path::{Path, PathBuf};

use super::home::{Home, StoreError};
use super::run::{RunDir, read_json, write_json};
use crate::domain::Calibration;

/// Folder of a task that holds the calibrations that travel with it.
const FOLDER: &str = "calibration";

/// What gold did under this key, if it ran.
pub fn kept_calibration(home: &Home, key: &str) -> Result<Option<Calibration>, StoreError> {
    let path = home.calibration(key);
    if !path.exists() {
        return Ok(None);
    }
    let known: Calibration = read_json(&path)?;
    // a file under another's name is no calibration
    Ok(known.of_key(key))
}

/// What a calibration run made.
pub fn made_calibration(run: &RunDir) -> Result<Calibration, StoreError> {
    read_json(&run.calibration_path())
}

/// Keeps each suite's part under its key.
pub fn keep_calibration(home: &Home, calibration: &Calibration) -> Result<(), StoreError> {
    for suite in calibration.suites.values() {
        if let Some(part) = calibration.of_key(&suite.key) {
            write_calibration(&home.calibration(&suite.key), &part)?;
        }
    }
    Ok(())
}

/// Writes a calibration whole, making its folder where it is missing.
pub fn write_calibration(path: &Path, calibration: &Calibration) -> Result<(), StoreError> {
    if let Some(dir) = path.parent() {
        std::fs::create_dir_all(dir).map_err(StoreError::io(dir))?;
    }
    write_json(path, calibration)
}

/// `calibration/<GPU type>-<ranks>.json` of a task: one for each kind of machine and number of
/// ranks.
pub fn task_calibration_path(task_dir: &Path, calibration: &Calibration) -> PathBuf {
    let kind = calibration.machine.gpu_type.as_deref().unwrap_or("cpu");
    let mut name = String::new();
    for c in kind.chars() {
        match c {
            c if c.is_ascii_alphanumeric() => name.push(c.to_ascii_lowercase()),
            _ if name.is_empty() || name.ends_with('-') => {}
            _ => name.push('-'),
        }
    }
    let ranks = calibration.suites.values().map(|s| s.ranks).max();
    let ranks = ranks.unwrap_or(1);
    let name = name.trim_end_matches('-');
    task_dir.join(FOLDER).join(format!("{name}-r{ranks}.json"))
}

/// Every calibration file of a task, by name; one that cannot be read is an error of its own.
pub fn task_calibrations(task_dir: &Path) -> Vec<(PathBuf, Result<Calibration, StoreError>)> {
    let Ok(entries) = std::fs::read_dir(task_dir.join(FOLDER)) else {
        return Vec::new();
    };
    let mut files: Vec<PathBuf> = entries
        .flatten()
        .map(|e| e.path())
        .filter(|p| p.extension().is_some_and(|e| e == "json"))
        .collect();
    files.sort();
    files
        .into_iter()
        .map(|file| {
            let read = read_json(&file);
            (file, read)
        })
        .collect()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::domain::{EngineKind, Machine, Suite, SuiteCalibration};

    fn made(gpu: Option<&str>, runs: u32) -> Calibration {
        Calibration {
            schema: crate::domain::CALIBRATION_VERSION,
            task: "t".into(),
            created_s: 1.0,
            engine: EngineKind::Local,
            environment: "e".into(),
            machine: Machine {
                gpu_type: gpu.map(str::to_owned),
                ..Machine::default()
            },
            isolated: true,
            suites: [(Suite::Official, "aa"), (Suite::Probes, "bb")]
                .map(|(suite, key)| {
                    let part = SuiteCalibration {
                        key: key.into(),
                        ranks: 2,
                        runs,
                        ..SuiteCalibration::default()
                    };
                    (suite, part)
                })
                .into(),
        }
    }

    #[test]
    fn each_suite_is_found_by_its_own_key() {
        let folder = tempfile::tempdir().unwrap();
        let home = Home::open(folder.path()).unwrap();
        keep_calibration(&home, &made(None, 1)).unwrap();
        let found = kept_calibration(&home, "bb").unwrap().unwrap();
        assert_eq!(found.suites.keys().collect::<Vec<_>>(), [&Suite::Probes]);
        assert!(kept_calibration(&home, "cc").unwrap().is_none());
        // under another's name
        std::fs::copy(home.calibration("aa"), home.calibration("cc")).unwrap();
        assert!(kept_calibration(&home, "cc").unwrap().is_none());
    }

    #[test]
    fn a_task_has_a_file_for_each_kind_of_machine() {
        let task = tempfile::tempdir().unwrap();
        for (gpu, name) in [
            (Some("NVIDIA H200"), "nvidia-h200-r2.json"),
            (Some("../x (80 GB)"), "x-80-gb-r2.json"),
            (None, "cpu-r2.json"),
        ] {
            let path = task_calibration_path(task.path(), &made(gpu, 3));
            assert_eq!(path, task.path().join("calibration").join(name));
            write_calibration(&path, &made(gpu, 3)).unwrap();
        }
        std::fs::write(task.path().join("calibration/broken.json"), "{").unwrap();
        let all = task_calibrations(task.path());
        assert_eq!(all.iter().filter(|(_, read)| read.is_ok()).count(), 3);
        let (file, broken) = &all[0];
        assert!(file.ends_with("broken.json") && broken.is_err());
    }
}
