//! Images: the interpreter in one, and kind `image`, which is an image as it stands, recorded by its
//! package list.

use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use sha2::{Digest, Sha256};

use super::interpreter::{Facts, MINORS, answer, described, fits, question};
use super::interpreter_cache::InterpreterCache;
use super::lines::plain;
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
const BESIDE: &str = include_str!("beside.py");

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
    let mut tried = Vec::new();
    let arguments: Vec<String> = (question(packages).iter())
        .map(|a| a.to_string_lossy().into_owned())
        .collect();
    let found = each_python(asked, wanted, packages, &arguments, |name, said| {
        match answer(Path::new(name), said.status, &said.out, &said.err) {
            Ok(facts) if packages || fits(&facts, wanted) => return Some(facts),
            Ok(facts) => tried.push(format!("{name} is {}", facts.version)),
            Err(error) => tried.push(error.to_string()),
        }
        None
    })?;
    found.map_err(|path| {
        if tried.is_empty() {
            tried.push(format!("nothing of that name is on its PATH ({path})"));
        }
        EnvironmentError::NoInterpreterInImage {
            image: asked.image.name.clone(),
            wanted: if packages {
                "its own packages".into()
            } else {
                described(wanted)
            },
            tried,
        }
    })
}

/// What an image shows, by its own interpreter; nothing where it has none: what has no interpreter
/// holds no packages.
#[derive(Debug, Default, serde::Deserialize)]
pub(super) struct Shown {
    /// Names of entries, each once.
    pub entries: Vec<String>,
    pub modules: Vec<PathBuf>,
}

/// Looks through the whole file system of an image for entries with these ends, and for folders that
/// are packages of these names.
pub(super) fn beside(
    asked: &Asked,
    ends: &[&str],
    modules: &[&str],
) -> Result<Shown, EnvironmentError> {
    (asked.progress)(Progress::new(
        Step::Interpreter,
        format!("looking through image {}", asked.image.name),
    ));
    let mut arguments = vec!["-Es".to_owned(), "-c".into(), BESIDE.into()];
    arguments.push(ends.join(" "));
    arguments.extend(modules.iter().map(|&module| module.to_owned()));
    let mut said = None;
    let found = each_python(asked, None, false, &arguments, |name, answered| {
        let text = String::from_utf8_lossy(&answered.out);
        let document = text.lines().rev().find(|line| line.starts_with('{'));
        match serde_json::from_str::<Shown>(document.unwrap_or_default()) {
            Ok(shown) if answered.status.success() => Some(shown),
            _ => {
                let words = String::from_utf8_lossy(&answered.err);
                said = Some((
                    name.to_owned(),
                    plain(words.lines().last().unwrap_or_default()),
                ));
                None
            }
        }
    })?;
    match (found, said) {
        (Ok(shown), _) => Ok(shown),
        (Err(_), None) => Ok(Shown::default()),
        (Err(_), Some((name, reason))) => Err(EnvironmentError::Interpreter {
            python: name.into(),
            reason: format!("looking through the image: {reason}"),
        }),
    }
}

/// What an interpreter said to its arguments.
struct Said {
    status: std::process::ExitStatus,
    out: Vec<u8>,
    err: Vec<u8>,
}

/// Starts one interpreter of the image after the other until one says what is wanted; the `PATH`
/// that they were looked for on where none does.
fn each_python<T>(
    asked: &Asked,
    wanted: Option<&str>,
    theirs: bool,
    arguments: &[String],
    mut take: impl FnMut(&str, Said) -> Option<T>,
) -> Result<Result<T, String>, EnvironmentError> {
    let mut env = inside::of_image(&asked.image.env);
    if !theirs {
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
    for name in names(wanted) {
        let process = Process {
            argv: std::iter::once(&name).chain(arguments).cloned().collect(),
            env: env.clone(),
            limit: ANSWER_LIMIT,
        };
        let (mut out, mut err) = (Vec::new(), Vec::new());
        let ended = workshop.run(process, asked.stop, &mut |stream, bytes| match stream {
            Stream::Stdout => out.extend_from_slice(bytes),
            _ => err.extend_from_slice(bytes),
        })?;
        let Ok(status) = ended.status else { continue };
        if let Some(found) = take(&name, Said { status, out, err }) {
            return Ok(Ok(found));
        }
    }
    Ok(Err(env["PATH"].clone()))
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
