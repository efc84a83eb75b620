//! `infradev score RUNS…`: figures over graded runs, as a document or as tables.

mod lists;
mod run;
mod table;
mod tables;

pub use run::run;
