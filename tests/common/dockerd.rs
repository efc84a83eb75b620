//! A container daemon of a test's own, which it may stop, kill and starve: its own socket, folders
//! and images, and nothing of the machine's daemon.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use infradev::engine::docker::{ASK_LIMIT, ask};
use nix::mount::{MntFlags, umount2};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use tempfile::TempDir;

use super::docker_is_here;

/// What it may take to answer.
const PATIENCE: Duration = Duration::from_secs(60);

pub struct Dockerd {
    folder: TempDir,
    daemon: Option<Child>,
}

/// Whether a test may have its own daemon: there is docker, and we are root. Else it says so, or
/// fails where docker is required.
pub fn is_possible() -> bool {
    if !docker_is_here() {
        return false;
    }
    let installed = Command::new("dockerd").arg("--version").output().is_ok();
    let possible = installed && nix::unistd::geteuid().is_root();
    assert!(
        possible || std::env::var_os("INFRADEV_REQUIRE_DOCKER").is_none(),
        "a daemon of one's own needs root and dockerd"
    );
    possible
}

impl Dockerd {
    /// One that runs, without any image. `prepare`: its folder of images, before it starts.
    pub fn bare(prepare: impl FnOnce(&Path)) -> Self {
        let folder = TempDir::new().unwrap();
        let data = folder.path().join("data");
        fs::create_dir(&data).unwrap();
        fs::write(folder.path().join("daemon.json"), "{}").unwrap();
        prepare(&data);
        let mut new = Self {
            folder,
            daemon: None,
        };
        new.up();
        new
    }

    /// As `DOCKER_HOST` has it.
    pub fn host(&self) -> String {
        format!("unix://{}", self.socket().display())
    }

    /// With an image of the machine's daemon.
    pub fn take(&self, image: &str) {
        let mut save = Command::new("docker")
            .args(["save", image])
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let load = Command::new("docker")
            .args(["--host", &self.host(), "load"])
            .stdin(save.stdout.take().unwrap())
            .output()
            .unwrap();
        assert!(save.wait().unwrap().success());
        let said = String::from_utf8_lossy(&load.stderr);
        assert!(load.status.success(), "{said}");
    }

    pub fn socket(&self) -> PathBuf {
        self.folder.path().join("socket")
    }

    /// Starts it and waits until it answers.
    pub fn up(&mut self) {
        let at = |name: &str| self.folder.path().join(name);
        let log = fs::File::options()
            .create(true)
            .append(true)
            .open(at("log"));
        let log = log.unwrap();
        // of one that was killed: where nobody buries the dead, its number still looks alive
        fs::remove_file(at("exec/containerd/containerd.pid")).ok();
        let daemon = Command::new("dockerd")
            .arg(format!("--host={}", self.host()))
            .arg("--config-file")
            .arg(at("daemon.json"))
            .arg("--data-root")
            .arg(at("data"))
            .arg("--exec-root")
            .arg(at("exec"))
            .arg("--pidfile")
            .arg(at("pid"))
            .arg("--containerd-namespace=infradev-test")
            .arg("--containerd-plugins-namespace=infradev-test-plugins")
            .args(["--bridge=none", "--iptables=false", "--storage-driver=vfs"])
            .stdin(Stdio::null())
            .stdout(log.try_clone().unwrap())
            .stderr(log)
            .spawn()
            .unwrap();
        self.daemon = Some(daemon);
        let until = Instant::now() + PATIENCE;
        while let Err(error) = ask(&self.socket(), ASK_LIMIT) {
            let log = || fs::read_to_string(at("log")).unwrap();
            assert!(Instant::now() < until, "{error}\n{}", log());
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    pub fn signal(&self, signal: Signal) {
        let daemon = self.daemon.as_ref().unwrap();
        kill(Pid::from_raw(daemon.id().cast_signed()), signal).unwrap();
    }

    /// Waits until it is gone; it was sent a signal.
    pub fn wait(&mut self) {
        self.daemon.take().unwrap().wait().unwrap();
    }
}

impl Drop for Dockerd {
    fn drop(&mut self) {
        if let Some(daemon) = &mut self.daemon {
            let pid = Pid::from_raw(daemon.id().cast_signed());
            for signal in [Signal::SIGCONT, Signal::SIGTERM] {
                kill(pid, signal).ok();
            }
            let until = Instant::now() + Duration::from_secs(15);
            while matches!(daemon.try_wait(), Ok(None)) && Instant::now() < until {
                std::thread::sleep(Duration::from_millis(50));
            }
            daemon.kill().ok();
            daemon.wait().ok();
        }
        // of one that was killed: what it started names its folder
        let folder = self.folder.path().to_str().unwrap();
        for entry in fs::read_dir("/proc").unwrap().flatten() {
            let pid = entry.file_name().to_str().and_then(|n| n.parse().ok());
            let line = fs::read(entry.path().join("cmdline")).unwrap_or_default();
            if let Some(pid) = pid.filter(|_| String::from_utf8_lossy(&line).contains(folder)) {
                kill(Pid::from_raw(pid), Signal::SIGKILL).ok();
            }
        }
        let mounts = fs::read_to_string("/proc/self/mounts").unwrap();
        let places = mounts.lines().filter_map(|line| line.split(' ').nth(1));
        let mut places: Vec<_> = places.filter(|place| place.starts_with(folder)).collect();
        places.reverse();
        for place in places {
            umount2(place, MntFlags::MNT_DETACH).ok();
        }
    }
}
