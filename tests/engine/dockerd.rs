//! A container daemon of a test's own, which it may stop, kill and starve: its own socket, folders
//! and images, and nothing of the machine's daemon.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use bollard::ClientVersion;
use bollard::query_parameters::CreateImageOptions;
use futures_util::StreamExt;
use infradev::engine::docker::{ASK_LIMIT, CPU_IMAGE, Docker, ask};
use nix::mount::{MntFlags, MsFlags, mount, umount2};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use tempfile::TempDir;

use crate::common::docker_is_here;
use crate::containers::owner;
use crate::house::{PATIENCE, Place, fresh_run};

pub struct Dockerd {
    folder: TempDir,
    daemon: Option<Child>,
}

/// A small file system in memory; gone when dropped, if nobody else sees to it.
pub struct Small(PathBuf);

impl Small {
    pub fn new(at: &Path, bytes: u64) -> Self {
        let size = format!("size={bytes}");
        mount(
            Some("small"),
            at,
            Some("tmpfs"),
            MsFlags::empty(),
            Some(size.as_str()),
        )
        .unwrap();
        Self(at.into())
    }

    /// Writes until no byte more fits.
    pub fn fill(&self) {
        let mut file = fs::File::create(self.0.join("filler")).unwrap();
        for piece in [1 << 16, 1 << 10, 1] {
            while std::io::Write::write_all(&mut file, &vec![0; piece]).is_ok() {}
        }
    }

    pub fn make_room(&self) {
        fs::remove_file(self.0.join("filler")).unwrap();
    }
}

impl Drop for Small {
    fn drop(&mut self) {
        umount2(&self.0, MntFlags::MNT_DETACH).ok();
    }
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
    /// With a small image under the name of the base image. `disk`: the size of its own disk.
    pub async fn new(disk: Option<u64>) -> (Self, Option<Small>) {
        let folder = TempDir::new().unwrap();
        let data = folder.path().join("data");
        fs::create_dir(&data).unwrap();
        fs::write(folder.path().join("daemon.json"), "{}").unwrap();
        let disk = disk.map(|bytes| Small::new(&data, bytes));
        let mut new = Self {
            folder,
            daemon: None,
        };
        new.up();
        new.import().await;
        (new, disk)
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
            .arg(format!("--host=unix://{}", self.socket().display()))
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
    pub async fn wait(&mut self) {
        let mut daemon = self.daemon.take().unwrap();
        let ended = tokio::task::spawn_blocking(move || daemon.wait()).await;
        ended.unwrap().unwrap();
    }

    pub async fn place(&self) -> Place {
        let run = fresh_run();
        let docker = Docker::connect_at(&self.socket(), owner(&run))
            .await
            .unwrap();
        Place::on(docker, run, CPU_IMAGE)
    }

    /// A shell and a few programs of the machine's, with what they and we are linked with.
    async fn import(&self) {
        let root = TempDir::new().unwrap();
        let mut files = BTreeSet::new();
        let ours = PathBuf::from(env!("CARGO_BIN_EXE_infradev"));
        let programs = ["/bin/sh", "/bin/cat", "/bin/sleep", "/usr/bin/setsid"].map(PathBuf::from);
        for program in programs.iter().chain([&ours]) {
            let said = Command::new("ldd").arg(program).output().unwrap();
            let said = String::from_utf8(said.stdout).unwrap();
            let linked = said.split_whitespace().filter(|word| word.starts_with('/'));
            files.extend(linked.map(PathBuf::from));
        }
        files.extend(programs);
        for file in files {
            let inside = root.path().join(file.strip_prefix("/").unwrap());
            fs::create_dir_all(inside.parent().unwrap()).unwrap();
            fs::copy(file, inside).unwrap();
        }
        let mut tar = Command::new("tar");
        tar.args(["--create", "--directory"])
            .arg(root.path())
            .arg(".");
        let tar = tar.output().unwrap().stdout;
        let version = ClientVersion {
            major_version: 1,
            minor_version: 41,
        };
        let socket = self.socket();
        let client = bollard::Docker::connect_with_unix(socket.to_str().unwrap(), 60, &version);
        let (repository, tag) = CPU_IMAGE.split_once(':').unwrap();
        let options = CreateImageOptions {
            from_src: Some("-".into()),
            repo: Some(repository.into()),
            tag: Some(tag.into()),
            ..CreateImageOptions::default()
        };
        let client = client.unwrap();
        let body = Some(bollard::body_full(tar.into()));
        let mut answers = client.create_image(Some(options), body, None);
        while let Some(answer) = answers.next().await {
            answer.unwrap();
        }
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
