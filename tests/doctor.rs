//! The doctor on this machine, and on machines that lack something.
#![allow(clippy::unwrap_used, clippy::expect_used)]

use std::path::{Path, PathBuf};

use infradev::doctor::{DoctorDocument, Examination, Status, examine, try_local};
use infradev::engine::local::LocalSupport;

/// The real attempt, with this crate's own program.
fn examination(home: &Path) -> Examination<'_> {
    let mut examination = Examination::new(home);
    let binary = PathBuf::from(env!("CARGO_BIN_EXE_infradev"));
    examination.sandbox = Box::new(move |scratch| try_local(scratch, Some(binary.clone())));
    examination
}

#[test]
fn this_machine_can_grade_and_every_finding_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let home = folder.path().join("not/yet/there");
    let document = examine(&examination(&home));
    let names: Vec<&str> = document.checks.iter().map(|c| c.name.as_str()).collect();
    assert_eq!(
        names,
        [
            "kernel",
            "user",
            "namespaces",
            "docker",
            "gpus",
            "python",
            "uv",
            "disk",
            "hard links",
            "reflinks",
            "memory",
            "cores",
            "terminal"
        ]
    );
    // the very tests of this crate grade here
    assert!(document.grading_works(), "{document:#?}");
    for check in &document.checks {
        assert!(!check.found.is_empty());
        // what is not in order says what to do
        assert_eq!(
            check.mend.is_some(),
            check.status != Status::Ok,
            "{check:?}"
        );
    }
    let namespaces = document.check("namespaces").unwrap();
    assert!(
        namespaces
            .found
            .starts_with("a program ran in a sandbox in "),
        "{namespaces:?}"
    );
    assert_eq!(document.check("python").unwrap().status, Status::Ok);
    // nothing is left behind, and the home was not made
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);

    let text = serde_json::to_value(&document).unwrap();
    assert_eq!(text["schema"], 1);
    assert_eq!(text["checks"][0]["name"], "kernel");
    let back: DoctorDocument = serde_json::from_value(text).unwrap();
    assert_eq!(back, document);
    assert_eq!(
        document.lines().last().unwrap(),
        "grading works on this machine"
    );
}

#[test]
fn what_is_missing_fails_with_its_mend() {
    let folder = tempfile::tempdir().unwrap();
    let mut examination = examination(folder.path());
    examination.env.clear();
    examination.sandbox = Box::new(|scratch| {
        assert!(scratch.is_dir());
        LocalSupport {
            works: false,
            took: None,
            refused: Some("unshare: not permitted".into()),
            advice: Some("allow user namespaces".into()),
        }
    });
    // a PATH with nothing on it, a daemon that is not there
    let empty = folder.path().join("empty");
    std::fs::create_dir(&empty).unwrap();
    examination.env.insert("PATH".into(), empty.into());
    examination
        .env
        .insert("DOCKER_HOST".into(), "unix:///nowhere/docker.sock".into());
    let document = examine(&examination);
    let namespaces = document.check("namespaces").unwrap();
    // the engine goes on without them, and says so beside every grade
    assert_eq!(namespaces.status, Status::Warn);
    assert!(
        namespaces.found.contains("unshare: not permitted")
            && namespaces.found.contains("unisolated")
    );
    assert_eq!(namespaces.mend.as_deref(), Some("allow user namespaces"));
    let docker = document.check("docker").unwrap();
    assert_eq!(docker.status, Status::Warn);
    assert_eq!(
        docker.found,
        "no socket for this user at /nowhere/docker.sock"
    );
    assert_eq!(document.check("terminal").unwrap().status, Status::Warn);
    // without a sandbox for another reason nothing is graded
    examination.sandbox = Box::new(|scratch| try_local(scratch, Some("/nowhere/infradev".into())));
    let worse = examine(&examination);
    assert_eq!(worse.check("namespaces").unwrap().status, Status::Fail);
    assert!(!worse.grading_works());
    let lines = document.lines().join("\n") + &worse.lines().join("\n");
    assert!(lines.contains("-> allow user namespaces"), "{lines}");
    assert!(
        lines.contains("grading does not work on this machine"),
        "{lines}"
    );
}

#[test]
fn a_home_that_cannot_be_written_fails() {
    let document = examine(&examination(Path::new("/proc/nowhere/home")));
    let disk = document.check("disk").unwrap();
    assert_eq!(disk.status, Status::Fail, "{disk:?}");
    assert!(disk.mend.as_ref().unwrap().contains("--home"));
    assert!(!document.grading_works());
    assert_eq!(document.check("namespaces").unwrap().status, Status::Fail);
}

/// As an ordinary user who is in no group: the real connection, the real refusal.
#[test]
fn a_socket_that_is_not_for_this_user_is_told_with_its_mend() {
    use std::os::unix::fs::PermissionsExt;
    use std::os::unix::process::CommandExt;
    let folder = tempfile::tempdir().unwrap();
    let mode = |path: &Path, mode| {
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
    };
    mode(folder.path(), 0o755);
    let socket = folder.path().join("docker.sock");
    let _listener = std::os::unix::net::UnixListener::bind(&socket).unwrap();
    // where the crate was built others may not look
    let binary = folder.path().join("infradev");
    std::fs::copy(env!("CARGO_BIN_EXE_infradev"), &binary).unwrap();
    mode(&binary, 0o755);
    let home = folder.path().join("home");
    std::fs::create_dir(&home).unwrap();
    mode(&home, 0o777);
    let mut command = std::process::Command::new(&binary);
    command
        .arg("--home")
        .arg(&home)
        .args(["doctor", "--json"])
        .env("DOCKER_HOST", format!("unix://{}", socket.display()));
    if nix::unistd::geteuid().is_root() {
        mode(&socket, 0o600);
        command.uid(65534).gid(65534);
    } else {
        mode(&socket, 0o000);
    }
    let output = command.output().unwrap();
    let document: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let checks = document["checks"].as_array().unwrap();
    let docker = checks.iter().find(|c| c["name"] == "docker").unwrap();
    let said = format!("{} is not for this user", socket.display());
    assert_eq!(docker["found"], said.as_str(), "{docker}");
    assert!(
        docker["mend"]
            .as_str()
            .unwrap()
            .contains("usermod -aG docker")
    );
}
