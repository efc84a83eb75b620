//! The case's place: tree, tests and sandbox, made by the functions that grade.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use git2::Oid;

use super::kit::{Inside, Kit, VARIABLE};
use super::order::{Order, Subject};
use crate::domain::{self, CalibrationChoice, Manifest, RunId, Source, SuiteChoice, Work};
use crate::engine::{Isolation, ProcessSpec, Sandbox};
use crate::pipeline::build::build;
use crate::pipeline::compare::tree_of;
use crate::pipeline::error::Stop;
use crate::pipeline::grade::read_patch;
use crate::pipeline::ground::Ground;
use crate::pipeline::place::Place;
use crate::pipeline::run_suites::{Subjected, lay, suite_run};
use crate::pipeline::suite::{Sandboxes, SuiteRun, environment, port};
use crate::pipeline::trees::Unchanged;
use crate::pipeline::verify::{hollow_tree, recorded_works};
use crate::store::{Home, RunDir, now_s};

/// Nobody works at one failure for longer; a shell that was forgotten ends.
const LIFE: Duration = Duration::from_secs(7 * 86_400);
/// The type of a terminal that does not say which.
const PLAIN_TERMINAL: &str = "dumb";
/// The shell, among the processes of the sandbox.
pub(super) const SHELL: u32 = 1;

pub(super) struct Site {
    pub sandbox: Sandbox,
    pub worktree: PathBuf,
    /// The tree as it is laid, where changes are to be told.
    pub laid: Option<Oid>,
    pub run: SuiteRun,
    pub inside: Inside,
    pub process: ProcessSpec,
}

/// What a ground is prepared for.
pub(super) fn manifest(order: &Order, id: RunId) -> Manifest {
    Manifest {
        schema: 1,
        run: id,
        task: order.task.clone(),
        task_dir: order.task_dir.clone(),
        source: Source::Base,
        work: Work::Grade,
        agent: None,
        suites: SuiteChoice::All,
        engine: order.engine,
        ranks: order.ranks,
        calibration: CalibrationChoice::Auto,
        only: Vec::new(),
        parent: None,
        created_s: now_s(),
    }
}

impl Site {
    pub(super) async fn make(home: &Home, ground: &Ground, order: &Order) -> Result<Self, Stop> {
        let suite = order.suite;
        let Some(spec) = ground.task.spec.suites.get(suite) else {
            let task = ground.task.id();
            return Err(Stop::Input(format!("task {task} has no {suite} suite")));
        };
        let subjected = Subjected {
            subject: domain::Subject::Submission,
            tree: tree(home, ground, order).await?,
            slot: 0,
        };
        let isolated = Arc::new(AtomicBool::new(true));
        if let Some(spec) = &ground.task.spec.build {
            let built = build(ground, &subjected, spec, &isolated).await?;
            built.map_err(|message| Stop::Input(format!("it does not build: {message}")))?;
        }
        let worktree = lay(ground, &subjected, suite, None, None).await?;
        let laid = if order.keep_patch {
            Some(import(ground, worktree.clone()).await?)
        } else {
            None
        };
        let run = suite_run(ground, subjected.subject, suite, None, &[], None);
        let kit = Kit::new(&ground.scratch)?;
        let place = Place::new(ground, &worktree, spec.ranks, LIFE, &isolated);
        let sandbox = place.with(kit.mount()).start().await;
        let sandbox = sandbox.map_err(|e| Stop::Fault(e.to_string()))?;
        let path = ground.variables(run.ranks).remove("PATH");
        let inside = kit.settle(&sandbox, &run, order.case.as_ref(), path.as_deref())?;
        let env = variables(order, &run, sandbox.isolation(), &inside)?;
        let process = ProcessSpec {
            id: SHELL,
            argv: argv(order, &inside),
            env,
            cwd: run.worktree.clone(),
            stdin: Vec::new(),
            channel: false,
        };
        Ok(Self {
            sandbox,
            worktree,
            laid,
            run,
            inside,
            process,
        })
    }
}

fn argv(order: &Order, inside: &Inside) -> Vec<String> {
    match &order.command {
        Some(command) => vec!["/bin/sh".into(), "-c".into(), command.clone()],
        None => vec![
            "/bin/sh".into(),
            inside.dir.join("start").display().to_string(),
        ],
    }
}

/// What rank 0 has, and what a terminal needs.
fn variables(
    order: &Order,
    run: &SuiteRun,
    isolation: Isolation,
    inside: &Inside,
) -> Result<BTreeMap<String, String>, Stop> {
    let port = port(isolation, 1).map_err(|e| Stop::Fault(e.to_string()))?;
    let mut env = environment(run, 0, run.ranks as usize, port);
    env.insert("PATH".into(), inside.path.clone());
    env.insert(VARIABLE.into(), inside.dir.display().to_string());
    if order.terminal.is_some() {
        let plain = |name: &&String| {
            let fits = |c: char| c.is_ascii_alphanumeric() || "-+._".contains(c);
            !name.is_empty() && name.len() < 64 && name.chars().all(fits)
        };
        let name = order.terminal_type.as_ref().filter(plain);
        let name = name.map_or(PLAIN_TERMINAL, String::as_str);
        env.insert("TERM".into(), name.to_owned());
    }
    Ok(env)
}

async fn import(ground: &Ground, worktree: PathBuf) -> Result<Oid, Stop> {
    let trees = Arc::clone(&ground.trees);
    tokio::task::spawn_blocking(move || trees.snapshot.import_dir(&worktree))
        .await
        .map_err(|e| Stop::Fault(format!("work tree: {e}")))?
        .map_err(|e| Stop::Fault(e.to_string()))
}

/// What the patch makes of base.
async fn tree(home: &Home, ground: &Ground, order: &Order) -> Result<Oid, Stop> {
    let (trees, task) = (Arc::clone(&ground.trees), ground.task.clone());
    let (home, subject) = (home.clone(), order.subject.clone());
    let found = tokio::task::spawn_blocking(move || match &subject {
        Subject::Source(source) => tree_of(&home, &trees, &task, source).map_err(Stop::Input),
        Subject::Hollow => {
            let refused = |(_, why)| Stop::Input(format!("there is no hollow patch: {why}"));
            hollow_tree(&trees, &task, &recorded_works(&task))?
                .1
                .map_err(refused)
        }
        Subject::Run(run) => {
            let run: RunDir = home.run(run);
            match read_patch(&run, &run.manifest()?.source)? {
                None => Ok(trees.base),
                Some(patch) => match trees.change(&patch) {
                    Ok(changed) => Ok(changed.tree),
                    Err(Unchanged::Refused(refused)) => Err(Stop::Input(format!(
                        "the run has no tree to look into: its patch does not apply ({}): {}",
                        refused.cause.name(),
                        refused.message
                    ))),
                    Err(Unchanged::Stop(stop)) => Err(stop),
                },
            }
        }
    });
    found.await.map_err(|e| Stop::Fault(format!("tree: {e}")))?
}
