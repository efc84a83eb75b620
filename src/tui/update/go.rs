//! From pane to pane.

use crate::domain::Source;
use crate::tui::action::Action;
use crate::tui::layout::PaneKind;
use crate::tui::panes::tasks::{self, state::Node};
use crate::tui::state::App;

use super::target::{load_why, retarget};
use super::{author, filters, log_keys};

pub fn focus(app: &mut App, pane: PaneKind) {
    app.focus = pane;
    if pane != PaneKind::Tasks {
        app.beside = pane;
    }
}

/// One step back: what is open is closed, what is narrowed is widened.
pub fn back(app: &mut App) {
    if app.focus == PaneKind::Cases && app.cases.why_open {
        app.cases.why_open = false;
    } else if app.focus == PaneKind::Cases && app.cases.filtered() {
        app.cases.clear_filters();
        filters::apply(app);
    } else if app.focus == PaneKind::Cases && app.cases.heat.open {
        app.cases.heat.open = false;
    } else if app.focus == PaneKind::Tasks && !app.tree.filter.is_empty() {
        app.tree.filter.clear();
        tasks::state::rebuild(app);
        retarget(app);
    } else if app.focus == PaneKind::Tasks && !app.tree.marked.is_empty() {
        app.tree.marked.clear();
    } else if app.focus == PaneKind::Log && log_keys::back(app) {
    } else if app.focus == PaneKind::Diff && !app.diff.search.is_empty() {
        app.diff.search.clear();
    } else if app.focus == PaneKind::Acceptance && app.acceptance.only_broken {
        author::perform(app, Action::OnlyBroken);
    } else if app.focus == PaneKind::Gpu && app.gpu.alone().is_some() {
        app.gpu.set_alone(None);
    } else if app.focus == PaneKind::Gpu && !app.gpu.filter.is_empty() {
        app.gpu.set_filter(String::new());
    } else if app.zoom {
        app.zoom = false;
    } else if matches!(app.focus, PaneKind::Cell | PaneKind::Claims) {
        focus(app, PaneKind::Acceptance);
    } else {
        focus(app, PaneKind::Tasks);
    }
}

/// The next or previous submission of the tree, wherever the focus is; the case stays selected.
pub fn submission(app: &mut App, forward: bool) {
    let case = app.cases.selected_row();
    let case = case.map(|row| (row.suite, row.id.clone()));
    let is = |at: &usize| {
        let node = app.tree.rows.get(*at).map(|row| &row.node);
        matches!(node, Some(Node::Source(source)) if !matches!(source, Source::Gold | Source::Base))
    };
    let found = if forward {
        (app.tree.selected + 1..app.tree.rows.len()).find(is)
    } else {
        (0..app.tree.selected).rev().find(is)
    };
    let Some(at) = found else {
        return app.complain("no more submissions that way");
    };
    let task = app.target.task.clone();
    app.tree.selected = at;
    retarget(app);
    if app.target.task == task {
        app.cases.wanted = case;
        app.cases.select_wanted();
        load_why(app);
    }
}

/// What `f` shows in turn: what runs, what is not resolved, what nobody graded, all.
const STATUS: [&str; 3] = ["status:live", "status:unresolved", "status:ungraded"];

/// The next status that the tree is narrowed to; what else the filter says stays.
pub fn next_status(app: &mut App) {
    let filter = &mut app.tree.filter;
    let at = STATUS
        .iter()
        .position(|word| filter.split(' ').any(|own| own == *word));
    let rest = filter.split(' ').filter(|own| !STATUS.contains(own));
    let mut words: Vec<&str> = rest.filter(|own| !own.is_empty()).collect();
    words.extend(STATUS.get(at.map_or(0, |at| at + 1)));
    *filter = words.join(" ");
    tasks::state::rebuild(app);
    retarget(app);
}

/// Opens what the cursor is on.
pub fn open(app: &mut App) {
    if app.focus == PaneKind::Log {
        return log_keys::fold(app);
    }
    match app.tree.row().map(|row| row.node.clone()) {
        Some(Node::Run(..)) => focus(app, PaneKind::Cases),
        Some(Node::Source(_)) if app.tree.toggle(None) => {
            tasks::state::rebuild(app);
            retarget(app);
        }
        Some(Node::Source(Source::Agent { .. })) => {
            // at work its log tells most, afterwards the verdict does
            let working = app.live_run().is_some_and(|run| run.agent.is_some());
            focus(
                app,
                if working {
                    PaneKind::Log
                } else {
                    PaneKind::Cases
                },
            );
        }
        Some(Node::Source(_)) => focus(app, PaneKind::Diff),
        Some(Node::Problem(message)) => app.complain(message),
        Some(Node::Task) => {
            app.tree.toggle(None);
            tasks::state::rebuild(app);
            retarget(app);
        }
        None => {}
    }
}
