//! Submissions that try to fool whoever grades them (DESIGN.md, The judge's mechanics). Each is a
//! folder of `attacks/`: files that it writes over base, and `attack.toml`.
//!
//! Each has a control: plain pytest with the tests copied in, as harnesses do it that trust what
//! they run. An attack that does not fool that is no attack. Then it is graded: all of them on
//! `local`, on `docker` one of each row and every one that is not blocked. `INFRADEV_ATTACKS` picks,
//! and what it picks is graded on both.

#![allow(clippy::unwrap_used, clippy::expect_used)]

mod attack;
#[path = "../common/mod.rs"]
mod common;
mod control;
mod graded;
mod readme;
mod trees;

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::io::Write as _;
use std::sync::Mutex;
use std::time::Instant;

use attack::{Attack, Class, attacks};
use common::docker_is_here;
use graded::Graded;

/// What is wrong without any attack: by the task and the files that make the wrong solution.
type Wrong<T> = BTreeMap<Vec<String>, T>;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum On {
    Control,
    Local,
    Docker,
}

enum Came {
    Fooled(control::Fooled),
    Graded(Graded),
}

#[test]
fn every_attack_fools_plain_pytest_and_becomes_what_it_says() {
    let started = Instant::now();
    let attacks = chosen();
    let engines: &[On] = if docker_is_here() {
        &[On::Local, On::Docker]
    } else {
        &[On::Local]
    };
    let tasks: BTreeSet<&str> = attacks.iter().map(|a| a.task.as_str()).collect();
    for (on, task) in (engines.iter()).flat_map(|on| tasks.iter().map(move |task| (on, task))) {
        graded::gold_is_resolved(task, on.name());
    }
    // without the attack: what plain pytest says, and what fails here
    let mut plain: Wrong<control::Said> = BTreeMap::new();
    let mut failing: Wrong<graded::Failing> = BTreeMap::new();
    for attack in &attacks {
        if let Entry::Vacant(free) = plain.entry(attack.wrong()) {
            free.insert(control::honest(attack));
            failing.insert(attack.wrong(), graded::honest(attack));
        }
    }
    let in_containers = in_containers(&attacks);
    let jobs: Vec<(usize, On)> = (0..attacks.len())
        .flat_map(|at| [On::Control].iter().chain(engines).map(move |on| (at, *on)))
        .filter(|(at, on)| *on != On::Docker || in_containers.contains(at))
        .collect();
    let came = in_parallel(&jobs, |(at, on)| {
        let attack = &attacks[at];
        match on {
            On::Control => Came::Fooled(control::attacked(attack, &plain[&attack.wrong()])),
            _ => Came::Graded(graded::attacked(
                attack,
                on.name(),
                &failing[&attack.wrong()],
            )),
        }
    });
    let (mut table, mut wrong) = (String::new(), Vec::new());
    for (at, attack) in attacks.iter().enumerate() {
        line(&mut table, attack, at, &came, &mut wrong);
    }
    let took = started.elapsed().as_secs();
    let on_docker = jobs.iter().filter(|(_, on)| *on == On::Docker).count();
    let text = format!(
        "{table}{} attacks in {took} s, {on_docker} of them on docker too\n",
        attacks.len()
    );
    // past the capture of a test's output: what they are is what CI shows
    std::io::stderr().write_all(text.as_bytes()).unwrap();
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}

impl On {
    fn name(self) -> &'static str {
        match self {
            Self::Control => "control",
            Self::Local => "local",
            Self::Docker => "docker",
        }
    }
}

/// Parts of names, with commas between.
fn picked() -> Option<Vec<String>> {
    let only = std::env::var("INFRADEV_ATTACKS").ok()?;
    let parts = only.split(',').filter(|p| !p.is_empty()).map(str::to_owned);
    Some(parts.collect::<Vec<_>>()).filter(|parts| !parts.is_empty())
}

/// All, or those that are picked.
fn chosen() -> Vec<Attack> {
    let picked = picked();
    let is_chosen = |name: &str| {
        let mut parts = picked.iter().flatten();
        picked.is_none() || parts.any(|part| name.contains(part))
    };
    attacks()
        .into_iter()
        .filter(|a| is_chosen(&a.name))
        .collect()
}

/// Containers take their time: one attack of each row, and all that are not blocked.
fn in_containers(attacks: &[Attack]) -> BTreeSet<usize> {
    let all = picked().is_some();
    let mut rows = BTreeSet::new();
    let is_in = |attack: &Attack| {
        let first = rows.insert(attack.row.clone());
        all || first || attack.expect != Class::Blocked
    };
    let is_in: Vec<bool> = attacks.iter().map(is_in).collect();
    (0..attacks.len()).filter(|at| is_in[*at]).collect()
}

fn in_parallel(
    jobs: &[(usize, On)],
    work: impl Fn((usize, On)) -> Came + Sync,
) -> BTreeMap<(usize, On), Came> {
    let (queue, came) = (Mutex::new(jobs.iter()), Mutex::new(BTreeMap::new()));
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                loop {
                    let Some(job) = queue.lock().unwrap().next() else {
                        break;
                    };
                    let this = work(*job);
                    came.lock().unwrap().insert(*job, this);
                }
            });
        }
    });
    came.into_inner().unwrap()
}

/// A row of the table, and what is not as it should be.
fn line(
    table: &mut String,
    attack: &Attack,
    at: usize,
    came: &BTreeMap<(usize, On), Came>,
    wrong: &mut Vec<String>,
) {
    write!(table, "{:32}", attack.name).unwrap();
    for on in [On::Control, On::Local, On::Docker] {
        match came.get(&(at, on)) {
            None => write!(table, " | not run").unwrap(),
            Some(Came::Fooled(fooled)) => {
                write!(table, " | {:18}", fooled.to_string()).unwrap();
                if fooled.cases == 0 {
                    wrong.push(format!(
                        "{} ({}): plain pytest is not fooled ({}), so it is no attack:\n{}",
                        attack.name,
                        attack.tries,
                        attack.control.name(),
                        fooled.output
                    ));
                }
            }
            Some(Came::Graded(graded)) => {
                write!(table, " | {:34}", graded.to_string()).unwrap();
                if graded.class != attack.expect {
                    wrong.push(format!(
                        "{} on {}: {graded} instead of {} ({}); {:?}",
                        attack.name,
                        on.name(),
                        attack.expect.name(),
                        attack.by,
                        graded.passed
                    ));
                }
                if graded.class == Class::Blocked && graded.verdict != "failed" {
                    wrong.push(format!("{} on {}: {graded}", attack.name, on.name()));
                }
            }
        }
    }
    table.push('\n');
}
