//! Opens the workbench, keeps how it was left, and says on leaving what goes on.

use std::sync::Arc;

use super::args::WorkbenchArgs;
use super::backend;
use crate::cli::context::Context;
use crate::cli::exit::{Exit, Failure};
use crate::cli::output;
use crate::store::{keep_left, kept_left};
use crate::tui;

pub fn run(context: &Context, args: WorkbenchArgs) -> Result<Exit, Failure> {
    if args.print_keymap {
        return Ok(super::config::print_keymap());
    }
    let config = args
        .config
        .unwrap_or_else(|| context.home_path().to_path_buf());
    if args.check_config {
        return super::config::check(&config, args.theme.as_deref());
    }
    let home = context.home()?;
    let kept = kept_left(&home).unwrap_or_default();
    let options = tui::Options::detect(args.theme, home.root(), config, kept);
    let backend = backend::Store::new(home.clone(), context.tasks_dir());
    match tui::run(Arc::new(backend), &options) {
        Ok(left) => {
            if left.kept != options.kept
                && let Err(error) = keep_left(&home, &left.kept)
            {
                output::note(&format!("how the workbench was left is not kept: {error}"));
            }
            match left.live {
                0 => {}
                1 => output::note("1 run goes on; infradev shows it again"),
                n => output::note(&format!("{n} runs go on; infradev shows them again")),
            }
            Ok(Exit::Yes)
        }
        Err(error @ (tui::WorkbenchError::Config(_) | tui::WorkbenchError::NoTerminal)) => {
            Err(Failure::input(error.to_string()))
        }
        Err(error @ tui::WorkbenchError::Terminal(_)) => Err(Failure::machinery(error.to_string())),
    }
}
