//! `infradev schema DIR`: writes the JSON schemas that are kept in `assets/schema/`.

use std::path::Path;

use super::exit::{Exit, Failure};
use crate::catalog::schema;

pub fn run(dir: &Path) -> Result<Exit, Failure> {
    std::fs::create_dir_all(dir).map_err(|e| Failure::input(format!("{}: {e}", dir.display())))?;
    for (name, schema) in schema::all() {
        let text = schema::render(&schema).map_err(|e| Failure::machinery(e.to_string()))?;
        let path = dir.join(name);
        std::fs::write(&path, text)
            .map_err(|e| Failure::input(format!("{}: {e}", path.display())))?;
    }
    Ok(Exit::Yes)
}
