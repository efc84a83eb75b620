//! What is where, in a few lines.

use super::kit::{COMMAND, Inside};
use super::order::{Order, Subject};
use crate::domain::Suite;
use crate::engine::Isolation;
use crate::pipeline::ground::Ground;
use crate::pipeline::suite::SuiteRun;

pub(super) fn greeting(
    ground: &Ground,
    order: &Order,
    run: &SuiteRun,
    isolation: Isolation,
    inside: &Inside,
) -> Vec<String> {
    let suite = order.suite;
    let what = match (&order.subject, &order.run) {
        (Subject::Run(run), _) => format!("what run {run} graded"),
        (Subject::Source(source), _) => source.label(),
        (Subject::Hollow, _) => "hollow".into(),
    };
    let walls = match isolation {
        Isolation::Namespaces => "no network",
        Isolation::None => "not isolated: this machine refuses namespaces",
    };
    let mut lines = vec![format!(
        "{}: {what}, {suite} suite, engine {}, {walls}",
        order.task,
        ground.engine_kind().name(),
    )];
    if let Some(case) = &order.case {
        let became = order.outcome.as_deref();
        let became = became.map_or_else(String::new, |o| format!("  ({o} in the run)"));
        lines.push(format!("  case    {case}{became}"));
    }
    let tests = match suite {
        Suite::Official => "the official tests",
        Suite::Probes => "the probes",
    };
    let into = ground.task.spec.suites.get(suite).map(|s| s.into.as_str());
    lines.push(format!(
        "  tree    {}: patched, test configuration from gold, {tests} in {}/",
        inside.worktree.display(),
        into.unwrap_or_default(),
    ));
    lines.push(format!(
        "  python  {} ({})",
        run.python.display(),
        ground.environment.python_version
    ));
    let limits = &ground.task.spec.limits;
    lines.push(format!(
        "  limits  {} MiB of memory, {} processes, files of {} MiB; the case's {:.0} s do not count here",
        limits.memory_mib,
        limits.processes,
        limits.file_mib,
        run.case_limit.as_secs_f64(),
    ));
    let runs = if order.case.is_some() {
        "runs the case by plain pytest with the task's configuration"
    } else {
        "runs the suite by plain pytest with the task's configuration"
    };
    let all = match run.ranks {
        0 | 1 => String::new(),
        n => format!(" on all {n} ranks"),
    };
    lines.push(format!("  {COMMAND}        {runs}{all} (in the history)"));
    lines.push(if run.ranks > 1 {
        format!(
            "  {COMMAND} --pdb [RANK]  that rank has the terminal, the others write to files in /tmp"
        )
    } else {
        format!("  {COMMAND} --pdb  stops in pdb where it fails;  {COMMAND} ID: another case")
    });
    lines.push("  exit or Ctrl-D leaves; nothing of what is done here is kept".into());
    if order.keep_patch {
        lines.pop();
        lines
            .push("  exit or Ctrl-D leaves; what is changed in the tree is kept as a patch".into());
    }
    lines
}
