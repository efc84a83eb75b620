//! Following a run from the command line: the worker's words on standard error as they come.

use std::sync::mpsc;
use std::time::Duration;

use super::exit::{Exit, Failure};
use super::output;
use crate::domain::Event;
use crate::domain::run_state::RunState;
use crate::store::{Request, RunDir, RunStatus, Tail, Watch};

pub enum Ended {
    Finished(Exit),
    /// The worker died.
    Interrupted,
}

/// A look at the lock this often while nothing is written: a killed worker writes no last word.
const HEARTBEAT: Duration = Duration::from_millis(500);

/// Prints what happens until the run ends. Ctrl-C cancels the run where `owner`, else only ends
/// the watching.
pub fn follow(run: &RunDir, owner: bool) -> Result<Ended, Failure> {
    let (sender, changes) = mpsc::channel();
    let mut watch = Watch::new({
        let sender = sender.clone();
        move |_| {
            let _ = sender.send(Wake::Changed);
        }
    })?;
    watch.add(run.path())?;
    on_interrupt(move || sender.send(Wake::Interrupted).is_ok())?;
    let created_s = run.manifest()?.created_s;
    let mut tail = Tail::new(&run.journal_path());
    let mut state = RunState::default();
    let mut said = 0;
    loop {
        let records = tail.poll()?;
        for record in &records {
            if matches!(record.event, Event::RunStarted { .. }) {
                said = state.log.len();
            }
            state.apply(record);
            for line in &state.log[said.min(state.log.len())..] {
                output::note(&format!(
                    "{:>8.2}s  {}",
                    line.at_s - created_s,
                    output::safe(&line.text)
                ));
            }
            said = state.log.len();
        }
        if let Some(code) = state.exit {
            return Ok(Ended::Finished(Exit::from_code(code)));
        }
        match changes.recv_timeout(HEARTBEAT) {
            Ok(Wake::Interrupted) if owner => {
                output::note("cancelling (the run's worker cleans up)…");
                run.request(Request::Cancel)?;
            }
            Ok(Wake::Interrupted) => {
                output::note(&format!(
                    "the run goes on; `infradev attach {}` follows it again",
                    run.id()
                ));
                return Ok(Ended::Finished(Exit::Yes));
            }
            Ok(Wake::Changed) => {}
            Err(_) => {
                if run.seen()?.1 == RunStatus::Interrupted {
                    return Ok(Ended::Interrupted);
                }
            }
        }
    }
}

enum Wake {
    Changed,
    Interrupted,
}

/// Calls `act` at each Ctrl-C until it answers that nobody is there any more.
pub fn on_interrupt(act: impl Fn() -> bool + Send + 'static) -> Result<(), Failure> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|e| Failure::machinery(e.to_string()))?;
    std::thread::spawn(move || {
        runtime.block_on(async {
            while tokio::signal::ctrl_c().await.is_ok() {
                if !act() {
                    return;
                }
            }
        });
    });
    Ok(())
}
