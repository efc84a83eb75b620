//! What goes wrong around an agent: its worker dies, its container is taken away, the disk fills.
//! Each is shown, nothing is lost but the stage in progress, and nothing is left running.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use serde_json::Value;

use super::house::{SMALL, alive, events, scripted, small_tasks};
use crate::common::{docker_is_here, home, infradev};
use crate::on_both_engines;

on_both_engines!(
    a_killed_worker_leaves_nothing_running_and_the_run_can_be_taken_up,
    a_full_disk_is_a_fault_and_the_run_can_be_taken_up,
    an_agent_that_fills_the_disk_is_stopped_and_graded,
    an_agent_that_fills_the_disk_without_a_name_is_stopped_and_graded,
    a_worker_killed_while_it_captures_gives_the_agent_no_second_time,
);

pub fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let from = Instant::now();
    while !holds() {
        assert!(from.elapsed() < Duration::from_secs(300), "never: {what}");
        std::thread::sleep(Duration::from_millis(50));
    }
}

/// Starts a run and waits until its agent is at work.
pub fn at_work(name: &str, engine: &str, more: &[&str]) -> (String, PathBuf) {
    at_work_with(name, engine, more, &[])
}

pub fn at_work_with(
    name: &str,
    engine: &str,
    more: &[&str],
    env: &[(&str, &str)],
) -> (String, PathBuf) {
    let output = infradev(&home(), &small_tasks())
        .args([
            "run", SMALL, "--agent", name, "--engine", engine, "--detach",
        ])
        .args(more)
        .envs(env.iter().copied())
        .output()
        .unwrap();
    let id = String::from_utf8_lossy(&output.stdout).trim().to_owned();
    assert!(
        !id.is_empty(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let run = home().join("runs").join(&id);
    until("the agent works", || {
        run.join("journal.jsonl").is_file() && !events(&run, "agent_started").is_empty()
    });
    (id, run)
}

fn a_worker_killed_while_it_captures_gives_the_agent_no_second_time(engine: &str) {
    let name = format!("leaves-much-{engine}");
    // a capture that takes seconds; and a second time would show in the patch
    scripted(
        &name,
        "mkdir many; for d in $(seq 100); do mkdir many/$d; \
         seq 100 | split -l 1 -a 3 - many/$d/f; done; date +%s%N > when",
    );
    let (id, run) = at_work(&name, engine, &[]);
    until("the agent has ended", || {
        !events(&run, "agent_ended").is_empty()
    });
    let worker = events(&run, "run_started")[0]["pid"].as_i64().unwrap();
    let worker = nix::unistd::Pid::from_raw(i32::try_from(worker).unwrap());
    nix::sys::signal::kill(worker, nix::sys::signal::Signal::SIGKILL).unwrap();
    assert!(
        events(&run, "captured").is_empty(),
        "the capture was over before the kill: nothing was tried"
    );
    let when = std::fs::read_to_string(run.join("scratch/agent-tree/when")).unwrap();
    until("it is interrupted", || row(&id)["status"] == "interrupted");
    let resumed = infradev(&home(), &small_tasks())
        .args(["resume", &id])
        .output()
        .unwrap();
    assert_eq!(
        resumed.status.code(),
        Some(1),
        "{}",
        String::from_utf8_lossy(&resumed.stderr)
    );
    assert_eq!(events(&run, "agent_started").len(), 1);
    let captured = events(&run, "captured");
    assert_eq!(captured.len(), 1);
    assert_eq!(captured[0]["files"].as_array().unwrap().len(), 10_001);
    let patch = std::fs::read_to_string(run.join("submission.patch")).unwrap();
    assert!(patch.contains(&format!("+{when}")), "the tree it left");
    assert!(!run.join("agent-tree-kept").exists());
}

pub fn row(id: &str) -> Value {
    let output = infradev(&home(), &small_tasks())
        .args(["runs", "--json"])
        .output()
        .unwrap();
    let document: Value = serde_json::from_slice(&output.stdout).unwrap();
    let runs = document["runs"].as_array().unwrap();
    runs.iter().find(|r| r["run"] == id).unwrap().clone()
}

/// Containers of a run, running or not.
fn containers(id: &str, running: bool) -> Vec<String> {
    let mut command = Command::new("docker");
    command.args([
        "ps",
        "-q",
        "--no-trunc",
        "--filter",
        &format!("label=infradev.run={id}"),
    ]);
    if !running {
        command.arg("-a");
    }
    let output = command.output().unwrap();
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    String::from_utf8_lossy(&output.stdout)
        .lines()
        .map(str::to_owned)
        .collect()
}

fn a_killed_worker_leaves_nothing_running_and_the_run_can_be_taken_up(engine: &str) {
    let name = format!("works-a-while-{engine}");
    let mark = if engine == "local" {
        "5.0011"
    } else {
        "5.0012"
    };
    scripted(
        &name,
        &format!(
            "echo first words; echo '# work' >> calc.py; (setsid sleep {mark} &); sleep {mark}; echo last words"
        ),
    );
    let (id, run) = at_work(&name, engine, &[]);
    until("it said something", || {
        std::fs::read_to_string(run.join("agent.log")).is_ok_and(|log| log.contains("first words"))
    });
    let worker = events(&run, "run_started")[0]["pid"].as_i64().unwrap();
    let worker = nix::unistd::Pid::from_raw(i32::try_from(worker).unwrap());
    nix::sys::signal::kill(worker, nix::sys::signal::Signal::SIGKILL).unwrap();
    let killed = Instant::now();
    until("nothing of it runs", || {
        alive(&format!("sleep {mark}")).is_empty()
    });
    // by themselves: long before they would have ended anyway
    assert!(
        killed.elapsed() < Duration::from_secs(4),
        "{:?}",
        killed.elapsed()
    );
    until("it is interrupted", || row(&id)["status"] == "interrupted");
    if engine == "docker" {
        until("its container has ended", || {
            containers(&id, true).is_empty()
        });
        let gc = infradev(&home(), &small_tasks())
            .args(["gc", "--json"])
            .output()
            .unwrap();
        assert!(
            gc.status.success(),
            "{}",
            String::from_utf8_lossy(&gc.stderr)
        );
        assert_eq!(containers(&id, false), Vec::<String>::new());
    }
    let resumed = infradev(&home(), &small_tasks())
        .args(["resume", &id])
        .output()
        .unwrap();
    assert_eq!(
        resumed.status.code(),
        Some(1),
        "{}",
        String::from_utf8_lossy(&resumed.stderr)
    );
    let row = row(&id);
    assert_eq!(row["verdict"], "failed");
    let log = |name: &str| std::fs::read_to_string(run.join(name)).unwrap();
    assert!(
        log("agent.1.log").contains("first words"),
        "the earlier attempt's log is kept"
    );
    assert!(log("agent.log").contains("last words"));
    assert_eq!(events(&run, "agent_started").len(), 2);
    // gold did not run again
    let again = events(&run, "run_started")[1]["seq"].as_u64().unwrap();
    let calibrated = events(&run, "calibrated");
    let later = calibrated
        .iter()
        .filter(|e| e["seq"].as_u64().unwrap() > again);
    assert!(later.clone().count() > 0 && later.clone().all(|e| e["fresh"] == false));
}

/// A home on a file system of 400 MB, and how its agent `fills` is written.
fn small_home(name: &str) -> Option<(Unmount, PathBuf)> {
    let small = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
    std::fs::create_dir_all(&small).unwrap();
    let none = None::<&str>;
    let flags = nix::mount::MsFlags::empty();
    let mounted = nix::mount::mount(none, &small, Some("tmpfs"), flags, Some("size=400m"));
    if let Err(e) = mounted {
        assert!(std::env::var_os("INFRADEV_REQUIRE_DOCKER").is_none(), "{e}");
        println!("not run: no small file system can be mounted here ({e})");
        return None;
    }
    Some((Unmount(small.clone()), small))
}

fn fills(home: &Path, script: &str) {
    let agents = home.join("agents");
    std::fs::create_dir_all(&agents).unwrap();
    let text = format!(
        "schema = 1\nname = \"fills\"\nformat = \"text\"\ncommand = [\"/bin/bash\", \"-c\", {}]\n\
         [network]\nmode = \"none\"\n[env.set]\nPROMPT_FILE = \"{{prompt_file}}\"\n",
        super::house::toml_text(script)
    );
    std::fs::write(agents.join("fills.toml"), text).unwrap();
}

/// Else it could choose to be a fault, which no score counts.
fn an_agent_that_fills_the_disk_is_stopped_and_graded(engine: &str) {
    stopped_for_the_disk(
        &format!("filled-{engine}"),
        engine,
        "for n in $(seq 100); do head -c 5000000 /dev/zero | tr '\\0' x > ~/$n; sleep 0.05; done",
    );
}

/// What it takes stands in no folder.
fn an_agent_that_fills_the_disk_without_a_name_is_stopped_and_graded(engine: &str) {
    stopped_for_the_disk(
        &format!("nameless-{engine}"),
        engine,
        "cd; python3 -c 'import os, time\n\
         f = open(\"x\", \"wb\")\n\
         os.unlink(\"x\")\n\
         while True:\n\
         \x20   try: f.write(b\"x\" * 5000000)\n\
         \x20   except OSError: pass\n\
         \x20   time.sleep(0.05)'",
    );
}

fn stopped_for_the_disk(home: &str, engine: &str, script: &str) {
    let Some((_unmount, small)) = small_home(home) else {
        return;
    };
    fills(
        &small,
        &format!("echo '# work' >> calc.py; {script}; sleep 60"),
    );
    let output = infradev(&small, &small_tasks())
        .args([
            "run", SMALL, "--agent", "fills", "--engine", engine, "--json",
        ])
        .output()
        .unwrap();
    let grade: Value = serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|e| panic!("{e}: {}", String::from_utf8_lossy(&output.stderr)));
    assert_eq!(grade["verdict"], "failed");
    assert!(
        grade["badges"]
            .as_array()
            .unwrap()
            .contains(&"limit".into())
    );
    let run = small.join("runs").join(grade["run"].as_str().unwrap());
    let ended = &events(&run, "agent_ended")[0];
    assert_eq!(ended["end"]["limit"], "disk", "{ended}");
    let captured = &events(&run, "captured")[0]["files"];
    assert_eq!(captured.as_array().unwrap().len(), 1, "{captured}");
}

fn a_full_disk_is_a_fault_and_the_run_can_be_taken_up(engine: &str) {
    let Some((_unmount, small)) = small_home(&format!("small-{engine}")) else {
        return;
    };
    let adapter = |script: &str| fills(&small, script);
    // its log takes all that is left
    adapter("echo '# work' >> calc.py; yes 'so many words' | head -c 500000000");
    let start = |args: &[&str]| {
        infradev(&small, &small_tasks())
            .args(args)
            .output()
            .unwrap()
    };
    let output = start(&["run", SMALL, "--agent", "fills", "--engine", engine]);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(3), "{said}");
    assert!(said.contains("No space left"), "{said}");
    let runs = start(&["runs", "--json"]);
    let runs: Value = serde_json::from_slice(&runs.stdout).unwrap();
    let row = &runs["runs"][0];
    assert_eq!(
        (&row["status"], &row["verdict"]),
        (&Value::from("fault"), &Value::from("fault"))
    );
    let run = small.join("runs").join(row["run"].as_str().unwrap());
    // what it had printed until then is there, and the calibration is not lost
    assert!(std::fs::metadata(run.join("agent.log")).unwrap().len() > 1 << 20);
    assert_eq!(events(&run, "run_finished").len(), 1);
    std::fs::remove_file(run.join("agent.log")).unwrap();
    adapter("echo '# work' >> calc.py");
    let again = start(&[
        "run", SMALL, "--agent", "fills", "--engine", engine, "--json",
    ]);
    let grade: Value = serde_json::from_slice(&again.stdout).unwrap();
    assert_eq!(grade["verdict"], "failed");
    let run = small.join("runs").join(grade["run"].as_str().unwrap());
    assert_eq!(
        events(&run, "calibrated")
            .iter()
            .filter(|e| e["fresh"] == true)
            .count(),
        0
    );
}

struct Unmount(PathBuf);

impl Drop for Unmount {
    fn drop(&mut self) {
        nix::mount::umount2(&self.0, nix::mount::MntFlags::MNT_DETACH).ok();
    }
}

#[test]
fn a_container_that_is_taken_away_is_a_fault_and_the_work_is_kept_beside() {
    if !docker_is_here() {
        return;
    }
    scripted(
        "taken-away",
        "echo '# half of it' >> calc.py; echo begun; sleep 60",
    );
    let (id, run) = at_work("taken-away", "docker", &[]);
    until("it said something", || {
        std::fs::read_to_string(run.join("agent.log")).is_ok_and(|log| log.contains("begun"))
    });
    let ids = containers(&id, true);
    assert_eq!(ids.len(), 1);
    assert!(
        Command::new("docker")
            .args(["rm", "-f", &ids[0]])
            .output()
            .unwrap()
            .status
            .success()
    );
    until("it is a fault", || row(&id)["status"] == "fault");
    let row = row(&id);
    assert_eq!(row["verdict"], "fault");
    // removing kills it first: the engine may tell of either
    let fault = row["fault"].as_str().unwrap();
    assert!(
        fault.contains("removed") || fault.contains("killed by someone else"),
        "{row}"
    );
    let partial = std::fs::read_to_string(run.join("partial.patch")).unwrap();
    assert!(partial.contains("+# half of it"), "{partial}");
    assert_eq!(containers(&id, false), Vec::<String>::new());
}
