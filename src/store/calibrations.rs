//! Calibrations: by key in the home, by machine in the task's folder.

use std::fs::OpenOptions;
use std::io::Read;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use nix::fcntl::OFlag;

use super::home::{Home, StoreError};
use super::run::{RunDir, read_json, write_json};
use crate::domain::{Calibration, Task};

/// Folder of a task that holds the calibrations that travel with it.
const FOLDER: &str = "calibration";
/// 100,000 cases of ten runs each take some 60.
const LARGEST: u64 = 64 << 20;

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

/// Writes a calibration to the task's folder. A suite that it does not hold stays as it is there,
/// where it was made on the same machine.
pub fn record_calibration(task: &Task, calibration: &Calibration) -> Result<PathBuf, StoreError> {
    let folder = task.dir.join(FOLDER);
    let io = |message: &str| StoreError::Io {
        path: folder.clone(),
        source: std::io::Error::other(message.to_owned()),
    };
    match std::fs::symlink_metadata(&folder) {
        Ok(found) if !found.is_dir() => return Err(io("is a link or a file, not a folder")),
        _ => {}
    }
    let path = task_calibration_path(task, calibration);
    let mut whole = calibration.clone();
    if let Ok(before) = read_outside(&path)
        && before.schema == whole.schema
        && (&before.task, &before.environment) == (&whole.task, &whole.environment)
        && (&before.machine, before.isolated) == (&whole.machine, whole.isolated)
    {
        for (suite, part) in before.suites {
            whole.suites.entry(suite).or_insert(part);
        }
    }
    write_calibration(&path, &whole)?;
    Ok(path)
}

/// Reads a file that others may have put there: a plain one, of bounded size.
fn read_outside(path: &Path) -> Result<Calibration, StoreError> {
    let io = StoreError::io;
    let mut file = OpenOptions::new()
        .read(true)
        .custom_flags((OFlag::O_NOFOLLOW | OFlag::O_NONBLOCK).bits())
        .open(path)
        .map_err(io(path))?;
    let found = file.metadata().map_err(io(path))?;
    if !found.is_file() || found.len() > LARGEST {
        let why = std::io::Error::other("is no plain file of at most 64 MiB");
        return Err(io(path)(why));
    }
    let mut text = Vec::new();
    file.by_ref()
        .take(LARGEST)
        .read_to_end(&mut text)
        .map_err(io(path))?;
    serde_json::from_slice(&text).map_err(|e| StoreError::Malformed {
        path: path.to_path_buf(),
        line: e.line(),
        message: e.to_string(),
    })
}

/// `calibration/<GPU type>-r<ranks>.json` of a task: one for each kind of machine and number of
/// ranks; `o2-p3` where the suites have their own.
fn task_calibration_path(task: &Task, calibration: &Calibration) -> PathBuf {
    let kind = calibration.machine.gpu_type.as_deref().unwrap_or("cpu");
    let mut name = String::new();
    for c in kind.chars() {
        match c {
            c if c.is_ascii_alphanumeric() => name.push(c.to_ascii_lowercase()),
            _ if name.is_empty() || name.ends_with('-') => {}
            _ => name.push('-'),
        }
    }
    let suites = &task.spec.suites;
    let official = suites.official.ranks.max(1);
    let ranks = match &suites.probes {
        Some(probes) if probes.ranks.max(1) != official => {
            format!("o{official}-p{}", probes.ranks.max(1))
        }
        _ => format!("r{official}"),
    };
    let name = name.trim_end_matches('-');
    task.dir.join(FOLDER).join(format!("{name}-{ranks}.json"))
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
            let read = read_outside(&file);
            (file, read)
        })
        .collect()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::domain::{EngineKind, Machine, Suite, SuiteCalibration};

    /// A task in a folder, whose suites run on these ranks.
    fn task(dir: &Path, official: u32, probes: u32) -> Task {
        let text = format!(
            "schema = 1\nid = \"t\"\ntitle = \"t\"\narea = \"rl\"\nkind = \"feature\"\n\
             repository = \"a/b\"\n[source]\nbase = \"base\"\n[gold]\npatch = \"gold.patch\"\n\
             [environment]\nkind = \"host\"\n[suites.official]\ninto = \"tests\"\n\
             ranks = {official}\n[suites.probes]\ninto = \"probes\"\nranks = {probes}\n"
        );
        Task {
            spec: toml::from_str(&text).unwrap(),
            dir: dir.to_path_buf(),
            submissions: Vec::new(),
        }
    }

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
        let folder = tempfile::tempdir().unwrap();
        let task = task(folder.path(), 2, 2);
        for (gpu, name) in [
            (Some("NVIDIA H200"), "nvidia-h200-r2.json"),
            (Some("../x (80 GB)"), "x-80-gb-r2.json"),
            (None, "cpu-r2.json"),
        ] {
            let path = task_calibration_path(&task, &made(gpu, 3));
            assert_eq!(path, folder.path().join("calibration").join(name));
            assert_eq!(record_calibration(&task, &made(gpu, 3)).unwrap(), path);
        }
        std::fs::write(folder.path().join("calibration/broken.json"), "{").unwrap();
        // neither waits for somebody who writes, nor follows a link
        let fifo = folder.path().join("calibration/fifo.json");
        nix::unistd::mkfifo(&fifo, nix::sys::stat::Mode::S_IRWXU).unwrap();
        std::os::unix::fs::symlink("/dev/zero", folder.path().join("calibration/zero.json"))
            .unwrap();
        let all = task_calibrations(folder.path());
        assert_eq!(all.iter().filter(|(_, read)| read.is_ok()).count(), 3);
        let bad = all.iter().filter(|(_, read)| read.is_err());
        let bad: Vec<_> = bad.map(|(f, _)| f.file_name().unwrap()).collect();
        assert_eq!(bad, ["broken.json", "fifo.json", "zero.json"]);
    }

    #[test]
    fn one_suite_leaves_the_other_in_the_file() {
        let folder = tempfile::tempdir().unwrap();
        let task = task(folder.path(), 2, 2);
        record_calibration(&task, &made(None, 3)).unwrap();
        let mut official = made(None, 5);
        official.suites.remove(&Suite::Probes);
        record_calibration(&task, &official).unwrap();
        let all = task_calibrations(folder.path());
        let runs: Vec<u32> = all[0]
            .1
            .as_ref()
            .unwrap()
            .suites
            .values()
            .map(|s| s.runs)
            .collect();
        assert_eq!(runs, [5, 3]);
        // another driver: what it says of the machine would not hold for the other suite
        official.machine.driver = Some("1".into());
        record_calibration(&task, &official).unwrap();
        let all = task_calibrations(folder.path());
        assert_eq!(all[0].1.as_ref().unwrap().suites.len(), 1);
    }

    /// What ran on other ranks has a file of its own, also where one suite alone ran.
    #[test]
    fn other_ranks_do_not_take_a_file_over() {
        let folder = tempfile::tempdir().unwrap();
        let mut names = Vec::new();
        for (official, probes) in [(2, 3), (3, 3), (2, 2)] {
            let task = task(folder.path(), official, probes);
            let mut one = made(None, 1);
            one.suites.remove(&Suite::Probes);
            let path = record_calibration(&task, &one).unwrap();
            names.push(path.file_name().unwrap().to_owned());
        }
        assert_eq!(names, ["cpu-o2-p3.json", "cpu-r3.json", "cpu-r2.json"]);
    }

    #[test]
    fn a_calibration_stays_in_the_task() {
        let (folder, elsewhere) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        std::os::unix::fs::symlink(elsewhere.path(), folder.path().join("calibration")).unwrap();
        assert!(record_calibration(&task(folder.path(), 2, 2), &made(None, 3)).is_err());
        assert_eq!(std::fs::read_dir(elsewhere.path()).unwrap().count(), 0);
    }
}
