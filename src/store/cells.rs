//! Cells of acceptance matrices, by key in the home.

use super::home::{Home, StoreError};
use super::run::{read_json, write_json};
use crate::domain::cell::{CELL_VERSION, Cell};

/// What is known under a key. A file that is none of ours, or another's, is nothing.
pub fn kept_cell(home: &Home, key: &str) -> Option<Cell> {
    let cell: Cell = read_json(&home.cell(key)).ok()?;
    (cell.schema == CELL_VERSION && cell.key == key).then_some(cell)
}

pub fn keep_cell(home: &Home, cell: &Cell) -> Result<(), StoreError> {
    let path = home.cell(&cell.key);
    if let Some(dir) = path.parent() {
        std::fs::create_dir_all(dir).map_err(StoreError::io(dir))?;
    }
    write_json(&path, cell)
}
