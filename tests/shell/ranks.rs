//! A suite of several ranks.

use crate::house::{Person, both, run};

const TASK: &str = "dp-buckets";
const PASSES: &str = "tests/test_comm.py::test_gather_and_broadcast";

fn all_ranks_run_the_case(engine: &str) {
    let words = [TASK, "--gold", "--case", PASSES];
    let (code, out, err) = run(engine, &words, "testcase; cat /tmp/ranks-*/rank-1.log");
    assert_eq!(code, 0, "{out}{err}");
    for rank in ["[0] ", "[1] "] {
        let passed = |line: &str| line.starts_with(rank) && line.contains("1 passed");
        assert!(out.lines().any(passed), "{rank}: {out}");
    }
    assert!(out.contains("exit codes of the ranks: 0, 0"), "{out}");
    let own = |line: &str| !line.starts_with('[') && line.contains("1 passed");
    assert!(out.lines().any(own), "{out}");
    // another number than the task's own
    let words = [&words[..], &["--ranks", "3"]].concat();
    let (_, out, _) = run(
        engine,
        &words,
        "testcase --collect-only -q; echo $WORLD_SIZE",
    );
    assert!(out.contains("[2] ") && out.ends_with("\n3\n"), "{out}");
}

fn one_rank_has_the_terminal_for_pdb(engine: &str) {
    let mut person = Person::open(engine, &[TASK, "--hollow"]);
    // ranks that fail apart: one alone gets to the line
    let test =
        "import os\\ndef test_x():\\n    rank = os.environ[\"RANK\"]\\n    assert rank == \"0\"\\n";
    person.asks(
        &format!("printf '{test}' > tests/test_x.py; echo made $((2*2))"),
        "\nmade 4\n",
    );
    person.types("testcase tests/test_x.py::test_x --pdb 1\r");
    person.sees("rank 0 writes to /tmp/ranks-");
    person.sees("entering PDB");
    person.sees("(Pdb) ");
    person.types("p \"rank\", rank\r");
    person.sees("\n('rank', '1')\n(Pdb) ");
    // an interrupt is for the rank at the terminal
    person.types("\u{3}");
    person.sees("KeyboardInterrupt");
    person.sees("(Pdb) ");
    person.types("p 20+22\r");
    person.sees("\n42\n");
    person.types("q\r");
    person.sees("(infradev) /workspace$ ");
    person.asks(
        "cat /tmp/ranks-*/rank-0.log | tail -1; echo read $((5*5))",
        "\nread 25\n",
    );
    let seen = String::from_utf8_lossy(person.bytes()).into_owned();
    assert!(seen.contains("1 passed"), "{seen}");
    person.types("exit\r");
    person.sees("left 0");
}

both!(all_ranks_run_the_case, one_rank_has_the_terminal_for_pdb);
