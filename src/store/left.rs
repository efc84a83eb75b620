//! How the workbench was left, in the home: `workbench.json`.

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::home::{Home, StoreError};
use super::run::{read_json, write_json};

const NAME: &str = "workbench.json";

/// Keeps it for the next start.
pub fn keep_left(home: &Home, left: &impl Serialize) -> Result<(), StoreError> {
    write_json(&home.root().join(NAME), left)
}

/// What was kept; `None`: nothing, or nothing of use.
pub fn kept_left<T: DeserializeOwned>(home: &Home) -> Option<T> {
    read_json(&home.root().join(NAME)).ok()
}
