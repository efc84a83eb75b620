//! Test configuration as gold has it, outside the suites' folders: a submission must not choose
//! how it is tested (DESIGN.md, "The judge's mechanics").
//!
//! Whole files (`conftest.py`, `pytest.ini`, `sitecustomize.py`, `*.pth`, …) are gold's or gone;
//! of files that hold more than that (`setup.cfg`, `tox.ini`, `pyproject.toml`) the test sections
//! are; modules that shadow the standard library or the test framework, and compiled bytecode,
//! are removed unless gold has them.

mod files;
mod ini;
mod modules;
mod outcome;
mod pyproject;
mod run;

pub use outcome::{Action, Restored};
pub use run::restore_configuration;
