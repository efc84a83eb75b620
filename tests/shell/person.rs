//! At the terminal: the failure again, pdb, sizes and signals, the walls.

use crate::house::{Person, TASK, both, graded, nothing_left};

fn a_failing_case_fails_inside_as_it_did_and_pdb_answers(engine: &str) {
    let (run, message) = graded(engine);
    // no case is named: the first failing one is taken
    let mut person = Person::open(engine, &[&run]);
    let room = person.room();
    person.types("testcase\r");
    person.sees(&message);
    person.sees("1 failed");
    // the newest line of the history is `testcase`, by now the one that was typed
    person.types("\u{1b}[A --pdb\r");
    person.sees("entering PDB");
    person.sees("(Pdb) ");
    person.types("p 1+1\r");
    person.sees("\n2\n(Pdb) ");
    // line editing: the last line again, made another
    person.types("\u{1b}[A\u{7f}41\r");
    person.sees("\n42\n(Pdb) ");
    person.types("p engine.num_cached_blocks\r");
    person.sees("\n4\n(Pdb) ");
    person.types("q\r");
    person.sees("(infradev) /workspace$ ");
    person.types("exit 5\r");
    person.sees("left 0");
    nothing_left(engine, &room, &[]);
}

fn keys_and_sizes_reach_the_inside(engine: &str) {
    let mut person = Person::open(engine, &[TASK, "--gold"]);
    person.asks("stty size", "\n30 100\n");
    person.resize(91, 21);
    person.asks(
        "until [ \"$(stty size)\" = '21 91' ]; do sleep 0.05; done; echo now $((20+1))",
        "\nnow 21\n",
    );
    // an interrupt is for what runs inside, not for the shell, and not for us
    person.types("sh -c 'echo up $((6*7)); exec sleep 600'\r");
    person.sees("\nup 42\n");
    person.types("\u{3}");
    person.sees("(infradev) /workspace$ ");
    person.asks("echo still $((50+5))", "\nstill 55\n");
    person.types("sh -c 'echo up $((6*8)); exec sleep 601'\r");
    person.sees("\nup 48\n");
    person.types("\u{1a}");
    person.sees("Stopped");
    // the shell takes a stopped job off its list when it has seen it end: until then it does not
    // leave at the first Ctrl-D
    person.asks("kill %1; wait %1; jobs; echo done $((3*3))", "\ndone 9\n");
    // what programs write is the person's own business
    person.asks(
        "printf '\\033]0;a title\\007'; echo set $((4*4))",
        "\u{7}set 16\n",
    );
    assert!(person.bytes().windows(11).any(|w| w == b"\x1b]0;a title"));
    person.types("\u{4}");
    person.sees("left 0");
}

fn the_walls_are_those_of_grading(engine: &str) {
    let mut person = Person::open(engine, &[TASK, "--base", "--suite", "official"]);
    let room = person.room();
    person.asks("[ \"$(id -u)\" != 0 ] && echo user $((1+1))", "\nuser 2\n");
    person.asks("cat /etc/shadow >/dev/null || echo no $((1+2))", "\nno 3\n");
    let connects = "python -c 'import socket; socket.create_connection((\"1.1.1.1\", 53), 3)'";
    person.asks(
        &format!("{connects} 2>/dev/null || echo no $((2+2))"),
        "\nno 4\n",
    );
    // the other suite is not there
    person.asks(
        "[ ! -e probes ] && [ -e tests/test_engine.py ] && echo laid $((2+3))",
        "\nlaid 5\n",
    );
    person.asks(
        "echo \"$RANK $WORLD_SIZE $MASTER_ADDR\"",
        "\n0 1 127.0.0.1\n",
    );
    person.asks(
        "[ ! -w /infradev/shell/testcase.py ] && echo sealed $((3+3))",
        "\nsealed 6\n",
    );
    let outside = ["gold.patch", "task.toml", "journal.jsonl"]
        .map(|n| format!("-name {n}"))
        .join(" -o ");
    let outside =
        format!("find / -xdev \\( {outside} \\) -not -path '/proc/*' 2>/dev/null | wc -l");
    person.asks(&outside, "\n0\n");
    person.types("exit\r");
    person.sees("left 0");
    nothing_left(engine, &room, &[]);
}

fn names_of_others_are_made_safe_in_the_greeting(engine: &str) {
    let case = "tests/test_engine.py::test_\u{1b}[2Jx\u{7}";
    let mut person = Person::open(engine, &[TASK, "--gold", "--case", case]);
    assert!(!person.bytes().windows(4).any(|w| w == b"\x1b[2J"));
    assert!(!person.bytes().contains(&7));
    let seen = String::from_utf8_lossy(person.bytes()).into_owned();
    assert!(seen.contains("test_\\u{1b}[2Jx\\u{7}"), "{seen}");
    person.types("exit\r");
    person.sees("left 0");
}

both!(
    a_failing_case_fails_inside_as_it_did_and_pdb_answers,
    keys_and_sizes_reach_the_inside,
    the_walls_are_those_of_grading,
    names_of_others_are_made_safe_in_the_greeting,
);
