//! Images: the interpreter in one, and kind `image`, which is an image as it stands, recorded by its
//! package list.

use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use sha2::{Digest, Sha256};

use super::interpreter::{Facts, MINORS, answer, described, fits, question};
use super::interpreter_cache::InterpreterCache;
use super::lock::Hold;
use super::rooms;
use super::types::{Builder, Environment, Progress, Request, Step};
use super::workshop::{Opening, Process, Workshop};
use super::{EnvironmentError, inside};
use crate::domain::hex;
use crate::domain::task::EnvironmentKind;
use crate::engine::docker::{Docker, Image};
use crate::engine::{Network, Stream, User};

/// An interpreter answers in 50 ms; the first one of a cold image may take long to be read.
const ANSWER_LIMIT: Duration = Duration::from_secs(60);

/// The image that `request` is about.
pub(super) struct Asked<'a> {
    pub docker: &'a Docker,
    pub image: &'a Image,
    pub home: &'a Path,
    pub stop: &'a AtomicBool,
    pub progress: &'a dyn Fn(Progress),
}

impl<'a> Asked<'a> {
    pub fn of(
        request: &'a Request,
        home: &'a Path,
        progress: &'a dyn Fn(Progress),
    ) -> Option<Self> {
        match &request.builder {
            Builder::Here => None,
            Builder::Image { docker, image } => Some(Self {
                docker,
                image,
                home,
                stop: &request.stop,
                progress,
            }),
        }
    }
}

/// The image's interpreter for `wanted` (as for this machine), or the image's own in any version
/// where its packages are to be told.
pub(super) fn find(
    asked: &Asked,
    wanted: Option<&str>,
    packages: bool,
) -> Result<Facts, EnvironmentError> {
    let mut cache = InterpreterCache::open(asked.home);
    let key = format!(
        "image {} {}{}",
        asked.image.id,
        wanted.unwrap_or("any"),
        if packages { " packages" } else { "" }
    );
    if let Some(facts) = cache.of_image(&key) {
        return Ok(facts);
    }
    (asked.progress)(Progress::new(
        Step::Interpreter,
        format!("asking image {} for its python", asked.image.name),
    ));
    let facts = ask(asked, wanted, packages)?;
    cache.keep_of_image(key, &facts);
    Ok(facts)
}

fn ask(asked: &Asked, wanted: Option<&str>, packages: bool) -> Result<Facts, EnvironmentError> {
    let mut env = inside::of_image(&asked.image.env);
    if !packages {
        env = inside::without_python(&asked.image.env);
    }
    env.insert("HOME".into(), "/tmp".into());
    let scratch = rooms::scratch(asked.home)?;
    let workshop = Workshop::open(Opening {
        docker: asked.docker,
        image: asked.image,
        purpose: &format!("python of {}", asked.image.name),
        mounts: Vec::new(),
        network: Network::Loopback,
        user: User::Nobody,
        scratch: &scratch,
    })?;
    let mut tried = Vec::new();
    for name in names(wanted) {
        let arguments = question(packages);
        let process = Process {
            argv: std::iter::once(name.clone())
                .chain(arguments.iter().map(|a| a.to_string_lossy().into_owned()))
                .collect(),
            env: env.clone(),
            limit: ANSWER_LIMIT,
        };
        let (mut out, mut err) = (Vec::new(), Vec::new());
        let ended = workshop.run(process, asked.stop, &mut |stream, bytes| match stream {
            Stream::Stdout => out.extend_from_slice(bytes),
            _ => err.extend_from_slice(bytes),
        })?;
        let said = match ended.status {
            Ok(status) => answer(Path::new(&name), status, &out, &err),
            Err(_) => continue,
        };
        match said {
            Ok(facts) if packages || fits(&facts, wanted) => return Ok(facts),
            Ok(facts) => tried.push(format!("{name} is {}", facts.version)),
            Err(error) => tried.push(error.to_string()),
        }
    }
    if tried.is_empty() {
        tried.push(format!(
            "nothing of that name is on its PATH ({})",
            env["PATH"]
        ));
    }
    Err(EnvironmentError::NoInterpreterInImage {
        image: asked.image.name.clone(),
        wanted: if packages {
            "its own packages".into()
        } else {
            described(wanted)
        },
        tried,
    })
}

/// What the wanted interpreter may be called in an image, best first.
fn names(wanted: Option<&str>) -> Vec<String> {
    let Some(wanted) = wanted else {
        let mut names = vec!["python3".to_owned()];
        names.extend(MINORS.iter().map(|minor| format!("python3.{minor}")));
        names.push("python".into());
        return names;
    };
    if !wanted.starts_with(|c: char| c.is_ascii_digit()) {
        return vec![wanted.into()];
    }
    let minor = wanted.splitn(3, '.').take(2).collect::<Vec<_>>().join(".");
    ["python", "/usr/local/bin/python", "/usr/bin/python"]
        .map(|python| format!("{python}{minor}"))
        .into_iter()
        .chain(["python3".into(), "python".into()])
        .collect()
}

pub(super) fn prepare(request: &Request, asked: &Asked) -> Result<Environment, EnvironmentError> {
    let facts = find(asked, request.spec.python.as_deref(), true)?;
    if !facts.pytest {
        return Err(EnvironmentError::NoPytestInImage {
            image: asked.image.name.clone(),
            python: facts.executable,
        });
    }
    let mut env = inside::of_image(&asked.image.env);
    env.extend(request.spec.env.clone());
    Ok(Environment {
        hash: hash(&asked.image.id, &facts.executable),
        kind: EnvironmentKind::Image,
        python: facts.executable,
        mounts: Vec::new(),
        env,
        built: false,
        python_version: facts.version,
        packages: facts.packages,
        hold: Hold::default(),
    })
}

/// Over the image's content and the interpreter in it.
fn hash(image: &str, python: &Path) -> String {
    let mut hasher = Sha256::new();
    for part in [
        "infradev image environment 1",
        image,
        &python.to_string_lossy(),
    ] {
        hasher.update(part.len().to_le_bytes());
        hasher.update(part.as_bytes());
    }
    hex(&hasher.finalize())
}
