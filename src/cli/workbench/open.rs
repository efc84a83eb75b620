//! Opens the workbench and says on leaving what goes on.

use std::sync::Arc;

use super::backend;
use crate::cli::context::Context;
use crate::cli::exit::{Exit, Failure};
use crate::cli::output;
use crate::tui;

pub fn run(context: &Context, theme: Option<String>) -> Result<Exit, Failure> {
    let home = context.home()?;
    let backend = backend::Store::new(home, context.tasks_dir());
    let options = tui::Options::detect(theme);
    match tui::run(Arc::new(backend), &options) {
        Ok(live) => {
            match live {
                0 => {}
                1 => output::note("1 run goes on; infradev shows it again"),
                n => output::note(&format!("{n} runs go on; infradev shows them again")),
            }
            Ok(Exit::Yes)
        }
        Err(error @ (tui::WorkbenchError::Theme(_) | tui::WorkbenchError::NoTerminal)) => {
            Err(Failure::input(error.to_string()))
        }
        Err(error @ tui::WorkbenchError::Terminal(_)) => Err(Failure::machinery(error.to_string())),
    }
}
