//! The engine that builds in images, and packages that look around while they are built.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{LazyLock, OnceLock};

use infradev::domain::hex;
use infradev::engine::docker::{CPU_IMAGE, Docker, Image, Owner};
use infradev::environment::{Builder, Request};
use sha2::{Digest, Sha256};
use tokio::runtime::Runtime;

use super::support::{Place, request, request_without_uv};

static SAID: OnceLock<()> = OnceLock::new();

/// Runs while builds on other threads use the engine.
pub static RUNTIME: LazyLock<Runtime> = LazyLock::new(|| Runtime::new().unwrap());

/// The engine for a home; `None` where there is none, which is said, and an error where one is
/// required.
pub fn docker(home: &Path) -> Option<Docker> {
    let owner = Owner {
        home: home.to_path_buf(),
        run: "tests".into(),
    };
    match RUNTIME.block_on(Docker::connect(owner)) {
        Ok(docker) => Some(docker.with_binary(env!("CARGO_BIN_EXE_infradev"))),
        Err(unavailable) => {
            let why = format!("{unavailable}; {}", unavailable.advice());
            let required = std::env::var_os("INFRADEV_REQUIRE_DOCKER").is_some();
            assert!(!required, "{why}");
            SAID.get_or_init(|| {
                // past the capture of the test's output: nobody may overlook it
                let text = format!("not run on the docker engine: {why}\n");
                std::io::Write::write_all(&mut std::io::stderr(), text.as_bytes()).unwrap();
            });
            None
        }
    }
}

pub fn image(docker: &Docker, name: &str) -> Image {
    RUNTIME
        .block_on(docker.image(name))
        .unwrap()
        .unwrap_or_else(|| panic!("{name} is not here: `infradev image import` makes it"))
}

/// A place for the base image.
pub fn place(lock: &str) -> Option<(Place, Request)> {
    let place = Place::new(lock);
    let request = in_base_image(request(place.folder.path()))?;
    Some((place, request))
}

pub fn place_without_uv(lock: &str) -> Option<(Place, Request)> {
    let place = Place::new(lock);
    let request = in_base_image(request_without_uv(place.folder.path()))?;
    Some((place, request))
}

/// The same request, to be carried out in the base image.
pub fn in_base_image(mut request: Request) -> Option<Request> {
    let docker = docker(&request.home)?;
    let image = image(&docker, CPU_IMAGE);
    request.builder = Builder::Image { docker, image };
    Some(request)
}

pub fn docker_of(request: &Request) -> (&Docker, &Image) {
    match &request.builder {
        Builder::Image { docker, image } => (docker, image),
        Builder::Here => panic!("it is built here"),
    }
}

/// Containers of a home, whatever their state: its own engine's and other workers'.
pub fn containers(home: &Path) -> Vec<String> {
    let home = hex(&Sha256::digest(home.as_os_str().as_encoded_bytes()));
    let label = format!("label=infradev.home={}", &home[..16]);
    let text = docker_says(&["ps", "--all", "--quiet", "--no-trunc", "--filter", &label]);
    text.lines().map(str::to_owned).collect()
}

pub fn docker_says(arguments: &[&str]) -> String {
    let output = Command::new("docker").args(arguments).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "docker {arguments:?}: {said}");
    String::from_utf8(output.stdout).unwrap()
}

/// A source distribution `name` 1 in a folder of its own, built by running `code` (Python; what it
/// leaves in `seen` becomes the package's `SEEN`), and its lock.
pub fn source_package(folder: &Path, name: &str, code: &str) -> (PathBuf, String) {
    let links = folder.join(format!("{name}-links"));
    let tree = folder.join(format!("{name}-1"));
    std::fs::create_dir_all(&links).unwrap();
    std::fs::create_dir_all(&tree).unwrap();
    let project = "[build-system]\nrequires = []\nbuild-backend = \"backend\"\nbackend-path = [\".\"]\n\
                   [project]\nname = \"NAME\"\nversion = \"1\"\n";
    let backend = r#"
import os, sys, zipfile

def build_wheel(folder, config_settings=None, metadata_directory=None):
    seen = None
    exec(open("code.py").read(), scope := {})
    seen = scope["seen"]
    wheel = "NAME-1-py3-none-any.whl"
    with zipfile.ZipFile(os.path.join(folder, wheel), "w") as file:
        info = "NAME-1.dist-info/"
        file.writestr("NAME.py", f"SEEN = {seen!r}\n")
        file.writestr(info + "METADATA", "Metadata-Version: 2.1\nName: NAME\nVersion: 1\n")
        file.writestr(info + "WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        file.writestr(info + "RECORD", "")
    return wheel
"#;
    let metadata = "Metadata-Version: 2.1\nName: NAME\nVersion: 1\n";
    for (file, text) in [
        ("pyproject.toml", project),
        ("backend.py", backend),
        ("PKG-INFO", metadata),
        ("code.py", code),
    ] {
        std::fs::write(tree.join(file), text.replace("NAME", name)).unwrap();
    }
    let archive = links.join(format!("{name}-1.tar.gz"));
    let done = Command::new("tar")
        .args(["-czf", archive.to_str().unwrap(), "-C"])
        .args([folder.to_str().unwrap(), &format!("{name}-1")])
        .status()
        .unwrap();
    assert!(done.success());
    let hash = hex(&Sha256::digest(std::fs::read(&archive).unwrap()));
    (links, format!("{name}==1 --hash=sha256:{hash}\n"))
}
