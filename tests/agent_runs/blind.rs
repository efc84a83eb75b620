//! Code in a sandbox that ends its process 1, or keeps it from watching, ends its own run: that is
//! graded. As a harness fault it would escape its score.

use std::path::PathBuf;

use super::faults::{at_work, until};
use super::house::{SMALL, events, run, scripted};
use crate::common::{blind, process_1_of};
use crate::on_both_engines;

on_both_engines!(
    the_limits_of_process_1_are_not_the_agents_nor_the_patchs,
    an_agent_whose_process_1_is_blind_is_graded,
    an_agent_whose_process_1_does_not_answer_is_graded,
);

const LINE: &str = "import resource; resource.prlimit(1, resource.RLIMIT_NOFILE, (0, 0))";

fn the_limits_of_process_1_are_not_the_agents_nor_the_patchs(engine: &str) {
    let name = format!("blinds-{engine}");
    scripted(
        &name,
        &format!("sed -i '1i {LINE}' calc.py; python3 -c '{LINE}'; echo and so on; sleep 1"),
    );
    let ran = run(SMALL, &name, &["--engine", engine]);
    assert_eq!(ran.verdict(), "failed");
    assert!(ran.log().contains("and so on"));
    assert!(ran.patch().contains(LINE), "{}", ran.patch());
    assert_eq!(ran.events("agent_ended")[0]["end"]["how"], "exited");
}

/// Whatever way there is past the filter; here from outside.
fn an_agent_whose_process_1_is_blind_is_graded(engine: &str) {
    let mark = if engine == "local" {
        "60.0021"
    } else {
        "60.0022"
    };
    let (run, first) = working(engine, mark);
    blind(first);
    is_graded(&run);
}

fn an_agent_whose_process_1_does_not_answer_is_graded(engine: &str) {
    let mark = if engine == "local" {
        "2.0021"
    } else {
        "2.0022"
    };
    let (run, first) = working(engine, mark);
    let stop = nix::sys::signal::Signal::SIGSTOP;
    nix::sys::signal::kill(nix::unistd::Pid::from_raw(first), stop).unwrap();
    // nothing is heard of its end: the limit comes
    is_graded(&run);
}

fn working(engine: &str, mark: &str) -> (PathBuf, i32) {
    let name = format!("blinded-{mark}-{engine}");
    let script = format!("echo '# work' >> calc.py; sleep {mark}");
    scripted(&name, &script);
    let (_, run) = at_work(&name, engine, &["--limit", "10s"]);
    let mut first = None;
    until("the agent sleeps", || {
        first = process_1_of(&format!("sleep {mark}"));
        first.is_some()
    });
    (run, first.unwrap())
}

fn is_graded(run: &std::path::Path) {
    until("the run has ended", || {
        !events(run, "run_finished").is_empty()
    });
    let grade = &events(run, "graded").pop().expect("a grade")["grade"];
    assert_eq!(grade["verdict"], "failed", "{grade}");
    let badges = grade["badges"].as_array().unwrap();
    assert!(badges.contains(&"limit".into()), "{badges:?}");
    let captured = &events(run, "captured")[0]["files"];
    assert_eq!(captured.as_array().unwrap().len(), 1, "{captured}");
}
