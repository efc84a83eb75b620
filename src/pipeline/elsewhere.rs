//! A task's calibrations of other machines. One of them can stand for gold here only where it
//! differs in nothing but the machine, and where somebody says so.

use super::calibrate::key_on;
use super::error::Stop;
use super::ground::Ground;
use crate::domain::{Calibration, Suite};
use crate::store::task_calibrations;

/// A calibration under another key than this machine's.
pub(super) struct Elsewhere {
    /// Its file in the task's folder.
    file: String,
    /// Of the suite that was asked for.
    pub calibration: Calibration,
    differs: Vec<String>,
}

impl Elsewhere {
    pub fn words(&self) -> String {
        format!("{}: {}", self.file, self.differs.join(", "))
    }
}

/// Those that have the same base, gold, tests, limits, ranks and judge; the nearest first. `here`:
/// this machine.
pub(super) async fn elsewhere(
    ground: &Ground,
    suite: Suite,
    here: &Calibration,
) -> Result<Vec<Elsewhere>, Stop> {
    let dir = ground.task.dir.clone();
    let shipped = tokio::task::spawn_blocking(move || task_calibrations(&dir))
        .await
        .map_err(|e| Stop::Fault(format!("calibrations: {e}")))?;
    let mut found = Vec::new();
    for (file, read) in shipped {
        let Some(whole) = read
            .ok()
            .filter(|c| c.sound().is_ok() && c.task == here.task)
        else {
            continue;
        };
        let Some(key) = whole.suites.get(&suite).map(|part| part.key.clone()) else {
            continue;
        };
        let differs = whole.differs(here);
        // its key with its machine in it: all the rest is as here
        if differs.is_empty() || key_on(ground, suite, &whole)? != key {
            continue;
        }
        let name = file.file_name().unwrap_or_default();
        if let Some(calibration) = whole.of_key(&key) {
            found.push(Elsewhere {
                file: name.to_string_lossy().into_owned(),
                calibration,
                differs,
            });
        }
    }
    found.sort_by_key(|e| e.differs.len());
    Ok(found)
}

/// Why a suite cannot be graded by what is on record.
pub(super) fn not_on_record(suite: Suite, found: &[Elsewhere]) -> Stop {
    let mend =
        "calibrate here (`infradev calibrate TASK`), or let gold run first (--calibration auto)";
    if found.is_empty() {
        return Stop::Input(format!(
            "{suite}: no calibration of this task as it is now is on record; {mend}"
        ));
    }
    let all: Vec<String> = found.iter().map(Elsewhere::words).collect();
    Stop::Input(format!(
        "{suite}: the calibrations on record are not of this machine ({}); {mend}; --calibration any grades against the nearest, with the badge uncalibrated",
        all.join("; ")
    ))
}
