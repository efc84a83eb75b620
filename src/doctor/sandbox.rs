//! Whether a sandbox can be started here.

use std::path::{Path, PathBuf};

use super::document::Check;
use super::examine::Examination;
use crate::engine::local::{self, LocalOptions, LocalSupport};

/// Starts a sandbox of the local engine and runs a program in it. `binary`: ours, where that is
/// not the running one. Blocks, whether or not the caller is on an asynchronous runtime.
pub fn try_local(scratch: &Path, binary: Option<PathBuf>) -> LocalSupport {
    let refused = |reason: String| LocalSupport {
        works: false,
        took: None,
        refused: Some(reason),
        advice: None,
    };
    let options = LocalOptions {
        binary,
        allow_unisolated: false,
        ..LocalOptions::default()
    };
    let work = || {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build();
        match runtime {
            Ok(runtime) => runtime.block_on(local::probe(scratch, &options)),
            Err(error) => refused(format!("no runtime: {error}")),
        }
    };
    std::thread::scope(|scope| {
        scope
            .spawn(work)
            .join()
            .unwrap_or_else(|_| refused("the attempt ended early".into()))
    })
}

pub(super) fn check(examination: &Examination<'_>) -> Check {
    const NAME: &str = "namespaces";
    // its scratch files; gone when this returns
    let scratch = match super::disk::scratch(&examination.home) {
        Ok(scratch) => scratch,
        Err(error) => {
            return Check::fail(
                NAME,
                format!("not tried: no temporary folder: {error}"),
                "make the home writable, or name another with --home",
            );
        }
    };
    let found = (examination.sandbox)(scratch.path());
    if found.works {
        let took = found.took.map_or_else(String::new, |took| {
            format!(" in {:.0} ms", took.as_secs_f64() * 1000.0)
        });
        return Check::ok(NAME, format!("a program ran in a sandbox{took}"));
    }
    let reason = found
        .refused
        .unwrap_or_else(|| "no reason was given".into());
    match found.advice {
        // the engine goes on without them, and every result says so
        Some(advice) => Check::warn(
            NAME,
            format!(
                "refused: {reason}; submissions run uncontained and their grades carry the badge \
                 `unisolated`"
            ),
            advice,
        ),
        None => Check::fail(
            NAME,
            format!("no sandbox starts: {reason}"),
            "see the reason; other checks may tell more",
        ),
    }
}
