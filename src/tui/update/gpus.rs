//! The gpu pane: one GPU alone, the run behind a process, how processes are sorted.

use crate::domain::RunId;
use crate::tui::action::Action;
use crate::tui::layout::PaneKind;
use crate::tui::panes::gpu::state::{Item, key};
use crate::tui::panes::tasks;
use crate::tui::state::App;
use crate::tui::text;

use super::go::focus;
use super::target::retarget;

pub fn perform(app: &mut App, action: Action) {
    match action {
        Action::GpuOpen => open(app),
        Action::GpuSort => {
            let sort = app.gpu.sort().next();
            app.gpu.set_sort(sort);
            app.say(format!("processes by {}", sort.name()));
        }
        Action::GpuSpan => app.gpu.next_span(),
        _ => {}
    }
}

/// On a GPU looks at it alone, or at all again; on a process goes to its run.
pub fn open(app: &mut App) {
    let Some(item) = app.gpu.item() else { return };
    match item {
        Item::Gpu(_) => {
            let alone = match app.gpu.alone() {
                Some(_) => None,
                None => app.gpu.gpu(item).map(key),
            };
            app.gpu.set_alone(alone);
        }
        Item::Process(..) => {
            let run = app
                .gpu
                .process(item)
                .and_then(|process| process.run.clone());
            let Some(run) = run.map(RunId) else {
                return app.complain("this process is of no run");
            };
            if app.summary(&run).is_none() {
                let words = format!("run {} is not of this home", text::clean(&run.0));
                return app.complain(words);
            }
            tasks::state::select_run(app, &run);
            retarget(app);
            let log = app.live_run().is_some_and(|run| run.agent.is_some());
            focus(app, if log { PaneKind::Log } else { PaneKind::Cases });
        }
    }
}
