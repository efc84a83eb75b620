//! The processes of a group: the torchrun environment and the reporter's options.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::Serialize;

use super::reporter::REPORTER;
use super::spec::{SuiteError, SuiteRun};
use super::tally::Plan;
use crate::engine::{Isolation, ProcessSpec, Sandbox};
use crate::store::random_hex;

/// Options of `assets/reporter/runner.py`, which explains them.
#[derive(Serialize)]
struct Options<'a> {
    nonce: &'a str,
    worktree: &'a Path,
    pythonpath: Vec<PathBuf>,
    paths: &'a [String],
    args: &'a [String],
    only: Option<&'a [crate::domain::CaseId]>,
    files: Option<&'a [String]>,
    ignore: &'a [String],
    /// Shared by the ranks of a group, so that they begin each case together.
    step: Option<&'a str>,
    rank: usize,
    ranks: usize,
    stack_s: Option<f64>,
}

/// One process for each nonce.
pub(super) fn processes(
    run: &SuiteRun,
    plan: &Plan,
    group: u32,
    nonces: &[String],
    sandbox: &Sandbox,
) -> Result<Vec<ProcessSpec>, SuiteError> {
    let port = port(sandbox.isolation(), group)?;
    let worktree = sandbox.visible(&run.worktree);
    let runner = sandbox.visible(Path::new(REPORTER)).join("runner.py");
    let case_s = run.case_limit.as_secs_f64();
    // of a name that nobody can have put there before
    let step = format!("/tmp/infradev-step-{}", nonce()?);
    let mut processes = Vec::new();
    for (rank, nonce) in nonces.iter().enumerate() {
        let options = Options {
            nonce,
            worktree: &worktree,
            pythonpath: run.pythonpath.iter().map(|p| tidy(&worktree, p)).collect(),
            paths: &run.paths,
            args: &run.args,
            only: plan.only.as_deref(),
            files: plan.files.as_deref(),
            ignore: &plan.ignore,
            step: (nonces.len() > 1).then_some(step.as_str()),
            rank,
            ranks: nonces.len(),
            // before the limit, so that the stack of what hangs is in the output when it is killed
            stack_s: (case_s >= 1.0).then(|| (case_s * 0.9).max(case_s - 1.0)),
        };
        let stdin = encoded(&options, run)?;
        processes.push(ProcessSpec {
            id: group * run.ranks + rank as u32,
            // -s: no site-packages of a user; -B: nothing is written beside sources. The reporter's
            // own folder heads the module path until the runner takes it off (-P needs 3.11).
            argv: vec![
                run.python.to_string_lossy().into_owned(),
                "-s".into(),
                "-B".into(),
                runner.to_string_lossy().into_owned(),
            ],
            env: environment(run, rank, nonces.len(), port),
            cwd: run.worktree.clone(),
            stdin,
            channel: true,
        });
    }
    Ok(processes)
}

/// The same processes, which import `module` (found by the path) and then read their options from `orders`, where each
/// rank has a pipe of its number: nothing that the work tree holds has run by then.
pub(super) fn waiting_processes(
    run: &SuiteRun,
    orders: &Path,
    (module, path): (&str, String),
    sandbox: &Sandbox,
) -> Result<Vec<ProcessSpec>, SuiteError> {
    let nonces = vec![String::new(); run.ranks as usize];
    let mut specs = processes(run, &Plan::default(), 1, &nonces, sandbox)?;
    for (rank, spec) in specs.iter_mut().enumerate() {
        let (wait, modules) = (orders.join(rank.to_string()), [module]);
        spec.stdin = encoded(&Wait { wait, modules }, run)?;
        spec.env.insert("PYTHONPATH".into(), path.clone());
    }
    Ok(specs)
}

#[derive(Serialize)]
struct Wait<'a> {
    wait: PathBuf,
    modules: [&'a str; 1],
}

fn encoded(options: &impl Serialize, run: &SuiteRun) -> Result<Vec<u8>, SuiteError> {
    serde_json::to_vec(options)
        .map_err(|e| super::files::io("encoding options for", &run.worktree, e.into()))
}

/// What a rank has on top of the sandbox's environment.
pub fn environment(
    run: &SuiteRun,
    rank: usize,
    world: usize,
    port: u16,
) -> BTreeMap<String, String> {
    let mut env = BTreeMap::new();
    // the same order of sets on every rank, for gold and for the submission
    env.insert("PYTHONHASHSEED".into(), "0".into());
    env.extend(run.env.clone());
    let (rank, world) = (rank.to_string(), world.to_string());
    for (name, value) in [
        ("RANK", rank.as_str()),
        ("LOCAL_RANK", &rank),
        ("WORLD_SIZE", &world),
        ("LOCAL_WORLD_SIZE", &world),
        ("GROUP_RANK", "0"),
        ("MASTER_ADDR", "127.0.0.1"),
        ("MASTER_PORT", &port.to_string()),
        ("GLOO_SOCKET_IFNAME", "lo"),
        ("NCCL_SOCKET_IFNAME", "lo"),
    ] {
        env.insert(name.into(), value.into());
    }
    env
}

/// A sandbox with a network of its own has every port free; a new one for each group, because the
/// last group's connections may linger. Elsewhere the machine is asked for one.
pub fn port(isolation: Isolation, group: u32) -> Result<u16, SuiteError> {
    if isolation == Isolation::None {
        let free = std::net::TcpListener::bind(("127.0.0.1", 0)).and_then(|l| l.local_addr());
        return free
            .map(|a| a.port())
            .map_err(|e| super::files::io("looking for a free port on", Path::new("lo"), e));
    }
    // below the range that outgoing connections take theirs from
    Ok(29_500 + (group % 1000) as u16)
}

/// `worktree/folder` without the dot that stands for the work tree itself.
pub fn tidy(worktree: &Path, folder: &str) -> PathBuf {
    let parts = Path::new(folder).components();
    let mut path = worktree.to_path_buf();
    path.extend(parts.filter(|c| !matches!(c, std::path::Component::CurDir)));
    path
}

/// 128 random bits that mark the lines of one rank's reporter.
pub(super) fn nonce() -> Result<String, SuiteError> {
    random_hex::<16>().map_err(|e| SuiteError::Random(e.to_string()))
}
