//! Whether tests can run on the docker engine.

use std::fs::File;
use std::io::Write;
use std::path::Path;
use std::sync::OnceLock;

use infradev::engine::docker::{CPU_IMAGE, Docker, ImportOptions, Owner};

/// Whether a container daemon answers and has the base image, which is made where it is missing.
/// Else says why not, once a program; where `INFRADEV_REQUIRE_DOCKER` is set that is a failure.
/// Blocks, for a minute where the image is made, and may be called in a runtime's thread.
pub fn docker_is_here() -> bool {
    static TROUBLE: OnceLock<Option<String>> = OnceLock::new();
    let trouble = TROUBLE.get_or_init(|| {
        let trouble = std::thread::spawn(|| {
            let runtime = tokio::runtime::Builder::new_current_thread()
                .enable_all()
                .build()
                .unwrap();
            runtime.block_on(make_ready()).err()
        });
        let trouble = trouble.join().expect("looking for docker does not panic");
        if let Some(why) = &trouble {
            tell(&format!("nothing is tested on the docker engine: {why}"));
        }
        trouble
    });
    let required = std::env::var_os("INFRADEV_REQUIRE_DOCKER").is_some_and(|v| v != "0");
    match trouble {
        Some(why) if required => panic!("the docker engine is required: {why}"),
        trouble => trouble.is_none(),
    }
}

/// Past the capture of a test's output: nobody may overlook it.
fn tell(line: &str) {
    writeln!(std::io::stderr(), "{line}").ok();
}

async fn make_ready() -> Result<(), String> {
    let owner = Owner {
        home: env!("CARGO_TARGET_TMPDIR").into(),
        run: "tests".into(),
    };
    let docker = Docker::connect(owner)
        .await
        .map_err(|e| format!("{e}; {}", e.advice()))?;
    let there = async || docker.image(CPU_IMAGE).await.map_err(|e| e.to_string());
    if there().await?.is_some() {
        return Ok(());
    }
    // other test programs may be at it as well; the lock ends with whoever holds it
    let name = format!("infradev-base-image-{}.lock", nix::unistd::geteuid());
    let lock = File::create(std::env::temp_dir().join(name)).map_err(|e| e.to_string())?;
    lock.lock().map_err(|e| e.to_string())?;
    if there().await?.is_some() {
        return Ok(());
    }
    tell(&format!("making the image {CPU_IMAGE}"));
    let options = ImportOptions {
        name: CPU_IMAGE.into(),
        mirror: None,
        scratch: Path::new(env!("CARGO_TARGET_TMPDIR")).to_owned(),
    };
    match docker.import_base(&options, &tell).await {
        Ok(_) => Ok(()),
        Err(error) => Err(error.to_string()),
    }
}
