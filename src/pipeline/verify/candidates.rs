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
use crate::python::hollow::{Rule, hollow};
use crate::workspace::Versions;

/// One patch, and what it makes of base.
#[derive(Clone, Debug)]
pub(in crate::pipeline) struct Candidate {
    pub role: Role,
    pub name: String,
    pub claim: Option<String>,
    /// Hollow: the change adds no function, and those that it changes raise.
    pub changed_raise: bool,
    /// Or why there is none.
    pub tree: Result<Oid, (Cause, String)>,
}

impl Candidate {
    pub fn label(&self) -> String {
        self.role.label(&self.name)
    }

    pub fn subject(&self) -> Subject {
        match self.role {
            Role::Gold => Subject::Gold,
            _ => Subject::Submission,
        }
    }
}

/// Builds each, where the task has a build step.
pub(in crate::pipeline) async fn build_all(
    ground: &Ground,
    isolated: &Arc<AtomicBool>,
    all: &mut [Candidate],
) -> Result<(), Stop> {
    let Some(spec) = &ground.task.spec.build else {
        return Ok(());
    };
    for (slot, candidate) in (1..).zip(all) {
        let Ok(tree) = candidate.tree else { continue };
        let subjected = Subjected {
            subject: candidate.subject(),
            tree,
            slot,
        };
        candidate.tree = match build(ground, &subjected, spec, isolated).await? {
            Err(message) => Err((Cause::Build, message)),
            Ok(()) => Ok(import(ground, &built_tree(&ground.scratch, &subjected)).await?),
        };
    }
    Ok(())
}

/// A built tree as git objects, so that suites start from it.
async fn import(ground: &Ground, built: &Path) -> Result<Oid, Stop> {
    let (trees, from) = (Arc::clone(&ground.trees), built.to_path_buf());
    tokio::task::spawn_blocking(move || trees.snapshot.import_dir(&from))
        .await
        .map_err(|e| Stop::Fault(format!("built tree: {e}")))?
        .map_err(|e| Stop::Fault(e.to_string()))
}

/// All of them, gold first, not built yet. Blocks.
pub(super) fn of_task(trees: &Trees, task: &Task) -> Result<Vec<Candidate>, Stop> {
    let plain = |role, tree| Candidate {
        role,
        name: String::new(),
        claim: None,
        changed_raise: false,
        tree,
    };
    let (changed_raise, hollow) = hollow_tree(trees, task)?;
    let mut all = vec![
        plain(Role::Gold, Ok(trees.gold)),
        plain(Role::Base, Ok(trees.base)),
        Candidate {
            changed_raise,
            ..plain(Role::Hollow, hollow)
        },
    ];
    for a in &task.spec.adversarial {
        all.push(Candidate {
            role: Role::Adversarial,
            name: a.name.clone(),
            claim: Some(a.claim.clone()),
            changed_raise: false,
            tree: tree_of(trees, &task.path(&a.patch))?,
        });
    }
    for a in &task.spec.alternative {
        all.push(Candidate {
            role: Role::Alternative,
            name: a.name.clone(),
            claim: None,
            changed_raise: false,
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

/// Made from base and gold each time, so that it never is an old one; and whether changed functions
/// raise in it.
#[allow(clippy::type_complexity)] // a tree or its refusal, as everywhere here
pub(in crate::pipeline) fn hollow_tree(
    trees: &Trees,
    task: &Task,
) -> Result<(bool, Result<Oid, (Cause, String)>), Stop> {
    let fault = |e: &dyn std::fmt::Display| Stop::Fault(format!("hollow: {e}"));
    let versions = Versions::of(task, trees.sources()).map_err(|e| fault(&e))?;
    let base = versions.base().map_err(|e| fault(&e))?;
    let gold = versions.gold().map_err(|e| fault(&e))?;
    let made = hollow(&base, &gold);
    if made.raised.is_empty() {
        let why = "no function of gold can be made to raise".to_owned();
        return Ok((false, Err((Cause::Empty, why))));
    }
    let files: Vec<(String, Vec<u8>)> = made.files.into_iter().collect();
    let tree = trees.snapshot.with_files(trees.gold, &files);
    let tree = tree.map_err(|e| fault(&e))?;
    Ok((made.rule == Rule::Changed, Ok(tree)))
}
