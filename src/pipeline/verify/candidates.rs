//! The patches of a task, as trees: gold, base, hollow, adversarial and alternative ones.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use git2::Oid;

use super::hollow::hollow_tree;
use crate::domain::acceptance::Role;
use crate::domain::{Cause, Subject, Task};
use crate::pipeline::build::{build, built_tree};
use crate::pipeline::error::Stop;
use crate::pipeline::ground::Ground;
use crate::pipeline::run_suites::Subjected;
use crate::pipeline::trees::{Patch, Trees, Unchanged};
use crate::python::hollow::{Hollow, Works};

/// One patch, and what it makes of base.
#[derive(Clone, Debug)]
pub(in crate::pipeline) struct Candidate {
    pub role: Role,
    pub name: String,
    pub claim: Option<String>,
    /// How hollow was made.
    pub hollow: Option<Arc<Hollow>>,
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

/// Builds each, where the task has a build step. `first`: the number of the first one's folders.
pub(in crate::pipeline) async fn build_all(
    ground: &Ground,
    isolated: &Arc<AtomicBool>,
    all: &mut [Candidate],
    first: u32,
) -> Result<(), Stop> {
    let Some(spec) = &ground.task.spec.build else {
        return Ok(());
    };
    for (slot, candidate) in (first..).zip(all) {
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
        hollow: None,
        tree,
    };
    let (made, hollow) = hollow_tree(trees, task, &Works::new())?;
    let mut all = vec![
        plain(Role::Gold, Ok(trees.gold)),
        plain(Role::Base, Ok(trees.base)),
        Candidate {
            hollow: Some(Arc::new(made)),
            ..plain(Role::Hollow, hollow)
        },
    ];
    for a in &task.spec.adversarial {
        all.push(Candidate {
            role: Role::Adversarial,
            name: a.name.clone(),
            claim: Some(a.claim.clone()),
            hollow: None,
            tree: tree_of(trees, &task.path(&a.patch))?,
        });
    }
    for a in &task.spec.alternative {
        all.push(Candidate {
            role: Role::Alternative,
            name: a.name.clone(),
            claim: None,
            hollow: None,
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
