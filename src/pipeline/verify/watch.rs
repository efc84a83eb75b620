//! A verify run that stays: it answers each edit of its task by another round, in which only what the
//! edit made stale runs again, until there was no edit for a while.

use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;

use super::edits::{Edit, Edits};
use super::keys::{Stands, acceptance_key, trees_key};
use super::limits::beside;
use super::stage::{Made, Round, keep, reopen};
use super::warm::Warm;
use crate::catalog::load_task;
use crate::domain::{Event, Level, Standing, Task};
use crate::pipeline::error::Stop;
use crate::pipeline::ground::{Ground, build_environment};

/// Rounds from the second on. `trees`: what the ground's are made of.
pub(super) async fn watch(
    round: &Round<'_>,
    ground: &mut Arc<Ground>,
    mut trees: String,
    edits: &mut Edits,
    idle: Duration,
    (mut standing, mut made): (Standing, Made),
) -> Result<Standing, Stop> {
    let recorder = round.recorder;
    let warm = Warm::default();
    let run = ground.run.clone();
    let (mut number, mut tried) = (1, made.acceptance.key.clone());
    let mut until = Instant::now() + idle;
    recorder.say(
        Level::Info,
        format!(
            "waiting for edits; without one the run ends in {}",
            words(idle)
        ),
    );
    loop {
        let stands = Stands::on(ground, round.runs);
        let fill = warm.fill(
            ground,
            &made.candidates,
            &made.suites,
            &made.slots,
            beside(ground),
            recorder,
        );
        let Some((edit, task)) =
            edited((round, &stands), edits, &mut tried, (idle, until), fill).await?
        else {
            recorder.say(
                Level::Info,
                format!("nothing was edited for {}: the watch ends", words(idle)),
            );
            return Ok(standing);
        };
        number += 1;
        let Edit { paths, at_s } = edit;
        recorder.record(Event::RoundStarted {
            round: number,
            changed: paths,
            edited_s: at_s,
        });
        let next = async {
            if renew(round, ground, task, &mut trees).await? {
                warm.forget();
            }
            let warm = Some(&warm);
            let assumed = Some(&made.gold);
            let round = Round {
                warm,
                assumed,
                ..*round
            };
            round.run(ground, &[], number).await
        };
        let next = match next.await {
            Ok(next) => next,
            Err(stop) => {
                let words = told(stop)?;
                recorder.say(
                    Level::Warn,
                    format!("round {number} came to nothing: {words}"),
                );
                continue;
            }
        };
        let (ran, kept) = (next.ran, next.kept);
        let since = |at: f64| (at - at_s).max(0.0);
        let (answer_s, confirmed_s) = (since(next.known_s), next.confirmed_s.map(since));
        made.suites.remove();
        (standing, made) = keep(&run, ground, next, recorder)?;
        tried.clone_from(&made.acceptance.key);
        recorder.record(Event::RoundFinished {
            round: number,
            ran,
            kept,
            answer_s,
            confirmed_s,
        });
        until = Instant::now() + idle;
    }
}

/// The next edit that changes what a verify rests on, and the task as it is then; none: there was none
/// for `idle`. `meanwhile` is dropped then, and by no lesser edit: what it is about would be lost.
async fn edited(
    (round, stands): (&Round<'_>, &Stands),
    edits: &mut Edits,
    tried: &mut String,
    (idle, mut until): (Duration, Instant),
    meanwhile: impl Future<Output = ()>,
) -> Result<Option<(Edit, Task)>, Stop> {
    // its end interrupts nobody who gathers an edit
    let mut meanwhile = pin!(then_forever(meanwhile));
    loop {
        let edit = tokio::select! {
            biased;
            edit = edits.next(until) => edit,
            () = &mut meanwhile => None,
        };
        let Some(edit) = edit else {
            return Ok(None);
        };
        // what the run itself writes, and what nothing rests on, is no edit
        match changed(round, stands, tried) {
            Ok(None) => {}
            Ok(Some((task, key))) => {
                *tried = key;
                return Ok(Some((edit, task)));
            }
            Err(stop) => {
                round.recorder.say(Level::Warn, told(stop)?);
                until = Instant::now() + idle;
            }
        }
    }
}

async fn then_forever(work: impl Future<Output = ()>) {
    work.await;
    std::future::pending::<()>().await;
}

/// What an author can mend is told, and waited for; all else ends the run.
fn told(stop: Stop) -> Result<String, Stop> {
    match stop {
        Stop::Input(message) => Ok(message),
        stop => Err(stop),
    }
}

/// The task as it is now, and the key that its acceptance would have; none: it is what was tried.
fn changed(
    round: &Round<'_>,
    stands: &Stands,
    tried: &str,
) -> Result<Option<(Task, String)>, Stop> {
    let manifest = round.manifest;
    let loaded = load_task(&manifest.task_dir);
    let problems: Vec<String> = loaded.problems.iter().map(ToString::to_string).collect();
    let broken = loaded.broken();
    let Some(mut task) = loaded.task.filter(|_| !broken) else {
        return Err(Stop::Input(problems.join("; ")));
    };
    if let Some(ranks) = manifest.ranks {
        task.spec = task.spec.with_ranks(ranks);
    }
    let key = acceptance_key(&task, stands)?;
    Ok((key != tried).then_some((task, key)))
}

/// Puts the task as it is now in the ground; true: what is laid out of it is old.
async fn renew(
    round: &Round<'_>,
    ground: &mut Arc<Ground>,
    task: Task,
    trees: &mut String,
) -> Result<bool, Stop> {
    let Some(ground) = Arc::get_mut(ground) else {
        return Err(Stop::Fault("something still reads the task".into()));
    };
    let (old, new) = (&ground.task.spec, &task.spec);
    if old.hardware != new.hardware || old.environment.image != new.environment.image {
        return Err(Stop::Input(
            "what the run stands on has changed (hardware or image): start it anew".into(),
        ));
    }
    let same = old.limits == new.limits
        && old.suites == new.suites
        && old.environment == new.environment
        && old.build == new.build;
    ground.task = task;
    // nothing is known until all of it is renewed: an edit after one that failed begins anew
    let known = std::mem::take(trees);
    if trees_key(&ground.task)? == known {
        *trees = known;
        return Ok(!same);
    }
    let wanted = ground.task.spec.environment.clone();
    let dir = ground.task.dir.clone();
    ground.environment =
        build_environment(round.home, &ground.chosen, wanted, &dir, round.recorder).await?;
    for suite in crate::domain::Suite::ALL {
        let _ = std::fs::remove_dir_all(ground.scratch.join(format!("suite-{suite}")));
    }
    *trees = reopen(round.home, ground)?;
    Ok(true)
}

fn words(time: Duration) -> String {
    match time.as_secs() {
        s if s % 60 == 0 && s > 0 => format!("{} min", s / 60),
        s => format!("{s} s"),
    }
}
