//! `infradev check [TASK…]`: everything that is wrong with tasks, with file, line and mend.

use schemars::JsonSchema;
use serde::Serialize;

use super::args::CheckArgs;
use super::context::Context;
use super::exit::{Exit, Failure};
use super::output;
use crate::catalog::{Problem, untwinned};
use crate::pipeline::{Applies, check_patches};

#[derive(Serialize, JsonSchema)]
pub struct CheckDocument {
    pub schema: u32,
    pub ok: bool,
    pub tasks: Vec<CheckedTask>,
}

#[derive(Serialize, JsonSchema)]
pub struct CheckedTask {
    pub id: String,
    pub ok: bool,
    pub problems: Vec<Problem>,
    /// Share of each alternative patch's added lines that stand in gold; below 0.5 is the goal.
    pub alternatives: Vec<AlternativeShare>,
}

#[derive(Serialize, JsonSchema)]
pub struct AlternativeShare {
    pub name: String,
    pub shared_with_gold: f64,
}

pub fn run(context: &Context, args: &CheckArgs) -> Result<Exit, Failure> {
    let catalog = context.catalog()?;
    let home = context.home()?;
    let ids = if args.tasks.is_empty() {
        catalog.ids()?
    } else {
        args.tasks.clone()
    };
    let mut tasks = Vec::new();
    for id in ids {
        let mut loaded = catalog.load(&id)?;
        let mut alternatives = Vec::new();
        if !loaded.broken()
            && let Some(task) = &loaded.task
        {
            let Applies { problems, shares } =
                check_patches(&home, task).map_err(Failure::machinery)?;
            let untwinned = untwinned(task);
            loaded.problems.extend(problems);
            loaded.problems.extend(untwinned);
            alternatives = shares
                .into_iter()
                .map(|(name, shared_with_gold)| AlternativeShare {
                    name,
                    shared_with_gold,
                })
                .collect();
        }
        let ok = !loaded.broken();
        tasks.push(CheckedTask {
            id,
            ok,
            problems: loaded.problems,
            alternatives,
        });
    }
    let ok = tasks.iter().all(|t| t.ok);
    if args.json {
        output::document(&CheckDocument {
            schema: 1,
            ok,
            tasks,
        })?;
    } else {
        for task in &tasks {
            for problem in &task.problems {
                output::line(&output::safe_lines(&problem.to_string()));
            }
            for a in &task.alternatives {
                let percent = a.shared_with_gold * 100.0;
                let name = output::safe(&a.name);
                output::line(&format!(
                    "{}: alternative {name}: {percent:.0} % of its added lines stand in gold",
                    task.id
                ));
            }
            output::line(&format!(
                "{}: {}",
                task.id,
                if task.ok { "ok" } else { "BROKEN" }
            ));
        }
    }
    Ok(if ok { Exit::Yes } else { Exit::No })
}
