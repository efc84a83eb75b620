//! What a run over gold's mutants found, in the run.

use super::home::StoreError;
use super::run::{RunDir, read_json, write_json};
use crate::domain::Mutation;

pub fn made_mutation(run: &RunDir) -> Result<Mutation, StoreError> {
    read_json(&run.mutation_path())
}

pub fn keep_mutation(run: &RunDir, made: &Mutation) -> Result<(), StoreError> {
    write_json(&run.mutation_path(), made)
}
