//! Environments made in containers of an image, for sandboxes of that image.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use infradev::catalog::load_task;
use infradev::domain::task::EnvironmentKind;
use infradev::engine::docker::CPU_IMAGE;
use infradev::engine::{Access, Engine, Mount, ProcessStatus};
use infradev::environment::keep::Wanted;
use infradev::environment::{
    Builder, Environment, EnvironmentError, LinkMode, Request, Step, prepare, verify,
};
use nix::unistd::{getegid, geteuid};

use super::image_support::*;
use super::keep::TASK;
use super::keep_support::checked;
use super::sandbox::{CHANGES, IMPORTS, run_on};
use super::support::*;

fn run_inside(
    request: &Request,
    environment: &Environment,
    place: &Place,
    code: &str,
) -> (ProcessStatus, String) {
    let (docker, image) = docker_of(request);
    let engine = Engine::Docker(docker.clone());
    let image = Some(image.id.as_str());
    run_on((&engine, image), environment, place.folder.path(), code)
}

#[test]
fn an_environment_is_built_in_its_image_and_runs_there() {
    let Some((place, request)) = place(FULL) else {
        return;
    };
    let (environment, said) = build(&request);
    assert!(environment.built);
    assert!(said.iter().any(|p| p.step == Step::Interpreter), "{said:?}");
    let folder = place.home().join("env").join(&environment.hash);
    // nothing but itself: the interpreter is the image's
    assert_eq!(
        environment.mounts,
        [Mount {
            source: folder.clone(),
            target: folder.clone(),
            access: Access::ReadOnly,
        }]
    );
    let (status, output) = run_inside(&request, &environment, &place, IMPORTS);
    assert_eq!(status, ProcessStatus::Exited(0), "{output}");
    let venv = folder.join("venv");
    let expected = format!("6.0 {} {}", environment.python_version, venv.display());
    assert_eq!(output.trim(), expected);
    let (status, output) = run_inside(&request, &environment, &place, CHANGES);
    assert_eq!(status, ProcessStatus::Exited(0), "{output}");
    assert_eq!(output.trim(), "changed: []");
    assert_eq!(verify(&place.home(), &environment.hash).unwrap(), []);

    // everything is the worker's, and the packages are the cache's own files
    let cached: BTreeSet<u64> = files(&place.home().join("cache/uv"))
        .iter()
        .map(|file| fs::metadata(file).unwrap().ino())
        .collect();
    let (mut shared, mut compiled) = (0, 0);
    for file in files(&venv.join("lib")) {
        let metadata = fs::metadata(&file).unwrap();
        let owner = (metadata.uid(), metadata.gid());
        assert_eq!(owner, (geteuid().as_raw(), getegid().as_raw()));
        assert_eq!(metadata.mode() & 0o222, 0, "{}", file.display());
        shared += u32::from(cached.contains(&metadata.ino()));
        compiled += u32::from(file.extension().is_some_and(|end| end == "pyc"));
    }
    assert!(
        shared > 500 && compiled > 500,
        "{shared} shared, {compiled} compiled"
    );
    assert_eq!(containers(&place.home()), Vec::<String>::new());

    // those who look after the home know it
    assert!(checked(&place.home()).ok);
    fs::write(request.task_dir.join("task.toml"), TASK).unwrap();
    let task = load_task(&request.task_dir).task.unwrap();
    let wanted = Wanted::by([&task], &place.home());
    assert_eq!(wanted.of(&environment.hash), ["task"]);

    // found again without a word, whatever the run
    for _ in 0..3 {
        let (again, said) = build(&request);
        assert_eq!(said, []);
        let found = Environment {
            built: false,
            ..environment.clone()
        };
        assert_eq!(again, found);
    }

    // one for this machine is another one, out of the same cache
    let mut here = request.clone();
    here.builder = Builder::Here;
    here.host_env.insert("UV_OFFLINE".into(), "1".into());
    let (own, _) = build(&here);
    assert!(own.built && own.hash != environment.hash);
    python(&own, "import numpy, pytest");
    assert!(!build(&request).0.built);
}

#[test]
fn two_workers_build_once_in_an_image() {
    let Some((place, request)) = place(SMALL) else {
        return;
    };
    let (a, b) = std::thread::scope(|scope| {
        let a = scope.spawn(|| build(&request));
        let b = scope.spawn(|| build(&request));
        (a.join().unwrap(), b.join().unwrap())
    });
    assert_eq!(u8::from(a.0.built) + u8::from(b.0.built), 1);
    assert_eq!(a.0.hash, b.0.hash);
    let waited = if a.0.built { &b.1 } else { &a.1 };
    let only =
        |p: &infradev::environment::Progress| matches!(p.step, Step::Wait | Step::Interpreter);
    assert!(waited.iter().all(only), "{waited:?}");
    assert_eq!(place.environments().len(), 1);
    assert_eq!(containers(&place.home()), Vec::<String>::new());
}

/// Looks at what is there while a package is built.
const LOOK: &str = r#"
import os, pathlib
home = pathlib.Path(os.environ["UV_CACHE_DIR"]).parent.parent
files = sorted(
    str(f.relative_to(home))
    for f in home.rglob("*")
    if not f.is_dir() and f.stat().st_size and not f.is_relative_to(home / "cache" / "uv")
)
status = dict(l.split(":", 1) for l in open("/proc/self/status") if ":" in l)
seen = {
    "files": [f for f in files if "/venv/" not in f and "/builds" not in f],
    "project": sorted(p.name for p in home.parent.iterdir()),
    "user": [os.getuid(), os.getgid()],
    "capabilities": status["CapEff"].strip(),
    "secret": os.environ.get("SECRET"),
    "machine": [p for p in ("REPOSITORY", "/var/run/docker.sock") if os.path.exists(p)],
}
"#;

#[test]
fn a_package_that_is_built_sees_its_own_folder_and_the_cache() {
    let Some((place, mut request)) = place(SMALL) else {
        return;
    };
    // a home where it is by default: in a project
    let project = place.folder.path().canonicalize().unwrap().join("project");
    request.home = project.join(".infradev");
    build(&request);
    for file in [
        "runs/1/grade.json",
        "mirrors/m",
        "config.toml",
        "cache/data/w",
    ] {
        let file = request.home.join(file);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(file, "secret").unwrap();
    }
    fs::write(project.join("gold.patch"), "secret").unwrap();
    let (links, lock) = source_package(
        place.folder.path(),
        "spy",
        &LOOK.replace("REPOSITORY", env!("CARGO_MANIFEST_DIR")),
    );
    fs::write(request.task_dir.join("requirements.lock"), lock).unwrap();
    request
        .host_env
        .insert("UV_FIND_LINKS".into(), links.into());
    request.host_env.insert("SECRET".into(), "secret".into());
    let (environment, _) = build(&request);
    assert_eq!(environment.packages.len(), 1);
    let code = "import json, spy; print(json.dumps(spy.SEEN, sort_keys=True))";
    let (status, output) = run_inside(&request, &environment, &place, code);
    assert_eq!(status, ProcessStatus::Exited(0), "{output}");
    let seen: serde_json::Value = serde_json::from_str(&output).unwrap();
    let own = format!("env/{}/requirements.lock", environment.hash);
    assert_eq!(
        seen,
        serde_json::json!({
            "files": [own],
            "project": [".infradev"],
            "user": [geteuid().as_raw(), getegid().as_raw()],
            "capabilities": "0000000000000000",
            "secret": null,
            "machine": [],
        })
    );
}

#[test]
fn uv_is_installed_with_the_images_python_where_there_is_none() {
    let Some((place, mut request)) = place_without_uv(SMALL) else {
        return;
    };
    // a script that is called uv is of no use in a container
    let real = shared_uv().join("uv");
    let (bin, _) = noting(place.folder.path(), &[("uv", &real)]);
    request.host_env.insert("PATH".into(), bin.into());
    let (environment, said) = build(&request);
    assert!(environment.built);
    assert!(said.iter().any(|p| p.step == Step::Tool), "{said:?}");
    let uv = place.home().join("tools/uv/bin/uv");
    assert_eq!(fs::metadata(&uv).unwrap().uid(), geteuid().as_raw());
    let (status, output) = run_inside(&request, &environment, &place, "import pluggy");
    assert_eq!(status, ProcessStatus::Exited(0), "{output}");
    assert_eq!(containers(&place.home()), Vec::<String>::new());
}

#[test]
fn a_version_that_the_image_does_not_have_tells_what_was_tried() {
    let Some((_place, mut request)) = place(SMALL) else {
        return;
    };
    request.spec.python = Some("3.99".into());
    let error = prepare(&request, &|_| {}).unwrap_err();
    assert!(error.is_input());
    let text = error.to_string();
    let words =
        format!("no python interpreter for `3.99` in image {CPU_IMAGE}; tried: python3 is 3.");
    assert!(text.starts_with(&words), "{text}");
    request.spec.python = Some("/opt/none".into());
    let text = prepare(&request, &|_| {}).unwrap_err().to_string();
    assert!(text.contains("nothing of that name"), "{text}");
}

#[test]
fn each_kind_needs_its_own_engine() {
    let here = Place::new(SMALL);
    let mut request = here.request();
    request.spec.kind = EnvironmentKind::Image;
    let error = prepare(&request, &|_| {}).unwrap_err();
    assert!(matches!(error, EnvironmentError::Image) && error.is_input());
    assert!(
        error.to_string().contains("needs the docker engine"),
        "{error}"
    );

    let Some((_place, mut request)) = place(SMALL) else {
        return;
    };
    request.spec.kind = EnvironmentKind::Host;
    let error = prepare(&request, &|_| {}).unwrap_err();
    assert!(matches!(error, EnvironmentError::Host { .. }) && error.is_input());
    // the base image has no packages
    request.spec.kind = EnvironmentKind::Image;
    let error = prepare(&request, &|_| {}).unwrap_err();
    assert!(matches!(error, EnvironmentError::NoPytestInImage { .. }) && error.is_input());
    assert!(error.to_string().contains(CPU_IMAGE), "{error}");
}

#[test]
fn an_image_with_pytest_is_an_environment_as_it_stands() {
    // its packages are those of an environment
    let Some((place, mut request)) = place(&without_numpy()) else {
        return;
    };
    let (packages, _) = build(&request);
    let context = place.folder.path().join("context");
    let venv = packages.python.parent().unwrap().parent().unwrap();
    fs::create_dir(&context).unwrap();
    let name = format!("infradev-test/pytest:{}", std::process::id());
    let minor = packages.python_version.rsplit_once('.').unwrap().0;
    let copied = std::process::Command::new("cp")
        .args([
            "-r",
            &format!("{}/lib/python{minor}/site-packages", venv.display()),
        ])
        .arg(context.join("packages"))
        .status()
        .unwrap();
    assert!(copied.success());
    let recipe = format!(
        "FROM {CPU_IMAGE}\nENV IN_IMAGE=1 PATH=/opt/first:/usr/bin:/bin\n\
         COPY packages /usr/local/lib/python{minor}/dist-packages\n"
    );
    fs::write(context.join("Dockerfile"), recipe).unwrap();
    docker_says(&[
        "build",
        "--quiet",
        "--tag",
        &name,
        context.to_str().unwrap(),
    ]);

    let docker = docker_of(&request).0.clone();
    let image = image(&docker, &name);
    request.builder = Builder::Image { docker, image };
    request.spec.kind = EnvironmentKind::Image;
    let (environment, _) = build(&request);
    assert_eq!(environment.kind, EnvironmentKind::Image);
    assert_eq!(environment.mounts, []);
    assert_eq!(environment.python_version, packages.python_version);
    let names = |e: &Environment| -> Vec<String> {
        e.packages
            .iter()
            .map(|p| format!("{}=={}", p.name, p.version))
            .collect()
    };
    assert!(
        names(&packages)
            .iter()
            .all(|p| names(&environment).contains(p))
    );
    let code =
        "import os, pytest; print(*[os.environ[n] for n in ('IN_IMAGE', 'PATH', 'TASK_SETS')])";
    let (status, output) = run_inside(&request, &environment, &place, code);
    assert_eq!(status, ProcessStatus::Exited(0), "{output}");
    assert_eq!(output.trim(), "1 /opt/first:/usr/bin:/bin this");
    let (again, said) = build(&request);
    assert_eq!((again, said), (environment.clone(), Vec::new()));

    // an environment in it has another image's variables, and is the same one
    request.spec.kind = EnvironmentKind::Uv;
    let (same, _) = build(&request);
    assert!(!same.built && same.hash == packages.hash);
    assert_eq!(same.env["IN_IMAGE"], "1");
    docker_says(&["rmi", "--force", &name]);
}

#[test]
fn links_that_no_mount_holds_are_copies() {
    let Some((place, request)) = place(SMALL) else {
        return;
    };
    // the cache on another disk, as far as mounts can tell
    let disk = place.folder.path().join("disk");
    fs::create_dir_all(&disk).unwrap();
    fs::create_dir_all(place.home()).unwrap();
    std::os::unix::fs::symlink(&disk, place.home().join("cache")).unwrap();
    let (environment, said) = build(&request);
    assert!(environment.built);
    assert!(
        said.iter().any(|p| p.text.contains("packages are copied")),
        "{said:?}"
    );
    let folder = place.home().join("env").join(&environment.hash);
    let ready = fs::read_to_string(folder.join("ready.json")).unwrap();
    let ready: serde_json::Value = serde_json::from_str(&ready).unwrap();
    assert_eq!(ready["link"], LinkMode::Copy.name());
    assert!(files(&disk.join("uv")).len() > 10);
    // nothing is the cache's; what this machine can link, it does when it seals
    let inode = |file: &Path| fs::metadata(file).unwrap().ino();
    let cached: BTreeSet<u64> = files(&disk.join("uv")).iter().map(|f| inode(f)).collect();
    let own = files(&folder.join("venv/lib"));
    assert!(own.iter().all(|f| !cached.contains(&inode(f))));
}
