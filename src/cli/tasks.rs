//! `infradev tasks`: the tasks in one table.

use schemars::JsonSchema;
use serde::Serialize;

use super::context::Context;
use super::exit::{Exit, Failure};
use super::output;
use crate::catalog::Loaded;
use crate::workspace::{Mirrors, Origin};

#[derive(Serialize, JsonSchema)]
pub struct TasksDocument {
    pub schema: u32,
    pub tasks: Vec<TaskRow>,
}

#[derive(Serialize, JsonSchema)]
pub struct TaskRow {
    pub id: String,
    pub title: Option<String>,
    pub area: Option<String>,
    pub kind: Option<String>,
    pub repository: Option<String>,
    pub gpus: u32,
    pub agent_limit_s: u32,
    pub claims: usize,
    pub probed: bool,
    pub adversarial: Vec<String>,
    pub alternative: Vec<String>,
    pub submissions: Vec<String>,
    /// Errors and warnings of `infradev check` that need no tree.
    pub problems: usize,
    pub usable: bool,
    /// "no mirror" or "no repository": the task's source is not on this machine. Found by a look at
    /// the folder; no commit is looked up.
    pub missing: Option<String>,
}

pub fn run(context: &Context, json: bool) -> Result<Exit, Failure> {
    let mirrors = context.mirrors();
    let rows: Vec<TaskRow> = context
        .catalog()?
        .load_all()?
        .iter()
        .map(|loaded| row(loaded, &mirrors))
        .collect();
    if json {
        output::document(&TasksDocument {
            schema: 1,
            tasks: rows,
        })?;
        return Ok(Exit::Yes);
    }
    if rows.is_empty() {
        output::note("no tasks here; a task is a folder with a task.toml");
    }
    for r in &rows {
        let state = if r.usable {
            ""
        } else {
            "  BROKEN: see infradev check"
        };
        let missing = match &r.missing {
            Some(words) => format!("  {words}: see infradev check {}", r.id),
            None => String::new(),
        };
        let unprobed = if r.probed { "" } else { "  unprobed" };
        output::line(&output::safe(&format!(
            "{:<16} {:<10} {:<12} {} claims  {} submissions  {}{unprobed}{missing}{state}",
            r.id,
            r.area.as_deref().unwrap_or("–"),
            r.kind.as_deref().unwrap_or("–"),
            r.claims,
            r.submissions.len(),
            r.title.as_deref().unwrap_or("–"),
        )));
    }
    Ok(Exit::Yes)
}

fn row(loaded: &Loaded, mirrors: &Mirrors) -> TaskRow {
    let spec = loaded.task.as_ref().map(|t| &t.spec);
    TaskRow {
        id: loaded.id.clone(),
        title: spec.map(|s| s.title.clone()),
        area: spec.map(|s| s.area.name().into()),
        kind: spec.map(|s| s.kind.name().into()),
        repository: spec.map(|s| s.repository.clone()),
        gpus: spec.map_or(0, |s| s.hardware.gpus),
        agent_limit_s: spec.map_or(0, |s| s.limits.agent_minutes * 60),
        claims: spec.map_or(0, |s| s.claims.len()),
        probed: spec.is_some_and(|s| s.suites.probes.is_some()),
        adversarial: spec
            .map(|s| s.adversarial.iter().map(|a| a.name.clone()).collect())
            .unwrap_or_default(),
        alternative: spec
            .map(|s| s.alternative.iter().map(|a| a.name.clone()).collect())
            .unwrap_or_default(),
        submissions: loaded
            .task
            .as_ref()
            .map(|t| t.submissions.iter().map(|s| s.spec.name.clone()).collect())
            .unwrap_or_default(),
        problems: loaded.problems.len(),
        usable: !loaded.broken(),
        missing: loaded
            .task
            .as_ref()
            .and_then(|task| Origin::of(task, mirrors)?.missing())
            .map(str::to_owned),
    }
}
