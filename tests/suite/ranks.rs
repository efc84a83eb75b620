//! Several ranks: a case is the worst of them, and no rank waits for ever.

use std::time::Duration;

use infradev::domain::Outcome;

use crate::house::{GRACE, House};

/// A barrier of all ranks over loopback, as a collective would wait: without a time limit.
const BARRIER: &str = r#"
import os, socket, time
RANK, WORLD = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
ADDRESS = (os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"]))
peers = []

def connect():
    if peers: return
    if RANK == 0:
        server = socket.create_server(ADDRESS)
        for _ in range(WORLD - 1): peers.append(server.accept()[0])
    else:
        while True:
            try:
                peers.append(socket.create_connection(ADDRESS)); break
            except OSError: time.sleep(0.02)

def barrier():
    connect()
    if RANK == 0:
        for p in peers: assert p.recv(1) == b"x", "a peer is gone"
        for p in peers: p.sendall(b"y")
    else:
        peers[0].sendall(b"x")
        assert peers[0].recv(1) == b"y", "a peer is gone"
"#;

fn house(tests: &str, ranks: u32) -> House {
    let files = [("./collective.py", BARRIER), ("test_r.py", tests)];
    House::new(&files).ranks(ranks)
}

#[test]
fn ranks_meet_and_each_has_its_place() {
    let tests = r#"
import os
from collective import barrier, RANK, WORLD
def test_meet():
    barrier()
    assert WORLD == 3 and os.environ["LOCAL_RANK"] == os.environ["RANK"]
    assert os.environ["GLOO_SOCKET_IFNAME"] == "lo"
def test_again(): barrier()
"#;
    let ran = house(tests, 3).run();
    ran.assert(&[
        ("test_meet", Outcome::Passed),
        ("test_again", Outcome::Passed),
    ]);
    ran.no_discrepancy();
    assert_eq!(ran.case("test_meet").ranks.len(), 3);
    assert_eq!(ran.case("test_meet").message, None);
}

#[test]
fn a_case_that_fails_on_one_rank_fails_and_the_rank_is_named() {
    let tests = r#"
from collective import barrier, RANK
def test_one():
    barrier()
    assert RANK != 1, "one rank is wrong"
def test_after(): barrier()
"#;
    let ran = house(tests, 2).run();
    ran.assert(&[
        ("test_one", Outcome::Failed),
        ("test_after", Outcome::Passed),
    ]);
    assert!(
        ran.message("test_one")
            .starts_with("rank 1: AssertionError: one rank is wrong"),
        "{}",
        ran.story()
    );
    assert_eq!(ran.case("test_one").ranks[0].outcome, Outcome::Passed);
}

/// The others wait for the rank that failed, and what it does next does not answer them.
#[test]
fn one_assert_that_puts_ranks_out_of_step_costs_one_case() {
    let tests = r#"
from collective import barrier, RANK
def test_before(): barrier()
def test_one():
    assert RANK != 1, "before the barrier"
    barrier()
def test_after(): barrier()
def test_last(): barrier()
"#;
    let ran = house(tests, 2).run();
    ran.assert(&[
        ("test_before", Outcome::Passed),
        ("test_one", Outcome::Failed),
        ("test_after", Outcome::Passed),
        ("test_last", Outcome::Passed),
    ]);
    assert_eq!(ran.outcome.groups, 2);
    assert!(
        ran.message("test_one")
            .contains("rank 1: AssertionError: before the barrier")
    );
}

/// A rank that leaves a case out passes it, and must not answer the others with its next one: the
/// case in which they wait is the one that fails.
#[test]
fn a_rank_that_stays_away_does_not_answer_with_its_next_case() {
    let tests = r"
from collective import barrier, RANK
def test_before(): barrier()
def test_one():
    if RANK == 0: barrier()
def test_after(): barrier()
def test_last(): barrier()
";
    let mut house = house(tests, 2);
    house.run.case_limit = Duration::from_secs(4);
    let ran = house.run();
    ran.assert(&[
        ("test_before", Outcome::Passed),
        ("test_one", Outcome::Timeout),
        ("test_after", Outcome::Passed),
        ("test_last", Outcome::Passed),
    ]);
    assert!(
        ran.message("test_one")
            .starts_with("rank 0: no end within 4 s"),
        "{}",
        ran.story()
    );
    assert_eq!(ran.case("test_one").ranks[1].outcome, Outcome::Passed);
}

#[test]
fn one_assert_that_leaves_the_others_waiting_costs_one_case() {
    let tests = r#"
import socket
from collective import barrier, ADDRESS, RANK
def test_before(): barrier()
def test_one():
    assert RANK != 1, "before the barrier"
    with socket.create_server((ADDRESS[0], ADDRESS[1] + 1)) as server: server.accept()
def test_after(): pass
def test_last(): pass
"#;
    let ran = house(tests, 2).run();
    ran.assert(&[
        ("test_before", Outcome::Passed),
        ("test_one", Outcome::Failed),
        ("test_after", Outcome::Passed),
        ("test_last", Outcome::Passed),
    ]);
    let message = ran.message("test_one");
    assert!(
        message.contains("rank 1: AssertionError: before the barrier"),
        "{message}"
    );
    assert!(
        message.contains("rank 0: still at it when another rank had failed"),
        "{message}"
    );
    // not the whole case limit of 20 s
    ran.case_within("test_one", Duration::from_secs(10));
}

#[test]
fn a_rank_that_never_answers_is_named() {
    let tests = r"
import os, signal
from collective import barrier, RANK
def test_before(): barrier()
def test_stopped():
    if RANK == 1: os.kill(os.getpid(), signal.SIGSTOP)
    barrier()
def test_after(): barrier()
";
    let ran = house(tests, 2).case_limit(3.0).run();
    ran.assert(&[
        ("test_before", Outcome::Passed),
        ("test_stopped", Outcome::Timeout),
        ("test_after", Outcome::Passed),
    ]);
    assert!(
        ran.message("test_stopped")
            .starts_with("ranks 0, 1: no end within 3 s"),
        "{}",
        ran.story()
    );
    ran.case_within("test_stopped", Duration::from_secs(3) + GRACE);
}

#[test]
fn a_rank_that_ends_while_others_wait_is_named() {
    let tests = r"
import os
from collective import barrier, RANK
def test_before(): barrier()
def test_gone():
    if RANK == 1: os._exit(0)
    barrier(); barrier()
def test_after(): barrier()
";
    let ran = house(tests, 2).run();
    ran.assert(&[
        ("test_before", Outcome::Passed),
        ("test_gone", Outcome::Error),
        ("test_after", Outcome::Passed),
    ]);
    let message = ran.message("test_gone");
    assert!(
        message.starts_with("rank 1: its process exited with status 0 (in call)"),
        "{message}"
    );
    ran.case_within("test_gone", GRACE);
}

#[test]
fn a_rank_that_dies_at_import_is_named() {
    let files = [
        ("test_a.py", "def test_one(): pass\n"),
        (
            "test_b.py",
            "import os\nif os.environ['RANK'] == '1': os._exit(3)\ndef test_two(): pass\n",
        ),
    ];
    let ids = ["tests/test_a.py::test_one", "tests/test_b.py::test_two"];
    let ran = House::new(&files).ranks(2).expect(&ids).run();
    ran.assert(&[("test_one", Outcome::Passed), ("test_two", Outcome::Error)]);
    let message = ran.message("test_two");
    assert!(
        message.starts_with("rank 1: its process exited with status 3"),
        "{message}"
    );
}

#[test]
fn a_rank_that_hangs_at_import_costs_its_file() {
    let files = [
        ("test_a.py", "def test_one(): pass\n"),
        (
            "test_b.py",
            "import os, time\nif os.environ['RANK'] == '1': time.sleep(600)\ndef test_two(): pass\n",
        ),
    ];
    let mut house = House::new(&files).ranks(2);
    house.run.collect_limit = Duration::from_secs(4);
    let ran = house.run();
    ran.assert(&[
        ("test_one", Outcome::Passed),
        ("test_two", Outcome::Timeout),
    ]);
    ran.within(Duration::from_secs(4) + GRACE);
}

#[test]
fn cases_that_are_not_on_every_rank_are_errors() {
    let tests = r#"
import os, pytest
RANK = int(os.environ["RANK"])
def test_all(): pass
@pytest.mark.parametrize("v", range(2 + RANK))
def test_more(v): pass
"#;
    let ran = House::new(&[("test_r.py", tests)]).ranks(2).run();
    ran.assert(&[
        ("test_all", Outcome::Passed),
        ("test_more[0]", Outcome::Passed),
        ("test_more[1]", Outcome::Passed),
        ("test_more[2]", Outcome::Error),
    ]);
    assert!(
        ran.message("test_more[2]")
            .starts_with("rank 0: did not collect it"),
        "{}",
        ran.story()
    );
    assert!(!ran.outcome.discrepancies.is_empty());
}

#[test]
fn skips_and_errors_differ_by_rank() {
    let tests = r#"
import os, pytest
RANK = int(os.environ["RANK"])
@pytest.fixture
def fix():
    yield
    assert RANK == 0, "dirty"
@pytest.mark.skipif(RANK == 1, reason="first rank only")
def test_skip(): pass
def test_dirty(fix): pass
"#;
    let ran = House::new(&[("test_r.py", tests)]).ranks(2).run();
    ran.assert(&[
        ("test_skip", Outcome::Skipped),
        ("test_dirty", Outcome::Error),
    ]);
    assert_eq!(ran.message("test_skip"), "rank 1: Skipped: first rank only");
    assert!(
        ran.message("test_dirty")
            .starts_with("rank 1: AssertionError: dirty")
    );
}
