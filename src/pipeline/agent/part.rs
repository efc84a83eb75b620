//! From the order to the captured patch.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use sha2::{Digest, Sha256};

use super::capture::{capture, rescue, still_there};
use super::changes::Changes;
use super::install::install;
use super::log::{LogWriter, set_aside};
use super::recording::prepare;
use super::site::{Plan, Site, agent_folders};
use super::stage::{Ears, at_work};
use super::trajectory::Trajectory;
use crate::agent::adapter::{PassError, Passed, Redactor, allow_list};
use crate::agent::proxy::Proxy;
use crate::domain::run_state::RunState;
use crate::domain::submission::LogFormat;
use crate::domain::{AgentOrder, AgentSpec, Event, Level, NetworkMode, Stage, Subject, hex};
use crate::environment::{Package, Project, remove_tree};
use crate::pipeline::error::Stop;
use crate::pipeline::grade::Timer;
use crate::pipeline::ground::{Ground, beside};
use crate::pipeline::recorder::Recorder;
use crate::store::{Home, RunDir};

/// What is kept of an agent's other words.
const ASIDE_BYTES: u64 = 64 << 20;

/// Seconds of the agent's part.
pub(in crate::pipeline) struct Took {
    pub agent: f64,
    pub capture: f64,
}

/// Lets the agent work and captures its patch; an earlier attempt's patch is kept.
pub(in crate::pipeline) async fn agent_part(
    home: &Home,
    ground: &Ground,
    order: &AgentOrder,
    kept: &RunState,
    recorder: &Recorder,
) -> Result<Took, Stop> {
    let agent = read(&ground.run.agent_path())?;
    let passed = Passed::resolve(&agent, |name| std::env::var_os(name));
    if let Ok(passed) = &passed {
        recorder.hide(Redactor::new(passed));
    }
    if let Some(captured) = still_there(&ground.run, kept) {
        recorder.say(
            Level::Info,
            "agent: its patch is kept from the earlier attempt",
        );
        return Ok(Took {
            agent: captured.agent_s,
            capture: 0.0,
        });
    }
    let passed = passed.map_err(input)?;
    let tree = agent_tree(&ground.scratch);
    if awaits_capture(kept) && tree.is_dir() {
        recorder.say(
            Level::Info,
            "agent: its tree is kept from the earlier attempt",
        );
        return Ok(Took {
            agent: kept
                .agent
                .as_ref()
                .and_then(|a| a.duration_s)
                .unwrap_or(0.0),
            capture: captured(ground, &tree, recorder).await?,
        });
    }
    let timer = Timer::start(recorder, Stage::Agent, Subject::Submission);
    let worked = work(home, ground, order, (&agent, &passed), &tree, recorder).await;
    if matches!(worked, Err(Stop::Fault(_))) {
        rescue(ground, &tree, recorder).await;
    }
    worked?;
    // it may have filled the disk, and the grade needs some
    clear_away(agent_folders(&ground.scratch)).await;
    Ok(Took {
        agent: timer.stop(),
        capture: captured(ground, &tree, recorder).await?,
    })
}

/// The stage `capture`, in seconds.
async fn captured(ground: &Ground, tree: &Path, recorder: &Recorder) -> Result<f64, Stop> {
    let timer = Timer::start(recorder, Stage::Capture, Subject::Submission);
    capture(ground, tree, recorder).await?;
    clear_away([tree.to_path_buf()]).await;
    Ok(timer.stop())
}

/// What stays goes with the scratch when the run ends.
async fn clear_away(folders: impl IntoIterator<Item = PathBuf> + Send + 'static) {
    let gone = tokio::task::spawn_blocking(move || {
        for folder in folders {
            let _ = remove_tree(&folder);
        }
    });
    gone.await.ok();
}

/// Where an agent works, in a run's scratch.
pub(in crate::pipeline) fn agent_tree(scratch: &Path) -> PathBuf {
    scratch.join("agent-tree")
}

/// The agent has ended, nothing of it runs, and its patch is not made yet: its time is spent, and
/// it must not get it twice.
pub(in crate::pipeline) fn awaits_capture(kept: &RunState) -> bool {
    kept.captured.is_none() && kept.agent.as_ref().is_some_and(|a| a.end.is_some())
}

#[allow(clippy::needless_pass_by_value)] // as `map_err` wants it
fn input(e: PassError) -> Stop {
    Stop::Input(e.to_string())
}

async fn work(
    home: &Home,
    ground: &Ground,
    order: &AgentOrder,
    (agent, passed): (&AgentSpec, &Passed),
    tree: &Path,
    recorder: &Recorder,
) -> Result<(), Stop> {
    let run = &ground.run;
    let network = order.network.unwrap_or(agent.network.mode);
    let hosts = allow_list(agent, passed).map_err(input)?;
    lay(ground, tree).await?;
    let project = Project::of(tree);
    // an agent with the whole network can fetch any release
    let closed = network != NetworkMode::Open;
    if closed {
        if project.is_unknown() {
            recorder.say(
                Level::Warn,
                "agent: base has no name and no package that an installed release of it could be \
                 known by",
            );
        }
        leaks("the environment", &ground.environment.packages, &project)?;
        let seen = beside(home, ground, &project, recorder).await?;
        leaks("the system around it", &seen.packages, &project)?;
        if let Some(module) = seen.modules.first() {
            return Err(Stop::Input(format!(
                "{} is a package of the task's own project, under whatever name it was installed: \
                 an agent could read another release of it; take it out of there",
                module.display()
            )));
        }
    }
    let installed = install(home, ground, agent, recorder).await?;
    if closed {
        leaks("the agent's installation", &installed.packages, &project)?;
    }
    let changes = Changes::since(tree);
    let recording = match &order.replay {
        Some(replay) => {
            let folder = ground.scratch.join("recording");
            let (trees, replay, to) = (Arc::clone(&ground.trees), replay.clone(), folder.clone());
            tokio::task::spawn_blocking(move || prepare(&replay, &trees, &to))
                .await
                .map_err(|e| Stop::Fault(format!("recording: {e}")))??;
            Some(folder)
        }
        None => None,
    };
    let proxy = match network {
        NetworkMode::AllowList => {
            let folder = ground.scratch.join("proxy");
            let recorder = recorder.clone();
            let refused = move |host: &str| {
                let host = host.to_owned();
                recorder.record(Event::HostRefused { host });
            };
            let proxy = Proxy::start(&folder, hosts.clone(), refused);
            Some(proxy.map_err(|e| Stop::Fault(format!("the proxy: {e}")))?)
        }
        NetworkMode::None | NetworkMode::Open => None,
    };
    let prompt = run.prompt_path();
    let site = Site::new(
        Plan {
            ground,
            agent,
            order,
            installed,
            prompt: &prompt,
            hosts: &hosts,
            proxy: proxy.as_ref().map(Proxy::folder),
            recording: recording.as_deref(),
            passed,
        },
        tree,
        network,
    )?;
    let ears = ears(run, agent, &site.out, Redactor::new(passed))?;
    let sandbox = site.enter(ground).await?;
    recorder.record(Event::AgentStarted {
        agent: agent.name.clone(),
        version: agent.version.clone(),
        model: order.model.clone().or(agent.model.clone()),
        format: order.replay.as_ref().map_or(agent.format, |r| r.format),
        limit_s: order.limit_s,
        network,
        hosts: proxy.as_ref().map(|_| hosts.names()).unwrap_or_default(),
        passed: passed.names(),
        prompt: order.prompt.clone(),
        prompt_sha256: digest(&prompt)?,
    });
    let limit = Duration::from_secs_f64(order.limit_s);
    at_work(ground, &site, sandbox, ears, changes, limit, recorder).await
}

/// What an agent could read the solution from is refused before it costs anything.
fn leaks(what: &str, packages: &[Package], project: &Project) -> Result<(), Stop> {
    match project.held(packages) {
        None => Ok(()),
        Some(held) => Err(Stop::Input(format!(
            "{what} holds {} {}, the task's own project ({}): an agent could read another release of \
             it; take it out of there",
            held.package.name,
            held.package.version,
            held.named_in.display()
        ))),
    }
}

/// The adapter as it was when the run was made.
fn read(path: &Path) -> Result<AgentSpec, Stop> {
    let text = std::fs::read_to_string(path)
        .map_err(|e| Stop::Fault(format!("{}: {e}", path.display())))?;
    toml::from_str(&text).map_err(|e| Stop::Input(format!("{}: {e}", path.display())))
}

async fn lay(ground: &Ground, tree: &Path) -> Result<(), Stop> {
    let (trees, tree) = (Arc::clone(&ground.trees), tree.to_path_buf());
    tokio::task::spawn_blocking(move || trees.snapshot.agent_repository(trees.base, &tree))
        .await
        .map_err(|e| Stop::Fault(format!("the agent's repository: {e}")))?
        .map_err(|e| Stop::Fault(format!("the agent's repository: {e}")))
}

fn ears(run: &RunDir, agent: &AgentSpec, out: &Path, secrets: Redactor) -> Result<Ears, Stop> {
    let io = |e: std::io::Error| Stop::Fault(format!("{}: {e}", run.path().display()));
    let bound = agent.limits.log_mib << 20;
    let (log, times) = (run.agent_log_path(), run.agent_times_path());
    let aside: PathBuf = run.output_dir().join("agent-stderr.log");
    for path in [&log, &times, &aside] {
        set_aside(path).map_err(io)?;
    }
    let aside = LogWriter::create(&aside, None, ASIDE_BYTES).map_err(io)?;
    let mut ears = if let Some(file) = &agent.trajectory {
        let trajectory = Trajectory::new(out.to_path_buf(), file.into(), log, bound);
        Ears::open(None, aside, Some(trajectory), secrets)
    } else {
        let log = LogWriter::create(&log, Some(&times), bound).map_err(io)?;
        Ears::open(Some(log), aside, None, secrets)
    };
    // a plain text's two streams are read together
    ears.join(agent.format == LogFormat::Text);
    Ok(ears)
}

fn digest(path: &Path) -> Result<String, Stop> {
    let bytes = std::fs::read(path).map_err(|e| Stop::Fault(format!("{}: {e}", path.display())))?;
    Ok(hex(&Sha256::digest(&bytes)))
}
