//! In what order tasks and submissions stand.

use crate::domain::{Source, Task};
use crate::tui::state::App;

use super::state::standing_run;
use super::status;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Order {
    /// As the catalog has them.
    #[default]
    Catalog,
    Newest,
    /// What runs, then the worst verdict.
    Verdict,
    Name,
}

impl Order {
    #[must_use]
    pub fn next(self) -> Self {
        match self {
            Order::Catalog => Order::Newest,
            Order::Newest => Order::Verdict,
            Order::Verdict => Order::Name,
            Order::Name => Order::Catalog,
        }
    }

    /// As the title says it; nothing of the catalog's.
    pub fn words(self) -> &'static str {
        match self {
            Order::Catalog => "",
            Order::Newest => "newest first",
            Order::Verdict => "worst first",
            Order::Name => "by name",
        }
    }
}

/// When something last ran on a source; before all times where nothing did.
fn newest(app: &App, task: &str, source: &Source) -> f64 {
    standing_run(app, task, source).map_or(f64::MIN, |run| run.created_s)
}

/// Gold and base stay first: the rest is measured by them.
pub fn sources(app: &App, task: &Task, sources: &mut [Source]) {
    let id = task.id();
    let fixed = |source: &Source| match source {
        Source::Gold => 0,
        Source::Base => 1,
        _ => 2,
    };
    match app.tree.order {
        Order::Catalog => {}
        Order::Newest => sources.sort_by(|a, b| {
            let time = || newest(app, id, b).total_cmp(&newest(app, id, a));
            fixed(a).cmp(&fixed(b)).then_with(time)
        }),
        Order::Verdict => sources.sort_by_key(|source| {
            let rank = status::rank(standing_run(app, id, source));
            (fixed(source), rank)
        }),
        Order::Name => sources.sort_by_key(|source| (fixed(source), source.label())),
    }
}

/// Indices of the tasks, in order.
pub fn tasks(app: &App) -> Vec<usize> {
    let mut all: Vec<usize> = (0..app.tasks.len()).collect();
    let task = |at: &usize| app.tasks.get(*at);
    let id = |at: &usize| task(at).map(|task| task.id().to_owned());
    match app.tree.order {
        Order::Catalog => {}
        Order::Name => all.sort_by_key(id),
        Order::Newest => {
            let last = |at: &usize| {
                let runs = app.runs.iter();
                let own = runs.filter(|run| task(at).is_some_and(|task| run.task == task.id()));
                own.map(|run| run.created_s).fold(f64::MIN, f64::max)
            };
            all.sort_by(|a, b| last(b).total_cmp(&last(a)));
        }
        Order::Verdict => {
            let worst = |at: &usize| {
                let task = task(at)?;
                let runs = super::state::sources(app, task);
                let runs = runs
                    .iter()
                    .filter(|s| !matches!(s, Source::Gold | Source::Base));
                runs.map(|s| status::rank(standing_run(app, task.id(), s)))
                    .min()
            };
            all.sort_by_cached_key(|at| worst(at).unwrap_or(usize::MAX));
        }
    }
    all
}
