//! Environments mounted into real sandboxes: they run there, and stay what they are.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use infradev::domain::task::EnvironmentKind;
use infradev::engine::local::LocalOptions;
use infradev::engine::{
    Engine, Limits, Network, ProcessSpec, ProcessStatus, SandboxEvent, SandboxSpec, User,
};
use infradev::environment::{Environment, verify};

use super::image_support::RUNTIME;
use super::support::{FULL, Place, build};

/// Runs python in a local sandbox that sees the environment's mounts and nothing else.
pub fn run(environment: &Environment, scratch: &Path, code: &str) -> (ProcessStatus, String) {
    let engine = Engine::Local(LocalOptions {
        binary: Some(PathBuf::from(env!("CARGO_BIN_EXE_infradev"))),
        ..LocalOptions::default()
    });
    run_on((&engine, None), environment, scratch, code)
}

/// The same on either engine.
pub fn run_on(
    (engine, image): (&Engine, Option<&str>),
    environment: &Environment,
    scratch: &Path,
    code: &str,
) -> (ProcessStatus, String) {
    RUNTIME.block_on(async {
        let spec = SandboxSpec {
            label: "environment test".into(),
            mounts: environment.mounts.clone(),
            env: environment.env.clone(),
            limits: Limits {
                wall: Duration::from_secs(60),
                memory_bytes: 1 << 30,
                processes: 64,
                file_bytes: 1 << 20,
                output_bytes: 1 << 20,
                scratch_bytes: 1 << 24,
                shm_bytes: 1 << 20,
                cpus: None,
            },
            network: Network::Loopback,
            devices: Vec::new(),
            image: image.map(str::to_owned),
            gpus: Vec::new(),
            user: User::default(),
        };
        let mut sandbox = engine.start(spec, scratch).await.unwrap();
        sandbox
            .spawn(ProcessSpec {
                id: 1,
                argv: vec![
                    environment.python.display().to_string(),
                    "-c".into(),
                    code.into(),
                ],
                env: BTreeMap::new(),
                cwd: "/tmp".into(),
                stdin: Vec::new(),
                channel: false,
            })
            .unwrap();
        let mut output = Vec::new();
        let mut status = None;
        while let Some(event) = sandbox.next().await {
            match event {
                SandboxEvent::Output { bytes, .. } => output.extend(bytes),
                SandboxEvent::Exited { status: how, .. } => {
                    status = Some(how);
                    break;
                }
                SandboxEvent::Started { .. } => {}
                other => panic!("{other:?}"),
            }
        }
        sandbox.close().await;
        let output = String::from_utf8_lossy(&output).into_owned();
        (status.expect("it ended"), output)
    })
}

pub const IMPORTS: &str = "
import bz2, ctypes, hashlib, lzma, multiprocessing, sqlite3, ssl, sys, zlib
import numpy, pytest
print(numpy.arange(4.0).sum(), sys.version.split()[0], sys.prefix)
";

/// Tries everything that would change what other tasks share.
pub const CHANGES: &str = "
import numpy, os, pathlib, sys
site = pathlib.Path(numpy.__file__).parent.parent
done = []
def tried(name, change):
    try:
        change()
        done.append(name)
    except OSError:
        pass
tried('write', lambda: open(numpy.__file__, 'a').write('# changed'))
tried('mode', lambda: os.chmod(numpy.__file__, 0o777))
tried('add', lambda: (site / 'sitecustomize.py').write_text('x = 1'))
tried('remove', lambda: os.remove(site / 'numpy' / '__init__.py'))
tried('rename', lambda: os.rename(site / 'numpy', site / 'other'))
tried('interpreter', lambda: pathlib.Path(sys.base_prefix, 'changed').write_text('x'))
tried('beside', lambda: pathlib.Path(sys.prefix, '..', 'ready.json').write_text('{}'))
print('changed:', done)
";

#[test]
fn an_environment_runs_in_a_sandbox_and_cannot_be_changed_there() {
    let place = Place::new(FULL);
    let (environment, _) = build(&place.request());
    let (status, output) = run(&environment, place.folder.path(), IMPORTS);
    assert_eq!(status, ProcessStatus::Exited(0), "{output}");
    let venv = environment.python.parent().unwrap().parent().unwrap();
    let expected = format!("6.0 {} {}", environment.python_version, venv.display());
    assert_eq!(output.trim(), expected);

    let (status, output) = run(&environment, place.folder.path(), CHANGES);
    assert_eq!(status, ProcessStatus::Exited(0), "{output}");
    assert_eq!(output.trim(), "changed: []");
    assert_eq!(verify(&place.home(), &environment.hash).unwrap(), []);

    // and the same interpreter as somebody's own
    let mut request = place.request();
    request.spec.kind = EnvironmentKind::Host;
    request.spec.python = Some(environment.python.display().to_string());
    let (host, _) = build(&request);
    let (status, output) = run(&host, place.folder.path(), IMPORTS);
    assert_eq!(status, ProcessStatus::Exited(0), "{output}");
    assert_eq!(output.trim(), expected);
}
