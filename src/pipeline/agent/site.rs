//! What an agent's sandbox is made of: a copy of base as a repository of one commit, its prompt,
//! its own folders, its program, and the way to the hosts that it may reach. No tests, no probes,
//! no gold, nothing of the home.

use std::collections::BTreeMap;
use std::num::NonZeroU32;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use super::super::disk::Disk;
use super::certificates::certificates;
use super::install::Installed;
use super::stage::AGENT;
use crate::agent::Hosts;
use crate::agent::adapter::{Passed, WordError, Words};
use crate::agent::proxy::SOCKET;
use crate::agent::relay::RELAY_READY;
use crate::domain::{AgentOrder, AgentSpec, NetworkMode};
use crate::engine::local::INIT_PATH;
use crate::engine::{
    Access, Isolation, Limits, Mount, Network, ProcessSpec, Sandbox, SandboxEvent, SandboxSpec,
    User,
};
use crate::environment::Hold;
use crate::pipeline::error::Stop;
use crate::pipeline::ground::Ground;
use crate::pipeline::place::WORKTREE;
use crate::workspace::GIT_ENVIRONMENT;

/// Inside the sandbox.
const HOME: &str = "/infradev/home";
const OUT: &str = "/infradev/out";
const PROMPT: &str = "/infradev/prompt.md";
const PROXY: &str = "/infradev/proxy";
const RECORDING: &str = "/infradev/recording";
pub(super) const RELAY: u32 = 1;
/// The proxy's port on the sandbox's loopback.
const PROXY_PORT: u16 = 3128;

/// An agent's place to work.
pub(super) struct Site {
    pub agent: String,
    pub out: PathBuf,
    /// Its home folder, outside.
    pub home: PathBuf,
    /// What it takes of the disk.
    pub disk: Arc<Disk>,
    /// Processes of ours beside the agent's own.
    pub helpers: u32,
    spec: SandboxSpec,
    command: ProcessSpec,
    /// What it is installed from stays while this does.
    _hold: Option<Hold>,
}

/// What a site is made from.
pub(super) struct Plan<'a> {
    pub ground: &'a Ground,
    pub agent: &'a AgentSpec,
    pub order: &'a AgentOrder,
    pub installed: Installed,
    pub prompt: &'a Path,
    /// What it may reach by the proxy.
    pub hosts: &'a Hosts,
    /// The proxy's folder, with its socket.
    pub proxy: Option<&'a Path>,
    /// What `replay` replays.
    pub recording: Option<&'a Path>,
    pub passed: &'a Passed,
}

/// An agent's home and where it keeps a trajectory, in a run's scratch.
pub(super) fn agent_folders(scratch: &Path) -> [PathBuf; 2] {
    ["agent-home", "agent-out"].map(|name| scratch.join(name))
}

impl Site {
    /// Lays folders out; the tree is there already.
    pub(super) fn new(plan: Plan<'_>, tree: &Path, network: NetworkMode) -> Result<Self, Stop> {
        let scratch = &plan.ground.scratch;
        let [home, out] = agent_folders(scratch);
        for folder in [&home, &out] {
            std::fs::create_dir_all(folder)
                .map_err(|e| Stop::Fault(format!("{}: {e}", folder.display())))?;
        }
        let mount = |source: &Path, target: &str, access| Mount {
            source: source.to_path_buf(),
            target: target.into(),
            access,
        };
        let ground = plan.ground;
        let equipment = ground.equipment();
        let mut mounts = ground.environment.mounts.clone();
        mounts.extend(equipment.mounts);
        for more in &plan.installed.mounts {
            if !mounts.iter().any(|m| m.target == more.target) {
                mounts.push(more.clone());
            }
        }
        mounts.extend([
            mount(tree, WORKTREE, Access::ReadWrite),
            mount(&home, HOME, Access::ReadWrite),
            mount(&out, OUT, Access::ReadWrite),
            mount(plan.prompt, PROMPT, Access::ReadOnly),
        ]);
        if let Some(folder) = plan.proxy {
            mounts.push(mount(folder, PROXY, Access::ReadOnly));
        }
        if let Some(folder) = plan.recording {
            mounts.push(mount(folder, RECORDING, Access::ReadOnly));
        }
        let mut env = ground.variables(1);
        env.extend(surroundings(network, plan.hosts));
        if network != NetworkMode::None
            && let Some((mount, variables)) = certificates()
        {
            mounts.push(mount);
            env.extend(variables);
        }
        let text = std::fs::read_to_string(plan.prompt)
            .map_err(|e| Stop::Fault(format!("{}: {e}", plan.prompt.display())))?;
        let replay = replay_command();
        let words = Words {
            prompt: &text,
            prompt_file: Path::new(PROMPT),
            workspace: Path::new(WORKTREE),
            home: Path::new(HOME),
            out: Path::new(OUT),
            install: plan.installed.folder.as_deref(),
            model: plan.order.model.as_deref().or(plan.agent.model.as_deref()),
            effort: plan.order.effort.as_deref(),
            replay: plan.recording.map(|_| &replay[..]),
        };
        let wrong = |e: WordError| Stop::Input(e.to_string());
        env.extend(words.variables(plan.agent).map_err(wrong)?);
        for (name, value) in plan.passed.variables() {
            env.insert(name.to_owned(), value.to_owned());
        }
        let argv = words.command(plan.agent).map_err(wrong)?;
        let limits = &ground.task.spec.limits;
        Ok(Self {
            agent: plan.agent.name.clone(),
            disk: Arc::new(Disk::watch(
                vec![tree.to_path_buf(), home.clone(), out.clone()],
                plan.agent.limits.disk_mib << 20,
            )),
            out,
            home,
            helpers: u32::from(plan.proxy.is_some()),
            _hold: plan.installed.hold,
            command: ProcessSpec {
                id: AGENT,
                argv,
                env: BTreeMap::new(),
                cwd: WORKTREE.into(),
                stdin: Vec::new(),
                channel: false,
            },
            spec: SandboxSpec {
                label: ground.run.id().0,
                image: ground.image_id().map(str::to_owned),
                mounts,
                env,
                limits: Limits {
                    wall: Duration::from_secs_f64(plan.order.limit_s) + Duration::from_secs(120),
                    memory_bytes: plan.agent.limits.memory_mib << 20,
                    processes: plan.agent.limits.processes,
                    file_bytes: u64::MAX >> 1,
                    // bounded where it is written
                    output_bytes: u64::MAX >> 1,
                    scratch_bytes: limits.scratch_mib << 20,
                    shm_bytes: limits.shm_mib << 20,
                    cpus: plan.agent.limits.cpus.map(NonZeroU32::get),
                },
                network: match network {
                    NetworkMode::Open => Network::Host,
                    NetworkMode::None | NetworkMode::AllowList => Network::Loopback,
                },
                devices: equipment.devices,
                gpus: equipment.uuids,
                user: User::default(),
            },
        })
    }

    /// Starts the sandbox, the relay to the proxy where there is one, and then the agent.
    pub(super) async fn enter(&self, ground: &Ground) -> Result<Sandbox, Stop> {
        let fault = |e: crate::engine::EngineError| Stop::Fault(e.to_string());
        let engine = ground.engine();
        let started = engine.start(self.spec.clone(), &ground.scratch).await;
        let mut sandbox = started.map_err(fault)?;
        if sandbox.isolation() == Isolation::None {
            sandbox.close().await;
            return Err(Stop::Input(
                "this machine refuses namespaces, and an agent is not let loose without them; use \
                 --engine docker, or see `infradev doctor`"
                    .into(),
            ));
        }
        if self.helpers > 0 {
            let socket = Path::new(PROXY).join(SOCKET);
            sandbox.spawn(relay(&socket)).map_err(fault)?;
            relay_is_up(&mut sandbox).await?;
        }
        sandbox.spawn(self.command.clone()).map_err(fault)?;
        Ok(sandbox)
    }
}

fn relay(socket: &Path) -> ProcessSpec {
    let address = format!("127.0.0.1:{PROXY_PORT}");
    let words = [
        INIT_PATH,
        "__relay",
        &address,
        &socket.display().to_string(),
    ];
    ProcessSpec {
        id: RELAY,
        argv: words.map(str::to_owned).to_vec(),
        env: BTreeMap::new(),
        cwd: "/".into(),
        stdin: Vec::new(),
        channel: false,
    }
}

fn replay_command() -> [String; 4] {
    [INIT_PATH, "__replay", RECORDING, WORKTREE].map(str::to_owned)
}

/// Waits for the relay's word, so that the agent's first request finds it.
async fn relay_is_up(sandbox: &mut Sandbox) -> Result<(), Stop> {
    let mut said = Vec::new();
    let wait = async {
        loop {
            match sandbox.next().await {
                Some(SandboxEvent::Output {
                    id: RELAY, bytes, ..
                }) => {
                    said.extend_from_slice(&bytes);
                    if memchr::memmem::find(&said, RELAY_READY.as_bytes()).is_some() {
                        return Ok(());
                    }
                }
                Some(SandboxEvent::Started { .. }) => {}
                other => {
                    return Err(format!(
                        "{other:?}: {}",
                        String::from_utf8_lossy(&said).trim()
                    ));
                }
            }
        }
    };
    match tokio::time::timeout(Duration::from_secs(20), wait).await {
        Ok(Ok(())) => Ok(()),
        Ok(Err(what)) => Err(Stop::Fault(format!("the relay to the proxy: {what}"))),
        Err(_) => Err(Stop::Fault("the relay to the proxy did not start".into())),
    }
}

/// Variables of every agent, before its adapter's own.
fn surroundings(network: NetworkMode, hosts: &Hosts) -> BTreeMap<String, String> {
    let mut env: BTreeMap<String, String> = [
        ("HOME", HOME),
        ("TERM", "dumb"),
        ("NO_COLOR", "1"),
        ("CI", "1"),
        ("GIT_TERMINAL_PROMPT", "0"),
    ]
    .into_iter()
    .chain(GIT_ENVIRONMENT)
    .map(|(name, value)| (name.to_owned(), value.to_owned()))
    .collect();
    if network == NetworkMode::AllowList {
        let proxy = format!("http://127.0.0.1:{PROXY_PORT}");
        for name in ["HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"] {
            env.insert(name.to_owned(), proxy.clone());
            env.insert(name.to_lowercase(), proxy.clone());
        }
        // servers of the agent's own; where this machine's are listed, the proxy leads to those
        if !hosts.lead_here() {
            for name in ["NO_PROXY", "no_proxy"] {
                env.insert(name.to_owned(), "localhost,127.0.0.1,::1".to_owned());
            }
        }
        // node's own requests look at the variables only when told to
        env.insert("NODE_USE_ENV_PROXY".into(), "1".into());
    }
    env
}
