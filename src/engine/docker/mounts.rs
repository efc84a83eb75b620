//! What is mounted into a container: what was asked for, our own program, and the few files of
//! `/etc` that name it and its user.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use bollard::models::{Mount, MountBindOptions, MountBindOptionsPropagationEnum, MountType};

use crate::engine::local::INIT_PATH;
use crate::engine::plan::{Bind, Entry, Plan};
use crate::engine::{EngineError, Network, Refusal, SandboxSpec};

const HOSTS: &str = "127.0.0.1 localhost sandbox\n::1 localhost ip6-localhost ip6-loopback\n";

/// All mounts of a sandbox. `etc` is the folder of [`etc`].
pub(super) fn all(
    spec: &SandboxSpec,
    binary: &Path,
    etc: &Path,
) -> Result<Vec<Mount>, EngineError> {
    let mut plan = Plan::default();
    let read_only = |source: &Path| Bind {
        source: source.to_owned(),
        writable: false,
        device: false,
    };
    let mut planned = || -> Result<(), Refusal> {
        plan.mount(Path::new(INIT_PATH), read_only(binary))?;
        // with the machine's network come the machine's own names
        let hosts = (spec.network == Network::Loopback).then_some("hosts");
        for file in ["passwd", "group"].into_iter().chain(hosts) {
            plan.mount(&Path::new("/etc").join(file), read_only(&etc.join(file)))?;
        }
        plan.mounts(&spec.mounts)
    };
    planned().map_err(|refusal| EngineError::from_refusal(refusal, String::new))?;
    plan.entries
        .iter()
        .map(|(target, entry)| match entry {
            Entry::Bind(bind) => bound(target, bind),
            Entry::Link(text) => Err(EngineError::Mount {
                what: target.display().to_string(),
                message: format!(
                    "a container cannot have this link to {} beside a mount: let the mount's \
                     target exist in its source",
                    text.display()
                ),
            }),
        })
        .collect()
}

fn bound(target: &Path, bind: &Bind) -> Result<Mount, EngineError> {
    let text = |path: &Path| {
        path.to_str()
            .map(str::to_owned)
            .ok_or_else(|| EngineError::Mount {
                what: path.display().to_string(),
                message: "a container engine mounts paths in UTF-8 only".into(),
            })
    };
    // the daemon works in its own folder, and follows no link that only we see
    let source = bind
        .source
        .canonicalize()
        .map_err(|source| EngineError::Io {
            doing: "opening",
            path: bind.source.clone(),
            source,
        })?;
    Ok(Mount {
        target: Some(text(target)?),
        source: Some(text(&source)?),
        typ: Some(MountType::BIND),
        read_only: Some(!bind.writable),
        bind_options: Some(MountBindOptions {
            propagation: Some(MountBindOptionsPropagationEnum::RPRIVATE),
            ..MountBindOptions::default()
        }),
        ..Mount::default()
    })
}

/// Makes the files of `/etc` for sandboxes of one user below `scratch`, once for all of them.
pub(super) fn etc(scratch: &Path, (uid, gid): (u32, u32)) -> Result<PathBuf, EngineError> {
    let failed = |path: &Path| {
        let path = path.to_owned();
        move |source: io::Error| EngineError::Io {
            doing: "making",
            path,
            source,
        }
    };
    let folder = scratch.join(format!("etc-{uid}-{gid}"));
    fs::create_dir_all(&folder).map_err(failed(&folder))?;
    let folder = folder.canonicalize().map_err(failed(&folder))?;
    // the first entry with a number is its name
    let (root, nobody) = (
        "/nonexistent:/usr/sbin/nologin",
        "/nonexistent:/usr/sbin/nologin",
    );
    let passwd = format!(
        "sandbox:x:{uid}:{gid}:sandbox:/tmp:/bin/sh\n\
         root:x:0:0:root:{root}\n\
         nobody:x:65534:65534:nobody:{nobody}\n"
    );
    let group = format!("sandbox:x:{gid}:\nroot:x:0:\nnogroup:x:65534:\n");
    for (name, text) in [("hosts", HOSTS), ("passwd", &passwd), ("group", &group)] {
        let path = folder.join(name);
        if fs::read_to_string(&path).is_ok_and(|there| there == text) {
            continue;
        }
        put(&path, text).map_err(failed(&path))?;
    }
    Ok(folder)
}

/// Whole or not at all, for sandboxes that start side by side.
fn put(path: &Path, text: &str) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt;
    let fresh = path.with_extension(super::held::random_name());
    fs::write(&fresh, text)?;
    // for a user that is not ours, whatever our own mask is
    fs::set_permissions(&fresh, fs::Permissions::from_mode(0o644))?;
    fs::rename(&fresh, path).inspect_err(|_| drop(fs::remove_file(&fresh)))
}
