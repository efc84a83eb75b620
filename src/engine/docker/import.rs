//! The base image made from Debian packages, where no registry can be reached.

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use bollard::body_try_stream;
use bollard::query_parameters::{CreateImageOptions, RemoveImageOptions};
use futures_util::{StreamExt, stream};
use tokio::io::AsyncReadExt;
use tokio::process::{Child, ChildStdout, Command};

use super::base::{CHANGES, LEFT_OUT, mirror};
use super::debootstrap::{Workshop, make};
use super::{Docker, Image};
use crate::engine::EngineError;

/// A line for people at each step.
pub type Progress<'a> = &'a (dyn Fn(&str) + Send + Sync);

/// What the daemon may take to keep some hundred megabytes.
const IMPORT_LIMIT: Duration = Duration::from_secs(10 * 60);

/// What else there is to do is part of each message.
#[derive(Debug, thiserror::Error)]
pub enum ImportError {
    #[error(
        "debootstrap needs root: run `sudo infradev image import`, or, where a registry can be \
         reached, `docker build -t infradev/base:cpu - < assets/base/Dockerfile.cpu`"
    )]
    NotRoot,
    #[error(
        "debootstrap is not installed: `apt-get install debootstrap debian-archive-keyring`, or, \
         where a registry can be reached, \
         `docker build -t infradev/base:cpu - < assets/base/Dockerfile.cpu`"
    )]
    NoDebootstrap,
    #[error("debootstrap failed: {message}; {advice}")]
    Debootstrap { message: String, advice: String },
    #[error(transparent)]
    Engine(#[from] EngineError),
    #[error("{doing} {path}: {source}")]
    Io {
        doing: &'static str,
        path: PathBuf,
        source: std::io::Error,
    },
}

impl ImportError {
    pub(super) fn io(doing: &'static str, path: &Path) -> impl FnOnce(std::io::Error) -> Self {
        let path = path.to_owned();
        move |source| Self::Io {
            doing,
            path,
            source,
        }
    }

    /// By its last words.
    pub(super) fn debootstrap(mirror: &str, last: &[String]) -> Self {
        let message = if last.is_empty() {
            "it said nothing about it".into()
        } else {
            super::call::one_line(&last.join("; "))
        };
        let keys = ["keyring", "unknown key", "gpgv"];
        let advice = if keys.iter().any(|word| message.contains(word)) {
            "`apt-get install debian-archive-keyring gpgv` gives it Debian's keys".into()
        } else {
            format!("is {mirror} a Debian mirror that can be reached? --mirror URL names another")
        };
        Self::Debootstrap { message, advice }
    }
}

/// How the base image is made.
#[derive(Clone, Debug)]
pub struct ImportOptions {
    /// With its tag.
    pub name: String,
    /// Of Debian; absent: the one that this machine's apt uses.
    pub mirror: Option<String>,
    /// An existing folder with room for half a gigabyte, on a file system that may hold device
    /// nodes and programs.
    pub scratch: PathBuf,
}

impl Docker {
    /// Makes the CPU base image. Takes a minute, needs root and debootstrap; nothing is left behind
    /// when the future is dropped half way.
    pub async fn import_base(
        &self,
        options: &ImportOptions,
        progress: Progress<'_>,
    ) -> Result<Image, ImportError> {
        let before = self.image(&options.name).await?;
        let mirror = options.mirror.clone().unwrap_or_else(mirror);
        let workshop = Workshop::new(&options.scratch)?;
        make(&workshop.root(), &mirror, progress).await?;
        progress("handing the tree to the container engine");
        self.import(&workshop.root(), &options.name).await?;
        let image = (self.image(&options.name).await?).ok_or(EngineError::ImageMissing {
            image: options.name.clone(),
            advice: "somebody removed it right away: try again".into(),
        })?;
        if let Some(before) = before.filter(|before| before.id != image.id) {
            self.drop_nameless(&before.id).await;
        }
        Ok(image)
    }

    /// A folder as an image of one layer.
    async fn import(&self, root: &Path, name: &str) -> Result<(), ImportError> {
        let program = Path::new("tar");
        let mut command = Command::new(program);
        command
            .args(["--create", "--numeric-owner", "--sort=name", "--directory"])
            .arg(root)
            .arg("--anchored")
            .args(LEFT_OUT.map(|pattern| format!("--exclude={pattern}")))
            .arg(".")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .kill_on_drop(true);
        let mut tar = command
            .spawn()
            .map_err(ImportError::io("starting", program))?;
        let Some(output) = tar.stdout.take() else {
            return Err(EngineError::Ended.into());
        };
        let pieces = stream::unfold(Some((tar, output)), |state| async {
            let (tar, output) = state?;
            next_piece(tar, output).await
        });
        let options = CreateImageOptions {
            from_src: Some("-".into()),
            // with its tag: podman passes over one that stands apart
            repo: Some(name.into()),
            changes: CHANGES.map(str::to_owned).to_vec(),
            ..CreateImageOptions::default()
        };
        let body = body_try_stream(pieces.map(|piece| piece.map(Into::into)));
        let client = bollard::Docker::clone(&self.client).with_timeout(IMPORT_LIMIT);
        let mut answers = client.create_image(Some(options), Some(body), None);
        while let Some(answer) = answers.next().await {
            if let Err(error) = answer {
                return Err(self.explain("importing an image", &error).await.into());
            }
        }
        Ok(())
    }

    /// Removes an image that has lost its last name to a newer one; it may be in use.
    async fn drop_nameless(&self, id: &str) {
        let inspected = self.client.inspect_image(id).await;
        if inspected.is_ok_and(|image| image.repo_tags.unwrap_or_default().is_empty()) {
            let kept = self
                .client
                .remove_image(id, None::<RemoveImageOptions>, None)
                .await;
            if let Err(error) = kept {
                tracing::debug!(%error, "the image before is still in use");
            }
        }
    }
}

type Piece = Result<Vec<u8>, std::io::Error>;

/// What tar wrote next; its failure is the stream's, so that half a tree never becomes an image.
async fn next_piece(
    mut tar: Child,
    mut output: ChildStdout,
) -> Option<(Piece, Option<(Child, ChildStdout)>)> {
    let mut piece = vec![0; 256 << 10];
    match output.read(&mut piece).await {
        Ok(0) => match tar.wait().await {
            Ok(status) if status.success() => None,
            Ok(status) => Some((Err(std::io::Error::other(format!("tar: {status}"))), None)),
            Err(error) => Some((Err(error), None)),
        },
        Ok(n) => {
            piece.truncate(n);
            Some((Ok(piece), Some((tar, output))))
        }
        Err(error) => Some((Err(error), None)),
    }
}
