//! Where tasks and submissions stand, at a glance: words that filters know, counts of a task.

use ratatui::text::Span;

use crate::domain::{Badge, Source, Standing, Task, Verdict, Work};
use crate::report::acceptance::Freshness;
use crate::tui::backend::{RunStatus, RunSummary};
use crate::tui::panes::words;
use crate::tui::state::App;
use crate::tui::theme::Role;
use crate::tui::widgets::Canvas;

use super::state::{sources, standing_run};

/// How a task's judge stands, as far as that was looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TaskStanding {
    pub acceptance: Freshness,
    /// Gold's outcomes are kept with the task.
    pub calibrated: bool,
}

/// Whether gold's outcomes are known: kept with the task, or from a run here.
pub fn calibrated(app: &App, task: &Task) -> bool {
    let kept = app.standings.get(task.id()).is_some_and(|s| s.calibrated);
    kept || app.runs.iter().any(|run| {
        let told = match run.work {
            Work::Calibrate { .. } => run.status == RunStatus::Finished && run.fault.is_none(),
            // no submission is judged before gold has run
            Work::Grade => matches!(run.verdict, Some(Verdict::Resolved | Verdict::OfficialOnly)),
            _ => false,
        };
        told && run.task == task.id()
    })
}

/// The words of a task that a filter finds it by.
pub fn of_task(app: &App, task: &Task) -> Vec<&'static str> {
    let standing = app.standings.get(task.id());
    let mut out: Vec<_> = standing.iter().map(|s| s.acceptance.words()).collect();
    if calibrated(app, task) {
        out.push("calibrated");
    }
    out
}

/// The words of a submission that a filter finds it by.
pub fn of_source(app: &App, source: &Source, run: Option<&RunSummary>) -> Vec<&'static str> {
    let Some(run) = run else {
        return vec!["ungraded"];
    };
    let mut out: Vec<&'static str> = run
        .badges
        .iter()
        .map(|badge: &Badge| badge.name())
        .collect();
    match run.status {
        RunStatus::Waiting => out.extend(["waiting", "live"]),
        RunStatus::Running => out.extend(["running", "live"]),
        RunStatus::Interrupted => out.push("interrupted"),
        RunStatus::Cancelled => out.push("cancelled"),
        RunStatus::Finished => {}
    }
    match run.verdict {
        Some(Verdict::Resolved) => out.push("resolved"),
        Some(Verdict::OfficialOnly) => out.extend(["official-only", "unresolved"]),
        Some(Verdict::Failed) => out.extend(["failed", "unresolved"]),
        Some(Verdict::Void) => out.extend(["void", "unresolved"]),
        Some(Verdict::Fault) => out.push("fault"),
        None => {}
    }
    if app.tree.is_marked(&run.task, source) {
        out.push("marked");
    }
    out
}

/// In the order of what needs a look: what runs, then the worst.
pub fn rank(run: Option<&RunSummary>) -> usize {
    match run {
        Some(run) if run.status.live() => 0,
        None => 7,
        Some(run) => match run.verdict {
            Some(Verdict::Fault) => 1,
            Some(Verdict::Void) => 2,
            Some(Verdict::Failed) => 3,
            Some(Verdict::OfficialOnly) => 4,
            Some(Verdict::Resolved) => 6,
            None => 5,
        },
    }
}

/// `R2 O1 F1 ·3`: how the submissions of a task stand; gold and base are none.
pub fn tally(canvas: &Canvas<'_>, task: &Task) -> Vec<Span<'static>> {
    let app = canvas.app;
    let glyphs = &app.ui.glyphs;
    let all = [
        Verdict::Resolved,
        Verdict::OfficialOnly,
        Verdict::Failed,
        Verdict::Void,
        Verdict::Fault,
    ];
    let mut counts = [0_usize; 5];
    let (mut live, mut open) = (0, 0);
    for source in sources(app, task) {
        if matches!(source, Source::Gold | Source::Base) {
            continue;
        }
        let run = standing_run(app, task.id(), &source);
        let verdict = run
            .filter(|run| !run.status.live())
            .and_then(|run| run.verdict);
        if run.is_some_and(|run| run.status.live()) {
            live += 1;
        } else if let Some(at) = all.iter().position(|v| Some(*v) == verdict) {
            if let Some(count) = counts.get_mut(at) {
                *count += 1;
            }
        } else {
            open += 1;
        }
    }
    let mut parts: Vec<(String, Role)> = Vec::new();
    if live > 0 {
        parts.push((format!("{}{live}", glyphs.running), Role::Running));
    }
    for (verdict, count) in all.into_iter().zip(counts) {
        if count > 0 {
            let role = words::verdict_role(verdict);
            parts.push((format!("{}{count}", words::letter(verdict)), role));
        }
    }
    if open > 0 {
        parts.push((format!("{}{open}", glyphs.waiting), Role::Dim));
    }
    let mut out = Vec::new();
    for (words, role) in parts {
        out.push(canvas.span(role, words));
        out.push(Span::raw(" "));
    }
    out.pop();
    out
}

/// How far a task's judge can be believed, in one word.
pub fn word(app: &App, task: &Task) -> Option<(&'static str, Role)> {
    let standing = app.standings.get(task.id())?;
    let role = match standing.acceptance {
        Freshness::Fresh(Standing::Accepted) => Role::Passed,
        Freshness::Fresh(Standing::Rejected) => Role::Failed,
        Freshness::Stale(_) | Freshness::Edited(_) => Role::Warn,
        Freshness::Fresh(Standing::Unprobed) | Freshness::Unverified => {
            if calibrated(app, task) && standing.acceptance == Freshness::Unverified {
                return Some(("calibrated", Role::Dim));
            }
            Role::Dim
        }
    };
    Some((standing.acceptance.words(), role))
}
