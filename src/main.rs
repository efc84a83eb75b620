//! The thin binary: everything lives in the library.

use std::process::ExitCode;

use infradev::engine::local;

fn main() -> ExitCode {
    // the two halves of a sandbox come before everything else: they start in milliseconds, and
    // one of them must never have a second thread
    match std::env::args_os()
        .nth(1)
        .as_deref()
        .and_then(|a| a.to_str())
    {
        Some("__sandbox") => local::supervisor_main(),
        Some("__init") => local::init_main(),
        _ => infradev::cli::main(),
    }
}
