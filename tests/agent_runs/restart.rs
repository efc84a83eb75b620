//! The daemon goes and comes back while an agent works.

use nix::sys::signal::Signal;

use super::faults::{at_work_with, until};
use super::house::{SMALL, alive, events, scripted, small_tasks};
use crate::common::dockerd::{Dockerd, is_possible};
use crate::common::{home, infradev};

const IMAGE: &str = "infradev/base:cpu";

#[test]
fn a_daemon_that_restarts_is_a_fault_and_the_work_is_taken_up() {
    if !is_possible() {
        return;
    }
    let mut daemon = Dockerd::bare(|_| {});
    daemon.take(IMAGE);
    let host = daemon.host();
    scripted(
        "outlives-docker",
        "echo '# before the restart' >> calc.py; echo begun; sleep 86417",
    );
    let at = [("DOCKER_HOST", host.as_str())];
    let (id, run) = at_work_with("outlives-docker", "docker", &[], &at);
    until("it said something", || {
        std::fs::read_to_string(run.join("agent.log")).is_ok_and(|log| log.contains("begun"))
    });
    daemon.signal(Signal::SIGTERM);
    daemon.wait();
    until("the run has ended", || {
        !events(&run, "run_finished").is_empty()
    });
    let shown = |args: &[&str]| {
        let output = infradev(&home(), &small_tasks())
            .args(args)
            .envs(at)
            .output();
        output.unwrap()
    };
    let runs: serde_json::Value =
        serde_json::from_slice(&shown(&["runs", "--json"]).stdout).unwrap();
    let rows = runs["runs"].as_array().unwrap();
    let row = rows.iter().find(|row| row["run"] == id).unwrap();
    assert_eq!(row["verdict"], "fault", "{row}");
    assert_eq!(alive("sleep 86417"), Vec::<String>::new());
    assert!(!run.join("submission.patch").exists());
    let partial = std::fs::read_to_string(run.join("partial.patch")).unwrap();
    assert!(partial.contains("+# before the restart"), "{partial}");

    daemon.up();
    // the agent begins anew: its time was not spent
    scripted("outlives-docker", "echo '# after the restart' >> calc.py");
    let again = shown(&[
        "run",
        SMALL,
        "--agent",
        "outlives-docker",
        "--engine",
        "docker",
        "--json",
    ]);
    let said = String::from_utf8_lossy(&again.stderr);
    let grade: serde_json::Value =
        serde_json::from_slice(&again.stdout).unwrap_or_else(|e| panic!("{e}: {said}"));
    assert_eq!(grade["verdict"], "failed", "{said}");
    let left = std::process::Command::new("docker")
        .args(["--host", &host, "ps", "--all", "--quiet"])
        .output()
        .unwrap();
    assert!(left.status.success());
    assert_eq!(String::from_utf8_lossy(&left.stdout), "");
}
