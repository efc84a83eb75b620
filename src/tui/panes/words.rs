//! Outcomes, verdicts and states as glyphs and words, the same in every pane.

use ratatui::text::Span;

use crate::domain::hardware::Fitting;
use crate::domain::task::HardwareSpec;
use crate::domain::{Outcome, Standing, Suite, Verdict, Work};
use crate::tui::backend::{Count, RunStatus, RunSummary};
use crate::tui::state::App;
use crate::tui::text;
use crate::tui::theme::Role;
use crate::tui::widgets::figures;

use super::cases::Mark;

/// One cell for an outcome.
pub fn glyph(app: &App, mark: Mark) -> Span<'static> {
    let unicode = app.ui.glyphs.unicode;
    let pick = |fancy: &'static str, plain: &'static str| if unicode { fancy } else { plain };
    let (text, role) = match mark {
        Mark::Done(Outcome::Passed) => (pick("✔", "+"), Role::Passed),
        Mark::Done(Outcome::Failed) => (pick("✘", "F"), Role::Failed),
        Mark::Done(Outcome::Error) => (pick("!", "E"), Role::Error),
        Mark::Done(Outcome::Skipped) => ("s", Role::Skipped),
        Mark::Done(Outcome::Xfailed) => ("x", Role::Skipped),
        Mark::Done(Outcome::Xpassed) => ("X", Role::Error),
        Mark::Done(Outcome::Timeout) => ("t", Role::Error),
        Mark::Done(Outcome::Missing) => (pick("∅", "0"), Role::Error),
        Mark::NotRun => (app.ui.glyphs.waiting, Role::Dim),
        Mark::Running => (app.ui.glyphs.running, Role::Running),
        Mark::Unknown => (app.ui.glyphs.dash, Role::Dim),
    };
    Span::styled(text, app.ui.theme.style(role))
}

pub fn suite(suite: Suite) -> &'static str {
    match suite {
        Suite::Official => "off",
        Suite::Probes => "prb",
    }
}

pub fn verdict_role(verdict: Verdict) -> Role {
    match verdict {
        Verdict::Resolved => Role::Resolved,
        Verdict::OfficialOnly => Role::OfficialOnly,
        Verdict::Failed => Role::Rejected,
        Verdict::Void => Role::Void,
        Verdict::Fault => Role::Fault,
    }
}

/// A verdict in one letter.
pub fn letter(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Resolved => "R",
        Verdict::OfficialOnly => "O",
        Verdict::Failed => "F",
        Verdict::Void => "V",
        Verdict::Fault => "!",
    }
}

/// The word for where a run stands: its verdict once it has one.
pub fn standing(app: &App, run: &RunSummary) -> (String, Role) {
    match (run.status, run.verdict) {
        (RunStatus::Waiting, _) => (format!("{} waiting", app.ui.glyphs.waiting), Role::Dim),
        (RunStatus::Running, _) if run.waits_for_gpus => {
            let glyph = app.ui.glyphs.waiting;
            (format!("{glyph} waits for GPUs"), Role::Dim)
        }
        (RunStatus::Running, _) => {
            let stage = run.stage.map_or("starting", |(stage, _)| stage.name());
            let time = match run.agent {
                Some(agent) => format!(
                    "{}/{}",
                    figures::whole(app.now_s - agent.since_s),
                    figures::duration(agent.limit_s)
                ),
                None => elapsed(app, run),
            };
            (
                format!("{} {stage} {time}", app.ui.glyphs.running),
                Role::Running,
            )
        }
        (_, Some(verdict)) => (verdict.label().into(), verdict_role(verdict)),
        (RunStatus::Interrupted, None) => ("interrupted".into(), Role::Fault),
        (RunStatus::Cancelled, None) => ("cancelled".into(), Role::Dim),
        // the order was at fault, not the machinery
        (RunStatus::Finished, None) if run.fault.is_some() => ("refused".into(), Role::Fault),
        (RunStatus::Finished, None) if run.work != Work::Grade => match run.work {
            Work::Verify { .. } => {
                let word = run.standing.map_or("verified", Standing::name);
                (word.into(), Role::Text)
            }
            Work::Mutants => ("mutants graded".into(), Role::Text),
            _ => ("calibrated".into(), Role::Text),
        },
        (RunStatus::Finished, None) => ("finished".into(), Role::Text),
    }
}

/// `1 case`, `2 cases`.
pub fn plural(count: usize, word: &str) -> String {
    if count == 1 {
        format!("1 {word}")
    } else {
        format!("{count} {word}s")
    }
}

/// How long a run took, or takes so far.
pub fn elapsed(app: &App, run: &RunSummary) -> String {
    let from = run.started_s.unwrap_or(run.created_s);
    let to = run.ended_s.unwrap_or(app.now_s);
    if run.ended_s.is_none() && !run.status.live() {
        return app.ui.glyphs.dash.into();
    }
    figures::duration(to - from)
}

/// The GPUs that a task needs: their words, and of those that are here which would do; the second
/// is absent until GPUs were looked at.
pub fn gpu_need(app: &App, hardware: &HardwareSpec) -> Option<(String, Option<Option<Fitting>>)> {
    let need = hardware.need()?;
    let seen = app.gpu.view.as_ref();
    let fitting = seen.map(|view| {
        let gpus = view.gpus.iter().filter(|gpu| gpu.lost_since_s.is_none());
        hardware.among(gpus.map(|gpu| (gpu.name.as_str(), gpu.free)))
    });
    Some((text::clean(&need).into_owned(), fitting))
}

/// Whether a task's need can never be met here.
pub fn too_few(hardware: &HardwareSpec, fitting: Option<&Fitting>) -> bool {
    fitting.map_or(0, |fitting| fitting.there) < hardware.gpus
}

/// Widest count among all runs, so that pairs stand in columns.
pub fn pair_width(app: &App) -> usize {
    app.runs
        .iter()
        .flat_map(|run| [run.official, run.probes])
        .flatten()
        .map(|count| figures::count(Some(count), "").len())
        .max()
        .unwrap_or(3)
        .max(3)
}

/// `off 12/12  prb  7/9`: two judges, always as a pair.
pub fn pair(
    app: &App,
    official: Option<Count>,
    probes: Option<Count>,
    width: usize,
) -> Vec<Span<'static>> {
    let theme = &app.ui.theme;
    let mut out = Vec::with_capacity(5);
    for (name, count) in [("off ", official), (" prb ", probes)] {
        let role = match count {
            Some(c) if c.passed == c.collected && c.collected > 0 => Role::Passed,
            Some(_) => Role::Text,
            None => Role::Dim,
        };
        let shown = figures::count(count, app.ui.glyphs.dash);
        out.push(Span::styled(name, theme.style(Role::Dim)));
        out.push(Span::styled(format!("{shown:>width$}"), theme.style(role)));
    }
    out
}
