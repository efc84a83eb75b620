//! The thin binary: everything lives in the library.

use std::process::ExitCode;

use infradev::agent::{relay, replay};
use infradev::engine::local;

fn main() -> ExitCode {
    // what runs in a sandbox comes before everything else: it starts in milliseconds, and one half
    // of a sandbox must never have a second thread
    match std::env::args_os()
        .nth(1)
        .as_deref()
        .and_then(|a| a.to_str())
    {
        Some("__sandbox") => local::supervisor_main(),
        Some("__init") => local::init_main(),
        Some("__relay") => relay::relay_main(),
        Some("__replay") => replay::replay_main(),
        _ => infradev::cli::main(),
    }
}
