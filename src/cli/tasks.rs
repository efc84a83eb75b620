//! `infradev tasks`: the tasks in one table.

use schemars::JsonSchema;
use serde::Serialize;

use super::context::Context;
use super::exit::{Exit, Failure};
use super::output;
use crate::catalog::Loaded;
use crate::domain::hardware::Fitting;
use crate::domain::task::HardwareSpec;
use crate::gpu::{self, Gpu, Leases, NvmlSource};
use crate::pipeline::freshness;
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
    /// GPUs that it needs, by their name where that matters.
    pub gpus: u32,
    pub gpu_type: Option<String>,
    /// Of the GPUs it needs: on this machine, and free now. Absent where it needs none.
    pub gpus_here: Option<u32>,
    pub gpus_free: Option<u32>,
    pub agent_limit_s: u32,
    pub claims: usize,
    pub probed: bool,
    /// `accepted`, `rejected`, `unprobed`, `stale` (something that the acceptance rests on has
    /// changed since), `edited by hand` (the record is not as a verify wrote it) or `unverified`.
    pub acceptance: Option<String>,
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
    let loaded = context.catalog()?.load_all()?;
    let needs = |l: &Loaded| l.task.as_ref().is_some_and(|t| t.spec.hardware.gpus > 0);
    // the driver is asked only where the answer matters
    let here = if loaded.iter().any(needs) {
        let home = context.home()?;
        gpu::here(NvmlSource::new(), Leases::look(), home.root()).unwrap_or_default()
    } else {
        Vec::new()
    };
    let rows: Vec<TaskRow> = loaded.iter().map(|l| row(l, &mirrors, &here)).collect();
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
        let acceptance = r.acceptance.as_deref().unwrap_or("–");
        let gpus = gpus(r);
        output::line(&output::safe(&format!(
            "{:<16} {:<10} {:<12} {:<10} {} claims  submissions {}  {gpus}{}{missing}{state}",
            r.id,
            r.area.as_deref().unwrap_or("–"),
            r.kind.as_deref().unwrap_or("–"),
            acceptance,
            r.claims,
            r.submissions.len(),
            r.title.as_deref().unwrap_or("–"),
        )));
    }
    Ok(Exit::Yes)
}

/// `needs 2 GPUs H200 (1 here, 1 free)  `, or nothing.
fn gpus(row: &TaskRow) -> String {
    let hardware = HardwareSpec {
        gpus: row.gpus,
        gpu_type: row.gpu_type.clone(),
    };
    let Some(need) = hardware.need() else {
        return String::new();
    };
    match (row.gpus_here.unwrap_or(0), row.gpus_free.unwrap_or(0)) {
        (0, _) => format!("needs {need} (none here)  "),
        (here, free) => format!("needs {need} ({here} here, {free} free)  "),
    }
}

fn row(loaded: &Loaded, mirrors: &Mirrors, here: &[Gpu]) -> TaskRow {
    let spec = loaded.task.as_ref().map(|t| &t.spec);
    let hardware = spec.map(|s| &s.hardware).filter(|h| h.gpus > 0);
    let fitting = hardware.map(|hardware| {
        let gpus = here.iter().map(|gpu| (gpu.name.as_str(), gpu.free()));
        hardware.among(gpus)
    });
    let count = |of: fn(&Fitting) -> u32| fitting.as_ref().map(|f| f.as_ref().map_or(0, of));
    TaskRow {
        id: loaded.id.clone(),
        title: spec.map(|s| s.title.clone()),
        area: spec.map(|s| s.area.name().into()),
        kind: spec.map(|s| s.kind.name().into()),
        repository: spec.map(|s| s.repository.clone()),
        gpus: hardware.map_or(0, |h| h.gpus),
        gpu_type: hardware.and_then(|h| h.gpu_type.clone()),
        gpus_here: count(|f| f.there),
        gpus_free: count(|f| f.free),
        agent_limit_s: spec.map_or(0, |s| s.limits.agent_minutes * 60),
        claims: spec.map_or(0, |s| s.claims.len()),
        probed: spec.is_some_and(|s| s.suites.probes.is_some()),
        acceptance: loaded.task.as_ref().map(|t| freshness(t).words().into()),
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
