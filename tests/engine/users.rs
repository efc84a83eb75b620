//! Who the worker is: root, somebody else, or somebody on a machine that refuses namespaces.

use std::ffi::OsStr;
use std::os::unix::fs::{MetadataExt, chown};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;

use infradev::engine::local::{LocalOptions, probe};
use infradev::engine::{Access, EngineError, Isolation, Sandbox, User};
use tempfile::TempDir;

use crate::common::docker_is_here;
use crate::house::{mount, options, shell, spec, write};

/// An unprivileged user that owns nothing here.
const SOMEBODY: u32 = 54_321;

/// Runs tests of this program in another process and expects them to pass.
#[track_caller]
fn run_here(command: &mut Command, filters: &[&str]) {
    let output = command.args(filters).output().unwrap();
    let out = String::from_utf8_lossy(&output.stdout);
    assert!(
        output.status.success(),
        "{out}{}",
        String::from_utf8_lossy(&output.stderr)
    );
    assert!(!out.contains("running 0 tests"), "{out}");
}

/// A folder that `SOMEBODY` can write: its home.
fn home() -> TempDir {
    let home = TempDir::new().unwrap();
    if nix::unistd::geteuid().is_root() {
        chown(home.path(), Some(SOMEBODY), Some(SOMEBODY)).unwrap();
    }
    home
}

fn as_somebody(program: impl AsRef<OsStr>, home: &Path) -> Command {
    let mut command = Command::new(program);
    command
        .env("TMPDIR", home)
        .env("RUST_BACKTRACE", "0")
        .current_dir("/");
    if nix::unistd::geteuid().is_root() {
        command.uid(SOMEBODY).gid(SOMEBODY);
    }
    command
}

#[test]
fn everything_holds_for_an_unprivileged_user() {
    // when this user is one already, the tests beside this one are that proof, and run once more
    let home = home();
    for filters in [
        &[
            "basics::local",
            "walls::local",
            "mounts::local",
            "--test-threads=2",
        ][..],
        &["kills::local", "--test-threads=2"],
        &["limits::local", "--test-threads=2"],
    ] {
        let mut command = as_somebody(std::env::current_exe().unwrap(), home.path());
        run_here(&mut command, filters);
    }
}

#[test]
fn containers_of_an_unprivileged_user_run_as_that_user() {
    // root's own containers are what the tests beside this one are about
    if !docker_is_here() || !nix::unistd::geteuid().is_root() {
        return;
    }
    let socket = Path::new("/var/run/docker.sock");
    let Ok(metadata) = socket.metadata() else {
        return;
    };
    // the group that may use the daemon
    if metadata.gid() == 0 || metadata.mode() & 0o060 != 0o060 {
        return;
    }
    let home = home();
    let mut command = as_somebody(std::env::current_exe().unwrap(), home.path());
    command.gid(metadata.gid());
    run_here(
        &mut command,
        &[
            "mounts::docker",
            "walls::docker::nothing_inside",
            "kills::docker::a_killed_worker",
            "kills::docker::close_and_drop",
            "--test-threads=2",
        ],
    );
}

#[test]
fn everything_starts_for_a_root_that_is_only_called_so() {
    // root of a user namespace that knows no other user
    let home = home();
    let mut command = as_somebody("unshare", home.path());
    command
        .args(["--user", "--map-root-user"])
        .arg(std::env::current_exe().unwrap());
    run_here(
        &mut command,
        &["mounts::local", "walls::local::the_kernels_settings"],
    );
}

#[tokio::test]
async fn the_probe_says_that_it_works_here() {
    let scratch = TempDir::new().unwrap();
    let support = probe(scratch.path(), &options()).await;
    assert!(support.works, "{support:?}");
    assert!(support.took.is_some() && support.refused.is_none());
}

/// Set where this test program runs on a "machine" that refuses namespaces.
const REFUSED: &str = "INFRADEV_TEST_REFUSED";

/// This program below a user namespace in which no further one may be made, as somebody who is not
/// root.
fn refusing(home: &Path) -> Command {
    let mut command = as_somebody("unshare", home);
    command
        .args(["--user", "--map-root-user", "sh", "-c"])
        .arg("echo 0 > /proc/sys/user/max_user_namespaces && exec \"$0\" \"$@\"")
        .arg(std::env::current_exe().unwrap())
        .env(REFUSED, "1");
    command
}

#[tokio::test]
async fn refused_namespaces_are_an_error_with_advice() {
    if std::env::var_os(REFUSED).is_none() {
        let filter = "users::refused_namespaces_are_an_error_with_advice";
        let home = home();
        run_here(&mut refusing(home.path()), &["--exact", filter]);
        return;
    }
    let scratch = TempDir::new().unwrap();
    match Sandbox::start_local_with(spec(), scratch.path(), &options()).await {
        Err(EngineError::NamespacesRefused { advice, .. }) => {
            assert!(advice.contains("user.max_user_namespaces"), "{advice}");
        }
        Err(other) => panic!("{other}"),
        Ok(_) => panic!("it started"),
    }
    let support = probe(scratch.path(), &options()).await;
    assert!(!support.works && support.refused.is_some() && support.advice.is_some());
}

#[tokio::test]
async fn without_namespaces_limits_and_kills_still_hold() {
    if std::env::var_os(REFUSED).is_none() {
        let filter = "users::without_namespaces_limits_and_kills_still_hold";
        let home = home();
        run_here(&mut refusing(home.path()), &["--exact", filter]);
        return;
    }
    let scratch = TempDir::new().unwrap();
    let work = TempDir::new().unwrap();
    write(&work.path().join("file"), "here");
    let mut spec = spec();
    spec.mounts = vec![mount(work.path(), "/work", Access::ReadWrite)];
    let options = LocalOptions {
        allow_unisolated: true,
        ..options()
    };
    let sandbox = Sandbox::start_local_with(spec, scratch.path(), &options)
        .await
        .unwrap();
    assert_eq!(sandbox.isolation(), Isolation::None);
    assert_eq!(
        sandbox.visible(Path::new("/work/a/b")),
        work.path().join("a/b")
    );
    assert_eq!(sandbox.visible(Path::new("/work")), work.path());
    assert_eq!(
        sandbox.visible(Path::new("/workshop")),
        Path::new("/workshop")
    );
    let mut sandbox = crate::house::Box {
        sandbox,
        _scratch: scratch,
    };
    let mut reads = shell(
        1,
        "cat file; setsid sleep 600 & setsid sh -c 'sleep 600 & sleep 600' &",
    );
    reads.cwd = "/work".into();
    let ran = sandbox.run(reads).await;
    assert_eq!(ran.succeeded().out(), "here");
    assert_eq!(sandbox.kill_all().await, 4);
    // no bomb: without namespaces it would burst on the machine if this failed
    sandbox
        .sandbox
        .spawn(shell(
            2,
            "i=0; while [ $i -lt 200 ]; do setsid sleep 60 & i=$((i+1)); done; wait",
        ))
        .unwrap();
    let seen = sandbox
        .until(|e| matches!(e, infradev::engine::SandboxEvent::LimitHit { .. }))
        .await;
    assert!(
        matches!(seen.last(), Some(infradev::engine::SandboxEvent::LimitHit { limit, .. }) if limit == "processes"),
        "{seen:?}"
    );
    assert_eq!(sandbox.kill_all().await, 0);
    sandbox.sandbox.close().await;
}

#[tokio::test]
async fn the_local_engine_has_nothing_under_the_workers_own_user() {
    let scratch = TempDir::new().unwrap();
    let mut spec = spec();
    spec.user = User::Worker;
    let started = Sandbox::start_local_with(spec, scratch.path(), &options()).await;
    let Err(EngineError::Start { message, .. }) = started else {
        panic!("it started");
    };
    assert!(message.contains("only the docker engine"), "{message}");
}
