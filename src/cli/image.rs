//! `infradev image`: the base images of the docker engine.

use schemars::JsonSchema;
use serde::Serialize;

use super::args::{ImageCommand, ImportArgs};
use super::context::Context;
use super::engine::with_docker;
use super::exit::{Exit, Failure};
use super::output;
use crate::engine::docker::{CPU_IMAGE, CUDA_IMAGE, Docker, Image, ImportError, ImportOptions};

#[derive(Serialize, JsonSchema)]
pub struct ImagesDocument {
    pub schema: u32,
    pub images: Vec<BaseImage>,
}

/// What `infradev image import` made.
#[derive(Serialize, JsonSchema)]
pub struct ImageDocument {
    pub schema: u32,
    #[serde(flatten)]
    pub image: BaseImage,
}

/// An image that the container engine has, or ought to have.
#[derive(Debug, Serialize, JsonSchema)]
pub struct BaseImage {
    pub name: String,
    /// The same id means the same files; null: the engine does not have it.
    pub id: Option<String>,
    pub size_bytes: Option<u64>,
    /// As the engine names it: `amd64`, `arm64`.
    pub architecture: Option<String>,
    /// How to make it, where it is missing.
    pub mend: Option<String>,
}

impl From<Image> for BaseImage {
    fn from(image: Image) -> Self {
        Self {
            name: image.name,
            id: Some(image.id),
            size_bytes: Some(image.size_bytes),
            architecture: Some(image.architecture),
            mend: None,
        }
    }
}

pub fn run(context: &Context, command: ImageCommand) -> Result<Exit, Failure> {
    match command {
        ImageCommand::Import(args) => import(context, args),
        ImageCommand::List(args) => list(context, args.json),
    }
}

fn import(context: &Context, args: ImportArgs) -> Result<Exit, Failure> {
    let options = ImportOptions {
        name: CPU_IMAGE.into(),
        mirror: args.mirror,
        scratch: std::env::temp_dir(),
    };
    let begun = std::time::Instant::now();
    let image = with_docker(context, async |docker| {
        let say = |line: &str| output::note(&output::safe(line));
        docker?.import_base(&options, &say).await.map_err(failure)
    })?;
    let image = BaseImage::from(image);
    if args.json {
        output::document(&ImageDocument { schema: 1, image })?;
    } else {
        let took = begun.elapsed().as_secs();
        output::line(&output::safe(&format!(
            "{}  made in {took} s",
            line(&image)
        )));
    }
    Ok(Exit::Yes)
}

/// Who may run it and on what mirror is the caller's matter.
fn failure(error: ImportError) -> Failure {
    match error {
        ImportError::Engine(error) => error.into(),
        ImportError::Io { .. } => Failure::machinery(error.to_string()),
        _ => Failure::input(error.to_string()),
    }
}

fn list(context: &Context, json: bool) -> Result<Exit, Failure> {
    let images = with_docker(context, async |docker| found(&docker?).await)?;
    if json {
        output::document(&ImagesDocument { schema: 1, images })?;
    } else {
        for image in &images {
            output::line(&output::safe(&line(image)));
        }
    }
    Ok(Exit::Yes)
}

async fn found(docker: &Docker) -> Result<Vec<BaseImage>, Failure> {
    let mut names = vec![CPU_IMAGE.to_owned(), CUDA_IMAGE.to_owned()];
    for name in docker.base_images().await? {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    let mut images = Vec::new();
    for name in names {
        images.push(match docker.image(&name).await? {
            Some(image) => image.into(),
            None => missing(name),
        });
    }
    Ok(images)
}

fn missing(name: String) -> BaseImage {
    let mend = if name == CUDA_IMAGE {
        "`docker build -t infradev/base:cuda - < assets/base/Dockerfile.cuda` makes it"
    } else {
        "`infradev image import` makes it"
    };
    BaseImage {
        name,
        id: None,
        size_bytes: None,
        architecture: None,
        mend: Some(mend.into()),
    }
}

fn line(image: &BaseImage) -> String {
    let name = &image.name;
    if let (Some(id), Some(bytes)) = (&image.id, image.size_bytes) {
        let id: String = id.trim_start_matches("sha256:").chars().take(12).collect();
        let (size, architecture) = (bytes as f64 / 1e6, image.architecture.as_deref());
        return format!(
            "{name:<20}  {id}  {size:>6.0} MB  {}",
            architecture.unwrap_or("")
        );
    }
    let mend = image.mend.as_deref().unwrap_or("");
    format!("{name:<20}  not here; {mend}")
}
