//! Places for sandboxes on a daemon of a test's own.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use bollard::ClientVersion;
use bollard::query_parameters::CreateImageOptions;
use futures_util::StreamExt;
use infradev::engine::docker::{CPU_IMAGE, Docker};
use nix::mount::{MntFlags, MsFlags, mount, umount2};
use tempfile::TempDir;

pub use crate::common::dockerd::{Dockerd, is_possible};
use crate::containers::owner;
use crate::house::{Place, fresh_run};

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

/// One with a small image under the name of the base image. `disk`: the size of its own disk.
pub async fn dockerd(disk: Option<u64>) -> (Dockerd, Option<Small>) {
    let mut small = None;
    let daemon = Dockerd::bare(|data| small = disk.map(|bytes| Small::new(data, bytes)));
    import(&daemon).await;
    (daemon, small)
}

pub async fn place(daemon: &Dockerd) -> Place {
    let run = fresh_run();
    let docker = Docker::connect_at(&daemon.socket(), owner(&run))
        .await
        .unwrap();
    Place::on(docker, run, CPU_IMAGE)
}

/// A shell and a few programs of the machine's, with what they and we are linked with.
async fn import(daemon: &Dockerd) {
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
    let socket = daemon.socket();
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
