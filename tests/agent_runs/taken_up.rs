//! Faults of ours after an agent's time: its work is kept, and the run is taken up where it stopped.

use std::path::Path;

use super::faults::{at_work, row, until};
use super::house::{events, scripted};
use crate::common::{home, infradev, tasks};
use crate::on_both_engines;

on_both_engines!(
    a_fault_of_the_capture_costs_the_agent_nothing,
    a_fault_of_the_grading_costs_the_agent_nothing,
);

fn a_fault_of_the_capture_costs_the_agent_nothing(engine: &str) {
    // where the patch is written to
    let (id, run) = faulted("uncaptured", engine, "submission.part", |_| {});
    assert!(events(&run, "captured").is_empty());
    let kept = std::fs::read_to_string(run.join("agent-tree-kept/when")).unwrap();
    let said = events(&run, "log");
    let told = said.iter().any(|e| {
        let text = e["text"].as_str().unwrap();
        text.contains("agent-tree-kept") && text.contains("infradev resume")
    });
    assert!(told, "{said:?}");
    std::fs::remove_dir(run.join("submission.part")).unwrap();
    goes_on(&id, &run);
    let patch = std::fs::read_to_string(run.join("submission.patch")).unwrap();
    assert!(patch.contains(&format!("+{kept}")), "the tree it left");
    assert!(!run.join("agent-tree-kept").exists());
}

fn a_fault_of_the_grading_costs_the_agent_nothing(engine: &str) {
    // where the stories of the cases are written to
    let away = |run: &Path| std::fs::rename(run.join("cases"), run.join("away")).unwrap();
    let (id, run) = faulted("ungraded", engine, "", |run| {
        away(run);
        std::fs::write(run.join("cases"), "").unwrap();
    });
    assert_eq!(events(&run, "captured").len(), 1);
    std::fs::remove_file(run.join("cases")).unwrap();
    std::fs::rename(run.join("away"), run.join("cases")).unwrap();
    goes_on(&id, &run);
}

/// A run that became a fault by what `obstacle` did while its agent worked.
fn faulted(
    name: &str,
    engine: &str,
    folder: &str,
    obstacle: impl FnOnce(&Path),
) -> (String, std::path::PathBuf) {
    let name = format!("{name}-{engine}");
    scripted(&name, "date +%s%N > when; echo said; sleep 2");
    let (id, run) = at_work(&name, engine, &[]);
    if !folder.is_empty() {
        std::fs::create_dir(run.join(folder)).unwrap();
    }
    obstacle(&run);
    until("it is a fault", || row(&id)["status"] == "fault");
    assert!(events(&run, "agent_ended").len() == 1);
    (id, run)
}

fn goes_on(id: &str, run: &Path) {
    let resume = || {
        infradev(&home(), &tasks())
            .args(["resume", id])
            .output()
            .unwrap()
    };
    let resumed = resume();
    let said = String::from_utf8_lossy(&resumed.stderr).into_owned();
    assert_eq!(resumed.status.code(), Some(1), "{said}");
    assert_eq!(row(id)["verdict"], "failed");
    assert_eq!(row(id)["status"], "finished");
    assert_eq!(events(run, "agent_started").len(), 1, "no second time");
    assert_eq!(events(run, "captured").len(), 1);
    // it is over now
    assert_eq!(resume().status.code(), Some(2));
}
