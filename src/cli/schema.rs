//! JSON schemas of the files and documents that others write or read. They are generated from the
//! types and kept in `assets/schema/`; a test holds the two together.
//!
//! `infradev schema DIR` writes them.

use std::path::Path;

use schemars::{Schema, schema_for};

use super::agents::AgentsDocument;
use super::attach::RunDocument;
use super::audit::AuditDocument;
use super::check::CheckDocument;
use super::contract::ContractDocument;
use super::env::EnvironmentsBuilt;
use super::exit::{Exit, Failure};
use super::gc::GcDocument;
use super::hollow::HollowDocument;
use super::image::{ImageDocument, ImagesDocument};
use super::lint::LintDocument;
use super::mutants::MutantsDocument;
use super::prompt::PromptDocument;
use super::runs::RunsDocument;
use super::tasks::TasksDocument;
use crate::agent::trace::TraceDocument;
use crate::doctor::DoctorDocument;
use crate::domain::coverage::{Coverage, Signoffs};
use crate::domain::{
    Acceptance, AgentSpec, Calibration, Grade, Manifest, Mutation, Review, SubmissionSpec, TaskSpec,
};
use crate::environment::keep::{
    Collected, EnvironmentsChecked, EnvironmentsDocument, UsageDocument,
};
use crate::gpu::GpuDocument;
use crate::judge::score::Score;

/// Name in `assets/schema/` and schema.
pub fn all() -> Vec<(&'static str, Schema)> {
    vec![
        ("task.json", schema_for!(TaskSpec)),
        ("submission.json", schema_for!(SubmissionSpec)),
        ("agent.json", schema_for!(AgentSpec)),
        ("manifest.json", schema_for!(Manifest)),
        ("calibration.json", schema_for!(Calibration)),
        ("acceptance.json", schema_for!(Acceptance)),
        ("signoff.json", schema_for!(Signoffs)),
        ("coverage.json", schema_for!(Coverage)),
        ("mutation.json", schema_for!(Mutation)),
        ("grade.json", schema_for!(Grade)),
        ("tasks.json", schema_for!(TasksDocument)),
        ("check.json", schema_for!(CheckDocument)),
        ("hollow.json", schema_for!(HollowDocument)),
        ("audit.json", schema_for!(AuditDocument)),
        ("contract.json", schema_for!(ContractDocument)),
        ("lint.json", schema_for!(LintDocument)),
        ("mutants.json", schema_for!(MutantsDocument)),
        ("prompt.json", schema_for!(PromptDocument)),
        ("review.json", schema_for!(Review)),
        ("notes.json", schema_for!(crate::domain::notes::Notes)),
        ("runs.json", schema_for!(RunsDocument)),
        ("run.json", schema_for!(RunDocument)),
        ("agents.json", schema_for!(AgentsDocument)),
        ("doctor.json", schema_for!(DoctorDocument)),
        ("images.json", schema_for!(ImagesDocument)),
        ("image.json", schema_for!(ImageDocument)),
        ("gc.json", schema_for!(GcDocument)),
        ("gpu.json", schema_for!(GpuDocument)),
        ("trace.json", schema_for!(TraceDocument)),
        ("score.json", schema_for!(Score)),
        ("env-list.json", schema_for!(EnvironmentsDocument)),
        ("env-build.json", schema_for!(EnvironmentsBuilt)),
        ("env-check.json", schema_for!(EnvironmentsChecked)),
        ("env-gc.json", schema_for!(Collected)),
        ("env-usage.json", schema_for!(UsageDocument)),
    ]
}

/// A schema as it is kept on disk.
pub fn render(schema: &Schema) -> Result<String, serde_json::Error> {
    Ok(serde_json::to_string_pretty(schema)? + "\n")
}

pub fn run(dir: &Path) -> Result<Exit, Failure> {
    std::fs::create_dir_all(dir).map_err(|e| Failure::input(format!("{}: {e}", dir.display())))?;
    for (name, schema) in all() {
        let text = render(&schema).map_err(|e| Failure::machinery(e.to_string()))?;
        let path = dir.join(name);
        std::fs::write(&path, text)
            .map_err(|e| Failure::input(format!("{}: {e}", path.display())))?;
    }
    Ok(Exit::Yes)
}
