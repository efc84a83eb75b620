//! The patches of a task, as trees: gold, base, hollow, adversarial and alternative ones.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use git2::Oid;

use crate::domain::acceptance::Role;
use crate::domain::{Cause, Subject, Task};
use crate::pipeline::build::{build, built_tree};
use crate::pipeline::error::Stop;
use crate::pipeline::ground::Ground;
use crate::pipeline::run_suites::Subjected;
use crate::pipeline::trees::{Patch, Trees, Unchanged};
use crate::python::hollow::hollow;
use crate::workspace::Versions;

/// One patch, and what it makes of base.
#[derive(Clone, Debug)]
pub(super) struct Candidate {
    pub role: Role,
    pub name: String,
    pub claim: Option<String>,
    /// Or why there is none.
    pub tree: Result<Oid, (Cause, String)>,
}

impl Candidate {
    pub fn label(&self) -> String {
        self.role.label(&self.name)
    }
}

/// All of them, gold first; built, where the task has a build step.
pub(super) async fn candidates(
    ground: &Ground,
    isolated: &Arc<AtomicBool>,
) -> Result<Vec<Candidate>, Stop> {
    let (trees, task) = (Arc::clone(&ground.trees), ground.task.clone());
    let mut all = tokio::task::spawn_blocking(move || of_task(&trees, &task))
        .await
        .map_err(|e| Stop::Fault(format!("patches: {e}")))??;
    let Some(spec) = &ground.task.spec.build else {
        return Ok(all);
    };
    for (slot, candidate) in (1..).zip(&mut all) {
        let Ok(tree) = candidate.tree else { continue };
        let subject = match candidate.role {
            Role::Gold => Subject::Gold,
            _ => Subject::Submission,
        };
        let subjected = Subjected {
            subject,
            tree,
            slot,
        };
        candidate.tree = match build(ground, &subjected, spec, isolated).await? {
            Err(message) => Err((Cause::Build, message)),
            Ok(()) => Ok(import(ground, &built_tree(&ground.scratch, &subjected)).await?),
        };
    }
    Ok(all)
}

/// A built tree as git objects, so that suites start from it.
async fn import(ground: &Ground, built: &Path) -> Result<Oid, Stop> {
    let (trees, from) = (Arc::clone(&ground.trees), built.to_path_buf());
    tokio::task::spawn_blocking(move || trees.snapshot.import_dir(&from))
        .await
        .map_err(|e| Stop::Fault(format!("built tree: {e}")))?
        .map_err(|e| Stop::Fault(e.to_string()))
}

fn of_task(trees: &Trees, task: &Task) -> Result<Vec<Candidate>, Stop> {
    let plain = |role, tree| Candidate {
        role,
        name: String::new(),
        claim: None,
        tree,
    };
    let mut all = vec![
        plain(Role::Gold, Ok(trees.gold)),
        plain(Role::Base, Ok(trees.base)),
        plain(Role::Hollow, hollow_tree(trees, task)?),
    ];
    for a in &task.spec.adversarial {
        all.push(Candidate {
            role: Role::Adversarial,
            name: a.name.clone(),
            claim: Some(a.claim.clone()),
            tree: tree_of(trees, &task.path(&a.patch))?,
        });
    }
    for a in &task.spec.alternative {
        all.push(Candidate {
            role: Role::Alternative,
            name: a.name.clone(),
            claim: None,
            tree: tree_of(trees, &task.path(&a.patch))?,
        });
    }
    Ok(all)
}

fn tree_of(trees: &Trees, file: &Path) -> Result<Result<Oid, (Cause, String)>, Stop> {
    let patch = Patch::read(file)?;
    match trees.change(&patch) {
        Ok(changed) => Ok(Ok(changed.tree)),
        Err(Unchanged::Refused(refused)) => Ok(Err((refused.cause, refused.message))),
        // an edit whose target is gone: of this patch, not of the whole
        Err(Unchanged::Stop(Stop::Input(message))) => Ok(Err((Cause::Apply, message))),
        Err(Unchanged::Stop(stop)) => Err(stop),
    }
}

/// Made from base and gold each time, so that it never is an old one.
fn hollow_tree(trees: &Trees, task: &Task) -> Result<Result<Oid, (Cause, String)>, Stop> {
    let fault = |e: &dyn std::fmt::Display| Stop::Fault(format!("hollow: {e}"));
    let versions = Versions::of(task, trees.sources()).map_err(|e| fault(&e))?;
    let base = versions.base().map_err(|e| fault(&e))?;
    let gold = versions.gold().map_err(|e| fault(&e))?;
    let made = hollow(&base, &gold);
    if made.raised.is_empty() {
        let why = "no function of gold can be made to raise".to_owned();
        return Ok(Err((Cause::Empty, why)));
    }
    let files: Vec<(String, Vec<u8>)> = made.files.into_iter().collect();
    let tree = trees.snapshot.with_files(trees.gold, &files);
    tree.map(Ok).map_err(|e| fault(&e))
}
