//! Getting an agent's program: once for each content of its `[install]`, with network and nothing
//! of any task in reach.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use sha2::{Digest, Sha256};

use super::certificates::certificates;
use crate::agent::adapter::install_script;
use crate::domain::AgentSpec;
use crate::domain::agent::InstallSpec;
use crate::domain::task::{EnvironmentKind, EnvironmentSpec};
use crate::domain::{Level, hex};
use crate::engine::{Access, Limits, Mount, Network, ProcessSpec, SandboxSpec, User};
use crate::environment::{Hold, Package, packages_below};
use crate::pipeline::error::Stop;
use crate::pipeline::ground::Ground;
use crate::pipeline::one_process::to_its_end;
use crate::pipeline::recorder::Recorder;
use crate::store::{Home, Lock};

/// Packages of some hundred megabytes on a slow line.
const LIMIT: Duration = Duration::from_secs(1800);
/// Written last: an installation without it was never finished.
const READY: &str = "infradev-ready";

/// An agent's program, ready to be mounted.
#[derive(Debug, Default)]
pub(super) struct Installed {
    /// `{install}`, inside as outside.
    pub folder: Option<PathBuf>,
    pub mounts: Vec<Mount>,
    pub packages: Vec<Package>,
    /// Keeps a shared environment from being collected meanwhile.
    pub hold: Option<Hold>,
}

/// Installs what `agent` asks for, or finds it.
pub(super) async fn install(
    home: &Home,
    ground: &Ground,
    agent: &AgentSpec,
    recorder: &Recorder,
) -> Result<Installed, Stop> {
    let Some(spec) = &agent.install else {
        return Ok(Installed::default());
    };
    if spec.requirements.is_some() {
        return locked(home, ground, spec, recorder).await;
    }
    match &spec.script {
        Some(script) => scripted(home, ground, agent, script, recorder).await,
        None => Ok(Installed::default()),
    }
}

/// Python packages: a shared environment like a task's.
async fn locked(
    home: &Home,
    ground: &Ground,
    spec: &InstallSpec,
    recorder: &Recorder,
) -> Result<Installed, Stop> {
    let lock = ground.run.agent_lock_path();
    let name = lock.file_name().map(|n| n.to_string_lossy().into_owned());
    let wanted = EnvironmentSpec {
        kind: EnvironmentKind::Uv,
        requirements: name,
        // an image has one interpreter
        python: spec.python.clone().filter(|_| ground.image_id().is_none()),
        ..EnvironmentSpec::default()
    };
    let folder = ground.run.path();
    let environment = ground.environment(home, wanted, folder, recorder).await?;
    let venv = environment.python.parent().and_then(Path::parent);
    Ok(Installed {
        folder: venv.map(Path::to_path_buf),
        mounts: environment.mounts.clone(),
        packages: environment.packages.clone(),
        hold: Some(environment.hold),
    })
}

/// A script, in a sandbox that sees its own folder and the network.
async fn scripted(
    home: &Home,
    ground: &Ground,
    agent: &AgentSpec,
    script: &str,
    recorder: &Recorder,
) -> Result<Installed, Stop> {
    let folder = installation(home, ground, agent, script, recorder).await?;
    let held = folder.clone();
    Ok(Installed {
        // it may have got anything: what an agent could read there is looked for
        packages: tokio::task::spawn_blocking(move || packages_below(&held))
            .await
            .map_err(|e| Stop::Fault(format!("the agent's installation: {e}")))?,
        mounts: vec![Mount {
            source: folder.clone(),
            target: folder.clone(),
            access: Access::ReadOnly,
        }],
        folder: Some(folder),
        hold: None,
    })
}

/// The folder that the script filled, now or earlier.
async fn installation(
    home: &Home,
    ground: &Ground,
    agent: &AgentSpec,
    script: &str,
    recorder: &Recorder,
) -> Result<PathBuf, Stop> {
    let key = (
        "infradev agent 1",
        &agent.name,
        &agent.version,
        script,
        ground.engine_kind().name(),
        ground.image_id(),
    );
    let key = serde_json::to_vec(&key).map_err(|e| Stop::Fault(e.to_string()))?;
    let agents = home.agents().join("installed");
    let folder = agents.join(hex(&Sha256::digest(&key)));
    let io = |e: std::io::Error| Stop::Fault(format!("{}: {e}", folder.display()));
    std::fs::create_dir_all(&agents).map_err(io)?;
    if folder.join(READY).is_file() {
        return Ok(folder);
    }
    let lock = folder.with_extension("lock");
    let _held = tokio::task::spawn_blocking(move || Lock::take(&lock))
        .await
        .map_err(|e| Stop::Fault(format!("installing: {e}")))??;
    if folder.join(READY).is_file() {
        return Ok(folder);
    }
    let name = &agent.name;
    recorder.say(Level::Info, format!("agent {name}: installing"));
    if folder.exists() {
        std::fs::remove_dir_all(&folder).map_err(io)?;
    }
    std::fs::create_dir_all(&folder).map_err(io)?;
    let script = install_script(agent, &folder).map_err(|e| Stop::Input(e.to_string()))?;
    let ran = run(ground, &folder, &script.unwrap_or_default()).await?;
    if let Err(told) = ran {
        // half of it is of no use
        std::fs::remove_dir_all(&folder).map_err(io)?;
        return Err(Stop::Fault(format!(
            "agent {name} was not installed: {told}"
        )));
    }
    std::fs::write(folder.join(READY), b"").map_err(io)?;
    Ok(folder)
}

/// Runs the script to its end; `Err` inside: it failed, with the end of what it said.
async fn run(ground: &Ground, folder: &Path, script: &str) -> Result<Result<(), String>, Stop> {
    let fault = |e: crate::engine::EngineError| Stop::Fault(e.to_string());
    let mut mounts = ground.environment.mounts.clone();
    mounts.push(Mount {
        source: folder.to_path_buf(),
        target: folder.to_path_buf(),
        access: Access::ReadWrite,
    });
    let mut env = ground.environment.env.clone();
    for (name, value) in [("HOME", "/tmp"), ("TMPDIR", "/tmp"), ("CI", "1")] {
        env.insert(name.into(), value.into());
    }
    if let Some((mount, variables)) = certificates() {
        mounts.push(mount);
        env.extend(variables);
    }
    let spec = SandboxSpec {
        label: format!("{} install", ground.run.id()),
        image: ground.image_id().map(str::to_owned),
        mounts,
        env,
        limits: Limits {
            wall: LIMIT + Duration::from_secs(60),
            memory_bytes: 4 << 30,
            processes: 1024,
            file_bytes: 8 << 30,
            output_bytes: 64 << 20,
            scratch_bytes: 2 << 30,
            shm_bytes: 64 << 20,
            cpus: None,
        },
        network: Network::Host,
        devices: Vec::new(),
        gpus: Vec::new(),
        user: User::default(),
    };
    let mut sandbox = ground
        .engine()
        .start(spec, &ground.scratch)
        .await
        .map_err(fault)?;
    sandbox
        .spawn(ProcessSpec {
            id: 0,
            argv: vec!["/bin/sh".into(), "-ec".into(), script.into()],
            env: BTreeMap::new(),
            cwd: folder.to_path_buf(),
            stdin: Vec::new(),
            channel: false,
        })
        .map_err(fault)?;
    let log = ground.run.output_dir().join("agent-install.log");
    let ended = tokio::time::timeout(LIMIT, to_its_end(&mut sandbox, "the script", &log)).await;
    sandbox.close().await;
    ended.unwrap_or_else(|_| Ok(Err(format!("no end within {} s", LIMIT.as_secs()))))
}
