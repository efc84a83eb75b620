//! Calibrations, kept by key.

use super::home::{Home, StoreError};
use super::run::{read_json, write_json};
use crate::domain::Calibration;

/// What gold did under this key, if it ran.
pub fn kept_calibration(home: &Home, key: &str) -> Result<Option<Calibration>, StoreError> {
    let path = home.calibration(key);
    if !path.exists() {
        return Ok(None);
    }
    let known: Calibration = read_json(&path)?;
    // a file under another's name is no calibration
    Ok((known.key == key).then_some(known))
}

pub fn keep_calibration(home: &Home, calibration: &Calibration) -> Result<(), StoreError> {
    let path = home.calibration(&calibration.key);
    if let Some(dir) = path.parent() {
        std::fs::create_dir_all(dir).map_err(StoreError::io(dir))?;
    }
    write_json(&path, calibration)
}
