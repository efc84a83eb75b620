//! The real binding to the management library, on a library of ours: what a driver's answers and
//! errors become.

use std::path::Path;
use std::process::Command;

use serde_json::Value;

use crate::fake::{Fake, fake};

/// `gpu --once --json`, its exit code and its document.
fn once(home: &Path, fake: &Fake) -> (i32, Value) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_infradev"));
    command
        .arg("--home")
        .arg(home)
        .args(["gpu", "--once", "--json"]);
    fake.give(&mut command);
    let output = command.output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    (
        output.status.code().unwrap(),
        serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text}")),
    )
}

#[test]
fn a_lost_gpu_one_in_instances_and_a_process_beside_them() {
    let folder = tempfile::tempdir().unwrap();
    let home = folder.path().join("home");
    let script = format!("gpus 4\nlost 1\nmig 2\npid {}\n", std::process::id());
    let (code, found) = once(&home, &fake(folder.path(), &script));
    assert_eq!((code, &found["complete"]), (0, &Value::Bool(true)));
    assert_eq!(found["driver"], "580.95.05");
    assert_eq!(found["cuda"], "13.0");
    let gpus = &found["gpus"];
    assert_eq!(gpus.as_array().unwrap().len(), 4);
    let whole = &gpus[0];
    assert_eq!(whole["uuid"], "GPU-fa0e-0000");
    assert_eq!(whole["name"], "NVIDIA H200");
    assert!(whole["utilisation_pct"].is_u64());
    assert_eq!(whole["power_limit_w"], 700.0);
    assert_eq!(whole["sm_clock_max_mhz"], 1980);
    assert_eq!(whole["slowdown_c"], 92);
    assert_eq!(whole["pcie_link"]["width"], 16);
    assert_eq!(whole["pcie"]["sent_bytes_per_s"], 1_200_000_000);
    assert_eq!(whole["nvlink"]["active"], 18);
    // the performance monitor is not there: that is no 0
    assert_eq!(whole["nvlink"]["sent_bytes_per_s"], "unsupported");
    assert_eq!(whole["fan_pct"], "unsupported");
    assert_eq!(whole["mig"], serde_json::json!([]));
    let process = &whole["processes"][0];
    assert_eq!(process["pid"], std::process::id());
    assert_eq!(process["sm_pct"], "unsupported");
    assert!(process["started_s"].is_f64());
    // lost: a row without a single number
    assert_eq!(gpus[1]["utilisation_pct"], "lost");
    assert_eq!(gpus[1]["memory_total_bytes"], "lost");
    assert!(gpus[1]["lost_since_s"].is_f64());
    // in instances: the whole has no utilisation, the process is on one of them, told once
    assert_eq!(gpus[2]["utilisation_pct"], "unsupported");
    assert_eq!(gpus[2]["mig"][1]["profile"], "3g.71gb");
    assert_eq!(gpus[2]["processes"].as_array().unwrap().len(), 1);
    assert_eq!(gpus[2]["processes"][0]["instance"], 0);
    assert!(gpus[3]["utilisation_pct"].is_u64());
}

#[test]
fn a_driver_that_was_replaced_is_told_with_what_to_do() {
    let folder = tempfile::tempdir().unwrap();
    let home = folder.path().join("home");
    let fake = fake(folder.path(), "gpus 2\nmismatch 1\n");
    let (code, found) = once(&home, &fake);
    assert_eq!(code, 1);
    assert_eq!(found["gpus"], serde_json::json!([]));
    assert_eq!(found["unavailable"]["why"], "driver_mismatch");
    let advice = found["unavailable"]["advice"].as_str().unwrap();
    assert!(advice.contains("reload"), "{advice}");
    assert!(found["retry_at_s"].as_f64() > found["at_s"].as_f64());
    fake.change("gpus 2\n");
    let (code, found) = once(&home, &fake);
    assert_eq!((code, found["gpus"].as_array().unwrap().len()), (0, 2));
}
