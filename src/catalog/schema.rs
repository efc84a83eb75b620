//! JSON schemas of the files and documents that others write or read. They are generated from the
//! types and kept in `assets/schema/`; a test holds the two together.

use schemars::{Schema, schema_for};

use crate::domain::{Calibration, Grade, Manifest, SubmissionSpec, TaskSpec};

/// Name in `assets/schema/` and schema.
pub fn all() -> Vec<(&'static str, Schema)> {
    vec![
        ("task.json", schema_for!(TaskSpec)),
        ("submission.json", schema_for!(SubmissionSpec)),
        ("grade.json", schema_for!(Grade)),
        ("manifest.json", schema_for!(Manifest)),
        ("calibration.json", schema_for!(Calibration)),
    ]
}

/// A schema as it is kept on disk.
pub fn render(schema: &Schema) -> Result<String, serde_json::Error> {
    Ok(serde_json::to_string_pretty(schema)? + "\n")
}
