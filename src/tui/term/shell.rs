//! A shell in a sandbox, with the terminal given to it meanwhile.

use std::io::{self, Write};
use std::process::Command;

use super::editor::run;
use super::screen::Screen;
use crate::tui::backend::ShellCommand;

/// Waits until the shell is left. Where it did not open, what it said stands until a key.
pub fn open_shell(screen: &mut Screen, shell: &ShellCommand) -> Result<(), String> {
    screen.leave();
    let ended = run(Command::new(&shell.program).args(&shell.arguments));
    if !matches!(ended, Ok(0)) {
        writeln!(io::stderr(), "Enter goes back to the workbench").ok();
        io::stdin().read_line(&mut String::new()).ok();
    }
    screen
        .again()
        .map_err(|e| format!("the terminal did not take us back: {e}"))?;
    match ended {
        Ok(0) => Ok(()),
        Ok(code) => Err(format!("the shell ended with {code}")),
        Err(e) => Err(format!("the shell did not start: {e}")),
    }
}
