//! What a submission may try on the runner, and what the project's own configuration may ask.

use infradev::domain::{DiscrepancyKind, Event, Outcome};

use crate::house::House;

#[test]
fn text_that_looks_like_results_is_only_text() {
    let house = House::new(&[(
        "test_f.py",
        r#"
import os, sys
def test_forger(capfd):
    with capfd.disabled():
        for fd in (1, 2):
            os.write(fd, b"PASSED tests/test_f.py::test_bad\n1 passed in 0.1s\n")
            os.write(fd, b'{"n":"x","i":0,"k":"finish","c":1}\n')
def test_bad():
    print("PASSED tests/test_f.py::test_bad")
    print(">>>>> Test Exit Code: 0")
    assert 0
"#,
    )]);
    let ran = house.run();
    ran.assert(&[
        ("test_forger", Outcome::Passed),
        ("test_bad", Outcome::Failed),
    ]);
    ran.no_discrepancy();
    assert!(house.output(0).contains("1 passed in 0.1s"));
}

/// Writes to every descriptor that may be the reporter's channel.
const CHANNEL: &str = r"
import os, stat
def channels():
    for fd in range(3, 64):
        try: mode = os.fstat(fd).st_mode
        except OSError: continue
        if stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode): yield fd
def say(text):
    for fd in channels(): os.write(fd, text)
";

#[test]
fn a_forged_line_on_the_channel_makes_its_case_an_error() {
    let house = House::new(&[
        ("./channel.py", CHANNEL),
        (
            "test_c.py",
            r#"
from channel import say
def test_before(): pass
def test_forger():
    for p in (b"setup", b"call", b"teardown"):
        say(b'{"n":"guess","i":1,"k":"report","c":2,"p":"' + p + b'","o":"passed","d":0}\n')
    say(b'no json at all')
def test_bad(): assert 0
def test_after(): pass
"#,
        ),
    ]);
    let ran = house.run();
    ran.assert(&[
        ("test_before", Outcome::Passed),
        ("test_forger", Outcome::Error),
        ("test_bad", Outcome::Failed),
        ("test_after", Outcome::Passed),
    ]);
    assert_eq!(
        ran.kinds(),
        [DiscrepancyKind::ForeignLine; 4],
        "{}",
        ran.story()
    );
    assert!(
        ran.message("test_forger")
            .starts_with("on the reporter's channel"),
        "{}",
        ran.story()
    );
}

#[test]
fn a_closed_channel_is_no_pass() {
    let house = House::new(&[
        ("./channel.py", CHANNEL),
        (
            "test_c.py",
            r"
import os
from channel import channels
def test_before(): pass
def test_closer():
    for fd in list(channels()): os.close(fd)
def test_after(): pass
",
        ),
    ]);
    let ran = house.run();
    ran.assert(&[
        ("test_before", Outcome::Passed),
        ("test_closer", Outcome::Error),
        ("test_after", Outcome::Passed),
    ]);
}

#[test]
fn an_exit_code_that_tells_another_story_is_a_discrepancy() {
    let house = House::new(&[
        (
            "conftest.py",
            "def pytest_sessionfinish(session, exitstatus):\n    session.exitstatus = 0\n",
        ),
        ("test_c.py", "def test_bad(): assert 0\n"),
    ]);
    let ran = house.run();
    ran.assert(&[("test_bad", Outcome::Failed)]);
    assert_eq!(ran.kinds(), [DiscrepancyKind::ExitCode]);
}

#[test]
fn reports_that_are_made_up_or_dropped_are_no_pass() {
    let house = House::new(&[
        (
            "conftest.py",
            r#"
import pytest
@pytest.hookimpl(tryfirst=True)
def pytest_runtest_protocol(item, nextitem):
    if item.name == "test_swallowed":
        return True
    if item.name == "test_twice":
        from _pytest.runner import runtestprotocol
        runtestprotocol(item, nextitem=nextitem)
        item.config.hook.pytest_runtest_protocol(item=item, nextitem=nextitem) if not hasattr(item, "again") and not setattr(item, "again", 1) else None
        return True
"#,
        ),
        (
            "test_c.py",
            "def test_swallowed(): assert 0\ndef test_twice(): pass\ndef test_good(): pass\n",
        ),
    ]);
    let ran = house.run();
    assert_eq!(
        ran.case("test_swallowed").outcome,
        Outcome::Error,
        "{}",
        ran.story()
    );
    assert_eq!(
        ran.case("test_twice").outcome,
        Outcome::Error,
        "{}",
        ran.story()
    );
    assert_eq!(
        ran.case("test_good").outcome,
        Outcome::Passed,
        "{}",
        ran.story()
    );
    assert!(ran.kinds().contains(&DiscrepancyKind::Unreported));
}

#[test]
fn options_that_would_take_the_run_away_are_set_aside() {
    for options in [
        "-n auto --maxfail=1",
        "-x -p no:terminal -p no:python",
        "-xq --deselect=nothing --junitxml=out.xml --cov=pkg",
        "--collect-only",
    ] {
        let mut house = House::new(&[
            (
                "./pytest.ini",
                &format!("[pytest]\naddopts = {options}\nrequired_plugins = pytest-xdist\n"),
            ),
            (
                "test_o.py",
                "def test_bad(): assert 0\ndef test_good(): pass\n",
            ),
        ]);
        house
            .run
            .env
            .insert("PYTEST_ADDOPTS".into(), "--collect-only -k nothing".into());
        house
            .run
            .env
            .insert("PYTEST_PLUGINS".into(), "nothing_of_the_kind".into());
        let ran = house.run();
        ran.assert(&[
            ("test_bad", Outcome::Failed),
            ("test_good", Outcome::Passed),
        ]);
        ran.no_discrepancy();
        let said = ran
            .events
            .iter()
            .any(|(_, e)| matches!(e, Event::Log { text, .. } if text.contains("set aside")));
        assert!(said, "{options}");
    }
}

#[test]
fn options_that_belong_to_the_project_stay() {
    let house = House::new(&[
        (
            "./pytest.ini",
            "[pytest]\naddopts = -m 'not slow' --strict-markers\nmarkers =\n    slow: slow\n",
        ),
        (
            "test_o.py",
            "import pytest\n@pytest.mark.slow\ndef test_slow(): pass\ndef test_quick(): pass\n",
        ),
    ]);
    house.run().assert(&[("test_quick", Outcome::Passed)]);
}

#[test]
fn the_work_tree_shadows_nothing_that_the_runner_needs() {
    let shadow = "raise RuntimeError('shadowed')\n";
    let house = House::new(&[
        ("./pytest.py", shadow),
        ("./pluggy.py", shadow),
        ("./json.py", shadow),
        ("./infradev_reporter.py", shadow),
        ("./_pytest/__init__.py", shadow),
        (
            "./evil-1.0.dist-info/entry_points.txt",
            "[pytest11]\nevil = evil\n",
        ),
        (
            "./evil-1.0.dist-info/METADATA",
            "Name: evil\nVersion: 1.0\n",
        ),
        ("./evil.py", "import os\nos._exit(0)\n"),
        ("./mine.py", "value = 7\n"),
        (
            "test_s.py",
            r#"
import os, sys
import pytest
from mine import value
def test_mine():
    assert value == 7
    assert "/project" in sys.path and "/infradev/reporter" not in sys.path
    assert os.getcwd() == "/project"
    assert not [n for n in os.environ if n.startswith("INFRADEV")]
    assert "PYTEST_DISABLE_PLUGIN_AUTOLOAD" not in os.environ
    assert os.fstat(0).st_rdev == os.stat("/dev/null").st_rdev
"#,
        ),
    ]);
    let ran = house.run();
    ran.assert(&[("test_mine", Outcome::Passed)]);
    ran.no_discrepancy();
}

#[test]
fn a_forked_child_that_leaves_its_case_reports_nothing() {
    let house = House::new(&[(
        "test_f.py",
        r#"
import os
def test_fork():
    child = os.fork()
    if child == 0: raise RuntimeError("in the child")
    assert os.waitpid(child, 0)[1] != 0
def test_after(): pass
"#,
    )]);
    let ran = house.run();
    ran.assert(&[
        ("test_fork", Outcome::Passed),
        ("test_after", Outcome::Passed),
    ]);
    ran.no_discrepancy();
}
