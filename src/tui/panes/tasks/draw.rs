//! The tree, and below it, where there is room, what is known of the selection.

use ratatui::text::{Line, Span};

use crate::domain::{Source, Task};
use crate::tui::action::Action;
use crate::tui::backend::RunSummary;
use crate::tui::layout::{PaneKind, split_bottom};
use crate::tui::panes::cases::progress;
use crate::tui::panes::words;
use crate::tui::state::App;
use crate::tui::text;
use crate::tui::theme::Role;
use crate::tui::widgets::{Canvas, Title, figures};

use super::state::{Branch, Node, TreeRow, row_name, standing_run};
use super::{details, status};

/// Rows of the tree that a pane of `height` inner rows shows; the rest is for how far a batch is,
/// and for details.
pub fn tree_rows(app: &App, height: usize) -> usize {
    let bar = usize::from(app.bulk.active());
    if height < 22 {
        return height.saturating_sub(bar);
    }
    // what went wrong is read here: it gets half of the pane
    let run = app.target.run.as_ref().and_then(|id| app.summary(id));
    let told = match app.tree.row().map(|row| &row.node) {
        Some(Node::Problem(_)) => true,
        Some(Node::Source(_) | Node::Run(..)) => run.is_some_and(|run| run.fault.is_some()),
        Some(Node::Task) | None => false,
    };
    let card = if told {
        height / 2
    } else {
        (height / 3).clamp(8, 14)
    };
    height - card - bar
}

pub fn draw(canvas: &mut Canvas<'_>) {
    let app = canvas.app;
    let title = title(canvas);
    let mut inner = canvas.pane(PaneKind::Tasks, title);
    if app.tree.rows.is_empty() {
        draw_empty(&mut inner);
        return;
    }
    let rows = tree_rows(app, inner.height());
    let bar = usize::from(app.bulk.active());
    let below = inner.height().saturating_sub(rows + bar);
    let (above, card) = split_bottom(inner.area, below as u16);
    let (tree, bar) = split_bottom(above, bar as u16);
    draw_tree(&mut inner.part(tree));
    if app.bulk.active() {
        let (bulk, dash) = (&app.bulk, app.ui.glyphs.dash);
        let seconds = app.now_s - bulk.since_s;
        let known = progress::counted("batch", (bulk.done, bulk.total), seconds, dash);
        progress::draw(&mut inner.part(bar), &known);
    }
    if below > 0 {
        details::draw(&mut inner.part(card));
    }
}

fn title(canvas: &Canvas<'_>) -> Title {
    let app = canvas.app;
    let mut right = Vec::new();
    if !app.tree.marked.is_empty() {
        let words = format!("{} marked  ", app.tree.marked.len());
        right.push(canvas.span(Role::Key, words));
    }
    let order = app.tree.order.words();
    if !order.is_empty() {
        right.push(canvas.span(Role::Notice, format!("{order}  ")));
    }
    if app.tree.filter.is_empty() {
        right.push(canvas.dim(format!("{} tasks", app.tasks.len())));
    } else {
        let filter = text::cut(&app.tree.filter, 24, app.ui.glyphs.ellipsis);
        right.push(canvas.span(Role::Notice, format!("/{filter}")));
    }
    let rows = tree_rows(app, canvas.height().saturating_sub(2));
    if let Some(part) = figures::part(app.tree.offset, rows, app.tree.rows.len()) {
        right.push(canvas.dim(format!("  {part}")));
    }
    Title {
        left: Vec::new(),
        right,
    }
}

fn draw_empty(canvas: &mut Canvas<'_>) {
    let app = canvas.app;
    let rows = if !app.tree.filter.is_empty() {
        vec![
            Line::from(canvas.dim("nothing matches the filter")),
            Line::from(canvas.key_hint(Action::Back, "clears it")),
        ]
    } else if app.tasks_loaded {
        vec![
            Line::from(canvas.dim("no tasks found")),
            Line::from(canvas.dim("start in a folder with tasks/, or use --tasks DIR")),
        ]
    } else {
        vec![Line::from(canvas.dim("reading tasks…"))]
    };
    canvas.empty(&rows);
}

fn draw_tree(canvas: &mut Canvas<'_>) {
    let app = canvas.app;
    let columns = Columns::of(app, canvas.width());
    let rows = app.tree.rows.iter().enumerate().skip(app.tree.offset);
    for (at, (index, row)) in rows.take(canvas.height()).enumerate() {
        draw_row(canvas, at, row, &columns);
        if index == app.tree.selected {
            let role = if app.focus == PaneKind::Tasks {
                Role::Selection
            } else {
                Role::SelectionIdle
            };
            let style = canvas.style(role);
            canvas.paint(at, style);
        }
    }
}

/// Gold that was measured elsewhere, or in a submission's run, is known all the same.
fn not_graded(app: &App, task: &str, source: &Source) -> &'static str {
    let task = app.task(task).filter(|_| *source == Source::Gold);
    if task.is_some_and(|task| status::calibrated(app, task)) {
        return "calibrated";
    }
    "not graded"
}

/// What a row has room for, the same for all rows.
struct Columns {
    pair: Option<usize>,
}

impl Columns {
    fn of(app: &App, width: usize) -> Self {
        let longest = app
            .tree
            .rows
            .iter()
            .filter_map(|row| match &row.node {
                Node::Source(source) => Some(text::width(&source.label())),
                _ => None,
            })
            .max()
            .unwrap_or(0);
        let pair = words::pair_width(app);
        // marker and indent, name, verdict, the pair
        let needs = 7 + longest.clamp(4, 14) + 1 + 13 + 1 + (9 + 2 * pair);
        Self {
            pair: (needs <= width).then_some(pair),
        }
    }
}

fn draw_row(canvas: &mut Canvas<'_>, at: usize, row: &TreeRow, columns: &Columns) {
    let app = canvas.app;
    let glyphs = &app.ui.glyphs;
    let marker = match row.branch {
        Branch::Leaf => " ",
        Branch::Open => glyphs.open,
        Branch::Closed => glyphs.closed,
    };
    let indent = " ".repeat(row.depth() * 2);
    let marked = match &row.node {
        Node::Source(source) => app.tree.is_marked(&row.task, source),
        _ => false,
    };
    let mark = match (marked, glyphs.unicode) {
        (true, true) => canvas.span(Role::Key, "●"),
        (true, false) => canvas.span(Role::Key, "#"),
        (false, _) => Span::raw(" "),
    };
    let mut left = vec![mark, Span::raw(indent), canvas.dim(format!("{marker} "))];
    let mut right = Vec::new();
    let name;
    let mut after = None;
    let used = Line::from(left.clone()).width();
    let width = canvas.width();
    // what is said of a run leaves its name room
    let room = |name: &str, after: usize| {
        let name = text::width(name).min(10) + after;
        width.saturating_sub(used + name + 2)
    };
    match &row.node {
        Node::Task => {
            name = canvas.span(Role::Title, text::clean(&row.task).into_owned());
            if let Some(task) = app.task(&row.task) {
                let mut free = width.saturating_sub(used + name.width() + 2);
                for part in [status_word(canvas, task), status::tally(canvas, task)] {
                    let wide = Line::from(part.clone()).width() + 1;
                    if wide > 1 && wide <= free {
                        free -= wide;
                        right.splice(0..0, part.into_iter().chain([Span::raw(" ")]));
                    }
                }
                let hardware = &task.spec.hardware;
                if let Some((need, seen)) = words::gpu_need(app, hardware) {
                    let role = match &seen {
                        Some(here) if words::too_few(hardware, here.as_ref()) => Role::Warn,
                        _ => Role::Text,
                    };
                    right.push(canvas.span(role, format!("{need}  ")));
                }
                // the name goes before what kind of task it is
                let kind = canvas.dim(task_kind(task));
                let taken = used + name.width() + Line::from(right.clone()).width() + 2;
                if taken + kind.width() <= width {
                    right.push(kind);
                }
            }
        }
        Node::Problem(_) => {
            name = canvas.span(Role::Bad, text::clean(&row.task).into_owned());
            right.push(canvas.span(Role::Bad, "cannot be loaded"));
        }
        Node::Source(source) => {
            let role = match source {
                Source::Gold => Role::Accent,
                Source::Base => Role::Dim,
                _ => Role::Text,
            };
            let (words, when) = row_name(app, source);
            name = canvas.span(role, words);
            after = when.map(|when| canvas.dim(format!(" {when}")));
            let room = room(&name.content, after.as_ref().map_or(0, Span::width));
            match standing_run(app, &row.task, source) {
                Some(run) => run_words(canvas, run, columns, room, &mut right),
                None => right.push(canvas.dim(not_graded(app, &row.task, source))),
            }
        }
        Node::Run(_, id) => {
            let run = app.summary(id);
            let when = run.map_or_else(
                || text::clean(&id.0).into_owned(),
                |run| figures::moment(run.created_s, app.now_s, app.ui.utc_offset_s),
            );
            name = canvas.dim(when);
            if let Some(run) = run {
                if run.only > 0 {
                    right.push(canvas.dim(format!("{} again ", run.only)));
                }
                run_words(canvas, run, columns, room(&name.content, 0), &mut right);
            }
        }
    }
    let right = Line::from(right);
    let mut room = canvas.width().saturating_sub(used + right.width() + 2);
    let short = text::cut(&name.content, room, glyphs.ellipsis);
    room -= text::width(&short).min(room);
    left.push(Span::styled(short, name.style));
    left.extend(after.filter(|after| text::width(&after.content) <= room));
    canvas.put(at, &Line::from(left));
    let column = canvas.width().saturating_sub(right.width() + 1);
    canvas.put_at(at, column, &right);
}

fn status_word(canvas: &Canvas<'_>, task: &Task) -> Vec<Span<'static>> {
    let word = status::word(canvas.app, task).into_iter();
    word.map(|(word, role)| canvas.span(role, word)).collect()
}

fn task_kind(task: &Task) -> String {
    format!("{} {}", task.spec.area.name(), task.spec.kind.name())
}

fn run_words(
    canvas: &Canvas<'_>,
    run: &RunSummary,
    columns: &Columns,
    room: usize,
    right: &mut Vec<Span<'static>>,
) {
    let (word, role) = words::standing(canvas.app, run);
    // no case has begun while the agent works: its time needs the room
    let mut pair = Vec::new();
    if let Some(width) = columns.pair
        && run.agent.is_none()
    {
        pair.push(Span::raw(" "));
        pair.extend(words::pair(canvas.app, run.official, run.probes, width));
    }
    let mut free = room.saturating_sub(Line::from(right.clone()).width() + text::width(&word));
    let wide = Line::from(pair.clone()).width();
    let badges = if run.badges.is_empty() { 0 } else { 3 };
    if wide + badges > free {
        pair.clear();
    } else {
        free -= wide;
    }
    right.push(canvas.span(role, word));
    for (at, badge) in run.badges.iter().enumerate() {
        let left = run.badges.len() - at;
        let words = format!(" {}", badge.name());
        // those without room are counted, the details name them
        let more = if left > 1 { 3 } else { 0 };
        if text::width(&words) + more > free {
            right.push(canvas.span(Role::Badge, format!(" +{left}")));
            break;
        }
        free -= text::width(&words);
        right.push(canvas.span(Role::Badge, words));
    }
    right.extend(pair);
}
