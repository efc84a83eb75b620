//! However it ends, nothing is left, and the terminal is as it was.

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use crate::house::{Person, TASK, below, both, nothing_left, shell};

/// What runs for the shell of a person's terminal, and our program's own half of it.
fn family(person: &Person) -> (i32, Vec<(i32, String)>) {
    let all = below(person.pid());
    let ours = all.iter().find(|(_, line)| line.contains(" shell "));
    (ours.expect("our own half").0, all)
}

fn open(engine: &str, line: &str) -> (Person, String) {
    let command = shell(engine, &[TASK, "--base"]);
    let mut person = Person::start(&command, line);
    person.sees("(infradev) /workspace$ ");
    let room = person.room();
    person.types("trap '' HUP TERM; setsid sleep 611 & sleep 612 & echo up $((7*7))\r");
    person.sees("\nup 49\n");
    (person, room)
}

fn a_killed_outer_half_leaves_nothing(engine: &str) {
    let (person, room) = open(engine, "$W; echo \"left $?\"; sleep 60");
    let (ours, mut all) = family(&person);
    // the shell around it is the test's own
    all.retain(|(_, line)| !line.starts_with("sh "));
    assert!(
        all.iter().any(|(_, line)| line.contains("__shell")),
        "{all:?}"
    );
    kill(Pid::from_raw(ours), Signal::SIGKILL).unwrap();
    nothing_left(engine, &room, &all);
    drop(person);
}

fn a_killed_inner_half_leaves_nothing_and_is_told(engine: &str) {
    let (mut person, room) = open(engine, "$W; echo \"left $?\"; stty -a");
    let (_, all) = family(&person);
    let holder = all
        .iter()
        .find(|(_, line)| line.contains("__shell"))
        .unwrap();
    kill(Pid::from_raw(holder.0), Signal::SIGKILL).unwrap();
    person.sees("what held the sandbox ended");
    person.sees("left 3");
    person.sees("isig icanon");
    let inside = all
        .into_iter()
        .filter(|(_, line)| line.contains("sleep 61"));
    // an exited container goes with the next shell of this home
    let swept = shell(engine, &[TASK, "--base", "-c", "true"])
        .status()
        .unwrap();
    assert!(swept.success());
    nothing_left(engine, &room, &inside.collect::<Vec<_>>());
}

fn signals_end_it_in_good_order(engine: &str) {
    for (signal, left) in [(Signal::SIGTERM, "left 143"), (Signal::SIGHUP, "left 129")] {
        let (mut person, room) = open(engine, "$W; echo \"left $?\"; stty -a");
        let (ours, all) = family(&person);
        kill(Pid::from_raw(ours), signal).unwrap();
        person.sees(left);
        // (the harness itself turned echo off)
        for mode in [" icrnl", "opost", "isig icanon"] {
            person.sees(mode);
        }
        let inside = all
            .into_iter()
            .filter(|(_, line)| line.contains("sleep 61"));
        nothing_left(engine, &room, &inside.collect::<Vec<_>>());
    }
}

fn a_terminal_that_goes_away_ends_it(engine: &str) {
    let (person, room) = open(engine, "exec $W");
    let (_, all) = (0, below(person.pid()));
    drop(person);
    nothing_left(engine, &room, &all);
}

both!(
    a_killed_outer_half_leaves_nothing,
    a_killed_inner_half_leaves_nothing_and_is_told,
    signals_end_it_in_good_order,
    a_terminal_that_goes_away_ends_it,
);
