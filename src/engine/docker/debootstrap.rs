//! Debian's own installer, into a folder of ours that goes away with whoever made it.

use std::fs::{self, DirBuilder};
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use nix::unistd::geteuid;
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::net::unix::pipe;
use tokio::process::{Child, Command};
use tokio::time::timeout;

use super::base::{PACKAGES, SUITE};
use super::owner::start_of;
use super::{ImportError, Progress};

/// On a slow line.
const LIMIT: Duration = Duration::from_secs(30 * 60);
const PREFIX: &str = "infradev-image-";
/// Lines of its own that an error tells.
const LAST_LINES: usize = 4;

/// A folder in which a tree can be made; removed when dropped.
pub(super) struct Workshop {
    outer: PathBuf,
}

impl Workshop {
    /// Below `folder`, together with the removal of what killed ones left there.
    pub(super) fn new(folder: &Path) -> Result<Self, ImportError> {
        sweep(folder);
        let (pid, start) = (std::process::id(), start_of(std::process::id()));
        let outer = folder.join(format!("{PREFIX}{pid}-{}", start.unwrap_or_default()));
        let failed = ImportError::io("making", &outer);
        // nobody else looks into a tree that is being made
        DirBuilder::new()
            .mode(0o700)
            .create(&outer)
            .map_err(failed)?;
        let workshop = Self { outer };
        let root = workshop.root();
        // the mode of `/` in the image
        DirBuilder::new()
            .mode(0o755)
            .create(&root)
            .map_err(ImportError::io("making", &root))?;
        Ok(workshop)
    }

    pub(super) fn root(&self) -> PathBuf {
        self.outer.join("root")
    }
}

impl Drop for Workshop {
    fn drop(&mut self) {
        // what was killed a moment ago may still be writing
        for _ in 0..20 {
            match fs::remove_dir_all(&self.outer) {
                Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                    std::thread::sleep(Duration::from_millis(50));
                }
                _ => return,
            }
        }
        tracing::warn!(path = %self.outer.display(), "a temporary folder was not removed");
    }
}

/// Removes our user's workshops whose maker is gone.
fn sweep(folder: &Path) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let maker = (name.to_str())
            .and_then(|n| n.strip_prefix(PREFIX)?.split_once('-'))
            .and_then(|(pid, start)| Some((pid.parse().ok()?, start.to_owned())));
        let Some((pid, start)) = maker else { continue };
        let ours = (entry.metadata()).is_ok_and(|m| m.is_dir() && m.uid() == geteuid().as_raw());
        if ours && start_of(pid) != Some(start) {
            fs::remove_dir_all(entry.path()).ok();
        }
    }
}

/// Makes the tree of the base image in `root`.
pub(super) async fn make(
    root: &Path,
    mirror: &str,
    progress: Progress<'_>,
) -> Result<(), ImportError> {
    if !geteuid().is_root() {
        return Err(ImportError::NotRoot);
    }
    let Some(program) = installed("debootstrap") else {
        return Err(ImportError::NoDebootstrap);
    };
    let mut command = contained(&program).await;
    command
        .arg("--variant=minbase")
        .arg("--force-check-gpg")
        .arg(format!("--include={}", PACKAGES.join(",")))
        .arg(SUITE)
        .arg(root)
        .arg(mirror)
        .env("LC_ALL", "C")
        .env("PATH", SYSTEM_PATH)
        .env("DEBIAN_FRONTEND", "noninteractive")
        .stdin(Stdio::null());
    let failed = || ImportError::io("starting", &program);
    let (reader, writer) = std::io::pipe().map_err(failed())?;
    command.stdout(writer.try_clone().map_err(failed())?);
    command.stderr(writer);
    let mut child = Killed(command.spawn().map_err(failed())?);
    // our copies of the writing end
    drop(command);
    let reader = pipe::Receiver::from_owned_fd(reader.into()).map_err(failed())?;
    let mut lines = BufReader::new(reader).lines();
    let mut told = Told::default();
    let working = async {
        let status = loop {
            tokio::select! {
                line = lines.next_line() => match line {
                    Ok(Some(line)) => told.line(&line, mirror, progress),
                    _ => break child.0.wait().await,
                },
                // a daemon that it started would hold the pipe open
                status = child.0.wait() => break status,
            }
        };
        while let Ok(Ok(Some(line))) = timeout(Duration::from_millis(200), lines.next_line()).await
        {
            told.line(&line, mirror, progress);
        }
        status
    };
    match timeout(LIMIT, working).await {
        Ok(Ok(status)) if status.success() => Ok(()),
        Ok(Ok(_)) => {
            told.last
                .extend(last_line(&root.join("debootstrap/debootstrap.log")));
            Err(ImportError::debootstrap(mirror, &told.last))
        }
        Ok(Err(error)) => Err(failed()(error)),
        Err(_) => Err(ImportError::debootstrap(
            mirror,
            &[format!("not done after {} minutes", LIMIT.as_secs() / 60)],
        )),
    }
}

/// Where programs of the system are, whatever the caller's own path is.
const SYSTEM_PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

fn installed(program: &str) -> Option<PathBuf> {
    (SYSTEM_PATH
        .split(':')
        .map(|dir| Path::new(dir).join(program)))
    .find(|path| path.is_file())
}

/// In name spaces of its own where that works, so that whatever it mounts and starts ends with it.
async fn contained(program: &Path) -> Command {
    const OPTIONS: [&str; 5] = [
        "--mount",
        "--propagation=private",
        "--pid",
        "--fork",
        "--kill-child",
    ];
    let mut attempt = Command::new("unshare");
    attempt
        .args(OPTIONS)
        .arg("true")
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    if attempt.status().await.is_ok_and(|status| status.success()) {
        let mut command = Command::new("unshare");
        command.args(OPTIONS).arg(program);
        command
    } else {
        Command::new(program)
    }
}

/// Of its own log, which goes away with the tree.
fn last_line(log: &Path) -> Option<String> {
    let text = fs::read(log).ok()?;
    let text = String::from_utf8_lossy(&text);
    text.lines()
        .rfind(|line| !line.trim().is_empty())
        .map(str::to_owned)
}

/// A child that does not outlive its handle.
struct Killed(Child);

impl Drop for Killed {
    fn drop(&mut self) {
        self.0.start_kill().ok();
        for _ in 0..100 {
            if !matches!(self.0.try_wait(), Ok(None)) {
                return;
            }
            std::thread::sleep(Duration::from_millis(10));
        }
    }
}

/// Its hundreds of lines as a few.
#[derive(Default)]
struct Told {
    stage: usize,
    last: Vec<String>,
}

impl Told {
    fn line(&mut self, line: &str, mirror: &str, progress: Progress<'_>) {
        const STAGES: [(&str, &str); 4] = [
            ("I: Retrieving ", "fetching packages"),
            ("I: Extracting ", "extracting the smallest system"),
            ("I: Unpacking ", "unpacking packages"),
            ("I: Configuring ", "configuring packages"),
        ];
        let stage = STAGES.iter().position(|(start, _)| line.starts_with(start));
        if let Some(stage) = stage.filter(|s| *s >= self.stage) {
            self.stage = stage + 1;
            if stage == 0 {
                progress(&format!("{} of Debian {SUITE} from {mirror}", STAGES[0].1));
            } else {
                progress(STAGES[stage].1);
            }
        }
        let word = line
            .strip_prefix("W: ")
            .or_else(|| line.strip_prefix("E: "));
        // not the place of its log, which goes away
        if let Some(word) = word.filter(|word| !word.starts_with("See ")) {
            self.last.push(word.trim().to_owned());
            if self.last.len() > LAST_LINES {
                self.last.remove(0);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use std::sync::Mutex;

    use super::*;

    #[test]
    fn what_a_killed_import_left_is_swept_and_a_living_one_is_not() {
        let folder = tempfile::TempDir::new().unwrap();
        let dead = folder.path().join("infradev-image-4000000-1");
        let reused = folder.path().join("infradev-image-1-0");
        let other = folder.path().join("infradev-images");
        for path in [&dead, &reused, &other] {
            fs::create_dir_all(path.join("root/dev")).unwrap();
        }
        let mine = Workshop::new(folder.path()).unwrap();
        assert!(!dead.exists() && !reused.exists() && other.exists());
        sweep(folder.path());
        assert!(mine.root().is_dir());
        let root = mine.root();
        drop(mine);
        assert!(!root.parent().unwrap().exists());
    }

    #[test]
    fn each_stage_is_told_once() {
        let said = Mutex::new(Vec::new());
        let progress = |text: &str| said.lock().unwrap().push(text.to_owned());
        let mut told = Told::default();
        for line in [
            "I: Retrieving InRelease",
            "I: Retrieving a 1",
            "I: Validating a 1",
            "I: Extracting a...",
            "I: Unpacking a...",
            "I: Configuring a...",
            "I: Unpacking b...",
            "I: Configuring b...",
            "W: one",
            "E: two",
        ] {
            told.line(line, "M", &progress);
        }
        assert_eq!(said.lock().unwrap().len(), 4);
        assert_eq!(told.last, ["one", "two"]);
    }
}
