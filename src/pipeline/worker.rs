//! The worker: takes a run directory, executes the pipeline on it, appends facts to its journal.

use std::path::Path;
use std::time::Duration;

use super::agent::{agent_tree, awaits_capture};
use super::error::{Stop, WorkError};
use super::recorder::Recorder;
use super::{calibrate, grade, mutants, verify};
use crate::domain::run_state::RunState;
use crate::domain::{Event, Grade, Level, Manifest, MutationCounts, Standing, Work};
use crate::engine::docker::all_gone;
use crate::environment::remove_tree;
use crate::store::{Home, Journal, Lock, Request, RunDir, StoreError, Summary, Watch, random_hex};

/// What sandboxes may take to go when a run ends in their middle.
const ENDING: Duration = Duration::from_secs(10);

/// Executes a run; the answer is the exit code that the run ended with.
pub fn work(home: &Home, run: &RunDir) -> Result<u8, WorkError> {
    // a session of its own: a lost terminal or a closed workbench never ends a run. It fails only
    // where this process leads a group already, and then it is its own session's business.
    let _ = nix::unistd::setsid();
    let Some(_lock) = Lock::try_take(&run.lock_path())? else {
        return Err(StoreError::Busy { id: run.id().0 }.into());
    };
    let manifest = run.manifest()?;
    let before = run.state()?;
    if let Some(code) = before.exit
        && !run.fault_goes_on(&before)
    {
        return Ok(code);
    }
    // the end that it had is not its end any more
    let _ = std::fs::remove_file(run.summary_path());
    let attempt = before.started.as_ref().map_or(1, |s| s.attempt + 1);
    let recorder = Recorder::new(Journal::open(&run.journal_path())?);
    recorder.record(Event::RunStarted {
        pid: std::process::id(),
        pid_start: process_start(Path::new("/proc/self/stat")).unwrap_or(0),
        host: nix::unistd::gethostname()
            .map(|h| h.to_string_lossy().into_owned())
            .unwrap_or_default(),
        boot: std::fs::read_to_string("/proc/sys/kernel/random/boot_id")
            .map(|s| s.trim().to_string())
            .unwrap_or_default(),
        version: env!("CARGO_PKG_VERSION").into(),
        attempt,
    });
    let kept = run.state()?;
    // what an earlier attempt left half-done
    if awaits_capture(&kept) {
        put_tree_aside(run, || remove_scratch(run))?;
    } else {
        remove_scratch(run)?;
        let _ = remove_tree(&run.kept_tree_path());
    }
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .map_err(WorkError::Runtime)?;
    let ended = runtime.block_on(async {
        tokio::select! {
            biased;
            () = cancelled(run) => Err(Stop::Cancelled),
            ended = execute(home, run, &manifest, &kept, &recorder) => ended,
        }
    });
    runtime.block_on(all_gone(ENDING));
    // dropping the runtime waits for blocking work; sandboxes end when their streams close
    runtime.shutdown_timeout(Duration::from_secs(10));
    let ended = match ended {
        Err(Stop::Cancelled) => by_hand(run, &manifest, &recorder),
        ended => ended,
    };
    let code = match ended {
        // made, and that was the question
        Ok(Done::Made) => 0,
        Ok(Done::Mutants(counts)) => u8::from(counts.survives > 0),
        Ok(Done::Verified(standing)) => u8::from(standing != Standing::Accepted),
        Ok(Done::Graded(grade)) => {
            let code = u8::from(!grade.resolved);
            recorder.record(Event::Graded { grade });
            code
        }
        Err(Stop::Cancelled) => {
            recorder.record(Event::Cancelled {
                by: "request".into(),
            });
            // nothing was graded, so it is not a no
            3
        }
        Err(Stop::Input(message)) => {
            recorder.record(Event::Fault {
                stage: None,
                message,
            });
            2
        }
        Err(Stop::Fault(message)) => {
            keep_tree(run, &recorder);
            recorder.record(Event::Fault {
                stage: None,
                message,
            });
            3
        }
    };
    if let Err(error) = remove_scratch(run) {
        // the verdict stands
        recorder.say(Level::Warn, error.to_string());
    }
    recorder.record(Event::RunFinished { exit: code });
    recorder.close()?;
    Summary::keep(run)?;
    Ok(code)
}

/// The end of a watch that had answered everything is as good as one by its idle limit.
fn by_hand(run: &RunDir, manifest: &Manifest, recorder: &Recorder) -> Result<Done, Stop> {
    let state = run.state()?;
    match state.standing {
        Some(standing) if manifest.work.is_watch() && state.answered => {
            recorder.say(Level::Info, "the watch ends by request");
            Ok(Done::Verified(standing))
        }
        _ => Err(Stop::Cancelled),
    }
}

/// What came of the work.
enum Done {
    Graded(Box<Grade>),
    Made,
    Verified(Standing),
    Mutants(MutationCounts),
}

/// What the manifest asks for.
async fn execute(
    home: &Home,
    run: &RunDir,
    manifest: &Manifest,
    kept: &RunState,
    recorder: &Recorder,
) -> Result<Done, Stop> {
    match &manifest.work {
        Work::Grade => grade::grade(home, run, manifest, kept, recorder)
            .await
            .map(|grade| Done::Graded(Box::new(grade))),
        Work::Calibrate { runs } => calibrate::calibrate(home, run, manifest, *runs, recorder)
            .await
            .map(|()| Done::Made),
        Work::Verify { runs, watch_s, .. } => {
            let verified = verify::verify(home, run, manifest, (*runs, *watch_s), recorder);
            Box::pin(verified).await.map(Done::Verified)
        }
        Work::Mutants => mutants::mutants(home, run, manifest, recorder)
            .await
            .map(Done::Mutants),
    }
}

/// A fault of ours before the capture was made must not cost the agent its work.
fn keep_tree(run: &RunDir, recorder: &Recorder) {
    if !run.state().is_ok_and(|state| awaits_capture(&state)) {
        return;
    }
    let (tree, aside) = (agent_tree(&run.scratch_path()), run.kept_tree_path());
    match std::fs::rename(&tree, &aside) {
        Ok(()) => recorder.say(
            Level::Warn,
            format!(
                "the agent's tree is kept in {}; `infradev resume {}` captures and grades it",
                aside.display(),
                run.id()
            ),
        ),
        Err(e) => recorder.say(Level::Error, format!("{}: {e}", tree.display())),
    }
}

/// Calls `clear` with an agent's tree out of its way.
fn put_tree_aside(
    run: &RunDir,
    clear: impl FnOnce() -> Result<(), WorkError>,
) -> Result<(), WorkError> {
    let tree = agent_tree(&run.scratch_path());
    let aside = run.kept_tree_path();
    let moved = |from: &Path, to: &Path| match std::fs::rename(from, to) {
        Err(source) if source.kind() != std::io::ErrorKind::NotFound => Err(StoreError::Io {
            path: from.to_path_buf(),
            source,
        }),
        _ => Ok(()),
    };
    // where it is aside already, a kill came between these lines
    moved(&tree, &aside)?;
    clear()?;
    std::fs::create_dir_all(run.scratch_path()).map_err(|source| StoreError::Io {
        path: run.scratch_path(),
        source,
    })?;
    moved(&aside, &tree)?;
    Ok(())
}

/// Removes what an attempt left half-done. What cannot be removed (a tree deeper than descriptors
/// last, somebody else's files) is put aside, so that it never stands in the way of the next.
fn remove_scratch(run: &RunDir) -> Result<(), WorkError> {
    let path = run.scratch_path();
    let Err(first) = std::fs::remove_dir_all(&path) else {
        return Ok(());
    };
    if first.kind() == std::io::ErrorKind::NotFound {
        return Ok(());
    }
    if remove_tree(&path).is_ok() {
        return Ok(());
    }
    let name = format!("scratch-left-{}", random_hex::<4>().unwrap_or_default());
    std::fs::rename(&path, path.with_file_name(name)).map_err(|_| {
        let source = first;
        StoreError::Io { path, source }.into()
    })
}

/// Ends when somebody asks the run to stop.
async fn cancelled(run: &RunDir) {
    let path = run.request_path(Request::Cancel);
    let (sender, mut changes) = tokio::sync::mpsc::unbounded_channel();
    let watch = path.parent().and_then(|folder| {
        let mut watch = Watch::new(move |_| {
            let _ = sender.send(());
        })
        .ok()?;
        watch.add(folder).ok()?;
        Some(watch)
    });
    loop {
        if path.exists() {
            return;
        }
        // a look now and then as well: a shared file system tells other nodes nothing
        let pause = tokio::time::sleep(Duration::from_secs(2));
        tokio::select! {
            heard = changes.recv(), if watch.is_some() => if heard.is_none() { std::future::pending::<()>().await },
            () = pause => {}
        }
    }
}

/// Start of a process in clock ticks since boot: field 22 of its `stat`.
fn process_start(stat: &Path) -> Option<u64> {
    let text = std::fs::read_to_string(stat).ok()?;
    // the name, field 2, may hold anything; the last parenthesis ends it
    text.rsplit_once(')')?
        .1
        .split_whitespace()
        .nth(19)?
        .parse()
        .ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn our_own_start_is_known() {
        assert!(process_start(Path::new("/proc/self/stat")).is_some_and(|ticks| ticks > 0));
    }
}
