//! The arguments of the workbench itself.

use std::path::PathBuf;

use clap::Args;

/// How the workbench is opened.
#[derive(Debug, Args)]
pub struct WorkbenchArgs {
    /// The workbench's colours: default (the terminal's own), dark, light, high-contrast,
    /// colour-blind, monochrome, or one of yours; else the one chosen last.
    #[arg(long, env = "INFRADEV_THEME", value_name = "NAME")]
    pub theme: Option<String>,
    /// Where the workbench's keymap.toml and themes/ lie, instead of in the home.
    #[arg(long, env = "INFRADEV_CONFIG", value_name = "DIR")]
    pub config: Option<PathBuf>,
    /// Print a keymap.toml with all default keys.
    #[arg(long)]
    pub print_keymap: bool,
    /// Check keymap.toml and themes, and open nothing.
    #[arg(long)]
    pub check_config: bool,
}
